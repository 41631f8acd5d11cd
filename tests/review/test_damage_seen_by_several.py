"""Several processes find that the proposals are damaged at the same moment: one puts the file aside."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

from vaultbridge.review.store import ReviewStore

PROCESSES = 4
DAMAGED_BYTES = 40_000_000
"""So many that the processes are at work on it together: each copies it to read the policy."""

PROPOSE = """
import sys
from pathlib import Path
from vaultbridge.review.model import ProposalBody, ProposalVersion
from vaultbridge.review.store import ReviewStore
store = ReviewStore(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
version = ProposalVersion(files=())
body = ProposalBody(operations=b"", scope=(), original=version, version=version)
proposal = store.add(actor="a", token="", tool="t", label="l", why="all", rows=(), more=0, body=body)
print(proposal.number, flush=True)
sys.stdin.readline()
"""


def test_one_of_several_processes_puts_damaged_proposals_aside_and_none_a_sound_file(tmp_path: Path) -> None:
    """As it was found: each put aside what the one before had made, with the proposals that waited in it,
    whose numbers were given again."""
    store = ReviewStore(tmp_path)
    store.set_policy("all")
    store.close()
    (tmp_path / "review.sqlite").write_bytes(b"not a database".ljust(DAMAGED_BYTES))
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    with ExitStack() as stack:
        others = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", PROPOSE, str(tmp_path)],
                    env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                )
            )
            for _ in range(PROCESSES)
        ]  # fmt: skip
        assert {_read_line(other) for other in others} == {"ready"}
        for other in others:
            assert other.stdin is not None
            other.stdin.write("go\n")
            other.stdin.flush()
        numbers = [int(_read_line(other)) for other in others]
        for other in others:
            assert other.stdin is not None
            other.stdin.close()
    assert [file.name for file in tmp_path.glob("*damaged*")] == ["review.damaged-1.sqlite"]
    with closing(store):
        assert [proposal.number for proposal in store.waiting()] == sorted(numbers)
    assert len(set(numbers)) == PROCESSES, "no number is given twice"


def _read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()
