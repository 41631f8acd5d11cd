"""What decisions do to the notes, the journal and the proposal: `review/decide.py` and `review/rebase.py`."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from contextlib import closing

import pytest

from support.review import Reviewed
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import (
    AddFile,
    Append,
    Create,
    Delete,
    Move,
    RenameHeading,
    ReplaceText,
    SetProperty,
    Write,
)
from vaultbridge.engine.operations.base import Operation
from vaultbridge.errors import EditRefused, EngineFailure, InvalidArgument
from vaultbridge.review.decide import EDITED_NOTICE, Decider, FileDecision
from vaultbridge.vault.scope import Scope

Make = Callable[..., Reviewed]

NOTE = "".join(f"line {number}\n" for number in range(20))


def test_nothing_is_written_before_a_decision(reviewed: Make) -> None:
    vault = reviewed({"A.md": "one\n"})
    number = vault.ask(Append(note="A", content="two"))
    assert vault.read("A.md") == "one\n"
    assert vault.engine.history.changes() == []
    assert vault.store.get(number).status == "waiting"


def test_accepting_writes_as_the_assistant_and_can_be_undone(reviewed: Make) -> None:
    vault = reviewed({"A.md": "one\n"})
    number = vault.ask(Append(note="A", content="two"))
    result = vault.decider.accept(number, by="page", seen=vault.read_hash(number))
    assert (result.outcome, vault.read("A.md")) == ("accepted", "one\ntwo\n")
    (entry,) = vault.engine.history.changes()
    assert (entry.id, entry.actor, entry.label) == (result.change, "robot", "append")
    vault.decider.undo(number, by="page")
    assert vault.read("A.md") == "one\n"


def test_the_answer_is_that_of_a_change_without_review(reviewed: Make) -> None:
    vault = reviewed({"A.md": "# H\n\ntext\n", "B.md": "[[A#H]]\n"})
    number = vault.ask(SetProperty(note="A", name="k", value="v"))
    vault.decider.accept(number, by="page", seen=vault.read_hash(number))
    reviewed_answer = vault.store.outcome(number)
    vault.engine.undo(int(reviewed_answer.change_id))
    plain = vault.engine.apply([SetProperty(note="A", name="k", value="v")], actor="robot")
    assert reviewed_answer.files == plain.files
    assert reviewed_answer.diff == plain.diff
    assert reviewed_answer.notices == plain.notices


def test_rejecting_changes_nothing(reviewed: Make) -> None:
    vault = reviewed({"A.md": "one\n"})
    number = vault.ask(Append(note="A", content="two"))
    assert vault.decider.reject(number, by="page", reason="not now").outcome == "rejected"
    proposal = vault.store.get(number)
    assert (vault.read("A.md"), proposal.status, proposal.body) == ("one\n", "rejected", None)
    with pytest.raises(
        InvalidArgument, match=r"p1 is no longer waiting: rejected by a person \(page\): not now"
    ):
        vault.decider.accept(number, by="page")
    with pytest.raises(EditRefused, match="nothing to undo"):
        vault.decider.undo(number, by="page")


def test_the_person_may_edit_first(reviewed: Make) -> None:
    vault = reviewed({"A.md": "one\r\ntwo\r\n"})
    number = vault.ask(Append(note="A", content="three"))
    seen = vault.read_hash(number)
    edited = [FileDecision(path="A.md", text="one\ntwo\nTHREE\n")]
    result = vault.decider.accept(number, by="page", seen=seen, files=edited)
    assert (result.outcome, vault.read("A.md")) == ("accepted", "one\r\ntwo\r\nTHREE\r\n")
    assert vault.store.get(number).status == "edited"
    assert EDITED_NOTICE in vault.store.outcome(number).notices


def test_the_person_may_write_properties_that_cannot_be_read(reviewed: Make) -> None:
    """An assistant may not (`tests/engine/test_readable_properties.py`)."""
    vault = reviewed({"A.md": "---\nkind: x\n---\none\n"})
    number = vault.ask(Append(note="A", content="two"))
    half = "---\nkind: [x\n---\none\ntwo\n"
    vault.decider.accept(number, by="page", files=[FileDecision(path="A.md", text=half)])
    assert vault.read("A.md") == half


def test_one_hunk_may_be_accepted(reviewed: Make) -> None:
    vault = reviewed({"A.md": NOTE})
    number = vault.ask(
        ReplaceText(note="A", old="line 2\n", new="LINE 2\n"),
        ReplaceText(note="A", old="line 17\n", new="LINE 17\n"),
    )
    vault.decider.accept(
        number, by="page", seen=vault.read_hash(number), files=[FileDecision(path="A.md", hunks=(1,))]
    )
    assert vault.read("A.md") == NOTE.replace("line 17", "LINE 17")
    with pytest.raises(InvalidArgument, match="hunks 0 to 0"):
        other = vault.ask(Append(note="A", content="end"))
        vault.decider.accept(other, by="page", files=[FileDecision(path="A.md", hunks=(1,))])
    assert vault.store.get(other).status == "waiting"


def test_one_file_may_be_left_out(reviewed: Make) -> None:
    vault = reviewed({"A.md": "a\n", "B.md": "b\n"})
    number = vault.ask(Append(note="A", content="x"), Append(note="B", content="x"), Create(note="C"))
    vault.decider.accept(
        number, by="page", seen=vault.read_hash(number), files=[FileDecision(path="B.md", skip=True)]
    )
    assert (vault.read("A.md"), vault.read("B.md"), vault.read("C.md")) == ("a\nx\n", "b\n", "")


def test_lines_that_others_changed_are_kept(reviewed: Make) -> None:
    vault = reviewed({"A.md": NOTE})
    number = vault.ask(ReplaceText(note="A", old="line 2\n", new="LINE 2\n"))
    seen = vault.read_hash(number)
    vault.write("A.md", NOTE.replace("line 15", "other"))
    result = vault.decider.accept(number, by="page", seen=seen)
    assert result.outcome == "accepted"
    assert vault.read("A.md") == NOTE.replace("line 15", "other").replace("line 2\n", "LINE 2\n")


def test_a_conflict_is_shown_again_and_never_forced(reviewed: Make) -> None:
    vault = reviewed({"A.md": NOTE})
    number = vault.ask(Write(note="A", content=NOTE.replace("line 2\n", "LINE 2\n")))
    seen = vault.read_hash(number)
    mine = NOTE.replace("line 2\n", "mine\n")
    vault.write("A.md", mine)
    result = vault.decider.accept(number, by="page", seen=seen)
    assert (result.outcome, vault.read("A.md")) == ("shown-again", mine)
    again = vault.read_hash(number)
    assert again != seen
    assert vault.decider.accept(number, by="page", seen=again).outcome == "shown-again"
    text = [FileDecision(path="A.md", text=NOTE.replace("line 2\n", "both\n"))]
    assert vault.decider.accept(number, by="page", seen=again, files=text).outcome == "accepted"
    assert vault.read("A.md") == NOTE.replace("line 2\n", "both\n")


def test_an_edit_at_the_end_of_a_note_that_grew_is_made_there(reviewed: Make) -> None:
    """Two insertions at one place have no merge; but the assistant asked to append, and that still fits."""
    vault = reviewed({"A.md": "one\n"})
    number = vault.ask(Append(note="A", content="robot"))
    seen = vault.read_hash(number)
    vault.write("A.md", "one\nmine\n")
    assert vault.decider.accept(number, by="page", seen=seen).outcome == "accepted"
    assert vault.read("A.md") == "one\nmine\nrobot\n"


def test_another_programs_change_to_a_note_under_review_is_recorded(reviewed: Make) -> None:
    vault = reviewed({"A.md": NOTE})
    number = vault.ask(ReplaceText(note="A", old="line 2\n", new="LINE 2\n"))
    vault.write("A.md", NOTE.replace("line 15", "other"))
    body = vault.decider.show(number).body
    assert body is not None
    assert [(change.path, change.by) for change in body.elsewhere] == [("A.md", "another program")]
    (entry,) = vault.engine.history.changes()
    assert (entry.actor, entry.label) == ("another program", "changed while under review")
    with pytest.raises(EditRefused, match="no change to undo"):
        vault.engine.history.newest_to_undo()
    vault.engine.undo(entry.id)
    assert vault.read("A.md") == NOTE


def test_another_assistants_change_is_named(reviewed: Make) -> None:
    vault = reviewed({"A.md": NOTE})
    number = vault.ask(ReplaceText(note="A", old="line 2\n", new="LINE 2\n"))
    vault.engine.apply([ReplaceText(note="A", old="line 15\n", new="x\n")], actor="second")
    body = vault.decider.show(number).body
    assert body is not None
    assert [(change.path, change.by) for change in body.elsewhere] == [("A.md", "second")]
    assert len(vault.engine.history.changes()) == 1


@pytest.mark.parametrize(
    "operation", [Move(note="F/A", to="Z"), Move(note="F/", to="G/"), Delete(note="F/A"), Delete(note="F/")]
)
def test_an_assistant_that_took_the_note_away_is_named(reviewed: Make, operation: Operation) -> None:
    vault = reviewed({"F/A.md": NOTE, "B.md": "b\n"})
    number = vault.ask(ReplaceText(note="F/A", old="line 2\n", new="LINE 2\n"))
    vault.engine.apply([operation], actor="second")
    body = vault.decider.show(number).body
    assert body is not None
    assert [(change.path, change.by) for change in body.elsewhere] == [("F/A.md", "second")]


def test_another_program_that_took_the_note_away_is_not_an_assistant(reviewed: Make) -> None:
    vault = reviewed({"A.md": NOTE})
    vault.engine.apply([Append(note="A", content="x")], actor="second")
    number = vault.ask(ReplaceText(note="A", old="line 2\n", new="LINE 2\n"))
    (vault.folder / "A.md").unlink()
    body = vault.decider.show(number).body
    assert body is not None
    assert [(change.path, change.by) for change in body.elsewhere] == [("A.md", "another program")]


def test_a_change_by_another_program_is_distinguished_from_an_assistants(reviewed: Make) -> None:
    vault = reviewed({"A.md": NOTE})
    number = vault.ask(ReplaceText(note="A", old="line 2\n", new="LINE 2\n"))
    vault.engine.apply([ReplaceText(note="A", old="line 15\n", new="x\n")], actor="second")
    between = vault.read("A.md")
    vault.write("A.md", between.replace("line 9\n", "y\n"))
    vault.decider.show(number)
    newest, older = vault.engine.history.changes()
    assert [newest.actor, older.actor] == ["another program", "second"]
    vault.engine.undo(newest.id)
    assert vault.read("A.md") == between


def test_two_proposals_on_one_note(reviewed: Make) -> None:
    vault = reviewed({"A.md": NOTE})
    first = vault.ask(ReplaceText(note="A", old="line 2\n", new="first\n"))
    second = vault.ask(ReplaceText(note="A", old="line 15\n", new="second\n"))
    seen = vault.read_hash(second)
    assert vault.decider.accept(first, by="page", seen=vault.read_hash(first)).outcome == "accepted"
    assert vault.decider.accept(second, by="page", seen=seen).outcome == "accepted"
    assert vault.read("A.md") == NOTE.replace("line 2\n", "first\n").replace("line 15\n", "second\n")


def test_the_same_call_again_is_the_same_proposal(reviewed: Make) -> None:
    vault = reviewed({"A.md": "one\n"})
    assert vault.ask(Append(note="A", content="x")) == vault.ask(Append(note="A", content="x"))
    assert len(vault.store.waiting()) == 1


def test_a_move_takes_links_along_that_appeared_since(reviewed: Make) -> None:
    vault = reviewed({"A.md": "a\n", "B.md": "[[A]]\n", "C.md": "c\n"})
    number = vault.ask(Move(note="A", to="New"))
    seen = vault.read_hash(number)
    vault.engine.apply([Append(note="C", content="[[A]]")])
    again = vault.decider.accept(number, by="page", seen=seen)
    assert again.outcome == "shown-again"
    assert {row.path for row in again.proposal.rows} == {"New.md", "B.md", "C.md"}
    assert vault.decider.accept(number, by="page", seen=vault.read_hash(number)).outcome == "accepted"
    assert [vault.read(path) for path in ("New.md", "B.md", "C.md")] == ["a\n", "[[New]]\n", "c\n[[New]]\n"]
    assert not (vault.folder / "A.md").exists()


def test_a_deletion_goes_to_the_trash_and_comes_back(reviewed: Make) -> None:
    vault = reviewed({"F/A.md": "a\n", "F/B.md": "b\n"})
    number = vault.ask(Delete(note="F/"), review="destructive")
    assert [row.path for row in vault.store.get(number).rows] == ["F/", "F/A.md", "F/B.md"]
    vault.decider.accept(number, by="page", seen=vault.read_hash(number))
    assert not (vault.folder / "F").exists()
    vault.decider.undo(number, by="page")
    assert vault.read("F/A.md") == "a\n"


def test_a_note_that_somebody_else_created_is_not_overwritten(reviewed: Make) -> None:
    vault = reviewed({})
    number = vault.ask(Create(note="New", content="robot\n"))
    seen = vault.read_hash(number)
    vault.write("New.md", "mine\n")
    assert vault.decider.accept(number, by="page", seen=seen).outcome == "shown-again"
    assert vault.read("New.md") == "mine\n"


@pytest.mark.parametrize("links_changed", [False, True])
def test_a_new_note_that_would_take_links_over_pins_them(reviewed: Make, links_changed: bool) -> None:
    vault = reviewed({"F/Note.md": "old\n", "B.md": "see [[Note]]\n\nmore\n"})
    number = vault.ask(Create(note="./Note.md", content="new\n"))
    assert {row.path for row in vault.store.get(number).rows} == {"Note.md", "B.md"}
    seen = vault.read_hash(number)
    rest = "changed" if links_changed else "more"
    vault.write("B.md", f"see [[Note]]\n\n{rest}\n")
    assert vault.decider.accept(number, by="page", seen=seen).outcome == "accepted"
    assert vault.read("B.md") == f"see [[F/Note]]\n\n{rest}\n"
    assert vault.read("Note.md") == "new\n"
    vault.decider.undo(number, by="page")
    assert vault.read("B.md") == f"see [[Note]]\n\n{rest}\n"


def test_a_heading_s_links_follow_and_are_counted(reviewed: Make) -> None:
    vault = reviewed({"A.md": "# Old\n", "B.md": "[[A#Old]]\n"})
    number = vault.ask(RenameHeading(note="A", heading="Old", to="New"))
    vault.decider.accept(number, by="page", seen=vault.read_hash(number))
    assert vault.read("B.md") == "[[A#New]]\n"
    assert {file.path: file.links for file in vault.store.outcome(number).files} == {"A.md": 0, "B.md": 1}


def test_a_template_is_written_as_it_was_shown(reviewed: Make) -> None:
    vault = reviewed({"T.md": "at {{time:HH:mm:ss.SSS}}\n"})
    number = vault.ask(Create(note="New", template="T"))
    body = vault.decider.show(number).body
    assert body is not None
    (file,) = body.version.files
    vault.decider.accept(number, by="page", seen=vault.read_hash(number))
    assert vault.read("New.md").encode() == file.after


def test_an_attachment_is_accepted_whole(reviewed: Make) -> None:
    vault = reviewed({})
    data = bytes(range(256))
    number = vault.ask(AddFile(path="x.png", data=data))
    with pytest.raises(InvalidArgument, match="as a whole"):
        vault.decider.accept(number, by="page", files=[FileDecision(path="x.png", text="")])
    vault.decider.accept(number, by="page", seen=vault.read_hash(number))
    assert (vault.folder / "x.png").read_bytes() == data


def test_a_change_keeps_to_the_scope_of_whoever_asked(reviewed: Make) -> None:
    """A folder's links in a private note follow silently, and the proposal does not name that note."""
    files = {"Work/A.md": "a\n", "Private/P.md": "[[A]]\n", "Work/B.md": "[[A]]\n"}
    vault = reviewed(files, scope=Scope(deny=("Private/",)))
    number = vault.ask(Move(note="A", to="Z"))
    assert {row.path for row in vault.store.get(number).rows} == {"Work/Z.md", "Work/B.md"}
    vault.decider.accept(number, by="page", seen=vault.read_hash(number))
    assert vault.read("Private/P.md") == "[[Z]]\n"


