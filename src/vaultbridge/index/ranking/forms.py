"""Finds the other forms of a word among the words of the index.

The index stores whole words only, so forms take no space in it: words with the same beginning are read from
the dictionary and compared by their stems (Snowball). The index removes accents (`fold.fold_text`), which
some endings have, so a word is stemmed with and without them."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from vaultbridge.index.fold import LAST, fold_text

FORMS: Final = 24
"""The most other forms of one word."""

COMPARED_WORDS: Final = 160
"""The most words of the dictionary whose stems are compared, shortest first: a stem takes 25 µs."""

LONGER: Final = 6
"""By how many characters a form may be longer than the stem."""

STEM_CHARS: Final = 3
"""The shortest stem used: half of the dictionary begins like a shorter one."""

CACHED_STEMS: Final = 16_384
"""About 3 MB."""

_WITHOUT_STEMMER: Final = frozenset(("", "ukrainian", "hebrew", "vietnamese"))
"""Languages with a list of function words for which Snowball has no stemmer."""


@lru_cache(4)
def _stemmer(language: str) -> Callable[[str], str]:
    # Imported here because it takes 12 ms: only a search needs it.
    import snowballstemmer

    stem: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    return stem


_stemming = threading.Lock()
"""A stemmer stores the word it is working on, and several searches run at once."""


@lru_cache(CACHED_STEMS)
def stem_word(language: str, word: str) -> str:
    with _stemming:
        return fold_text(_stemmer(language)(word))


def stem_word_of(language: str, word: str) -> str:
    return word if language in _WITHOUT_STEMMER else stem_word(language, word)


def _stems(language: str, word: str) -> set[str]:
    found = {stem_word(language, word)}
    if language == "russian" and word.endswith("и"):
        # Folding turns й into и, and half of all Russian endings contain й.
        found.add(stem_word(language, word[:-1] + "й"))
    return found


def find_forms(db: sqlite3.Connection, word: str, written: str, language: str) -> list[str]:
    """Returns the words of the dictionary with the same stem, without the word itself. `written` is the word
    with its accents. Some may be in no note any more."""
    if language in _WITHOUT_STEMMER or word.isdigit():
        return []
    stems = _stems(language, word) | _stems(language, written)
    shortest = min(stems, key=len)
    if len(shortest) < STEM_CHARS:
        return []
    # A last letter of the stem may change: city, cities.
    start = shortest[:-1] if len(shortest) > STEM_CHARS + 1 else shortest
    rows = db.execute(
        "SELECT term FROM terms WHERE term >= ? AND term < ? AND length(term) <= ?"
        " ORDER BY length(term), term LIMIT ?",
        (start, start + LAST, len(shortest) + LONGER, COMPARED_WORDS),
    ).fetchall()
    return [term for (term,) in rows if term != word and not stems.isdisjoint(_stems(language, term))]
