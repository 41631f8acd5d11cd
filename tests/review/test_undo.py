"""Undoing by an assistant: it waits like any other change, and reaches nobody else's text."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.review import Reviewed
from vaultbridge.engine import DirectEngine, Engine
from vaultbridge.engine.operations import Append, Create, Delete, Merge, Move, ReplaceText, Write
from vaultbridge.engine.operations.base import Operation, Undo
from vaultbridge.errors import EditRefused, InvalidArgument, PermissionDenied, VaultbridgeError
from vaultbridge.review.decide import FileDecision
from vaultbridge.review.policy import ChangePending
from vaultbridge.vault.write.journal import Journal
from vaultbridge.vault.write.transaction import Transactor

Make = Callable[..., Reviewed]

FILES = {"A.md": "# A\n\none\ntwo\n", "B.md": "[[A]]\n", "F/C.md": "c\n"}
FIFTY = "".join(f"mine {number}\n" for number in range(50))


def change(engine: Engine, *operations: Operation, actor: str = "robot") -> int:
    return int(engine.apply(operations, actor=actor).change_id)


def propose_undo(vault: Reviewed, engine: Engine, number: int, **more: Any) -> int:
    """The number of the proposal."""
    before = vault.engine.history.changes()
    with pytest.raises(ChangePending) as pending:
        engine.undo(number, actor="robot", **more)
    assert vault.engine.history.changes() == before
    return int(pending.value.facts["id"][1:])


CHANGES: list[Operation] = [
    Append(note="A", content="x"),
    Create(note="New", content="x"),
    Delete(note="A"),
    Delete(note="F/"),
    Move(note="A", to="Z"),
    Move(note="F/", to="G"),
    Merge(note="B", to="A"),
    Write(note="A", content="new"),
]


@pytest.mark.parametrize("operation", CHANGES, ids=lambda value: str(value)[:20])
def test_an_undo_and_its_undo_wait_and_are_carried_out_as_such(reviewed: Make, operation: Operation) -> None:
    vault = reviewed(FILES)
    robot = vault.with_gate("off")
    before = {path: vault.read(path) for path in FILES}
    number = change(robot, operation)
    after = sorted(place.name for place in vault.folder.rglob("*.md"))
    proposal = propose_undo(vault, vault.with_gate("all"), number)
    shown = vault.store.get(proposal)
    assert shown.label.startswith(f"undo change {number}: ")
    assert shown.rows
    assert vault.decider.accept(proposal, by="page", seen=vault.read_hash(proposal)).outcome == "accepted"
    assert {path: vault.read(path) for path in FILES} == before
    undo, undone = vault.engine.history.changes(limit=2)
    assert (undo.undo_of, undone.undone_by, undo.actor) == (number, undo.id, "robot")
    if isinstance(operation, Delete) and operation.note.endswith("/"):
        # By now anything may be in the folder.
        with pytest.raises(EditRefused, match="is a folder"):
            vault.with_gate("all").undo(undo.id, actor="robot")
        return
    again = propose_undo(vault, vault.with_gate("all"), undo.id)
    assert vault.decider.accept(again, by="page").outcome == "accepted"
    assert sorted(place.name for place in vault.folder.rglob("*.md")) == after


def test_a_proposed_undo_shows_what_it_takes_back(reviewed: Make) -> None:
    vault = reviewed(FILES)
    number = change(vault.with_gate("off"), Append(note="A", content="x"))
    proposal = vault.decider.show(propose_undo(vault, vault.with_gate("all"), number))
    assert proposal.body is not None
    (file,) = proposal.body.version.files
    assert (file.path, file.change) == ("A.md", "changed")
    assert (file.before, file.after) == (b"# A\n\none\ntwo\nx\n", FILES["A.md"].encode())
    assert (proposal.label, proposal.why) == (f"undo change {number}: append", "all")


def test_under_destructive_an_undo_waits_if_it_removes_much(reviewed: Make) -> None:
    vault = reviewed(FILES)
    robot = vault.with_gate("destructive")
    small = change(robot, Append(note="A", content="x"))
    assert robot.undo(small, actor="robot").change_id
    created = change(robot, Create(note="New", content="x"))
    assert vault.store.get(propose_undo(vault, robot, created)).why == "delete"
    long = change(robot, Append(note="A", content=FIFTY * 3))
    assert vault.store.get(propose_undo(vault, robot, long)).why == "loss"


def test_an_undo_whose_note_has_changed_is_shown_again(reviewed: Make) -> None:
    vault = reviewed(FILES)
    number = change(vault.with_gate("off"), Append(note="A", content="x"))
    proposal = propose_undo(vault, vault.with_gate("all"), number)
    seen = vault.read_hash(proposal)
    vault.write("A.md", FILES["A.md"] + "x\nby hand\n")
    result = vault.decider.accept(proposal, by="page", seen=seen)
    assert result.outcome == "shown-again"
    assert "has changed since" in result.text
    assert vault.read("A.md").endswith("by hand\n")


def test_an_undo_that_a_person_edits_is_an_ordinary_change(reviewed: Make) -> None:
    vault = reviewed(FILES)
    number = change(vault.with_gate("off"), Append(note="A", content="x"))
    proposal = propose_undo(vault, vault.with_gate("all"), number)
    files = [FileDecision(path="A.md", text="# A\n\nmine\n")]
    assert vault.decider.accept(proposal, by="page", files=files).outcome == "accepted"
    assert vault.read("A.md") == "# A\n\nmine\n"
    assert vault.engine.history.changes()[0].undo_of is None
    # What the person wrote is not the assistant's to take back.
    with pytest.raises(EditRefused, match="Somebody else has changed"):
        vault.with_gate("off").undo(number, force=True, actor="robot")


def test_an_undo_that_was_made_meanwhile_is_not_made_twice(reviewed: Make) -> None:
    vault = reviewed(FILES)
    number = change(vault.with_gate("off"), Append(note="A", content="x"))
    proposal = propose_undo(vault, vault.with_gate("all"), number)
    vault.owner.undo(number, actor="page")
    assert vault.decider.accept(proposal, by="page").outcome == "shown-again"
    assert vault.read("A.md") == FILES["A.md"]


def test_force_never_removes_what_a_person_wrote_into_a_new_note(reviewed: Make) -> None:
    """As it was found: the note was removed with the 50 lines."""
    vault = reviewed(FILES)
    number = change(vault.with_gate("off"), Create(note="Log", content="start"))
    vault.write("Log.md", FIFTY)
    for review in ("off", "all"):
        for force in (False, True):
            for dry_run in (True, False):
                with pytest.raises(EditRefused):
                    vault.with_gate(review).undo(number, force=force, actor="robot", dry_run=dry_run)
    assert vault.read("Log.md") == FIFTY
    assert vault.store.waiting() == ()
    assert vault.owner.undo(number, force=True, actor="cli").change_id


@pytest.mark.parametrize("who", ["another program", "owner", "another assistant", "same name"])
def test_force_reaches_nobody_elses_later_text(reviewed: Make, who: str) -> None:
    vault = reviewed(FILES)
    robot = vault.with_gate("off", token="a")
    number = change(robot, ReplaceText(note="A", old="one", new="ONE"))
    theirs = Append(note="A", content="theirs")
    if who == "another program":
        vault.write("A.md", "# A\n\nONE\ntwo\ntheirs\n")
    elif who == "owner":
        change(vault.owner, theirs, actor="cli")
    else:
        change(vault.with_gate("off", token="b"), theirs, actor="robot" if who == "same name" else "other")
    # As it was found: the dry run said that it would be undone.
    for dry_run in (True, False):
        with pytest.raises(EditRefused, match=r"Somebody else has changed A\.md"):
            robot.undo(number, force=True, actor="robot", dry_run=dry_run)
    # Its own change on top of theirs does not make theirs its own.
    change(robot, Append(note="A", content="own"))
    with pytest.raises(EditRefused, match=r"Somebody else has changed A\.md"):
        robot.undo(number, force=True, actor="robot")
    assert "theirs" in vault.read("A.md")


@pytest.mark.parametrize("back", ["undo", "by hand"])
def test_what_others_have_taken_back_again_does_not_hinder_an_undo(reviewed: Make, back: str) -> None:
    vault = reviewed(FILES)
    robot, other = vault.with_gate("off", token="a"), vault.with_gate("off", token="b")
    number = change(robot, ReplaceText(note="A", old="one", new="ONE"))
    left = vault.read("A.md")
    theirs = change(other, Append(note="A", content="theirs"))
    with pytest.raises(EditRefused, match="has changed since"):
        robot.undo(number, actor="robot")
    if back == "undo":
        other.undo(theirs, actor="robot")
    else:
        vault.write("A.md", left)
    assert robot.undo(number, actor="robot").change_id
    assert vault.read("A.md") == FILES["A.md"]


def test_force_goes_past_ones_own_later_text_and_past_a_rename(reviewed: Make) -> None:
    vault = reviewed(FILES)
    robot = vault.with_gate("off")
    number = change(robot, ReplaceText(note="A", old="one", new="ONE"))
    change(robot, Append(note="A", content="own"))
    with pytest.raises(EditRefused, match="has changed since"):
        robot.undo(number, actor="robot")
    assert robot.undo(number, force=True, actor="robot").change_id
    assert vault.read("A.md") == FILES["A.md"]
    moved = change(robot, Move(note="A", to="Z"))
    vault.write("Z.md", FIFTY)
    assert robot.undo(moved, force=True, actor="robot").change_id
    assert vault.read("A.md") == FIFTY


def test_redoing_a_deletion_never_trashes_what_was_written_since(reviewed: Make) -> None:
    """An undo of an undo had no expectation at all: it trashed the note, whatever was in it."""
    vault = reviewed(FILES)
    robot = vault.with_gate("off")
    undo = int(robot.undo(change(robot, Delete(note="A")), actor="robot").change_id)
    vault.write("A.md", FIFTY)
    for engine in (robot, vault.owner):
        with pytest.raises(EditRefused, match="has changed since"):
            engine.undo(undo, actor="robot")
    with pytest.raises(EditRefused, match="Somebody else"):
        robot.undo(undo, force=True, actor="robot")
    assert vault.read("A.md") == FIFTY
    assert vault.owner.undo(undo, force=True).change_id


def test_without_a_number_an_assistant_reaches_only_its_own_changes(reviewed: Make) -> None:
    """As it was found: a loop of undo() took back 30 changes of the owner and of another assistant."""
    vault = reviewed(FILES)
    robot = vault.with_gate("off", token="a")
    other = vault.with_gate("off", token="b")
    own = [change(robot, Append(note="A", content=f"{number}")) for number in range(3)]
    for number in range(10):
        change(vault.owner, Create(note=f"Mine {number}"), actor="robot")
        change(other, Create(note=f"Other {number}"), actor="robot")
    undone = []
    for _ in range(3):
        number = robot.newest_to_undo("robot")
        robot.undo(number, actor="robot")
        undone.append(number)
    assert undone == own[::-1]
    with pytest.raises(EditRefused, match="no change of yours"):
        robot.newest_to_undo("robot")
    assert vault.owner.newest_to_undo() == vault.engine.history.changes()[3].id
    assert len(list(vault.folder.glob("*.md"))) == 22


@pytest.mark.parametrize("review", ["off", "destructive", "all"])
def test_anothers_change_is_undone_only_when_a_person_agrees(reviewed: Make, review: str) -> None:
    vault = reviewed(FILES)
    number = change(vault.owner, Append(note="A", content="x"), actor="cli")
    # A client may call itself anything.
    engine = vault.with_gate(review)
    with pytest.raises(ChangePending):
        engine.undo(number, actor="cli")
    (proposal,) = vault.store.waiting()
    assert proposal.why == "another's"
    assert proposal.label == f"undo change {number} by cli: append"
    vault.decider.accept(proposal.number, by="page")
    assert vault.read("A.md") == FILES["A.md"]
    # The undo is the assistant's, so it may take that back itself.
    assert vault.with_gate("off").undo(number + 1, actor="cli").change_id


def test_repeating_an_undo_that_waits_gives_the_same_proposal(reviewed: Make) -> None:
    vault = reviewed(FILES)
    change(vault.with_gate("off"), Append(note="A", content="x"))
    robot = vault.with_gate("all")
    ids = {propose_undo(vault, robot, robot.newest_to_undo("robot")) for _ in range(3)}
    assert len(ids) == 1


def test_an_undo_is_no_part_of_a_batch(reviewed: Make) -> None:
    vault = reviewed(FILES)
    number = change(vault.owner, Append(note="A", content="x"))
    with pytest.raises(EditRefused, match="cannot be part"):
        vault.owner.apply([Append(note="B", content="y"), Undo(change=number)])
    assert vault.read("B.md") == FILES["B.md"]


def test_an_unknown_change_is_named(reviewed: Make) -> None:
    vault = reviewed(FILES)
    with pytest.raises(InvalidArgument, match="no change 9"):
        vault.with_gate("all").undo(9)


def test_a_gated_engine_has_no_other_way_to_change_a_file(reviewed: Make) -> None:
    vault = reviewed(FILES)
    number = change(vault.with_gate("off"), Append(note="A", content="x"))
    ways = {"transactor", "carry_out", "with_plan", "record", "close"}
    assert ways <= set(dir(vault.engine))
    for engine in (vault.with_gate("all"), vault.engine.for_reading):
        assert not ways & {*dir(engine), *vars(engine), *dir(engine._vault)}
        held = [getattr(engine, name, None) for name in dir(engine) if not name.startswith("_")]
        assert not [part for part in held if isinstance(part, Transactor | DirectEngine)]
        with pytest.raises(PermissionDenied, match="only reads"):
            engine.for_reading.undo(number, actor="robot")
        with pytest.raises(PermissionDenied, match="only reads"):
            engine.for_reading.apply([Delete(note="A")])
        # As it was found: the plan of an undo carried itself out, and the journal could be written.
        for plan in (engine.plan([Undo(change=number)]), engine.plan([Append(note="A", content="y")])):
            reached = list_reachable(engine) + list_reachable(plan)
            assert not [part for part in reached if isinstance(part, Transactor | DirectEngine | Journal)]
            assert not ways & {name for part in list_reachable(plan) for name in dir(part)}
    assert [entry.id for entry in vault.engine.history.changes()] == [number]
    # A tool that brings a gate of its own does not get rid of ours.
    gated = vault.with_gate("all")

    class Lenient:
        def __call__(self, engine: DirectEngine, operations: Any, *, label: str, actor: str) -> Any:
            return engine.apply(operations, label=label, actor=actor)

        def author(self, engine: Engine, actor: str) -> str:
            return ""

    with pytest.raises(ChangePending):
        gated.with_gate(Lenient()).apply([Delete(note="A")])


def list_reachable(start: object) -> list[object]:
    """Every object of ours that public names lead to."""
    reached: dict[int, object] = {}
    waiting = [start]
    while waiting:
        part = waiting.pop()
        if id(part) in reached or not type(part).__module__.startswith("vaultbridge."):
            continue
        reached[id(part)] = part
        for name in dir(part):
            if not name.startswith("_"):
                with contextlib.suppress(VaultbridgeError, NotImplementedError):
                    waiting.append(getattr(part, name))
    return [*reached.values()]


WRITERS = st.sampled_from(["robot", "other", "owner", "editor"])


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(writers=st.lists(WRITERS, min_size=1, max_size=6), aim=st.integers(0, 5), force=st.booleans())
def test_whatever_the_order_nobody_elses_words_disappear(
    reviewed: Make, writers: list[str], aim: int, force: bool
) -> None:
    """Each writes a word of its own; then the robot undoes one of its changes with and without force."""
    vault = reviewed({"A.md": "start\n"})
    engines = {
        "robot": vault.with_gate("off", token="r"),
        "other": vault.with_gate("off", token="o"),
        "owner": vault.owner,
    }
    own: list[int] = []
    for number, who in enumerate(writers):
        if who == "editor":
            vault.write("A.md", vault.read("A.md") + f"{who}{number}\n")
            continue
        made = change(engines[who], Append(note="A", content=f"{who}{number}"), actor="robot")
        if who == "robot":
            own.append(made)
    others = [f"{who}{number}" for number, who in enumerate(writers) if who != "robot"]
    if own:
        with contextlib.suppress(EditRefused):
            engines["robot"].undo(own[aim % len(own)], force=force, actor="robot")
    text = vault.read("A.md")
    assert [word for word in others if word not in text] == []
    vault.close()
