"""The journal's tables, and what opening its database does: create them, bring older ones up to date, and
recognize a newer one.

Raises what SQLite raises; `journal_database.py` decides what that means.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultbridge.errors import EngineFailure
from vaultbridge.vault.write.journal_rows import seal_row
from vaultbridge.vault.write.store_notes import SKIPPED, Loss, StoreNotes

if TYPE_CHECKING:
    import sqlite3

BUSY_SECONDS: Final = 10.0
"""How long a reader or writer waits for a transaction of another process: those are short."""

_APPLICATION_ID: Final = 0x76624A31
_SCHEMA_VERSION: Final = 1

NEWER_VERSIONS: Final = 100
"""A schema's number up to so many above ours is a newer version's; any other is damage."""

_SCHEMA: Final = """
CREATE TABLE transactions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, state TEXT NOT NULL, at REAL NOT NULL, actor TEXT NOT NULL,
  label TEXT NOT NULL, undo_of INTEGER, undone_by INTEGER, kept TEXT NOT NULL DEFAULT '',
  acts BLOB NOT NULL, staged BLOB, to_undo INTEGER, author TEXT NOT NULL DEFAULT '',
  seal BLOB, incomplete INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX pending ON transactions (id) WHERE state IN ('pending', 'applying');
CREATE TABLE touched (path_key TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (path_key, id)) WITHOUT ROWID;
CREATE INDEX touched_by ON touched (id);
CREATE TABLE contents (digest BLOB PRIMARY KEY, stored INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE uses (id INTEGER NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (id, digest)) WITHOUT ROWID;
CREATE INDEX used_by ON uses (digest);
"""

_INDEXES: Final = (
    "CREATE INDEX IF NOT EXISTS times ON transactions (id, at)",
    "CREATE INDEX IF NOT EXISTS content_sizes ON contents (stored)",
    "CREATE INDEX IF NOT EXISTS rolled_back ON transactions (id) WHERE state = 'rolled-back'",
    "CREATE TABLE IF NOT EXISTS root (place BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS acceptances (proposal TEXT NOT NULL, id INTEGER NOT NULL,"
    " report BLOB NOT NULL, PRIMARY KEY (proposal, id)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS accepted_by ON acceptances (id)",
)
"""The indexes let the journal enforce its limits without reading its long columns. `root` has at most one
row: the vault's folder, in which the recorded places are. `acceptances` has the proposals that changes carry
out. Journals that an older version created get them too."""

LATER_COLUMNS: Final = {
    "author": "TEXT NOT NULL DEFAULT ''",
    "seal": "BLOB",
    "incomplete": "INTEGER NOT NULL DEFAULT 0",
}
"""What a journal that an older version created does not have yet."""

_UNDER_WAY: Final = "state IN ('pending', 'applying')"

START_OF_2020: Final = 1_577_836_800
"""The Unix time at the start of 2020. Where nothing says which numbers a lost journal had given, the next is
the seconds since then: no journal makes a change a second for years."""


def connect(file: Path, notes: StoreNotes | None) -> tuple[sqlite3.Connection, bool]:
    """Opens the database, or creates it. Returns whether a newer version wrote it; such a one is only read.
    Without `notes` the caller knows the numbers."""
    import sqlite3

    db = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        if _is_new(db):
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        elif _is_newer(db):
            db.execute("PRAGMA query_only = ON")
            return db, True
        check_header(db, file)
        db.execute("PRAGMA journal_mode = WAL")
        # FULL: the record of a change is on the disk before the first note changes.
        db.execute("PRAGMA synchronous = FULL")
        # On macOS only this reaches the disk itself (see `sync_file`); elsewhere it changes nothing.
        db.execute("PRAGMA fullfsync = ON")
        _create(db, notes)
        _add_columns(db)
        for statement in _INDEXES:
            db.execute(statement)
        file.chmod(0o600)
        if notes is not None:
            _check_numbers(db, notes)
    except BaseException:
        db.close()
        raise
    return db, False


@contextmanager
def transaction(db: sqlite3.Connection, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
    """A transaction that is not `durable` is visible to other processes and survives this process, but it
    survives a power cut only after the next durable one. Raises `EngineFailure` for a newer version's
    journal."""
    if db.execute("PRAGMA query_only").fetchone()[0]:
        raise make_newer_failure()
    if not durable:
        db.execute("PRAGMA synchronous = NORMAL")
    try:
        with db:
            db.execute("BEGIN IMMEDIATE")
            yield db
    finally:
        if not durable:
            db.execute("PRAGMA synchronous = FULL")


def make_newer_failure(*, reading: bool = False) -> EngineFailure:
    what = "Its history cannot be shown" if reading else "Nothing can be changed"
    return EngineFailure(
        f"{what} by this version of vaultbridge: a newer one wrote the vault's journal.",
        hint="Update vaultbridge, and start it again where an older one runs.",
        paths=(),
    )


def start_numbers_above(db: sqlite3.Connection, number: int) -> None:
    """The next transaction's number will be higher than this one."""
    db.execute("DELETE FROM sqlite_sequence WHERE name = 'transactions'")
    db.execute("INSERT INTO sqlite_sequence VALUES ('transactions', ?)", (number,))


def choose_first_above(known: int) -> int:
    """The number above which numbers start after a loss, when `known` is the highest that is known to have
    been given, 0 if none is."""
    return known + SKIPPED if known else int(time.time()) - START_OF_2020


def read_given(db: sqlite3.Connection) -> int:
    """The last number that the database has given."""
    (given,) = db.execute(
        "SELECT max(coalesce((SELECT max(id) FROM transactions), 0),"
        " coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'transactions'), 0))"
    ).fetchone()
    return int(given)


def _is_new(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT count(*) = 0 FROM sqlite_master").fetchone()[0])


def _is_newer(db: sqlite3.Connection) -> bool:
    import sqlite3

    known = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if known != _APPLICATION_ID or not _SCHEMA_VERSION <= version <= _SCHEMA_VERSION + NEWER_VERSIONS:
        raise sqlite3.DatabaseError("it is not a journal of this version")
    return bool(version > _SCHEMA_VERSION)


def check_header(db: sqlite3.Connection, file: Path) -> None:
    """Raises `sqlite3.DatabaseError` for a database of ours that SQLite would refuse to write for ever: a bit
    of its header has flipped, and it is in a format that SQLite only reads (fileformat.html, 1.3.3).

    SQLite is asked, because to open the file ourselves would release the locks that this process has on it
    when it is closed (howtocorrupt.html, 2.2). The next process to close it would then take itself for the
    last, and remove the log in which this one goes on writing."""
    import sqlite3

    version = db.execute("PRAGMA user_version").fetchone()[0]
    try:
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute(f"PRAGMA user_version = {version}")  # SQLite refuses only a real change
        finally:
            db.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_READONLY and os.access(file, os.W_OK):
            raise sqlite3.DatabaseError("its header is damaged") from error
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise


def _create(db: sqlite3.Connection, notes: StoreNotes | None) -> None:
    if not _is_new(db):
        return
    with transaction(db):
        # Checked again under the lock, because another process may have been faster.
        if not _is_new(db):
            return
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
        last = notes.read_last() if notes is not None else 0
        if notes is not None and last:
            start_numbers_above(db, choose_first_above(last))
            text = f"The journal was gone: changes up to {last} are no longer in the history."
            notes.add_loss(Loss(time.time(), text, ((1, last),)))


def list_columns(db: sqlite3.Connection) -> set[str]:
    """The names of the main table's columns."""
    # As bytes, because the names in a damaged file need not be text.
    rows = db.execute("SELECT CAST(name AS BLOB) FROM pragma_table_info('transactions')").fetchall()
    return {bytes(name).decode("utf-8", "replace") for (name,) in rows}


def list_missing_columns(db: sqlite3.Connection) -> list[str]:
    """What an older version's journal does not have yet."""
    return [name for name in LATER_COLUMNS if name not in list_columns(db)]


def _add_columns(db: sqlite3.Connection) -> None:
    if not list_missing_columns(db):
        return
    with transaction(db):
        # Checked again under the lock, because another process may have been faster.
        missing = list_missing_columns(db)
        for name in missing:
            db.execute(f"ALTER TABLE transactions ADD COLUMN {name} {LATER_COLUMNS[name]}")
        if "seal" in missing:
            rows = db.execute("SELECT id, at, actor, label, undo_of, acts, author FROM transactions")
            seals = [(seal_row(*row), row[0]) for row in rows]
            db.executemany("UPDATE transactions SET seal = ? WHERE id = ?", seals)


def _check_numbers(db: sqlite3.Connection, notes: StoreNotes) -> None:
    """Compares the database with the last number that is known to have been given. One that does not reach it
    is an old copy, or has lost what was written last: those numbers must not be given again, and a change
    that had ended must not be taken for one that was interrupted."""
    last = notes.read_last()
    if not last:
        (ended,) = db.execute(f"SELECT max(id) FROM transactions WHERE NOT {_UNDER_WAY}").fetchone()
        if ended:
            notes.remember_last(ended)
        return
    if read_given(db) >= last and not _list_reopened(db, last):
        return
    with transaction(db):
        # Read again under the lock: another process may have been faster.
        given, reopened = read_given(db), _list_reopened(db, last)
        if given < last:
            start_numbers_above(db, choose_first_above(last))
            lost = ((given + 1, last),)
            text = (
                f"The journal had lost its newest changes, {given + 1} to {last}, or an older copy had been "
                "put in its place: they are no longer in the history."
            )
            notes.add_loss(Loss(time.time(), text, lost))
        if reopened:
            db.execute(f"UPDATE transactions SET state = 'done' WHERE {_UNDER_WAY} AND id <= ?", (last,))
            text = f"How change {reopened[0]} ended was lost; it had ended, so it was left as it is."
            notes.add_loss(Loss(time.time(), text))


def _list_reopened(db: sqlite3.Connection, last: int) -> list[int]:
    rows = db.execute(f"SELECT id FROM transactions WHERE {_UNDER_WAY} AND id <= ?", (last,)).fetchall()
    return [number for (number,) in rows]
