"""The dictionary of words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from vaultbridge.index.store.database import EXPANSION, Terms


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT)")
    connection.execute("CREATE TABLE meta AS SELECT 'identity' AS name, 1 AS value")
    yield connection
    connection.close()


def add(db: sqlite3.Connection, *words: str) -> None:
    db.executemany("INSERT INTO terms (term) VALUES (?)", [(word,) for word in words])


def test_words_are_found_by_any_part_and_by_their_end(db: sqlite3.Connection) -> None:
    add(db, "banana", "an", "nab", "日", "ñandú")
    terms = Terms()
    terms.refresh(db)
    assert terms.find_containing("an") == ["banana", "an", "ñandú"]
    assert terms.find_containing("nana") == ["banana"]
    assert terms.find_ending("an") == ["an"]
    assert terms.find_ending("dú") == ["ñandú"]
    assert terms.find_containing("x") == []


def test_a_refresh_loads_words_added_later(db: sqlite3.Connection) -> None:
    terms = Terms()
    terms.refresh(db)
    assert terms.find_containing("a") == []
    add(db, "ab")
    terms.refresh(db)
    add(db, "ac")
    terms.refresh(db)
    terms.refresh(db)
    assert terms.find_containing("a") == ["ab", "ac"]


def test_a_string_in_too_many_words_is_not_expanded(db: sqlite3.Connection) -> None:
    add(db, *(f"w{number}" for number in range(EXPANSION + 1)), "x")
    terms = Terms()
    terms.refresh(db)
    assert terms.find_containing("w") is None
    assert terms.find_containing("x") == ["x"]
