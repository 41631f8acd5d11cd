"""Decodes the bytes of a note and encodes them again without loss.

A BOM is removed from the text and recorded; bytes that are not UTF-8 become lone surrogates, so that `encode`
returns identical bytes. Line ends do not change. `markdown.parse` interprets the text; `vault` reads and
writes files.
"""

from __future__ import annotations

import re

from msgspec import Struct

from vaultbridge.markdown.model import Problem

BOM = b"\xef\xbb\xbf"
BLANKS = (
    " \t\n\r\x0b\x0c\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What JavaScript's `trim` and `\\s` treat as blank, and so the app; Python's set is different."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n?|\n")


class Decoded(Struct, frozen=True):
    """`text` has no BOM; `bom` is true if the bytes began with one."""

    text: str
    bom: bool = False
    problems: tuple[Problem, ...] = ()


def is_text(data: bytes) -> bool:
    """Return whether bytes are UTF-8 text, with or without a BOM. Text that a person wrote has no NUL."""
    if b"\0" in data:
        return False
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def decode(data: bytes) -> Decoded:
    """Never fails. Text with an `invalid-utf8` problem must go through `replace_surrogates` before it is sent
    to anyone."""
    bom = data.startswith(BOM)
    body = data[3:] if bom else data
    try:
        return Decoded(body.decode("utf-8"), bom)
    except UnicodeDecodeError:
        text = body.decode("utf-8", "surrogateescape")
    first = _SURROGATE.search(text)
    assert first is not None
    line = 1 + sum(1 for _ in _LINE_END.finditer(text, 0, first.start()))
    byte = ord(text[first.start()]) - 0xDC00
    message = f"Line {line}: byte 0x{byte:02x} is not UTF-8. It is preserved and shown as U+FFFD."
    return Decoded(text, bom, (Problem("invalid-utf8", message, line, first.start(), first.end()),))


def encode(text: str, *, bom: bool) -> bytes:
    """Return the bytes of a file. Raises UnicodeEncodeError only for surrogates that `decode` never
    produces."""
    data = text.encode("utf-8", "surrogateescape")
    return BOM + data if bom else data


def has_surrogates(text: str) -> bool:
    """Return whether the text has a lone surrogate: a byte that is not UTF-8."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def replace_surrogates(text: str) -> str:
    """Return the text with each lone surrogate replaced by U+FFFD; its length does not change."""
    if text.isascii():
        return text
    return _SURROGATE.sub("\ufffd", text)