def test_what_has_become_private_is_not_shown(reviewed: Make) -> None:
    vault = reviewed({"Private/A.md": "a\n"})
    number = vault.ask(Append(note="A", content="x"))
    limited = Reviewed.open(vault, Scope(deny=("Private/",)))
    try:
        decider = type(vault.decider)(limited, vault.store)
        for decide in (decider.show, lambda number: decider.accept(number, by="page")):
            with pytest.raises(InvalidArgument, match=f"There is no proposal p{number}"):
                decide(number)
    finally:
        limited.close()


def test_a_decision_that_leaves_nothing_is_refused(reviewed: Make) -> None:
    vault = reviewed({"A.md": "a\n"})
    number = vault.ask(Append(note="A", content="x"))
    with pytest.raises(InvalidArgument, match="Nothing would be left of the change"):
        vault.decider.accept(number, by="page", files=[FileDecision(path="A.md", text="a\n")])
    assert vault.store.get(number).status == "waiting"


def test_a_change_that_somebody_made_already_is_accepted_without_one(reviewed: Make) -> None:
    vault = reviewed({"A.md": NOTE})
    number = vault.ask(ReplaceText(note="A", old="line 2\n", new="LINE 2\n"))
    vault.write("A.md", NOTE.replace("line 2\n", "LINE 2\n"))
    result = vault.decider.accept(number, by="page", seen=vault.read_hash(number))
    assert (result.outcome, result.change) == ("accepted", 0)


