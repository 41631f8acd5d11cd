"""Records what was done to the vault, and what is needed to undo it, in a database in the state folder.

A transaction is recorded with the content before and after, before the first file changes; `state` says how
it ended. This module never touches a note. Content is stored compressed, and once, however many changes refer
to it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
from msgspec import Struct

from vaultbridge.errors import EngineFailure, InvalidArgument, VaultbridgeError
from vaultbridge.limits import LARGEST_INTEGER, MIB
from vaultbridge.links.resolve import name_key
from vaultbridge.vault.locking import WRITER_LOCK
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.write.journal_database import JOURNAL_FILE, JournalFile
from vaultbridge.vault.write.journal_rows import (
    COLUMNS,
    Acceptance,
    EntryState,
    JournalEntry,
    RowDamaged,
    add_acceptance,
    affects,
    list_images,
    read_acceptance,
    read_row,
    seal_row,
    trace_name_back,
)
from vaultbridge.vault.write.journal_schema import transaction
from vaultbridge.vault.write.places import place_acts, read_root
from vaultbridge.vault.write.salvage import pack, unpack
from vaultbridge.vault.write.steps import (
    Act,
    ContentImage,
    Moved,
    Removed,
    Restored,
    Trashed,
    Written,
    affected_paths,
)

if TYPE_CHECKING:
    import sqlite3

JOURNAL_BYTES: Final = 256 * MIB
"""The most compressed content stored: years of edits to notes, and still small compared with a vault's
attachments."""

JOURNAL_ENTRIES: Final = 20_000
"""The most transactions stored: some two hundred a day for the whole period below."""

ROLLED_BACK_ENTRIES: Final = 1000
"""The newest transactions among which those that were rolled back stay. Nothing in them can be undone, and a
change that waits for another program to close a note makes twenty a second, which must not push real changes
out of the history."""

JOURNAL_SECONDS: Final = 90 * 86400.0
"""The age after which a change can no longer be undone: three months, as is common for file histories."""

GAP_SECONDS: Final = 7 * 86400.0
"""The most that the time between two changes adds to a change's age, so that a clock that is set wrong cannot
delete the history."""

FORGET_AT_ONCE: Final = 500
"""How many changes are deleted at once, which takes some milliseconds; the rest follows the next time."""

VACUUM_PAGES: Final = 200
"""How many free pages are returned to the file system at a time."""

PRUNE_EVERY: Final = 64
"""Every how many transactions the limits are enforced, whichever process makes them: often enough that none
is exceeded by much."""

PRUNE_STRIDE: Final = 10
"""How many of the oldest transactions are deleted at a time while the size is above its limit."""

HISTORY_LIMIT: Final = 1000
"""The most entries that one query of the history returns."""

log = logging.getLogger(__name__)

Departure: TypeAlias = tuple[int, int, Moved | Trashed | Removed]
"""An act by which a file left its path: the transaction's id, the position of the act in it, and the act."""


class Versions(Struct, frozen=True):
    """A file's content before and after one act; None where there was no file or its content is not
    stored."""

    path: VaultPath
    before: bytes | None
    after: bytes | None


def make_image(data: bytes) -> ContentImage:
    return ContentImage(blake2b(data, digest_size=16).digest(), content_hash(data), len(data))


