"""Scores the hits of a query by its words, with BM25.

The full-text table has such a score too. Ours takes how long a note is from its size, and counts a very
common word by its presence only.

A word in the name weighs eight times as much as one in the body, in a heading, tag or alias three times as
much. A part of a longer word counts only if no note has the whole word.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence, Set
from math import log
from typing import Final

from vaultbridge.index.fold import LAST
from vaultbridge.index.query.needle import Needle
from vaultbridge.index.word_table import WordTable, find_notes

COLUMN_WEIGHTS: Final = {"path": 8, "labels": 3, "body": 1}
"""How much an occurrence counts in each column of the table."""

SATURATION: Final = 1.2
LENGTH_SHARE: Final = 0.75
"""The two constants of BM25: how soon more occurrences add little, and how much a note's length lowers its
score."""

COUNTED_NOTES: Final = 5000
"""In how many notes the occurrences of a word are counted. If more have it, only whether it is in their name,
headings and body matters: counting takes 1.5 ms for each 1,000 notes."""
"""Sorts after every character that a word can continue with."""


def score_hits(
    table: WordTable,
    needles: Sequence[Needle],
    found: Set[int],
    *,
    searched: int,
    sizes: Sequence[int],
    average: float,
) -> dict[int, float]:
    """Returns a score for each hit in `found` that has one; higher is better. `searched` is how many notes
    count, `sizes` is by note, and `average` is the size of a note that counts."""
    scores: dict[int, float] = {}
    base = SATURATION * (1 - LENGTH_SHARE)
    slope = SATURATION * LENGTH_SHARE / average
    for needle in needles:
        weights, notes = _weigh(table, needle, found, searched)
        gain = compute_idf(notes, searched) * (SATURATION + 1)
        gained = {
            id_: gain * weight / (weight + base + slope * sizes[id_]) for id_, weight in weights.items()
        }
        if scores:
            for id_, score in gained.items():
                scores[id_] = scores.get(id_, 0.0) + score
        else:
            scores = gained
    return scores


def compute_idf(notes: int, count: int) -> float:
    """Returns how much a word counts that `notes` of `count` notes have: more, the rarer it is."""
    return log(1 + (max(count, notes) - notes + 0.5) / (notes + 0.5))


def _weigh(table: WordTable, needle: Needle, found: Set[int], searched: int) -> tuple[dict[int, float], int]:
    """Returns how much of a needle each hit has, and how many notes have any of it.

    A word that most notes have counts only in names and headings: in a body it says nothing."""
    if not needle.words:
        return {}, 0
    notes = table.count(needle.match_words(prefix=False))
    prefix = not notes and not table.holds(f'"{needle.words[-1]}"')
    match = needle.match_words(prefix=prefix)
    if prefix:
        notes = table.count(match)
    one_word = len(needle.words) == 1
    if one_word and notes <= COUNTED_NOTES and 2 * notes <= searched:
        return _count_occurrences(table.db, needle.words[0], found, prefix=prefix), notes
    weights: dict[int, float] = {}
    if not one_word or 2 * notes <= searched:
        # Most hits have the word only there.
        body = find_notes(table.db, f"body : {match}") & found
        weights = dict.fromkeys(body, float(COLUMN_WEIGHTS["body"]))
    for column in ("path", "labels"):
        for id_ in find_notes(table.db, f"{column} : {match}") & found:
            weights[id_] = weights.get(id_, 0.0) + COLUMN_WEIGHTS[column]
    return weights, notes


def _count_occurrences(
    db: sqlite3.Connection, word: str, hits: Set[int], *, prefix: bool
) -> dict[int, float]:
    """Returns how often each hit has a word, or words that begin with it, weighted by column."""
    rows = db.execute(
        "SELECT doc, col, count(*) FROM occurrences WHERE term >= ? AND term <= ? GROUP BY doc, col",
        (word, word + LAST if prefix else word),
    )
    weights: dict[int, float] = {}
    for id_, column, times in rows:
        if id_ in hits:
            weights[id_] = weights.get(id_, 0.0) + COLUMN_WEIGHTS[column] * times
    return weights
