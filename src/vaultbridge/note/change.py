"""A text edit as values: which stretch of a text becomes what.

Every edit of a note is a tuple of `Change`s against the text as it was, so that nothing is rewritten that
the edit did not name, several edits can be shown before they happen, and each has an inverse. What an edit
means is decided in the `*_edit` modules; writing files is not done here.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from vaultbridge.errors import EditRefused


class Change(Struct, frozen=True, gc=False, order=True):
    """The characters from `start` up to `end` become `text`. Equal offsets insert; an empty text deletes."""

    start: int
    end: int
    text: str


def in_order(changes: Iterable[Change], length: int) -> tuple[Change, ...]:
    """The changes sorted by place, insertions at the same place in the order given.

    Raises EditRefused when two of them touch the same characters or one lies outside a text of `length`."""
    ordered = sorted(changes, key=lambda change: (change.start, change.end))
    previous = 0
    for change in ordered:
        if not 0 <= change.start <= change.end <= length:
            raise EditRefused(
                f"An edit of characters {change.start} to {change.end} does not fit a text of {length}."
            )
        if change.start < previous:
            raise EditRefused(
                f"Two edits overlap at character {change.start}; make them one after the other."
            )
        previous = change.end
    return tuple(ordered)


def apply_changes(text: str, changes: Iterable[Change]) -> str:
    """The text with all changes made. Raises EditRefused as `in_order` does."""
    pieces: list[str] = []
    done = 0
    for change in in_order(changes, len(text)):
        pieces.append(text[done : change.start])
        pieces.append(change.text)
        done = change.end
    pieces.append(text[done:])
    return "".join(pieces)


def invert(text: str, changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes that turn `apply_changes(text, changes)` back into `text`."""
    shift = 0
    inverse: list[Change] = []
    for change in in_order(changes, len(text)):
        start = change.start + shift
        inverse.append(Change(start, start + len(change.text), text[change.start : change.end]))
        shift += len(change.text) - (change.end - change.start)
    return tuple(inverse)
