"""Finds out which language most notes of a vault are in, by the words that every page of a language has."""

from __future__ import annotations

import sqlite3
from typing import Final

from vaultbridge.index.ranking.function_words import MARKERS
from vaultbridge.index.ranking.lookup import count_notes
from vaultbridge.index.store.database import Index

COMMON_SHARE: Final = 0.2
"""The share of notes with a language's commonest words from which it is the language of a vault."""

FORGOTTEN_CHANGE: Final = 0.5
"""By what share the number of notes must change before the language is looked for again: an edit does not
change it, and looking takes some milliseconds."""


def find_language(index: Index, db: sqlite3.Connection) -> str:
    """Returns the language of most notes, "" when none stands out."""
    count = len(index.searchable(db))
    known = index.language
    if known is not None and abs(count - known[0]) <= FORGOTTEN_CHANGE * known[0]:
        return known[1]
    shares = {
        language: sum(count_notes(db, word) for word in words) / len(words) / max(1, count)
        for language, words in MARKERS.items()
    }
    best = max(shares, key=lambda language: shares[language])
    language = best if shares[best] >= COMMON_SHARE else ""
    index.language = (count, language)
    return language
