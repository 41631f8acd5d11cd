"""Counts what is in a vault and stores the totals, so that no answer has to walk the whole vault.

The first half counts files by kind and folder, tags, properties, tasks, links and problems. One set of rules
serves two uses: a single file, when it changes, and everything, after a first build. Ignored notes have no
tags, properties, tasks and missing links in the tables, so these do not count.

The second half keeps the stored results exact. The table `totals` has the counts. The table `marks` lists
notable files: notes without backlinks or without links, conflict copies, note names used twice. Both change
in the same transaction as the rows they are counted from, and only where the result differs: another
paragraph in a note writes nothing here.

During a first build nothing is stored; `rebuild` counts everything once at its end. Until then, queries
count for themselves (`read_counts`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct, json
from msgspec.structs import replace

from vaultbridge.index.query.match import flatten_values
from vaultbridge.index.store.schema import NAME_ONLY, split_for_sql
from vaultbridge.links.resolve import folder_of
from vaultbridge.vault.cloud import Conflict, detect_conflict
from vaultbridge.vault.paths import VaultPath

TAG_LEVELS: Final = 100
"""The most parents of one tag that are counted. Nobody nests ten; ten thousand would take gigabytes, because
each is stored with all above it."""

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
"""The longest property value that is counted. Counts are used to show the most frequent values; a longer text
hardly ever occurs in two notes, and each would be stored two more times."""

CountKey = tuple[str, str, str]
"""What is counted, its key, and its name.

    file      ""                     a file's kind             files
    folder    the folder's path      ""                        files in it; places: files beneath it
    tag       the tag's key          a spelling of it          notes; places: where it is written
    property  the property's key     a spelling of it          notes
    type      the property's key     a type of its values      notes
    value     the property's key     one of its values         notes
    task      the task's status      "dated" if it has a date  tasks
    missing   ""                     the key of a target       links; places: notes that contain them
    problem   the problem's code     ""                        problems
