"""Opens and uses the journal's database file, whatever state it is in.

The file is opened when it is first needed, so a vault whose journal cannot be opened can still be read. A
file that is deleted while it is open is created again: what is written to a file without a name would be
lost. A damaged file is put aside. `journal.py` gives the tables their meaning.
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
from vaultbridge.vault.cache_folder import CACHE_VARIABLE
from vaultbridge.vault.wal_index import WalIndex

if TYPE_CHECKING:
    import sqlite3

_Result = TypeVar("_Result")

BUSY_SECONDS: Final = 10.0
"""How long a reader or writer waits for a transaction of another process: those are short."""

DAMAGED_KEPT: Final = 20
"""How many damaged journals are kept before the last one is overwritten."""

_APPLICATION_ID: Final = 0x76624A31
_SCHEMA_VERSION: Final = 1
_SCHEMA: Final = """
CREATE TABLE transactions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, state TEXT NOT NULL, at REAL NOT NULL, actor TEXT NOT NULL,
  label TEXT NOT NULL, undo_of INTEGER, undone_by INTEGER, kept TEXT NOT NULL DEFAULT '',
  acts BLOB NOT NULL, staged BLOB, to_undo INTEGER, author TEXT NOT NULL DEFAULT ''
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
)
"""The indexes let the journal enforce its limits without reading its long columns. `root` has at most one
row: the vault's folder, in which the recorded places are. Journals that an older version created get them
too."""

_ADD_AUTHOR: Final = "ALTER TABLE transactions ADD COLUMN author TEXT NOT NULL DEFAULT ''"
"""For a journal that an older version created. That version can go on using the file: it names its columns,
and what it writes has no author."""


class JournalFile:
    """The database. Any thread may use it."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._wal_index = WalIndex(place)
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._status: os.stat_result | None = None

    def close(self) -> None:
        with self._lock:
            self._close()

    def ask(self, question: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Returns what `question` returns for the database that is on the disk now. If that turns out to be
        damaged, `question` is called again with a new one, so it must have no effect outside the database.
        Raises `EngineFailure`."""
        import sqlite3

        with self._lock:
            db = self._connection()
            try:
                return question(db)
            except (sqlite3.Error, msgspec.MsgspecError, UnicodeDecodeError) as error:
                if not _is_damage(error):
                    raise _failure(error) from error
                self._close()
                # Another process may have put it aside already.
                return question(self._open(damage=str(error) if self._is_current() else ""))

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """One durable transaction on the database that was used last. Raises `EngineFailure`."""
        import sqlite3

        try:
            with self._lock:
                db = self._db or self._connection()
                self._wal_index.repair()
                with transaction(db):
                    yield db
        except sqlite3.Error as error:
            raise _failure(error) from error

    def _connection(self) -> sqlite3.Connection:
        """The connection to the file that has the journal's name now."""
        if self._db is not None:
            if self._is_current():
                return self._db
            self._close()
        return self._open()

    def _open(self, *, damage: str = "") -> sqlite3.Connection:
        """Opens the file that is there now. When it is known to have a `damage`, it is put aside first."""
        self._db = self._status = None
        try:
            if damage:
                _put_aside(self._place, damage)
            self._wal_index.repair()
            db = open_journal(self._place)
        except OSError as error:
            raise _cannot_open(self._place) from error
        self._db = db
        self._wal_index.record()
        try:
            self._status = self._place.stat()
        except OSError as error:
            self._close()
            self._db = None
            raise _cannot_open(self._place) from error
        return db

    def _close(self) -> None:
        if self._db is None:
            return
        # Closing a connection reads the mapped file.
        self._wal_index.repair()
        self._db.close()
        self._wal_index.forget()

    def _is_current(self) -> bool:
        """Whether the file that we opened still has its name."""
        self._wal_index.repair()
        try:
            return self._status is not None and os.path.samestat(self._status, self._place.stat())
        except OSError:
            return False


@contextmanager
def transaction(db: sqlite3.Connection, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
    """A transaction that is not `durable` is visible to other processes and survives this process, but it
    survives a power cut only after the next durable one."""
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
    return EngineFailure(f"The journal could not be used: {error}.", hint="Nothing was changed.", paths=())


def _is_damage(error: Exception) -> bool:
    """Whether the file's content is wrong. One that is locked, forbidden, full or closed is not damaged."""
    import sqlite3

    if isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return False
    # An error in decoding a row has no code.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def _cannot_open(file: Path) -> EngineFailure:
    if file.is_dir():
        return EngineFailure(
            f"The journal cannot be opened: {file.name} in the cache folder is a folder, not a file.",
            hint="Move that folder away. Nothing can be changed until then.",
            paths=(),
        )
    return EngineFailure(
        "The journal cannot be opened.",
        hint=f"Make the cache folder writable, or set {CACHE_VARIABLE} to another folder.",
        paths=(),
    )


def open_journal(file: Path) -> sqlite3.Connection:
    """Opens the database; creates it, and its folder, when it is missing. A file that is damaged or not ours
    is put aside with a warning: its changes can no longer be undone, but nothing in it is destroyed. Raises
    `EngineFailure`."""
    import sqlite3

    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            return _connect(file)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            # The text of SQLite's own error may quote damaged bytes.
            if not _is_damage(error):
                raise
            _put_aside(file, str(error))
            return _connect(file)
    except (OSError, sqlite3.Error) as error:
        raise _cannot_open(file) from error


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
        # FULL: the record of a change is on the disk before the first note changes.
        db.execute("PRAGMA synchronous = FULL")
        # On macOS only this reaches the disk itself (see `sync_file`); elsewhere it changes nothing.
        db.execute("PRAGMA fullfsync = ON")
        _create(db)
        _add_author(db)
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


def _has_author(db: sqlite3.Connection) -> bool:
    # Counted, because the names in a damaged file need not be text.
    counted = "SELECT count(*) FROM pragma_table_info('transactions') WHERE name = 'author'"
    return bool(db.execute(counted).fetchone()[0])


def _add_author(db: sqlite3.Connection) -> None:
    if not _has_author(db):
        with transaction(db):
            # Checked again under the lock, because another process may have been faster.
            if not _has_author(db):
                db.execute(_ADD_AUTHOR)


def _create(db: sqlite3.Connection) -> None:
    with transaction(db):
        # Checked again under the lock, because another process may have been faster.
        if not _is_new(db):
            return
        for statement in _SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
