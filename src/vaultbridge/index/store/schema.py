"""Defines the tables of the index and opens connections to them.

The file is a copy of what the notes say, so there are no migrations: a file of another version or another
program, or a damaged one, is deleted. Which rows to write is decided in `write`, and when in `sync`.

What a note says is stored twice on purpose. `notes` has the whole parsed note as one blob, which is cheap to
return; the other tables contain only what a query must find without opening notes. A file's `id` never leaves
the index and is never compared between two indexes.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TypeVar

APPLICATION_ID: Final = 0x56425249
"""Marks the file as ours ("VBRI"): another program's SQLite file in its place is not read."""

SCHEMA_VERSION: Final = 17
"""Raise it whenever a table, the folding of text, the kind of a file or the parser's output changes: indexes
are then rebuilt."""

INDEX_FILE: Final = "index.sqlite3"

BUSY_MILLISECONDS: Final = 10_000
"""How long a writer waits for another process's transaction. The longest one, a batch of a first build, takes
about a second."""

READER_CACHE_KIB: Final = 1024
WRITER_CACHE_KIB: Final = 2048
"""The sizes of SQLite's page caches. The file is in the system's own cache, so larger ones here only cost
memory (measured: queries on 10,000 notes are no faster above 1 MiB, nor is indexing an edit or a rename
above 2). A first build uses more while it lasts."""

PAGE_BYTES: Final = 8192
"""Two notes of average size fit into a page; with 4096 bytes the second would need overflow pages."""

WAL_BYTES: Final = 32 * 1024 * 1024
"""The largest write-ahead file left after a checkpoint: a first build makes it grow."""

WAL_PAGES: Final = 4000
"""How long the write-ahead file may become. The commit that exceeds this copies the file into the index, for
tens of ms, while a query may be waiting. A large change is copied right after its commit instead
(`Index.checkpoint`)."""

PENDING: Final = 0
INDEXED: Final = 1
NAME_ONLY: Final = 2
"""`files.state`: content still to be read; content read; found by name alone (attachments)."""

