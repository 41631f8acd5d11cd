"""A `-shm` file that somebody cuts while it is mapped: without care the process dies of SIGBUS."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.vault.wal_index import HEADER_BYTES, REGION_BYTES, WalIndex

PROGRAM = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from vaultbridge.server.wiring import open_engine

    environ = {"VAULTBRIDGE_CACHE": sys.argv[2], "HOME": sys.argv[2]}
    with open_engine(Path(sys.argv[1]), environ=environ) as engine:
        engine.index_sync.refresh()
        print(engine.cache.parent, flush=True)
        for line in sys.stdin:
            (Path(sys.argv[1]) / "a.md").write_text(line)
            engine.index_sync.refresh()
            status = engine.index_sync.index.status().state
            found = engine.queries.notes()
            print(status, len(list(found)), len(engine.history.changes(limit=5)), flush=True)
    print("closed", flush=True)
    """
)


def list_shared_memory(cache: Path) -> list[Path]:
    return sorted(cache.rglob("*-shm"), key=lambda file: file.name)


@pytest.mark.parametrize("size", [0, 3, 100, HEADER_BYTES, 4096, REGION_BYTES - 1])
def test_a_process_survives_a_cut_file_and_continues_correctly(tmp_path: Path, size: int) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("one\n")
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(vault), str(tmp_path / "cache")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        cache = Path(process.stdout.readline().strip())
        for turn in range(3):
            assert [file.name for file in list_shared_memory(cache)] == [
                "index.sqlite3-shm",
                "journal.sqlite-shm",
            ]
            for file in list_shared_memory(cache):
                os.truncate(file, size)
            process.stdin.write(f"turn {turn}\n")
            process.stdin.flush()
            assert process.stdout.readline().split() == ["ready", "1", "0"]
        for file in list_shared_memory(cache):
            os.truncate(file, size)
        process.stdin.close()
        assert process.stdout.readline() == "closed\n"
        assert process.wait(60) == 0


@given(before=st.integers(1, 4), size=st.integers(0, 5 * REGION_BYTES))
def test_a_cut_file_is_restored_and_rebuilt(
    tmp_path_factory: pytest.TempPathFactory, before: int, size: int
) -> None:
    database = tmp_path_factory.mktemp("shm") / "x.sqlite"
    file = database.with_name("x.sqlite-shm")
    file.write_bytes(b"\xff" * before * REGION_BYTES)
    index = WalIndex(database, growing_seconds=0)
    assert not index.repair()
    os.truncate(file, size)
    grown = size % REGION_BYTES == 0 and size >= before * REGION_BYTES
    assert index.repair() != grown
    assert file.stat().st_size >= before * REGION_BYTES
    assert file.stat().st_size % REGION_BYTES == 0
    assert grown or not any(file.read_bytes()[:HEADER_BYTES])


MAKES_DATABASES = textwrap.dedent(
    """
    import sqlite3, sys

    for n in range(int(sys.argv[2])):
        db = sqlite3.connect(f"{sys.argv[1]}/{n}.sqlite", isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        print(n, flush=True)
        sys.stdin.readline()
        db.execute("CREATE TABLE t (x)")
        db.close()
    """
)


@pytest.mark.long
def test_a_file_that_sqlite_is_enlarging_is_left_alone(tmp_path: Path) -> None:
    """SQLite makes the file page by page; whoever looks in between must not take it for truncated."""
    count = 200
    with subprocess.Popen(
        [sys.executable, "-c", MAKES_DATABASES, str(tmp_path), str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for n in range(count):
            assert process.stdout.readline() == f"{n}\n"
            index = WalIndex(tmp_path / f"{n}.sqlite")
            process.stdin.write("\n")
            process.stdin.flush()
            while process.poll() is None and not (tmp_path / f"{n + 1}.sqlite").exists():
                assert not index.repair()
    assert process.returncode == 0


USES_ONCE = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from vaultbridge.embeddings.store import VectorStore
    from vaultbridge.index.store.database import Index
    from vaultbridge.review.store import ReviewStore
    from vaultbridge.vault.write.journal import Journal

    folder = Path(sys.argv[2])
    kind = sys.argv[1]
    if kind == "index":
        database = Index.open(folder)
        use = database.status
    elif kind == "writer of the index":
        database = Index.open(folder)
        def use():
            with database.writing():
                pass
    elif kind == "journal":
        database = Journal(folder)
        use = database.last_finished
    elif kind == "review":
        database = ReviewStore(folder)
        use = lambda: database.set_present(1)
    else:
        database = VectorStore(folder)
        use = lambda: database.matches("x")
    use()
    print("used", flush=True)
    for _ in sys.stdin:
        use()
        print("used", flush=True)
    database.close()
    print("closed", flush=True)
    """
)


@pytest.mark.parametrize("size", [0, 3, 100, REGION_BYTES - 1])
@pytest.mark.parametrize("kind", ["index", "writer of the index", "journal", "review", "embeddings"])
def test_every_database_survives_a_cut_after_its_first_use_and_before_it_is_closed(
    tmp_path: Path, kind: str, size: int
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", USES_ONCE, kind, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "used\n"
        for _ in range(2):
            (file,) = list_shared_memory(tmp_path)
            os.truncate(file, size)
            process.stdin.write("again\n")
            process.stdin.flush()
            assert process.stdout.readline() == "used\n"
        os.truncate(file, size)
        process.stdin.close()
        assert process.stdout.readline() == "closed\n"
        assert process.wait(60) == 0
