"""A deciding process is killed at any point: the change is made and its proposal accepted, or neither is.

The change and the proposal are in two databases. The record of the change names the proposal, so whoever
looks next knows which of the two it is.
"""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.long_form import mark_long_after
from support.review import Reviewed
from support.waiting import BOUND
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import AddFile, Append, Create, Delete, Merge, Move, Write
from vaultbridge.engine.operations.base import Operation, Undo
from vaultbridge.errors import EngineFailure, InvalidArgument
from vaultbridge.review.decide import Decider
from vaultbridge.review.gate import _finish
from vaultbridge.review.model import Proposal
from vaultbridge.vault.scope import Scope

Make = Callable[..., Reviewed]

CHILD = Path(__file__).with_name("killed_decider.py")

FILES: dict[str, str | bytes] = {
    "A.md": "# A\n\n[[B]] and [[Sub/D]]\n",
    "B.md": "b, see [[A]]\n",
    "Sub/D.md": "d\n",
    "Sub/E.md": "e [[D]]\n",
    "Private/P.md": "hidden, about [[B]]\n",
}

CHANGES: dict[str, tuple[Operation, ...]] = {
    "move": (Move(note="B", to="Else/B2"),),
    "delete": (Delete(note="B"),),
    "merge": (Merge(note="B", to="A"),),
    "append": (Append(note="A", content="more"),),
    "replace": (Write(note="A", content="all new\n"),),
    "create": (Create(note="New", content="new\n"),),
    "attachment": (AddFile(path="p.png", data=b"\x89PNG"),),
    "folder": (Move(note="Sub/", to="Other"),),
    "batch": (Delete(note="Sub/D"), Append(note="A", content="x"), Move(note="B", to="C")),
}
UNDO = "undo"
EDITED = "edited"


def propose(vault: Reviewed, kind: str) -> int:
    if kind == UNDO:
        vault.with_gate("off").apply([Delete(note="B")], actor="robot")
        (newest,) = vault.owner.history.changes(limit=1)
        return vault.ask(Undo(change=newest.id))
    return vault.ask(*CHANGES["append" if kind == EDITED else kind])


def decide(vault: Reviewed, number: int, point: str, kind: str) -> subprocess.CompletedProcess[str]:
    wishes: list[dict[str, Any]] = [{"path": "A.md", "text": "mine\n"}] if kind == EDITED else []
    command = [sys.executable, str(CHILD), str(vault.base), str(number), point, json.dumps(wishes)]
    return subprocess.run(command, capture_output=True, text=True, timeout=BOUND, check=False)


def read_files(vault: Reviewed) -> dict[str, bytes]:
    return {
        str(file.relative_to(vault.folder)): file.read_bytes()
        for file in vault.folder.rglob("*")
        if file.is_file()
    }


def kill_at(vault: Reviewed, number: int, point: str, kind: str) -> None:
    ran = decide(vault, number, point, kind)
    assert ran.returncode == -signal.SIGKILL, ran.stderr


@pytest.mark.parametrize("kind", mark_long_after(5, [UNDO, EDITED, *CHANGES]))
def test_a_change_that_was_made_is_accepted_though_its_decider_was_killed(
    reviewed: Make, tmp_path: Path, kind: str
) -> None:
    scope = Scope(deny=("Private/",))
    undisturbed, vault = (Reviewed(tmp_path / name, FILES, scope) for name in ("one", "two"))
    try:
        number = propose(undisturbed, kind)
        assert propose(vault, kind) == number
        before = read_files(vault)
        assert decide(undisturbed, number, "", kind).returncode == 0
        kill_at(vault, number, "finished", kind)
        assert read_files(vault) == read_files(undisturbed)

        expected, proposal = undisturbed.store.get(number), vault.store.get(number)
        assert (proposal.status, proposal.body) == (expected.status, None)
        assert proposal.decided and expected.decided
        assert replace(proposal.decided, at=0.0) == replace(expected.decided, at=0.0)
        (newest,) = vault.owner.history.changes(limit=1)
        assert proposal.decided.change == newest.id
        # What the assistant is told, also by a call that still waits.
        assert _finish(vault.store, proposal) == undisturbed.store.outcome(number)
        assert "Private" not in str(vault.store.outcome(number))
        for decision in (vault.decider.accept, vault.decider.reject):
            with pytest.raises(InvalidArgument, match=f"no longer waiting.*as change {newest.id}"):
                decision(number, by="page")
        assert vault.store.waiting() == ()
        vault.decider.undo(number, by="page")
        assert read_files(vault) == before
    finally:
        undisturbed.close()
        vault.close()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["append", "move", UNDO])
