"""Counts and lists for a caller who may not see everything, without a walk through the vault.

The stored totals (`totals`) count all files. What hidden files add is counted separately, once until one of
them changes, and subtracted. If most files are hidden, the visible ones are counted instead. During a first
build there are no totals, and everything is counted.

What is hidden never shows: the result is always that of counting the visible files alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any

from vaultbridge.index import totals
from vaultbridge.index.store.database import Index
from vaultbridge.index.store.file_cache import VisibleFiles
from vaultbridge.index.store.schema import split_for_sql
from vaultbridge.index.totals import PROPERTY, PROPERTY_TYPE, PROPERTY_VALUE, Counts
from vaultbridge.vault.paths import Visible


def hidden_ids(index: Index, db: sqlite3.Connection, visible: Visible | None) -> set[int]:
    return set() if visible is None else index.visible_files(db, visible).hidden


def hides_most(files: VisibleFiles) -> bool:
    return len(files.hidden) > len(files.paths)


def read_counts(
    index: Index, db: sqlite3.Connection, kinds: tuple[str, ...], table: str, visible: Visible | None
) -> Counts:
    """Returns the counts of these kinds, which are counted from a table, among the visible files."""
    if not totals.are_current(db):
        counts = Counts()
        totals.COUNTERS[table](db, counts, hidden=hidden_ids(index, db, visible))
        return _choose(counts, kinds)
    if visible is None:
        return totals.read(db, *kinds)
    files = index.visible_files(db, visible)
    if hides_most(files):
        counts = Counts()
        totals.COUNTERS[table](db, counts, only=files.paths)
        return _choose(counts, kinds)
    return _subtract(totals.read(db, *kinds), _choose(count_hidden(db, files, table), kinds))


def count_hidden(db: sqlite3.Connection, files: VisibleFiles, table: str) -> Counts:
    """Returns what the rows of hidden files in a table add to the totals."""
    counts: Counts | None = files.of_hidden.get(table)
    if counts is None:
        counts = Counts()
        totals.COUNTERS[table](db, counts, only=files.hidden)
        files.of_hidden[table] = counts
    return counts


def _choose(counts: Counts, kinds: Collection[str]) -> Counts:
    return Counts({at: amounts for at, amounts in counts.items() if at[0] in kinds})


def _subtract(counts: Counts, hidden: Counts) -> Counts:
    for at, (count, places) in hidden.items():
        had = counts.pop(at)
        if had != (count, places):
            counts[at] = (had[0] - count, had[1] - places)
    return counts


def read_property_counts(
    index: Index, db: sqlite3.Connection, visible: Visible | None, values: int
) -> Counts:
    """Returns the counts of all properties, their types and at least their `values` most frequent values."""
    kinds = (PROPERTY, PROPERTY_TYPE, PROPERTY_VALUE)
    files = None if visible is None else index.visible_files(db, visible)
    if not totals.are_current(db) or (files is not None and hides_most(files)):
        return read_counts(index, db, kinds, "properties", visible)
    counts = totals.read(db, PROPERTY, PROPERTY_TYPE)
    hidden = Counts() if files is None else count_hidden(db, files, "properties")
    lowered: dict[str, int] = {}
    for what, key, _ in hidden:
        if what == PROPERTY_VALUE:
            lowered[key] = lowered.get(key, 0) + 1
    for key in {key for _, key, _ in counts}:
        # Subtracting lowers only so many of them; the others keep their order.
        most = values + lowered.get(key, 0)
        for name, notes, places in totals.list_frequent(db, PROPERTY_VALUE, key, limit=most):
            counts[PROPERTY_VALUE, key, name] = (notes, places)
    shown = Counts({at: amounts for at, amounts in hidden.items() if at in counts})
    return _subtract(counts, shown)


def select_page(
    rows: Iterable[tuple[Any, ...]], hidden: Collection[int], *, limit: int, offset: int
) -> list[tuple[Any, ...]]:
    """Returns one page of ordered rows that begin with a file's id, without that, and reads no further. A
    negative limit means none."""
    seen = (row[1:] for row in rows if row[0] not in hidden)
    return list(islice(seen, offset, None if limit < 0 else offset + limit))


def select_rows(
    db: sqlite3.Connection, statement: str, values: Collection[Any], ids: Collection[int]
) -> Iterator[tuple[Any, ...]]:
    """Runs a statement for some files: `{ids}` in it stands for their ids, which come last."""
    for marks, part in split_for_sql(ids):
        yield from db.execute(statement.replace("{ids}", marks), (*values, *part))


def list_marked(
    db: sqlite3.Connection, what: str, files: VisibleFiles, limit: int, offset: int
) -> tuple[list[tuple[str, str]], int]:
    """Returns a page of the marks of one kind that name visible files, and how many there are. Call
    `are_current` first."""
    marked = set(read_marks_of_hidden(db, what, files))
    rows = db.execute("SELECT name, about FROM marks WHERE what = ? ORDER BY name", (what,))
    seen = (row for row in rows if row[0] not in marked)
    page = list(islice(seen, offset, None if limit < 0 else offset + limit))
    return page, totals.count_marked(db, what) - len(marked)


def read_marks_of_hidden(db: sqlite3.Connection, what: str, files: VisibleFiles) -> Iterator[str]:
    """Yields the hidden files that have a mark."""
    statement = (
        "SELECT name FROM files CROSS JOIN marks ON marks.what = ? AND name = path WHERE files.id IN ({ids})"
    )
    return (name for (name,) in select_rows(db, statement, (what,), files.hidden))
