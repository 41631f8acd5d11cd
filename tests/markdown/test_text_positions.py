"""Offsets, lines and UTF-16 columns. Line ends are LF, CR and CRLF alone (CommonMark 2.1)."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.markdown.text import Positions, split_with_starts, utf16_length

texts = st.text(alphabet=st.sampled_from("ab é😀\n\r\t\u2028\x0b\x0c\x85"), max_size=40)


@given(texts)
def test_lines_and_starts_agree_with_a_plain_split(text: str) -> None:
    lines, starts = split_with_starts(text)
    assert lines == re.split(r"\r\n|\r|\n", text)
    assert len(lines) == len(starts)
    for line, start in zip(lines, starts, strict=True):
        assert text[start : start + len(line)] == line


@pytest.mark.parametrize(
    ("text", "lines"), [("", 1), ("a", 1), ("a\n", 1), ("\n", 1), ("a\n\n", 2), ("a\r\nb\r", 2), ("a\nb", 2)]
)
def test_a_final_line_end_does_not_begin_a_line_that_people_count(text: str, lines: int) -> None:
    assert Positions(text).written_lines == lines


@given(texts, st.integers(0, 45))
def test_an_offset_lies_in_the_line_that_line_of_names(text: str, offset: int) -> None:
    positions = Positions(text)
    at = min(offset, len(text))
    line = positions.line_of(at)
    assert positions.offset_of_line(line) <= at
    assert line == positions.line_count or at < positions.offset_of_line(line + 1)


@given(texts, st.integers(0, 45))
def test_to_lsp_counts_the_lines_and_the_utf16_units_before_an_offset(text: str, offset: int) -> None:
    positions = Positions(text)
    at = min(offset, len(text))
    start = positions.offset_of_line(positions.line_of(at))
    units = len(text[start:at].encode("utf-16-le", "surrogatepass")) // 2
    assert positions.to_lsp(at) == (positions.line_of(at) - 1, units)


@given(texts)
def test_columns_count_utf16_units(text: str) -> None:
    assert utf16_length(text) == len(text.encode("utf-16-le")) // 2


def test_characters_outside_the_basic_plane_take_two_units() -> None:
    positions = Positions("é😀b\nx")
    assert [positions.to_lsp(at) for at in range(6)] == [(0, 0), (0, 1), (0, 3), (0, 4), (1, 0), (1, 1)]


def test_line_separators_that_are_not_markdowns_do_not_end_lines() -> None:
    assert Positions("a\u2028b\x0bc\x0cd\x85e\x1cf").line_count == 1


def test_an_empty_text_has_one_line() -> None:
    positions = Positions("")
    assert (positions.line_count, positions.line_of(0), positions.offset_of_line(1)) == (1, 1, 0)
    assert positions.to_lsp(5) == (0, 0)


def test_lines_out_of_range_are_clamped_to_the_text() -> None:
    positions = Positions("ab\ncd")
    assert positions.offset_of_line(0) == 0
    assert positions.offset_of_line(9) == 5
    assert positions.end_of_line(1) == 2
    assert positions.end_of_line(9) == 5


def test_a_crlf_is_not_part_of_its_line() -> None:
    positions = Positions("ab\r\ncd\re")
    assert [positions.end_of_line(line) for line in (1, 2, 3)] == [2, 6, 8]
    assert positions.line_of(3) == 1
