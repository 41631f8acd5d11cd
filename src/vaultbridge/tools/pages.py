"""Rows of an answer, within what a caller asked for and what a conversation can take.

Every list ends with how to go on, so that a caller never takes a part for the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from vaultbridge.note.text import displayable

if TYPE_CHECKING:
    from vaultbridge.engine import Engine

PAGE_CHARS: Final = 30_000
"""The most that one list fills, about 8,000 tokens: a third of what assistants accept as one result. Rows
that do not fit are what the next page begins with."""

ROW_CHARS: Final = 2_000
"""The longest row: a longer one is cut, because a row is for finding, not for reading."""


def page(
    rows: Iterable[str], *, total: int, offset: int, what: str, head: str = "", notes: Sequence[str] = ()
) -> str:
    """`rows` are those from `offset` on, of `total`. `what` names them, in the plural; `head` stands before
    them and `notes` after."""
    shown: list[str] = []
    length = 0
    for row in rows:
        text = displayable(row)
        text = text if len(text) <= ROW_CHARS else text[: ROW_CHARS - 1] + "…"
        if shown and length + len(text) > PAGE_CHARS:
            break
        shown.append(text)
        length += len(text) + 1
    lines = [head] if head else []
    lines += shown
    lines.append(_ending(len(shown), total, offset, what))
    lines += notes
    return "\n".join(lines)


def _ending(shown: int, total: int, offset: int, what: str) -> str:
    if not total:
        return f"(no {what})"
    last = offset + shown
    if not shown:
        return f"(no {what} from offset {offset}; there are {total})"
    if last < total:
        return f"({what} {offset + 1}-{last} of {total}; go on with offset={last})"
    return f"({total} {what})" if not offset else f"({what} {offset + 1}-{last} of {total}; that is all)"


def sliced(rows: Sequence[str], *, offset: int, limit: int) -> Sequence[str]:
    return rows[offset : offset + limit]


def building(engine: Engine) -> list[str]:
    """The line that tells of an answer from an index that is not complete yet; none when it is."""
    status = engine.ask.status
    if status.complete:
        return []
    return [f"(index is still being built: {status.done} of {status.total} notes so far)"]
