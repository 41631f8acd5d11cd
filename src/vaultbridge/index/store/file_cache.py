"""What one process remembers of the table `files`, and how it keeps that up to date.

Reading the rows of 100,000 files takes a tenth of a second, so it is not done after each change. Whoever
adds, changes or removes the row of a file logs that (`schema.log_changes`), in the same transaction.
A reader that knows an earlier state applies what was logged since. The log is short; a reader that was away
for too long, or during a first build, reads everything again.

Each value belongs to one state of the index and is shared by all threads: do not change it. An update makes a
copy, because another thread may still use the earlier value; copying takes 1 ms for 100,000 files.
"""

from __future__ import annotations

import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterable, Mapping
from itertools import compress
from operator import ne
from typing import Any, Final, TypeVar

from msgspec import Struct

from vaultbridge.index.store.schema import NAME_ONLY, split_for_sql
from vaultbridge.links.resolve import FileTable, folder_of
from vaultbridge.vault.paths import FileFilter, Visible

VIEWS: Final = 4
"""For how many scopes the visible files are remembered: 100,000 files take some 10 MB each, unless all of
them are visible."""

_T = TypeVar("_T")

_FileRow = tuple[str, int, int, int]
"""Path, size, time and state of a file."""


class FileChanges(Struct, frozen=True):
    """The files whose rows have changed, by id, as they are now; None for one that is gone."""

    files: dict[int, _FileRow | None]


class FileSizes(Struct, frozen=True):
    """`sizes` are the files' sizes in bytes by file id, `searched` says which of them are searched, and
    `total` is the size of those together."""

    sizes: array[int]
    searched: bytearray
    total: int


LinksToHidden = dict[int, tuple[tuple[int, str, int], ...]]

_LINKS: Final = "links to hidden"
_SELECT_LINKS: Final = "SELECT source, seq, target, target_id FROM links"


LinkedByHidden = dict[int, int | None]

_LINKED: Final = "linked by hidden"
_SELECT_TARGET: Final = "SELECT target_id FROM links"
_RESOLVED: Final = "+target_id IS NOT NULL"
"""The plus keeps SQLite from going through all links that lead to a file."""


class VisibleFiles(Struct, frozen=True):
    """The paths of the visible files by id, the ids of those whose content is indexed, and the ids of all
    other files. Callers may store what they compute: in `of_hidden` from the rows of hidden files, until one
    of these changes, and in `answers` from any rows, until anything changes. `lazy` has what was read later:
    see `links_to_hidden` and `linked_by_hidden`."""

    paths: dict[int, str]
    searchable: set[int]
    hidden: set[int]
    of_hidden: dict[str, Any]
    lazy: dict[str, Any]
    answers: dict[Any, Any]

    def links_to_hidden(self, db: sqlite3.Connection) -> LinksToHidden:
        """Returns number, target and target's id of each link from a visible file to a hidden one, by the
        id of the former. Shared: do not change it."""
        found: LinksToHidden | None = self.lazy.get(_LINKS)
        if found is None:
            found = {}
            for marks, part in split_for_sql(self.hidden):
                rows = db.execute(f"{_SELECT_LINKS} WHERE target_id IN ({marks})", part)
                for source, *link in rows:
                    if source not in self.hidden:
                        found[source] = (*found.get(source, ()), tuple(link))
            self.lazy[_LINKS] = found
        return found

    def linked_by_hidden(self, db: sqlite3.Connection) -> LinkedByHidden:
        """Returns, for the id of each visible file that hidden ones link to, that of another visible file
        that links to it too; None if there is none. Shared: do not change it."""
        found: LinkedByHidden | None = self.lazy.get(_LINKED)
        if found is None:
            targets: set[int] = set()
            for marks, part in split_for_sql(self.hidden):
                rows = db.execute(f"{_SELECT_TARGET} WHERE source IN ({marks}) AND {_RESOLVED}", part)
                targets.update(to for (to,) in rows)
            found = {to: _find_source(db, to, self.hidden) for to in targets - self.hidden}
            self.lazy[_LINKED] = found
        return found


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


