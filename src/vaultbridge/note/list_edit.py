"""Edits of one list among a note's properties, item by item, in the style the list is written in.

Takes which items stay and what is put where, and gives the changes: a block list loses or gains whole lines,
a one-line list its items with their commas. Which list is meant, and the check of the result, are
`properties_edit`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vaultbridge.note.change import Change
from vaultbridge.note.insertion import after_line, line_end_near
from vaultbridge.note.yaml_layout import Entry, Item
from vaultbridge.note.yaml_write import flow_text


def list_changes(
    text: str, entry: Entry, kept: Sequence[bool], added: Sequence[tuple[int, Any]]
) -> tuple[Change, ...]:
    """`kept` says for each item whether it stays. `added` are values with the number of old items before
    them, in the order they shall stand."""
    if not any(kept):
        values = [value for _, value in added]
        return _anew(text, entry, values)
    if entry.shape == "flow-list":
        return _flow(entry, kept, added)
    return _block(text, entry, kept, added)


def _anew(text: str, entry: Entry, values: list[Any]) -> tuple[Change, ...]:
    """None of the old items stays."""
    if entry.shape == "flow-list":
        return (Change(entry.start, entry.end, flow_text(values)),)
    if not values:
        removed = Change(entry.items[0].line_start, entry.next_line, "")
        return (Change(entry.after_colon, entry.after_colon, " []"), removed)
    first = entry.items[0]
    lines = "".join(_item_line(text, first, value) for value in values)
    return (Change(first.line_start, entry.next_line, lines),)


def _flow(entry: Entry, kept: Sequence[bool], added: Sequence[tuple[int, Any]]) -> tuple[Change, ...]:
    items = entry.items
    changes: list[Change] = []
    first_kept = list(kept).index(True)
    for index, item in enumerate(items):
        if kept[index]:
            continue
        # With its comma: the one before it, or for the first ones the one after.
        if index > first_kept:
            changes.append(Change(items[index - 1].end, item.end, ""))
        else:
            changes.append(Change(item.start, items[index + 1].start, ""))
    for before, value in added:
        if before > first_kept:
            changes.append(Change(items[before - 1].end, items[before - 1].end, f", {flow_text(value)}"))
        else:
            changes.append(Change(items[first_kept].start, items[first_kept].start, f"{flow_text(value)}, "))
    return tuple(changes)


def _block(
    text: str, entry: Entry, kept: Sequence[bool], added: Sequence[tuple[int, Any]]
) -> tuple[Change, ...]:
    changes: list[Change] = []
    for index, item in enumerate(entry.items):
        if not kept[index]:
            changes.append(Change(item.line_start, after_line(text, item.end), ""))
    for before, value in added:
        place = after_line(text, entry.items[before - 1].end) if before else entry.items[0].line_start
        changes.append(Change(place, place, _item_line(text, entry.items[0], value)))
    return tuple(changes)


def _item_line(text: str, like: Item, value: Any) -> str:
    """A line for a new item, indented and spaced as an old one."""
    indent = text[like.line_start : like.dash]
    blanks = text[like.dash + 1 : like.start]
    if not blanks or blanks.strip(" "):
        blanks = " "
    return f"{indent}-{blanks}{flow_text(value, inside=False)}{line_end_near(text, like.start)}"
