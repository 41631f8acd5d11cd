"""Finds where code spans, inline math, raw HTML and autolinks end.

Code and math close with a run of the same mark and length. All runs of a text are listed once, when first
needed, so that a text full of openers that never close still takes linear time. HTML and autolinks follow
CommonMark 6.5 and 6.6: links and tags between HTML tags count, those inside a tag, a comment or an autolink
do not. HTML blocks belong to `blocks.scan`.
"""

from __future__ import annotations

import re
from bisect import bisect_left

_SPACE = r"[ \t\r\n]"
_VALUE = r"(?:[^ \t\r\n\"'=<>`]++|'[^']*+'|\"[^\"]*+\")"
ATTRIBUTE = rf"{_SPACE}++[A-Za-z_:][A-Za-z0-9_.:-]*+(?:{_SPACE}*+={_SPACE}*+{_VALUE})?"
"""One attribute of an opening tag, with the blanks before it. It can match in one way only, so there is no
backtracking (groups are not possessive: see `inline.links`)."""

OPEN_TAG = rf"<[A-Za-z][A-Za-z0-9-]*+(?:{ATTRIBUTE})*{_SPACE}*+/?>"
CLOSING_TAG = rf"</[A-Za-z][A-Za-z0-9-]*+{_SPACE}*+>"

_TAG_OR_AUTOLINK = re.compile(
    rf"{OPEN_TAG}|{CLOSING_TAG}"
    r"|<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\x00-\x1f]*+>"
    r"|<[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]++@[A-Za-z0-9](?:[A-Za-z0-9-]*+)(?:\.[A-Za-z0-9-]++)*>"
)
_EMPTY_COMMENT = re.compile(r"<!---?>")


class HtmlScanner:
    """Finds the end of HTML. It remembers which endings do not occur again, so that each is searched for
    without success only once."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._absent: set[str] = set()

    def end(self, start: int) -> int:
        """Return the offset after the HTML or autolink at `start`, or -1 if there is none."""
        part = self._part
        if part.startswith("<!--", start):
            empty = _EMPTY_COMMENT.match(part, start)
            return empty.end() if empty else self._after("-->", start + 4)
        if part.startswith("<?", start):
            return self._after("?>", start + 2)
        if part.startswith("<![CDATA[", start):
            return self._after("]]>", start + 9)
        if part.startswith("<!", start):
            return self._after(">", start + 2) if part[start + 2 : start + 3].isalpha() else -1
        match = _TAG_OR_AUTOLINK.match(part, start)
        return match.end() if match else -1

    def _after(self, ending: str, pos: int) -> int:
        if ending in self._absent:
            return -1
        end = self._part.find(ending, pos)
        if end < 0:
            self._absent.add(ending)
            return -1
        return end + len(ending)


_TICKS = re.compile(r"`+")
_DOLLARS = re.compile(r"\$+")


class Spans:
    """Finds the end of code spans and inline math in one text."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._ticks: dict[int, list[int]] | None = None
        self._dollars: dict[int, list[int]] | None = None

    def code_end(self, start: int, after: int) -> int:
        """Return the offset after the closing run of the code span that opens at `start`, or -1."""
        if self._ticks is None:
            self._ticks = {}
            for match in _TICKS.finditer(self._part):
                self._ticks.setdefault(match.end() - match.start(), []).append(match.start())
        return self._next(self._ticks, after - start, after)

    def math_end(self, start: int, after: int) -> int:
        """Like `code_end`, for math. A single `$` opens only before a character that is not blank, and closes
        only after one that is not blank and if no digit follows: `$5 and $6` is money."""
        part = self._part
        size = after - start
        if size == 1 and (after >= len(part) or part[after].isspace()):
            return -1
        if self._dollars is None:
            self._dollars = {}
            for match in _DOLLARS.finditer(part):
                if self._closes(match.start(), match.end()):
                    self._dollars.setdefault(match.end() - match.start(), []).append(match.start())
        return self._next(self._dollars, size, after)

    def _closes(self, start: int, end: int) -> bool:
        part = self._part
        slashes = start
        while slashes > 0 and part[slashes - 1] == "\\":
            slashes -= 1
        if (start - slashes) % 2:
            return False
        if end - start > 1:
            return True
        before = part[start - 1] if start else " "
        return not before.isspace() and not part[end : end + 1].isdigit()

    @staticmethod
    def _next(runs: dict[int, list[int]], size: int, after: int) -> int:
        places = runs.get(size)
        if not places:
            return -1
        index = bisect_left(places, after)
        return places[index] + size if index < len(places) else -1
