"""Asks the full-text table which notes match, as one caller sees it.

A common word is in most notes of a vault. SQLite finds 55,000 notes in 2 ms, but passing them to Python row
by row takes 15 ms more, so SQLite joins their ids into one text, which msgspec reads: 5 ms altogether.

What to ask for is decided in `query` and `ranking`; how words are folded and split, in `fold`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Set
from itertools import filterfalse, islice
from typing import Final

import msgspec

from vaultbridge.index.store.database import NONE_HIDDEN

ALL: Final = -1
"""As a limit: every note."""

_read_set = msgspec.json.Decoder(set[int]).decode
_read_list = msgspec.json.Decoder(list[int]).decode


def find_notes(db: sqlite3.Connection, match: str, most: int = ALL) -> set[int]:
    """Returns the notes that match, hidden ones too: all, or the `most` with the lowest ids. An empty `match`
    finds none."""
    return _read_set(_join_ids(db, match, most))


def _join_ids(db: sqlite3.Connection, match: str, most: int) -> str:
    """Returns the ids as a list in JSON, in ascending order."""
    if not match:
        return "[]"
    # `json_group_array` is not part of every SQLite.
    (joined,) = db.execute(
        "SELECT group_concat(id) FROM (SELECT rowid AS id FROM words WHERE words MATCH ? LIMIT ?)",
        (match, most),
    ).fetchone()
    return f"[{joined or ''}]"


class WordTable:
    """The word table as one caller sees it, within one reading transaction: without the notes in `hidden`.

    Meant for one question, which needs the notes of a word more than once. What `find` returns is remembered
    for as long; it is called for a limited number of words (`ranking.question.UNITS`)."""

    def __init__(self, db: sqlite3.Connection, hidden: Set[int] = NONE_HIDDEN) -> None:
        self.db = db
        self.hidden = hidden
        self._found: dict[str, set[int]] = {}

    def find(self, match: str) -> set[int]:
        """Returns all visible notes that match. Shared: do not change it."""
        found = self._found.get(match)
        if found is None:
            found = find_notes(self.db, match)
            found = self._found[match] = found - self.hidden if self.hidden else found
        return found

    def find_first(self, match: str, most: int) -> set[int]:
        """Returns the `most` visible notes with the lowest ids that match."""
        if not self.hidden:
            return find_notes(self.db, match, most)
        # Any of the first ones may be hidden.
        ids = _read_list(_join_ids(self.db, match, ALL))
        return set(islice(filterfalse(self.hidden.__contains__, ids), most))

    def count(self, match: str) -> int:
        """Returns how many visible notes match, and remembers nothing. Who needs the notes too should count
        what `find` returns."""
        if self.hidden:
            return len(find_notes(self.db, match) - self.hidden)
        (notes,) = self.db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (match,)).fetchone()
        return int(notes)

    def holds(self, match: str) -> bool:
        """Whether any visible note matches. For most words the first one is visible."""
        rows = self.db.execute("SELECT rowid FROM words WHERE words MATCH ?", (match,))
        return any(id_ not in self.hidden for (id_,) in rows)
