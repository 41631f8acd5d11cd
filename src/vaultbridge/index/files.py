"""Lists what a vault contains, a page at a time: files, folders, problems, duplicate names, conflict copies.

Files that the app ignores are included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, Literal

from msgspec import Struct

from vaultbridge.index.listing import NO_LIMIT, ListPage, has_non_ascii, take_page
from vaultbridge.index.store.database import Index
from vaultbridge.index.store.rows import decode_note
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


def count_by_kind(index: Index) -> dict[str, int]:
    """Counts the files of each kind."""
    with index.reading() as db:
        return dict(db.execute("SELECT kind, count(*) FROM files GROUP BY kind"))


def list_untagged(index: Index) -> set[str]:
    """Returns the notes without a tag, in their properties or their text."""
    with index.reading() as db:
        rows = db.execute(
            "SELECT path FROM files WHERE kind = 'note' AND NOT ignored"
            " AND NOT EXISTS (SELECT 1 FROM tags WHERE file = files.id)"
        )
        found = {path for (path,) in rows}
        # The tags of an ignored note are only in the note itself.
        ignored = db.execute(
            "SELECT path, note FROM notes JOIN files USING (id) WHERE ignored AND kind = 'note'"
        )
        found.update(path for path, note in ignored if not decode_note(note).tags)
        return found


def count_by_folder(index: Index) -> dict[str, int]:
    """Counts the files in each folder and its subfolders, by path; "" is the vault itself."""
    with index.reading() as db:
        direct = index.folders(db)
    counts: dict[str, int] = {}
    for folder, count in direct.items():
        counts[folder] = counts.get(folder, 0) + count
        while folder:
            folder = folder_of(folder)
            counts[folder] = counts.get(folder, 0) + count
    return dict(sorted(counts.items()))


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
) -> ListPage[IndexedFile]:
    """Lists files, optionally in a folder and its subfolders, of one kind, with a path after `after`, or
    changed at a time or later."""
    conditions, values = [], list[Any]()
    if folder:
        conditions.append("path > ? AND path < ?")
        values += [folder + "/", folder + "0"]
    if kind:
        conditions.append("kind = ?")
        values.append(kind)
    if after:
        conditions.append("path > ?")
        values.append(after)
    if modified_since_ns:
        conditions.append("mtime_ns >= ?")
        values.append(modified_since_ns)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    with index.reading() as db:
        rows = db.execute(
            f"SELECT {FILE_COLUMNS} FROM files{where} ORDER BY {_ORDERS[order]} LIMIT ? OFFSET ?",
            (*values, limit, offset),
        ).fetchall()
        (total,) = db.execute(f"SELECT count(*) FROM files{where}", values).fetchone()
    return ListPage(tuple(map(file_from_row, rows)), total)


def find_files(index: Index, pattern: str, fits: Visible, folder: str = "") -> list[IndexedFile]:
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
    return [file_from_row(row) for row in rows if fits(row[0])]


def list_shallow_paths(index: Index, folder: str, depth: int) -> list[str]:
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
    return [path for (path,) in rows]


def count_problems_by_code(index: Index) -> dict[str, int]:
    """Counts the problems of each code."""
    with index.reading() as db:
        return dict(db.execute("SELECT code, count(*) FROM problems GROUP BY code"))


def list_problems(index: Index, *, limit: int = NO_LIMIT, offset: int = 0) -> ListPage[FoundProblem]:
    """Lists the problems that the parser found, by path, and within a note in the order of its text."""
    with index.reading() as db:
        (total,) = db.execute("SELECT count(*) FROM problems").fetchone()
        rows = db.execute(
            "SELECT path, code, message, line FROM problems JOIN files ON files.id = file"
            " ORDER BY path, seq LIMIT ? OFFSET ?",
            (limit, offset),
        ).fetchall()
    return ListPage(tuple(FoundProblem(VaultPath(path), *about) for path, *about in rows), total)


def find_duplicates(
    index: Index, *, limit: int = NO_LIMIT, offset: int = 0
) -> ListPage[tuple[VaultPath, ...]]:
    """Returns groups of notes that share a name, so that a bare link to it is ambiguous; each sorted."""
    with index.reading() as db:
        rows = db.execute(
            "SELECT key, path FROM files WHERE kind = 'note' AND key IN (SELECT key FROM files"
            " WHERE kind = 'note' GROUP BY key HAVING count(*) > 1) ORDER BY key, path"
        )
        grouped: dict[str, list[VaultPath]] = {}
        for key, path in rows:
            grouped.setdefault(key, []).append(VaultPath(path))
    found = [tuple(group) for group in grouped.values()]
    return ListPage(tuple(take_page(found, limit=limit, offset=offset)), len(found))


def find_conflicts(
    index: Index, *, limit: int = NO_LIMIT, offset: int = 0
) -> ListPage[tuple[VaultPath, Conflict]]:
    """Returns the conflict copies that a cloud service made, by path."""
    with index.reading() as db:
        beside = frozenset(index.paths(db).values())
    found = [
        (VaultPath(path), conflict)
        for path in sorted(beside)
        if (conflict := detect_conflict(VaultPath(path), beside)) is not None
    ]
    return ListPage(tuple(take_page(found, limit=limit, offset=offset)), len(found))
