"""The queue on disk, so that it survives the process: one SQLite file, used by one transport at a time.

A row is `waiting` until just before its message is sent, then `handed` until the server has confirmed it,
then deleted. After a crash, the next process sends the waiting ones. It never sends the handed ones, because
they may have arrived: it reports them. Rows belong to a server; those of other servers are not touched.

The file survives a kill at any instant. A power cut may lose the last few entries, because the file is not
synced for each message.

It is not part of `queue`, which the settings of every transport import, because most clients have no such
file and need not import SQLite.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from yarl import URL

from vaultbridge.errors import EngineFailure

LOCK_WAIT: Final = 1.0
"""Seconds to wait for another transport that is closing the file."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS message (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    server TEXT NOT NULL,
    handed INTEGER NOT NULL DEFAULT 0,
    data BLOB NOT NULL
) STRICT
"""


def normalize_url(url: str) -> str:
    """One spelling for a server's address, from the library that connects: the case of scheme and host, a
    default port, escapes, a slash at the end and credentials do not make it another server."""
    parts = URL(url)
    host = (parts.raw_host or "").removesuffix(".")
    query = f"?{parts.raw_query_string}" if parts.raw_query_string else ""
    return f"{parts.scheme}://{host}:{parts.port}{parts.raw_path.rstrip('/')}{query}"


class QueueFile:
    """Raises EngineFailure when the file cannot be used, and then has changed nothing."""

    def __init__(self, path: str, url: str) -> None:
        # The URL may carry a token in its query: only its digest is stored.
        self._server = hashlib.blake2b(normalize_url(url).encode(), digest_size=16).hexdigest()
        try:
            Path(path).touch(mode=0o600)
            self._db = sqlite3.connect(path, timeout=LOCK_WAIT, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise _failure(error) from None
        try:
            # Set before the first access, so that SQLite makes no -shm file: truncating that would kill this
            # process.
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute(_SCHEMA)
        except sqlite3.Error as error:
            self._db.close()
            raise _failure(error) from None

    def add(self, data: bytes, *, handed: bool) -> int:
        """Store a message and return its row."""
        cursor = self._run(
            "INSERT INTO message (server, handed, data) VALUES (?, ?, ?)", (self._server, int(handed), data)
        )
        row = cursor.lastrowid
        assert row is not None
        return row

    def mark_handed(self, row: int) -> None:
        self._run("UPDATE message SET handed = 1 WHERE row = ?", (row,))

    def remove(self, rows: Iterable[int]) -> None:
        wanted = [(row,) for row in rows]
        if not wanted:
            return
        self._run("BEGIN")
        try:
            self._db.executemany("DELETE FROM message WHERE row = ?", wanted)
        except sqlite3.Error as error:
            self._db.execute("ROLLBACK")
            raise _failure(error) from None
        self._run("COMMIT")

    def count_others(self) -> int:
        """How many messages wait for other servers than this one."""
        sql = "SELECT count(*) FROM message WHERE server != ?"
        return int(self._run(sql, (self._server,)).fetchone()[0])

    def list_waiting(self) -> list[tuple[int, bytes]]:
        """List what the last process accepted and did not send, oldest first."""
        return self._rows(handed=False)

    def list_handed(self) -> list[tuple[int, bytes]]:
        """List what the last process sent without confirmation, oldest first."""
        return self._rows(handed=True)

    def _rows(self, *, handed: bool) -> list[tuple[int, bytes]]:
        sql = "SELECT row, data FROM message WHERE server = ? AND handed = ? ORDER BY row"
        return [(row, bytes(data)) for row, data in self._run(sql, (self._server, int(handed)))]

    def close(self) -> None:
        self._db.close()

    def _run(self, sql: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(sql, values)
        except sqlite3.Error as error:
            raise _failure(error) from None


def _failure(error: Exception) -> EngineFailure:
    if "locked" in str(error):
        return EngineFailure("The queue file is in use by another transport.", hint="Give each its own file.")
    kind = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return EngineFailure(f"The queue file cannot be used: {kind}.")
