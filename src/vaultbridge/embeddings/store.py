"""Stores the vectors of a vault's passages in one SQLite file in the cache folder, derived and deletable.

A vector is stored once for each text of a passage, by its hash: an edit elsewhere in the note, a move or a
copy sends nothing again. Vectors are stored as bytes from -127 to 127, a quarter of their size, which changes
a similarity by less than a hundredth. The file belongs to one model: whatever would make vectors incomparable
(another model, another length, another way to cut notes) empties it.

Rows of passages are never deleted while the file is in use, only emptied, with a new `version`, so that a
reader can load just what is newer than what it has.
"""

from __future__ import annotations

import contextlib
import logging
import math
import sqlite3
import threading
import time
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

FILE_NAME: Final = "embeddings.sqlite3"

APPLICATION_ID: Final = 0x56424556
"""Marks the file as ours ("VBEV")."""

SCHEMA_VERSION: Final = 1
"""Raise it when the tables change: the file is then emptied."""

BUSY_SECONDS: Final = 5.0
"""How long a writer waits for another process's transaction, which stores one batch."""

GONE_PART: Final = 4
"""Rows of passages that are gone are deleted when more than one row in this many is such a row."""

_TABLES: Final = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "CREATE TABLE notes (path TEXT PRIMARY KEY, hash TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE vectors (hash BLOB PRIMARY KEY, vector BLOB NOT NULL, norm REAL NOT NULL) WITHOUT ROWID",
    "CREATE TABLE passages (id INTEGER PRIMARY KEY, path TEXT NOT NULL, line INTEGER NOT NULL, hash BLOB,"
    " version INTEGER NOT NULL)",
    "CREATE INDEX passages_path ON passages (path)",
    "CREATE INDEX passages_version ON passages (version)",
    "CREATE INDEX passages_hash ON passages (hash)",
)
"""`passages.hash` is NULL for a passage that is gone. A vector of no bytes belongs to a text that the
endpoint refuses."""

log = logging.getLogger(__name__)


class Quantized(Struct, frozen=True):
    """A vector as bytes: signed numbers from -127 to 127, with the length of that vector."""

    data: bytes
    norm: float


def quantize(vector: Sequence[float]) -> Quantized:
    """A vector as bytes; only its direction is stored. A vector of zeros has no direction and no bytes."""
    largest = max(map(abs, vector))
    if largest == 0:
        return Quantized(b"", 0.0)
    # The vector is divided first, because 127 divided by the smallest numbers is infinite.
    numbers = array("b", [round(number / largest * 127) for number in vector])
    return Quantized(numbers.tobytes(), math.sqrt(sum(number * number for number in numbers)))


class StoredPassage(Struct, frozen=True):
    """`vector` is empty for a passage that is gone."""

    id: int
    path: str
    line: int
    vector: bytes


