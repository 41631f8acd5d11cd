"""The words of the notes, as ranking looks them up, and the concepts that it makes of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct

from vaultbridge.index.query.relevance import compute_idf
from vaultbridge.index.ranking.dictd import Dictionary, open_dictionary
from vaultbridge.index.ranking.dictionary import load_meanings
from vaultbridge.index.ranking.forms import FORMS, find_forms, stem_word
from vaultbridge.index.ranking.function_words import count_function_words
from vaultbridge.index.ranking.question import Question, Unit
from vaultbridge.index.ranking.synonyms import find_synonyms
from vaultbridge.index.store.database import Index
from vaultbridge.index.word_table import WordTable

SYNONYM_WEIGHT: Final = 0.15
ONLY_SYNONYM_WEIGHT: Final = 0.4
SYNONYMS: Final = 12
"""How much a synonym counts next to the word itself, and if no note has the word; and the most synonyms, with
their forms."""

CHINESE: Final = "chinese"


class WeightedTerm(Struct, frozen=True):
    """A word of the table that matches a unit. `weight` is 1 for the word itself and less for others. `form`
    marks another form of the word, as opposed to the word itself and its replacements; `synonym` marks
    another word with the same meaning."""

    word: str
    weight: float
    form: bool = False
    synonym: bool = False


class Concept(Struct, frozen=True):
    """A unit with the words of the table that match it, if any. `notes` is how many notes have one of them,
    not counting synonyms. `idf` is higher the rarer they are."""

    unit: Unit
    terms: tuple[WeightedTerm, ...]
    notes: int
    idf: float

    @property
    def match(self) -> str:
        """The full-text query for the notes that have it. Words consist of letters and digits, so nothing
        needs escaping."""
        if self.unit.is_gram:
            return self.unit.match
        return " OR ".join(f'"{term.word}"' for term in self.own_terms)

    @property
    def own_terms(self) -> Sequence[WeightedTerm]:
        """The terms that are not synonyms; if there are none, those that replace the word."""
        own = [term for term in self.terms if not term.synonym]
        return own or [term for term in self.terms if term.weight > SYNONYM_WEIGHT] or self.terms


class Vocabulary:
    """The words of the `count` notes, for one question. `foreign` is the language other than English that an
    English question is translated to, "" if it is not."""

    def __init__(self, index: Index, db: sqlite3.Connection, count: int) -> None:
        self.index = index
        self.db = db
        self.count = count
        self.foreign = ""
        self.dictionary: Dictionary | None = None
        self.surely_english = False
        self.table = WordTable(db)
        self._held: dict[str, bool] = {}

    def holds(self, word: str) -> bool:
        """Whether any note has a word, or adjacent words. It is remembered, because each is asked for by
        several words of the question."""
        held = self._held.get(word)
        if held is None:
            held = self._held[word] = self.table.holds(f'"{word}"')
        return held

    def count_word(self, word: str) -> int:
        """Returns how many notes have a word."""
        return count_notes(self.db, word)

    def count_matches(self, match: str) -> int:
        """Returns how many notes match. They are remembered, because `candidates` needs most of them."""
        return len(self.table.find(match))

    def make_concept(self, written: str, terms: Sequence[WeightedTerm]) -> Concept:
        """Returns a concept of words that are not in the question as they are written."""
        concept = Concept(Unit(written, (written,)), tuple(terms), 0, 0.0)
        notes = self.count_matches(concept.match)
        return Concept(concept.unit, concept.terms, notes, compute_idf(notes, self.count))

    @property
    def translates(self) -> bool:
        """Whether every word of the question is translated, also one that a note has."""
        return self.foreign == CHINESE or self.surely_english

    @property
    def has_dictionary(self) -> bool:
        """Whether words are looked up in a dictionary, and not only in our own lists."""
        return self.dictionary is not None or (self.foreign == CHINESE and bool(load_meanings()))

    def choose_foreign(self, question: Question, language: str, folders: tuple[Path, ...]) -> None:
        """Translate an English question to this `language`, which many notes are in. A question without
        function words may be in English: of that, only words that no note has are translated, unless the
        notes are in Chinese, which has other letters."""
        if not all(unit.shown.isascii() for unit in question.units):
            return
        if language == CHINESE:
            self.foreign = language
        elif language:
            words = [unit.words[0] for unit in question.units]
            english = count_function_words(words, "english")
            others = count_function_words(words, language)
            self.surely_english = english > others
            if self.surely_english or not others:
                self.foreign = language
                self.dictionary = open_dictionary(language, folders)

    def find_forms(self, word: str, written: str, language: str) -> list[str]:
        """Returns at most FORMS other words with the same stem. `written` is the word with its accents."""
        forms = find_forms(self.db, word, written, language)
        return list(islice(filter(self.holds, forms), FORMS))

    def find_synonyms(self, words: set[str], language: str, weight: float) -> list[WeightedTerm]:
        """Returns the synonyms of a word, given some of its forms, that occur in notes, and their forms."""
        if language != "english":
            return []
        found: dict[str, WeightedTerm] = {}
        for synonym in find_synonyms(words, partial(stem_word, language)):
            for form in (synonym, *self.find_forms(synonym, synonym, language)):
                if form not in words and form not in found and self.holds(form):
                    found[form] = WeightedTerm(form, weight, form=True, synonym=True)
            if len(found) >= SYNONYMS:
                break
        return list(found.values())[:SYNONYMS]


def count_notes(db: sqlite3.Connection, word: str) -> int:
    row = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,)).fetchone()
    return 0 if row is None else int(row[0])
