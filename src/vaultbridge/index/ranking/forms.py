"""Finds the other forms of a word among the words of the index.

They cost the index nothing, because it stores whole words only: the words that begin alike are read from the
dictionary and compared by their stems (Snowball). The index folds accents away (`fold.fold_text`), and some
endings have them, so a stem is taken with and without."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from vaultbridge.index.fold import fold_text

FORMS: Final = 24
"""The most other forms of one word."""

COMPARED_WORDS: Final = 160
ALL_COMPARED_WORDS: Final = 1600
"""The most words of the dictionary whose stems are compared, shortest first: a stem takes 25 µs. More for a
caller who may not see all notes, since many may be words of hidden ones."""

CACHED_FORMS: Final = 4096
"""The most words whose forms are remembered while the index does not change: people ask with the same words
again and again. About 1 MB."""

LONGER: Final = 6
"""By how many characters a form may be longer than the stem."""

STEM_CHARS: Final = 3
"""A shorter stem says too little: half of the dictionary begins like it."""

CACHED_STEMS: Final = 16_384
"""About 3 MB."""

LAST: Final = "\U0010ffff"
"""After every word with a given beginning."""

_WITHOUT_STEMMER: Final = frozenset(("", "ukrainian", "hebrew", "vietnamese"))
"""Languages with a list of function words for which Snowball has no stemmer."""


@lru_cache(4)
def _stemmer(language: str) -> Callable[[str], str]:
    # Imported here because it takes 12 ms: only a search needs it.
    import snowballstemmer

    stem: Callable[[str], str] = snowballstemmer.stemmer(language).stemWord
    return stem


_stemming = threading.Lock()
"""A stemmer keeps the word it works on in itself, and several searches run at once."""


@lru_cache(CACHED_STEMS)
def stem_word(language: str, word: str) -> str:
    with _stemming:
        return fold_text(_stemmer(language)(word))


def stem_word_of(language: str, word: str) -> str:
    return word if language in _WITHOUT_STEMMER else stem_word(language, word)


def _stems(language: str, word: str) -> set[str]:
    found = {stem_word(language, word)}
    if language == "russian" and word.endswith("и"):
        # The short i is folded to a plain one, and half of all endings have it.
        found.add(stem_word(language, word[:-1] + "й"))
    return found


def find_forms(
    db: sqlite3.Connection, word: str, written: str, language: str, compared: int = COMPARED_WORDS
) -> list[str]:
    """Returns the words of the dictionary with the same stem, without the word itself. `written` is the word
    with its accents. They may be words of hidden notes: see `Vocabulary.find_forms`."""
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
        (start, start + LAST, len(shortest) + LONGER, compared),
    ).fetchall()
    return [term for (term,) in rows if term != word and not stems.isdisjoint(_stems(language, term))]
