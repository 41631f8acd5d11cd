"""Applying, refusing and undoing changes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import EditRefused
from vaultbridge.markdown.edits.change import Change, apply_changes, line_end_near, sort_changes


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, list[Change]]:
    text = draw(st.text(max_size=30))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    changes = [Change(start, end, draw(st.text(max_size=5))) for start, end in pairs]
    return text, draw(st.permutations(changes))


@given(edits())
def test_changes_together_do_what_they_do_one_by_one_from_the_end(case: tuple[str, list[Change]]) -> None:
    text, changes = case
    expected = text
    in_order = sorted(changes, key=lambda change: (change.start, change.end))
    for change in reversed(in_order):
        expected = expected[: change.start] + change.text + expected[change.end :]
    assert apply_changes(text, changes) == expected


def test_changes_are_made_at_the_places_of_the_old_text() -> None:
    changes = [Change(4, 5, "E"), Change(0, 1, "AAA"), Change(2, 2, "|")]
    assert apply_changes("abcde", changes) == "AAAb|cdE"


def test_insertions_at_one_place_keep_their_order() -> None:
    assert apply_changes("x", [Change(1, 1, "a"), Change(1, 1, "b")]) == "xab"


@pytest.mark.parametrize(
    "changes",
    [
        [Change(0, 3, ""), Change(2, 4, "")],
        [Change(0, 3, ""), Change(1, 1, "x")],
        [Change(-1, 0, "")],
        [Change(3, 2, "")],
        [Change(0, 9, "")],
    ],
)
def test_overlapping_and_outlying_changes_are_refused(changes: list[Change]) -> None:
    with pytest.raises(EditRefused):
        sort_changes(changes, 5)


@given(st.text("a\r\n", max_size=8), st.integers(0, 8))
def test_new_text_gets_the_line_end_of_the_line_before_it(text: str, offset: int) -> None:
    ends = [(match.start(), match.group()) for match in re.finditer("\r\n|\r|\n", text)]
    before = [end for start, end in ends if start < min(offset, len(text))]
    after = [end for start, end in ends if start >= offset]
    assert line_end_near(text, min(offset, len(text))) == [*before[-1:], *after, "\n"][0]
