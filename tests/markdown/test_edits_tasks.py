"""Setting and toggling tasks."""

from __future__ import annotations

import pytest

from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.markdown.edits.change import apply_changes
from vaultbridge.markdown.edits.tasks import find_task, set_task
from vaultbridge.markdown.parse import parse


def apply_status(text: str, status: str, *, line: int = 1) -> str:
    return apply_changes(text, set_task(text, find_task(parse(text), line=line), status))


@pytest.mark.parametrize(
    ("text", "status", "expected"),
    [
        ("- [ ] a", "toggle", "- [x] a"),
        ("- [x] a", "toggle", "- [ ] a"),
        ("- [/] a", "toggle", "- [ ] a"),
        ("> 1. [ ] a\r\n", "-", "> 1. [-] a\r\n"),
        ("  * [x] a", "x", "  * [x] a"),
        ("- [ ] é 😀 [x]", "X", "- [X] é 😀 [x]"),
    ],
)
def test_only_the_status_character_changes(text: str, status: str, expected: str) -> None:
    assert apply_status(text, status) == expected


def test_the_completion_date_of_the_tasks_plugin_is_left_alone() -> None:
    assert apply_status("- [x] a ✅ 2020-01-01", "toggle") == "- [ ] a ✅ 2020-01-01"


def test_a_task_is_found_by_line_or_text() -> None:
    note = parse("- [ ] buy milk 📅 2024-01-01\n- [ ] buy bread\n- [x] sell\n")
    assert find_task(note, line=2).text == "buy bread"
    assert find_task(note, text="buy milk").line == 1
    assert find_task(note, text="SELL").line == 3
    with pytest.raises(EditRefused, match=r"2 tasks match 'buy'.*line 1.*line 2"):
        find_task(note, text="buy")
    with pytest.raises(EditRefused, match=r"No task has the text 'fly'.*line 3"):
        find_task(note, text="fly")
    with pytest.raises(EditRefused, match="Line 9 is not a task"):
        find_task(note, line=9)
    with pytest.raises(EditRefused, match="no tasks"):
        find_task(parse("x"), line=1)
    with pytest.raises(InvalidArgument):
        find_task(note)


@pytest.mark.parametrize("status", ["", "xx", "\n"])
def test_a_status_is_one_character(status: str) -> None:
    with pytest.raises(InvalidArgument):
        apply_status("- [ ] a", status)
