"""The dictionary of all words in the index, to find those that contain a given string.

A search is for substrings, the full-text table knows whole words and beginnings. The words that contain
`bridg` are found here, by looking through all of them as one run of bytes: 30,000 words take 0.2 ms, a
million about 10 ms, and each costs its own length in memory. Only words added since the last look are loaded.
"""

from __future__ import annotations

import sqlite3
import threading
from typing import Final

EXPANSION: Final = 400
"""The most words one string is expanded to. A shorter list keeps SQLite's query small; a string in more words
than that (one or two letters) is looked for in the texts themselves."""

_SEPARATOR: Final = b"\n"


class Terms:
    """The words known so far. Safe to use from any thread."""

    __slots__ = ("_guard", "_last", "_words")

    def __init__(self) -> None:
        self._words = bytearray(_SEPARATOR)
        self._last = 0
        self._guard = threading.Lock()

    def refresh(self, db: sqlite3.Connection) -> None:
        """Learn the words that were added since the last time."""
        with self._guard:
            joined, last = db.execute(
                "SELECT group_concat(term, char(10)), max(id) FROM terms WHERE id > ?", (self._last,)
            ).fetchone()
            if joined is not None:
                self._words += joined.encode() + _SEPARATOR
                self._last = last

    def containing(self, part: str) -> list[str] | None:
        """The words in which `part` occurs; None when there are more than EXPANSION."""
        return self._find(part.encode())

    def ending(self, part: str) -> list[str] | None:
        """The words that end with `part`, under the same bound."""
        return self._find(part.encode() + _SEPARATOR)

    def starting(self, part: str) -> list[str] | None:
        """The words that begin with `part`, under the same bound."""
        return self._find(_SEPARATOR + part.encode())

    def _find(self, needle: bytes) -> list[str] | None:
        found: list[str] = []
        with self._guard:
            words = self._words
            at = words.find(needle)
            while at >= 0:
                start = words.rfind(_SEPARATOR, 0, at + 1) + 1
                end = words.find(_SEPARATOR, at + 1)
                found.append(words[start:end].decode())
                if len(found) > EXPANSION:
                    return None
                at = words.find(needle, end)
        return found
