"""Rows of an answer, within what a caller asked for and what a conversation can take.

Every list ends with how to go on, so that a caller never takes a part for the whole.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from vaultbridge.errors import InvalidArgument
from vaultbridge.note.text import displayable

if TYPE_CHECKING:
    from vaultbridge.tools.workshop import Bench

PAGE_CHARS: Final = 30_000
"""The most that one list fills, about 8,000 tokens: a third of what assistants accept as one result. Rows
that do not fit are what the next page begins with."""

ROW_CHARS: Final = 2_000
"""The longest row: a longer one is cut, because a row is for finding, not for reading."""

LOOK_SECONDS: Final = 0.02
"""How often a question looks whether a first build is done: another process may be the one that builds."""


def page(
    rows: Iterable[str],
    *,
    total: int,
    offset: int,
    what: str,
    head: str = "",
    notes: Sequence[str] = (),
    row_chars: int = ROW_CHARS,
) -> str:
    """`rows` are those from `offset` on, of `total`. `what` names them, in the plural; `head` stands before
    them. `notes` come first of all: whoever has read the rows may not read on."""
    shown: list[str] = []
    length = 0
    for row in rows:
        text = displayable(row)
        text = text if len(text) <= row_chars else text[: row_chars - 1] + "…"
        if shown and length + len(text) > PAGE_CHARS:
            break
        shown.append(text)
        length += len(text) + 1
    lines = [*notes, *([head] if head else [])]
    lines += shown
    lines.append(_ending(len(shown), total, offset, what))
    return "\n".join(lines)


def _ending(shown: int, total: int, offset: int, what: str) -> str:
    if not total:
        return f"({what}: none)"
    last = offset + shown
    if not shown:
        return f"({what}: {total}, none from offset {offset} on)"
    if last < total:
        return f"({what} {offset + 1}-{last} of {total}; go on with offset={last})"
    return f"({what}: {total})" if not offset else f"({what} {offset + 1}-{last} of {total}; that is all)"


def sliced(rows: Sequence[str], *, offset: int, limit: int) -> Sequence[str]:
    return rows[offset : offset + limit]


def building(bench: Bench) -> list[str]:
    """The line that tells of an answer from an index that is not complete yet; none when it is. To be made
    before the question is asked: see `status_to_ask`. Waits for a first build as long as the caller may."""
    status = bench.engine.ask.status_to_ask()
    if not status.complete and bench.shop.patience:
        deadline = time.monotonic() + bench.shop.patience
        while not bench.engine.ask.status.complete and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
        status = bench.engine.ask.status_to_ask()
    if status.complete:
        return []
    return [incomplete(status.done, status.total)]


def incomplete(done: int, total: int) -> str:
    """The first line of an answer from an index that is not complete yet."""
    return f"The index is still being built: {done} of {total} notes so far; these results are incomplete."


def continued(page: str, next_start: int) -> str:
    """A page of a longer text, with how to go on. Nothing stands between the two, so that pages without these
    closing marks, one after the other, are the text: a passage that somebody copies from them is found."""
    return f"{page}[cut; go on with start={next_start}]"


def cut(text: str, *, start: int, max_chars: int) -> str:
    """A stretch of one long text, at whole lines where possible, that ends with how to go on."""
    if start > len(text):
        raise InvalidArgument(
            f"start is {start}; the text has {len(text)} characters.",
            argument="start",
            hint="Give the number that the former answer ended with.",
        )
    stop = min(len(text), start + max_chars)
    if stop == len(text):
        return displayable(text[start:])
    line_break = text.rfind("\n", start, stop)
    stop = line_break + 1 if line_break >= start else stop
    return continued(displayable(text[start:stop]), stop)
