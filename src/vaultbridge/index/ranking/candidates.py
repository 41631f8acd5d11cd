"""Chooses the notes that are worth reading for a question.

This is the first of two stages. It uses only how often a word occurs in a note's path, headings and body,
which the word table answers without reading any text. Rare words come first. When a word is so common that a
note with nothing else could not be among the best, it is only looked up in the notes that were found already.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest
from typing import Final

from msgspec import Struct

from vaultbridge.index.ranking.vocabulary import Concept
from vaultbridge.index.word_table import WordTable, find_notes

COLUMN_WEIGHTS: Final = {"path": 6.0, "labels": 2.0, "body": 1.0}
"""How much a word counts in each column of the table: once in the path as much as several times in the
body."""

SATURATION: Final = 1.5
LENGTH_SHARE: Final = 0.6
"""The two constants of BM25: how soon more occurrences of the same word add little, and how much a note's
length lowers its score."""

FEW_NOTES: Final = 300
"""A word in no more notes than this is always looked up in full: that costs less than deciding whether to."""

ENOUGH_NOTES: Final = 80
LIKELY_SHARE: Final = 0.6
"""When this many notes score higher than a note with only the remaining, common words is likely to, those
words are only looked up for presence. A note is likely to reach this share of the most that the remaining
words can give. With the whole of it, the judged questions are answered no better and take half as long
again."""

MANY_NOTES: Final = 5000
"""A word in more notes than this is only looked up for presence. A question that consists only of such words
is answered from this many notes."""


class Candidates(Struct):
    """The notes worth reading. `scores` has a preliminary score for each. `by_concept` has the notes that
    contain each concept, in the order of the concepts; it is complete only for the notes in `scores`.
    `by_word` has the only notes that may contain a word of separated text, for the words that were looked
    up."""

    scores: dict[int, float]
    by_concept: list[set[int]]
    by_word: dict[str, set[int]]


def find_candidates(
    table: WordTable, concepts: list[Concept], *, sizes: Sequence[int], average: float
) -> Candidates:
    """Returns the notes that have any of the concepts, with a preliminary score. `sizes` are by note,
    and `average` is that of all notes that count. A question that consists only of common words is answered
    from the first MANY_NOTES."""
    scores: dict[int, float] = {}
    by_concept: list[set[int]] = [set() for _ in concepts]
    by_word: dict[str, set[int]] = {}
    together: set[int] = set()
    places = sorted(
        (place for place, concept in enumerate(concepts) if concept.terms and concept.unit.looked_up),
        key=lambda place: (concepts[place].unit.faint, concepts[place].notes),
    )
    base = SATURATION * (1 - LENGTH_SHARE)
    slope = SATURATION * LENGTH_SHARE / average
    left = sum(concepts[place].idf for place in places) * (SATURATION + 1)
    for place in places:
        concept = concepts[place]
        if concept.unit.faint:
            # It finds no notes of its own: whoever asks for 密码 does not want every note with 码.
            by_concept[place] = table.find(concept.match)
            by_word[concept.unit.written] = by_concept[place]
            weights = dict.fromkeys(by_concept[place] & scores.keys(), 1.0)
        elif concept.notes > MANY_NOTES:
            if not scores:
                # There are only common words: notes that have all of them come before any others.
                sure = [concepts[position] for position in places if not concepts[position].unit.faint]
                every = [other.match for other in sure if other.match]
                together = find_notes(table.db, " AND ".join(f"({match})" for match in every), MANY_NOTES)
                scores = dict.fromkeys(together, 0.0)
            weights, by_concept[place] = _weigh_common(table, concept, scores, together)
        elif concept.notes > FEW_NOTES and _has_enough(scores, left):
            by_concept[place] = table.find(concept.match)
            by_word |= dict.fromkeys((term.word for term in concept.own_terms), by_concept[place])
            weights = dict.fromkeys(by_concept[place] & scores.keys(), 1.0)
        else:
            weights, by_concept[place] = _weigh_occurrences(table, concept, by_word)
        gain = concept.idf * (SATURATION + 1)
        for id_, weight in weights.items():
            scores[id_] = scores.get(id_, 0.0) + gain * weight / (weight + base + slope * sizes[id_])
        left -= gain
    return Candidates(scores, by_concept, by_word)


def _weigh_common(
    table: WordTable, concept: Concept, scores: dict[int, float], together: set[int]
) -> tuple[dict[int, float], set[int]]:
    """Weighs a concept that a great many notes contain, by its presence in notes that were found already and
    in names and headings. While there are few such notes, some others are added. `together` are the notes
    that have all concepts."""
    labels = find_notes(table.db, f"{{path labels}} : ({concept.match})", MANY_NOTES)
    if len(scores) + len(labels) < ENOUGH_NOTES:
        held = labels | together | find_notes(table.db, concept.match, MANY_NOTES)
        weights = dict.fromkeys(held, 1.0)
    else:
        held = table.find(concept.match)
        weights = dict.fromkeys(held & scores.keys(), 1.0)
    weights |= dict.fromkeys(labels, 1.0 + COLUMN_WEIGHTS["labels"])
    return weights, held


def _has_enough(scores: dict[int, float], left: float) -> bool:
    """Whether enough notes already score higher than a note with only the remaining concepts is likely to."""
    if len(scores) < ENOUGH_NOTES:
        return False
    return nlargest(ENOUGH_NOTES, scores.values())[-1] > left * LIKELY_SHARE


def _weigh_occurrences(
    table: WordTable, concept: Concept, by_word: dict[str, set[int]]
) -> tuple[dict[int, float], set[int]]:
    """Returns how often each note has the concept, weighted by column and term, and the notes that have it
    other than by a synonym. Adds the notes of each word to `by_word`."""
    weights: dict[int, float] = {}
    if concept.unit.is_gram:
        held = by_word[concept.unit.written] = table.find(concept.match)
        weights = dict.fromkeys(held, 1.0)
        for id_ in table.find(f"path : {concept.match}"):
            weights[id_] += COLUMN_WEIGHTS["path"]
        return weights, held
    held = set()
    for term in concept.terms:
        if " " in term.word:
            # A word of several characters that are stored one by one.
            by_word[term.word] = table.find(f'"{term.word}"')
            for id_ in by_word[term.word]:
                weights[id_] = weights.get(id_, 0.0) + term.weight
            for id_ in table.find(f'path : "{term.word}"'):
                weights[id_] += term.weight * COLUMN_WEIGHTS["path"]
        else:
            rows = table.db.execute(
                "SELECT doc, col, count(*) FROM occurrences WHERE term = ? GROUP BY doc, col", (term.word,)
            ).fetchall()
            for id_, column, times in rows:
                weights[id_] = weights.get(id_, 0.0) + term.weight * COLUMN_WEIGHTS[column] * times
            by_word[term.word] = {id_ for id_, _, _ in rows}
        if not term.synonym:
            held |= by_word[term.word]
    return weights, held
