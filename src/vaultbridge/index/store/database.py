"""Manages the index file of one vault: connections, transactions, and its own metadata.

Several processes may have the same file open. Each has one writing connection behind a lock and a few reading
ones; a write is one short IMMEDIATE transaction. A file that was deleted, is damaged or has another version
is replaced by an empty one, with a warning in the log, and the vault's index leader fills it again. What the
rows contain is decided in `write` and in the queries.

`Terms` is the dictionary of all words in the index. A search is for substrings, but the full-text table finds
only whole words and prefixes. So the words that contain `bridg` are found by searching all words as one long
run of bytes: 30,000 words take 0.2 ms, a million about 10 ms, and each costs its own length in memory.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import sys
import threading
from array import array
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from vaultbridge.cancellation import NEVER_CANCELLED, current_cancellation
from vaultbridge.errors import EngineFailure, VaultbridgeError
from vaultbridge.index.store import schema
from vaultbridge.index.store.file_cache import FileCache
from vaultbridge.links.resolve import FileTable
from vaultbridge.vault.locking import FileLock
from vaultbridge.vault.walk import Skipped

EXPANSION: Final = 400
"""The most words that one string is expanded to. The limit keeps SQLite's query small; a string that occurs
in more words (one or two letters) is searched for in the texts themselves."""

_SEPARATOR: Final = b"\n"


class Terms:
    """The words of the index, as far as they are loaded. Any thread may use it."""

    __slots__ = ("_guard", "_identity", "_last", "_words")

    def __init__(self) -> None:
        self._words = bytearray(_SEPARATOR)
        self._last = 0
        self._identity = 0
        """Which file they are from: a query that began before it was replaced still reads the other one."""
        self._guard = threading.Lock()

    def refresh(self, db: sqlite3.Connection) -> None:
        """Load the words that were added since the last time."""
        with self._guard:
            identity = read_meta(db, "identity")
            if identity != self._identity:
                self._words, self._last, self._identity = bytearray(_SEPARATOR), 0, identity
            joined, last = db.execute(
                "SELECT group_concat(term, char(10)), max(id) FROM terms WHERE id > ?", (self._last,)
            ).fetchone()
            if joined is not None:
                self._words += joined.encode() + _SEPARATOR
                self._last = last

    def find_containing(self, part: str, most: int = EXPANSION) -> list[str] | None:
        """Returns the words that contain `part`, or None when there are more than `most`."""
        return self._find(part.encode(), most)

    def find_ending(self, part: str, most: int = EXPANSION) -> list[str] | None:
        return self._find(part.encode() + _SEPARATOR, most)

    def find_starting(self, part: str) -> list[str] | None:
        return self._find(_SEPARATOR + part.encode(), EXPANSION)

    def _find(self, needle: bytes, most: int) -> list[str] | None:
        found: list[str] = []
        with self._guard:
            words = self._words
            at = words.find(needle)
            while at >= 0:
                start = words.rfind(_SEPARATOR, 0, at + 1) + 1
                end = words.find(_SEPARATOR, at + 1)
                found.append(words[start:end].decode())
                if len(found) > most:
                    return None
                at = words.find(needle, end)
        return found


CHECKED_STEPS: Final = 50_000
"""After how many instructions SQLite asks whether somebody still waits for the answer: a few ms of work. Each
time it has to wait for the interpreter lock, so it should not ask more often."""

IDLE_READERS: Final = 4
"""Idle reading connections that stay open: as many as queries run at once, at about 1 MiB each."""

REPLACE_SECONDS: Final = 20.0
"""How long to wait for another process that is replacing the file."""

IndexState = Literal["empty", "building", "ready"]

log = logging.getLogger(__name__)


class IndexStatus(Struct, frozen=True):
    """The state of the index. `generation` counts committed changes. While `building`, `done` of `total`
    notes are searchable."""

    generation: int
    state: IndexState
    done: int
    total: int

    @property
    def complete(self) -> bool:
        return self.state == "ready"


class Index:
    """The index of one vault. Open it with `Index.open`. Any thread may use it; every query goes through
    `reading`."""

    def __init__(self, folder: Path, name: str = schema.INDEX_FILE) -> None:
        self.folder = folder
        self.file = folder / name
        self.terms = Terms()
        self._idle: list[sqlite3.Connection] = []
        self._opened = 0
        """How often the connections were dropped, because the file had been replaced."""
        self._guard = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._writer_lock = threading.RLock()
        self._files = FileCache()
        self._identity: tuple[int, int] | None = None
        self._closed = False

    @classmethod
    def open(cls, folder: Path, name: str = schema.INDEX_FILE) -> Index:
        """Opens the index in a vault's cache folder; creates it if missing and replaces it if unusable."""
        index = cls(folder, name)
        index._prepare()
        return index

    def close(self) -> None:
        """Close the idle connections. One that is in use is closed when its transaction ends."""
        with self._writer_lock:
            self._closed = True
            self._drop_connections()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A reading connection in a transaction: every query in the block sees the same state. Raises
        TimedOut when the caller has stopped waiting for the answer."""
        cancellation = current_cancellation()
        cancellation.check()
        db, opened = self._take_reader()
        try:
            handler = None if cancellation is NEVER_CANCELLED else cancellation.is_requested
            db.set_progress_handler(handler, CHECKED_STEPS)
            db.execute("BEGIN")
            yield db
            db.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            db.close()
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
                cancellation.check()
            raise self._translate_error(error) from error
        except BaseException:
            db.set_progress_handler(None, 0)
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            self._release_reader(db, opened)
            raise
        else:
            self._release_reader(db, opened)

    @contextmanager
    def writing(self, *, silently: bool = False) -> Iterator[sqlite3.Connection]:
        """The writing connection in an IMMEDIATE transaction, committed with a new generation, or rolled back
        when the block raises. `silently` keeps the generation, for writes that change no answer. Do not
        nest it."""
        with self._writer_lock:
            self._reopen_if_replaced()
            if self._writer is None:
                self._writer = self._connect(writer=True)
            db = self._writer
            try:
                db.execute("BEGIN IMMEDIATE")
                yield db
                if not silently:
                    add_meta(db, generation=1)
                    schema.trim_log(db)
                db.execute("COMMIT")
            except sqlite3.DatabaseError as error:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise self._translate_error(error) from error
            except BaseException:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise

    def compact(self) -> None:
        """After a first build: checkpoint the write-ahead file, which is large, as far as readers allow, and
        release the memory that the build took."""
        with self._writer_lock:
            if self._writer is not None:
                with suppress(sqlite3.OperationalError):
                    self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                # This frees its page cache and the words that the full-text table had collected.
                self._writer.close()
                self._writer = None
        release_memory()

    def checkpoint(self) -> None:
        """Copy the content of the write-ahead file into the index, as far as readers allow. On a separate
        connection, so that neither queries nor writes wait for it."""
        with suppress(sqlite3.Error, VaultbridgeError):
            self._reopen_if_replaced()
            with closing(self._connect(writer=True)) as db:
                db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def status(self) -> IndexStatus:
        with self.reading() as db:
            return read_status(db)

    def table(self, db: sqlite3.Connection | None = None) -> FileTable:
        """Returns all files by name, as of the transaction in `db`. Shared: copy it before you change it."""
        if db is None:
            with self.reading() as own:
                return self.table(own)
        return self._files.table(db)

    def table_while_writing(self, db: sqlite3.Connection) -> FileTable:
        """Returns the same within a writing transaction. That is not cached, because the transaction may be
        rolled back; what was committed before is, so that only the changes of this transaction are added."""
        self.table()
        return self._files.table(db, keep=False)

    def paths(self, db: sqlite3.Connection) -> dict[int, str]:
        """Returns each file's path by id, as of the transaction in `db`. Shared: do not change it."""
        return self._files.paths(db)

    def folders(self, db: sqlite3.Connection) -> dict[str, int]:
        """Returns how many files are in each folder that has any. Shared: do not change it."""
        return self._files.folders(db)

    def searchable(self, db: sqlite3.Connection) -> set[int]:
        """Returns the ids of all files whose content is searched. Shared: do not change it."""
        return self._files.searchable(db)

    def ignored(self, db: sqlite3.Connection) -> set[int]:
        """Returns the ids of the files that the app ignores. Shared: do not change it."""
        return self._files.ignored(db)

    def view_paths(self, db: sqlite3.Connection) -> dict[int, str]:
        """Returns the path of each file that the app does not ignore, by id. Shared: do not change it."""
        return self._files.view_paths(db)

    def times(self, db: sqlite3.Connection) -> array[int]:
        """Returns when each file was last modified, by id. Shared: do not change it."""
        return self._files.times(db)

    def sizes(self, db: sqlite3.Connection) -> tuple[array[int], float]:
        """Returns the files' sizes in bytes, by id, and the average size of those that are searched. Shared:
        do not change it."""
        files = self._files.sizes(db)
        return files.sizes, max(1.0, files.total / max(1, len(self.searchable(db))))

    def rebuild(self) -> None:
        """Delete the file and start with an empty one."""
        with self._writer_lock, self._hold_replace_lock():
            self._drop_connections()
            self._create()

    def _prepare(self) -> None:
        if self._stat_identity() is None:
            with self._hold_replace_lock():
                if self._stat_identity() is None:
                    self._create()
        try:
            schema.check(self.file)
        except schema.UnusableIndex as unusable:
            log.warning("The search index cannot be used and is being rebuilt: %s.", unusable)
            with self._hold_replace_lock():
                # Another process may have replaced it while we waited for the lock.
                try:
                    schema.check(self.file)
                except schema.UnusableIndex:
                    self._create()
        self._identity = self._stat_identity()

    @contextmanager
    def _hold_replace_lock(self) -> Iterator[None]:
        with FileLock(self.folder / "index.lock").hold(REPLACE_SECONDS, what="The search index"):
            yield

    def _create(self) -> None:
        """Puts an empty file in the place of whatever is there."""
        # Created under another name first, so that no process ever opens a file without tables.
        fresh = self.file.with_name(f"{self.file.name}.{os.getpid()}.new")
        try:
            schema.remove(fresh)
            schema.create(fresh)
            schema.remove(self.file)
            fresh.replace(self.file)
        except (OSError, sqlite3.Error) as error:
            with suppress(OSError):
                schema.remove(fresh)
            raise EngineFailure(
                "The search index cannot be written.",
                hint="Check that the cache folder is writable and has free space.",
            ) from error
        self._identity = self._stat_identity()

    def _stat_identity(self) -> tuple[int, int] | None:
        """None if there is no file, or its folder cannot be used: whoever then makes one says why."""
        try:
            status = self.file.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _reopen_if_replaced(self) -> None:
        """Reopen the file if a person or another process has deleted or replaced it."""
        if self._closed:
            raise EngineFailure("The search index is closed.")
        if self._identity is not None and self._stat_identity() == self._identity:
            return
        with self._writer_lock:
            self._drop_connections()
            self._prepare()

    def _drop_connections(self) -> None:
        with self._guard:
            idle, self._idle = self._idle, []
            self._opened += 1
            self._files.clear()
            self.terms = Terms()
        for db in idle:
            db.close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _take_reader(self) -> tuple[sqlite3.Connection, int]:
        """Returns a connection, and which opening of the file it belongs to."""
        self._reopen_if_replaced()
        with self._guard:
            opened = self._opened
            if self._idle:
                return self._idle.pop(), opened
        return self._connect(writer=False), opened

    def _connect(self, *, writer: bool) -> sqlite3.Connection:
        try:
            return schema.connect(self.file, writer=writer)
        except sqlite3.DatabaseError as error:
            raise self._translate_error(error) from error

    def _release_reader(self, db: sqlite3.Connection, opened: int) -> None:
        with self._guard:
            # If the file was replaced meanwhile, the connection is to the one that was there before.
            if not self._closed and opened == self._opened and len(self._idle) < IDLE_READERS:
                self._idle.append(db)
                return
        db.close()

    def _translate_error(self, error: sqlite3.DatabaseError) -> EngineFailure:
        """Returns the error for the caller of a failed statement. A damaged file is replaced at once."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            log.warning("The search index is damaged and is being rebuilt: %s.", error)
            self.rebuild()
            return EngineFailure(
                "The search index was damaged and is being built again.",
                hint="Try again in a moment.",
                index_rebuilt=True,
            )
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return EngineFailure(
                "Another process is writing to the search index.", hint="Try again in a moment."
            )
        if code == sqlite3.SQLITE_FULL:
            return EngineFailure("The disk is full: the search index cannot be written.")
        # Python's own message about text that is not UTF-8 quotes it, and it may be a note's.
        log.error("The search index failed: %s", str(error).partition(" with text ")[0])
        # Damage shows in many ways, so the next use checks the file as if it had never been opened.
        self._identity = None
        return EngineFailure("The search index failed; see the log for the reason.")


def read_meta(db: sqlite3.Connection, name: str) -> int:
    (value,) = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return int(value)


def read_left_out(db: sqlite3.Connection) -> tuple[int, list[Skipped]]:
    """Returns how many files and folders are not part of the vault although a person may think so, and some
    of them."""
    (value,) = db.execute("SELECT value FROM meta WHERE name = 'left_out'").fetchone()
    count, first = msgspec.json.decode(value)
    return count, [Skipped(path, why) for path, why in first]


def write_meta(db: sqlite3.Connection, **values: int | str) -> None:
    db.executemany(
        "UPDATE meta SET value = ? WHERE name = ?", [(value, name) for name, value in values.items()]
    )


def add_meta(db: sqlite3.Connection, **amounts: int) -> None:
    db.executemany(
        "UPDATE meta SET value = value + ? WHERE name = ?",
        [(amount, name) for name, amount in amounts.items()],
    )


def read_status(db: sqlite3.Connection) -> IndexStatus:
    # The list of files that are left out may be long.
    meta = dict(db.execute("SELECT name, value FROM meta WHERE name != 'left_out'"))
    return IndexStatus(meta["generation"], meta["state"], meta["done"], meta["total"])


def release_memory() -> None:
    """Return freed memory to the system, which takes some milliseconds. glibc retains it: after the first
    build of 10,000 notes, a server would keep 82 MB instead of 49 until it ends."""
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
