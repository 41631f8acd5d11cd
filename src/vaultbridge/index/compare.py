"""Finds what has changed on disk since the last comparison, using only stats. Reads no content.

A folder that cannot be listed says nothing about the files in it: their rows stay. A file whose timestamp was
still racy (`system.is_racy`) when it was read may have been written again within the same tick of the clock,
so the next comparison reads it and compares its hash.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from vaultbridge.errors import VaultbridgeError
from vaultbridge.index.build import FileJob
from vaultbridge.index.store.schema import PENDING
from vaultbridge.index.store.write import is_searched
from vaultbridge.system import FileStat
from vaultbridge.vault import no_follow
from vaultbridge.vault.cloud import is_placeholder
from vaultbridge.vault.file_types import kind_of
from vaultbridge.vault.no_follow import real_path
from vaultbridge.vault.paths import VaultFolder, VaultPath
from vaultbridge.vault.walk import (
    DISK_MISSING,
    LEFT_OUT,
    FileEntry,
    Found,
    KnownStats,
    Skipped,
    Unreadable,
    walk,
)


class StoredFile(Struct, frozen=True, array_like=True, gc=False):
    """A row of `files`. `trusted` is 0 when an equal stat does not prove equal content."""

    id: int
    path: str
    kind: str
    size: int
    mtime_ns: int
    ino: int
    trusted: int
    state: int
    hash: str
    ignored: int = 0


STORED_COLUMNS: Final = "id, path, kind, size, mtime_ns, ino, trusted, state, hash, ignored"


class DiskSnapshot(Struct):
    """What a scan of the disk found: files, places that could not be read, and temporary files that one of
    our writers may have left behind."""

    entries: dict[str, FileEntry] = field(default_factory=dict)
    unreadable: list[Unreadable] = field(default_factory=list)
    leftovers: list[str] = field(default_factory=list)
    left_out: list[Skipped] = field(default_factory=list)
    """Files and whole folders that are not indexed although a person might expect it, each with the
    reason."""

    def add(self, found: Iterable[Found]) -> None:
        for item in found:
            if isinstance(item, FileEntry):
                self.entries[item.path] = item
            elif isinstance(item, Unreadable):
                self.unreadable.append(item)
            elif item.why == "leftover":
                self.leftovers.append(item.path)
            elif item.why in LEFT_OUT and (item.path.endswith("/") or kind_of(item.path) != "other"):
                # Other kinds, such as the icon files of macOS folders, are not notes.
                self.left_out.append(item)

    def may_hold(self, path: str) -> bool:
        """Whether a path that was not found may still exist, in a place that could not be read."""
        return any(
            not place.path or path == place.path or path.startswith(place.path + "/")
            for place in self.unreadable
        )


class Difference(Struct):
    """`added` and `changed` have to be read (`changed` with the row they replace). `restamped` are files
    without indexed content whose stat differs. `gone` are rows without a file."""

    added: list[FileEntry] = field(default_factory=list)
    changed: list[tuple[StoredFile, FileEntry]] = field(default_factory=list)
    restamped: list[tuple[StoredFile, FileEntry]] = field(default_factory=list)
    gone: list[StoredFile] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.restamped or self.gone)

    def jobs(self, first_id: int) -> list[FileJob]:
        """Returns the files to read, by id. New files get ids from `first_id` on, in the order of `added`.

        The order matters: the full-text table collects rows in memory only while their ids rise. At a lower
        id it writes what it has to the file and must merge it later."""
        known = sorted(
            (_make_job(row.id, entry, row.hash) for row, entry in self.changed), key=lambda job: job.id
        )
        new = (
            _make_job(first_id + at, entry) for at, entry in enumerate(self.added) if is_searched(entry.kind)
        )
        return [*known, *new]


def _make_job(id_: int, entry: FileEntry, known_hash: str = "") -> FileJob:
    return FileJob(id_, entry.path, entry.kind, entry.size, entry.placeholder, known_hash)


_UNCHANGED: Final = f"trusted AND state != {PENDING}"
"""A file with such a row and an equal stat has not changed."""


def read_rows_beneath(db: sqlite3.Connection, path: str) -> list[StoredFile]:
    """Reads the row of a file, or the rows of all files in a folder, or all rows (`""`)."""
    if not path:
        return _read_rows(db, "true")
    return _read_rows(db, "path = ? OR (path > ? AND path < ?)", path, path + "/", path + "0")


def _read_rows(db: sqlite3.Connection, condition: str, *values: str) -> list[StoredFile]:
    rows = db.execute(f"SELECT {STORED_COLUMNS} FROM files WHERE {condition}", values)
    return [StoredFile(*row) for row in rows]


def compare_vault(db: sqlite3.Connection, root: VaultFolder) -> tuple[DiskSnapshot, Difference]:
    """Scans the whole vault and compares it with all rows. The snapshot has no files left.

    The rows are read first: a file that is saved and indexed during the scan is then missing on both sides.
    The other way round its new row would look like that of a file that is gone."""
    known: KnownStats = {
        path: (size, mtime_ns, ino)
        for path, size, mtime_ns, ino in db.execute(
            f"SELECT path, size, mtime_ns, ino FROM files WHERE {_UNCHANGED}"
        )
    }
    snapshot = scan_vault(root, known)
    # The walk leaves those that are gone or have changed.
    rows = [row for path in known for row in _read_rows(db, "path = ?", path)]
    return snapshot, compare([*rows, *_read_rows(db, f"NOT ({_UNCHANGED})")], snapshot)


def compare(rows: Iterable[StoredFile], snapshot: DiskSnapshot) -> Difference:
    """Compares the stored rows with a scan of the same part of the vault. Consumes `snapshot.entries`."""
    difference = Difference()
    entries = snapshot.entries
    for row in rows:
        entry = entries.pop(row.path, None)
        if entry is None:
            if not snapshot.unreadable or not snapshot.may_hold(row.path):
                difference.gone.append(row)
            continue
        same_stat = (row.size, row.mtime_ns, row.ino) == (entry.size, entry.mtime_ns, entry.ino)
        if same_stat and row.trusted and row.state != PENDING:
            continue
        if is_searched(entry.kind):
            difference.changed.append((row, entry))
        elif not same_stat:
            difference.restamped.append((row, entry))
    difference.added = sorted(entries.values(), key=lambda entry: entry.path)
    return difference


def scan_vault(root: VaultFolder, known: KnownStats | None = None) -> DiskSnapshot:
    """Scans everything but the files that are as `known`: see `walk`."""
    snapshot = DiskSnapshot()
    snapshot.add(walk(root, known=known))
    return snapshot


def scan_path(root: VaultFolder, path: VaultPath) -> DiskSnapshot:
    """Scans one path, whether it is a file, a folder or no longer there."""
    snapshot = DiskSnapshot()
    if not path:
        return scan_vault(root)
    try:
        # The usual, cheaper case: no link on the way.
        status = root.plain_status(path)
        place = f"{root.folder}{os.sep}{path}"
        if status is None:
            located = root.locate(path)
            if root.path_of(located) != path or _behind_loop(root, str(located.parent)):
                return snapshot
            status = no_follow.status(root.real_place(located, path))
            place = str(located)
    except (VaultbridgeError, FileNotFoundError, NotADirectoryError):
        if why := root.absence():
            snapshot.unreadable.append(Unreadable(VaultPath(""), why))
        elif disk := root.find_absent_disk(path):
            snapshot.unreadable.append(Unreadable(VaultPath(disk), DISK_MISSING))
        elif obstacle := root.obstacle(path):
            snapshot.unreadable.append(Unreadable(path, os.strerror(obstacle.errno or 0)))
        return snapshot
    except OSError as error:
        snapshot.unreadable.append(Unreadable(path, os.strerror(error.errno or 0)))
        return snapshot
    if stat.S_ISDIR(status.st_mode):
        if not os.path.islink(place) or not root.contains(real_path(place)):  # noqa: PTH114 - text
            snapshot.add(walk(root, path))
    elif stat.S_ISREG(status.st_mode):
        placeholder = is_placeholder(status, place)
        found = FileStat.of(status)
        kind = kind_of(path)
        snapshot.entries[path] = FileEntry(path, found.size, found.mtime_ns, found.ino, kind, placeholder)
    return snapshot


def _behind_loop(root: VaultFolder, folder: str) -> bool:
    """Whether a folder is reached through a link back into the vault, which a walk does not follow."""
    real = real_path(folder)
    return real != folder and root.contains(real)
