"""Splits a Bases expression into tokens with their positions.

Knows the tokens of the language (names, numbers, text, regular expressions, signs) and only one rule of its
grammar: after a value `/` divides, elsewhere it opens a regular expression. What it refuses is an
`InvalidQuery` with the offset of the offending character.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import Struct

from vaultbridge.errors import InvalidQuery

MAX_EXPRESSION_CHARS: Final = 20_000
"""The longest expression we read. The formulas that people write have a few hundred characters."""

TokenKind = Literal["name", "number", "text", "regexp", "sign", "end"]


class Lexeme(Struct, frozen=True, gc=False):
    """`text` is the name, sign, decoded text or pattern; `flags` are those of a regular expression."""

    kind: TokenKind
    text: str
    start: int
    end: int
    flags: str = ""


_BLANK: Final = re.compile(r"\s*")
_NAME: Final = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_NUMBER: Final = re.compile(r"(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w])|\d+(?=\.[^\W\d])")
_SIGN: Final = re.compile(r"&&|\|\||[=!]==|==|!=|<=|>=|[-+*/%()\[\]{},.:!<>]")
_FLAGS: Final = re.compile(r"[A-Za-z]*")
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_HEX: Final = {
    "x": re.compile(r"[0-9A-Fa-f]{2}"),
    "u": re.compile(r"[0-9A-Fa-f]{4}|\{[0-9A-Fa-f]{1,6}\}"),
}

_HINTS: Final = {
    "=": "Write == to compare.",
    "===": "Write == to compare.",
    "!==": "Write != to compare.",
    "?": "Write if(condition, a, b) to choose.",
    "&": "Write && for 'and'.",
    "|": "Write || for 'or'.",
    "“": 'Write straight quotes: "text".',
    "‘": "Write straight quotes: 'text'.",
}
"""What people write who know other languages, and what to write here."""


def tokenize(source: str) -> tuple[Lexeme, ...]:
    """Return all tokens of `source`; the last is of kind "end"."""
    if len(source) > MAX_EXPRESSION_CHARS:
        raise InvalidQuery(
            f"The expression has {len(source)} characters; at most {MAX_EXPRESSION_CHARS} are read.",
            position=MAX_EXPRESSION_CHARS,
        )
    found: list[Lexeme] = []
    at = _skip_blanks(source, 0)
    while at < len(source):
        token = _next(source, at, after_value=bool(found) and _is_value_end(found[-1]))
        found.append(token)
        at = _skip_blanks(source, token.end)
    found.append(Lexeme("end", "", len(source), len(source)))
    return tuple(found)


def _skip_blanks(source: str, at: int) -> int:
    match = _BLANK.match(source, at)
    return match.end() if match else at


def _is_value_end(token: Lexeme) -> bool:
    return token.kind != "sign" or token.text in (")", "]", "}")


def _next(source: str, at: int, *, after_value: bool) -> Lexeme:
    char = source[at]
    if char in "\"'":
        return _text(source, at)
    if char == "/" and not after_value:
        return _regexp(source, at)
    if match := _NAME.match(source, at):
        return Lexeme("name", match.group(), at, match.end())
    # After a value a dot is member access, so that `list[0].5` is refused rather than read as two values.
    if (char.isdigit() or not after_value) and (match := _NUMBER.match(source, at)):
        return Lexeme("number", match.group(), at, match.end())
    match = _SIGN.match(source, at)
    if match is None or match.group() in _HINTS:
        sign = match.group() if match else char
        raise InvalidQuery(f"Unexpected {sign!r} at {at}.", position=at, hint=_HINTS.get(sign, ""))
    return Lexeme("sign", match.group(), at, match.end())


def _text(source: str, start: int) -> Lexeme:
    quote, at = source[start], start + 1
    parts: list[str] = []
    while at < len(source):
        char = source[at]
        if char == quote:
            return Lexeme("text", "".join(parts), start, at + 1)
        if char == "\\" and at + 1 < len(source):
            decoded, at = _escape(source, at + 1)
            parts.append(decoded)
        else:
            parts.append(char)
            at += 1
    raise InvalidQuery(f"The text opened by {quote} at {start} is not closed.", position=start)


def _escape(source: str, at: int) -> tuple[str, int]:
    """Decode the escape at `at` (after the backslash) as in JavaScript, and return where it ends."""
    char = source[at]
    if char in _HEX and (match := _HEX[char].match(source, at + 1)):
        code = int(match.group().strip("{}"), 16)
        # A lone surrogate cannot be stored or sent; it becomes the replacement character.
        return (chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else "�"), match.end()
    return _ESCAPES.get(char, char), at + 1


def _regexp(source: str, start: int) -> Lexeme:
    at, in_class = start + 1, False
    while at < len(source) and source[at] != "\n":
        char = source[at]
        if char == "\\":
            at += 2
            continue
        if char == "/" and not in_class:
            flags = _FLAGS.match(source, at + 1)
            end = flags.end() if flags else at + 1
            return Lexeme("regexp", source[start + 1 : at], start, end, source[at + 1 : end])
        in_class = char == "[" or (in_class and char != "]")
        at += 1
    raise InvalidQuery(f"The regular expression opened at {start} is not closed.", position=start)
