"""Reads single files from the index: the parsed note, its text, and a full dump for comparing two indexes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from vaultbridge.index.store import schema
from vaultbridge.index.store.database import Index
from vaultbridge.index.store.rows import decode_note
from vaultbridge.markdown.model import Note
from vaultbridge.vault.paths import VaultPath


class IndexedFile(Struct, frozen=True):
    """`hash` is empty for files whose content is not indexed and for notes that were not read yet."""

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


def find_file(index: Index, path: VaultPath) -> IndexedFile | None:
    with index.reading() as db:
        row = db.execute(f"SELECT {FILE_COLUMNS} FROM files WHERE path = ?", (path,)).fetchone()
    return None if row is None else file_from_row(row)


def list_files(index: Index, folder: VaultPath | None = None) -> list[IndexedFile]:
    """Returns all files, or those in a folder and its subfolders, by path."""
    with index.reading() as db:
        if not folder:
            rows = db.execute(f"SELECT {FILE_COLUMNS} FROM files ORDER BY path").fetchall()
        else:
            bounds = (folder + "/", folder + "0")
            statement = f"SELECT {FILE_COLUMNS} FROM files WHERE path > ? AND path < ? ORDER BY path"
            rows = db.execute(statement, bounds).fetchall()
    return [file_from_row(row) for row in rows]


def read_text(index: Index, path: VaultPath) -> str | None:
    """Returns the text as last indexed. Good enough for searching; an edit must read the file."""
    with index.reading() as db:
        row = db.execute(
            "SELECT text FROM texts WHERE id = (SELECT id FROM files WHERE path = ?)", (path,)
        ).fetchone()
    return None if row is None else str(row[0])


def iterate_notes(index: Index) -> Iterator[IndexedNote]:
    """Yields every note and canvas by path, from one transaction. Exhaust or close the iterator soon: it
    holds a reading connection."""
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


def dump(index: Index) -> dict[str, Any]:
    """Returns everything in the index in a form that is equal for two indexes of the same vault: no ids, no
    times. It serves tests and the check against a rebuilt index, and holds everything in memory."""
    db = schema.connect(index.file, writer=True)
    try:
        db.execute("BEGIN")
        names = dict(db.execute("SELECT id, path FROM files"))
        content: dict[str, Any] = {
            path: {"kind": kind, "size": size, "hash": hash_, "state": state}
            for path, kind, size, hash_, state in db.execute(
                "SELECT path, kind, size, hash, state FROM files"
            )
        }
        for statement, part in _DUMPED:
            for id_, *values in db.execute(statement):
                content[names[id_]].setdefault(part, []).append(_make_comparable(part, values, names))
        dumped = {path: content[path] for path in sorted(content)}
        # No path begins with a slash.
        dumped["/totals"] = db.execute("SELECT * FROM totals ORDER BY what, key, name").fetchall()
        dumped["/marks"] = db.execute("SELECT * FROM marks ORDER BY what, name").fetchall()
        return dumped
    finally:
        db.close()


def _make_comparable(part: str, values: list[Any], names: dict[int, str]) -> Any:
    if part == "note":
        return decode_note(values[0])
    if part == "links":
        return (*values[:-1], None if values[-1] is None else names[values[-1]])
    return tuple(values)


_DUMPED = (
    ("SELECT id, text FROM texts", "text"),
    ("SELECT id, note FROM notes", "note"),
    (
        "SELECT source, line, flags, raw, target, subpath, key, exact_key, target_id FROM links"
        " ORDER BY source, seq",
        "links",
    ),
    ("SELECT file, key, name, count FROM tags ORDER BY file, key", "tags"),
    ("SELECT file, key, name FROM aliases ORDER BY file, key", "aliases"),
    ("SELECT file, key, seq, name, type, value FROM properties ORDER BY file, key, seq", "properties"),
    ("SELECT file, line, status, text, description, fields, due FROM tasks ORDER BY file, seq", "tasks"),
    ("SELECT file, line, code, message FROM problems ORDER BY file, seq", "problems"),
    ("SELECT doc, col, offset, term FROM occurrences ORDER BY doc, col, offset", "words"),
)