"""

Ids = Collection[int]
"""The ids of some files."""

_decode_json = msgspec.json.Decoder().decode


class Counts(dict[CountKey, tuple[int, int]]):
    """Two numbers for each `CountKey`: how often, and in how many places (see the table above)."""

    def add(self, what: str, key: str, name: str, count: int = 1, places: int = 0) -> None:
        at = (what, key, name)
        had = self.get(at)
        self[at] = (count, places) if had is None else (had[0] + count, had[1] + places)


def count_all(db: sqlite3.Connection) -> Counts:
    """Counts the whole vault."""
    counts = Counts()
    for counter in COUNTERS.values():
        counter(db, counts)
    return counts


def count_file(db: sqlite3.Connection, file: int, tables: Iterable[str]) -> Counts:
    """Counts what the rows of one file in these tables contribute."""
    counts = Counts()
    for table in tables:
        COUNTERS[table](db, counts, only=(file,))
    return counts


def count_files(db: sqlite3.Connection, counts: Counts, *, only: Ids | None = None) -> None:
    kinds: dict[str, int] = {}
    folders: dict[str, int] = {}
    for path, kind in _select_rows(db, "path, kind FROM files", "id", only):
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


def count_tags(db: sqlite3.Connection, counts: Counts, *, only: Ids | None = None) -> None:
    """Counts a note once for a tag and once for each parent tag, under the spelling that comes first."""
    holders: dict[str, set[int]] = {}
    for key, file, name, count in _select_rows(
        db, "key, file, name, count FROM tags", "file", only, order="key"
    ):
        at = level = 0
        while at >= 0:
            level += 1
            at = key.find("/", at + 1) if level <= TAG_LEVELS else -1
            part = key if at < 0 else key[:at]
            # Folding changes the length of a few rare letters; then the key serves as the name.
            spelling = name[: len(part)] if len(name) == len(key) else part
            holding = holders.setdefault(part, set())
            counts.add(TAG, part, spelling, file not in holding, count)
            holding.add(file)


def count_properties(db: sqlite3.Connection, counts: Counts, *, only: Ids | None = None) -> None:
    columns = "key, name, type, value FROM properties"
    for key, name, type_, value in _select_rows(db, columns, "file", only):
        counts.add(PROPERTY, key, name)
        counts.add(PROPERTY_TYPE, key, type_)
        for text in dict.fromkeys(flatten_values(_decode_json(value))):
            if len(text) <= VALUE_CHARS:
                counts.add(PROPERTY_VALUE, key, text)


def count_tasks(db: sqlite3.Connection, counts: Counts, *, only: Ids | None = None) -> None:
    for status, dated in _select_rows(db, "status, due IS NOT NULL FROM tasks", "file", only):
        counts.add(TASK, status, DATED if dated else "")


def count_missing(db: sqlite3.Connection, counts: Counts, *, only: Ids | None = None) -> None:
    """Counts links to files that do not exist."""
    counted: set[tuple[str, int]] = set()
    rows = _select_rows(db, "source, missing FROM links WHERE missing IS NOT NULL", "source", only)
    for source, key in rows:
        counts.add(MISSING, "", key, 1, (key, source) not in counted)
        counted.add((key, source))


def count_problems(db: sqlite3.Connection, counts: Counts, *, only: Ids | None = None) -> None:
    for (code,) in _select_rows(db, "code FROM problems", "file", only):
        counts.add(PROBLEM, code, "")


COUNTERS: Final[dict[str, Callable[..., None]]] = {
    "files": count_files,
    "tags": count_tags,
    "properties": count_properties,
    "tasks": count_tasks,
    "links": count_missing,
    "problems": count_problems,
}

COUNTED_TABLES: Final = frozenset(COUNTERS)
"""The tables from which the totals are counted."""


def _select_rows(
    db: sqlite3.Connection, columns: str, owner: str, only: Collection[int] | None, *, order: str = ""
) -> Iterator[tuple[Any, ...]]:
    """Selects `columns` for all files, or for those whose id is in the column `owner`."""
    ordered = f" ORDER BY {order}" if order else ""
    if only is None:
        yield from db.execute(f"SELECT {columns}{ordered}")
        return
    joined = "AND" if " WHERE " in columns else "WHERE"
    for marks, ids in split_for_sql(only):
        yield from db.execute(f"SELECT {columns} {joined} {owner} IN ({marks}){ordered}", ids)


ORPHAN: Final = "orphan"
DEAD_END: Final = "dead end"
DUPLICATE: Final = "duplicate"
CONFLICT: Final = "conflict"
"""Values of `marks.what`. The name is a path; for a duplicate it is the key that several notes share."""

SUM: Final = "sum"
"""The value of `totals.what` for sums over SUMMED. The key says what is summed; the name "" has the sums and
the name `rows` the number of rows."""

_ROWS: Final = "rows"

SUMMED: Final = frozenset({MISSING})
"""Kinds of counts with as many rows as the vault has names, so that even adding up the stored rows would take
too long."""

_NUMBERED_FIRST: Final = " 1"
"""A file `Name 1` decides whether `Name 2` is a conflict copy: see `cloud.detect_conflict`."""


def are_current(db: sqlite3.Connection) -> bool:
    """Whether the stored totals can be used. They cannot before the end of a first build."""
    (state,) = db.execute("SELECT value FROM meta WHERE name = 'state'").fetchone()
    return bool(state == "ready")


def rebuild(db: sqlite3.Connection) -> None:
    """Count everything from scratch."""
    db.execute("DELETE FROM totals")
    db.execute("DELETE FROM marks")
    counts = count_all(db)
    sums = Counts()
    for (what, _, _), amounts in counts.items():
        if what in SUMMED:
            sums.add(SUM, what, "", *amounts)
            sums.add(SUM, what, _ROWS)
    rows = ((*at, *amounts) for at, amounts in sorted({**counts, **sums}.items()))
    db.executemany("INSERT INTO totals VALUES (?, ?, ?, ?, ?)", rows)
    db.execute(
        f"INSERT INTO marks SELECT ?, path, '' FROM files WHERE state != {NAME_ONLY} AND NOT ignored"
        " AND id NOT IN (SELECT target_id FROM links WHERE target_id IS NOT NULL AND target_id != source"
        " AND source NOT IN (SELECT id FROM files WHERE ignored)) ORDER BY path",
        (ORPHAN,),
    )
    db.execute(
        f"INSERT INTO marks SELECT ?, path, '' FROM files WHERE state != {NAME_ONLY} AND NOT ignored"
        " AND id NOT IN (SELECT source FROM links WHERE target_id IS NOT source) ORDER BY path",
        (DEAD_END,),
    )
    db.execute(
        "INSERT INTO marks SELECT ?, key, '' FROM files WHERE kind = 'note'"
        " GROUP BY key HAVING count(*) > 1 ORDER BY key",
        (DUPLICATE,),
    )
    paths = {path for (path,) in db.execute("SELECT path FROM files")}
    conflicts = ((path, detect_conflict(VaultPath(path), paths)) for path in sorted(paths))
    db.executemany(
        "INSERT INTO marks VALUES (?, ?, ?)",
        (
            (CONFLICT, path, _encode_conflict(conflict))
            for path, conflict in conflicts
            if conflict is not None
        ),
    )


def read(db: sqlite3.Connection, *kinds: str) -> Counts:
    """Returns all counts of these kinds. Call `are_current` first."""
    rows = db.execute(f"SELECT * FROM totals WHERE what IN ({', '.join('?' * len(kinds))})", kinds)
    return Counts({(what, key, name): (count, places) for what, key, name, count, places in rows})


def read_counts(db: sqlite3.Connection, kinds: tuple[str, ...], table: str) -> Counts:
    """Returns the counts of these kinds, which are counted from a table, at any time."""
    if are_current(db):
        return read(db, *kinds)
    counts = Counts()
    COUNTERS[table](db, counts)
    return Counts({at: amounts for at, amounts in counts.items() if at[0] in kinds})


def list_frequent(
    db: sqlite3.Connection, what: str, key: str, *, limit: int = -1, offset: int = 0
) -> Iterator[tuple[str, int, int]]:
    """Returns name, count and places of one key's rows, most frequent first. Call `are_current` first."""
    return db.execute(
        "SELECT name, count, places FROM totals WHERE what = ? AND key = ?"
        " ORDER BY count DESC, name LIMIT ? OFFSET ?",
        (what, key, limit, offset),
    )