class Journal:
    """The journal of one vault, in its state folder. Safe to use from several threads and processes. `hold`
    and `make_folder`: see `JournalFile`."""

    def __init__(
        self,
        folder: Path,
        *,
        hold: Callable[[], AbstractContextManager[None]] | None = None,
        make_folder: Callable[[], None] | None = None,
        second: Path | None = None,
    ) -> None:
        self.writer_lock = folder / WRITER_LOCK
        self._file = JournalFile(folder / JOURNAL_FILE, hold=hold, make_folder=make_folder, second=second)
        self._measured: _MeasuredTime | None = None

    def close(self) -> None:
        self._file.close()

    def begin(
        self,
        acts: list[Act],
        contents: Mapping[bytes, bytes],
        *,
        at: float,
        actor: str,
        label: str,
        author: str = "",
        undo_of: int | None = None,
        acceptance: Acceptance | None = None,
    ) -> int:
        """Records what is about to happen and returns its id. `contents` has the bytes of each image. The
        record survives the death of this process; after `start_applying` it survives a power cut too."""

        def record(file: sqlite3.Connection) -> int:
            # `start_applying` makes this durable, together with what it adds, before the first note changes.
            with transaction(file, durable=False) as db:
                encoded = msgspec.msgpack.encode(acts)
                cursor = db.execute(
                    "INSERT INTO transactions (state, at, actor, label, undo_of, acts, author)"
                    " VALUES ('pending', ?, ?, ?, ?, ?, ?)",
                    (at, actor, label, undo_of, encoded, author),
                )
                number = cursor.lastrowid
                assert number is not None
                seal = seal_row(number, at, actor, label, undo_of, encoded, author)
                db.execute("UPDATE transactions SET seal = ? WHERE id = ?", (seal, number))
                # Usually the content before a change is the content after the last one, and compressing it
                # again would take as long as all the rest here.
                new = (digest for digest in contents if not _has_content(db, digest))
                rows = [(digest, *pack(contents[digest])) for digest in new]
                # Nothing is there to be replaced, unless an index is damaged.
                db.executemany("INSERT OR REPLACE INTO contents VALUES (?, ?, ?)", rows)
                uses = {(number, image.digest) for act in acts for image in list_images(act)}
                db.executemany("INSERT OR REPLACE INTO uses VALUES (?, ?)", sorted(uses))
                touched = {(name_key(path), number) for act in acts for path in affected_paths(act)}
                db.executemany("INSERT OR REPLACE INTO touched VALUES (?, ?)", sorted(touched))
                if acceptance is not None:
                    add_acceptance(db, number, acceptance)
                return number

        return self._file.ask(record)

    def start_applying(self, number: int, staged: Mapping[int, int]) -> None:
        """Records, durably, that everything is staged and files are about to change."""
        with self._file.changing() as db:
            db.execute(
                "UPDATE transactions SET state = 'applying', staged = ? WHERE id = ?",
                (msgspec.msgpack.encode(staged), number),
            )

    def mark_to_undo(self, number: int, position: int) -> None:
        """Records, durably, how far a rollback has come."""
        with self._file.changing() as db:
            db.execute("UPDATE transactions SET to_undo = ? WHERE id = ?", (position, number))

    def finish(self, number: int, *, state: EntryState, kept: Iterable[str] = (), at: float) -> None:
        """Records how a transaction ended. If it undid another one, that one is marked as undone."""
        with self._file.changing() as db:
            db.execute(
                "UPDATE transactions SET state = ?, kept = ? WHERE id = ?", (state, "\n".join(kept), number)
            )
            undid = db.execute("SELECT undo_of FROM transactions WHERE id = ?", (number,)).fetchone()
            if state == "done" and undid and undid[0] is not None:
                _mark_undone(db, undid[0], number)
        self._file.notes.remember_last(number)
        if number % PRUNE_EVERY == 0:
            try:
                self.prune(now=at)
            except VaultbridgeError as error:
                # The change is done, and a journal that is too long is no reason to roll it back.
                log.warning("Old changes could not be deleted from the journal: %s", error)

    def is_placed_in(self, root: Path) -> bool:
        """Whether the recorded places are in this folder."""
        return self._file.ask(read_root) == str(root)

    def place_in(self, root: Path) -> None:
        """Changes all recorded places after the vault was moved to this folder. Only for the writer."""

        def move(file: sqlite3.Connection) -> None:
            with transaction(file) as db:
                place_acts(db, str(root))

        self._file.ask(move)

    def check_version(self) -> None:
        """Raises `EngineFailure` if a newer version wrote the journal: then it can only be read."""
        self._file.check_version()

    def find_problem(self) -> str:
        """Why the journal cannot be used for changes, for people; "" if it can."""
        try:
            self.check_version()
        except VaultbridgeError as error:
            return f"{error.message} {error.hint}".rstrip()
        return ""

    def list_notices(self) -> list[str]:
        """What was lost of the journal and of proposals, for people, until their owner confirms it."""
        losses = self._file.notes.list_losses()
        return [f"{_describe_day(loss.at)}{loss.text}" for loss in losses if not loss.confirmed]

    def confirm_losses(self) -> None:
        """Raises `EngineFailure`."""
        try:
            self._file.notes.confirm()
        except OSError as error:
            raise EngineFailure(f"That cannot be stored: {os.strerror(error.errno or 0)}.") from error

    def pending(self) -> tuple[JournalEntry, ...]:
        """Transactions that did not end: when the caller holds the writer's lock, those of dead processes."""
        return self._select("state IN ('pending', 'applying') ORDER BY id DESC", ())

    def history(
        self, path: VaultPath | None = None, *, limit: int = 50, before: int | None = None
    ) -> tuple[JournalEntry, ...]:
        """The changes to the whole vault or to one file, newest first. A file is followed back through its
        moves. `before` is the id to continue from."""
        if not 1 <= limit <= HISTORY_LIMIT:
            raise InvalidArgument(f"limit must be from 1 to {HISTORY_LIMIT}.", argument="limit", paths=())
        bound = before if before is not None else 2**62
        if path is None:
            return self._select(f"id < ? AND {_SHOWN} ORDER BY id DESC LIMIT ?", (bound, limit))
        found: list[JournalEntry] = []
        key = name_key(path)
        while len(found) < limit:
            page = self._select(
                f"id < ? AND {_SHOWN} AND id IN (SELECT id FROM touched WHERE path_key IN"
                f" ({', '.join('?' * (key.count('/') + 1))})) ORDER BY id DESC LIMIT ?",
                (bound, *_with_folders(key), limit),
            )
            if not page:
                break
            for entry in page:
                bound = entry.id
                if len(found) < limit and affects(entry, key):
                    found.append(entry)
                older = trace_name_back(entry, key)
                if older != key:
                    # Before a move, the file had another name: the next page continues with that.
                    key = older
                    break
        return tuple(found)

    def wrote_last(self, path: VaultPath, hash_: str) -> bool:
        """Whether the newest recorded change of a file gave it the content with this hash."""
        for entry in self.history(path, limit=1):
            for act in reversed(entry.acts):
                if isinstance(act, Written) and act.path == path:
                    return act.after.hash == hash_
        return False

    def find_accepted(self, proposal: str) -> tuple[int, bytes] | None:
        """The change that was made for a proposal, and its report (see `Acceptance`); None if there is none,
        or it was rolled back."""
        return self._file.ask(lambda db: read_acceptance(db, proposal))

    def last_finished(self) -> int:
        """The id of the last transaction that is over, done or rolled back; 0 when there is none."""
        (last,) = self._file.ask(
            lambda db: db.execute(
                "SELECT coalesce(max(id), 0) FROM transactions WHERE state IN ('done', 'rolled-back')"
            ).fetchone()
        )
        return int(last)

    def departures(self, *, after: int) -> tuple[int, tuple[Departure, ...]]:
        """The acts by which a file left its path in transactions later than `after`, oldest first, and the id
        of the last transaction that was examined."""
        (last,) = self._file.ask(
            lambda db: db.execute(
                "SELECT coalesce(max(id), 0) FROM transactions WHERE state = 'done'"
            ).fetchone()
        )
        # The tags of such acts are in the encoded text, so most transactions need not be decoded.
        tags = " OR ".join(f"instr(acts, CAST('{tag}' AS BLOB)) > 0" for tag in ("move", "trash", "remove"))
        found = self._select(f"id > ? AND id <= ? AND state = 'done' AND ({tags}) ORDER BY id", (after, last))
        return last, tuple(
            (entry.id, position, act)
            for entry in found
            for position, act in enumerate(entry.acts)
            if isinstance(act, Moved | Trashed | Removed)
        )

    def entry(self, number: int) -> JournalEntry:
        """Raises `InvalidArgument` for an id that is unknown, was deleted for its age, or was lost."""
        found = self._select("id = ?", (number,)) if abs(number) <= LARGEST_INTEGER else []
        if found:
            return found[0]
        if any(loss.covers(number) for loss in self._file.notes.list_losses()):
            raise InvalidArgument(
                f"The record of change {number} was lost with a part of the journal, so it cannot be shown "
                "or undone.",
                argument="id",
                hint="Nothing was changed. history lists the changes that are still known.",
                paths=(),
            )
        raise InvalidArgument(
            f"There is no change {number}.", argument="id", hint="history lists the changes.", paths=()
        )

    def versions(self, entry: JournalEntry) -> tuple[Versions, ...]:
        """The content before and after of each file that a transaction wrote, removed, trashed or
        restored."""
        shown: list[Versions] = []
        for act in entry.acts:
            if isinstance(act, Written):
                before = self.content(act.before) if act.before else None
                shown.append(Versions(act.path, before, self.content(act.after)))
            elif isinstance(act, Removed):
                shown.append(Versions(act.path, self.content(act.before), None))
            elif isinstance(act, Trashed):
                shown.append(Versions(act.path, self.content(act.image) if act.image else None, None))
            elif isinstance(act, Restored):
                image = act.trashed.image
                shown.append(Versions(act.trashed.path, None, self.content(image) if image else None))
        return tuple(shown)

    def content(self, image: ContentImage) -> bytes:
        """Raises `EngineFailure` when the journal is damaged."""
        row = self._file.ask(
            lambda db: db.execute("SELECT data FROM contents WHERE digest = ?", (image.digest,)).fetchone()
        )
        if row is not None:
            data = unpack(row[0])
            if data is not None and content_hash(data) == image.hash:
                return data
        raise EngineFailure("The journal no longer holds the content that this needs.", paths=())

    def prune(self, *, now: float) -> None:
        """Deletes the oldest transactions beyond the limits, never one that is under way."""
        with self._file.changing() as db:
            newest = db.execute("SELECT coalesce(max(id), 0) FROM transactions").fetchone()[0]
            _forget(db, newest - ROLLED_BACK_ENTRIES, FORGET_AT_ONCE, _ROLLED_BACK)
            _forget(db, max(_last_beyond(db, JOURNAL_ENTRIES), self._find_too_old(db, now)), FORGET_AT_ONCE)
            while _count_stored_bytes(db) > JOURNAL_BYTES:
                if not _forget(db, newest - 1, PRUNE_STRIDE):
                    break
        self._file.ask(lambda db: db.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall())

    def _find_too_old(self, db: sqlite3.Connection, now: float) -> int:
        """The newest transaction that is older than the limit; 0 when there is none."""
        measured = self._measured = _measure_time(db, since=self._measured)
        if measured is None or measured.seconds + _clamp_gap(now - measured.at) <= JOURNAL_SECONDS:
            return 0
        # Older transactions may have been deleted since they were measured.
        self._measured = None
        return _last_too_old(db, now)

    def _select(self, where: str, values: tuple[object, ...]) -> tuple[JournalEntry, ...]:
        def read(db: sqlite3.Connection) -> tuple[JournalEntry, ...]:
            rows = db.execute(f"SELECT {COLUMNS} FROM transactions WHERE {where}", values).fetchall()
            return tuple(read_row(row) for row in rows)

        return self._file.ask(read)


