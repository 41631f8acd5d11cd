"""Which notes the word table finds for a caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from vaultbridge.index.word_table import WordTable, find_notes


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE words USING fts5(path, heads, body, content='', tokenize='ascii')"
    )
    connection.executemany(
        "INSERT INTO words (rowid, path, heads, body) VALUES (?, ?, '', ?)",
        [(number, f"n{number}", "even" if number % 2 == 0 else "odd") for number in range(1, 11)],
    )
    yield connection
    connection.close()


def test_all_notes_or_the_first_ones_are_found(db: sqlite3.Connection) -> None:
    assert find_notes(db, '"even"') == {2, 4, 6, 8, 10}
    assert find_notes(db, '"even"', 2) == {2, 4}
    assert find_notes(db, 'path : "n7"') == {7}
    assert find_notes(db, '"absent"') == find_notes(db, "") == set()


def test_hidden_notes_are_neither_found_nor_counted(db: sqlite3.Connection) -> None:
    table = WordTable(db, {2, 3, 4})
    assert table.find('"even"') == {6, 8, 10}
    assert (table.count('"even"'), table.count('"odd"')) == (3, 4)
    assert not table.holds('path : "n2"')
    assert table.holds('"even"')


def test_hidden_notes_do_not_use_up_the_limit(db: sqlite3.Connection) -> None:
    assert WordTable(db, {2, 4}).find_first('"even"', 2) == {6, 8}
    assert WordTable(db).find_first('"even"', 2) == {2, 4}
