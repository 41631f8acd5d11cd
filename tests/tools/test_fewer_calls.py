"""What took several calls takes one: tasks by their text, notes of a query, files that nobody uses."""

from __future__ import annotations

from support.tools import Small
from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.vault.scope import Scope


def test_a_task_is_ticked_by_its_text_wherever_it_is(small: Small) -> None:
    vault = small(
        {"A.md": "- [x] call Ada\n- [ ] call Ada again\n", "B.md": "- [ ] call Ada 📅 2026-03-01\n"}
    )
    data = vault.data("edit_note", op="set_task", name="", text="call Ada", status="done")
    assert [file["path"] for file in data["files"]] == ["B.md"]
    assert vault.read("B.md") == "- [x] call Ada 📅 2026-03-01\n"
    vault.data("edit_note", op="set_task", text="ADA AGAIN")
    assert vault.read("A.md") == "- [x] call Ada\n- [x] call Ada again\n"
    vault.data("batch", operations=[{"op": "set_task", "text": "Ada again", "status": "open"}])
    assert vault.read("A.md") == "- [x] call Ada\n- [ ] call Ada again\n"


def test_an_ambiguous_task_is_not_guessed(small: Small) -> None:
    vault = small({"A.md": "- [ ] water\n", "B.md": "- [ ] water\n", "Secret/S.md": "- [ ] hidden\n"})
    error = vault.catch_refusal(EditRefused, "edit_note", op="set_task", name="", text="water")
    assert str(error) == "2 tasks match 'water'. Name its note, as in: A.md:1: water; B.md:1: water."
    assert "No task to change" in str(
        vault.catch_refusal(EditRefused, "edit_note", op="set_task", name="", text="fire")
    )
    vault.catch_refusal(InvalidArgument, "edit_note", op="set_task", name="", line=1)
    assert "Which note?" in str(
        vault.catch_refusal(InvalidArgument, "edit_note", op="append", content="fire")
    )
    narrow = small({}, scope=Scope(deny=("Secret/",)))
    vault.catch_refusal(EditRefused, "edit_note", op="set_task", name="A", line=1, text="fire")
    assert "No task" in str(
        narrow.catch_refusal(EditRefused, "edit_note", op="set_task", name="", text="hidden")
    )


def test_tasks_that_link_to_a_note_are_found_however_they_link(small: Small) -> None:
    vault = small(
        {
            "Atlas.md": "---\naliases: [the map]\n---\n",
            "T.md": (
                "- [ ] draw [[Atlas|it]]\n- [x] buy [a](Atlas.md)\n- [ ] Atlas unlinked\n- [ ] [[Atlas#x]]\n"
            ),
            "U.md": "- [ ] see [[Nowhere]]\n",
        }
    )
    assert vault.rows("tasks", text="[[atlas]]", status="open") == [
        "T.md",
        " 1: [ ] draw [[Atlas|it]]",
        " 4: [ ] [[Atlas#x]]",
        "(tasks: 2)",
    ]
    assert vault.rows("tasks", text="[[the map]]", status="done") == [
        "T.md:2: [x] buy [a](Atlas.md)",
        "(tasks: 1)",
    ]
    assert vault.rows("tasks", text="[[Nowhere]]") == ["U.md:1: [ ] see [[Nowhere]]", "(tasks: 1)"]


def test_files_that_lack_something_are_listed(small: Small) -> None:
    files: dict[str, str | bytes] = {
        "A.md": "#tagged ![[used.png]]",
        "B.md": "---\ntags: x\n---\n",
        "C.md": "none",
        "Sub/D.md": "```\n#code\n```",
        "used.png": b"",
        "unused.png": b"",
        "Sub/old.pdf": b"",
        "Ignored/I.md": "[[kept.png]]",
        "kept.png": b"",
        ".obsidian/app.json": '{"userIgnoreFilters": ["Ignored/"]}',
    }
    vault = small(files)
    assert vault.rows("list_files", kind="untagged") == ["C.md", "Ignored/I.md", "Sub/D.md", "(files: 3)"]
    assert vault.rows("list_files", kind="untagged", folder="Sub") == ["Sub/D.md", "(files: 1)"]
    assert vault.rows("list_files", kind="unused") == ["Sub/old.pdf", "unused.png", "(files: 2)"]
    assert vault.rows("list_files", kind="unused", pattern="*.png") == ["unused.png", "(files: 1)"]


def test_the_notes_of_a_query_move_as_one_change(small: Small) -> None:
    vault = small(
        {
            "A.md": "#done [[B]]",
            "B.md": "#done",
            "Archive/C.md": "#done",
            "D.md": "[[A]] [[B]]",
            "E.md": "#open",
        }
    )
    before = vault.files()
    shown = vault.data("move_note", query="tag:#done", to="Archive", dry_run=True)
    assert vault.files() == before
    data = vault.data("move_note", query="tag:#done", to="Archive/")
    assert data["matched"] == shown["matched"] == 3
    assert sorted(path for path in vault.files()) == [
        "Archive/A.md",
        "Archive/B.md",
        "Archive/C.md",
        "D.md",
        "E.md",
    ]
    assert vault.read("D.md") == "[[A]] [[B]]"
    vault.call("undo", id=data["change"])
    assert vault.files() == before


def test_a_query_that_moves_nothing_says_so(small: Small) -> None:
    vault = small({"A.md": "x", "Secret/B.md": "zebra"}, scope=Scope(deny=("Secret/",)))
    assert "No note matches" in str(vault.catch_refusal(InvalidArgument, "move_note", query="zebra", to="Z/"))
    assert "either name or query" in str(vault.catch_refusal(InvalidArgument, "move_note", to="Z/"))
    assert "either name or query" in str(
        vault.catch_refusal(InvalidArgument, "move_note", name="A", query="x", to="Z/")
    )


def test_merging_names_the_note_that_stays(small: Small) -> None:
    vault = small({"A.md": "a\n", "B.md": "b\n", "L.md": "[[A]]"})
    data = vault.data("edit_note", op="merge", name="A", to="B")
    assert data["path"] == "B.md"
    assert data["files"] == [{"path": "A.md", "change": "deleted"}, {"path": "L.md", "links": 1}]
    assert vault.read("B.md") == "b\n\na\n"
