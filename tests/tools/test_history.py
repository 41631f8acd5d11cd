"""`history`."""

from __future__ import annotations

import pytest

from support.tools import Small, ToolHarness
from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.limits import NOTE_WRITE_BYTES
from vaultbridge.vault.scope import Scope


def make_changed(small: Small) -> ToolHarness:
    harness = small({"A.md": "a\n", "B.md": "[[A]]\n"})
    harness.data("edit_note", name="A", op="append", content="one")
    harness.data("move_note", name="A", to="Z")
    harness.data("create_note", name="N", content="n")
    return harness


def test_changes_are_listed_newest_first_and_in_pages(small: Small) -> None:
    harness = make_changed(small)
    rows = harness.rows("history")
    assert [row.split("  ")[0] for row in rows[:-1]] == ["3", "2", "1"]
    assert rows[0] == "3  2026-03-15 21:15:00  test: create  N.md"
    assert rows[-1] == "(that is all)"
    first = harness.rows("history", limit=2)
    assert first[-1] == "(older ones: before=2)"
    assert harness.rows("history", limit=2, before=2) == [rows[2], "(that is all)"]
    assert harness.rows("history", before=1) == ["(no changes)"]


def test_the_history_of_a_note_follows_its_earlier_names(small: Small) -> None:
    harness = make_changed(small)
    assert [row.split("  ")[0] for row in harness.rows("history", name="Z")[:-1]] == ["2", "1"]
    assert harness.rows("history", name="Z", limit=1)[-1] == "(older ones: before=2)"
    assert harness.rows("history", path="Z", before=2)[0].startswith("1  ")


def test_a_long_diff_is_read_in_pages(small: Small) -> None:
    harness = make_changed(small)
    diff = harness.text("history", id=1)
    assert "+one\n" in diff
    assert "[cut; continue with start=" in harness.text("history", id=1, max_chars=20)
    assert harness.text("history", id=1, start=12) == diff[12:]


def test_undo_takes_the_last_change_or_the_one_named(small: Small) -> None:
    harness = make_changed(small)
    answer = harness.call("undo")
    assert answer.changed
    assert answer.data is not None
    assert answer.data["data"]["undone"] == 3
    assert "(undone by 4)" in harness.rows("history")[1]
    assert "(undid 3)" in harness.rows("history")[0]
    assert harness.data("undo", id=2)["undone"] == 2
    assert harness.read("B.md") == "[[A]]\n"


def test_a_note_that_changed_since_is_not_undone_unless_forced(small: Small) -> None:
    harness = small({"A.md": "a\n"})
    harness.data("edit_note", name="A", op="append", content="one")
    (harness.folder / "A.md").write_text("by hand\n")
    harness.catch_refusal(EditRefused, "undo", id=1)
    harness.data("undo", id=1, force=True)
    assert harness.read("A.md") == "a\n"


def test_wrong_calls_are_named(small: Small) -> None:
    harness = small({"A.md": "a\n"})
    assert harness.catch_refusal(InvalidArgument, "history", id=9).argument == "id"
    assert harness.catch_refusal(InvalidArgument, "undo", id=9).argument == "id"
    assert harness.catch_refusal(InvalidArgument, "history", action="redo").argument == "action"
    assert "no change to undo" in str(harness.catch_refusal(EditRefused, "undo"))
    assert harness.rows("history") == ["(no changes)"]
    assert harness.rows("history", name="Gone.md") == ["(no changes)"]


def test_changes_of_hidden_files_are_not_listed(small: Small) -> None:
    harness = make_changed(small)
    harness.data("edit_note", name="B", op="append", content="secret")
    narrow = small({}, scope=Scope(deny=("B.md",)))
    text = narrow.text("history")
    assert "B.md" not in text
    assert [row.split("  ")[0] for row in text.splitlines()[:-1]] == ["3", "2", "1"]
    assert "B.md" not in narrow.text("history", id=2)
    assert narrow.catch_refusal(InvalidArgument, "history", id=4).argument == "id"
    assert "B.md" not in str(narrow.catch_refusal(InvalidArgument, "undo", id=4))


def test_a_note_that_is_too_large_to_be_written_comes_back_by_undo(small: Small) -> None:
    """It could be replaced by a short text and deleted for good, but undo refused to write so much."""
    large = "a long line " * (NOTE_WRITE_BYTES // 12 + 1)
    harness = small({"A.md": large, ".obsidian/app.json": '{"trashOption":"none"}'})
    harness.data("edit_note", name="A", op="write", content="short\n")
    harness.data("delete_note", name="A")
    harness.data("undo", id=2)
    harness.data("undo", id=1)
    assert harness.read("A.md") == large
    harness.data("delete_note", name="A")
    harness.data("undo")
    assert harness.read("A.md") == large


def test_what_was_lost_of_the_journal_is_said_with_every_list(small: Small) -> None:
    harness = make_changed(small)
    (harness.engine.state / "journal.sqlite").unlink()
    first, second = harness.rows("history")
    assert first.endswith("The journal was gone: changes up to 3 are no longer in the history.")
    assert second == "(no changes)"
    with pytest.raises(InvalidArgument, match="change 3 was lost"):
        harness.call("undo", id=3)
    with pytest.raises(InvalidArgument, match="change 2 was lost"):
        harness.call("history", id=2)
    harness.data("create_note", name="M", content="m")
    assert harness.rows("history")[0] == first
    assert harness.rows("history", before=1) == [first, "(no changes)"]
