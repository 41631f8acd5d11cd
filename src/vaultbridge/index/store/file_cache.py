"""What one process remembers of the table `files`, and how it keeps that up to date.

Reading the rows of 100,000 files takes a tenth of a second, so it is not done after each change. Whoever
adds, changes or removes the row of a file logs that (`schema.log_changes`), in the same transaction.
A reader that knows an earlier state applies what was logged since. The log is short; a reader that was away
for too long, or during a first build, reads everything again.

Without that, a search right after an edit takes 17 ms of processor time more in a vault of 10,000 notes, and
one after a create 37.

Each value belongs to one state of the index and is shared by all threads: do not change it. An update makes a
copy, because another thread may still use the earlier value; copying takes 1 ms for 100,000 files.
"""

from __future__ import annotations

import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from msgspec import Struct

from vaultbridge.index.store.schema import NAME_ONLY
from vaultbridge.links.resolve import FileTable, folder_of

_T = TypeVar("_T")

_FileRow = tuple[str, int, int, int, int]
"""Path, size, time and state of a file, and whether it is ignored."""


class FileChanges(Struct, frozen=True):
    """The files whose rows have changed, by id, as they are now; None for one that is gone."""

    files: dict[int, _FileRow | None]


class FileSizes(Struct, frozen=True):
    """`sizes` are the files' sizes in bytes by file id, `searched` says which of them are searched, and
    `total` is the size of those together."""

    sizes: array[int]
    searched: bytearray
    total: int


class _State(Struct, frozen=True):
    """A state of the index. `position` is the last entry of the log of changes; None during a first build,
    which is not logged."""

    generation: int
    files_version: int
    position: int | None


class _Part(Struct, frozen=True):
    """A value, and the state of the index that it belongs to."""

    state: _State
    value: Any


