"""Inserts and removes a file's rows, and keeps links resolved.

All functions work within the caller's transaction. When files are added or removed, only links with a
candidate key (`links.resolve.candidate_keys`) of such a name can change, so only those are resolved again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from vaultbridge.index.fold import WORD, separate_words
from vaultbridge.index.store.rows import (
    AMBIGUOUS,
    LABEL_SECTIONS,
    LinkRow,
    Rows,
    collect_terms,
    decode_note,
    find_changed_sections,
    find_text_change,
    join_labels,
    make_body,
)
from vaultbridge.index.store.schema import (
    INDEXED,
    NAME_ONLY,
    PENDING,
    SECONDARY,
    WAL_PAGES,
    log_changes,
    split_for_sql,
    start_log,
)
from vaultbridge.links.resolve import FileTable, Resolved, file_name, name_key, resolve
from vaultbridge.vault.walk import FileEntry

SEARCHED_KINDS: Final = ("note", "canvas")
"""Kinds of files whose content is indexed: those that Obsidian searches. Others are found by name."""

FileValues = tuple[int, str, str, str, int, int, int, int, int, str, int]


def is_searched(kind: str) -> bool:
    return kind in SEARCHED_KINDS


def make_file_row(id_: int, entry: FileEntry, *, trusted: bool, ignored: bool) -> FileValues:
    state = PENDING if is_searched(entry.kind) else NAME_ONLY
    key = name_key(file_name(entry.path))
    stat = entry.size, entry.mtime_ns, entry.ino
    return (id_, entry.path, key, entry.kind, *stat, trusted, state, "", ignored)


def insert_files(db: sqlite3.Connection, rows: Sequence[FileValues]) -> None:
    db.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    log_changes(db, (id_ for id_, *_ in rows))


def next_file_id(db: sqlite3.Connection) -> int:
    (highest,) = db.execute("SELECT max(id) FROM files").fetchone()
    return int(highest or 0) + 1


def update_stat(db: sqlite3.Connection, id_: int, entry: FileEntry, *, trusted: bool) -> None:
    """Store a new stat for a file whose content did not change. `trusted` alone may be new too, which is not
    logged: no reader asks for it."""
    size, mtime_ns = db.execute("SELECT size, mtime_ns FROM files WHERE id = ?", (id_,)).fetchone()
    if (size, mtime_ns) != (entry.size, entry.mtime_ns):
        log_changes(db, (id_,))
    # Not its kind, which follows from its path: SQLite would also rewrite the entry in the index of kinds.
    db.execute(
        "UPDATE files SET size = ?, mtime_ns = ?, ino = ?, trusted = ? WHERE id = ?",
        (entry.size, entry.mtime_ns, entry.ino, trusted, id_),
    )


class FileWrite(Struct, frozen=True):
    """The file whose content is written: its row, and what is needed to resolve its links. `table` is called
    only if there are links. An `ignored` file has no rows that views are made from."""

    db: sqlite3.Connection
    id: int
    entry: FileEntry
    trusted: bool
    ignored: bool
    table: Callable[[], FileTable]
    ids: FileIds


def insert_content(file: FileWrite, rows: Rows) -> None:
    """Insert the content of a file that has none in the index yet."""
    db, id_ = file.db, file.id
    _mark_indexed(file, rows.hash)
    if rows.text is not None:
        db.execute("INSERT INTO texts VALUES (?, ?)", (id_, rows.text))
    db.execute("INSERT INTO notes VALUES (?, ?)", (id_, rows.note))
    if file.ignored:
        _insert_details(file, rows, _ALWAYS)
        return
    if rows.body is None:
        rows.body = make_body(rows.text or "")
    _insert_words(file, rows.labels, rows.body)
    _insert_details(file, rows, frozenset(_REMOVALS))


def replace_content(file: FileWrite, rows: Rows) -> set[str]:
    """Replace the content of a file that is in the index, writing only what differs: a new paragraph leaves
    the tables of links, tags, properties and tasks as they are. Returns the words that may be new in the
    file."""
    db, id_ = file.db, file.id
    if file.ignored:
        remove_content(db, id_, file.entry.path)
        insert_content(file, rows)
        return set()
    note, text = db.execute(
        "SELECT note, text FROM notes LEFT JOIN texts ON texts.id = notes.id WHERE notes.id = ?", (id_,)
    ).fetchone()
    changed = find_changed_sections(note, rows.note)
    part = find_text_change(text or "", rows.text or "")
    words = part.new_terms()
    labels = rows.labels
    if not changed.isdisjoint(LABEL_SECTIONS):
        labels = join_labels(decode_note(note))
        words.update(WORD.findall(rows.labels))
    changed -= {section for section in changed if _has_rows(file, section, rows)}
    _mark_indexed(file, rows.hash)
    if rows.text is not None:
        db.execute("INSERT OR REPLACE INTO texts VALUES (?, ?)", (id_, rows.text))
    elif text is not None:
        db.execute("DELETE FROM texts WHERE id = ?", (id_,))
    db.execute("UPDATE notes SET note = ? WHERE id = ?", (rows.note, id_))
    if rows.body is None:
        body, rows.body = part.bodies()
    else:
        body = make_body(text or "")
    _remove_words(db, id_, file.entry.path, labels, body)
    _insert_words(file, rows.labels, rows.body)
    if "links" in changed:
        _replace_links(file, rows)
        changed -= _LINKS
    for section in changed.intersection(_REMOVALS):
        db.execute(_REMOVALS[section], (id_,))
    _insert_details(file, rows, changed)
    return words


def _has_rows(file: FileWrite, section: str, rows: Rows) -> bool:
    """Whether the rows of a section are in the index already. Adding a word shifts all later positions in a
    note, but hardly any row contains a position."""
    if section not in _STORED:
        return False
    statement, wanted = _STORED[section]
    return file.db.execute(statement, (file.id,)).fetchall() == sorted(wanted(rows))


def _mark_indexed(file: FileWrite, hash_: str) -> None:
    entry = file.entry
    file.db.execute(
        "UPDATE files SET size = ?, mtime_ns = ?, ino = ?, hash = ?, trusted = ?, state = ? WHERE id = ?",
        (entry.size, entry.mtime_ns, entry.ino, hash_, file.trusted, INDEXED, file.id),
    )
    log_changes(file.db, (file.id,))


def _insert_words(file: FileWrite, labels: str, body: str) -> None:
    file.db.execute(
        "INSERT INTO words (rowid, path, labels, body) VALUES (?, ?, ?, ?)",
        (file.id, separate_words(file.entry.path), labels, body),
    )


def _remove_words(db: sqlite3.Connection, id_: int, path: str, labels: str, body: str) -> None:
    # `words` has no copy of the text, so what is deleted must be exactly what was inserted.
    db.execute(
        "INSERT INTO words (words, rowid, path, labels, body) VALUES ('delete', ?, ?, ?, ?)",
        (id_, separate_words(path), labels, body),
    )


def _insert_details(file: FileWrite, rows: Rows, sections: Collection[str]) -> None:
    """Insert the rows of these sections of a note, one table each."""
    db, id_ = file.db, file.id
    if rows.links and "links" in sections:
        db.executemany(
            _INSERT_LINK,
            [(id_, seq, *row) for seq, row in enumerate(_resolve_links(file, rows.links, {}))],
        )
    if rows.tags and "tags" in sections:
        db.executemany(
            "INSERT INTO tags VALUES (?, ?, ?, ?)",
            [(key, id_, name, count) for key, name, count in rows.tags],
        )
    if rows.aliases and "aliases" in sections:
        db.executemany(
            "INSERT INTO aliases VALUES (?, ?, ?)", [(key, id_, name) for key, name in rows.aliases]
        )
    if rows.properties and "properties" in sections:
        db.executemany(
            "INSERT INTO properties VALUES (?, ?, ?, ?, ?, ?)",
            [(key, id_, seq, name, type_, value) for key, seq, name, type_, value in rows.properties],
        )
    if rows.tasks and "tasks" in sections:
        db.executemany(
            "INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [(id_, *task) for task in rows.tasks]
        )
    if rows.problems and "problems" in sections:
        db.executemany(
            "INSERT INTO problems VALUES (?, ?, ?, ?, ?)", [(id_, *problem) for problem in rows.problems]
        )


def _replace_links(file: FileWrite, rows: Rows) -> None:
    """Write the links that differ: when one target is renamed, most others stay."""
    before = file.db.execute(
        "SELECT line, flags, raw, target, subpath, key, exact_key, target_id, missing FROM links"
        " WHERE source = ? ORDER BY seq",
        (file.id,),
    ).fetchall()
    # Where a file that was added or removed makes one of these wrong, `update_links` corrects it at the end.
    known = {row[3]: (row[1] & AMBIGUOUS, row[7], row[8]) for row in before}
    after = list(_resolve_links(file, rows.links, known))
    different = [
        (file.id, seq, *row) for seq, row in enumerate(after) if seq >= len(before) or before[seq] != row
    ]
    file.db.executemany(f"{_INSERT_LINK} ON CONFLICT DO UPDATE SET {_LINK_UPDATE}", different)
    if len(after) < len(before):
        file.db.execute("DELETE FROM links WHERE source = ? AND seq >= ?", (file.id, len(after)))


_INSERT_LINK: Final = "INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_LINK_UPDATE: Final = ", ".join(
    f"{column} = excluded.{column}"
    for column in ("line", "flags", "raw", "target", "subpath", "key", "exact_key", "target_id", "missing")
)

_Where = tuple[int, int | None, str | None]
"""Where a target leads: whether it is ambiguous, the file's id, and its key when it leads to no file."""


