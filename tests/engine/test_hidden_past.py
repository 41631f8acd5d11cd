"""History, diffs and undo of notes that are or were hidden: visible then and now, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import Append, Create, Delete, Move
from vaultbridge.engine.operations.base import Operation
from vaultbridge.errors import InvalidArgument, NoteNotFound
from vaultbridge.vault.scope import Scope

from .conftest import MakeVault

SCOPE = Scope(deny=("Private/",))


def change(engine: DirectEngine, *operations: Operation) -> int:
    return int(engine.apply(operations).change_id)


def list_changes(engine: DirectEngine) -> list[int]:
    return [entry.id for entry in engine.history.changes(limit=100)]


def assert_unknown(engine: DirectEngine, *numbers: int) -> None:
    """The answer is the same as for a change that never happened."""
    with pytest.raises(InvalidArgument) as unknown:
        engine.history.diff(999)
    for number in numbers:
        assert number not in list_changes(engine)
        for look in (engine.history.diff, engine.undo):
            with pytest.raises(InvalidArgument) as caught:
                look(number)
            assert str(caught.value) == str(unknown.value).replace("999", str(number))


def test_the_public_history_of_a_note_that_is_private_now_is_not_shown(make_vault: MakeVault) -> None:
    owner = make_vault({"Pub/plan.md": "first\n", "Other.md": "x"})
    edited = change(owner, Append(note="plan", content="zebra"))
    both = change(owner, Append(note="plan", content="zebra"), Append(note="Other", content="seen"))
    moved = change(owner, Move(note="plan", to="Private/plan"))
    engine = make_vault(scope=SCOPE)
    assert_unknown(engine, edited, moved)
    assert list_changes(engine) == [both]
    assert "seen" in engine.history.diff(both) and "zebra" not in engine.history.diff(both)
    assert engine.history.changes("Pub/plan.md") == []
    # Once it is back, changes made while it was public are shown, those made while it was private are not.
    private = change(owner, Append(note="plan", content="secret"))
    back = change(owner, Move(note="Private/plan", to="Pub/plan"))
    assert list_changes(engine) == [both, edited]
    assert "zebra" in engine.history.diff(edited)
    assert_unknown(engine, moved, private, back)
    assert [entry.id for entry in engine.history.changes("Pub/plan.md")] == [both, edited]


def test_the_private_history_of_a_note_that_is_public_now_is_not_shown(make_vault: MakeVault) -> None:
    owner = make_vault({"Private/plan.md": "[[Other]] zebra\n", "Other.md": "x"})
    edited = change(owner, Append(note="plan", content="zebra"))
    moved = change(owner, Move(note="plan", to="Pub/plan"))
    engine = make_vault(scope=SCOPE)
    assert_unknown(engine, edited, moved)
    later = change(owner, Append(note="plan", content="public"))
    assert list_changes(engine) == [later]
    assert [entry.id for entry in engine.history.changes("Pub/plan.md")] == [later]


@pytest.mark.parametrize("folder_first", [True, False])
def test_a_note_that_went_with_its_folder_is_followed(make_vault: MakeVault, folder_first: bool) -> None:
    owner = make_vault({"Pub/Sub/plan.md": "zebra\n"})
    edited = change(owner, Append(note="plan", content="more"))
    ways = [Move(note="Pub/Sub/", to="./Away"), Move(note="Away/", to="Private/Away")]
    for way in ways if folder_first else [Move(note="Pub/", to="Private/Pub")]:
        change(owner, way)
    assert_unknown(make_vault(scope=SCOPE), edited)


def test_a_new_note_in_the_old_ones_place_has_its_own_history(make_vault: MakeVault) -> None:
    owner = make_vault({"plan.md": "zebra\n"})
    old = change(owner, Append(note="plan", content="zebra"))
    change(owner, Move(note="plan", to="Private/plan"))
    new = change(owner, Create(note="/plan", content="public"))
    engine = make_vault(scope=SCOPE)
    assert list_changes(engine) == [new]
    assert_unknown(engine, old)


def test_a_note_that_was_deleted_while_it_was_visible_keeps_its_history(make_vault: MakeVault) -> None:
    owner = make_vault({"plan.md": "text\n"})
    edited = change(owner, Append(note="plan", content="more"))
    gone = change(owner, Delete(note="plan"))
    engine = make_vault(scope=SCOPE)
    assert list_changes(engine) == [gone, edited]
    engine.undo(gone)
    assert engine.view("plan").text == "text\nmore\n"


def test_a_file_that_another_program_removed_may_be_private_now(make_vault: MakeVault) -> None:
    owner = make_vault({"plan.md": "zebra\n", "Private/x.md": ""})
    edited = change(owner, Append(note="plan", content="zebra"))
    folder: Path = owner.root.folder
    (folder / "plan.md").rename(folder / "Private/plan.md")
    assert_unknown(make_vault(scope=SCOPE), edited)


def test_what_was_written_through_a_link_is_hidden_after_the_link_is_gone(make_vault: MakeVault) -> None:
    owner = make_vault({"Private/diary.md": "zebra\n", "Pub/x.md": ""})
    link = owner.root.folder / "Pub/way.md"
    link.symlink_to("../Private/diary.md")
    through = change(owner, Append(note="Pub/way.md", content="zebra"))
    engine = make_vault(scope=SCOPE)
    assert_unknown(engine, through)
    link.unlink()
    link.write_text("public")
    assert_unknown(engine, through)
    with pytest.raises(NoteNotFound):
        engine.history.changes("Private/diary.md")
