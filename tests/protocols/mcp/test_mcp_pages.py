"""Lists in pages: nothing twice, nothing left out, also while the list changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import InvalidArgument
from vaultbridge.protocols.mcp.vault.resources import CURSOR_CHARS, paginate


def walk(items: list[str], size: int) -> list[str]:
    found: list[str] = []
    cursor = ""
    while True:
        part = paginate(items, cursor, key=str, size=size)
        assert len(part.items) <= size
        found += part.items
        cursor = part.next
        if not cursor:
            return found


@given(st.sets(st.text(), max_size=40), st.integers(1, 10))
def test_the_pages_are_the_list(items: set[str], size: int) -> None:
    assert walk(sorted(items), size) == sorted(items)


def test_a_list_of_exactly_one_page_has_no_second() -> None:
    assert paginate(["a", "b"], "", key=str, size=2).next == ""
    assert paginate([], "", key=str).items == ()


def test_changes_before_the_cursor_neither_repeat_nor_skip() -> None:
    first = paginate(["b", "c", "d", "e"], "", key=str, size=2)
    assert first.items == ("b", "c")
    assert paginate(["a", "aa", "b", "c", "d", "e"], first.next, key=str).items == ("d", "e")
    assert paginate(["d", "e"], first.next, key=str).items == ("d", "e")


@pytest.mark.parametrize("cursor", ["x", "é", "a b", "====", "_w==", "A" * (CURSOR_CHARS + 4)])
def test_an_invalid_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidArgument, match="cursor"):
        paginate(["a"], cursor, key=str)
