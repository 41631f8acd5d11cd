"""Which notes the word table finds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from vaultbridge.index.word_table import WordTable, find_notes


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE words USING fts5(path, labels, body, content='', tokenize='ascii')"
    )
    connection.executemany(
        "INSERT INTO words (rowid, path, labels, body) VALUES (?, ?, '', ?)",
        [(number, f"n{number}", "even" if number % 2 == 0 else "odd") for number in range(1, 11)],
    )
    yield connection
    connection.close()


def test_all_notes_or_the_first_ones_are_found(db: sqlite3.Connection) -> None:
    assert find_notes(db, '"even"') == {2, 4, 6, 8, 10}
    assert find_notes(db, '"even"', 2) == {2, 4}
    assert find_notes(db, 'path : "n7"') == {7}
    assert find_notes(db, '"absent"') == find_notes(db, "") == set()


def test_notes_are_counted_and_remembered(db: sqlite3.Connection) -> None:
    table = WordTable(db)
    assert table.find('"even"') is table.find('"even"')
    assert (table.count('"even"'), table.count('"absent"')) == (5, 0)
    assert table.holds('path : "n2"')
    assert not table.holds('"absent"')
