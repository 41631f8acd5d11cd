"""`engine.plan`: a plan is a value; it is carried out as it is, or not at all."""

from __future__ import annotations

import pytest

from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import Append, Create, Delete, Move
from vaultbridge.engine.operations.base import Operation, Undo
from vaultbridge.engine.outcome import Outcome
from vaultbridge.engine.plan import Plan, PlanOutdated, Request
from vaultbridge.errors import EditRefused, StaleWrite
from vaultbridge.vault.scope import Scope

from .conftest import MakeVault, read_contents

FILES = {"A.md": "# A\n\none\n", "B.md": "[[A]]\n", "Private/p.md": "[[A]]\n"}


def test_a_plan_says_what_will_be_done_and_does_nothing(make_vault: MakeVault) -> None:
    engine = make_vault(FILES)
    before = read_contents(engine)
    plan = engine.plan([Move(note="A", to="Z"), Append(note="Z", content="two")])
    assert [(file.path, file.was, file.change) for file in plan.changed] == [
        ("Z.md", "A.md", "moved"),
        ("B.md", "", "changed"),
        ("Private/p.md", "", "changed"),
    ]
    assert plan.files.files[0].after == b"# A\n\none\ntwo\n"
    assert "+[[Z]]" in plan.diff
    assert plan.outcome == Outcome(plan.changed, dry_run=True, diff=plan.diff, notices=plan.notices)
    assert (read_contents(engine), engine.history.changes()) == (before, [])
    outcome = engine.carry_out(plan)
    assert (outcome.files, outcome.notices) == (plan.changed, plan.notices)
    after = read_contents(engine)
    assert {file.path: file.after for file in plan.files.files} == {path: after[path] for path in after}


def test_a_plan_names_no_hidden_file_and_changes_it_all_the_same(make_vault: MakeVault) -> None:
    make_vault(FILES)
    engine = make_vault(scope=Scope(deny=("Private/",)))
    plan = engine.plan([Move(note="A", to="Z")])
    assert (
        {file.path for file in plan.changed} == {file.path for file in plan.files.files} == {"Z.md", "B.md"}
    )
    assert "Private" not in plan.diff
    engine.carry_out(plan)
    assert (engine.root.folder / "Private" / "p.md").read_text("utf-8") == "[[Z]]\n"


@pytest.mark.parametrize("how", ["another program", "another process"])
def test_an_outdated_plan_is_not_carried_out(make_vault: MakeVault, how: str) -> None:
    engine = make_vault(FILES)
    plan = engine.plan([Move(note="A", to="Z")])
    if how == "another process":
        make_vault().apply([Create(note="Z2", content="[[A]]")])
    else:
        (engine.root.folder / "B.md").write_text("saved [[A]]\n", "utf-8")
    before = read_contents(engine)
    with pytest.raises(PlanOutdated):
        engine.carry_out(plan)
    assert read_contents(engine) == before


def test_work_gets_a_new_plan_when_its_plan_was_outdated(make_vault: MakeVault) -> None:
    engine = make_vault(FILES)
    note = engine.root.folder / "A.md"
    seen: list[bytes | None] = []

    def work(plan: Plan) -> Outcome:
        seen.append(plan.files.files[0].before)
        if len(seen) == 1:
            note.write_text("saved meanwhile\n", "utf-8")
        return engine.carry_out(plan)

    engine.with_plan(Request((Append(note="A", content="two"),)), work)
    assert seen == [FILES["A.md"].encode(), b"saved meanwhile\n"]
    assert note.read_text("utf-8") == "saved meanwhile\ntwo\n"


def test_a_note_that_is_always_saved_first_is_refused_in_the_end(make_vault: MakeVault) -> None:
    engine = make_vault(FILES)
    tries: list[int] = []

    def work(plan: Plan) -> Outcome:
        tries.append(len(tries))
        (engine.root.folder / "A.md").write_text(f"saved {len(tries)}\n", "utf-8")
        return engine.carry_out(plan)

    with pytest.raises(StaleWrite):
        engine.with_plan(Request((Append(note="A", content="two"),)), work)
    assert len(tries) == 5
    assert (engine.root.folder / "A.md").read_text("utf-8") == "saved 5\n"


@pytest.mark.parametrize("force", [False, True])
def test_an_undo_does_what_was_planned_or_is_planned_again(make_vault: MakeVault, *, force: bool) -> None:
    """What a person was shown is what happens: a text that was saved since is not overwritten unseen, even
    if the undo may force its way."""
    engine = make_vault(FILES)
    number = int(engine.apply([Append(note="A", content="two")]).change_id)
    note = engine.root.folder / "A.md"
    planned = make_undo(engine, number, force=force)
    assert planned.files.files[0].after == FILES["A.md"].encode()
    note.write_text("saved since\n", "utf-8")
    with pytest.raises(PlanOutdated if force else EditRefused):
        engine.carry_out(planned)
    assert note.read_text("utf-8") == "saved since\n"
    if force:
        assert make_undo(engine, number, force=True).files.files[0].before == b"saved since\n"