class Sum(Struct, frozen=True):
    rows: int
    count: int
    places: int


def read_sum(db: sqlite3.Connection, what: str) -> Sum:
    """Returns the sum over all rows of a kind in SUMMED. Call `are_current` first."""
    counts = read(db, SUM)
    rows, _ = counts.get((SUM, what, _ROWS), (0, 0))
    return Sum(rows, *counts.get((SUM, what, ""), (0, 0)))


def list_marked(db: sqlite3.Connection, what: str, limit: int, offset: int) -> list[tuple[str, str]]:
    """Returns names and details of the marks of one kind, by name. Call `are_current` first."""
    statement = "SELECT name, about FROM marks WHERE what = ? ORDER BY name LIMIT ? OFFSET ?"
    return db.execute(statement, (what, limit, offset)).fetchall()


def count_marked(db: sqlite3.Connection, what: str) -> int:
    """Counts the marks of one kind. Call `are_current` first."""
    (count,) = db.execute("SELECT count(*) FROM marks WHERE what = ?", (what,)).fetchone()
    return int(count)


def decode_conflict(about: str) -> Conflict:
    return json.decode(about, type=Conflict)


def _encode_conflict(conflict: Conflict) -> str:
    return json.encode(conflict).decode()


class _File(Struct, frozen=True):
    """What one file adds to the totals, and what its own marks and those of other files depend on."""

    path: str
    key: str
    counts: Counts
    targets: frozenset[int]
    """The other files that it links to; none if it is ignored, because such links do not count."""
    has_links: bool
    """Whether it has a link to anything but itself."""
    unmarked: bool
    """Whether its content is not indexed, or it is ignored: then it is neither an orphan nor a dead end."""
    tables: frozenset[str]
    """The tables that were counted."""