@pytest.mark.parametrize(
    "operations",
    [
        (Delete(note="A"),),
        (Delete(note="F/"),),
        (Move(note="C", to="Z"), Write(note="F/A", content="brand new\n", force=True)),
        (Write(note="F/A", content="brand new\n", force=True),),
        (Move(note="A", to="Y"), Write(note="Y", content="brand new\n", force=True)),
    ],
    ids=["delete", "delete folder", "batch", "write", "move and write"],
)
def test_what_is_saved_while_a_decision_is_carried_out_is_not_lost_unseen(
    reviewed: Make, operations: tuple[Operation, ...]
) -> None:
    """As it was found: the result was as shown, but the text that was deleted or replaced was another."""
    vault = reviewed({"F/A.md": "a\n", "C.md": "[[A]]\n"}, scope=Scope(deny=("Private/",)))
    number = vault.ask(*operations)
    for step in itertools.count(1):
        seen = vault.read_hash(number)
        last_moment = LastMoment(vault, step)
        result = Decider(vault.owner, vault.store, last_moment).accept(number, by="page", seen=seen)
        if not last_moment.saved:
            assert result.outcome == "accepted"
            break
        assert result.outcome == "shown-again"
        assert (vault.folder / "F" / "A.md").read_bytes() == last_moment.saved