def test_killed_anywhere_either_both_are_so_or_neither(reviewed: Make, tmp_path: Path, kind: str) -> None:
    vaults: list[Reviewed] = []

    def make() -> tuple[Reviewed, int]:
        vaults.append(Reviewed(tmp_path / str(len(vaults)), FILES, Scope()))
        return vaults[-1], propose(vaults[-1], kind)

    try:
        undisturbed, number = make()
        before = read_files(undisturbed)
        ran = decide(undisturbed, number, "tell", kind)
        after = read_files(undisturbed)
        assert ran.returncode == 0, ran.stderr
        passed = ran.stdout.split("\n")[:-1]
        # What comes before is about the index.
        points = list(dict.fromkeys(passed[passed.index("recorded") :]))
        assert points[-2:] == ["finished", "reported"]
        for point in points:
            vault, number = make()
            kill_at(vault, number, point, kind)
            # Whoever looks first may do so before the change is rolled back.
            status = vault.store.get(number).status
            vault.owner.transactor.recover()
            assert vault.store.get(number).status == status
            if point in ("finished", "reported"):
                assert (status, read_files(vault)) == ("accepted", after), point
                continue
            assert (status, read_files(vault)) == ("waiting", before), point
            assert vault.decider.accept(number, by="page").outcome == "accepted"
            assert read_files(vault) == after
    finally:
        for vault in vaults:
            vault.close()


@pytest.mark.parametrize(
    ("how", "status"), [("page", "accepted"), ("edited", "edited"), ("terminal", "accepted-in-terminal")]
)
def test_a_diff_that_its_client_has_written_is_not_withdrawn_with_the_bridge(
    reviewed: Make, how: str, status: str
) -> None:
    vault = reviewed(FILES)
    command = [sys.executable, str(CHILD), str(vault.base), "diff", "outside write recorded", how]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=BOUND, check=False)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    (diff,) = vault.store.latest(10)
    (newest,) = vault.owner.history.changes(limit=10)
    assert diff.decided is not None
    assert (diff.status, diff.decided.change) == (status, newest.id)
    assert diff.decided.by == ("" if how == "terminal" else "page")
    written = vault.read("A.md")
    assert written == ("mine\n" if how == "edited" else "new\n")
    vault.decider.undo(diff.number, by="page", diff=True)
    assert vault.read("A.md") == FILES["A.md"]


def find_store(vault: Reviewed) -> Path:
    return vault.engine.state / "review.sqlite"


def run_sql(vault: Reviewed, statement: str, file: str = "review.sqlite") -> None:
    with closing(sqlite3.connect(vault.engine.state / file, isolation_level=None)) as db:
        db.execute(statement)


@pytest.mark.parametrize("expired", [False, True])
def test_an_older_copy_of_the_store_does_not_let_a_change_be_made_again(
    reviewed: Make, *, expired: bool
) -> None:
    """After a power cut the store may have lost what the journal still has."""
    vault = reviewed(FILES)
    number = vault.ask(Append(note="A", content="more"))
    vault.store.close()
    file = find_store(vault)
    copy = file.with_name("copy")
    with closing(sqlite3.connect(file)) as db, closing(sqlite3.connect(copy)) as target:
        db.backup(target)
    vault.decider.accept(number, by="page")
    vault.store.close()
    for tail in ("", "-wal", "-shm"):
        Path(f"{file}{tail}").unlink(missing_ok=True)
    shutil.copyfile(copy, file)
    text = vault.read("A.md")
    if expired:
        run_sql(vault, "UPDATE proposals SET expires = 1.0")
    else:
        (waiting,) = vault.store.waiting()
        assert waiting.number == number
    with pytest.raises(InvalidArgument, match=r"no longer waiting: accepted by a person \(page\) as change"):
        vault.decider.reject(number, by="page")
    assert vault.store.get(number).status == "accepted"
    assert vault.read("A.md") == text