class FileCache:
    """Any thread may use it. Every method takes the reader's transaction and returns the value as of it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._parts: dict[str, _Part] = {}
        self._read: tuple[tuple[int, int], FileChanges] | None = None

    def clear(self) -> None:
        with self._guard:
            self._parts.clear()
            self._read = None

    def paths(self, db: sqlite3.Connection, *, keep: bool = True) -> dict[int, str]:
        """Each file's path by id. A writer must not `keep` what it reads in its own transaction, which may be
        rolled back."""
        return self._get(db, "paths", _load_paths, _update_paths, keep=keep)

    def searchable(self, db: sqlite3.Connection) -> set[int]:
        """The ids of all files whose content is indexed."""
        return self._get(db, "searchable", _load_searchable, _update_searchable)

    def ignored(self, db: sqlite3.Connection) -> set[int]:
        """The ids of all files that views leave out."""
        return self._get(db, "ignored", _load_ignored, _update_ignored)

    def view_paths(self, db: sqlite3.Connection) -> dict[int, str]:
        """The path of each file that views have, by id."""
        if not self.ignored(db):
            return self.paths(db)
        return self._get(db, "view paths", _load_view_paths, _update_view_paths)

    def table(self, db: sqlite3.Connection, *, keep: bool = True) -> FileTable:
        """All files by name."""
        return self._derive(db, "table", FileTable, _update_table, keep=keep)

    def folders(self, db: sqlite3.Connection) -> dict[str, int]:
        """How many files are in each folder that has any, not counting subfolders."""
        return self._derive(db, "folders", _count_folders, _update_folders)

    def times(self, db: sqlite3.Connection) -> array[int]:
        """When each file was last modified, by id."""
        return self._get(db, "times", _load_times, _update_times, every_edit=True)

    def sizes(self, db: sqlite3.Connection) -> FileSizes:
        return self._get(db, "sizes", _load_sizes, _update_sizes, every_edit=True)

    def _derive(
        self,
        db: sqlite3.Connection,
        name: str,
        make: Callable[[Iterable[str]], _T],
        update: Callable[[_T, list[str], list[str]], _T],
        *,
        keep: bool = True,
    ) -> _T:
        """Returns what is made from the paths of all files. `update` gets the paths that were removed and
        those that were added."""
        paths = self.paths(db, keep=keep)

        def refresh(known: tuple[dict[int, str], _T], changes: FileChanges) -> tuple[dict[int, str], _T]:
            before, value = known
            differing = [id_ for id_ in changes.files if before.get(id_) != paths.get(id_)]
            removed = [before[id_] for id_ in differing if id_ in before]
            added = [paths[id_] for id_ in differing if id_ in paths]
            return paths, update(value, removed, added) if differing else value

        return self._get(db, name, lambda db: (paths, make(paths.values())), refresh, keep=keep)[1]

    def _get(
        self,
        db: sqlite3.Connection,
        name: str,
        load: Callable[[sqlite3.Connection], _T],
        update: Callable[[_T, FileChanges], _T],
        *,
        every_edit: bool = False,
        keep: bool = True,
    ) -> _T:
        """Returns a value as of the transaction. `every_edit`: it depends on more than which files there
        are."""
        state = _read_state(db)
        with self._guard:
            known = self._parts.get(name)
        # Within a writer's transaction the generation does not tell whether a file was added.
        if known is not None and keep and _is_current(known, state, every_edit=every_edit):
            return known.value  # type: ignore[no-any-return]
        since = None if known is None else known.state.position
        changes = self._read_changes(db, since, state.position, keep=keep)
        value: _T = load(db) if known is None or changes is None else update(known.value, changes)
        if keep:
            with self._guard:
                newest = self._parts.get(name)
                # Another thread, with a later transaction, may have been faster.
                if newest is None or newest.state.generation <= state.generation:
                    self._parts[name] = _Part(state, value)
        return value

    def _read_changes(
        self, db: sqlite3.Connection, since: int | None, until: int | None, *, keep: bool = True
    ) -> FileChanges | None:
        """Returns what was logged between two positions; None if that is unknown."""
        if since is None or until is None or until < since:
            return None
        with self._guard:
            known = self._read
        if known is not None and keep and known[0] == (since, until):
            return known[1]
        (first,) = db.execute("SELECT min(seq) FROM changed").fetchone()
        if first > since + 1:
            return None
        ids = {id_ for (id_,) in db.execute("SELECT file FROM changed WHERE seq > ?", (since,))}
        statement = "SELECT path, size, mtime_ns, state, ignored FROM files WHERE id = ?"
        changes = FileChanges({id_: db.execute(statement, (id_,)).fetchone() for id_ in ids})
        if keep:
            with self._guard:
                self._read = ((since, until), changes)
        return changes


def _read_state(db: sqlite3.Connection) -> _State:
    generation, files_version, state, position = db.execute(
        "SELECT (SELECT value FROM meta WHERE name = 'generation'),"
        " (SELECT value FROM meta WHERE name = 'files_version'),"
        " (SELECT value FROM meta WHERE name = 'state'), (SELECT max(seq) FROM changed)"
    ).fetchone()
    return _State(generation, files_version, position if state == "ready" else None)


def _is_current(part: _Part, now: _State, *, every_edit: bool) -> bool:
    if part.state.generation == now.generation:
        return True
    # During a first build each batch of contents is a new generation of the same files.
    building = part.state.position is None and now.position is None
    return building and part.state.files_version == now.files_version and not every_edit


def _load_paths(db: sqlite3.Connection) -> dict[int, str]:
    return dict(db.execute("SELECT id, path FROM files"))


def _update_paths(paths: dict[int, str], changes: FileChanges) -> dict[int, str]:
    return _replace_paths(paths, {id_: None if row is None else row[0] for id_, row in changes.files.items()})


def _load_view_paths(db: sqlite3.Connection) -> dict[int, str]:
    return dict(db.execute("SELECT id, path FROM files WHERE NOT ignored"))


def _update_view_paths(paths: dict[int, str], changes: FileChanges) -> dict[int, str]:
    return _replace_paths(
        paths, {id_: None if row is None or row[4] else row[0] for id_, row in changes.files.items()}
    )


def _load_ignored(db: sqlite3.Connection) -> set[int]:
    return {id_ for (id_,) in db.execute("SELECT id FROM files WHERE ignored")}


def _update_ignored(ignored: set[int], changes: FileChanges) -> set[int]:
    now = {id_ for id_, row in changes.files.items() if row is not None and row[4]}
    if ignored & changes.files.keys() == now:
        return ignored
    return (ignored - changes.files.keys()) | now


def _replace_paths(paths: dict[int, str], now: dict[int, str | None]) -> dict[int, str]:
    differing = {id_: path for id_, path in now.items() if paths.get(id_) != path}
    if not differing:
        return paths
    paths = paths.copy()
    for id_, path in differing.items():
        if path is None:
            del paths[id_]
        else:
            paths[id_] = path
    return paths


def _load_searchable(db: sqlite3.Connection) -> set[int]:
    return {
        id_ for (id_,) in db.execute("SELECT id FROM files WHERE state != ? AND NOT ignored", (NAME_ONLY,))
    }


def _update_searchable(searchable: set[int], changes: FileChanges) -> set[int]:
    now = {id_ for id_, row in changes.files.items() if _is_searched(row)}
    if searchable & changes.files.keys() == now:
        return searchable
    return (searchable - (changes.files.keys() - now)) | now


def _is_searched(row: _FileRow | None) -> bool:
    return row is not None and row[3] != NAME_ONLY and not row[4]


def _update_table(table: FileTable, removed: list[str], added: list[str]) -> FileTable:
    table = table.copy()
    for path in removed:
        table.remove(path)
    for path in added:
        table.add(path)
    return table


def _count_folders(paths: Iterable[str]) -> dict[str, int]:
    return _update_folders({}, [], list(paths))


def _update_folders(folders: dict[str, int], removed: list[str], added: list[str]) -> dict[str, int]:
    counts = folders.copy()
    for amount, paths in ((-1, removed), (1, added)):
        for path in paths:
            folder = folder_of(path)
            counts[folder] = counts.get(folder, 0) + amount
            if not counts[folder]:
                del counts[folder]
    return counts


def _load_times(db: sqlite3.Connection) -> array[int]:
    rows = db.execute("SELECT id, mtime_ns FROM files").fetchall()
    times = array("q", bytes(8 * (max(rows, default=(0, 0))[0] + 1)))
    for id_, time in rows:
        times[id_] = time
    return times


def _update_times(times: array[int], changes: FileChanges) -> array[int]:
    times = _lengthen(times, changes)
    for id_, row in changes.files.items():
        times[id_] = 0 if row is None else row[2]
    return times


def _load_sizes(db: sqlite3.Connection) -> FileSizes:
    statement = "SELECT id, size, state != ? AND NOT ignored FROM files"
    rows = db.execute(statement, (NAME_ONLY,)).fetchall()
    count = max(rows, default=(0, 0, 0))[0] + 1
    sizes, searched = array("Q", bytes(8 * count)), bytearray(count)
    total = 0
    for id_, size, is_searched in rows:
        sizes[id_] = size
        if is_searched:
            searched[id_] = 1
            total += size
    return FileSizes(sizes, searched, total)


def _update_sizes(known: FileSizes, changes: FileChanges) -> FileSizes:
    sizes, total = _lengthen(known.sizes, changes), known.total
    searched = known.searched + bytes(len(sizes) - len(known.searched))
    for id_, row in changes.files.items():
        total -= sizes[id_] if searched[id_] else 0
        sizes[id_] = 0 if row is None else row[1]
        searched[id_] = _is_searched(row)
        total += sizes[id_] if searched[id_] else 0
    return FileSizes(sizes, searched, total)


def _lengthen(numbers: array[int], changes: FileChanges) -> array[int]:
    """Returns a copy with room for all ids."""
    lacking = max(changes.files, default=0) + 1 - len(numbers)
    return numbers + array(numbers.typecode, bytes(8 * max(0, lacking)))