def make_undo(engine: DirectEngine, number: int, *, force: bool) -> Plan:
    return engine.plan([Undo(change=number, force=force)])


def test_a_plan_that_changes_nothing_leaves_no_entry(make_vault: MakeVault) -> None:
    engine = make_vault(FILES)
    plan = engine.plan([Move(note="A", to="A")])
    assert plan.is_empty
    assert not plan.files.files
    assert engine.carry_out(plan) == Outcome(files=())
    assert engine.history.changes() == []


def test_what_is_deleted_is_in_the_plan_with_its_text(make_vault: MakeVault) -> None:
    engine = make_vault(FILES)
    (file,) = engine.plan([Delete(note="A")]).files.files
    assert (file.change, file.before, file.after) == ("deleted", FILES["A.md"].encode(), None)


BATCHES: list[tuple[list[Operation], list[tuple[str, str, str]]]] = [
    ([Move(note="A", to="./Z"), Delete(note="Z")], [("A.md", "deleted", "")]),
    ([Move(note="F/", to="W"), Delete(note="W/p")], [("F/p.md", "deleted", ""), ("W", "moved", "F")]),
    ([Move(note="F/", to="W"), Delete(note="W/")], [("F/", "deleted", ""), ("F/p.md", "deleted", "")]),
    (
        [Move(note="A", to="F/Z"), Delete(note="F/")],
        [("F/", "deleted", ""), ("F/p.md", "deleted", ""), ("A.md", "deleted", "")],
    ),
    ([Move(note="F/p", to="./Q"), Delete(note="F/")], [("F/", "deleted", ""), ("Q.md", "moved", "F/p.md")]),
    ([Move(note="A", to="F/Z"), Move(note="F/", to="W")], [("W", "moved", "F"), ("W/Z.md", "moved", "A.md")]),
    (
        [Move(note="F/", to="W"), Move(note="W/p", to="./Q")],
        [("W", "moved", "F"), ("Q.md", "moved", "F/p.md")],
    ),
    ([Move(note="F/", to="W"), Move(note="W/", to="X")], [("X", "moved", "F")]),
    ([Move(note="A", to="./Y"), Move(note="Y", to="./Z")], [("Z.md", "moved", "A.md")]),
    ([Move(note="A", to="./Y"), Move(note="Y", to="./A")], []),
    (
        [Move(note="A", to="./Y"), Move(note="F/p", to="./A"), Move(note="Y", to="F/p")],
        [("A.md", "moved", "F/p.md"), ("F/p.md", "moved", "A.md")],
    ),
]


@pytest.mark.parametrize(("operations", "rows"), BATCHES)
def test_what_moves_twice_or_is_moved_and_deleted_is_named_by_where_it_is_and_will_be(
    make_vault: MakeVault, operations: list[Operation], rows: list[tuple[str, str, str]]
) -> None:
    """As it was found: a person was shown that A moves to Z, and a folder Z that is deleted, for a batch that
    deletes A; its text was not shown, and what was saved to it while it waited was deleted unseen."""
    files = {"A.md": "a\n", "F/p.md": "p\n"}
    engine = make_vault(files)
    plan = engine.plan(operations)
    assert [(file.path, file.change, file.was) for file in plan.files.files] == rows
    assert {(file.path, file.was) for file in plan.changed} <= {
        (path.rstrip("/"), was) for path, _, was in rows
    }
    for file in plan.files.files:
        if file.change == "deleted" and not file.path.endswith("/"):
            assert file.before == files[file.path].encode()
    number = engine.carry_out(plan).change_id
    after = read_contents(engine)
    for path, change, was in rows:
        if change == "moved" and was in files:
            assert after[path] == files[was].encode()
        assert change != "deleted" or path not in after
    if number:
        undo = int(engine.undo(int(number)).change_id)
        assert read_contents(engine) == {path: text.encode() for path, text in files.items()}
        if not any(path.endswith("/") for path, _, _ in rows):
            # A deleted folder is not deleted again unseen.
            redo = make_undo(engine, undo, force=False)
            files_again = [(file.path, file.change, file.was) for file in redo.files.files]
            assert sorted(files_again) == sorted(rows)


def test_an_undo_names_what_it_deletes_and_changes_by_where_it_is_now(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "[[p]]\n", "F/p.md": "p\n"})
    operations = [Create(note="F/N", content="n"), Append(note="F/p", content="q"), Move(note="F/", to="W")]
    number = int(engine.apply(operations).change_id)
    rows = {(file.path, file.change, file.was) for file in make_undo(engine, number, force=False).files.files}
    assert rows == {("W/N.md", "deleted", ""), ("F", "moved", "W"), ("F/p.md", "moved", "W/p.md")}
    operations = [Move(note="F/", to="W"), Append(note="W/p", content="q")]
    engine.undo(number)
    undo = int(engine.undo(int(engine.apply(operations).change_id)).change_id)
    redo = make_undo(engine, undo, force=False).files.files
    assert {(file.path, file.change, file.was) for file in redo} == {
        ("W", "moved", "F"),
        ("W/p.md", "moved", "F/p.md"),
    }
