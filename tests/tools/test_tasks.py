"""`tasks`."""

from __future__ import annotations

import pytest

from support.tools import Small, ungroup
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound, StaleWrite
from vaultbridge.vault.scope import Scope

FILES = {
    "f/A.md": "- [ ] late 📅 2026-02-01\n- [x] done #t\n- [/] half\n",
    "B.md": "- [ ] soon #t 📅 2026-01-01\n",
}
LATE, DONE, HALF = (
    "f/A.md:1: [ ] late 📅 2026-02-01",
    "f/A.md:2: [x] done #t",
    "f/A.md:3: [/] half",
)
SOON = "B.md:1: [ ] soon #t 📅 2026-01-01"


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        ({}, [SOON, LATE, DONE, HALF]),
        ({"status": "any"}, [SOON, LATE, DONE, HALF]),
        ({"status": "open"}, [SOON, LATE]),
        ({"status": "todo"}, [SOON, LATE]),
        ({"status": "done"}, [DONE, HALF]),
        ({"status": "/"}, [HALF]),
        ({"text": "LAT"}, [LATE]),
        ({"tag": "#t"}, [SOON, DONE]),
        ({"name": "A"}, [LATE, DONE, HALF]),
        ({"path": "f/A.md"}, [LATE, DONE, HALF]),
        ({"name": "f/"}, [LATE, DONE, HALF]),
        ({"due_before": "2026-01-15"}, [SOON]),
        ({"due_after": "2026-01-15"}, [LATE]),
    ],
)
def test_tasks_are_found_by_each_filter(small: Small, arguments: dict[str, object], rows: list[str]) -> None:
    assert ungroup(small(FILES).rows("tasks", **arguments)) == [*rows, f"(tasks: {len(rows)})"]


def test_tasks_of_one_note_are_listed_below_its_path(small: Small) -> None:
    assert small(FILES).rows("tasks") == [
        SOON,
        "f/A.md",
        " 1: [ ] late 📅 2026-02-01",
        " 2: [x] done #t",
        " 3: [/] half",
        "(tasks: 4)",
    ]


def test_tasks_are_listed_in_pages(small: Small) -> None:
    harness = small(FILES)
    assert harness.rows("tasks", limit=1) == [SOON, "(tasks 1-1 of 4; continue with offset=1)"]
    assert harness.rows("tasks", limit=1, offset=1) == [LATE, "(2-2 of 4; offset=2)"]


def test_a_task_is_toggled_by_the_address_it_was_listed_with(small: Small) -> None:
    harness = small(FILES)
    data = harness.data("edit_note", op="set_task", name="f/A.md:1")
    assert data["path"] == "f/A.md"
    assert harness.rows("tasks", status="open")[:-1] == [SOON]


@pytest.mark.parametrize(
    ("status", "mark"), [("", "x"), ("toggle", "x"), ("done", "x"), ("-", "-"), ("open", " "), ("todo", " ")]
)
def test_a_status_is_a_word_or_a_character(small: Small, status: str, mark: str) -> None:
    harness = small(FILES)
    harness.data("edit_note", op="set_task", name="A", text="late", status=status)
    assert harness.read("f/A.md").startswith(f"- [{mark}] late")


def test_a_task_is_set_by_line_and_in_a_dry_run(small: Small) -> None:
    harness = small(FILES)
    assert "+- [x] late" in harness.data("edit_note", op="set_task", name="A", line=1, dry_run=True)["diff"]
    assert harness.read("f/A.md") == FILES["f/A.md"]


def test_wrong_calls_are_named(small: Small) -> None:
    harness = small(FILES)

    def catch_argument(**arguments: object) -> str:
        named: str = harness.catch_refusal(InvalidArgument, "tasks", **arguments).argument
        return named

    assert catch_argument(status="almost") == "status"
    assert catch_argument(due_before="soon") == "due_before"
    assert catch_argument(due_after="2020-13-01") == "due_after"
    assert catch_argument(action="set") == "action"
    assert harness.catch_refusal(InvalidArgument, "edit_note", op="set_task", name="A").argument == "line"
    wrong = {"op": "set_task", "name": "A", "line": 1, "status": "xx"}
    assert harness.catch_refusal(InvalidArgument, "edit_note", **wrong).argument == "status"
    harness.catch_refusal(NoteNotFound, "tasks", name="Q")
    harness.catch_refusal(NoteNotFound, "tasks", name="q/")
    harness.catch_refusal(EditRefused, "edit_note", op="set_task", name="A", line=9)
    harness.catch_refusal(EditRefused, "edit_note", op="set_task", name="A", text="nothing like it")
    harness.catch_refusal(StaleWrite, "edit_note", op="set_task", name="A", line=1, expected="0" * 16)


def test_hidden_tasks_are_not_counted(small: Small) -> None:
    harness = small(FILES, scope=Scope(deny=("f/",)))
    assert harness.rows("tasks") == [SOON, "(tasks: 1)"]
    harness.catch_refusal(NoteNotFound, "tasks", name="f/")


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("today", "", ["late"]),
        ("tomorrow", "yesterday", ["now"]),
        ("tomorrow", "", ["late", "now"]),
        ("8", "today", ["soon"]),
        ("", "-2", ["now", "soon"]),
    ],
)
def test_days_are_named_as_everywhere(small: Small, before: str, after: str, found: list[str]) -> None:
    due = {"late": "2026-03-01", "now": "2026-03-15", "soon": "2026-03-20"}
    harness = small({"A.md": "".join(f"- [ ] {name} 📅 {day}\n" for name, day in due.items())})
    text = harness.text("tasks", due_before=before, due_after=after)
    assert [name for name in due if f"] {name} " in text] == found
