"""Keeping, removing and adding items of a list in one edit, in both styles."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.markdown.edits.change import apply_changes
from vaultbridge.markdown.edits.properties import edit_list_items
from vaultbridge.markdown.edits.yaml import find_entries
from vaultbridge.markdown.parse import parse

ITEMS = st.lists(st.integers(0, 9), min_size=1, max_size=6)


@given(ITEMS, st.booleans(), st.data())
def test_the_result_has_the_remaining_items_with_the_added_ones_between(
    items: list[int], flow: bool, data: st.DataObject
) -> None:
    body = f"l: [{', '.join(map(str, items))}]\n" if flow else "l:\n" + "".join(f"  - {i}\n" for i in items)
    text = f"---\n{body}z: 1\n---\n"
    kept = data.draw(st.lists(st.booleans(), min_size=len(items), max_size=len(items)))
    places = sorted(data.draw(st.lists(st.integers(0, len(items)), max_size=4)))
    added: list[tuple[int, Any]] = [(place, 100 + n) for n, place in enumerate(places)]
    properties = parse(text).properties
    assert properties is not None
    after = apply_changes(text, edit_list_items(text, find_entries(text, properties)[0], kept, added))
    expected: list[int] = []
    for index in range(len(items) + 1):
        expected += [value for place, value in added if place == index]
        if index < len(items) and kept[index]:
            expected.append(items[index])
    read = parse(after).properties
    assert read is not None
    assert read.values == {"l": expected, "z": 1}