class VectorStore:
    """Any thread may use it; calls are serialized. A file that was deleted or damaged is replaced by an empty
    one."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / FILE_NAME
        self._guard = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._closed = False

    def close(self) -> None:
        with self._guard:
            self._closed = True
            self._disconnect()

    def _disconnect(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            db.close()

    @contextlib.contextmanager
    def _transaction(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        with self._guard:
            db = self._open()
            try:
                db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                yield db
                db.execute("COMMIT")
            except sqlite3.DatabaseError as error:
                with contextlib.suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                if not isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError):
                    log.warning("The file of embeddings is damaged and is being made again: %s.", error)
                    self._remove()
                raise
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise

    def _open(self) -> sqlite3.Connection:
        if self._db is not None and self._identity == self._stat_identity():
            return self._db
        if self._closed:
            raise sqlite3.ProgrammingError("the file of embeddings is closed")
        self._disconnect()
        try:
            self._db = self._connect()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            log.warning("The file of embeddings cannot be used and is being made again: %s.", error)
            self._remove()
            self._db = self._connect()
        self._identity = self._stat_identity()
        return self._db

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.file, isolation_level=None, check_same_thread=False, timeout=BUSY_SECONDS)
        try:
            (application,) = db.execute("PRAGMA application_id").fetchone()
            (version,) = db.execute("PRAGMA user_version").fetchone()
            (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if tables and (application, version) != (APPLICATION_ID, SCHEMA_VERSION):
                raise sqlite3.DatabaseError("another version or another program made it")
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            if not tables:
                db.execute("BEGIN IMMEDIATE")
                # Another process may have been quicker.
                if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    for statement in _TABLES:
                        db.execute(statement)
                    # Versions start at the current time, not at 0, so that a reader of a file that was
                    # deleted notices.
                    db.execute("INSERT INTO meta VALUES ('version', 0), ('emptied', ?)", (time.time_ns(),))
                    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                db.execute("COMMIT")
        except BaseException:
            db.close()
            raise
        return db

    def _stat_identity(self) -> tuple[int, int] | None:
        try:
            status = self.file.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _remove(self) -> None:
        self._disconnect()
        for suffix in ("", "-wal", "-shm", "-journal"):
            self.file.with_name(self.file.name + suffix).unlink(missing_ok=True)

    # The settings that the file belongs to.

    def claim(self, fingerprint: str) -> bool:
        """Make the file belong to these settings. Returns whether it contained vectors of others, which are
        deleted."""
        with self._transaction(write=True) as db:
            before = _read_meta(db, "fingerprint")
            if before == fingerprint:
                return False
            held = db.execute("SELECT 1 FROM vectors LIMIT 1").fetchone() is not None
            _clear(db)
            _set_meta(db, fingerprint=fingerprint, dimensions=0)
            return held

    def matches(self, fingerprint: str) -> bool:
        """Whether the stored vectors were made with these settings."""
        with self._transaction() as db:
            return _read_meta(db, "fingerprint") == fingerprint

    def check_dimensions(self, dimensions: int) -> int:
        """Set the length of the vectors in the file. Returns the previous length if it was different, and
        deletes those vectors; otherwise returns 0."""
        with self._transaction(write=True) as db:
            before = int(_read_meta(db, "dimensions") or 0)
            if before == dimensions:
                return 0
            if before:
                _clear(db)
            _set_meta(db, dimensions=dimensions)
            return before

    def clear(self) -> None:
        with self._transaction(write=True) as db:
            _clear(db)

    def read_probe(self) -> bytes:
        """Return the vector of the sentence by which a model is recognized again; empty before the first."""
        with self._transaction() as db:
            row = db.execute("SELECT value FROM meta WHERE name = 'probe'").fetchone()
        return b"" if row is None else bytes(row[0])

    def write_probe(self, vector: bytes) -> None:
        with self._transaction(write=True) as db:
            _set_meta(db, probe=vector)

    # Notes and their passages.

    def notes(self) -> dict[str, str]:
        """The notes whose passages are all stored, with the content hash they had."""
        with self._transaction() as db:
            return dict(db.execute("SELECT path, hash FROM notes"))

    def find_known(self, hashes: Iterable[bytes]) -> set[bytes]:
        """Return those of the passages whose vectors are stored."""
        with self._transaction() as db:
            statement = "SELECT hash FROM vectors WHERE hash = ?"
            return {hash_ for hash_ in hashes if db.execute(statement, (hash_,)).fetchone() is not None}

    def put_vectors(self, vectors: Iterable[tuple[bytes, Quantized]]) -> None:
        rows = [(hash_, vector.data, vector.norm) for hash_, vector in vectors]
        with self._transaction(write=True) as db:
            db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)

    def put_note(self, path: str, note_hash: str, passages: Iterable[tuple[int, bytes]]) -> bool:
        """Store a note's passages (line and hash). False if a vector of them is missing; then nothing is
        stored."""
        rows = list(passages)
        with self._transaction(write=True) as db:
            for _, hash_ in rows:
                if db.execute("SELECT 1 FROM vectors WHERE hash = ?", (hash_,)).fetchone() is None:
                    return False
            version = _next_version(db)
            _drop_passages(db, path, version)
            db.executemany(
                "INSERT INTO passages (path, line, hash, version) VALUES (?, ?, ?, ?)",
                [(path, line, hash_, version) for line, hash_ in rows],
            )
            db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (path, note_hash))
        return True

    def drop_notes(self, paths: Iterable[str]) -> None:
        """Forget notes that are gone or have become private."""
        with self._transaction(write=True) as db:
            version = _next_version(db)
            for path in paths:
                _drop_passages(db, path, version)
                db.execute("DELETE FROM notes WHERE path = ?", (path,))

    def tidy(self) -> None:
        """Delete the vectors that no passage has any longer and, if there are many, the rows of passages that
        are gone: every reader then loads the rest again."""
        with self._transaction(write=True) as db:
            (gone,) = db.execute("SELECT count(*) FROM passages WHERE hash IS NULL").fetchone()
            (rows,) = db.execute("SELECT count(*) FROM passages").fetchone()
            if gone * GONE_PART > rows:
                db.execute("DELETE FROM passages WHERE hash IS NULL")
                db.execute("UPDATE meta SET value = value + 1 WHERE name IN ('version', 'emptied')")
            db.execute(
                "DELETE FROM vectors WHERE NOT EXISTS"
                " (SELECT 1 FROM passages WHERE passages.hash = vectors.hash)"
            )

    def changes_since(self, version: int, emptied: int) -> tuple[int, int, list[StoredPassage]]:
        """Return the current version, the number of times that the file was emptied, and the passages that
        changed after `version`; all of them if the file was emptied since."""
        with self._transaction() as db:
            now, times = int(_read_meta(db, "version")), int(_read_meta(db, "emptied"))
            if times != emptied:
                version = -1
            if now == version:
                return now, times, []
            rows = db.execute(
                "SELECT id, path, line, coalesce(vector, x'') FROM passages LEFT JOIN vectors USING (hash)"
                " WHERE version > ? ORDER BY id",
                (version,),
            ).fetchall()
        return now, times, [StoredPassage(*row) for row in rows]

    def vectors_of(self, ids: Iterable[int]) -> dict[int, Quantized]:
        """The vectors of passages by their ids."""
        statement = "SELECT vector, norm FROM passages JOIN vectors USING (hash) WHERE id = ?"
        found: dict[int, Quantized] = {}
        with self._transaction() as db:
            for id_ in ids:
                row = db.execute(statement, (id_,)).fetchone()
                if row is not None and row[0]:
                    found[id_] = Quantized(row[0], row[1])
        return found

    def vectors_of_note(self, path: str) -> list[Quantized]:
        with self._transaction() as db:
            rows = db.execute(
                "SELECT vector, norm FROM passages JOIN vectors USING (hash) WHERE path = ? ORDER BY id",
                (path,),
            ).fetchall()
        return [Quantized(*row) for row in rows if row[0]]

    def counts(self) -> tuple[int, int]:
        """How many notes and how many vectors are stored."""
        with self._transaction() as db:
            (notes,) = db.execute("SELECT count(*) FROM notes").fetchone()
            (vectors,) = db.execute("SELECT count(*) FROM vectors").fetchone()
        return notes, vectors


def _read_meta(db: sqlite3.Connection, name: str) -> str:
    row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return "" if row is None else str(row[0])


def _set_meta(db: sqlite3.Connection, **values: str | int | bytes) -> None:
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def _next_version(db: sqlite3.Connection) -> int:
    db.execute("UPDATE meta SET value = value + 1 WHERE name = 'version'")
    return int(_read_meta(db, "version"))


def _drop_passages(db: sqlite3.Connection, path: str, version: int) -> None:
    db.execute(
        "UPDATE passages SET hash = NULL, version = ? WHERE path = ? AND hash IS NOT NULL", (version, path)
    )


def _clear(db: sqlite3.Connection) -> None:
    for table in ("notes", "passages", "vectors"):
        db.execute(f"DELETE FROM {table}")
    db.execute("DELETE FROM meta WHERE name = 'probe'")
    db.execute("UPDATE meta SET value = value + 1 WHERE name IN ('version', 'emptied')")