def test_an_acceptance_that_cannot_be_stored_is_stored_later(reviewed: Make) -> None:
    """As it was found: it waited again, and could be rejected although the change was made."""
    vault = reviewed(FILES)
    number = vault.ask(Delete(note="B"))
    run_sql(
        vault,
        "CREATE TRIGGER full BEFORE UPDATE ON proposals WHEN NEW.status = 'accepted'"
        " BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    )
    with pytest.raises(EngineFailure) as failed:
        vault.decider.accept(number, by="page")
    (newest,) = vault.owner.history.changes(limit=1)
    assert f"was made as change {newest.id}" in failed.value.message
    assert "Nothing was changed" not in str(failed.value)
    assert not (vault.folder / "B.md").exists()
    run_sql(vault, "DROP TRIGGER full")
    proposal = vault.store.get(number)
    assert (proposal.status, proposal.decided and proposal.decided.change) == ("accepted", newest.id)
    with pytest.raises(InvalidArgument, match="no longer waiting"):
        vault.decider.reject(number, by="page")


def test_a_report_that_cannot_be_read_leaves_the_number_of_the_change(reviewed: Make) -> None:
    vault = reviewed(FILES)
    number = vault.ask(Delete(note="B"))
    kill_at(vault, number, "finished", "delete")
    run_sql(vault, "UPDATE acceptances SET report = 'x'", "journal.sqlite")
    proposal: Proposal = vault.store.get(number)
    (newest,) = vault.owner.history.changes(limit=1)
    assert (proposal.status, proposal.decided and proposal.decided.change) == ("accepted", newest.id)
    assert vault.store.outcome(number).change_id == str(newest.id)


def test_a_journal_that_is_salvaged_keeps_which_proposals_were_accepted(reviewed: Make) -> None:
    vault = reviewed(FILES)
    vault.decider.accept(vault.ask(Append(note="A", content="more")), by="page")
    number = vault.ask(Delete(note="B"))
    kill_at(vault, number, "finished", "delete")
    run_sql(vault, "UPDATE transactions SET label = 'flipped' WHERE id = 1", "journal.sqlite")
    assert [entry.id for entry in vault.owner.history.changes(limit=10)] == [2]
    assert vault.owner.history.list_notices()
    proposal = vault.store.get(number)
    assert (proposal.status, proposal.decided and proposal.decided.change) == ("accepted", 2)


def test_a_change_that_is_forgotten_takes_its_acceptance_along(
    reviewed: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultbridge.vault.write.journal.JOURNAL_ENTRIES", 1)
    vault = reviewed(FILES)
    for text in ("one", "two"):
        vault.decider.accept(vault.ask(Append(note="A", content=text)), by="page")
    vault.owner.journal.prune(now=0.0)
    with closing(sqlite3.connect(vault.engine.state / "journal.sqlite")) as db:
        assert db.execute("SELECT id FROM acceptances").fetchall() == [(2,)]


def test_a_decider_that_was_taken_for_dead_is_told_that_another_was_faster(reviewed: Make) -> None:
    """In another container its process number says nothing, so its proposal waited again meanwhile."""
    vault = reviewed(FILES, scope=Scope(deny=("Private/",)))
    number = vault.ask(Create(note="New", content="new\n"))

    def reopen(scope: Scope) -> DirectEngine:
        run_sql(vault, "UPDATE proposals SET status = 'waiting' WHERE status = 'deciding'")
        if vault.store.get(number).waits:
            assert decide(vault, number, "", "create").returncode == 0
        return vault.open(scope)

    with pytest.raises(InvalidArgument, match=r"no longer waiting: accepted by a person \(page\)"):
        Decider(vault.owner, vault.store, reopen).accept(number, by="cli")
    assert len(vault.owner.history.changes(limit=5)) == 1