def _resolve_links(
    file: FileWrite, links: Iterable[LinkRow], known: dict[str, _Where]
) -> Iterator[tuple[int | str | None, ...]]:
    """Resolve links of a file, except those whose destination is `known` already, and complete their rows."""
    for line, flags, raw, target, subpath, key, exact in links:
        found = known.get(target)
        if found is None:
            found = known[target] = _resolve(file, target)
        ambiguous, to, missing = found
        missing = None if file.ignored else missing
        yield line, flags | ambiguous, raw, target, subpath, key, exact, to, missing


def _resolve(file: FileWrite, target: str) -> _Where:
    found = resolve(target, file.entry.path, file.table())
    if isinstance(found, Resolved):
        to = file.ids.get(found.path)
        return AMBIGUOUS if found.others else 0, to, name_key(target) if to is None else None
    return 0, None, name_key(target)


def remove_content(db: sqlite3.Connection, id_: int, path: str) -> None:
    """Remove everything that the content of a file put into the index; the file's own row stays."""
    row = db.execute(
        "SELECT note, text, ignored FROM notes JOIN files USING (id) LEFT JOIN texts USING (id)"
        " WHERE notes.id = ?",
        (id_,),
    ).fetchone()
    if row is not None and not row[2]:
        _remove_words(db, id_, path, join_labels(decode_note(row[0])), make_body(row[1] or ""))
    for table in ("texts", "notes"):
        db.execute(f"DELETE FROM {table} WHERE id = ?", (id_,))
    for statement in _REMOVALS.values():
        db.execute(statement, (id_,))


