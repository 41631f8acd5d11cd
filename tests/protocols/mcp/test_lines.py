"""Bytes into lines: whole, one byte at a time, and beyond the bound."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.limits import MIB
from vaultbridge.protocols.mcp.stdio import TOO_LONG, LineSplitter, TooLong


def split(*chunks: bytes, bound: int = 1000) -> list[bytes | TooLong]:
    splitter = LineSplitter(bound)
    return [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.finish()


def test_lines_end_with_a_newline_with_or_without_a_carriage_return() -> None:
    assert split(b"a\nb\r\nc\n") == [b"a", b"b", b"c"]


def test_empty_lines_are_no_messages() -> None:
    assert split(b"\n\r\n  \na\n\n") == [b"a"]


def test_a_byte_order_mark_before_a_message_is_no_part_of_it() -> None:
    """Shells and writers of Windows put one before the first text, some before every text."""
    assert split(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n\xef\xbb\xbf\r\n") == [b"a", b"b"]


def test_a_last_line_without_its_end_is_a_message() -> None:
    assert split(b"a\nb") == [b"a", b"b"]


def test_a_line_of_exactly_the_bound_passes_and_one_more_byte_does_not() -> None:
    assert split(b"x" * 10 + b"\n", bound=10) == [b"x" * 10]
    assert split(b"x" * 11 + b"\nok\n", bound=10) == [TOO_LONG, b"ok"]


def test_a_long_line_in_pieces_is_reported_once_and_not_buffered() -> None:
    splitter = LineSplitter(10)
    tracemalloc.start()
    try:
        for _ in range(100):
            assert splitter.feed(bytes(MIB)) == []
        assert tracemalloc.get_traced_memory()[0] < 2 * MIB
    finally:
        tracemalloc.stop()
    assert splitter.feed(b"z\nnext\n") == [TOO_LONG, b"next"]


def test_a_long_line_at_the_end_of_input_is_reported() -> None:
    assert split(b"y" * 11, bound=10) == [TOO_LONG]


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=8), st.data())
def test_the_cuts_between_chunks_do_not_matter(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    expected = split(whole, bound=20)
    assert split(*(whole[n : n + 1] for n in range(len(whole))), bound=20) == expected
    cut = data.draw(st.integers(0, len(whole)))
    assert split(whole[:cut], whole[cut:], bound=20) == expected
