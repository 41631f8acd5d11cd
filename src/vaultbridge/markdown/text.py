"""Decodes the bytes of a note and encodes them again without loss, and converts between offsets, lines and a
client's units. No other module does either.

A BOM is removed from the text and recorded; bytes that are not UTF-8 become lone surrogates, so that `encode`
returns identical bytes. Line ends do not change. `markdown.parse` interprets the text; `vault` reads and
writes files.

Our offsets count code points of the decoded text and our lines start at 1. Language clients count lines from
0 and columns in UTF-16 units. A line ends at LF, CR or CRLF and nowhere else: to Markdown, U+2028 and form
feeds are ordinary characters, so `str.splitlines` must not be used here.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from msgspec import Struct

from vaultbridge.markdown.model import Problem

BOM = b"\xef\xbb\xbf"
BLANKS = (
    " \t\n\r\x0b\x0c\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""The characters that JavaScript's `trim` and `\\s`, and so the app, treat as blank. Python's set is
different."""

_SURROGATE = re.compile("[\ud800-\udfff]")
LINE_END = re.compile(r"\r\n?|\n")
"""What ends a line, everywhere: other characters that Python's `splitlines` splits at are text."""

DATE = re.compile(r"\d{4}-\d\d-\d\d")
DATETIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?")
"""How the app writes a date, and a date with a time. To YAML both are only text."""


class Decoded(Struct, frozen=True):
    """A decoded file. `text` has no BOM; `bom` is true if the bytes began with one."""

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


def is_utf16(data: bytes) -> bool:
    """Return whether bytes begin with the mark of UTF-16, which no UTF-8 text does."""
    return data.startswith((b"\xff\xfe", b"\xfe\xff"))


def describe_encoding(data: bytes) -> str:
    """Say in a few words why bytes are not UTF-8 text; "" if they are."""
    if is_utf16(data):
        return "it seems to be UTF-16"
    if is_text(data):
        return ""
    problems = decode(data).problems
    if problems:
        return problems[0].message.partition(" is not UTF-8")[0].lower()
    return "it contains NUL bytes"


def decode(data: bytes) -> Decoded:
    """Decode any bytes; it never fails. Text with an `invalid-utf8` problem must go through
    `replace_surrogates` before it is sent to anyone."""
    bom = data.startswith(BOM)
    body = data[3:] if bom else data
    try:
        return Decoded(body.decode("utf-8"), bom)
    except UnicodeDecodeError:
        text = body.decode("utf-8", "surrogateescape")
    first = _SURROGATE.search(text)
    assert first is not None
    line = 1 + sum(1 for _ in LINE_END.finditer(text, 0, first.start()))
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
    if text.isascii():
        return False
    try:
        # Three times as fast as looking for one.
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def replace_surrogates(text: str) -> str:
    """Return the text with each lone surrogate replaced by U+FFFD; its length does not change."""
    return _SURROGATE.sub("\ufffd", text) if has_surrogates(text) else text


def split_with_starts(text: str) -> tuple[list[str], list[int]]:
    """Return every line without its end, and the offset of each line's start. An empty text has one line."""
    if "\r" in text:
        ends = list(LINE_END.finditer(text))
        starts = [0, *(match.end() for match in ends)]
        stops = [*(match.start() for match in ends), len(text)]
        return [text[start:stop] for start, stop in zip(starts, stops, strict=True)], starts
    lines = text.split("\n")
    starts = []
    at = 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    return lines, starts


class Positions:
    """The line table of one text. Arguments outside the text are clamped to it, because a client's copy may
    be a moment older than ours."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = split_with_starts(text)[1]

    @property
    def line_count(self) -> int:
        return len(self._starts)

    @property
    def written_lines(self) -> int:
        """The lines as people count them: an editor shows an empty line after the last line end, a reader
        does not count it."""
        return max(1, len(self._starts) - self._text.endswith(("\n", "\r")))

    def line_of(self, offset: int) -> int:
        """The line that contains this offset, from 1; a line end belongs to the line it ends."""
        return bisect_right(self._starts, max(offset, 0))

    def offset_of_line(self, line: int) -> int:
        """The offset of a line's first character, lines from 1; the end of the text for a line after the
        last."""
        if line > len(self._starts):
            return len(self._text)
        return self._starts[max(line, 1) - 1]

    def end_of_line(self, line: int) -> int:
        """The offset where a line's characters end, before its line end."""
        if line >= len(self._starts):
            return len(self._text)
        end = self._starts[max(line, 1)] - 1
        if self._text[end] == "\n" and end > 0 and self._text[end - 1] == "\r":
            return end - 1
        return end

    def to_lsp(self, offset: int) -> tuple[int, int]:
        """Convert an offset to a line from 0 and a column in UTF-16 units."""
        at = min(max(offset, 0), len(self._text))
        line = bisect_right(self._starts, at)
        return line - 1, utf16_length(self._text[self._starts[line - 1] : at])


def utf16_length(text: str) -> int:
    """Count the UTF-16 units of a text; a lone surrogate is one unit."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for character in text if character > "\uffff")
