"""Marks the files that the app's ignore filters name (`files.ignored`).

The filters by which they are marked are in `meta`, so that the writer marks new files by the same. When the
settings say others, whoever asks next marks the files again, from what the index has stored: nothing is read
from disk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import cache, partial
from typing import Final

import msgspec

from vaultbridge.index import compare
from vaultbridge.index.store import write
from vaultbridge.index.store.database import Index, write_meta
from vaultbridge.index.store.rows import build_rows, decode_note
from vaultbridge.links.resolve import FileTable
from vaultbridge.vault.file_types import kind_of
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.settings import IgnoreFilters
from vaultbridge.vault.walk import FileEntry

MARKED_FILES: Final = 500
"""How many files are marked in one transaction, for which other writers wait: less than half a second."""


def read_ignore_filters(db: sqlite3.Connection) -> IgnoreFilters:
    """The filters by which `files.ignored` is set."""
    (value,) = db.execute("SELECT value FROM meta WHERE name = 'ignore_filters'").fetchone()
    return IgnoreFilters(tuple(msgspec.json.decode(value)))


def mark_ignored(index: Index, filters: IgnoreFilters) -> None:
    """Marks the files that these filters name, if the index knows others: the settings have changed. Ends
    when all are marked; files are written in batches, and the filters with the last one, so that whoever asks
    meanwhile goes on with it."""
    wanted = msgspec.json.encode(filters.filters).decode()
    terms = write.TermWriter()
    while True:
        with index.reading() as db:
            (known,) = db.execute("SELECT value FROM meta WHERE name = 'ignore_filters'").fetchone()
            if known == wanted:
                return
            rows = db.execute("SELECT id, path, ignored FROM files")
            differing = [id_ for id_, path, ignored in rows if filters.match(path) != bool(ignored)]
        with index.writing() as db:
            table = cache(partial(index.table_while_writing, db))
            for id_ in differing[:MARKED_FILES]:
                _mark_file(db, id_, filters, terms, table)
            if len(differing) <= MARKED_FILES and not _differ(db, filters):
                write_meta(db, ignore_filters=wanted)


def _differ(db: sqlite3.Connection, filters: IgnoreFilters) -> bool:
    rows = db.execute("SELECT path, ignored FROM files")
    return any(filters.match(path) != bool(ignored) for path, ignored in rows)


def _mark_file(
    db: sqlite3.Connection,
    id_: int,
    filters: IgnoreFilters,
    terms: write.TermWriter,
    table: Callable[[], FileTable],
) -> None:
    row = db.execute(f"SELECT {compare.STORED_COLUMNS} FROM files WHERE id = ?", (id_,)).fetchone()
    stored = None if row is None else compare.StoredFile(*row)
    if stored is None or filters.match(stored.path) == bool(stored.ignored):
        return
    content = db.execute(
        "SELECT note, text FROM notes LEFT JOIN texts USING (id) WHERE id = ?", (id_,)
    ).fetchone()
    ignored = not stored.ignored
    if content is None:
        write.set_ignored_without_content(db, id_, ignored=ignored)
        return
    path = VaultPath(stored.path)
    entry = FileEntry(path, stored.size, stored.mtime_ns, stored.ino, kind_of(path))
    file = write.FileWrite(db, id_, entry, bool(stored.trusted), ignored, table, write.FileIds(db))
    terms.add(db, write.set_ignored(file, build_rows(decode_note(content[0]), content[1], stored.hash)))