def _may_marks_differ(before: _File, after: _File) -> bool:
    """Whether a file's own links, name or state change its marks. Links to it are seen in the files that have
    them."""
    was, now = ((file.path, file.has_links, file.unmarked) for file in (before, after))
    return was != now


_NOWHERE: Final = frozenset((None,))
"""The target of a link to a file that does not exist."""


class Totals:
    """Updates the totals within one transaction. Call `touch` before a file's rows change and `flush` at the
    end: it subtracts what each file added before and adds what it adds now. Counting is most of the work, so
    only the tables that change are counted."""

    __slots__ = ("_before", "_current", "_db")

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._current = are_current(db)
        self._before: dict[int, _File | None] = {}

    def touch(self, id_: int, tables: frozenset[str] = COUNTED_TABLES) -> None:
        """Record a file whose rows in these tables are about to change."""
        if not self._current:
            return
        if id_ not in self._before:
            self._before[id_] = self._read_file(id_, tables)
            return
        before = self._before[id_]
        if before is not None and (more := tables - before.tables):
            # `touch` is called before these tables change, so they still have the old rows.
            counts = Counts({**before.counts, **count_file(self._db, id_, more)})
            self._before[id_] = replace(before, counts=counts, tables=before.tables | more)

    def flush(self) -> None:
        if not self._before:
            return
        delta = Counts()
        moved: set[str] = set()
        names: set[str] = set()
        affected: set[int] = set()
        for id_, before in self._before.items():
            after = self._read_file(id_, COUNTED_TABLES if before is None else before.tables)
            for file, sign in ((before, -1), (after, 1)):
                if file is not None:
                    for at, (count, places) in file.counts.items():
                        delta.add(*at, sign * count, sign * places)
            was, now = (file.path if file else "" for file in (before, after))
            if was != now:
                moved.update(path for path in (was, now) if path)
                names.update(file.key for file in (before, after) if file is not None)
            if before is None or after is None or _may_marks_differ(before, after):
                affected.add(id_)
            targets = (file.targets if file else frozenset[int]() for file in (before, after))
            affected.update(next(targets) ^ next(targets))
        self._before.clear()
        self._add_sums(delta)
        self._write(delta)
        self._mark_links(affected, moved)
        self._mark_names(names)
        self._mark_conflicts(moved)

    def _read_file(self, id_: int, tables: frozenset[str]) -> _File | None:
        row = self._db.execute("SELECT path, key, state, ignored FROM files WHERE id = ?", (id_,)).fetchone()
        if row is None:
            return None
        path, key, state, ignored = row
        links = self._db.execute("SELECT target_id FROM links WHERE source = ?", (id_,))
        others = {to for (to,) in links} - {id_}
        counts = count_file(self._db, id_, tables)
        targets = frozenset(() if ignored else others - _NOWHERE)
        return _File(path, key, counts, targets, bool(others), ignored or state == NAME_ONLY, tables)

    def _add_sums(self, delta: Counts) -> None:
        """Add to the delta what it changes in the sums."""
        for at, amounts in list(delta.items()):
            if at[0] in SUMMED and amounts != (0, 0):
                statement = "SELECT count, places FROM totals WHERE what = ? AND key = ? AND name = ?"
                had = self._db.execute(statement, at).fetchone() or (0, 0)
                now = (had[0] + amounts[0], had[1] + amounts[1])
                delta.add(SUM, at[0], "", *amounts)
                delta.add(SUM, at[0], _ROWS, (now != (0, 0)) - (had != (0, 0)))

    def _write(self, delta: Counts) -> None:
        changed = {at: amounts for at, amounts in delta.items() if amounts != (0, 0)}
        self._db.executemany(
            "INSERT INTO totals VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
            " SET count = count + excluded.count, places = places + excluded.places",
            [(*at, *amounts) for at, amounts in changed.items()],
        )
        self._db.executemany(
            "DELETE FROM totals WHERE what = ? AND key = ? AND name = ? AND count = 0 AND places = 0",
            list(changed),
        )

    def _mark(self, what: str, name: str, about: str | None) -> None:
        """Set a mark, or remove it when `about` is None."""
        if about is None:
            self._db.execute("DELETE FROM marks WHERE what = ? AND name = ?", (what, name))
        else:
            self._db.execute("INSERT OR REPLACE INTO marks VALUES (?, ?, ?)", (what, name, about))

    def _mark_links(self, ids: Iterable[int], moved: Iterable[str]) -> None:
        for path in moved:
            self._mark(ORPHAN, path, None)
            self._mark(DEAD_END, path, None)
        for id_ in ids:
            row = self._db.execute(
                "SELECT path, ignored, EXISTS (SELECT 1 FROM links JOIN files other ON other.id = source"
                " WHERE target_id = files.id AND source != files.id AND NOT other.ignored),"
                " EXISTS (SELECT 1 FROM links WHERE source = files.id AND target_id IS NOT source),"
                " EXISTS (SELECT 1 FROM marks WHERE what = ? AND name = path),"
                " EXISTS (SELECT 1 FROM marks WHERE what = ? AND name = path)"
                f" FROM files WHERE id = ? AND state != {NAME_ONLY}",
                (ORPHAN, DEAD_END, id_),
            ).fetchone()
            if row is None:
                continue
            path, ignored, linked, linking, orphan, dead_end = row
            if (linked or ignored) == orphan:
                self._mark(ORPHAN, path, None if linked or ignored else "")
            if (linking or ignored) == dead_end:
                self._mark(DEAD_END, path, None if linking or ignored else "")

    def _mark_names(self, keys: Iterable[str]) -> None:
        for key in keys:
            (notes,) = self._db.execute(
                # The plus keeps SQLite from walking all notes by their kind.
                "SELECT count(*) FROM files WHERE key = ? AND +kind = 'note'",
                (key,),
            ).fetchone()
            self._mark(DUPLICATE, key, "" if notes > 1 else None)

    def _mark_conflicts(self, moved: Iterable[str]) -> None:
        beside = _Paths(self._db)
        affected = {path for changed in moved for path in (changed, *self._copies(changed))}
        for path in affected:
            found = detect_conflict(VaultPath(path), beside) if path in beside else None
            self._mark(CONFLICT, path, None if found is None else _encode_conflict(found))

    def _copies(self, path: str) -> Iterator[str]:
        """Returns files that may be copies of this one, named like it with a blank or a hyphen and more."""
        folder, slash, name = path.rpartition("/")
        stem = name.rpartition(".")[0] or name
        for base in {stem, stem.removesuffix(_NUMBERED_FIRST)}:
            for mark in " -":
                start = f"{folder}{slash}{base}{mark}"
                rows = self._db.execute(
                    "SELECT path FROM files WHERE path >= ? AND path < ?",
                    (start, start[:-1] + chr(ord(mark) + 1)),
                )
                yield from (other for (other,) in rows if "/" not in other[len(start) :])


class _Paths:
    """Answers `path in paths` from the database."""

    __slots__ = ("_db",)

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __contains__(self, path: object) -> bool:
        return self._db.execute("SELECT 1 FROM files WHERE path = ?", (path,)).fetchone() is not None