def _describe_day(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d}: " if at else ""


def _mark_undone(db: sqlite3.Connection, original: int, by: int) -> None:
    db.execute("UPDATE transactions SET undone_by = ? WHERE id = ?", (by, original))
    # Undoing an undo brings the first change back, which can then be undone again.
    db.execute(
        "UPDATE transactions SET undone_by = NULL WHERE id = (SELECT undo_of FROM transactions WHERE id = ?)",
        (original,),
    )


def _last_beyond(db: sqlite3.Connection, entries: int) -> int:
    """The newest transaction that is not among the newest `entries`; 0 when there are no more than those."""
    row = db.execute(
        "SELECT id FROM transactions INDEXED BY times ORDER BY id DESC LIMIT 1 OFFSET ?", (entries,)
    ).fetchone()
    return int(row[0]) if row else 0


class _MeasuredTime(Struct, frozen=True):
    """How much of the journal's own time lies between its oldest transaction and the one with the id
    `newest`, which was made `at` that time by the clock. Reading the times of a full journal takes 10 ms, so
    only those of new transactions are added."""

    newest: int
    at: float
    seconds: float


def _measure_time(db: sqlite3.Connection, *, since: _MeasuredTime | None = None) -> _MeasuredTime | None:
    """None for an empty journal."""
    statement = "SELECT id, at FROM transactions INDEXED BY times WHERE id > ? ORDER BY id"
    (last,) = db.execute("SELECT max(id) FROM transactions").fetchone()
    if last is None:
        return None
    if since is None or since.newest > last:
        # The numbers of a journal that replaced another one start again.
        since = _MeasuredTime(0, float("inf"), 0.0)
    later, seconds = since.at, since.seconds
    for number, at in db.execute(statement, (since.newest,)):
        _check_time(number, at)
        seconds += _clamp_gap(at - later)
        later = at
    return _MeasuredTime(last, later, seconds)