TABLES: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    ino INTEGER NOT NULL,
    trusted INTEGER NOT NULL,
    state INTEGER NOT NULL,
    hash TEXT NOT NULL DEFAULT '',
    ignored INTEGER NOT NULL
);
CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE notes (id INTEGER PRIMARY KEY, note BLOB NOT NULL);
CREATE TABLE links (
    source INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    line INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    raw TEXT NOT NULL,
    target TEXT NOT NULL,
    subpath TEXT NOT NULL,
    key TEXT,
    exact_key TEXT,
    target_id INTEGER,
    missing TEXT,
    PRIMARY KEY (source, seq)
) WITHOUT ROWID;
CREATE TABLE tags (
    key TEXT NOT NULL, file INTEGER NOT NULL, name TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY (key, file)
) WITHOUT ROWID;
CREATE TABLE aliases (
    key TEXT NOT NULL, file INTEGER NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (key, file)
) WITHOUT ROWID;
CREATE TABLE properties (
    key TEXT NOT NULL, file INTEGER NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL, type TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (key, file, seq)
) WITHOUT ROWID;
CREATE TABLE tasks (
    file INTEGER NOT NULL, seq INTEGER NOT NULL, line INTEGER NOT NULL, status TEXT NOT NULL,
    text TEXT NOT NULL, description TEXT NOT NULL, fields TEXT NOT NULL, due TEXT,
    PRIMARY KEY (file, seq)
) WITHOUT ROWID;
CREATE TABLE problems (
    file INTEGER NOT NULL, seq INTEGER NOT NULL, line INTEGER NOT NULL, code TEXT NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (file, seq)
) WITHOUT ROWID;
CREATE TABLE changed (seq INTEGER PRIMARY KEY, file INTEGER NOT NULL);
CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE);
CREATE VIRTUAL TABLE words USING fts5(path, labels, body, content='', tokenize='ascii');
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
CREATE VIRTUAL TABLE occurrences USING fts5vocab(words, instance);
"""
"""`files.trusted` is 0 while a file's timestamp is too recent to prove that its content did not change.
`files.ignored` says that one of the app's ignore filters names the file: it exists for links, names, problems
and lists of files, but not in views. So it has no rows in `words`, `tags`, `properties` and `tasks`, and no
`links.missing`. `links.key` and `exact_key` are the candidate keys of a link's target; for `links.flags` see
`rows`; `links.missing` is the key of the whole target, for links to no file. `terms` has every word that was
ever in `words`. Words are only added, so that a reader can load just the new ones; a word that no note
contains any more finds nothing. `changed` logs which files were added, changed or removed: see `file_cache`.
`words` stores no text, so deleting a row requires what it contained. `vocabulary` (how many notes have a
word) and `occurrences` (where) are views of `words` and store nothing."""

SECONDARY: Final = {
    "files_key": "CREATE INDEX files_key ON files (key)",
    "links_target": "CREATE INDEX links_target ON links (target_id) WHERE target_id IS NOT NULL",
    "links_key": "CREATE INDEX links_key ON links (key)",
    "links_exact": "CREATE INDEX links_exact ON links (exact_key) WHERE exact_key IS NOT NULL",
    "tags_file": "CREATE INDEX tags_file ON tags (file)",
    "aliases_file": "CREATE INDEX aliases_file ON aliases (file)",
    "files_ignored": "CREATE INDEX files_ignored ON files (path) WHERE ignored",
    "links_missing": "CREATE INDEX links_missing ON links (missing) WHERE missing IS NOT NULL",
    "properties_file": "CREATE INDEX properties_file ON properties (file)",
}
"""Created after a first build has filled the tables: sorting once is faster than inserting in random
order."""

LOGGED_CHANGES: Final = 4000
"""How many changes the log has. Applying more would take about as long as reading all files of a vault of
10,000 notes."""

_ROW_TABLES: Final = frozenset(
    ("files", "texts", "notes", "links", "tags", "aliases", "properties", "tasks", "problems")
) | {"changed"}

_EXPECTED: Final = _ROW_TABLES | {"meta", "terms", "words", "vocabulary", "occurrences"}

_COUNTERS: Final = ("generation", "files_version")
"""Numbers by which caches know whether they are current. In a new file they start at the current time, not at
0: if they repeated a number of the file before it, what was cached from that file would look current."""

_IDENTITY: Final = "identity"
"""A random number in `meta` that no other file has: the index of a scope remembers which one it follows."""

_START_META: Final[dict[str, int | str]] = {
    "state": "empty",
    "done": 0,
    "total": 0,
    "left_out": "[0,[]]",
    "ignore_filters": "[]",
    "followed": "",
}
"""`left_out` is JSON: how many files and folders are not part of the vault although a person may think so,
then some of their paths, each with the reason (`vault.walk.LEFT_OUT`). `ignore_filters` is JSON too:
those by which `files.ignored` is set. `followed` is only for the index of a scope: see `scope_sync`."""


IN_LIST: Final = 500
"""Values in one SQL list: below SQLite's limit on variables, and few enough texts for memory."""

_Value = TypeVar("_Value", int, str)


def split_for_sql(values: Iterable[_Value]) -> Iterator[tuple[str, list[_Value]]]:
    """Yields the values, sorted, in lists for SQL, each with its placeholders."""
    ordered = sorted(values)
    for start in range(0, len(ordered), IN_LIST):
        part = ordered[start : start + IN_LIST]
        yield ", ".join("?" * len(part)), part


class UnusableIndex(Exception):
    """The index file cannot be used; the text, which is for the log, says why. Callers never see it."""


