"""Applying, refusing and undoing changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import EditRefused
from vaultbridge.markdown.edits.change import Change, apply_changes, invert, sort_changes


@st.composite
def edits(draw: st.DrawFn) -> tuple[str, list[Change]]:
    text = draw(st.text(max_size=30))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pairs = list(zip(cuts[::2], cuts[1::2], strict=False))
    changes = [Change(start, end, draw(st.text(max_size=5))) for start, end in pairs]
    return text, draw(st.permutations(changes))


@given(edits())
def test_the_inverse_gives_back_the_text(case: tuple[str, list[Change]]) -> None:
    text, changes = case
    assert apply_changes(apply_changes(text, changes), invert(text, changes)) == text


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
