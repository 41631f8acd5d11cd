"""Converts between offsets, lines and a client's units; nothing else in the program does.

Our offsets count code points of the decoded text and our lines start at 1. Language clients count lines from
0 and columns in UTF-16 units. A line ends at LF, CR or CRLF and nowhere else: to Markdown, U+2028 and form
feeds are ordinary characters, so `str.splitlines` must not be used here.
"""

from __future__ import annotations

import re
from bisect import bisect_right

_LINE_END = re.compile(r"\r\n?|\n")


def split_lines(text: str) -> tuple[list[str], list[int]]:
    """Return every line without its end, and the offset of each line's start. An empty text has one line."""
    if "\r" in text:
        ends = list(_LINE_END.finditer(text))
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
    """The line table of one text. Arguments outside the text are clamped to it, because a client's view may
    be a moment older than ours."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = split_lines(text)[1]

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
