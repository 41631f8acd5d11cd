"""A text edited with LF gets the line ends of its original back, and no untouched line changes."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.markdown.edits.merge import restore_line_ends

LINES = st.lists(st.sampled_from(["", "a", "b", "c", "é🧀", "\u2028x\x85"]), max_size=8)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def to_lf(text: str) -> str:
    return re.sub(r"\r\n?", "\n", text)


@given(
    st.lists(st.tuples(st.sampled_from(["", "a", "b", "é🧀\u2028"]), ENDS), max_size=8),
    st.sampled_from(["", "z"]),
)
def test_a_text_that_was_not_edited_comes_back_as_it_was(lines: list[tuple[str, str]], rest: str) -> None:
    original = "".join(line + end for line, end in lines) + rest
    assert restore_line_ends(to_lf(original), original) == original


@given(LINES, LINES, LINES, LINES, ENDS)
def test_the_edit_is_kept_and_lines_around_it_keep_their_ends(
    before: list[str], old: list[str], new: list[str], after: list[str], end: str
) -> None:
    def join(*parts: list[str]) -> str:
        return "".join(line + end for part in parts for line in part)

    edited = to_lf(join(before, new, after))
    restored = restore_line_ends(edited, join(before, old, after))
    assert to_lf(restored) == edited
    if before + old + after:
        assert restored == join(before, new, after)


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", ""]), ENDS), max_size=8),
    st.text(alphabet="abc\n", max_size=12),
)
def test_the_words_are_always_those_of_the_edit(lines: list[tuple[str, str]], edited: str) -> None:
    assert to_lf(restore_line_ends(edited, "".join(a + b for a, b in lines))) == edited
