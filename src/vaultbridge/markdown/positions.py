"""Offsets, lines and a client's units: the only place that converts between them.

Our offsets count code points of the decoded text and our lines start at 1. Language clients count lines
from 0 and columns in UTF-16 units. A line ends at LF, CR or CRLF and nowhere else: U+2028, form feeds and
their like are ordinary characters to Markdown, which is why `str.splitlines` appears nowhere here.
"""

from __future__ import annotations

import re
from bisect import bisect_right

_LINE_END = re.compile(r"\r\n?|\n")


def split_lines(text: str) -> tuple[list[str], list[int]]:
    """Every line without its end, and the offset of each line's start. An empty text has one line."""
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
    """The line table of one text. Arguments outside the text are moved to its nearest place, because a
    client's view may be a moment older than ours."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = split_lines(text)[1]

    @property
    def line_count(self) -> int:
        return len(self._starts)

    @property
    def written_lines(self) -> int:
        """As people count: the nothing after a last line end is a line to an editor, but not to a reader."""
        return max(1, len(self._starts) - self._text.endswith(("\n", "\r")))

    def line_of(self, offset: int) -> int:
        """The line, from 1, that holds this offset; a line's end belongs to that line."""
        return bisect_right(self._starts, max(offset, 0))

    def offset_of_line(self, line: int) -> int:
        """The first character of a line counted from 1; the text's end for a line after the last."""
        if line > len(self._starts):
            return len(self._text)
        return self._starts[max(line, 1) - 1]

    def end_of_line(self, line: int) -> int:
        """Where the line's own characters end, its line end excluded."""
        if line >= len(self._starts):
            return len(self._text)
        end = self._starts[max(line, 1)] - 1
        if self._text[end] == "\n" and end > 0 and self._text[end - 1] == "\r":
            return end - 1
        return end

    def to_lsp(self, offset: int) -> tuple[int, int]:
        """Line from 0 and column in UTF-16 units."""
        at = min(max(offset, 0), len(self._text))
        line = bisect_right(self._starts, at)
        return line - 1, utf16_length(self._text[self._starts[line - 1] : at])


def utf16_length(text: str) -> int:
    """How many UTF-16 units a text takes; a lone surrogate takes one."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for character in text if character > "\uffff")
