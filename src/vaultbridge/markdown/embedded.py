"""Text that stands escaped inside another text: a JSON or YAML string, a string in a Bases expression.

A link inside such a string is found in the decoded text and must be edited in the outer one. `Embedded`
keeps, for every decoded character, where it stands outside, and knows how to escape what is put in. The
layers nest: an expression's string inside a quoted YAML scalar is one `Embedded` inside another.
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
"""YAML's; JSON's and the expressions' are among them. Any other character after a backslash is itself."""


class Embedded(Struct, frozen=True):
    """`text` decoded; `offsets[i]` is where its character i stands in the outer text, and one more for the
    end."""

    text: str
    offsets: Sequence[int]
    quoting: Quoting

    def outward(self, changes: Iterable[Change]) -> tuple[Change, ...]:
        """Changes of the decoded text as changes of the outer one."""
        return tuple(
            Change(self.offsets[c.start], self.offsets[c.end], escape(c.text, self.quoting)) for c in changes
        )


def whole_text(text: str) -> Embedded:
    """A text that stands in no other."""
    return Embedded(text, range(len(text) + 1), "none")


def decode_embedded(outer: str, start: int, end: int, quoting: Quoting) -> Embedded:
    """The text between the quotes: `start` and `end` are the offsets just inside them."""
    text: list[str] = []
    offsets: list[int] = []
    at = start
    while at < end:
        piece, length = _next(outer, at, end, quoting)
        for character in piece:
            text.append(character)
            offsets.append(at)
        at += length
    offsets.append(end)
    return Embedded("".join(text), offsets, quoting)


def _next(outer: str, at: int, end: int, quoting: Quoting) -> tuple[str, int]:
    """The next decoded character and how many outer ones spell it."""
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
    """How the text is spelled inside quotes of this kind."""
    match quoting:
        case "none":
            return text
        case "yaml-single":
            return text.replace("'", "''")
        case "expression-single":
            return text.replace("\\", "\\\\").replace("'", "\\'")
        case _:
            return json.dumps(text, ensure_ascii=False)[1:-1]
