"""The life of a proposal, as docs/review.md and `review.model` tell it: nothing else is ever stored."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from support.review import Reviewed
from support.waiting import BOUND
from vaultbridge.engine.operations import Append
from vaultbridge.review.diff_model import make_diff
from vaultbridge.review.model import NEXT, NEXT_OF_DIFF, Decided, Proposal, ProposalStatus
from vaultbridge.review.store import ReviewStore
from vaultbridge.vault.paths import vault_path

Make = Callable[..., Reviewed]

STATUSES: tuple[ProposalStatus, ...] = get_args(ProposalStatus)
FILES = {"A.md": "one\n"}
PAGE = (Path(__file__).parents[2] / "docs" / "review.md").read_text("utf-8")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReviewStore]:
    store = ReviewStore(tmp_path)
    yield store
    store.close()


def add_diff(store: ReviewStore) -> int:
    diff = make_diff(vault_path("A.md"), "one\n", "two\n", actor="claude", pid=os.getpid(), tab_name="t")
    return store.add_diff(diff)


def set_row(file: Path, number: int, **columns: object) -> None:
    """As another process would leave the row."""
    assigned = ", ".join(f"{name} = ?" for name in columns)
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute(f"UPDATE proposals SET {assigned} WHERE number = ?", (*columns.values(), number))


def read_status(file: Path, number: int) -> str:
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        return str(db.execute("SELECT status FROM proposals WHERE number = ?", (number,)).fetchone()[0])


@pytest.mark.parametrize("to", STATUSES)
@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("kind", ["tool", "diff"])
def test_only_what_the_table_allows_is_stored(
    reviewed: Make, kind: str, status: ProposalStatus, to: ProposalStatus
) -> None:
    vault = reviewed(FILES)
    file = vault.engine.state / "review.sqlite"
    number = vault.ask(Append(note="A", content="x")) if kind == "tool" else add_diff(vault.store)
    set_row(file, number, status=status, decider=os.getppid())
    vault.store.record_decision(number, to, Decided(1.0, "page"))
    table = NEXT if kind == "tool" else NEXT_OF_DIFF
    assert read_status(file, number) == (to if to in table.get(status, ()) else status)


def test_the_page_names_every_status_and_what_may_become_of_it() -> None:
    (table,) = re.findall(r"\| it is \|.*?\n\n", PAGE, re.DOTALL)
    for status in STATUSES:
        assert ("being decided" if status == "deciding" else f"`{status}`") in table
    reached = {to for after in (*NEXT.values(), *NEXT_OF_DIFF.values()) for to in after}
    assert reached == set(STATUSES)


def test_a_decision_stays(reviewed: Make) -> None:
    vault = reviewed(FILES)
    number = vault.ask(Append(note="A", content="x"))
    vault.decider.reject(number, by="page", reason="no")
    vault.store.record_decision(number, "accepted", Decided(9.0, "late", change=7))
    assert not vault.store.claim(number)
    proposal = vault.store.get(number)
    assert (proposal.status, proposal.decided and proposal.decided.reason) == ("rejected", "no")


OWNER = """
import sys, time
from pathlib import Path
from vaultbridge.review.diff_model import make_diff
from vaultbridge.review.store import ReviewStore
store = ReviewStore(Path(sys.argv[1]))
if sys.argv[2] == "diff":
    print(store.add_diff(make_diff("A.md", "one", "two", actor="c", pid=1, tab_name="t")), flush=True)
else:
    print(store.claim(int(sys.argv[2])), flush=True)
sys.stdin.read()
"""


def begin_owner(folder: Path, what: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=BOUND)


def test_another_processes_diff_waits_as_long_as_that_process_lives(
    store: ReviewStore, tmp_path: Path
) -> None:
    process, number = begin_owner(tmp_path, "diff")
    (diff,) = store.latest(10)
    assert (diff.id, diff.status, diff.body) == (f"d{number}", "waiting", None)
    assert store.waiting() == (), "only its own process can decide on it"
    end(process)
    (diff,) = store.latest(10)
    assert (diff.status, diff.decided and diff.decided.by) == ("withdrawn", "")


def test_a_killed_deciders_proposal_waits_again(reviewed: Make) -> None:
    vault = reviewed(FILES)
    number = vault.ask(Append(note="A", content="x"))
    process, claimed = begin_owner(vault.engine.state, str(number))
    assert claimed == "True"
    assert vault.store.get(number).status == "deciding"
    assert not vault.store.claim(number)
    end(process)
    assert vault.store.get(number).status == "waiting"
    assert vault.decider.accept(number, by="page").outcome == "accepted"


def test_what_an_earlier_process_with_our_number_left_is_not_ours(reviewed: Make) -> None:
    """In a container the bridge is process 1 each time it starts."""
    vault = reviewed(FILES)
    file = vault.engine.state / "review.sqlite"
    number, diff = vault.ask(Append(note="A", content="x")), add_diff(vault.store)
    held = vault.store.get(diff, diff=True)
    assert held.status == "waiting"
    process, other = begin_owner(vault.engine.state, "diff")
    end(process)
    set_row(file, int(other), decider=os.getpid())
    set_row(file, number, status="deciding", decider=os.getpid())
    states: dict[int, Proposal] = {proposal.number: proposal for proposal in vault.store.latest(10)}
    assert [states[key].status for key in (number, diff, int(other))] == ["waiting", "waiting", "withdrawn"]


def test_a_proposal_expires_and_a_diff_does_not(tmp_path: Path, reviewed: Make) -> None:
    vault = reviewed(FILES)
    number, diff = vault.ask(Append(note="A", content="x")), add_diff(vault.store)
    set_row(vault.engine.state / "review.sqlite", number, expires=1.0)
    assert vault.store.get(number).status == "expired"
    assert vault.store.get(diff, diff=True).status == "waiting"