_REMOVALS: Final = {
    "links": "DELETE FROM links WHERE source = ?",
    "tags": "DELETE FROM tags WHERE file = ?",
    "aliases": "DELETE FROM aliases WHERE file = ?",
    "properties": "DELETE FROM properties WHERE file = ?",
    "tasks": "DELETE FROM tasks WHERE file = ?",
    "problems": "DELETE FROM problems WHERE file = ?",
}
"""How to remove the rows of a note's sections, each kind from its own table."""

_ALWAYS: Final = frozenset({"links", "aliases", "problems"})
"""The sections of an ignored note that have rows: what it leads to, what it is called, what is wrong with
it."""

_STORED: Final[dict[str, tuple[str, Callable[[Rows], list[Any]]]]] = {
    "tags": ("SELECT key, name, count FROM tags WHERE file = ? ORDER BY key", lambda rows: rows.tags),
    "aliases": ("SELECT key, name FROM aliases WHERE file = ? ORDER BY key", lambda rows: rows.aliases),
    "properties": (
        "SELECT key, seq, name, type, value FROM properties WHERE file = ? ORDER BY key, seq",
        lambda rows: rows.properties,
    ),
    "tasks": (
        "SELECT seq, line, status, text, description, fields, due FROM tasks WHERE file = ? ORDER BY seq",
        lambda rows: rows.tasks,
    ),
    "problems": (
        "SELECT seq, line, code, message FROM problems WHERE file = ? ORDER BY seq",
        lambda rows: rows.problems,
    ),
}
"""How to read the stored rows of a section in the form of `Rows`. Links are not among them, because they are
resolved when they are stored."""


def remove_file(db: sqlite3.Connection, id_: int, path: str) -> None:
    """Remove a file. The caller must then call `update_links` with its name key."""
    remove_content(db, id_, path)
    db.execute("DELETE FROM files WHERE id = ?", (id_,))
    log_changes(db, (id_,))


def set_ignored(file: FileWrite, rows: Rows) -> set[str]:
    """Marks a file whose content is in the index as ignored, or not any more. Returns the words that may be
    new."""
    remove_content(file.db, file.id, file.entry.path)
    set_ignored_without_content(file.db, file.id, ignored=file.ignored)
    insert_content(file, rows)
    return set() if file.ignored else collect_terms(rows, file.entry.path)


def set_ignored_without_content(db: sqlite3.Connection, id_: int, *, ignored: bool) -> None:
    db.execute("UPDATE files SET ignored = ? WHERE id = ?", (ignored, id_))
    # During a first build, readers know by it that another file belongs in views.
    db.execute("UPDATE meta SET value = value + 1 WHERE name = 'files_version'")
    log_changes(db, (id_,))


def has_same_problem(db: sqlite3.Connection, id_: int, hash_: str, rows: Rows) -> bool:
    """Whether a file without content has the same problem in the index already."""
    if hash_ or rows.hash:
        return False
    row = db.execute("SELECT note FROM notes WHERE id = ?", (id_,)).fetchone()
    return row is not None and bytes(row[0]) == rows.note


