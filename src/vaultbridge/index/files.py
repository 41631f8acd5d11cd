"""Lists what a vault contains, a page at a time: files, folders, problems, duplicate names, conflict copies.

Files that `visible` hides are left out before anything is counted. The stored totals and an SQL index give a
page without reading the rest.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from itertools import islice
from typing import Any, Final, Literal

from msgspec import Struct

from vaultbridge.index import totals
from vaultbridge.index.listing import NO_LIMIT, ListPage, has_non_ascii, join_files, take_page
from vaultbridge.index.store.database import Index
from vaultbridge.index.store.file_cache import VisibleFiles
from vaultbridge.index.store.rows import decode_note
from vaultbridge.index.totals import FILE, FOLDER, PROBLEM
from vaultbridge.index.visible_totals import hidden_ids, hides_most, read_counts, select_page, select_rows
from vaultbridge.links.resolve import folder_of
from vaultbridge.markdown.model import Note
from vaultbridge.vault.cloud import Conflict, detect_conflict
from vaultbridge.vault.paths import VaultPath, Visible

Order = Literal["path", "modified", "size"]

_ORDERS: Final = {"path": "path", "modified": "mtime_ns DESC, path", "size": "size DESC, path"}

_LITERAL: Final = re.compile(r"[A-Za-z0-9 ]+")
_SETS: Final = re.compile(r"\[[^\]]*\]?|\{[^}]*\}?")


class IndexedFile(Struct, frozen=True):
    """A file in the index. `hash` is empty if its content is not indexed, or has not been read yet."""

    path: VaultPath
    kind: str
    size: int
    modified_ns: int
    hash: str


class IndexedNote(Struct, frozen=True):
    """A note, and the file that each link leads to, in the order of `note.links`."""

    file: IndexedFile
    note: Note
    resolved: tuple[VaultPath | None, ...]


FILE_COLUMNS = "path, kind, size, mtime_ns, hash"


def iterate_notes(index: Index) -> Iterator[IndexedNote]:
    """Yields every note and canvas by path, from one transaction. Exhaust or close the iterator soon, because
    it occupies a reading connection."""
    with index.reading() as db:
        paths = index.paths(db)
        rows = db.execute(f"SELECT id, {FILE_COLUMNS}, note FROM notes JOIN files USING (id) ORDER BY path")
        for id_, *about, blob in rows:
            links = db.execute("SELECT target_id FROM links WHERE source = ? ORDER BY seq", (id_,))
            resolved = tuple(None if to is None else VaultPath(paths[to]) for (to,) in links)
            yield IndexedNote(file_from_row(tuple(about)), decode_note(blob), resolved)


def file_from_row(row: tuple[Any, ...]) -> IndexedFile:
    path, kind, size, modified, hash_ = row
    return IndexedFile(VaultPath(path), kind, size, modified, hash_)


class FoundProblem(Struct, frozen=True):
    path: VaultPath
    code: str
    message: str
    line: int


def count_by_kind(index: Index, *, visible: Visible | None = None) -> dict[str, int]:
    """Counts the files of each kind."""
    with index.reading() as db:
        counts = read_counts(index, db, (FILE,), "files", visible)
    return {name: count for (what, _, name), (count, _) in counts.items() if what == FILE}


def list_untagged(index: Index) -> set[str]:
    """Returns the notes without a tag, in their properties or their text."""
    with index.reading() as db:
        rows = db.execute(
            "SELECT path FROM files WHERE kind = 'note'"
            " AND NOT EXISTS (SELECT 1 FROM tags WHERE file = files.id)"
        )
        return {path for (path,) in rows}


def count_by_folder(index: Index, *, visible: Visible | None = None) -> dict[str, int]:
    """Counts the files in each folder and its subfolders, by path; "" is the vault itself."""
    with index.reading() as db:
        counts = read_counts(index, db, (FOLDER,), "files", visible)
    return {key: places for (what, key, _), (_, places) in sorted(counts.items()) if what == FOLDER}


def list_files(
    index: Index,
    folder: str = "",
    *,
    kind: str = "",
    order: Order = "path",
    after: str = "",
    modified_since_ns: int = 0,
    limit: int = NO_LIMIT,
    offset: int = 0,
    visible: Visible | None = None,
) -> ListPage[IndexedFile]:
    """Lists files, optionally in a folder and its subfolders, of one kind, with a path after `after`, or
    changed at a time or later."""
    conditions, values = [], list[Any]()
    if folder:
        conditions.append("path > ? AND path < ?")
        values += [folder + "/", folder + "0"]
    if kind:
        # Most files are notes, so skipping the others on the way is faster than sorting all notes.
        conditions.append("+kind = ?" if kind == "note" and order != "path" else "kind = ?")
        values.append(kind)
    if after:
        conditions.append("path > ?")
        values.append(after)
    if modified_since_ns:
        conditions.append("mtime_ns >= ?")
        values.append(modified_since_ns)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    statement = f"SELECT id, {FILE_COLUMNS} FROM files"
    with index.reading() as db:
        files = None if visible is None else index.visible_files(db, visible)
        if files is not None and hides_most(files):
            seen = list(
                select_rows(
                    db, f"{statement}{where or ' WHERE true'} AND id IN ({{ids}})", values, files.paths
                )
            )
            seen.sort(key=_SORT_KEYS[order])
            rows, total = select_page(seen, (), limit=limit, offset=offset), len(seen)
        else:
            hidden = set[int]() if files is None else files.hidden
            ordered = db.execute(f"{statement}{where} ORDER BY {_ORDERS[order]}", values)
            if modified_since_ns and files is not None:
                # What changed lately is little, and the counts of hidden files know no times.
                seen = [row for row in ordered if row[0] not in hidden]
                shown = tuple(map(file_from_row, select_page(seen, (), limit=limit, offset=offset)))
                return ListPage(shown, len(seen))
            rows = select_page(ordered, hidden, limit=limit, offset=offset)
            (total,) = db.execute(f"SELECT count(*) FROM files{where}", values).fetchone()
            total -= 0 if files is None else _count_hidden_files(db, files, folder, kind, after)
    return ListPage(tuple(map(file_from_row, rows)), total)


_SORT_KEYS: Final[dict[str, Callable[[tuple[Any, ...]], Any]]] = {
    "path": lambda row: row[1],
    "modified": lambda row: (-row[4], row[1]),
    "size": lambda row: (-row[3], row[1]),
}
"""As _ORDERS, for rows with the columns of `list_files`."""


def _count_hidden_files(
    db: sqlite3.Connection, files: VisibleFiles, folder: str, kind: str, after: str
) -> int:
    beneath = f"{folder}/" if folder else ""
    return sum(
        1
        for path, is_ in _read_hidden_files(db, files)
        if path.startswith(beneath) and (not kind or is_ == kind) and path > after
    )


def _read_hidden_files(db: sqlite3.Connection, files: VisibleFiles) -> list[tuple[str, str]]:
    """Returns path and kind of each hidden file."""
    known: list[tuple[str, str]] | None = files.of_hidden.get("paths and kinds")
    if known is None:
        known = list(select_rows(db, "SELECT path, kind FROM files WHERE id IN ({ids})", (), files.hidden))
        files.of_hidden["paths and kinds"] = known
    return known


def find_files(
    index: Index, pattern: str, fits: Visible, folder: str = "", *, visible: Visible | None = None
) -> list[IndexedFile]:
    """Returns the files that `fits` accepts, by path. `pattern` is the glob that `fits` was made from: its
    longest literal part lets SQLite choose the candidates."""
    conditions, values = ["path > ? AND path < ?"] if folder else [], list[Any]()
    if folder:
        values += [folder + "/", folder + "0"]
    literal = max(_LITERAL.findall(_SETS.sub("/", pattern)), key=len, default="")
    if literal:
        conditions.append(f"(path LIKE ? OR {has_non_ascii('path')})")
        values.append(f"%{literal}%")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    with index.reading() as db:
        rows = db.execute(f"SELECT {FILE_COLUMNS} FROM files{where} ORDER BY path", values).fetchall()
    return [file_from_row(row) for row in rows if fits(row[0]) and (visible is None or visible(row[0]))]


def list_shallow_paths(index: Index, folder: str, depth: int, *, visible: Visible | None = None) -> list[str]:
    """Returns the files at most `depth` levels below a folder, by path. The length of the SQL pattern grows
    with `depth`."""
    levels = depth + (folder.count("/") + 1 if folder else 0)
    condition = "path NOT GLOB ?"
    values: list[Any] = ["*" + "/*" * levels]
    if folder:
        condition += " AND path > ? AND path < ?"
        values += [folder + "/", folder + "0"]
    with index.reading() as db:
        rows = db.execute(f"SELECT path FROM files WHERE {condition} ORDER BY path", values).fetchall()
    return [path for (path,) in rows if visible is None or visible(path)]


def count_problems_by_code(index: Index, *, visible: Visible | None = None) -> dict[str, int]:
    """Counts the problems of each code."""
    with index.reading() as db:
        counts = read_counts(index, db, (PROBLEM,), "problems", visible)
    return {key: count for (_, key, _), (count, _) in counts.items()}


def list_problems(
    index: Index, *, limit: int = NO_LIMIT, offset: int = 0, visible: Visible | None = None
) -> ListPage[FoundProblem]:
    """Lists the problems that the parser found, by path, and within a note in the order of its text."""
    with index.reading() as db:
        counts = read_counts(index, db, (PROBLEM,), "problems", visible)
        total = sum(count for count, _ in counts.values())
        rows = select_page(
            db.execute(
                f"SELECT file, path, code, message, line FROM {join_files('problems', total)}"
                " ON files.id = file ORDER BY path, seq"
            ),
            hidden_ids(index, db, visible),
            limit=limit,
            offset=offset,
        )
    return ListPage(tuple(FoundProblem(VaultPath(path), *about) for path, *about in rows), total)


def find_duplicates(
    index: Index, *, limit: int = NO_LIMIT, offset: int = 0, visible: Visible | None = None
) -> ListPage[tuple[VaultPath, ...]]:
    """Returns groups of notes that share a name, so that a bare link to it is ambiguous; each sorted."""
    with index.reading() as db:
        if totals.are_current(db):
            hidden = hidden_ids(index, db, visible)
            single = _find_single_names(db, hidden)
            marked = db.execute("SELECT name FROM marks WHERE what = ? ORDER BY name", (totals.DUPLICATE,))
            named = (key for (key,) in marked if key not in single)
            page = list(islice(named, offset, None if limit < 0 else offset + limit))
            groups = [_list_named(db, key, hidden) for key in page]
            return ListPage(tuple(groups), totals.count_marked(db, totals.DUPLICATE) - len(single))
        grouped: dict[str, list[VaultPath]] = {}
        for key, path in db.execute("SELECT key, path FROM files WHERE kind = 'note' ORDER BY key, path"):
            if visible is None or visible(path):
                grouped.setdefault(key, []).append(VaultPath(path))
    found = [tuple(group) for group in grouped.values() if len(group) > 1]
    return ListPage(tuple(take_page(found, limit=limit, offset=offset)), len(found))


def _find_single_names(db: sqlite3.Connection, hidden: Collection[int]) -> set[str]:
    """Returns the names that several notes have, but not several that are visible."""
    statement = (
        "SELECT DISTINCT files.key FROM files CROSS JOIN marks ON marks.what = ? AND name = files.key"
        " WHERE files.id IN ({ids})"
    )
    shared = {key for (key,) in select_rows(db, statement, (totals.DUPLICATE,), hidden)}
    return {key for key in shared if len(_list_named(db, key, hidden)) < 2}


def _list_named(db: sqlite3.Connection, key: str, hidden: Collection[int]) -> tuple[VaultPath, ...]:
    rows = db.execute("SELECT id, path FROM files WHERE key = ? AND +kind = 'note' ORDER BY path", (key,))
    return tuple(VaultPath(path) for id_, path in rows if id_ not in hidden)


def find_conflicts(
    index: Index, *, limit: int = NO_LIMIT, offset: int = 0, visible: Visible | None = None
) -> ListPage[tuple[VaultPath, Conflict]]:
    """Returns the conflict copies that a cloud service made, by path."""
    with index.reading() as db:
        if not totals.are_current(db):
            paths = index.paths(db) if visible is None else index.visible_files(db, visible).paths
            beside = frozenset(paths.values())
            found = _detect_conflicts(sorted(beside), beside)
        elif visible is None:
            marked = totals.list_marked(db, totals.CONFLICT, limit, offset)
            rows = tuple((VaultPath(path), totals.decode_conflict(about)) for path, about in marked)
            return ListPage(rows, totals.count_marked(db, totals.CONFLICT))
        else:
            found = _find_visible_conflicts(index, db, visible)
    return ListPage(tuple(take_page(found, limit=limit, offset=offset)), len(found))


def _detect_conflicts(paths: Iterable[str], beside: Container[str]) -> list[tuple[VaultPath, Conflict]]:
    checked = ((VaultPath(path), detect_conflict(VaultPath(path), beside)) for path in paths)
    return [(path, conflict) for path, conflict in checked if conflict is not None]


def _find_visible_conflicts(
    index: Index, db: sqlite3.Connection, visible: Visible
) -> list[tuple[VaultPath, Conflict]]:
    """Whether a file is a conflict copy depends on the files next to it, so only those next to a hidden one
    are judged again."""
    files = index.visible_files(db, visible)
    hidden = Counter(folder_of(path) for path, _ in _read_hidden_files(db, files))
    folders = index.folders(db)
    mixed = {folder for folder, count in hidden.items() if count < folders[folder]}
    found = [
        (VaultPath(path), totals.decode_conflict(about))
        for path, about in totals.list_marked(db, totals.CONFLICT, NO_LIMIT, 0)
        if folder_of(path) not in mixed and visible(path)
    ]
    if mixed:
        beside = frozenset(path for path in files.paths.values() if folder_of(path) in mixed)
        found += _detect_conflicts(beside, beside)
    return sorted(found, key=lambda row: row[0])
