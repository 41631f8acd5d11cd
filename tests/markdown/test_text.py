"""Bytes to text and back: nothing may be lost (docs/obsidian.md 1; our own promise for invalid bytes)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.markdown.text import BOM, decode, encode, replace_surrogates


@given(st.binary(max_size=200))
def test_any_bytes_come_back_identical(data: bytes) -> None:
    decoded = decode(data)
    assert encode(decoded.text, bom=decoded.bom) == data


@given(st.text(max_size=60), st.binary(max_size=6), st.text(max_size=60))
def test_bytes_with_a_broken_middle_come_back_identical(before: str, broken: bytes, after: str) -> None:
    data = before.encode("utf-8", "ignore") + broken + after.encode("utf-8", "ignore")
    decoded = decode(data)
    assert encode(decoded.text, bom=decoded.bom) == data


def test_a_bom_is_removed_from_the_text_and_recorded() -> None:
    decoded = decode(BOM + b"# A\n")
    assert (decoded.text, decoded.bom, decoded.problems) == ("# A\n", True, ())
    assert encode(decoded.text, bom=True) == BOM + b"# A\n"


def test_only_the_first_bom_is_a_mark() -> None:
    assert decode(BOM + BOM + b"a").text == "\ufeffa"


def test_line_ends_stay_as_they_are() -> None:
    assert decode(b"a\r\nb\rc\n").text == "a\r\nb\rc\n"


@pytest.mark.parametrize(
    ("data", "line", "start", "byte"),
    [
        (b"\xff", 1, 0, "0xff"),
        (b"a\nb\xc3(", 2, 3, "0xc3"),
        (b"a\r\nb\r\n\x80", 3, 6, "0x80"),
        (b"a\rb\r\xed\xa0\x80", 3, 4, "0xed"),
    ],
)
def test_a_byte_that_is_not_utf8_is_reported_with_its_position(
    data: bytes, line: int, start: int, byte: str
) -> None:
    (problem,) = decode(data).problems
    assert (problem.code, problem.line, problem.start) == ("invalid-utf8", line, start)
    assert f"Line {line}: byte {byte}" in problem.message


def test_replacing_surrogates_keeps_the_length() -> None:
    text = decode(b"a\xffb\xc3").text
    assert replace_surrogates(text) == "a\ufffdb\ufffd"
    assert len(replace_surrogates(text)) == len(text)


def test_replacing_surrogates_leaves_valid_text_alone() -> None:
    assert replace_surrogates("plain") == "plain"
    assert replace_surrogates("naïve 😀") == "naïve 😀"
