"""How inserted lines fit between others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.markdown.edits.change import (
    convert_line_ends,
    end_of_line,
    fit_lines,
    last_line,
    line_end_near,
    split_keeping_ends,
    split_lines,
    start_of_line,
    start_of_next_line,
    would_merge,
)

LINED = st.text(st.sampled_from("ab \r\n\u2028\x0b"), max_size=12)


@pytest.mark.parametrize(
    ("text", "offset", "expected"),
    [
        ("", 0, "\n"),
        ("a", 1, "\n"),
        ("a\r\nb", 4, "\r\n"),
        ("a\r\nb\nc", 6, "\n"),
        ("a\rb", 3, "\r"),
        ("a\r\nb", 0, "\r\n"),
        ("a\nb\r\nc", 2, "\n"),
    ],
)
def test_inserted_text_takes_the_line_end_of_its_neighbour(text: str, offset: int, expected: str) -> None:
    assert line_end_near(text, offset) == expected


@given(LINED)
def test_lines_with_their_ends_join_to_the_text_and_only_crlf_lf_and_cr_end_a_line(text: str) -> None:
    lines = split_keeping_ends(text)
    assert "".join(lines) == text and "" not in lines
    assert [line.rstrip("\r\n") for line in lines] == split_lines(text)[: len(lines)]
    assert split_lines(convert_line_ends(text, "\n")) == split_lines(text)


@given(LINED, st.data())
def test_line_bounds_agree_with_the_lines(text: str, data: st.DataObject) -> None:
    lines = split_keeping_ends(text)
    if not lines:
        return
    index = data.draw(st.integers(0, len(lines) - 1))
    start = sum(map(len, lines[:index]))
    bare = lines[index].rstrip("\r\n")
    inside = start + data.draw(st.integers(0, len(bare)))
    assert start_of_line(text, inside) == start
    assert end_of_line(text, inside) == start + len(bare)
    assert start_of_next_line(text, inside) == start + len(lines[index])
    assert last_line(text, 0, start + len(lines[index])) == bare


@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [
        ("text", "more text", False),
        ("- a", "- b", False),
        ("- a", "  more", False),
        ("- a", "text", True),
        ("1. a", "text", True),
        ("> q", "text", True),
        ("> q", "> r", False),
        ("| a |", "text", True),
        ("| a |", "| b |", False),
        ("text", "| a |", True),
        ("text", "---", True),
        ("text", "===", True),
        ("text", "# H", True),
        ("# H", "text", False),
        ("text ^id", "more", True),
        ("- a ^id", "- b", False),
        ("text ^id", "- b", False),
        ("text ^id", "%%aside%%", True),
        ("- a ^id", "$$x$$", True),
        ("text ^id", "%%", False),
        ("- a ^id", "\tmore", True),
        ("- a ^id", "\t- b", False),
        ("text", "- a", False),
        ("text", "1. a", False),
        ("text", "2. a", True),
        ("text ^id", "10) a", True),
        ("1. a", "2. b", False),
        ("   more of 1", "2. b", False),
        ("> q", "2. b", False),
        ("---", "2. b", False),
        ("```", "2. b", False),
        ("text", "> q", False),
        ("text", "```", False),
        ("text", "    code", True),
        ("    code", "    code", False),
        ("- a", "    more", False),
        ("", "text", False),
        ("text", "  ", False),
    ],
)
def test_a_blank_line_is_needed_exactly_where_two_blocks_would_become_one(
    above: str, below: str, expected: bool
) -> None:
    assert would_merge(above, below) is expected


@pytest.mark.parametrize(
    ("text", "offset", "addition", "expected"),
    [
        ("", 0, "x", "x"),
        ("a", 1, "x", "\nx"),
        ("a\n", 2, "x", "x\n"),
        ("a\n", 2, "x\n", "x\n"),
        ("a\nb", 2, "x", "x\n"),
        ("a\r\n", 3, "x\ny", "x\r\ny\r\n"),
        ("- a\n", 4, "x", "\nx\n"),
        ("- a", 3, "x", "\n\nx"),
        ("# H\n", 0, "x", "x\n\n"),
    ],
)
def test_inserted_text_becomes_separate_lines(text: str, offset: int, addition: str, expected: str) -> None:
    assert fit_lines(text, offset, addition) == expected
