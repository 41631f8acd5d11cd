"""Edits text that is escaped inside another text: a JSON or YAML string, a string in a Bases expression.

A link inside such a string is found in the decoded text but must be edited in the outer text. `Embedded`
records the outer offset of every decoded character and escapes what is inserted. Layers nest: a string of an
expression inside a quoted YAML scalar is one `Embedded` inside another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from vaultbridge.markdown.edits.change import Change

Quoting: TypeAlias = Literal[
    "none", "json", "yaml-double", "yaml-single", "expression-double", "expression-single"
]

_BACKSLASHED: Final = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|\r\n|.)", re.S)
_SIMPLE: Final = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r",
    "e": "\x1b", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
"""YAML's escapes, which include those of JSON and of expressions. Any other escaped character is itself."""


class Embedded(Struct, frozen=True):
    """The decoded `text`; `offsets[i]` is the outer offset of its character i. One more offset marks the
    end."""

    text: str
    offsets: Sequence[int]
    quoting: Quoting

    def to_outer(self, changes: Iterable[Change]) -> tuple[Change, ...]:
        """Convert changes of the decoded text into changes of the outer text."""
        return tuple(
            Change(self.offsets[c.start], self.offsets[c.end], escape(c.text, self.quoting)) for c in changes
        )


def whole_text(text: str) -> Embedded:
    """Return a text that is not embedded in another."""
    return Embedded(text, range(len(text) + 1), "none")


def decode_embedded(outer: str, start: int, end: int, quoting: Quoting) -> Embedded:
    """Decode the text between two quotes; `start` and `end` are the offsets just inside them."""
    text: list[str] = []
    offsets: list[int] = []
    at = start
    while at < end:
        piece, length = _decode_next(outer, at, end, quoting)
        for character in piece:
            text.append(character)
            offsets.append(at)
        at += length
    offsets.append(end)
    return Embedded("".join(text), offsets, quoting)


def _decode_next(outer: str, at: int, end: int, quoting: Quoting) -> tuple[str, int]:
    """Return the next decoded character and the number of outer characters that spell it."""
    if quoting == "none":
        return outer[at], 1
    if quoting == "yaml-single":
        return ("'", 2) if outer.startswith("''", at) and at + 1 < end else (outer[at], 1)
    if outer[at] != "\\":
        return outer[at], 1
    match = _BACKSLASHED.match(outer, at, end)
    if match is None:
        return outer[at], 1
    code = match.group()[1:]
    if len(code) > 1 and code[0] in "uUx":
        value = int(code[1:], 16)
        low = _BACKSLASHED.match(outer, match.end(), end)
        if 0xD800 <= value < 0xDC00 and low and low.group()[1] == "u":
            second = int(low.group()[2:], 16)
            if 0xDC00 <= second < 0xE000:
                return chr(0x10000 + ((value - 0xD800) << 10) + (second - 0xDC00)), 12
        return (chr(value), len(match.group())) if value <= 0x10FFFF else (outer[at], 1)
    if code in ("\n", "\r", "\r\n"):
        # YAML's line continuation.
        return "", len(match.group())
    return _SIMPLE.get(code, code), len(match.group())


def escape(text: str, quoting: Quoting) -> str:
    """Spell the text as it must be written inside quotes of this kind."""
    match quoting:
        case "none":
            return text
        case "yaml-single":
            return text.replace("'", "''")
        case "expression-single":
            return text.replace("\\", "\\\\").replace("'", "\\'")
        case _:
            return json.dumps(text, ensure_ascii=False)[1:-1]
