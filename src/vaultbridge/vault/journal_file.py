"""The journal's database file: its tables, and opening it whatever state it is in.

What the tables mean is `journal.py`'s.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultbridge.errors import EngineFailure

if TYPE_CHECKING:
    import sqlite3

BUSY_SECONDS: Final = 10.0
"""How long a reader or writer waits for another process's short transaction on the journal."""

DAMAGED_KEPT: Final = 20
"""How many damaged journals are put aside before the last of them is replaced."""

_APPLICATION_ID: Final = 0x76624A31
_SCHEMA_VERSION: Final = 1
_SCHEMA: Final = """
CREATE TABLE transactions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, state TEXT NOT NULL, at REAL NOT NULL, actor TEXT NOT NULL,
  label TEXT NOT NULL, undo_of INTEGER, undone_by INTEGER, kept TEXT NOT NULL DEFAULT '',
  acts BLOB NOT NULL, staged BLOB, to_undo INTEGER
);
CREATE INDEX pending ON transactions (id) WHERE state IN ('pending', 'applying');
CREATE TABLE touched (path_key TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (path_key, id)) WITHOUT ROWID;
CREATE INDEX touched_by ON touched (id);
CREATE TABLE contents (digest BLOB PRIMARY KEY, stored INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE uses (id INTEGER NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (id, digest)) WITHOUT ROWID;
CREATE INDEX used_by ON uses (digest);
"""


def open_journal(file: Path) -> sqlite3.Connection:
    """Opens or makes the database. One that is damaged or not ours is put aside, with a warning: what it
    held can no longer be undone, but nothing of it is destroyed."""
    import sqlite3

    try:
        return _connect(file)
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError):
            raise EngineFailure(
                "The journal cannot be opened.", hint="Is the cache folder writable?"
            ) from error
        _put_aside(file, str(error))
        return _connect(file)


def _put_aside(file: Path, why: str) -> None:
    import logging

    aside = file
    for number in range(1, DAMAGED_KEPT + 1):
        aside = file.with_name(f"{file.stem}.damaged-{number}{file.suffix}")
        if not aside.exists():
            break
    logging.getLogger(__name__).warning(
        "the journal cannot be used (%s) and was put aside as %s", why, aside.name
    )
    file.replace(aside)
    for tail in ("-wal", "-shm"):
        file.with_name(file.name + tail).unlink(missing_ok=True)


def _connect(file: Path) -> sqlite3.Connection:
    import sqlite3

    db = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        if _is_new(db):
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        elif not _is_journal(db):
            raise sqlite3.DatabaseError("it is not a journal of this version")
        db.execute("PRAGMA journal_mode = WAL")
        # FULL: a transaction that was recorded is on the disk before the first note changes.
        db.execute("PRAGMA synchronous = FULL")
        _create(db)
        file.chmod(0o600)
    except BaseException:
        db.close()
        raise
    return db


def _is_new(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT count(*) = 0 FROM sqlite_master").fetchone()[0])


def _is_journal(db: sqlite3.Connection) -> bool:
    known = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    return (known, version) == (_APPLICATION_ID, _SCHEMA_VERSION)


def _create(db: sqlite3.Connection) -> None:
    with db:
        db.execute("BEGIN IMMEDIATE")
        # Asked again under the lock: another process may have been quicker.
        if not _is_new(db):
            return
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
