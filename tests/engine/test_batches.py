"""Several operations as one change: each sees what those before it did, and the disk sees all or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from vaultbridge.engine.operations import AddFile, Append, Create, Delete, Move, RenameHeading, RenameTag
from vaultbridge.engine.operations.base import Operation
from vaultbridge.errors import AmbiguousName, NotFound, PermissionDenied, VaultbridgeError
from vaultbridge.markdown.edits.change import Change
from vaultbridge.markdown.model import Note
from vaultbridge.vault.locking import WRITER_LOCK, FileLock
from vaultbridge.vault.scope import Scope

from .conftest import MakeVault, read_contents


def test_a_bare_name_is_as_ambiguous_within_a_batch_as_outside(make_vault: MakeVault) -> None:
    """An earlier operation that read one of the two must not make that one the answer."""
    engine = make_vault({"a/P.md": "x", "b/P.md": "y"})
    with pytest.raises(AmbiguousName):
        engine.apply([Append(note="a/P", content="1"), Append(note="P", content="2")])


def test_a_folder_may_take_the_place_of_one_that_left_in_the_same_batch(make_vault: MakeVault) -> None:
    engine = make_vault({"A/x.md": "[[C/y]]", "C/y.md": "[[A/x]]"})
    before = read_contents(engine)
    change = engine.apply([Move(note="A/", to="B"), Move(note="C/", to="A")]).change_id
    assert read_contents(engine) == {"B/x.md": b"[[y]]", "A/y.md": b"[[x]]"}
    engine.undo(int(change))
    assert read_contents(engine) == before


def test_two_notes_exchange_their_names_and_their_links_follow(make_vault: MakeVault) -> None:
    engine = make_vault({"x.md": "I am x: [[y]] [[x]]", "y.md": "I am y: [[x]]", "z.md": "[[x]] [[y]]"})
    before = read_contents(engine)
    change = engine.apply([Move(note="x", to="t"), Move(note="y", to="x"), Move(note="t", to="y")]).change_id
    assert read_contents(engine) == {
        "y.md": b"I am x: [[x]] [[y]]",
        "x.md": b"I am y: [[y]]",
        "z.md": b"[[y]] [[x]]",
    }
    engine.undo(int(change))
    assert read_contents(engine) == before


def test_a_deleted_note_can_be_created_again_in_the_same_batch(make_vault: MakeVault) -> None:
    engine = make_vault({"F/k.md": "old", "F/l.md": "other"})
    before = read_contents(engine)
    change = engine.apply([Delete(note="F/"), Create(note="F/k", content="new")]).change_id
    assert read_contents(engine) == {"F/k.md": b"new"}
    engine.undo(int(change))
    assert read_contents(engine) == before


@pytest.mark.parametrize("trash", ["local", "system"])
@pytest.mark.parametrize(
    "operations",
    [
        (Delete(note="F/G/a"), Delete(note="F/")),
        (Delete(note="F/G/"), Delete(note="F/")),
        (Delete(note="F/G/a"), Delete(note="F/G/"), Delete(note="F/")),
        (Delete(note="F/b"), Create(note="F/b", content="new"), Delete(note="F/")),
        (Move(note="F/b", to="F/z"), Delete(note="F/")),
        (Move(note="F/G/", to="F/H"), Delete(note="F/")),
        (Append(note="F/b", content="more"), Delete(note="F/")),
    ],
    ids=["note", "folder", "each level", "replaced", "moved", "folder moved", "edited"],
)
def test_what_a_batch_did_in_a_folder_before_deleting_it_can_be_undone(
    make_vault: MakeVault, operations: tuple[Operation, ...], trash: str
) -> None:
    """As it was found: the folder stayed in the system's trash, because the undo failed with an internal
    error, or took what was in it for a link out of the vault."""
    app = f'{{"trashOption": "{trash}"}}'
    engine = make_vault(
        {"F/G/a.md": "[[b]]\n", "F/b.md": "b\n", "C.md": "[[a]]\n", ".obsidian/app.json": app}
    )
    before = read_contents(engine)
    change = engine.apply(operations).change_id
    assert not any(path.startswith("F/") for path in read_contents(engine))
    engine.undo(int(change))
    assert read_contents(engine) == before


def test_an_empty_folder_is_deleted_and_comes_back(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": ""})
    folder = engine.root.folder / "Empty"
    folder.mkdir()
    change = engine.apply([Delete(note="Empty/")]).change_id
    assert not folder.exists()
    engine.undo(int(change))
    assert folder.is_dir()


def test_an_added_attachment_does_not_take_over_the_embeds_of_another(make_vault: MakeVault) -> None:
    """docs/obsidian.md 4: a new file that makes a bare name ambiguous must not silently re-point older
    links."""
    engine = make_vault({"A.md": "![[p.png]]", "img/p.png": b"1"})
    outcome = engine.apply([AddFile(path="p.png", data=b"2")])
    assert read_contents(engine)["A.md"] == b"![[img/p.png]]"
    assert "they were rewritten to keep their target, in: A.md" in " ".join(outcome.notices)


def test_a_note_and_a_link_to_it_are_one_text_when_links_are_rewritten(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "[[B]]", "B.md": "b"})
    (engine.root.folder / "Same.md").symlink_to("A.md")
    engine.apply([Move(note="B", to="C")])
    assert read_contents(engine)["A.md"] == b"[[C]]"
    assert (engine.root.folder / "Same.md").is_symlink()


def test_a_base_and_a_link_to_it_are_one_text_when_links_are_rewritten(make_vault: MakeVault) -> None:
    """Every move in the vault was refused: the base "has changed since it was read"."""
    engine = make_vault({"A.base": 'filters: file.hasLink("B")\n', "B.md": "b"})
    (engine.root.folder / "Same.base").symlink_to("A.base")
    engine.apply([Move(note="B", to="C")])
    assert read_contents(engine)["A.base"] == b'filters: file.hasLink("C")\n'
    assert (engine.root.folder / "Same.base").is_symlink()


@pytest.mark.parametrize("folder", ["", "Private/"])
def test_a_base_that_is_not_downloaded_stands_in_the_way_of_no_move(
    make_vault: MakeVault, folder: str
) -> None:
    """Every move in the vault was refused. A base may name what moves, so a notice says that it was left as
    it is. There is none about a hidden one."""
    files: dict[str, str | bytes] = {f"{folder}.Far.base.icloud": b"bplist", "A.md": "[[B]]", "B.md": "b"}
    engine = make_vault(files, scope=Scope(deny=("Private/",)))
    outcome = engine.apply([Move(note="B", to="C")])
    assert read_contents(engine)["A.md"] == b"[[C]]"
    notice = "Far.base: a base in it could not be read and was left as it is."
    assert outcome.notices == (() if folder else (notice,))


def test_every_moved_note_is_listed_with_its_hash(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "text", "B.md": "[[A]]"})
    for file in engine.apply([Move(note="A", to="C")]).files:
        assert file.hash == engine.view(file.path).hash


def test_a_note_above_the_largest_size_is_not_edited_but_its_links_follow(make_vault: MakeVault) -> None:
    engine = make_vault({"Big.md": "[[A]]" + "x" * 500, "A.md": ""}, scope=Scope(max_note_bytes=100))
    with pytest.raises(PermissionDenied, match="largest note"):
        engine.apply([Append(note="Big", content="y")])
    engine.apply([Move(note="A", to="B")])
    assert read_contents(engine)["Big.md"].startswith(b"[[B]]x")


def test_later_operations_reach_notes_that_were_only_moved(make_vault: MakeVault) -> None:
    """A moved note whose own text did not change is known to the index by its old path alone."""
    engine = make_vault(
        {
            "A/from.md": "[[Plan#Week 1]] #t",
            "Plan.md": "# Week 1\n\nx ^b\n",
            "A/v.base": 'filters: file.hasLink("Plan.md")\nviews:\n  - type: table\n    name: T\n',
        }
    )
    engine.apply(
        [
            Move(note="A/", to="B"),
            Move(note="Plan", to="C/"),
            RenameHeading(note="Plan", heading="Week 1", to="First"),
            RenameTag(tag="t", to="u"),
            Move(note="Plan", to="Goal"),
        ]
    )
    after = read_contents(engine)
    assert after["B/from.md"] == b"[[Goal#First]] #u"
    assert after["C/Goal.md"].startswith(b"# First\n")
    assert b"Goal.md" in after["B/v.base"]


def test_bases_in_notes_follow_notes_and_folders(make_vault: MakeVault) -> None:
    dashboard = (
        '# Dash\n\n```base\nfilters:\n  and:\n    - file.inFolder("Work")\n    - file.hasLink("Plan")\n```\n'
        "> ```base\n> formulas:\n>   x: 'link(\"Work/Plan.md\")'\n> ```\n"
    )
    broken = '```base\na: [link("Plan")\n```\n'
    files = {"Dash.md": dashboard, "Work/Plan.md": "", "Broken.md": broken, "Else.md": "```base\n[\n```\n"}
    engine = make_vault(files)
    before = read_contents(engine)
    outcome = engine.apply(
        [
            Create(note="New", content='```base\nfilters: file.hasLink("Plan")\n```\n'),
            Move(note="Work/", to="Play"),
            Move(note="Plan", to="Play/Goal"),
        ]
    )
    after = read_contents(engine)
    assert after["Dash.md"].decode() == dashboard.replace("Work/Plan", "Goal").replace(
        "Plan", "Goal"
    ).replace("Work", "Play")
    assert b'hasLink("Goal")' in after["New.md"]
    assert after["Broken.md"] == broken.encode()
    assert [notice for notice in outcome.notices if "a base in it" in notice] == [
        "Broken.md: a base in it could not be read and was left as it is."
    ]
    engine.undo(int(outcome.change_id))
    assert read_contents(engine) == before


def test_a_tag_written_in_a_batch_is_renamed_in_it(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "#other"})
    engine.apply([Create(note="N", content="#t/sub"), RenameTag(tag="t", to="u")])
    assert read_contents(engine)["N.md"] == b"#u/sub"
    with pytest.raises(NotFound):
        engine.apply([RenameTag(tag="t", to="u")])


class Overtaken(Append, frozen=True, kw_only=True, tag="overtaken"):
    """An edit that takes its time between reading the note and writing it."""

    meanwhile: Callable[[], None]

    def changes(self, text: str, note: Note, types: Mapping[str, str]) -> tuple[Change, ...]:
        self.meanwhile()
        return super().changes(text, note, types)


def test_another_vaultbridge_process_overtakes_a_change_only_once(make_vault: MakeVault) -> None:
    """A busy neighbour that writes each time we have read: it must not go on for ever."""
    ours, other = make_vault({"A.md": "start"}), make_vault()
    writer = FileLock(ours.state / WRITER_LOCK)
    turns: list[str] = []

    def write() -> None:
        if not writer.try_acquire():
            turns.append("would have to wait")
            return
        writer.release()
        other.apply([Append(note="A", content="theirs")])
        turns.append("wrote")

    ours.apply([Overtaken(note="A", content="ours", meanwhile=write)])
    assert turns == ["wrote", "would have to wait"]
    assert read_contents(ours)["A.md"] == b"start\ntheirs\nours"


def test_a_refused_name_is_reported_with_its_place_in_the_batch(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "a"})
    for name in ("../Out", "a:b", "", ".obsidian/app"):
        with pytest.raises(VaultbridgeError, match="Operation 2 of 2: "):
            engine.apply([Append(note="A", content="x"), Create(note=name, content="x")])
    assert read_contents(engine) == {"A.md": b"a"}