class LastMoment:
    """Each step of a decision opens the vault as the assistant sees it: this saves a note before one."""

    def __init__(self, vault: Reviewed, step: int) -> None:
        self.vault = vault
        self.step = step
        self.saved = b""

    def __call__(self, scope: Scope) -> DirectEngine:
        self.step -= 1
        if self.step == 0:
            note = self.vault.folder / "F" / "A.md"
            self.saved = note.read_bytes() + b"saved\n"
            note.write_bytes(self.saved)
        return self.vault.open(scope)


def test_a_rejection_that_could_not_be_stored_can_be_made_again(reviewed: Make) -> None:
    """As it was found: a rejection that failed on a full disk left the proposal `being reviewed by somebody
    else` as long as the process lived."""
    vault = reviewed({"A.md": "one\n"})
    number = vault.ask(Append(note="A", content="two"))
    with closing(sqlite3.connect(vault.engine.state / "review.sqlite", isolation_level=None)) as db:
        db.execute(
            "CREATE TRIGGER full BEFORE UPDATE ON proposals WHEN NEW.status = 'rejected'"
            " BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
        )
        with pytest.raises(EngineFailure, match="full"):
            vault.decider.reject(number, by="page")
        assert vault.store.get(number).status == "waiting"
        db.execute("DROP TRIGGER full")
    assert vault.decider.reject(number, by="page").outcome == "rejected"