def _clamp_gap(seconds: float) -> float:
    """How much the time between two transactions adds to the journal's own time: at most `GAP_SECONDS`, and
    nothing when the clock went back."""
    return min(max(seconds, 0.0), GAP_SECONDS)


def _check_time(number: object, at: object) -> None:
    """What is in the index is not sealed. Raises `RowDamaged`."""
    if not isinstance(number, int) or not isinstance(at, float):
        raise RowDamaged("a time is not what was stored")


def _last_too_old(db: sqlite3.Connection, now: float) -> int:
    """The newest transaction that is older than the limit, by the journal's own time."""
    age, later = 0.0, now
    for number, at in db.execute("SELECT id, at FROM transactions INDEXED BY times ORDER BY id DESC"):
        _check_time(number, at)
        age += _clamp_gap(later - at)
        if age > JOURNAL_SECONDS:
            return int(number)
        later = at
    return 0


_SHOWN: Final = "state NOT IN ('pending', 'applying', 'rolled-back')"
"""Not `= 'done'`: a state that is damaged must be noticed, not left out."""

_ENDED: Final = "state IN ('done', 'rolled-back')"
_ROLLED_BACK: Final = "state = 'rolled-back'"


def _forget(db: sqlite3.Connection, last: int, most: int, which: str = _ENDED) -> int:
    """Deletes up to `most` transactions with ids up to `last`, and content that only they used. Returns how
    many."""
    ended = f"SELECT id FROM transactions WHERE {which} AND id <= ? ORDER BY id LIMIT ?"
    gone = db.execute(ended, (last, most)).fetchall()
    if not gone:
        return 0
    used = {row for change in gone for row in db.execute("SELECT digest FROM uses WHERE id = ?", change)}
    for table in ("uses", "touched", "acceptances", "transactions"):
        db.executemany(f"DELETE FROM {table} WHERE id = ?", gone)
    db.executemany(
        "DELETE FROM contents WHERE digest = ? AND digest NOT IN (SELECT digest FROM uses WHERE digest = ?)",
        [(digest, digest) for (digest,) in used],
    )
    return len(gone)


def _has_content(db: sqlite3.Connection, digest: bytes) -> bool:
    return db.execute("SELECT 1 FROM contents WHERE digest = ?", (digest,)).fetchone() is not None


def _count_stored_bytes(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT coalesce(sum(stored), 0) FROM contents").fetchone()[0])


def _with_folders(key: str) -> list[str]:
    """A path and every folder above it."""
    parts = key.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
