"""`create` adds a missing heading; without it, a missing heading is refused."""

from __future__ import annotations

import pytest

from support.tools import Small
from vaultbridge.errors import EditRefused
from vaultbridge.markdown.parse import parse


@pytest.mark.parametrize("op", ["append", "prepend"])
@pytest.mark.parametrize(
    "before", ["", "text", "text\n", "---\na: 1\n---\n", "# Top\r\n\r\ntext\r\n", "text\n\n"]
)
def test_a_missing_heading_is_added_at_the_end(small: Small, op: str, before: str) -> None:
    harness = small({"A.md": before})
    harness.catch_refusal(EditRefused, "edit_note", name="A", op=op, content="x", heading="Log")
    harness.data("edit_note", name="A", op=op, content="first", heading="Log", create=True)
    after = harness.files()["A.md"].decode()
    assert after.startswith(before)
    assert [(heading.level, heading.text) for heading in parse(after).headings][-1] == (2, "Log")
    if "\r\n" in before:
        assert after.count("\n") == after.count("\r\n")
    harness.data("edit_note", name="A", op="append", content="second", heading="Log", create=True)
    assert harness.read("A.md").count("Log") == 1
    assert harness.text("read_note", name="A", heading="Log", raw=True).split() == [
        "##",
        "Log",
        "first",
        "second",
    ]


def test_the_level_is_as_written_and_a_path_is_not_guessed(small: Small) -> None:
    harness = small({"A.md": "text\n"})
    harness.data("edit_note", name="A", op="append", content="x", heading="### Deep", create=True)
    assert harness.read("A.md") == "text\n\n### Deep\n\nx\n"
    harness.catch_refusal(
        EditRefused, "edit_note", name="A", op="append", content="x", heading="No#Such", create=True
    )


def test_a_daily_note_gets_the_heading_it_lacks(small: Small) -> None:
    harness = small({})
    harness.catch_refusal(EditRefused, "write_daily_note", content="- tea", heading="Log")
    data = harness.data("write_daily_note", content="- tea", heading="Log", create=True)
    assert data["created"] is True
    harness.data("write_daily_note", content="- cake", heading="Log", create=True)
    assert harness.read("2026-03-15.md").split() == ["##", "Log", "-", "tea", "-", "cake"]


def test_a_batch_adds_a_missing_heading_too(small: Small) -> None:
    harness = small({"A.md": "a\n"})
    operation = {"op": "append", "name": "A", "content": "x", "heading": "Log", "create": True}
    harness.data("batch", operations=[operation])
    assert harness.read("A.md") == "a\n\n## Log\n\nx\n"
