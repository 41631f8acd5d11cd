"""Finds the names that share groups of letters with another, among all names of a vault.

`names` compares the best of them letter by letter, and decides which to offer.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final

from vaultbridge.index.fold import fold_text

GRAM_HITS: Final = 2000
"""The most occurrences of one letter group that are counted. A more common group hardly distinguishes
names."""

_FOLDER: Final = "\0"
"""Begins a line with a folder. No path contains it."""


class NameText:
    """Sorted names as one folded text, so that letter groups are found without a loop over the names.

    Each name has a line, and the first one in a folder has another before it, with the whole folder. What is
    found there belongs to all names up to the next folder: most of the length of 100,000 paths is folders
    that repeat. The end of the folder is part of each line, because a letter group may extend across it."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        lines = fold_text("\n".join(map(self.cut, names))).split("\n") if names else []
        entries = self._make_entries(lines)
        self._text = "".join(entries)
        self._starts = array("I", accumulate(map(len, entries), initial=0))

    def cut(self, name: str) -> str:
        """Returns what is compared of a name."""
        return name.rpartition(".")[0] or name

    def fold_name(self, line: int) -> str:
        return fold_text(self.cut(self.names[line]))

    def _split(self, line: str) -> tuple[str, str, str]:
        return line.rpartition("/")

    def _make_entries(self, lines: Iterable[str]) -> list[str]:
        folder: str | None = None
        entries: list[str] = []
        for line in lines:
            own, slash, name = self._split(line)
            start = "" if own == folder else f"{_FOLDER}{own}\n"
            entries.append(f"{start}{own[-2:]}{slash}{name}\n")
            folder = own
        return entries

    def count_shared_groups(self, folded: str) -> Counter[int]:
        """Counts the letter groups that each name shares with the wanted one."""
        width = 3 if len(folded) > 5 else 2 if len(folded) > 2 else 1
        counts: Counter[int] = Counter()
        for gram in {folded[at : at + width] for at in range(len(folded) - width + 1)}:
            if "\n" not in gram and _FOLDER not in gram:
                counts.update(self._find_lines(gram))
        return counts

    def _find_lines(self, gram: str) -> set[int]:
        text, starts = self._text, self._starts
        lines: set[int] = set()
        at = text.find(gram)
        while at >= 0 and len(lines) < GRAM_HITS:
            line = bisect_right(starts, at) - 1
            start = starts[line]
            if text[start] == _FOLDER and at < text.index("\n", start):
                following = text.find(_FOLDER, at)
                end = len(self.names) if following < 0 else bisect_right(starts, following) - 1
                lines.update(range(line, min(end, line + GRAM_HITS - len(lines))))
                at = text.find(gram, starts[end])
            else:
                lines.add(line)
                at = text.find(gram, starts[line + 1])
        return lines


class AliasText(NameText):
    """The same for aliases, which are in no folder."""

    def cut(self, name: str) -> str:
        return name.replace("\n", " ").replace(_FOLDER, " ")

    def _split(self, line: str) -> tuple[str, str, str]:
        return "", "", line
