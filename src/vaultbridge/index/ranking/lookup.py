"""Looks the units of a question up in the word table, and chooses the notes worth reading.

The first of two stages. It knows only how often a word stands in a note's path, headings and body, which the
table answers without reading a text. Rare words come first. A word that many notes have is looked up only
while notes with nothing but such words could still be among the best."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from heapq import nlargest
from math import log
from typing import Final

from msgspec import Struct

from vaultbridge.index.ranking.question import Unit
from vaultbridge.index.store.database import Index, read_meta

PATH_WEIGHT: Final = 6.0
HEADS_WEIGHT: Final = 2.0
"""A word in the path counts as often as this in the body; so does one in a heading, tag or alias, which
stands in the body too."""

SATURATION: Final = 1.2
LENGTH_SHARE: Final = 0.6
"""The two constants of BM25: how soon more of the same word adds little, and how much a long note is held
against it."""

PREFIXES: Final = 40
"""The most longer words that stand in for a word that no note has."""

PREFIX_WEIGHT: Final = 0.4
INSIDE_WEIGHT: Final = 0.2

LAST: Final = "\U0010ffff"
"""After every word with a given beginning."""

RANKED_NOTES: Final = 1000
"""The most notes that one question ranks: nobody reads on after so many, and each must be checked against the
caller's scope."""


class Term(Struct, frozen=True):
    """A word of the table that answers a unit; `weight` is 1 for the word itself and less for others."""

    word: str
    weight: float


class Concept(Struct, frozen=True):
    """A unit with the words that answer it. `notes` is how many notes have one of them, `idf` how much that
    tells: the rarer, the more."""

    unit: Unit
    terms: tuple[Term, ...]
    notes: int
    idf: float

    @property
    def match(self) -> str:
        if len(self.unit.words) > 1:
            return self.unit.match
        return " OR ".join(f'"{term.word}"' for term in self.terms)


class Found(Struct):
    """`scores` holds the first rank of each note; `holding` the notes of each concept, by its place."""

    scores: dict[int, float]
    holding: list[set[int]]


def make_concepts(index: Index, db: sqlite3.Connection, units: Iterable[Unit], count: int) -> list[Concept]:
    """Finds the words that answer each unit. Those that nothing answers have no terms."""
    return [_make_concept(index, db, unit, count) for unit in units]


def _make_concept(index: Index, db: sqlite3.Connection, unit: Unit, count: int) -> Concept:
    if len(unit.words) > 1:
        (notes,) = db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (unit.match,)).fetchone()
        found = (Term(unit.written, 1.0),) if notes else ()
        return Concept(unit, found, notes, compute_idf(notes, count))
    word = unit.words[0]
    terms = (Term(word, 1.0),) if count_notes(db, word) else _stand_ins(index, db, word)
    notes = min(count, sum(count_notes(db, term.word) for term in terms))
    return Concept(unit, terms, notes, compute_idf(notes, count))


def count_notes(db: sqlite3.Connection, word: str) -> int:
    row = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,)).fetchone()
    return 0 if row is None else int(row[0])


def compute_idf(notes: int, count: int) -> float:
    return log(1 + (max(count, notes) - notes + 0.5) / (notes + 0.5))


def _stand_ins(index: Index, db: sqlite3.Connection, word: str) -> tuple[Term, ...]:
    """Words for one that no note has: longer ones that begin with it, or else that contain it."""
    rows = db.execute(
        "SELECT term FROM vocabulary WHERE term > ? AND term < ? LIMIT ?", (word, word + LAST, PREFIXES)
    ).fetchall()
    if rows:
        return tuple(Term(found, PREFIX_WEIGHT) for (found,) in rows)
    index.terms.refresh(db)
    inside = index.terms.containing(word) or []
    return tuple(Term(found, INSIDE_WEIGHT) for found in inside[:PREFIXES] if count_notes(db, found))


def find_candidates(index: Index, db: sqlite3.Connection, concepts: list[Concept], count: int) -> Found:
    """Returns the notes that have any of the concepts, with a first rank."""
    sizes = index.sizes(db)
    average = max(1.0, sum(sizes) / max(1, count))
    scores: dict[int, float] = {}
    holding: list[set[int]] = [set() for _ in concepts]
    for place in sorted(range(len(concepts)), key=lambda place: concepts[place].notes):
        concept = concepts[place]
        if not concept.terms:
            continue
        weights = _weigh_occurrences(db, concept)
        holding[place] = set(weights)
        for id_, weight in weights.items():
            length = 1 - LENGTH_SHARE + LENGTH_SHARE * sizes[id_] / average
            gain = concept.idf * weight * (SATURATION + 1) / (weight + SATURATION * length)
            scores[id_] = scores.get(id_, 0.0) + gain
    return Found(scores, holding)


def _weigh_occurrences(db: sqlite3.Connection, concept: Concept) -> dict[int, float]:
    """Returns how often each note has the concept, weighted by where and by which of its words."""
    weights: dict[int, float] = {}
    if len(concept.unit.words) > 1:
        for (id_,) in db.execute("SELECT rowid FROM words WHERE words MATCH ?", (concept.match,)):
            weights[id_] = 1.0
        for (id_,) in db.execute("SELECT rowid FROM words WHERE words MATCH ?", (f"path : {concept.match}",)):
            weights[id_] += PATH_WEIGHT
        return weights
    by_column = {"path": PATH_WEIGHT, "heads": HEADS_WEIGHT, "body": 1.0}
    for term in concept.terms:
        rows = db.execute(
            "SELECT doc, col, count(*) FROM occurrences WHERE term = ? GROUP BY doc, col", (term.word,)
        )
        for id_, column, times in rows:
            weights[id_] = weights.get(id_, 0.0) + term.weight * by_column[column] * times
    return weights


def choose_best(scores: dict[int, float], most: int) -> list[int]:
    """Returns the ids with the highest scores, best first; of equal ones the lower id."""
    best = nlargest(most, scores.items(), key=lambda item: (item[1], -item[0]))
    return [id_ for id_, _ in best]


def count_searchable(db: sqlite3.Connection) -> int:
    return max(1, read_meta(db, "done"))
