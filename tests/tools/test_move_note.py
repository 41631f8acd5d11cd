"""`move_note` and `delete_note`."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from support.files import write_vault
from support.tools import Small, ToolHarness
from vaultbridge.engine import DirectEngine
from vaultbridge.errors import (
    EditRefused,
    InvalidArgument,
    InvalidPath,
    NoteNotFound,
    PermissionDenied,
    StaleWrite,
)
from vaultbridge.limits import NOTE_PARSE_BYTES, NOTE_READ_BYTES
from vaultbridge.tools.base.tool import ToolContext
from vaultbridge.tools.standard import standard_catalog
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.trash import Trash

LOCAL_TRASH = {".obsidian/app.json": '{"trashOption":"local"}'}


def test_a_renamed_note_keeps_its_folder_and_its_links(small: Small) -> None:
    harness = small({"f/A.md": "self [[A]]", "B.md": "[[A|shown]] ![[A#H]]"})
    data = harness.data("move_note", name="A", to="Z", expected=content_hash(b"self [[A]]"))
    assert data["path"] == "f/Z.md"
    assert data["was"] == "f/A.md"
    assert data["files"] == [{"path": "B.md", "links": 2}]
    assert harness.read("B.md") == "[[Z|shown]] ![[Z#H]]"
    assert harness.read("f/Z.md") == "self [[Z]]"


def test_notes_attachments_and_folders_move(small: Small) -> None:
    harness = small({"A.md": "![[p.png]]", "p.png": b"p", "f/B.md": "[[f/C]]", "f/C.md": ""})
    assert harness.data("move_note", name="A", to="g/")["path"] == "g/A.md"
    assert harness.data("move_note", name="p.png", to="img/q")["path"] == "img/q.png"
    assert harness.read("g/A.md") == "![[q.png]]"
    assert harness.data("move_note", name="f/", to="h")["path"] == "h"
    assert sorted(path for path in harness.files() if path.startswith("h/")) == ["h/B.md", "h/C.md"]


@pytest.mark.parametrize("top", ["/", "./", "//"])
def test_a_folder_can_be_moved_to_the_top(small: Small, top: str) -> None:
    harness = small({"F/G/A.md": "x", "B.md": "[[F/G/A]]", "H/C.md": ""})
    assert harness.data("move_note", name="F/G/", to=top)["path"] == "G"
    assert (harness.read("G/A.md"), harness.read("B.md")) == ("x", "[[A]]")
    assert harness.data("move_note", name="G/", to="H/")["path"] == "H/G"
    assert harness.data("move_note", name="H/G/", to="New/Place/")["path"] == "New/Place"
    assert harness.data("move_note", name="New/Place/", to="Name")["path"] == "New/Name"


def test_a_folder_does_not_replace_another_at_the_top(small: Small) -> None:
    harness = small({"F/G/A.md": "x", "G/B.md": ""})
    assert "G already exists" in str(harness.catch_refusal(EditRefused, "move_note", name="F/G/", to="/"))
    assert harness.data("move_note", name="G/", to="/") == {"unchanged": True}


def test_undoing_the_move_of_a_folder_restores_its_name_as_stored(small: Small) -> None:
    name = unicodedata.normalize("NFD", "Café")
    harness = small({f"{name}/A.md": "x"})
    harness.data("move_note", name="Café/", to="Cafe")
    harness.data("undo")
    assert f"{name}/A.md" in harness.files()


def test_a_dry_run_of_a_move_shows_the_links_it_would_rewrite(small: Small) -> None:
    harness = small({"A.md": "", "B.md": "[[A]]"})
    before = harness.files()
    data = harness.data("move_note", name="A", to="Z", dry_run=True)
    assert data["dry_run"] is True
    assert "+[[Z]]" in data["diff"]
    assert harness.files() == before


def test_a_move_to_the_same_place_changes_nothing(small: Small) -> None:
    harness = small({"A.md": ""})
    assert harness.data("move_note", name="A", to="A") == {"unchanged": True}


def test_impossible_moves_are_refused(small: Small) -> None:
    harness = small({"A.md": "a", "B.md": "b"})
    assert "B.md already exists" in str(harness.catch_refusal(EditRefused, "move_note", name="A", to="B"))
    harness.catch_refusal(NoteNotFound, "move_note", name="Q", to="R")
    harness.catch_refusal(InvalidPath, "move_note", name="A", to="a:b")
    harness.catch_refusal(InvalidPath, "move_note", name="A", to="../A")
    harness.catch_refusal(StaleWrite, "move_note", name="A", to="Z", expected="0" * 16)
    assert harness.catch_refusal(InvalidArgument, "move_note", name="A").argument == "to"


def test_a_deleted_note_is_in_the_trash_and_undo_restores_it(small: Small) -> None:
    harness = small({**LOCAL_TRASH, "A.md": "a", "B.md": "[[A]]"})
    data = harness.data("delete_note", path="A", expected=content_hash(b"a"))
    assert data == {
        "path": "A.md",
        "deleted": True,
        "went_to": ".trash in the vault",
        "change": 1,
        "notices": ["1 file still links to A.md."],
    }
    assert harness.read(".trash/A.md") == "a"
    harness.data("undo")
    assert harness.read("A.md") == "a"


@pytest.mark.parametrize(
    ("option", "place"),
    [
        ("system", "the system's trash"),
        ("local", ".trash in the vault"),
        ("none", "nowhere: deleted permanently"),
    ],
)
def test_a_deletion_says_where_the_file_went(small: Small, tmp_path: Path, option: str, place: str) -> None:
    harness = small({"A.md": "a", "B.md": "b", ".obsidian/app.json": f'{{"trashOption":"{option}"}}'})
    assert harness.data("delete_note", name="A")["went_to"].startswith(place)
    assert harness.data("batch", operations=[{"op": "delete", "name": "B"}])["went_to"].startswith(place)
    system = [file.name for file in (tmp_path / "home").rglob("*.md")]
    local = [file.name for file in (harness.folder / ".trash").rglob("*.md")]
    assert (sorted(system) == ["A.md", "B.md"]) == (option == "system")
    assert (sorted(local) == ["A.md", "B.md"]) == (option == "local")
    assert "went_to" not in harness.data("create_note", name="C")


def test_where_the_systems_trash_cannot_be_used_the_answer_says_so(tmp_path: Path) -> None:
    """As on Windows, whose recycle bin no file can simply be moved to."""
    vault = tmp_path / "vault"
    write_vault(vault, {"A.md": "a"})
    trash = Trash({"HOME": str(tmp_path / "home")}, platform="win32")
    with DirectEngine(vault, cache=tmp_path / "cache", trash=trash, scope=Scope()) as engine:
        harness = ToolHarness(engine, standard_catalog(), ToolContext(engines={engine.name: engine}))
        assert harness.data("delete_note", name="A")["went_to"] == ".trash in the vault"
        assert harness.read(".trash/A.md") == "a"


def test_folders_and_attachments_are_deleted_too(small: Small) -> None:
    harness = small({**LOCAL_TRASH, "f/A.md": "a", "p.png": b"p"})
    assert harness.data("delete_note", name="f/")["path"] == "f"
    assert harness.data("delete_note", name="p.png")["path"] == "p.png"
    assert not (harness.folder / "f").exists()


def test_a_dry_run_of_a_deletion_deletes_nothing(small: Small) -> None:
    harness = small({**LOCAL_TRASH, "A.md": "a"})
    before = harness.files()
    data = harness.data("delete_note", name="A", dry_run=True)
    assert data["deleted"] is False
    assert data["dry_run"] is True
    assert harness.files() == before


def test_impossible_deletions_are_refused(small: Small) -> None:
    harness = small({**LOCAL_TRASH, "A.md": "a", "f/S.md": "s"}, scope=Scope(deny=("f/S.md",)))
    harness.catch_refusal(NoteNotFound, "delete_note", name="Q")
    harness.catch_refusal(StaleWrite, "delete_note", name="A", expected="0" * 16)
    harness.catch_refusal(NoteNotFound, "delete_note", name="f/S.md")
    assert "S.md" not in str(harness.catch_refusal(EditRefused, "delete_note", name="f/"))


def test_a_link_to_a_part_of_a_note_is_not_moved_or_deleted(small: Small) -> None:
    harness = small({"A.md": "# One\n"})
    assert harness.catch_refusal(InvalidArgument, "delete_note", name="[[A#One]]").argument == "name"
    assert harness.catch_refusal(InvalidArgument, "move_note", name="[[A#One]]", to="B").argument == "name"
    assert harness.files() == {"A.md": b"# One\n"}
    assert harness.data("move_note", name="[[A|a]]", to="B")["path"] == "B.md"


def test_spaces_around_a_new_name_are_ignored(small: Small) -> None:
    harness = small({"F/A.md": ""})
    assert harness.data("move_note", name="A", to=" B ")["path"] == "F/B.md"


@pytest.mark.parametrize("to", ["", "  "])
def test_an_empty_new_name_is_refused(small: Small, to: str) -> None:
    harness = small({"F/A.md": ""})
    refused = harness.catch_refusal(InvalidArgument, "move_note", name="A", to=to)
    assert str(refused) == "to is empty. Give a new name, a new path, or folder/ to move into."


def test_a_canvas_follows_the_move_of_a_group_background(small: Small) -> None:
    """The group kept the old path and showed nothing."""
    group = '{"id":"g","type":"group","background":"a/old \\u00fc.png","x":0,"y":0,"width":9,"height":9}'
    canvas = f'{{"nodes":[{group}],"edges":[]}}'
    harness = small({"C.canvas": canvas, "a/old ü.png": b"x"})
    assert harness.rows("links", name="old ü.png")[1].startswith("C.canvas:1: ")
    data = harness.data("move_note", name="old ü.png", to="b/new.png")
    assert [file["path"] for file in data["files"]] == ["C.canvas"]
    assert harness.files()["C.canvas"].decode() == canvas.replace("a/old \\u00fc.png", "b/new.png")
    harness.data("undo")
    assert harness.files()["C.canvas"].decode() == canvas


def test_deleting_a_folder_reports_the_links_into_it(small: Small) -> None:
    files = {"F/A.md": "[[C]]", "F/C.md": "", "B.md": "[[A]] [[C]]", "D.md": "[[C]]", "Hidden/E.md": "[[A]]"}
    harness = small({**LOCAL_TRASH, **files}, scope=Scope(deny=("Hidden",)))
    assert harness.data("delete_note", name="F/")["notices"] == ["2 files still link into F/."]
    harness.data("undo")
    harness.data("delete_note", name="B")
    harness.data("delete_note", name="D")
    assert "notices" not in harness.data("delete_note", name="F/")


@pytest.mark.parametrize(
    ("name", "to", "path"),
    [
        ("Plan", "Projects", "Projects/Plan.md"),
        ("Plan", "projects", "Projects/Plan.md"),
        ("Plan", "Projects/Old", "Projects/Old/Plan.md"),
        ("Deep/Note", "Projects", "Projects/Note.md"),
        ("Deep/Note", "Inner", "Deep/Inner/Note.md"),
        ("picture.png", "Projects", "Projects/picture.png"),
        # An ending, a free name and the folder that the note is in already: all these are new names.
        ("Plan", "Projects.md", "Projects.md"),
        ("Plan", "Free", "Free.md"),
        ("Projects/One", "Projects", "Projects/Projects.md"),
        ("Deep/Note", "Deep", "Deep/Deep.md"),
    ],
)
def test_a_target_that_names_a_folder_moves_the_note_into_it(
    small: Small, name: str, to: str, path: str
) -> None:
    harness = small(
        {
            "Plan.md": "plan",
            "Projects/One.md": "",
            "Projects/Old/Two.md": "",
            "Deep/Note.md": "[[Plan]]",
            "Deep/Inner/Three.md": "",
            "picture.png": b"x",
        }
    )
    harness.call("move_note", name=name, to=to)
    assert path in harness.files()


def test_an_ambiguous_target_is_refused(small: Small) -> None:
    harness = small({"Plan.md": "", "Deep/Note.md": "", "Projects/One.md": "", "Deep/Projects/Two.md": ""})
    error = harness.catch_refusal(EditRefused, "move_note", name="Deep/Note", to="Projects")
    assert "Deep/Projects/ or Projects/" in str(error)
    harness = small({"Projects.md": "a note of the folder's name"})
    error = harness.catch_refusal(EditRefused, "move_note", name="Plan", to="Projects")
    assert "Projects/ or Projects.md" in str(error)
    harness.call("move_note", name="Plan", to="Projects/")
    assert "Projects/Plan.md" in harness.files()


def test_a_hidden_folder_of_that_name_is_not_moved_into(small: Small) -> None:
    harness = small(
        {"Plan.md": "", "Private/Projects/One.md": "", "x.md": ""}, scope=Scope(deny=("Private/",))
    )
    harness.call("move_note", name="Plan", to="Projects")
    assert "Projects.md" in harness.files()


def card(file: str) -> str:
    return f'{{"nodes":[{{"id":"1","type":"file","file":"{file}","x":0,"y":0,"width":9,"height":9}}]}}'


@pytest.mark.parametrize("file", ["Plan.md", "Old/Plan.md", "Sub/Plan.md"])
def test_a_card_whose_file_is_gone_stays_as_it_is(small: Small, file: str) -> None:
    """A card has a whole path. The card was given to another note of the same name when that one moved."""
    harness = small({"New/Sub/Plan.md": "", "Board.canvas": card(file)})
    assert harness.text("links", kind="outgoing", name="Board.canvas").splitlines()[1].endswith("(nothing)")
    assert harness.text("links", name="New/Sub/Plan").splitlines()[1:] == ["(backlinks: none)"]
    harness.data("move_note", name="New/Sub/Plan", to="Moved")
    assert harness.read("Board.canvas") == card(file)
    harness.data("create_note", name=file)
    assert harness.text("links", name=file).splitlines()[-1] == "(backlinks: 1)"
    harness.data("move_note", name=file, to="Again")
    assert harness.read("Board.canvas") == card(file.replace("Plan", "Again"))


def test_a_base_follows_a_name_whose_lower_case_depends_on_what_follows(small: Small) -> None:
    """The lower case of a final sigma is another letter before `.md`, so the base was passed over."""
    harness = small({"ΣΊΣΥΦΟΣ.md": "", "B.md": "```base\nfilters: 'file.hasLink(\"ΣΊΣΥΦΟΣ.md\")'\n```\n"})
    harness.data("move_note", name="ΣΊΣΥΦΟΣ", to="New")
    assert harness.read("B.md") == "```base\nfilters: 'file.hasLink(\"New.md\")'\n```\n"


def test_a_huge_base_does_not_stop_a_move(small: Small) -> None:
    """It was read as YAML by every move in the vault, for longer than a call may take."""
    huge = "filters: 'file.hasLink(\"A\")'\nviews:\n" + "  - type: table\n" * 2_000_000
    harness = small({"A.md": "", "B.md": "[[A]]", "Huge.base": huge, "C.md": ""})
    assert "notices" not in harness.data("move_note", name="C", to="Nothing else has this name")
    data = harness.data("move_note", name="A", to="Z")
    assert data["notices"] == ["Huge.base: a base in it could not be read and was left as it is."]
    assert harness.read("B.md") == "[[Z]]"
    assert harness.read("Huge.base") == huge


@pytest.mark.parametrize("link", ["[[my ä]]", "[x](my%20%C3%A4.md)", "[x](my%20ä.md)", "[[MY Ä|x]]"])
def test_a_note_too_large_to_be_parsed_is_named_if_it_may_link_to_a_moved_one(
    small: Small, link: str
) -> None:
    """Its links do not follow, and nothing said so."""
    huge = f"{link}\n" + "x" * NOTE_PARSE_BYTES
    files = {"my ä.md": "", "C.md": "", "Huge.md": huge, "Deny/Hidden.md": huge}
    harness = small(files, scope=Scope(deny=("Deny/",)))
    assert "notices" not in harness.data("move_note", name="C", to="Nothing else has this name")
    reported = "Huge.md: it is too large to be parsed, so links in it were left as they are."
    assert harness.data("move_note", name="my ä", to="Z")["notices"] == [reported]
    assert harness.data("move_note", name="Huge", to="Sub/Huge")["notices"] == [reported]
    assert harness.read("Sub/Huge.md") == huge


def test_a_film_of_any_size_is_moved_and_deleted(small: Small) -> None:
    """It was refused with the limit for notes that are read, although its folder could be moved."""
    harness = small({"film.mp4": b"", "long.md": b"", "N.md": "![[film.mp4]]", **LOCAL_TRASH})
    for name in ("film.mp4", "long.md"):
        with (harness.folder / name).open("r+b") as opened:
            opened.truncate(NOTE_READ_BYTES + 1)
    assert harness.data("move_note", name="film.mp4", to="Films/")["path"] == "Films/film.mp4"
    assert harness.data("move_note", name="film.mp4", to="first")["path"] == "Films/first.mp4"
    assert harness.read("N.md") == "![[first.mp4]]"
    harness.data("delete_note", name="first.mp4")
    harness.data("undo")
    assert (harness.folder / "Films/first.mp4").stat().st_size == NOTE_READ_BYTES + 1
    with pytest.raises(PermissionDenied, match="the largest note"):
        harness.data("move_note", name="long", to="Films/")
    harness.data("delete_note", name="long")


def test_a_folder_is_not_deleted_without_a_trash(small: Small) -> None:
    """The error said only that the folder is not a file."""
    harness = small({"f/A.md": "a", ".obsidian/app.json": '{"trashOption":"none"}'})
    with pytest.raises(EditRefused, match="only single files can be deleted"):
        harness.data("delete_note", name="f/")
    assert harness.read("f/A.md") == "a"
