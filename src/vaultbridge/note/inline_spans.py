"""Where code spans and inline math end.

Both close with a run of the same mark and length. All runs of a text are listed once, on the first question,
so that a text full of openers that never close still takes linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_left

_TICKS = re.compile(r"`+")
_DOLLARS = re.compile(r"\$+")


class Spans:
    def __init__(self, part: str) -> None:
        self._part = part
        self._ticks: dict[int, list[int]] | None = None
        self._dollars: dict[int, list[int]] | None = None

    def code_end(self, start: int, after: int) -> int:
        """The offset past the closing run of the code span that opens at `start`, or -1."""
        if self._ticks is None:
            self._ticks = {}
            for match in _TICKS.finditer(self._part):
                self._ticks.setdefault(match.end() - match.start(), []).append(match.start())
        return self._next(self._ticks, after - start, after)

    def math_end(self, start: int, after: int) -> int:
        """The same for math. A single `$` opens only before a character that is not blank, and closes only
        after such a one and not before a digit: `$5 and $6` is money."""
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
