"""Making and applying diffs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import EditRefused
from vaultbridge.markdown.edits import unified_diff
from vaultbridge.markdown.edits.change import apply_changes
from vaultbridge.markdown.edits.unified_diff import apply_diff, make_diff

LINES = st.lists(
    st.sampled_from(["a", "b", "c", "", "-x", "+y", "-- z", "++ w", " q", "\\ n", "@@ -1 +1 @@"]), max_size=14
)


def apply_text(text: str, diff: str) -> str:
    return apply_changes(text, apply_diff(text, diff))


@given(LINES, LINES, st.booleans(), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_a_diff_applied_to_the_old_text_gives_the_new(
    old: list[str], new: list[str], old_ended: bool, new_ended: bool, line_end: str
) -> None:
    before = line_end.join(old) + (line_end if old_ended and old else "")
    after = line_end.join(new) + (line_end if new_ended and new else "")
    diff = make_diff(before, after, "n.md")
    if before == after:
        assert diff == ""
        return
    if line_end == "\r\n" and "\r\n" not in before:
        # A note without a line end has none to give to the added lines.
        after = after.replace("\r\n", "\n")
    assert apply_text(before, diff) == after


def test_a_preview_reads_like_any_unified_diff() -> None:
    assert make_diff("a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne", "f/n.md") == (
        "--- a/f/n.md\n+++ b/f/n.md\n@@ -1,5 +1,5 @@\n a\n b\n-c\n+X\n d\n-e\n+e\n"
        "\\ No newline at end of file\n"
    )


def test_a_diff_with_lf_matches_a_note_with_crlf() -> None:
    assert apply_text("a\r\nb\r\nc\r\n", "@@ -1,3 +1,4 @@\n a\n-b\n+x\n+y\n c\n") == "a\r\nx\r\ny\r\nc\r\n"
    assert apply_text("a\nb\n", "@@ -1,2 +1,2 @@\r\n a\r\n-b\r\n+x\r\n") == "a\nx\n"


def test_a_diff_that_says_nothing_of_the_last_line_end_keeps_it() -> None:
    assert apply_text("a\nb", "@@ -2 +2 @@\n-b\n+c\n") == "a\nc"
    assert apply_text("a\nb", "@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+c\n") == "a\nc\n"
    assert apply_text("a\nb\n", "@@ -2 +2 @@\n-b\n+c\n\\ No newline at end of file\n") == "a\nc"
    assert apply_text("a\nb", "@@ -2 +2,2 @@\n b\n+c\n") == "a\nb\nc"


def test_context_is_never_rewritten() -> None:
    text = "a \r\nb\nc\n"
    changes = apply_diff(text, "@@ -1,3 +1,3 @@\n a \n-b\n+x\n c\n")
    assert [(c.start, c.end) for c in changes] == [(4, 6)]


def test_a_hunk_at_the_wrong_line_moves_to_the_only_place_where_it_matches() -> None:
    assert apply_text("x\ny\na\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n") == "x\ny\na\nc\n"


def test_headers_and_stripped_blanks_of_empty_context_lines_are_understood() -> None:
    diff = "diff --git a/n b/n\nindex 1..2 100644\n--- a/n\n+++ b/n\n@@ -1,3 +1,3 @@ heading\n a\n\n-b\n+c\n"
    assert apply_text("a\n\nb\n", diff) == "a\n\nc\n"


def test_lines_that_look_like_headers_inside_a_hunk_are_lines() -> None:
    assert (
        apply_text("-- a/x\n++ b/x\n", "@@ -1,2 +1,2 @@\n--- a/x\n-++ b/x\n+-- c\n+++ d\n") == "-- c\n++ d\n"
    )


def test_an_empty_note_can_be_filled() -> None:
    assert apply_text("", "@@ -0,0 +1,2 @@\n+a\n+b\n") == "a\nb\n"


@pytest.mark.parametrize(
    ("diff", "message"),
    [
        ("", "has no hunk"),
        ("--- a\n+++ b\n", "has no hunk"),
        ("@@ ... @@\n-a\n+b\n", "Line 1 of the diff has no line numbers"),
        ("@@ -1,2 +1,2 @@\n a\n", r"Hunk 1 \(line 1 of the diff\) does not have as many lines"),
        ("@@ -1 +1 @@\n-a\n+x\n b\n", "Line 4 of the diff is more than hunk 1 declares"),
        ("@@ -1 +1 @@\n*a\n", "does not have as many lines"),
        ("--- a\n+++ a\n@@ -1 +1 @@\n-a\n+x\n--- b\n+++ b\n@@ -1 +1 @@\n-a\n+x\n", "begins a second file"),
        ("@@ -1 +1 @@\n\\ No newline\n", "no line precedes it"),
        ("@@ -1,2 +1,2 @@\n a\n-z\n+x\n", r"expects 'z' at line 2, but the note has 'b'"),
        ("@@ -4,2 +4,2 @@\n a\n-b\n+x\n", r"does not match at line 4 but matches at several others: 1, 5"),
        ("@@ -6,2 +6,2 @@\n b\n-b\n+x\n", "the note ends before it"),
        ("@@ -9,0 +9 @@\n+x\n", "adds after line 9, but the note has 6 lines"),
        ("@@ -1 +1 @@\n a\n", "changes nothing"),
        ("@@ -5,2 +5,2 @@\n a\n-b\n+x\n@@ -1 +1 @@\n-c\n+y\n", "Hunk 2"),
    ],
)
def test_a_diff_that_does_not_match_is_refused_with_the_hunk_and_line(diff: str, message: str) -> None:
    with pytest.raises(EditRefused, match=message):
        apply_text("a\nb\nc\nd\na\nb\n", diff)


def test_the_search_for_a_place_is_bounded() -> None:
    hunk = "@@ -9,3000 +9,3001 @@\n" + "\n".join([" "] * 2999 + [" x", "+y"]) + "\n"
    with pytest.raises(EditRefused, match="too many lines like its first"):
        apply_text("\n" * 6000, hunk)


def test_a_diff_too_large_to_match_line_by_line_is_shown_as_one_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unified_diff, "DIFFED_LINES", 3)
    diff = make_diff("a\nb\nc\nd\n", "a\nx\nc\ny\n", "n")
    assert diff.endswith("@@ -1,4 +1,4 @@\n a\n-b\n-c\n-d\n+x\n+c\n+y\n")
    assert apply_text("a\nb\nc\nd\n", diff) == "a\nx\nc\ny\n"


def test_two_unlike_notes_full_of_blank_lines_are_compared_quickly() -> None:
    """Comparing each blank line with every other would take minutes."""
    old, new = ("".join(f"{name} {n}\n\n" for n in range(2400)) for name in ("old", "new"))
    assert apply_changes(old, apply_diff(old, make_diff(old, new, "n.md"))) == new