def test_a_new_note_pins_links_that_were_written_while_it_waited(reviewed: Make) -> None:
    """As it was found: it was shown again without end, and never with the new link."""
    vault = reviewed({"F/Note.md": "old\n"})
    number = vault.ask(Create(note="./Note.md", content="new\n"))
    seen = vault.read_hash(number)
    vault.write("B.md", "[[Note]]\n")
    vault.owner.index_sync.refresh()
    assert vault.decider.accept(number, by="page", seen=seen).outcome == "shown-again"
    assert {row.path for row in vault.store.get(number).rows} == {"Note.md", "B.md"}
    assert vault.decider.accept(number, by="page", seen=vault.read_hash(number)).outcome == "accepted"
    assert (vault.read("B.md"), vault.read("Note.md")) == ("[[F/Note]]\n", "new\n")


def test_a_new_note_pins_links_in_private_notes_silently(reviewed: Make) -> None:
    """As it was found: nobody could ever accept it."""
    files = {"F/Note.md": "old\n", "Private/P.md": "[[Note]]\n"}
    vault = reviewed(files, scope=Scope(deny=("Private/",)))
    number = vault.ask(Create(note="./Note.md", content="new\n"))
    assert vault.decider.accept(number, by="page", seen=vault.read_hash(number)).outcome == "accepted"
    assert {row.path for row in vault.store.get(number).rows} == {"Note.md"}
    assert vault.read("Private/P.md") == "[[F/Note]]\n"