class _View(Struct, frozen=True):
    visible: Visible
    part: _Part


class FileCache:
    """Any thread may use it. Every method takes the reader's transaction and returns the value as of it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._parts: dict[str, _Part] = {}
        self._views: list[_View] = []
        self._read: tuple[tuple[int, int], FileChanges] | None = None

    def clear(self) -> None:
        with self._guard:
            self._parts.clear()
            self._views = []
            self._read = None

    def paths(self, db: sqlite3.Connection, *, keep: bool = True) -> dict[int, str]:
        """Each file's path by id. A writer must not `keep` what it reads in its own transaction, which may be
        rolled back."""
        return self._get(db, "paths", _load_paths, _update_paths, keep=keep)

    def searchable(self, db: sqlite3.Connection) -> set[int]:
        """The ids of all files whose content is indexed."""
        return self._get(db, "searchable", _load_searchable, _update_searchable)

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

    def view(self, db: sqlite3.Connection, visible: Visible) -> VisibleFiles:
        """The files that are visible. If only a few files have changed, `visible` is called for those."""
        state = _read_state(db)
        with self._guard:
            views = self._views
        for view in views:
            if view.visible is visible and _is_current(view.part, state, every_edit=False):
                return view.part.value  # type: ignore[no-any-return]
        position = state.position
        paths, searchable = self.paths(db), self.searchable(db)
        earlier, value = None, None
        for view in reversed(views):
            differing = _list_differing(visible, view.visible)
            changes = (
                None if differing is None else self._read_changes(db, view.part.state.position, position)
            )
            if differing is not None and changes is not None:
                judged = {*changes.files, *_find_ids(db, differing)}
                earlier, value = view, _update_view(db, view.part.value, judged, visible, paths, searchable)
                break
        if value is None:
            hidden = {id_ for id_, path in paths.items() if not visible(path)}
            value = _make_view(hidden, paths, searchable)
        made = _View(visible, _Part(state, value))
        with self._guard:
            others = [view for view in self._views if view is not earlier and view.visible is not visible]
            self._views = [*others[1 - VIEWS :], made]
        return value

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
        statement = "SELECT path, size, mtime_ns, state FROM files WHERE id = ?"
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
    now = {id_: None if row is None else row[0] for id_, row in changes.files.items()}
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


def find_differing(before: Mapping[int, str], after: Mapping[int, str]) -> tuple[list[str], list[str]]:
    """Returns the paths that only the first and only the second has, of two states of the paths by id. Most
    ids have the same path in both, and are passed over without a loop: 7 ms for 100,000 files."""
    differing = [*compress(after, map(ne, map(before.get, after), after.values()))]
    known = [id_ for id_ in differing if id_ in before]
    if len(before) - len(known) != len(after) - len(differing):
        known += before.keys() - after.keys()
    return [before[id_] for id_ in known], [after[id_] for id_ in differing]


def _load_searchable(db: sqlite3.Connection) -> set[int]:
    return {id_ for (id_,) in db.execute("SELECT id FROM files WHERE state != ?", (NAME_ONLY,))}


def _update_searchable(searchable: set[int], changes: FileChanges) -> set[int]:
    now = {id_ for id_, row in changes.files.items() if _is_searched(row)}
    if searchable & changes.files.keys() == now:
        return searchable
    return (searchable - (changes.files.keys() - now)) | now


def _is_searched(row: _FileRow | None) -> bool:
    return row is not None and row[3] != NAME_ONLY


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
    rows = db.execute("SELECT id, size, state FROM files").fetchall()
    count = max(rows, default=(0, 0, 0))[0] + 1
    sizes, searched = array("Q", bytes(8 * count)), bytearray(count)
    total = 0
    for id_, size, state in rows:
        sizes[id_] = size
        if state != NAME_ONLY:
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


def _list_differing(visible: Visible, earlier: Visible) -> Iterable[str] | None:
    if visible is earlier:
        return ()
    return visible.list_differing(earlier) if isinstance(visible, FileFilter) else None


def agree(visible: Visible | None, earlier: Visible | None) -> bool:
    """Whether two filters are known to agree about every file that was there before and after."""
    if visible is None or earlier is None:
        return visible is earlier
    differing = _list_differing(visible, earlier)
    return differing is not None and not [*differing]


def _find_ids(db: sqlite3.Connection, paths: Iterable[str]) -> Iterable[int]:
    for path in paths:
        if (row := db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()) is not None:
            yield row[0]


def _make_view(hidden: set[int], paths: dict[int, str], searchable: set[int]) -> VisibleFiles:
    if not hidden:
        return VisibleFiles(paths, searchable, hidden, {}, {}, {})
    seen = paths.copy()
    for id_ in hidden:
        del seen[id_]
    return VisibleFiles(seen, searchable - hidden, hidden, {}, {}, {})


def _update_view(
    db: sqlite3.Connection,
    known: VisibleFiles,
    judged: set[int],
    visible: Visible,
    paths: dict[int, str],
    searchable: set[int],
) -> VisibleFiles:
    """Judges these files again. Most edits change neither the names nor what is searched."""
    seen = {id_ for id_ in judged if id_ in paths and visible(paths[id_])}
    lost = {id_ for id_ in judged if id_ in paths} - seen
    gone = judged - seen - lost
    hidden = known.hidden
    if not lost <= hidden or not hidden.isdisjoint(seen) or not hidden.isdisjoint(gone):
        hidden = (hidden - seen - gone) | lost
    if not hidden or not known.hidden:
        return _make_view(hidden, paths, searchable)
    shown, searched = known.paths, known.searchable
    if any(shown.get(id_) != paths[id_] for id_ in seen) or any(id_ in shown for id_ in (*lost, *gone)):
        shown = shown.copy()
        for id_ in (*lost, *gone):
            shown.pop(id_, None)
        for id_ in seen:
            shown[id_] = paths[id_]
    if searched & seen != searchable & seen or not searched.isdisjoint(lost | gone):
        searched = (searched - lost - gone - seen) | (searchable & seen)
    untouched = known.hidden.isdisjoint(judged) and hidden.isdisjoint(judged)
    lazy: dict[str, Any] = {}
    if untouched and (links := known.lazy.get(_LINKS)) is not None:
        lazy[_LINKS] = _update_links(db, links, judged, hidden)
    if untouched and (linked := known.lazy.get(_LINKED)) is not None:
        lazy[_LINKED] = _update_linked(db, linked, judged, hidden)
    return VisibleFiles(shown, searched, hidden, known.of_hidden if untouched else {}, lazy, {})


def _update_links(
    db: sqlite3.Connection, links: LinksToHidden, judged: set[int], hidden: set[int]
) -> LinksToHidden:
    """Returns the same object if nothing differs, so that what was computed from it stays valid."""
    updated = links
    for source in judged:
        rows = db.execute(f"{_SELECT_LINKS} WHERE source = ? AND {_RESOLVED}", (source,))
        found = tuple(tuple(link) for _, *link in rows if link[2] in hidden)
        if found != links.get(source, ()):
            updated = links.copy() if updated is links else updated
            updated.pop(source, None)
            if found:
                updated[source] = found
    return updated


def _find_source(db: sqlite3.Connection, target: int, hidden: set[int]) -> int | None:
    """Returns a visible file that links to this one. Most have several, and the first is enough."""
    rows = db.execute("SELECT source FROM links WHERE target_id = ?", (target,))
    return next((source for (source,) in rows if source != target and source not in hidden), None)


def _update_linked(
    db: sqlite3.Connection, linked: LinkedByHidden, judged: set[int], hidden: set[int]
) -> LinkedByHidden:
    """Which files the hidden ones link to is the same. A file that was found for one may no longer link to
    it, and one for which there was none may have one now."""
    doubtful = {to for to, source in linked.items() if source in judged}
    for source in judged:
        rows = db.execute(
            "SELECT target_id FROM links WHERE source = ? AND +target_id IS NOT NULL", (source,)
        )
        doubtful.update(to for (to,) in rows if to in linked and linked[to] is None)
    return linked | {to: _find_source(db, to, hidden) for to in doubtful}
