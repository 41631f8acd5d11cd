"""Which words two notes share: reading few notes first changes no answer."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from math import log

import pytest

from vaultbridge.engine.related import shared

WORDS = [f"w{letter}{number}" for letter in "abcdef" for number in range(8)]
NOTES = 60
OWN = 7


@pytest.fixture(params=range(6))
def notes(request: pytest.FixtureRequest) -> dict[int, list[str]]:
    """Notes of drawn words; the first words are in most of them, the last in few."""
    draw = random.Random(request.param)
    rarity = [1 / (1 + place) for place in range(len(WORDS))]
    return {id_: draw.choices(WORDS, rarity, k=draw.randint(5, 40)) for id_ in range(1, NOTES + 1)}


@pytest.fixture
def db(notes: dict[int, list[str]]) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE words USING fts5(path, labels, body, content='', tokenize='ascii')"
    )
    rows = [(id_, " ".join(words)) for id_, words in notes.items()]
    connection.executemany("INSERT INTO words (rowid, path, labels, body) VALUES (?, '', '', ?)", rows)
    yield connection
    connection.close()


def weigh_every_word(
    notes: dict[int, list[str]],
) -> dict[int, tuple[float, tuple[str, ...]]]:
    """What is shared according to the definition: all words are weighed, and the best taken."""
    holders = {word: {id_ for id_, words in notes.items() if word in words} - {OWN} for word in WORDS}
    count = NOTES
    common = max(shared.FEW_NOTES, int(count * shared.COMMON_SHARE))
    weights = {
        word: (1 + log(often)) * log(1 + count / (len(holders[word]) + 1))
        for word, often in Counter(notes[OWN]).items()
        if 1 <= len(holders[word]) < common
    }
    best = sorted(weights, key=lambda word: (-weights[word], word))[: shared.WORDS_USED]
    whole = sum(weights[word] for word in best)
    found: dict[int, tuple[float, tuple[str, ...]]] = {}
    for id_ in notes:
        held = [word for word in best if id_ in holders[word]]
        if held:
            ordered = sorted(held, key=lambda word: (weights[word], word), reverse=True)
            found[id_] = (sum(weights[word] for word in held) / whole, tuple(ordered))
    return found


@pytest.mark.parametrize(("first", "used"), [(250, 24), (2, 24), (2, 5), (5, 3), (1, 1)])
def test_the_most_telling_words_are_those_of_all_words(
    db: sqlite3.Connection,
    notes: dict[int, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    first: int,
    used: int,
) -> None:
    monkeypatch.setattr(shared, "FIRST_NOTES", first)
    monkeypatch.setattr(shared, "WORDS_USED", used)
    text = " ".join(notes[OWN])
    found = shared.find_by_words(db, text, "", own=OWN, count=NOTES)
    assert {id_: (words.score, words.words) for id_, words in found.items()} == weigh_every_word(notes)


def test_notes_are_counted_only_as_far_as_needed(db: sqlite3.Connection) -> None:
    assert len(shared.find_notes_with(db, WORDS[0], most=4)) == 5
    whole = shared.find_notes_with(db, WORDS[0])
    assert len(whole) > 5
