"""The journal's database file: its tables, and opening and using it whatever state it is in.

A file that is deleted while it is open is made anew: what is written to a file without a name would be lost.
One that turns out to be damaged is put aside. What the tables mean is `journal.py`'s.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from vaultbridge.errors import EngineFailure
from vaultbridge.vault.wal_index import WalIndex

if TYPE_CHECKING:
    import sqlite3

Answer = TypeVar("Answer")

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


_INDEXES: Final = (
    "CREATE INDEX IF NOT EXISTS times ON transactions (id, at)",
    "CREATE INDEX IF NOT EXISTS content_sizes ON contents (stored)",
)
"""What the bounds of the journal are asked for, beside the long columns. Made also in a journal that an older
version began."""


class JournalFile:
    """The database, open. Any thread may use it."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._wal_index = WalIndex(place)
        self._lock = threading.RLock()
        self._open()

    def _open(self, *, damage: str = "") -> None:
        """Open what lies there now; put it aside before when it was found to have a `damage`."""
        self._status: os.stat_result | None = None
        try:
            if damage:
                _put_aside(self._place, damage)
            self._wal_index.repair()
            self._db = open_journal(self._place)
        except OSError as error:
            raise _unopened() from error
        try:
            self._status = self._place.stat()
        except OSError as error:
            self._close()
            raise _unopened() from error

    def _close(self) -> None:
        # Closing a connection reads what is mapped.
        self._wal_index.repair()
        self._db.close()
        self._wal_index.forget()

    def close(self) -> None:
        with self._lock:
            self._close()

    def ask(self, question: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """What `question` gives of the database that lies on the disk now; asked again of a new one when that
        is damaged, so it must have no effect but in the database. Raises `EngineFailure`."""
        import sqlite3

        with self._lock:
            if not self._is_there():
                self._close()
                self._open()
            try:
                return question(self._db)
            except (sqlite3.Error, msgspec.MsgspecError, UnicodeDecodeError) as error:
                if not _is_damage(error):
                    raise _failure(error) from error
                self._close()
                # Another process may have put it aside already.
                self._open(damage=str(error) if self._is_there() else "")
                return question(self._db)

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """One durable transaction on the database that was last asked. Raises `EngineFailure`."""
        import sqlite3

        try:
            with self._lock:
                self._wal_index.repair()
                with transaction(self._db) as db:
                    yield db
        except sqlite3.Error as error:
            raise _failure(error) from error

    def _is_there(self) -> bool:
        self._wal_index.repair()
        try:
            return self._status is not None and os.path.samestat(self._status, self._place.stat())
        except OSError:
            return False


@contextmanager
def transaction(db: sqlite3.Connection, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
    """With `durable` false, other processes see it and it outlives this one, but only the next durable one
    makes sure that it outlives a power cut."""
    if not durable:
        db.execute("PRAGMA synchronous = NORMAL")
    try:
        with db:
            db.execute("BEGIN IMMEDIATE")
            yield db
    finally:
        if not durable:
            db.execute("PRAGMA synchronous = FULL")


def _failure(error: Exception) -> EngineFailure:
    return EngineFailure(f"The journal could not be used: {error}.", hint="Nothing was changed.")


def _is_damage(error: Exception) -> bool:
    """Whether the file is not what we wrote, rather than locked, forbidden, without room or closed."""
    import sqlite3

    if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return False
    # What cannot be decoded has no code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def _unopened() -> EngineFailure:
    return EngineFailure("The journal cannot be opened.", hint="Is the cache folder writable?")


def open_journal(file: Path) -> sqlite3.Connection:
    """Opens or makes the database, and the folder for it. One that is damaged or not ours is put aside, with
    a warning: what it held can no longer be undone, but nothing of it is destroyed. Raises
    `EngineFailure`."""
    import sqlite3

    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return _connect(file)
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            _put_aside(file, str(error))
            return _connect(file)
    except (OSError, sqlite3.Error) as error:
        raise _unopened() from error


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
        for statement in _INDEXES:
            db.execute(statement)
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
    with transaction(db):
        # Asked again under the lock: another process may have been quicker.
        if not _is_new(db):
            return
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
