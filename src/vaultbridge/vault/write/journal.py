"""Records what was done to the vault, and what is needed to undo it, in a database in the cache folder.

A transaction is recorded with the content before and after, before the first file changes; `state` says how
it ended. This module never touches a note. Content is stored compressed, and once, however many changes refer
to it.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from vaultbridge.errors import EngineFailure, InvalidArgument
from vaultbridge.limits import LARGEST_INTEGER, MIB
from vaultbridge.links.resolve import name_key
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.write.journal_database import JournalFile, transaction
from vaultbridge.vault.write.places import place_acts, read_root
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

EntryState = Literal["pending", "applying", "done", "rolled-back"]
"""`pending`: recorded, no file of the vault has changed yet; `applying`: files are being changed."""

log = logging.getLogger(__name__)

_acts = msgspec.msgpack.Decoder(list[Act])
_staged = msgspec.msgpack.Decoder(dict[int, int])


class JournalEntry(Struct, frozen=True):
    """One transaction. `kept` are files that someone had changed and that rolling back therefore did not
    touch. `staged` has, by the position of each writing act, the inode of its staged file. `to_undo` is the
    position of the last act that a rollback still has to undo, None before a rollback starts. `actor` is a
    name for people, which a client may choose; `author` identifies the assistant that asked for the change,
    and is "" for a person's and another program's."""

    id: int
    state: EntryState
    at: float
    actor: str
    label: str
    undo_of: int | None
    undone_by: int | None
    kept: tuple[str, ...]
    acts: tuple[Act, ...]
    staged: dict[int, int]
    to_undo: int | None
    author: str = ""

    @property
    def paths(self) -> tuple[VaultPath, ...]:
        """Each path that it changed, once, in order."""
        return tuple(dict.fromkeys(path for act in self.acts for path in affected_paths(act)))


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


def list_images(act: Act) -> tuple[ContentImage, ...]:
    if isinstance(act, Written):
        return (act.after,) if act.before is None else (act.before, act.after)
    if isinstance(act, Removed):
        return (act.before,)
    trashed = act.trashed if isinstance(act, Restored) else act
    if isinstance(trashed, Trashed) and trashed.image is not None:
        return (trashed.image,)
    return ()


class Journal:
    """The journal of one vault. Safe to use from several threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._file = JournalFile(folder / "journal.sqlite")
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
    ) -> int:
        """Records what is about to happen and returns its id. `contents` has the bytes of each image. The
        record survives the death of this process; after `start_applying` it survives a power cut too."""

        def record(file: sqlite3.Connection) -> int:
            # `start_applying` makes this durable, together with what it adds, before the first note changes.
            with transaction(file, durable=False) as db:
                cursor = db.execute(
                    "INSERT INTO transactions (state, at, actor, label, undo_of, acts, author)"
                    " VALUES ('pending', ?, ?, ?, ?, ?, ?)",
                    (at, actor, label, undo_of, msgspec.msgpack.encode(acts), author),
                )
                number = cursor.lastrowid
                assert number is not None
                # Usually the content before a change is the content after the last one, and compressing it
                # again would take as long as all the rest here.
                new = (digest for digest in contents if not _has_content(db, digest))
                rows = [(digest, *_compress(contents[digest])) for digest in new]
                db.executemany("INSERT INTO contents VALUES (?, ?, ?)", rows)
                uses = {(number, image.digest) for act in acts for image in list_images(act)}
                db.executemany("INSERT INTO uses VALUES (?, ?)", sorted(uses))
                touched = {(name_key(path), number) for act in acts for path in affected_paths(act)}
                db.executemany("INSERT INTO touched VALUES (?, ?)", sorted(touched))
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
        if number % PRUNE_EVERY == 0:
            try:
                self.prune(now=at)
            except EngineFailure as error:
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
            return self._select("id < ? AND state = 'done' ORDER BY id DESC LIMIT ?", (bound, limit))
        found: list[JournalEntry] = []
        key = name_key(path)
        while len(found) < limit:
            page = self._select(
                "id < ? AND state = 'done' AND id IN (SELECT id FROM touched WHERE path_key IN"
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
        """Raises `InvalidArgument` for an id that is unknown or was deleted for its age."""
        found = self._select("id = ?", (number,)) if abs(number) <= LARGEST_INTEGER else []
        if not found:
            raise InvalidArgument(f"The journal has no change {number}.", argument="id", paths=())
        return found[0]

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
            data = _decompress(row[0])
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
            rows = db.execute(
                "SELECT id, state, at, actor, label, undo_of, undone_by, kept, acts, staged, to_undo, author"
                " FROM transactions WHERE " + where,
                values,
            ).fetchall()
            return tuple(_make_entry(row) for row in rows)

        return self._file.ask(read)


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
    for _, at in db.execute(statement, (since.newest,)):
        seconds += _clamp_gap(at - later)
        later = at
    return _MeasuredTime(last, later, seconds)


def _clamp_gap(seconds: float) -> float:
    """How much the time between two transactions adds to the journal's own time: at most `GAP_SECONDS`, and
    nothing when the clock went back."""
    return min(max(seconds, 0.0), GAP_SECONDS)


def _last_too_old(db: sqlite3.Connection, now: float) -> int:
    """The newest transaction that is older than the limit, by the journal's own time."""
    age, later = 0.0, now
    for number, at in db.execute("SELECT id, at FROM transactions INDEXED BY times ORDER BY id DESC"):
        age += _clamp_gap(later - at)
        if age > JOURNAL_SECONDS:
            return int(number)
        later = at
    return 0


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
    for table in ("uses", "touched", "transactions"):
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


def _make_entry(row: tuple[Any, ...]) -> JournalEntry:
    number, state, at, actor, label, undo_of, undone_by, kept, acts, staged, to_undo, author = row
    return JournalEntry(
        *(number, state, at, actor, label, undo_of, undone_by),
        kept=tuple(kept.split("\n")) if kept else (),
        acts=tuple(_acts.decode(acts)),
        staged=_staged.decode(staged) if staged else {},
        to_undo=to_undo,
        author=author,
    )


def _with_folders(key: str) -> list[str]:
    """A path and every folder above it."""
    parts = key.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]


def affects(entry: JournalEntry, key: str) -> bool:
    """Whether a transaction changed this file, or moved or trashed a folder that contained it."""
    for act in entry.acts:
        if any(name_key(path) == key for path in affected_paths(act)):
            return True
        around = act.trashed if isinstance(act, Restored) else act
        if (isinstance(around, (Moved, Trashed)) and around.folder) and any(
            key.startswith(name_key(path) + "/") for path in affected_paths(around)
        ):
            return True
    return False


def trace_name_back(entry: JournalEntry, key: str) -> str:
    """The name that a file called `key` after a transaction had before it."""
    for act in reversed(entry.acts):
        if isinstance(act, Moved):
            target = name_key(act.target)
            if key == target:
                key = name_key(act.path)
            elif act.folder and key.startswith(target + "/"):
                key = name_key(act.path) + key[len(target) :]
    return key


def _compress(data: bytes) -> tuple[int, bytes]:
    """The size and the stored form. Its first byte says how the rest is encoded."""
    small = zlib.compress(data, 1)
    held = b"z" + small if len(small) < len(data) else b"r" + data
    return len(held), held


def _decompress(held: bytes) -> bytes | None:
    if held[:1] == b"r":
        return held[1:]
    try:
        return zlib.decompress(held[1:])
    except zlib.error:
        return None
