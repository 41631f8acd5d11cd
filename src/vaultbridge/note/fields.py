"""Dataview's inline fields: `key:: value` lines, `[key:: value]` and `(key:: value)`.

Keys are compared in lower case with hyphens for blanks; marks of emphasis around a key are not part of it.
Finding the brackets is the inline scanner's work, because brackets nest.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from vaultbridge.note.model import InlineField

KEY_CHARS = 100
"""The longest key. Bounds how far back a `::` may reach, and so the cost of text full of colons."""

_BRACKET_KEY = re.compile(rf"[ \t]*+([^\[\]():\r\n]{{1,{KEY_CHARS}}}+)::(?!:)")
_LINE_FIELD = re.compile(
    rf"^[ \t]*+([^\s:\[\]()`][^:\r\n\[\]()`]{{0,{KEY_CHARS}}}+)::(?!:)[ \t]*+([^\r\n]*+)", re.MULTILINE
)
_EMPHASIS = " \t*_~"
# Letters, digits, `_`, `-`, `/`, blanks, and all symbols beyond Latin-1 punctuation, emoji among them. The
# class lists what is left out: one that spans all of Unicode takes milliseconds to compile.
_KEY_CHAR = r"[^\x00-\x08\x0a-\x1f!-,.:-@\[-^`{-\xa8]"
_KEY = re.compile(rf"(?![-/ \t]){_KEY_CHAR}+\Z")
_BLANKS = re.compile(r"\s+")
_DROPPED = re.compile(r"[\x00-,./:-@\[-^`{-\xa8]")


def field_key(name: str) -> str:
    """The normalised form that keys are compared by."""
    return _DROPPED.sub("", _BLANKS.sub("-", name.strip().lower()))


def bracket_key(part: str, pos: int) -> tuple[str, int] | None:
    """The key that stands right after an opening bracket, and where its value starts."""
    match = _BRACKET_KEY.match(part, pos)
    if match is None:
        return None
    name = match[1].strip(_EMPHASIS)
    return (name, match.end()) if _KEY.match(name) else None


def bracket_field(
    key: tuple[str, int], part: str, opened: int, closed: int, line: int, base: int
) -> InlineField | None:
    """The field between the brackets at `opened` and `closed`; None when they are not on one line."""
    name, value_at = key
    value = part[value_at:closed]
    if "\n" in value or "\r" in value:
        return None
    return InlineField(field_key(name), name, value.strip(), line, base + opened, base + closed + 1)


def line_fields(
    part: str, base: int, starts: list[int], hidden: list[tuple[int, int]]
) -> Iterator[InlineField]:
    """The fields that take a whole line; `hidden` are the stretches of code, math and HTML, in order."""
    ends = [end for _, end in hidden]
    for match in _LINE_FIELD.finditer(part):
        name = match[1].strip(_EMPHASIS)
        if not _KEY.match(name):
            continue
        at = bisect_right(ends, match.start(1))
        if at < len(hidden) and hidden[at][0] < match.end(1) + 2:
            continue
        start = base + match.start(1)
        value = match[2].rstrip()
        end = base + match.start(2) + len(value)
        yield InlineField(field_key(name), name, value, bisect_right(starts, start), start, end)
