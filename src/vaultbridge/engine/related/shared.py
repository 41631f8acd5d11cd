"""Finds notes that share something: rare words, or neighbours, which are what two notes both link to or what
links to both. A neighbour with few links says more than a hub. What the caller may not see counts for
nothing, not even for how rare a word is.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice
from math import log
from typing import Final

from msgspec import Struct

from vaultbridge.index.fold import WORD, separate_words, stands_apart
from vaultbridge.index.ranking.function_words import GRAMS, WORDS, choose_language
from vaultbridge.links.graph import Neighbours

TEXT_CHARS: Final = 40_000
"""How much of a text is read for its words: what a note is about shows within that."""

WORDS_COUNTED: Final = 1500
"""For how many different words of a text the rarity is looked up, those that occur most often first."""

WORDS_USED: Final = 24
"""By how many words other notes are found: those that are rare in the vault and frequent in the text."""

COMMON_NOTES: Final = 2000
"""A word that more notes contain says nothing, however large the vault."""

COMMON_SHARE: Final = 0.25
"""Nor does a word that this share of the notes contains, unless the vault is small."""

FEW_NOTES: Final = 12
"""If fewer notes than this contain a word, its share of the vault does not matter."""


class SharedWords(Struct, frozen=True):
    """`score` is the part of the text's rare words that a note shares, from 0 to 1. `words` are the shared
    words, the most telling first."""

    score: float
    words: tuple[str, ...]


def find_by_words(
    db: sqlite3.Connection,
    text: str,
    title: str,
    *,
    own: int,
    count: int,
    visible: Collection[int] | None,
    hidden: int = 0,
) -> dict[int, SharedWords]:
    """Return the notes that share rare words with a text, by id. `own` is the text's own note, `count` the
    number of visible notes, `visible` their ids (None: all), `hidden` the number of all other files. 0 as
    `own`: the text is not a note."""
    chosen = _choose(db, text, title, own=own, count=count, visible=visible, hidden=hidden)
    whole = sum(weight for _, weight, _ in chosen) or 1.0
    parts: dict[int, list[tuple[float, str]]] = {}
    for word, weight, ids in chosen:
        for id_ in ids:
            parts.setdefault(id_, []).append((weight, word))
    return {
        id_: SharedWords(
            sum(weight for weight, _ in shared) / whole,
            tuple(word for _, word in sorted(shared, reverse=True)),
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
    visible: Collection[int] | None,
    hidden: int,
) -> list[tuple[str, float, list[int]]]:
    """The most telling words of the text, each with its weight and the other notes that contain it."""
    times = Counter(_split(text[:TEXT_CHARS]))
    for word in _split(title):
        times[word] += 2
    function = WORDS[choose_language(list(times), "")]
    common = max(FEW_NOTES, min(COMMON_NOTES, int(count * COMMON_SHARE)))
    weighed: list[tuple[float, str, list[int] | None]] = []
    for word, often in times.most_common(WORDS_COUNTED):
        if len(word) < 2 or word.isdigit() or word in function or word.replace(" ", "") in GRAMS:
            continue
        ids: list[int] | None = None
        if visible is not None and " " not in word and _count_notes(db, word) > common + 1 + hidden:
            continue
        # A phrase of characters has no separate count, and that of a word includes hidden notes.
        if visible is not None or " " in word:
            ids = find_notes_with(db, word, own=own, visible=visible, most=common)
            notes = len(ids) + bool(own)
        else:
            notes = _count_notes(db, word)
        # At least one other note must contain it.
        if 1 + bool(own) <= notes <= common:
            weighed.append(((1 + log(often)) * log(1 + count / notes), word, ids))
    weighed.sort(key=lambda entry: (-entry[0], entry[1]))
    return [
        (word.replace(" ", ""), weight, find_notes_with(db, word, own=own) if ids is None else ids)
        for weight, word, ids in weighed[:WORDS_USED]
    ]


def _count_notes(db: sqlite3.Connection, word: str) -> int:
    row = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,)).fetchone()
    return 0 if row is None else int(row[0])


def find_notes_with(
    db: sqlite3.Connection,
    phrase: str,
    *,
    own: int = 0,
    visible: Collection[int] | None = None,
    most: int = COMMON_NOTES,
) -> list[int]:
    """Return the visible notes that contain a phrase, except `own`: all, or more than `most`."""
    rows = db.execute("SELECT rowid FROM words WHERE words MATCH ?", (f'"{phrase}"',))
    found = (id_ for (id_,) in rows if id_ != own and (visible is None or id_ in visible))
    return list(islice(found, most + 1))


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
