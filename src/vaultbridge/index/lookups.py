"""Plain questions about files and their links: who may link where, what there is, what a note says."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Final

from vaultbridge.index.rows import decode_note
from vaultbridge.index.store import Index
from vaultbridge.note.model import Note
from vaultbridge.vault.paths import VaultPath

_IN_LIST: Final = 500
"""Values in one SQL list, below SQLite's bound on variables."""

_NOTES_AT_ONCE: Final = 256
"""Notes fetched in one go while all are walked through: memory stays flat at any size of vault."""


def sources_naming(index: Index, keys: Iterable[str]) -> list[VaultPath]:
    """The notes and canvases with a link that one of these name keys may decide, in order."""
    wanted = list(keys)
    found: set[str] = set()
    with index.reading() as db:
        for start in range(0, len(wanted), _IN_LIST):
            part = wanted[start : start + _IN_LIST]
            marks = ", ".join("?" * len(part))
            for column in ("key", "exact_key"):
                found.update(
                    path
                    for (path,) in db.execute(
                        "SELECT DISTINCT files.path FROM links JOIN files ON files.id = source"
                        f" WHERE links.{column} IN ({marks})",
                        part,
                    )
                )
    return [VaultPath(path) for path in sorted(found)]


def sources_of(index: Index, path: str) -> list[VaultPath]:
    """The notes and canvases with a link to this file, in order."""
    with index.reading() as db:
        rows = db.execute(
            "SELECT DISTINCT source.path FROM files AS target JOIN links ON links.target_id = target.id"
            " JOIN files AS source ON source.id = links.source WHERE target.path = ? ORDER BY source.path",
            (path,),
        )
        return [VaultPath(path) for (path,) in rows]


def paths_of_kind(index: Index, kind: str) -> list[VaultPath]:
    with index.reading() as db:
        return [
            VaultPath(p)
            for (p,) in db.execute("SELECT path FROM files WHERE kind = ? ORDER BY path", (kind,))
        ]


def notes(index: Index) -> Iterator[tuple[VaultPath, Note]]:
    """Every indexed note and canvas in order of the paths, from one moment."""
    with index.reading() as db:
        cursor = db.execute("SELECT path, note FROM files JOIN notes ON notes.id = files.id ORDER BY path")
        while rows := cursor.fetchmany(_NOTES_AT_ONCE):
            for path, blob in rows:
                yield VaultPath(path), decode_note(blob)


def stored_note(index: Index, path: str) -> Note | None:
    """What the index holds of one note, without reading the file."""
    with index.reading() as db:
        row = db.execute(
            "SELECT note FROM files JOIN notes ON notes.id = files.id WHERE path = ?", (path,)
        ).fetchone()
    return None if row is None else decode_note(row[0])


def count(db: sqlite3.Connection, statement: str) -> int:
    (number,) = db.execute(statement).fetchone()
    return int(number)
