"""Counting what the notes of a vault say: files by kind and folder, tags, properties, tasks, links, problems.

One set of rules for three uses: the share of a single file, when it changes; everything, after a first build;
and everything but some hidden files, for a caller who may not see all. Which counts are stored, and when they
change, is `totals`' duty.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from typing import Any, Final

import msgspec

from vaultbridge.index.property_test import scalars
from vaultbridge.links.resolve import folder_of, name_key

FILE: Final = "file"
FOLDER: Final = "folder"
TAG: Final = "tag"
PROPERTY: Final = "property"
PROPERTY_TYPE: Final = "type"
PROPERTY_VALUE: Final = "value"
TASK: Final = "task"
MISSING: Final = "missing"
PROBLEM: Final = "problem"
DATED: Final = "dated"

VALUE_CHARS: Final = 200
"""The longest property value that is counted. Counts are for showing the most frequent values; a longer text
hardly stands in two notes, and each would be stored twice more."""

Count = tuple[str, str, str]
"""What is counted, its key, and its name.

    file      ""                     a file's kind             files
    folder    the folder's path      ""                        files in it; places: files beneath it
    tag       the tag's key          a spelling of it          notes; places: where it is written
    property  the property's key     a spelling of it          notes
    type      the property's key     a type of its values      notes
    value     the property's key     one of its values         notes
    task      the task's status      "dated" when it has a day tasks
    missing   ""                     the key of a target       links; places: notes that hold them
    problem   the problem's code     ""                        problems
"""

NONE_HIDDEN: Final[frozenset[int]] = frozenset()

_decode_json = msgspec.json.Decoder().decode


class Counts(dict[Count, tuple[int, int]]):
    """How often, and in how many places: the second number means what `Count` says of its kind."""

    def add(self, what: str, key: str, name: str, count: int = 1, places: int = 0) -> None:
        at = (what, key, name)
        had = self.get(at)
        self[at] = (count, places) if had is None else (had[0] + count, had[1] + places)


def count_all(db: sqlite3.Connection) -> Counts:
    """Of the whole vault."""
    counts = Counts()
    for counter in _COUNTERS:
        counter(db, counts)
    return counts


def count_file(db: sqlite3.Connection, file: int) -> Counts:
    """The share of one file."""
    counts = Counts()
    for counter in _COUNTERS:
        counter(db, counts, only=file)
    return counts


def count_files(
    db: sqlite3.Connection, counts: Counts, *, only: int | None = None, hidden: Collection[int] = NONE_HIDDEN
) -> None:
    kinds: dict[str, int] = {}
    folders: dict[str, int] = {}
    for id_, path, kind in _rows(db, "id, path, kind FROM files", "id", only):
        if id_ not in hidden:
            kinds[kind] = kinds.get(kind, 0) + 1
            folder = folder_of(path)
            folders[folder] = folders.get(folder, 0) + 1
    for kind, count in kinds.items():
        counts.add(FILE, "", kind, count)
    for folder, count in folders.items():
        counts.add(FOLDER, folder, "", count, count)
        while folder:
            folder = folder_of(folder)
            counts.add(FOLDER, folder, "", 0, count)


def count_tags(
    db: sqlite3.Connection, counts: Counts, *, only: int | None = None, hidden: Collection[int] = NONE_HIDDEN
) -> None:
    """A note counts once for a tag and for each that it lies under, by the spelling that comes first."""
    holders: dict[str, set[int]] = {}
    for key, file, name, count in _rows(db, "key, file, name, count FROM tags", "file", only, order="key"):
        if file in hidden:
            continue
        at = 0
        while at >= 0:
            at = key.find("/", at + 1)
            part = key if at < 0 else key[:at]
            # Keys and names are of one length but for rare letters; then the key serves as name.
            shown = name[: len(part)] if len(name) == len(key) else part
            holding = holders.setdefault(part, set())
            counts.add(TAG, part, shown, file not in holding, count)
            holding.add(file)


def count_properties(
    db: sqlite3.Connection, counts: Counts, *, only: int | None = None, hidden: Collection[int] = NONE_HIDDEN
) -> None:
    columns = "key, file, name, type, value FROM properties"
    for key, file, name, type_, value in _rows(db, columns, "file", only):
        if file in hidden:
            continue
        counts.add(PROPERTY, key, name)
        counts.add(PROPERTY_TYPE, key, type_)
        for text in dict.fromkeys(scalars(_decode_json(value))):
            if len(text) <= VALUE_CHARS:
                counts.add(PROPERTY_VALUE, key, text)


def count_tasks(
    db: sqlite3.Connection, counts: Counts, *, only: int | None = None, hidden: Collection[int] = NONE_HIDDEN
) -> None:
    for file, status, dated in _rows(db, "file, status, due IS NOT NULL FROM tasks", "file", only):
        if file not in hidden:
            counts.add(TASK, status, DATED if dated else "")


def count_missing(
    db: sqlite3.Connection, counts: Counts, *, only: int | None = None, hidden: Collection[int] = NONE_HIDDEN
) -> None:
    """Links that name no file. A hidden file does not exist, so a link to it is one of them."""
    noted: set[tuple[str, int]] = set()
    for source, key in _missing(db, only, hidden):
        counts.add(MISSING, "", key, 1, (key, source) not in noted)
        noted.add((key, source))


def _missing(db: sqlite3.Connection, only: int | None, hidden: Collection[int]) -> Iterator[tuple[int, str]]:
    if not hidden:
        yield from _rows(db, "source, missing FROM links WHERE missing IS NOT NULL", "source", only)
        return
    for source, target, to in _rows(db, "source, target, target_id FROM links", "source", only):
        if source not in hidden and (to is None or to in hidden):
            yield source, name_key(target)


def count_problems(
    db: sqlite3.Connection, counts: Counts, *, only: int | None = None, hidden: Collection[int] = NONE_HIDDEN
) -> None:
    for file, code in _rows(db, "file, code FROM problems", "file", only):
        if file not in hidden:
            counts.add(PROBLEM, code, "")


_COUNTERS: Final = (count_files, count_tags, count_properties, count_tasks, count_missing, count_problems)


def _rows(
    db: sqlite3.Connection, columns: str, owner: str, only: int | None, *, order: str = ""
) -> Iterator[tuple[Any, ...]]:
    """`columns` of a table, of all files or of the one that `owner` names."""
    ordered = f" ORDER BY {order}" if order else ""
    if only is None:
        return db.execute(f"SELECT {columns}{ordered}")
    joined = "AND" if " WHERE " in columns else "WHERE"
    return db.execute(f"SELECT {columns} {joined} {owner} = ?{ordered}", (only,))
