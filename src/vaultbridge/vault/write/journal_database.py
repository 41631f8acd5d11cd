"""Opens and uses the journal's database file, whatever state it is in.

The file is opened when it is first needed, so a vault whose journal cannot be opened can still be read.

    nothing, and none was known         it is created, at the first question
    nothing, but numbers were given     it is created, numbers go on above those, and that is reported
    an older version's                  it gets what it lacks
    a newer version's                   it is read as far as its columns are known; every change is refused
    damaged anywhere, or no journal     what can be read is copied to a new one, the file is kept, and what
                                        was lost is reported
    an older copy, or its end is lost   numbers go on above the last known one, and that is reported
    a folder, or a forbidden file       every use is an error until it is removed
    another file than a moment ago      that one is opened: what is written to a file that has lost its name
                                        would be lost

Replacing it needs the writer's lock, because another process may be making a change that is recorded in it.
`journal.py` gives the tables their meaning.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

import msgspec

from vaultbridge.errors import EngineFailure
from vaultbridge.system import make_private_folder
from vaultbridge.vault.folders import STATE_VARIABLE
from vaultbridge.vault.locking import WRITER_LOCK, WRITER_SECONDS, FileLock
from vaultbridge.vault.write.journal_rows import RowDamaged
from vaultbridge.vault.write.journal_schema import connect, make_newer_failure, transaction
from vaultbridge.vault.write.salvage import find_salvaged, salvage
from vaultbridge.vault.write.store_notes import StoreNotes

if TYPE_CHECKING:
    import sqlite3

_Result = TypeVar("_Result")

JOURNAL_FILE: Final = "journal.sqlite"


class _Damaged(Exception):
    """The file is not what was written, or a replacement was not completed."""


class JournalFile:
    """The database. Any thread may use it. `hold` takes the writer's lock, or does nothing in a thread that
    has it. `make_folder` makes the folder of the file if it is not there. `second`: see
    `StoreNotes`."""

    def __init__(
        self,
        place: Path,
        *,
        hold: Callable[[], AbstractContextManager[None]] | None = None,
        make_folder: Callable[[], None] | None = None,
        second: Path | None = None,
    ) -> None:
        self._place = place
        self.notes = StoreNotes(place, second=second)
        self._hold = hold or self._hold_lock
        self._make_folder = make_folder or partial(make_private_folder, place.parent)
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._newer = False
        self._suspected = ""
        """Why a change found the file damaged; the next question replaces it."""
        self._status: os.stat_result | None = None
        """Of the file that was opened, or could not be."""

    def _hold_lock(self) -> AbstractContextManager[None]:
        lock = FileLock(self._place.with_name(WRITER_LOCK))
        return lock.hold(WRITER_SECONDS, what="The vault's writer")

    def close(self) -> None:
        """Any later use is an error."""
        with self._lock:
            db = self._db
            self._close()
            self._db = db

    def ask(self, question: Callable[[sqlite3.Connection], _Result]) -> _Result:
        """Returns what `question` returns for the database that is on the disk now. If that turns out to be
        damaged, `question` is called again with what could be salvaged, so it must have no effect outside the
        database. Raises `EngineFailure`, and `TimedOut` while another writer holds a damaged one."""
        try:
            return self._ask(question)
        except _Damaged as damage:
            why = str(damage)
        # In this order, because a writer holds its lock when it comes here.
        with self._hold(), self._lock:
            self._replace(why)
            try:
                return self._ask(question)
            except _Damaged as again:
                raise _failure(again) from again

    def _ask(self, question: Callable[[sqlite3.Connection], _Result]) -> _Result:
        import sqlite3

        with self._lock:
            db = self._connection()
            try:
                return question(db)
            except (sqlite3.Error, msgspec.MsgspecError, UnicodeDecodeError, RowDamaged) as error:
                self._fail(error)

    def _fail(self, error: Exception) -> NoReturn:
        if not _is_damage(error):
            raise _failure(error) from error
        if self._newer:
            raise make_newer_failure(reading=True) from error
        raise _Damaged(_describe(error)) from error

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """One durable transaction on the database that was used last. Raises `EngineFailure`."""
        import sqlite3

        try:
            with self._lock:
                db = self._db or self._connection()
                with transaction(db):
                    yield db
        except _Damaged as damage:
            raise _failure(damage) from damage
        except (sqlite3.Error, RowDamaged) as error:
            if _is_damage(error):
                self._suspected = _describe(error)
            raise _failure(error) from error

    def check_version(self) -> None:
        """Raises `EngineFailure` when a newer version wrote it."""
        self.ask(lambda _: None)
        if self._newer:
            raise make_newer_failure()

    def _connection(self) -> sqlite3.Connection:
        """The connection to the file that has the journal's name now."""
        if self._suspected:
            raise _Damaged(self._suspected)
        if self._db is not None:
            if self._is_current():
                return self._db
            self._close()
        return self._open()

    def _open(self) -> sqlite3.Connection:
        import sqlite3

        self._status = None
        try:
            self._make_folder()
            if self._place.exists():
                self._status = self._place.stat()
            elif find_salvaged(self._place) is not None:
                raise _Damaged("its replacement was interrupted")
            db, self._newer = connect(self._place, self.notes)
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            if isinstance(error, OSError) or not _is_damage(error):
                raise _cannot_open(self._place) from error
            raise _Damaged(_describe(error)) from error
        self._db = db
        try:
            self._status = self._place.stat()
        except OSError as error:
            self._close()
            raise _cannot_open(self._place) from error
        return db

    def _replace(self, why: str) -> None:
        """Only with the writer's lock."""
        import sqlite3

        suspected, self._suspected = self._suspected, ""
        current = self._is_current()
        self._close()
        if not current and self._place.exists():
            # Another process has replaced it already.
            return
        try:
            salvage(self._place, suspected or why, self.notes)
        except (OSError, sqlite3.Error) as error:
            raise EngineFailure(
                f"The journal is damaged and cannot be repaired now: {_describe(error)}.",
                hint="Nothing was changed. It will be tried again at the next use.",
                paths=(),
            ) from error

    def _close(self) -> None:
        db, self._db = self._db, None
        if db is None:
            return
        db.close()

    def _is_current(self) -> bool:
        """Whether the file that we opened, or could not open, still has its name."""
        try:
            return self._status is not None and os.path.samestat(self._status, self._place.stat())
        except OSError:
            return False


def _describe(error: Exception) -> str:
    if isinstance(error, OSError):
        return os.strerror(error.errno or 0)
    # The text of SQLite's own error may quote damaged bytes.
    return str(error).encode("ascii", "backslashreplace").decode()


def _failure(error: Exception) -> EngineFailure:
    return EngineFailure(
        f"The journal could not be used: {_describe(error)}.", hint="Nothing was changed.", paths=()
    )


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
            f"The journal cannot be opened: {file.name} in the state folder is a folder, not a file.",
            hint="Move that folder away. Nothing can be changed until then.",
            paths=(),
        )
    return EngineFailure(
        "The journal cannot be opened.",
        hint=f"Make the state folder writable, or set {STATE_VARIABLE} to another folder.",
        paths=(),
    )
