"""A `-shm` file that somebody cuts while it is mapped may end the process, and loses nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from vaultbridge.engine.operations import Append
    from vaultbridge.server.wiring import open_engine

    environ = {"VAULTBRIDGE_CACHE": sys.argv[2], "HOME": sys.argv[2]}
    with open_engine(Path(sys.argv[1]), environ=environ) as engine:
        print(len(engine.history.changes(limit=50)), flush=True)
        for line in sys.stdin:
            engine.apply([Append(note="a", content=line)])
            found = engine.queries.search(line.strip())
            print(len(found.hits), len(engine.history.changes(limit=50)), flush=True)
    """
)


@pytest.mark.parametrize("size", [0, 3, 100, 136, 4096, 32_767])
def test_after_a_cut_the_next_process_finds_every_acknowledged_change(tmp_path: Path, size: int) -> None:
    vault, cache = tmp_path / "vault", tmp_path / "cache"
    vault.mkdir()
    (vault / "a.md").write_text("one\n")
    acknowledged = 0
    for turn in range(3):
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(vault), str(cache)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            assert process.stdout.readline() == f"{acknowledged}\n"
            process.stdin.write(f"turn{turn}\n")
            process.stdin.flush()
            acknowledged += 1
            assert process.stdout.readline() == f"1 {acknowledged}\n"
            files = list(cache.rglob("*-shm"))
            assert {file.name for file in files} == {"index.sqlite3-shm", "journal.sqlite-shm"}
            for file in files:
                os.truncate(file, size)
            process.kill()
    assert (vault / "a.md").read_text() == "one\nturn0\nturn1\nturn2\n"