class TermWriter:
    """Adds words to the dictionary and caches those of one change, because most words repeat."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def add(self, db: sqlite3.Connection, terms: Iterable[str]) -> None:
        new = set(terms) - self._seen
        if new:
            db.executemany("INSERT OR IGNORE INTO terms (term) VALUES (?)", [(term,) for term in sorted(new)])
        if len(self._seen) < CACHED_TERMS:
            self._seen |= new


CACHED_TERMS: Final = 200_000
"""About 20 MB during a first build, and nearly all words of a vault of 100,000 notes. Other words go to
SQLite each time, which ignores those it has."""


_LINKS: Final = frozenset({"links"})


def update_links(db: sqlite3.Connection, keys: Sequence[str], table: FileTable, ids: FileIds) -> int:
    """Resolve again every link that one of these name keys may affect; returns how many changed."""
    affected: dict[tuple[int, int], tuple[str, bool, str, int, int | None]] = {}
    for marks, part in split_for_sql(keys):
        for column in ("key", "exact_key"):
            for source, seq, path, ignored, target, flags, target_id in db.execute(
                f"SELECT source, seq, files.path, ignored, target, flags, target_id FROM links"
                f" JOIN files ON files.id = source WHERE links.{column} IN ({marks})",
                part,
            ):
                affected[source, seq] = (path, ignored, target, flags, target_id)
    changed: list[tuple[int, int | None, str | None, int, int]] = []
    for (source, seq), (path, ignored, target, flags, target_id) in affected.items():
        found = resolve(target, path, table)
        after = ids.get(found.path) if isinstance(found, Resolved) else None
        ambiguous = AMBIGUOUS if isinstance(found, Resolved) and found.others else 0
        if after != target_id or flags & AMBIGUOUS != ambiguous:
            missing = name_key(target) if after is None and not ignored else None
            changed.append((flags & ~AMBIGUOUS | ambiguous, after, missing, source, seq))
    db.executemany(
        "UPDATE links SET flags = ?, target_id = ?, missing = ? WHERE source = ? AND seq = ?", changed
    )
    log_changes(db, {source for _, _, _, source, _ in changed})
    return len(changed)


def begin_bulk(db: sqlite3.Connection) -> None:
    """Prepare for a first build: drop the secondary indexes and let the full-text table write large
    segments."""
    for name in SECONDARY:
        db.execute(f"DROP INDEX IF EXISTS {name}")
    db.execute(f"PRAGMA wal_autocheckpoint = {BULK_WAL_PAGES}")
    db.execute(f"PRAGMA cache_size = -{BULK_CACHE_KIB}")
    _set_words_option(db, "automerge", 0)
    _set_words_option(db, "crisismerge", 64)
    _set_words_option(db, "hashsize", BULK_HASH_BYTES)


def end_bulk(db: sqlite3.Connection) -> None:
    """Finish a first build: create the secondary indexes, collect the words and start the log of
    changes."""
    db.execute(f"PRAGMA wal_autocheckpoint = {WAL_PAGES}")
    _set_words_option(db, "automerge", 4)
    _set_words_option(db, "crisismerge", 16)
    _set_words_option(db, "hashsize", 1024 * 1024)
    for name, statement in SECONDARY.items():
        db.execute(f"DROP INDEX IF EXISTS {name}")
        db.execute(statement)
    db.execute("INSERT OR IGNORE INTO terms (term) SELECT term FROM vocabulary")
    start_log(db)


BULK_WAL_PAGES: Final = 16_000
"""128 MiB of write-ahead file during a first build before SQLite checkpoints it and waits for the disk. With
its default of 1000 pages a build of 10,000 notes takes twice as long."""

BULK_CACHE_KIB: Final = 8192
"""The page cache of a first build, whose connection is closed at its end."""

BULK_HASH_BYTES: Final = 16 * 1024 * 1024
"""How much the full-text table collects in memory during a first build before it writes a segment. Measured
on 10,000 notes: 0.6 s with 16 MiB, 1.4 s with SQLite's default of 1 MiB; 64 MiB is no faster."""


def _set_words_option(db: sqlite3.Connection, name: str, value: int) -> None:
    db.execute("INSERT INTO words (words, rank) VALUES (?, ?)", (name, value))


class FileIds:
    """Maps paths to ids within one transaction. Each is looked up once, or never if a first build passes all
    of them."""

    __slots__ = ("_db", "_known")

    def __init__(self, db: sqlite3.Connection, known: dict[str, int] | None = None) -> None:
        self._db = db
        self._known = {} if known is None else known

    def get(self, path: str) -> int | None:
        id_ = self._known.get(path)
        if id_ is None:
            row = self._db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
            if row is None:
                return None
            id_ = self._known[path] = int(row[0])
        return id_
