"""Finds notes that share something: rare words, or neighbours, which are what two notes both link to or what
links to both. A neighbour with few links says more than a hub. What the caller may not see counts for
nothing, not even for how rare a word is.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from heapq import heappush, heappushpop
from math import expm1, log
from typing import Final

from msgspec import Struct

from vaultbridge.index.fold import WORD, separate_words, stands_apart
from vaultbridge.index.ranking.function_words import GRAMS, WORDS, choose_language
from vaultbridge.index.word_table import find_notes
from vaultbridge.links.graph import Neighbours

TEXT_CHARS: Final = 40_000
"""How much of a text is read for its words: what a note is about shows within that."""

WORDS_COUNTED: Final = 1500
"""For how many different words of a text the rarity is looked up, those that occur most often first."""

WORDS_USED: Final = 24
"""By how many words other notes are found: those that are rare in the vault and frequent in the text."""

COMMON_NOTES: Final = 2000
"""A word that more notes contain says nothing, however large the vault."""

FIRST_NOTES: Final = 250
"""Words in no more notes than this are weighed first. If there are enough of them, the others, whose notes
take longer to read, cannot tell more."""

COMMON_SHARE: Final = 0.25
"""Nor does a word that this share of the notes contains, unless the vault is small."""

FEW_NOTES: Final = 12
"""If fewer notes than this contain a word, its share of the vault does not matter."""


LONE_SHARE: Final = 0.2
"""How much of a text's rare words, by weight, a single shared word must make up to be a reason alone."""


class SharedWords(Struct, frozen=True):
    """`score` is the part of the text's rare words that a note shares, from 0 to 1. `words` are the shared
    words, the most telling first. `telling` is False if there is only one, and it is common or says little
    about the text: then they support other reasons, and are none alone."""

    score: float
    words: tuple[str, ...]
    telling: bool = True


def find_by_words(
    db: sqlite3.Connection,
    text: str,
    title: str,
    *,
    own: int,
    count: int,
) -> dict[int, SharedWords]:
    """Return the notes that share rare words with a text, by id. `own` is the text's own note, `count` the
    number of notes that are searched. 0 as `own`: the text is not a note."""
    chosen = _choose(db, text, title, own=own, count=count)
    whole = sum(weight for _, weight, _ in chosen) or 1.0
    # In a vault of 1,000 notes, ten of them.
    few = max(2, round(count ** (1 / 3)))
    rare = {
        word for word, weight, ids in chosen if len(ids) + bool(own) <= few and weight >= LONE_SHARE * whole
    }
    parts: dict[int, list[tuple[float, str]]] = {}
    for word, weight, ids in chosen:
        for id_ in ids:
            parts.setdefault(id_, []).append((weight, word))
    return {
        id_: SharedWords(
            sum(weight for weight, _ in shared) / whole,
            tuple(word for _, word in sorted(shared, reverse=True)),
            len(shared) > 1 or shared[0][1] in rare,
        )
        for id_, shared in parts.items()
    }


def _choose(
    db: sqlite3.Connection,
    text: str,
    title: str,
    *,
    own: int,
    count: int,
) -> list[tuple[str, float, set[int]]]:
    """The most telling words of the text, each with its weight and the other notes that contain it."""
    times = Counter(_split(text[:TEXT_CHARS]))
    for word in _split(title):
        times[word] += 2
    function = WORDS[choose_language(list(times), "")]
    common = max(FEW_NOTES, min(COMMON_NOTES, int(count * COMMON_SHARE)))
    undecided = [
        (word, 1 + log(often))
        for word, often in times.most_common(WORDS_COUNTED)
        if len(word) >= 2
        and not word.isdigit()
        and word not in function
        and word.replace(" ", "") not in GRAMS
    ]
    telling = _TellingWords(count)
    asked = 0
    for step in (FIRST_NOTES, common):
        left: list[tuple[str, float]] = []
        for word, frequency in undecided:
            most = min(step, common, telling.find_limit(frequency))
            if most <= asked:
                # It is in more notes than that, and other words tell more.
                continue
            ids = find_notes_with(db, word, own=own, most=most)
            notes = len(ids) + bool(own)
            if notes > most:
                left.append((word, frequency))
            elif ids:
                telling.add(word, frequency * log(1 + count / notes), ids)
        undecided, asked = left, step
    return telling.list_best()


class _TellingWords:
    """The words of a text that were weighed so far. `count` is the number of notes."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._weighed: list[tuple[float, str, set[int]]] = []
        self._highest: list[float] = []

    def add(self, word: str, weight: float, ids: set[int]) -> None:
        self._weighed.append((weight, word, ids))
        (heappush if len(self._highest) < WORDS_USED else heappushpop)(self._highest, weight)

    def find_limit(self, frequency: float) -> int:
        """The most notes that may contain a word for it to be among the best. It is the inverse of the
        weight, and one more, because it is rounded."""
        if len(self._highest) < WORDS_USED or not self._count:
            return COMMON_NOTES
        return min(COMMON_NOTES, int(self._count / expm1(self._highest[0] / frequency)) + 1)

    def list_best(self) -> list[tuple[str, float, set[int]]]:
        self._weighed.sort(key=lambda entry: (-entry[0], entry[1]))
        return [(word.replace(" ", ""), weight, ids) for weight, word, ids in self._weighed[:WORDS_USED]]


def find_notes_with(
    db: sqlite3.Connection,
    phrase: str,
    *,
    own: int = 0,
    most: int = COMMON_NOTES,
) -> set[int]:
    """Return the notes that contain a phrase, except `own`: all, or more than `most`."""
    found = find_notes(db, f'"{phrase}"', most + 1 + bool(own))
    found.discard(own)
    return found


def _split(text: str) -> Iterator[str]:
    """The words of a text; of a script without spaces, pairs of neighbouring characters."""
    separated = separate_words(text)
    last, end = "", -1
    for match in WORD.finditer(separated):
        word = match[0]
        if not stands_apart(word[0]):
            yield word
            last = ""
            continue
        # Neighbouring characters are separated by exactly two blanks.
        if last and separated[end : match.start()] == "  ":
            yield f"{last} {word}"
        last, end = word, match.end()


NEIGHBOURS: Final = 60
"""How many neighbours of a note are followed: a map of content has hundreds, and each further one says
less."""

HUB_LINKS: Final = 300
"""A neighbour with more links than this connects everything with everything."""


class SharedNeighbours(Struct, frozen=True):
    """`score` grows with the number of shared neighbours and falls with their links, from 0 to 1."""

    score: float
    notes: tuple[str, ...]


def find_by_neighbours(path: str, around: Neighbours) -> dict[str, SharedNeighbours]:
    """Return the notes two steps away, with the notes between. `around` gives what a note is linked with,
    either way."""
    near = list(around(path))[:NEIGHBOURS]
    known = {path, *near}
    parts: dict[str, list[tuple[float, str]]] = {}
    for between in near:
        others = list(around(between))
        if len(others) > HUB_LINKS:
            continue
        weight = 1 / log(1 + len(others)) if len(others) > 1 else 0.0
        for other in others:
            if other not in known:
                parts.setdefault(other, []).append((weight, between))
    found = {}
    for other, shared in parts.items():
        total = sum(weight for weight, _ in shared)
        names = tuple(name for _, name in sorted(shared, key=lambda entry: (-entry[0], entry[1])))
        found[other] = SharedNeighbours(total / (total + 1.5), names)
    return found
