"""Asks the full-text table which notes match.

A common word is in most notes of a vault. SQLite finds 55,000 notes in 2 ms, but passing them to Python row
by row takes 15 ms more, so SQLite joins their ids into one text, which msgspec reads: 5 ms altogether.

What to ask for is decided in `query` and `ranking`; how words are folded and split, in `fold`.
"""

from __future__ import annotations

import sqlite3
from typing import Final

import msgspec

ALL: Final = -1
"""As a limit: every note."""

_read_set = msgspec.json.Decoder(set[int]).decode


def find_notes(db: sqlite3.Connection, match: str, most: int = ALL) -> set[int]:
    """Returns the notes that match: all, or the `most` with the lowest ids. An empty `match` finds none."""
    if not match:
        return set()
    # `json_group_array` is not part of every SQLite.
    (joined,) = db.execute(
        "SELECT group_concat(id) FROM (SELECT rowid AS id FROM words WHERE words MATCH ? LIMIT ?)",
        (match, most),
    ).fetchone()
    return _read_set(f"[{joined or ''}]")


class WordTable:
    """The word table within one reading transaction.

    Meant for one question, which needs the notes of a word more than once. What `find` returns is remembered
    for as long; it is called for a limited number of words (`ranking.question.UNITS`)."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._found: dict[str, set[int]] = {}

    def find(self, match: str) -> set[int]:
        """Returns all notes that match. Shared: do not change it."""
        found = self._found.get(match)
        if found is None:
            found = self._found[match] = find_notes(self.db, match)
        return found

    def count(self, match: str) -> int:
        """Returns how many notes match, and remembers nothing. Who needs the notes too should count what
        `find` returns."""
        (notes,) = self.db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (match,)).fetchone()
        return int(notes)

    def holds(self, match: str) -> bool:
        """Whether any note matches."""
        statement = "SELECT rowid FROM words WHERE words MATCH ? LIMIT 1"
        return self.db.execute(statement, (match,)).fetchone() is not None
