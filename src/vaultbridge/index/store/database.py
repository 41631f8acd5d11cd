"""The index file of one vault, open: connections, transactions, and what it says about itself.

Several processes may have the same file open. Each holds one writing connection behind a lock and a few
reading ones; a write is one short IMMEDIATE transaction. A file that is deleted, damaged or of another
version is made anew, with a warning in the log: its state is then `empty` and the vault's keeper fills it
again. Which rows there are is `write`'s and the queries' duty.

The dictionary of all words in the index, to find those that contain a given string.

A search is for substrings, the full-text table knows whole words and beginnings. The words that contain
`bridg` are found here, by looking through all of them as one run of bytes: 30,000 words take 0.2 ms, a
million about 10 ms, and each costs its own length in memory. Only words added since the last look are loaded.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from vaultbridge.errors import EngineFailure
from vaultbridge.index.memory import bound_heaps, give_back
from vaultbridge.index.store import schema
from vaultbridge.links.resolve import FileTable
from vaultbridge.vault.locking import FileLock
from vaultbridge.vault.wal_index import WalIndex

EXPANSION: Final = 400
"""The most words one string is expanded to. A shorter list keeps SQLite's query small; a string in more words
than that (one or two letters) is looked for in the texts themselves."""

_SEPARATOR: Final = b"\n"


class Terms:
    """The words known so far. Safe to use from any thread."""

    __slots__ = ("_guard", "_last", "_words")

    def __init__(self) -> None:
        self._words = bytearray(_SEPARATOR)
        self._last = 0
        self._guard = threading.Lock()

    def refresh(self, db: sqlite3.Connection) -> None:
        """Learn the words that were added since the last time."""
        with self._guard:
            joined, last = db.execute(
                "SELECT group_concat(term, char(10)), max(id) FROM terms WHERE id > ?", (self._last,)
            ).fetchone()
            if joined is not None:
                self._words += joined.encode() + _SEPARATOR
                self._last = last

    def containing(self, part: str) -> list[str] | None:
        """The words in which `part` occurs; None when there are more than EXPANSION."""
        return self._find(part.encode())

    def ending(self, part: str) -> list[str] | None:
        """The words that end with `part`, under the same bound."""
        return self._find(part.encode() + _SEPARATOR)

    def starting(self, part: str) -> list[str] | None:
        """The words that begin with `part`, under the same bound."""
        return self._find(_SEPARATOR + part.encode())

    def _find(self, needle: bytes) -> list[str] | None:
        found: list[str] = []
        with self._guard:
            words = self._words
            at = words.find(needle)
            while at >= 0:
                start = words.rfind(_SEPARATOR, 0, at + 1) + 1
                end = words.find(_SEPARATOR, at + 1)
                found.append(words[start:end].decode())
                if len(found) > EXPANSION:
                    return None
                at = words.find(needle, end)
        return found


READERS_KEPT: Final = 4
"""Idle reading connections kept open: as many questions as run side by side, at about 1 MiB each."""

REPLACE_SECONDS: Final = 20.0
"""How long to wait for another process that is making the file anew."""

State = Literal["empty", "building", "ready"]

log = logging.getLogger(__name__)


class IndexStatus(Struct, frozen=True):
    """`generation` counts committed changes. While `building`, `done` of `total` notes can be searched."""

    generation: int
    state: State
    done: int
    total: int
    checked_ns: int

    @property
    def complete(self) -> bool:
        return self.state == "ready"


class Index:
    """Open with `Index.open`; any thread may use it. Everything that asks goes through `reading`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / schema.INDEX_FILE
        self.terms = Terms()
        self._idle: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._writer_lock = threading.RLock()
        self._table: tuple[int, FileTable] | None = None
        self._paths: tuple[int, dict[int, str]] | None = None
        self._searchable: tuple[int, set[int]] | None = None
        self._times: tuple[int, dict[int, int]] | None = None
        self._identity: tuple[int, int] | None = None
        self._wal_index = WalIndex(self.file)
        self._closed = False

    @classmethod
    def open(cls, folder: Path) -> Index:
        """The index in a vault's cache folder; made when missing, made anew when it cannot serve."""
        bound_heaps()
        index = cls(folder)
        index._prepare()
        return index

    def close(self) -> None:
        """Let go of the file. Connections in use are closed by those who use them."""
        with self._writer_lock:
            self._closed = True
            self._drop_connections()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A reading connection in a transaction: all that is asked in the block sees one moment."""
        db = self._take_reader()
        try:
            db.execute("BEGIN")
            yield db
            db.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            db.close()
            raise self._failed(error) from error
        except BaseException:
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            self._give_back(db)
            raise
        else:
            self._give_back(db)

    @contextmanager
    def writing(self, *, silently: bool = False) -> Iterator[sqlite3.Connection]:
        """The writing connection in an IMMEDIATE transaction; committed with a new generation (unless
        `silently`, for what changes no answer), or rolled back when the block raises. May not be nested."""
        with self._writer_lock:
            self._follow_file()
            if self._writer is None:
                self._writer = self._connect(writer=True)
            db = self._writer
            try:
                db.execute("BEGIN IMMEDIATE")
                yield db
                if not silently:
                    add_meta(db, generation=1)
                db.execute("COMMIT")
            except sqlite3.DatabaseError as error:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise self._failed(error) from error
            except BaseException:
                with suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise

    def settle(self) -> None:
        """After a first build: copy the write-ahead file, which is large, into place as far as readers allow,
        and give the memory back that the build took."""
        with self._writer_lock:
            if self._writer is not None:
                with suppress(sqlite3.OperationalError):
                    self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                # With its page cache and the words that the full-text table had gathered.
                self._writer.close()
                self._writer = None
        give_back()

    def status(self) -> IndexStatus:
        with self.reading() as db:
            return read_status(db)

    def table(self, db: sqlite3.Connection | None = None) -> FileTable:
        """Every file by name, as of the transaction in `db`. Shared: copy it before changing it."""
        if db is None:
            with self.reading() as own:
                return self.table(own)
        version = read_meta(db, "files_version")
        with self._guard:
            if self._table is not None and self._table[0] == version:
                return self._table[1]
        table = FileTable(path for (path,) in db.execute("SELECT path FROM files"))
        self.keep_table(version, table)
        return table

    def paths(self, db: sqlite3.Connection) -> dict[int, str]:
        """Every file's path by its id, as of the transaction in `db`. Shared: not to be changed."""
        version = read_meta(db, "files_version")
        with self._guard:
            if self._paths is not None and self._paths[0] == version:
                return self._paths[1]
        paths = dict(db.execute("SELECT id, path FROM files"))
        with self._guard:
            self._paths = (version, paths)
        return paths

    def searchable(self, db: sqlite3.Connection) -> set[int]:
        """The ids of all files with content: what is more than a name. Shared: not to be changed."""
        version = read_meta(db, "files_version")
        with self._guard:
            if self._searchable is not None and self._searchable[0] == version:
                return self._searchable[1]
        rows = db.execute("SELECT id FROM files WHERE state != ?", (schema.NAME_ONLY,))
        ids = {id_ for (id_,) in rows}
        with self._guard:
            self._searchable = (version, ids)
        return ids

    def times(self, db: sqlite3.Connection) -> dict[int, int]:
        """When each file was changed last, by its id. Shared: not to be changed."""
        generation = read_meta(db, "generation")
        with self._guard:
            if self._times is not None and self._times[0] == generation:
                return self._times[1]
        times = dict(db.execute("SELECT id, mtime_ns FROM files"))
        with self._guard:
            self._times = (generation, times)
        return times

    def keep_table(self, version: int, table: FileTable) -> None:
        """Remember the table of `files_version` `version`, for a writer that knows it already."""
        with self._guard:
            self._table = (version, table)

    def rebuild(self) -> None:
        """Throw everything away and begin with an empty file."""
        with self._writer_lock, self._replacing():
            self._drop_connections()
            schema.remove(self.file)
            self._make()

    def _prepare(self) -> None:
        self._wal_index.repair()
        if not self.file.exists():
            with self._replacing():
                if not self.file.exists():
                    self._make()
        try:
            schema.check(self.file)
        except schema.UnusableIndex as unusable:
            log.warning("The search index cannot be used and is made anew: %s.", unusable)
            with self._replacing():
                # Another process may have replaced it while we waited for our turn.
                try:
                    schema.check(self.file)
                except schema.UnusableIndex:
                    schema.remove(self.file)
                    self._make()
        self._identity = self._stat_identity()

    @contextmanager
    def _replacing(self) -> Iterator[None]:
        with FileLock(self.folder / "index.lock").hold(REPLACE_SECONDS, what="The search index"):
            yield

    def _make(self) -> None:
        # Under another name first: no process ever opens a file without its tables.
        fresh = self.file.with_name(f"{self.file.name}.{os.getpid()}.new")
        schema.remove(fresh)
        try:
            schema.create(fresh)
            for suffix in ("-wal", "-shm"):
                self.file.with_name(self.file.name + suffix).unlink(missing_ok=True)
            fresh.replace(self.file)
        except (OSError, sqlite3.Error) as error:
            schema.remove(fresh)
            raise EngineFailure(
                "The search index cannot be written.",
                hint="Is there room in the cache folder, and may it be written?",
            ) from error
        self._identity = self._stat_identity()

    def _stat_identity(self) -> tuple[int, int] | None:
        try:
            status = self.file.stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    def _follow_file(self) -> None:
        """Notice that the file was deleted or replaced, by a person or another process."""
        if self._closed:
            raise EngineFailure("The search index is closed.")
        self._wal_index.repair()
        if self._identity is not None and self._stat_identity() == self._identity:
            return
        with self._writer_lock:
            self._drop_connections()
            self._prepare()

    def _drop_connections(self) -> None:
        # Closing a connection reads what is mapped.
        self._wal_index.repair()
        with self._guard:
            idle, self._idle = self._idle, []
            self._table = None
            self._paths = None
            self._searchable = None
            self._times = None
            self.terms = Terms()
        for db in idle:
            db.close()
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._wal_index.forget()

    def _take_reader(self) -> sqlite3.Connection:
        self._follow_file()
        with self._guard:
            if self._idle:
                return self._idle.pop()
        return self._connect(writer=False)

    def _connect(self, *, writer: bool) -> sqlite3.Connection:
        try:
            return schema.connect(self.file, writer=writer)
        except sqlite3.DatabaseError as error:
            raise self._failed(error) from error

    def _give_back(self, db: sqlite3.Connection) -> None:
        with self._guard:
            if not self._closed and len(self._idle) < READERS_KEPT:
                self._idle.append(db)
                return
        db.close()

    def _failed(self, error: sqlite3.DatabaseError) -> EngineFailure:
        """What a failed statement means to a caller; a damaged file is replaced at the next use."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            log.warning("The search index is damaged and is made anew: %s.", error)
            self.rebuild()
            return EngineFailure(
                "The search index was damaged and is being built again.",
                hint="Try again soon.",
                index_made_anew=True,
            )
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return EngineFailure(
                "Another process is writing to the search index.", hint="Try again in a moment."
            )
        if code == sqlite3.SQLITE_FULL:
            return EngineFailure("There is no room left for the search index.")
        log.error("The search index failed: %s", error)
        # Damage has many faces: the next use looks at the file as at one never seen before.
        self._identity = None
        return EngineFailure("The search index failed; the log says why.")


def read_meta(db: sqlite3.Connection, name: str) -> int:
    (value,) = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return int(value)


def read_left_out(db: sqlite3.Connection) -> tuple[int, list[str]]:
    """How many files and folders have names that no vault path can hold, and some of the names, escaped."""
    (value,) = db.execute("SELECT value FROM meta WHERE name = 'left_out'").fetchone()
    count, *names = msgspec.json.decode(value)
    return count, names


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
    meta = dict(db.execute("SELECT name, value FROM meta"))
    return IndexStatus(meta["generation"], meta["state"], meta["done"], meta["total"], meta["checked_ns"])