def connect(file: Path, *, writer: bool) -> sqlite3.Connection:
    """Opens a connection in autocommit mode, for one thread at a time."""
    db = sqlite3.connect(
        file,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_MILLISECONDS / 1000,
        cached_statements=96,
    )
    try:
        db.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KIB if writer else READER_CACHE_KIB}")
        db.execute("PRAGMA temp_store = MEMORY")
        if writer:
            # Derived data: a power cut may lose the last commits but never corrupts the file.
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
            db.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
        else:
            db.execute("PRAGMA query_only = ON")
    except BaseException:
        db.close()
        raise
    return db


def create(file: Path) -> None:
    """Create the tables in a new file."""
    db = connect(file, writer=True)
    try:
        db.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        for statement in TABLES.split(";"):
            if statement.strip():
                db.execute(statement)
        start: dict[str, int | str] = {**_START_META, _IDENTITY: secrets.randbits(62)}
        start |= dict.fromkeys(_COUNTERS, time.time_ns() // 1000)
        db.executemany("INSERT INTO meta VALUES (?, ?)", start.items())
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")
    finally:
        db.close()


def start_log(db: sqlite3.Connection) -> None:
    """Empty the log of changes after a first build, whose entries nobody needs. The first position is later
    than any before, in this file or in another that was here (see _COUNTERS), so that nobody takes what it
    knows of an earlier log for a state of this one."""
    later = "max(value, (SELECT coalesce(max(seq), 0) + 1 FROM changed))"
    db.execute(f"INSERT INTO changed SELECT {later}, 0 FROM meta WHERE name = 'generation'")
    db.execute("DELETE FROM changed WHERE seq < (SELECT max(seq) FROM changed)")


def log_changes(db: sqlite3.Connection, files: Iterable[int]) -> None:
    """Log that the rows of these files have changed. Not by a trigger: for a statement with a trigger SQLite
    opens a savepoint, at which the full-text table writes what it has collected. With a trigger, a rename of
    a note with 250 backlinks wrote 250 segments, which took a third of the time to index it."""
    db.executemany("INSERT INTO changed (file) VALUES (?)", [(file,) for file in files])


def empty(db: sqlite3.Connection) -> None:
    """Delete what the tables contain, except the words in `terms`: readers have loaded those, and find
    nothing by them. The log stays too, so that `start_log` begins after it."""
    for table in sorted(_ROW_TABLES - {"changed"}):
        db.execute(f"DELETE FROM {table}")
    db.execute("INSERT INTO words (words) VALUES ('delete-all')")


def trim_log(db: sqlite3.Connection) -> None:
    """Remove the oldest entries of the log of changes."""
    db.execute("DELETE FROM changed WHERE seq <= (SELECT max(seq) FROM changed) - ?", (LOGGED_CHANGES,))


def check(file: Path) -> None:
    """Raises `UnusableIndex` unless the file is an index of this version with readable tables."""
    try:
        db = connect(file, writer=True)
        try:
            (application,) = db.execute("PRAGMA application_id").fetchone()
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION_ID:
                raise UnusableIndex("another program made it")
            if version != SCHEMA_VERSION:
                raise UnusableIndex(f"it has version {version} and this program needs {SCHEMA_VERSION}")
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if lacking := _EXPECTED - tables:
                raise UnusableIndex(f"tables are missing: {', '.join(sorted(lacking))}")
            known = {name for (name,) in db.execute("SELECT name FROM meta")}
            if missing := {*_START_META, *_COUNTERS, _IDENTITY} - known:
                raise UnusableIndex(f"values are missing: {', '.join(sorted(missing))}")
            db.execute("SELECT id FROM files LIMIT 1").fetchall()
            db.execute("SELECT rowid FROM words WHERE words MATCH 'a' LIMIT 1").fetchall()
        finally:
            db.close()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return
        raise UnusableIndex(str(error)) from error
    except sqlite3.DatabaseError as error:
        raise UnusableIndex(str(error)) from error


def remove(file: Path) -> None:
    """Delete the file and the files that SQLite keeps next to it."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
