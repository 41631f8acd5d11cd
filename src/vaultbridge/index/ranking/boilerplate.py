"""Finds the lines of a note that nobody wrote to be read: comments, badges and navigation. Pure: no I/O.

They are neither passages nor places to show, though a search still finds a note by the words in them. Only
whole lines count: a comment within a sentence belongs to the sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

Span = tuple[int, int]

_LINK: Final = r"(?:\[\[[^\[\]\\\n]*\]\]|(?<!!)\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\]\([^()\n]*\))"
_TAG: Final = r"</?[a-z][^<>\n]*>"
_ARROWS: Final = "·•«»←→"
_BETWEEN: Final = rf"(?:<<|>>|<-+|-+>|[|/>{_ARROWS}])"
_BADGE: Final = (
    r"(?:\[!\[[^\[\]\n]*\]\([^()\n]*\)\]\([^()\n]*\)"
    r"|!\[[^\[\]\n]*\]\([^()\n]*shields\.io[^()\n]*\)"
    r"|<img\s[^<>\n]*shields\.io[^<>\n]*>)"
)

_COMMENTS: Final = (("%%", "%%"), ("<!--", "-->"))
"""How a comment begins and ends."""

_ROW_HINTS: Final = ("[![", "shields.io", "| [", "> [", *_ARROWS)
"""Most notes have none of these. Looking for them first takes a few percent of the time of a question; the
pattern alone would take a third."""

_END: Final = rf"(?:[ \t]|{_TAG})*"

_ROW: Final = re.compile(
    rf"[ \t]*(?:{_TAG}[ \t]*)*(?:{_BADGE}(?:[ \t]|{_TAG}|{_BADGE})*"
    rf"|(?:(?!\|){_BETWEEN}[ \t]*)?{_LINK}[ \t]*(?:{_BETWEEN}[ \t]*{_LINK}[ \t]*)+{_BETWEEN}?{_END})\r?",
    re.IGNORECASE,
)
"""Badges, or links with bars or arrows between them. A row of a table begins with a bar."""


def find_boilerplate(text: str) -> list[Span]:
    """Returns the stretches of whole lines that are comments, rows of badges, or rows of links with arrows or
    bars between them, with the blank lines that separate them."""
    spans = [*_find_comments(text), *_find_rows(text)]
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start < found[-1][1]:
            continue
        if found and not text[found[-1][1] : start].strip():
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return [span for span in found if _is_whole(text, *span)]


def _find_comments(text: str) -> Iterator[Span]:
    for opening, closing in _COMMENTS:
        at = text.find(opening)
        while at >= 0:
            end = text.find(closing, at + len(opening))
            if end < 0:
                break
            if _is_code(text, at):
                at = text.find(opening, at + len(opening))
                continue
            yield at, end + len(closing)
            at = text.find(opening, end + len(closing))


def _find_rows(text: str) -> Iterator[Span]:
    for hint in _ROW_HINTS:
        at = text.find(hint)
        while at >= 0:
            start = text.rfind("\n", 0, at) + 1
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            if _ROW.fullmatch(text, start, end) and not _is_code(text, start):
                yield start, end
            at = text.find(hint, end)


def _is_code(text: str, at: int) -> bool:
    """Whether a place is in a code block, which an odd number of fences precedes, or in code on its line."""
    line = text.rfind("\n", 0, at) + 1
    return (
        any(text.count(fence, 0, line) % 2 for fence in ("```", "~~~")) or text.count("`", line, at) % 2 == 1
    )


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether there is nothing else on the lines where a stretch begins and ends."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return not text[first:start].strip() and not text[end : None if last < 0 else last].strip()


def leave_out(span: Span, boilerplate: list[Span]) -> list[Span]:
    """Returns what is left of a stretch of text without the others."""
    start, end = span
    left: list[Span] = []
    for first, last in boilerplate:
        if last <= start or first >= end:
            continue
        if first > start:
            left.append((start, first))
        start = last
    if start < end:
        left.append((start, end))
    return left
