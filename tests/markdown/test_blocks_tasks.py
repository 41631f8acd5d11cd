"""Tasks and the Tasks plugin's fields (docs/obsidian.md 7)."""

import pytest

from vaultbridge.markdown.blocks.output import split_task_fields
from vaultbridge.markdown.parse import parse


def list_tasks(text: str) -> list[tuple[int, str, str]]:
    found = parse(text).tasks
    assert all(text[task.start : task.end] == task.status for task in found)
    return [(task.line, task.status, task.text) for task in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- [ ] a", [(1, " ", "a")]),
        (
            "* [x] a\n+ [X] b\n1. [/] c\n2) [-] d",
            [(1, "x", "a"), (2, "X", "b"), (3, "/", "c"), (4, "-", "d")],
        ),
        ("- [ ]   spaced  ", [(1, " ", "spaced")]),
        ("- [é] a\n- [🔥] b", [(1, "é", "a"), (2, "🔥", "b")]),
        ("> - [ ] a", [(1, " ", "a")]),
        ("> [!todo]\n> - [x] a\n>   - [ ] b", [(2, "x", "a"), (3, " ", "b")]),
        ("- a\n\t- [ ] b\n\t\t- [ ] c", [(2, " ", "b"), (3, " ", "c")]),
        ("- [ ] a\n\n\ttext\n\n\t- [ ] b", [(1, " ", "a"), (5, " ", "b")]),
        ("-\t[ ] a", [(1, " ", "a")]),
        ("   - [ ] a", [(1, " ", "a")]),
        ("- [ ]\ta", [(1, " ", "a")]),
        ("[ ] a", []),
        ("- [] a", []),
        ("- [xx] a", []),
        ("- [x]a", []),
        ("- [x](link.md)", []),
        ("-[ ] a", []),
        ("    - [ ] code", []),
        ("```\n- [ ] a\n```", []),
        ("<div>\n- [ ] a\n</div>", []),
        ("<!--\n- [ ] a\n-->", []),
        ("%%\n- [ ] a\n%%", []),
        ("$$\n- [ ] a\n$$", []),
        ("text\n- [ ] a", [(2, " ", "a")]),
        ("text\n2. [ ] a", []),
        ("- [ ] a\r\n- [x] b\r\n", [(1, " ", "a"), (2, "x", "b")]),
        ("- \n  [ ] a", []),
    ],
)
def test_a_task_is_a_list_item_with_a_character_in_brackets(
    text: str, expected: list[tuple[int, str, str]]
) -> None:
    assert list_tasks(text) == expected


def test_a_task_has_its_list_depth_and_heading() -> None:
    note = parse("- [ ] a\n# One\n- [ ] b\n  - [ ] c\n> - [ ] d\n\n## Two\n1. x\n   - y\n     - [ ] e\n")
    assert [(task.text, task.depth, task.heading) for task in note.tasks] == [
        ("a", 0, -1),
        ("b", 0, 0),
        ("c", 1, 0),
        ("d", 2, 0),
        ("e", 2, 1),
    ]


def test_only_a_space_means_open() -> None:
    assert [task.done for task in parse("- [ ] a\n- [x] b\n- [>] c\n- [?] d").tasks] == [
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("text", "description", "fields"),
    [
        ("a", "a", {}),
        ("a 📅 2024-01-02", "a", {"due": "2024-01-02"}),
        ("a 📅2024-01-02", "a", {"due": "2024-01-02"}),
        ("a ⏫ 📅 2024-01-02", "a", {"priority": "high", "due": "2024-01-02"}),
        ("a 🔺", "a", {"priority": "highest"}),
        ("a ⏬️", "a", {"priority": "lowest"}),
        (
            "do it ➕ 2024-01-01 🛫 2024-01-02 ⏳ 2024-01-03 📅 2024-01-04 ✅ 2024-01-05 ❌ 2024-01-06",
            "do it",
            {
                "created": "2024-01-01",
                "start": "2024-01-02",
                "scheduled": "2024-01-03",
                "due": "2024-01-04",
                "done": "2024-01-05",
                "cancelled": "2024-01-06",
            },
        ),
        (
            "a 🔁 every 2 weeks on Monday 📅 2024-01-02",
            "a",
            {"recurrence": "every 2 weeks on Monday", "due": "2024-01-02"},
        ),
        ("a 🆔 x1 ⛔ y2,z3", "a", {"id": "x1", "depends_on": "y2,z3"}),
        ("a #tag 📅 2024-01-02 #late", "a #tag #late", {"due": "2024-01-02"}),
        ("a 📅 2024-01-02 ^id1", "a ^id1", {"due": "2024-01-02"}),
        ("a 📅 2024-01-02 then more", "a 📅 2024-01-02 then more", {}),
        ("a 📅 tomorrow", "a 📅 tomorrow", {}),
        ("📅 party 🔼", "📅 party", {"priority": "medium"}),
        ("a 😀", "a 😀", {}),
        ("", "", {}),
    ],
)  # fmt: skip
def test_fields_follow_the_description(text: str, description: str, fields: dict[str, str]) -> None:
    assert split_task_fields(text) == (description, fields)
    assert list(split_task_fields(text)[1]) == list(fields)


def test_a_parsed_task_has_its_fields() -> None:
    (task,) = parse("- [x] call 🔼 ✅ 2024-03-01\n").tasks
    assert (task.text, task.description) == ("call 🔼 ✅ 2024-03-01", "call")
    assert task.fields == {"priority": "medium", "done": "2024-03-01"}
