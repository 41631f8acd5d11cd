"""`move_note` and `delete_note`."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from support.tools import ToolHarness, write_files
from vaultbridge.engine import Engine
from vaultbridge.errors import EditRefused, InvalidArgument, InvalidPath, NoteNotFound, StaleWrite
from vaultbridge.tools.base.tool import ToolContext
from vaultbridge.tools.standard import standard_catalog
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.trash import Trash

Small = Callable[..., ToolHarness]

LOCAL_TRASH = {".obsidian/app.json": '{"trashOption":"local"}'}


def test_a_renamed_note_keeps_its_folder_and_its_links(small: Small) -> None:
    desk = small({"f/A.md": "self [[A]]", "B.md": "[[A|shown]] ![[A#H]]"})
    data = desk.data("move_note", name="A", to="Z", expected=content_hash(b"self [[A]]"))
    assert data["path"] == "f/Z.md"
    assert data["was"] == "f/A.md"
    assert data["files"] == [{"path": "B.md", "change": "changed", "links": 2}]
    assert desk.read("B.md") == "[[Z|shown]] ![[Z#H]]"
    assert desk.read("f/Z.md") == "self [[Z]]"


def test_notes_attachments_and_folders_move(small: Small) -> None:
    desk = small({"A.md": "![[p.png]]", "p.png": b"p", "f/B.md": "[[f/C]]", "f/C.md": ""})
    assert desk.data("move_note", name="A", to="g/")["path"] == "g/A.md"
    assert desk.data("move_note", name="p.png", to="img/q")["path"] == "img/q.png"
    assert desk.read("g/A.md") == "![[q.png]]"
    assert desk.data("move_note", name="f/", to="h")["path"] == "h"
    assert sorted(path for path in desk.files() if path.startswith("h/")) == ["h/B.md", "h/C.md"]


@pytest.mark.parametrize("top", ["/", "./", "//"])
def test_a_folder_can_be_moved_to_the_top(small: Small, top: str) -> None:
    desk = small({"F/G/A.md": "x", "B.md": "[[F/G/A]]", "H/C.md": ""})
    assert desk.data("move_note", name="F/G/", to=top)["path"] == "G"
    assert (desk.read("G/A.md"), desk.read("B.md")) == ("x", "[[A]]")
    assert desk.data("move_note", name="G/", to="H/")["path"] == "H/G"
    assert desk.data("move_note", name="H/G/", to="New/Place/")["path"] == "New/Place"
    assert desk.data("move_note", name="New/Place/", to="Name")["path"] == "New/Name"


def test_a_folder_is_not_put_in_another_ones_place_at_the_top(small: Small) -> None:
    desk = small({"F/G/A.md": "x", "G/B.md": ""})
    assert "G exists already" in str(desk.refused(EditRefused, "move_note", name="F/G/", to="/"))
    assert desk.data("move_note", name="G/", to="/") == {"unchanged": True}


def test_undoing_the_move_of_a_folder_gives_back_its_name_as_it_was_stored(small: Small) -> None:
    name = unicodedata.normalize("NFD", "Café")
    desk = small({f"{name}/A.md": "x"})
    desk.data("move_note", name="Café/", to="Cafe")
    desk.data("undo")
    assert f"{name}/A.md" in desk.files()


def test_a_dry_run_of_a_move_shows_the_links_it_would_rewrite(small: Small) -> None:
    desk = small({"A.md": "", "B.md": "[[A]]"})
    before = desk.files()
    data = desk.data("move_note", name="A", to="Z", dry_run=True)
    assert data["dry_run"] is True
    assert "+[[Z]]" in data["diff"]
    assert desk.files() == before


def test_a_move_to_where_it_is_changes_nothing(small: Small) -> None:
    desk = small({"A.md": ""})
    assert desk.data("move_note", name="A", to="A") == {"unchanged": True}


def test_moves_that_cannot_be_are_refused(small: Small) -> None:
    desk = small({"A.md": "a", "B.md": "b"})
    assert "B.md exists already" in str(desk.refused(EditRefused, "move_note", name="A", to="B"))
    desk.refused(NoteNotFound, "move_note", name="Q", to="R")
    desk.refused(InvalidPath, "move_note", name="A", to="a:b")
    desk.refused(InvalidPath, "move_note", name="A", to="../A")
    desk.refused(StaleWrite, "move_note", name="A", to="Z", expected="0" * 16)
    assert desk.refused(InvalidArgument, "move_note", name="A").argument == "to"


def test_a_deleted_note_lies_in_the_trash_and_comes_back(small: Small) -> None:
    desk = small({**LOCAL_TRASH, "A.md": "a", "B.md": "[[A]]"})
    data = desk.data("delete_note", path="A", expected=content_hash(b"a"))
    assert data == {
        "path": "A.md",
        "deleted": True,
        "went_to": ".trash in the vault",
        "change": 1,
        "notices": ["1 file(s) still link to A.md."],
    }
    assert desk.read(".trash/A.md") == "a"
    desk.data("undo")
    assert desk.read("A.md") == "a"


@pytest.mark.parametrize(
    ("option", "place"),
    [
        ("system", "the system's trash"),
        ("local", ".trash in the vault"),
        ("none", "nowhere: removed for good"),
    ],
)
def test_a_deletion_says_where_the_file_went(small: Small, tmp_path: Path, option: str, place: str) -> None:
    desk = small({"A.md": "a", "B.md": "b", ".obsidian/app.json": f'{{"trashOption":"{option}"}}'})
    assert desk.data("delete_note", name="A")["went_to"].startswith(place)
    assert desk.data("batch", operations=[{"op": "delete", "name": "B"}])["went_to"].startswith(place)
    system = [file.name for file in (tmp_path / "home").rglob("*.md")]
    local = [file.name for file in (desk.folder / ".trash").rglob("*.md")]
    assert (sorted(system) == ["A.md", "B.md"]) == (option == "system")
    assert (sorted(local) == ["A.md", "B.md"]) == (option == "local")
    assert "went_to" not in desk.data("create_note", name="C")


def test_where_the_systems_trash_cannot_be_used_the_answer_says_so(tmp_path: Path) -> None:
    """As on Windows, whose recycle bin no file can simply be moved to."""
    vault = tmp_path / "vault"
    write_files(vault, {"A.md": "a"})
    trash = Trash({"HOME": str(tmp_path / "home")}, platform="win32")
    with Engine(vault, cache=tmp_path / "cache", trash=trash, scope=Scope()) as engine:
        desk = ToolHarness(engine, standard_catalog(), ToolContext(engines={engine.name: engine}))
        assert desk.data("delete_note", name="A")["went_to"] == ".trash in the vault"
        assert desk.read(".trash/A.md") == "a"


def test_folders_and_attachments_are_deleted_too(small: Small) -> None:
    desk = small({**LOCAL_TRASH, "f/A.md": "a", "p.png": b"p"})
    assert desk.data("delete_note", name="f/")["path"] == "f"
    assert desk.data("delete_note", name="p.png")["path"] == "p.png"
    assert not (desk.folder / "f").exists()


def test_a_dry_run_of_a_deletion_deletes_nothing(small: Small) -> None:
    desk = small({**LOCAL_TRASH, "A.md": "a"})
    before = desk.files()
    data = desk.data("delete_note", name="A", dry_run=True)
    assert data["deleted"] is False
    assert data["dry_run"] is True
    assert desk.files() == before


def test_deletions_that_cannot_be_are_refused(small: Small) -> None:
    desk = small({**LOCAL_TRASH, "A.md": "a", "f/S.md": "s"}, scope=Scope(deny=("f/S.md",)))
    desk.refused(NoteNotFound, "delete_note", name="Q")
    desk.refused(StaleWrite, "delete_note", name="A", expected="0" * 16)
    desk.refused(NoteNotFound, "delete_note", name="f/S.md")
    assert "S.md" not in str(desk.refused(EditRefused, "delete_note", name="f/"))


def test_a_link_to_a_part_moves_and_deletes_nothing(small: Small) -> None:
    desk = small({"A.md": "# One\n"})
    assert desk.refused(InvalidArgument, "delete_note", name="[[A#One]]").argument == "name"
    assert desk.refused(InvalidArgument, "move_note", name="[[A#One]]", to="B").argument == "name"
    assert desk.files() == {"A.md": b"# One\n"}
    assert desk.data("move_note", name="[[A|a]]", to="B")["path"] == "B.md"


def test_blanks_around_a_new_name_are_no_part_of_it(small: Small) -> None:
    desk = small({"F/A.md": ""})
    assert desk.data("move_note", name="A", to=" B ")["path"] == "F/B.md"


@pytest.mark.parametrize("to", ["", "  "])
def test_an_empty_new_name_is_told_as_such(small: Small, to: str) -> None:
    desk = small({"F/A.md": ""})
    refused = desk.refused(InvalidArgument, "move_note", name="A", to=to)
    assert str(refused) == "to is empty. Give a new name, a new path, or folder/ to move into."


def test_the_picture_behind_a_group_of_a_canvas_goes_along(small: Small) -> None:
    """The group kept the old path and showed nothing."""
    group = '{"id":"g","type":"group","background":"a/old \\u00fc.png","x":0,"y":0,"width":9,"height":9}'
    canvas = f'{{"nodes":[{group}],"edges":[]}}'
    desk = small({"C.canvas": canvas, "a/old ü.png": b"x"})
    assert desk.rows("links", name="old ü.png")[1].startswith("C.canvas:1: ")
    data = desk.data("move_note", name="old ü.png", to="b/new.png")
    assert [file["path"] for file in data["files"]] == ["C.canvas"]
    assert desk.files()["C.canvas"].decode() == canvas.replace("a/old \\u00fc.png", "b/new.png")
    desk.data("undo")
    assert desk.files()["C.canvas"].decode() == canvas


def test_deleting_a_folder_tells_what_still_links_into_it(small: Small) -> None:
    files = {"F/A.md": "[[C]]", "F/C.md": "", "B.md": "[[A]] [[C]]", "D.md": "[[C]]", "Hidden/E.md": "[[A]]"}
    desk = small({**LOCAL_TRASH, **files}, scope=Scope(deny=("Hidden",)))
    assert desk.data("delete_note", name="F/")["notices"] == ["2 file(s) still link into F/."]
    desk.data("undo")
    desk.data("delete_note", name="B")
    desk.data("delete_note", name="D")
    assert "notices" not in desk.data("delete_note", name="F/")


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
def test_the_name_of_a_folder_moves_into_it(small: Small, name: str, to: str, path: str) -> None:
    desk = small(
        {
            "Plan.md": "plan",
            "Projects/One.md": "",
            "Projects/Old/Two.md": "",
            "Deep/Note.md": "[[Plan]]",
            "Deep/Inner/Three.md": "",
            "picture.png": b"x",
        }
    )
    desk.call("move_note", name=name, to=to)
    assert path in desk.files()


def test_a_name_that_may_mean_two_things_is_asked_about(small: Small) -> None:
    desk = small({"Plan.md": "", "Deep/Note.md": "", "Projects/One.md": "", "Deep/Projects/Two.md": ""})
    error = desk.refused(EditRefused, "move_note", name="Deep/Note", to="Projects")
    assert "Deep/Projects/ or Projects/" in str(error)
    desk = small({"Projects.md": "a note of the folder's name"})
    error = desk.refused(EditRefused, "move_note", name="Plan", to="Projects")
    assert "Projects/ or Projects.md" in str(error)
    desk.call("move_note", name="Plan", to="Projects/")
    assert "Projects/Plan.md" in desk.files()


def test_a_hidden_folder_of_that_name_is_not_moved_into(small: Small) -> None:
    desk = small({"Plan.md": "", "Private/Projects/One.md": "", "x.md": ""}, scope=Scope(deny=("Private/",)))
    desk.call("move_note", name="Plan", to="Projects")
    assert "Projects.md" in desk.files()
