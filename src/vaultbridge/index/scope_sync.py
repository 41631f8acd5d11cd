"""Fills the index of a scope from the full one, and keeps it in step.

A scoped index is an ordinary index of the files that exist for some caller. A hidden note does not exist for
it because nothing in it knows the note: not its words, not a count, not a link that leads to it. Queries
therefore know no scope.

Nothing is read from disk or parsed again: rows come from the full index, from the parsed notes and texts that
it stores. Links are resolved again, among the files of the scope. A file has the same id in both.

`followed` in `meta` says how far a scoped index is: which index it follows (`identity`), the `generation`
that it equals, the `position` in the log of changes up to which it has everything, and the `links` that were
left out because they lead to hidden files. Whoever asks catches up, in any process. Each step reads first and
then writes one transaction, in which `followed` must still be what was read; otherwise another process was
faster, and the step is planned again. A step that is killed leaves nothing.

    scoped index  full index                     step
    any           another identity               empty it, follow that one from the start
    not ready     another generation             compare all rows by id; write the names that differ
    not ready     same, contents are missing     write the next contents
    not ready     same, nothing missing, ready   create secondary indexes: ready
    not ready     same, nothing missing, built   wait for more
    ready         same generation                none: it is current
    ready         later, the log reaches back    write the files that the log names, oldest first
    ready         later, the log does not        compare all rows by id; write the files that differ

    failure                                      why it does no harm
    killed while it is being filled              names are written first; what lacks content is still to do
    two processes fill it                        each write checks `followed` and skips what is there
    the full index is replaced or rebuilt        its identity is another
    this file is deleted or damaged              an empty one is made, whose `followed` is empty
    a file becomes hidden, or a link to one      its name, or the list of such links, decides at each step
    an id is used again for another file         the row's path differs: the old file is removed first
    an older full index is still open elsewhere  identity or generation differ: the next step corrects it
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.index.compare import STORED_COLUMNS, StoredFile
from vaultbridge.index.scope_source import UNLOGGED, Membership, SourceFolders, SourceState, read_source_state
from vaultbridge.index.store import schema, write
from vaultbridge.index.store.database import Index, add_meta, read_meta, write_meta
from vaultbridge.index.store.rows import Rows, build_rows, collect_terms, decode_note
from vaultbridge.index.store.schema import INDEXED, NAME_ONLY, split_for_sql
from vaultbridge.links.resolve import FileTable, file_name, name_key
from vaultbridge.vault.file_types import kind_of
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.walk import FileEntry

BATCH_FILES: Final = 1000
"""The most files in one step: less than half a second of work, after which readers see them."""

BATCH_CHARS: Final = 16 * 1024 * 1024
"""The most text in one step, unless a single note is longer: it is in memory until it is written."""

Step = Literal["current", "more", "waiting"]
"""What is left to do: nothing; another step; nothing until the full index has more."""


class Followed(Struct, frozen=True, array_like=True):
    """How far a scoped index follows the full one."""

    identity: int = 0
    generation: int = 0
    position: int = UNLOGGED
    links: tuple[str, ...] = ()


class _Copied(Struct, frozen=True):
    """A file as the full index has it. `note` is None if its content is not indexed."""

    row: StoredFile
    note: bytes | None
    text: str | None


class _Changes(Struct, frozen=True):
    """What one step writes: files by id (None for one that is gone or hidden), and `followed` afterwards."""

    files: dict[int, _Copied | None]
    after: Followed


_Rows: TypeAlias = dict[int, StoredFile | None]

_decode_followed = msgspec.json.Decoder(Followed).decode


def _is_ready(db: sqlite3.Connection) -> bool:
    (state,) = db.execute("SELECT value FROM meta WHERE name = 'state'").fetchone()
    return bool(state == "ready")


def read_followed(db: sqlite3.Connection) -> Followed:
    (value,) = db.execute("SELECT value FROM meta WHERE name = 'followed'").fetchone()
    return _decode_followed(value) if value else Followed()


def _write_followed(db: sqlite3.Connection, followed: Followed) -> None:
    write_meta(db, followed=msgspec.json.encode(followed).decode())


class ScopeSynchronizer:
    """Lets one scoped index follow the full one. Only one thread at a time may use it."""

    def __init__(
        self, full: Index, scoped: Index, members: Membership, *, batch_files: int = BATCH_FILES
    ) -> None:
        self._full = full
        self._scoped = scoped
        self._members = members
        self._batch_files = batch_files
        self._missing: tuple[Followed, deque[int]] = (Followed(), deque())
        """The files whose contents are still to be written, and the state for which they were found."""
        self._table: tuple[int, FileTable] | None = None
        self._terms = write.TermWriter()

    def catch_up(self, cancel: Callable[[], bool] = lambda: False) -> bool:
        """Takes steps until the scoped index is current; returns whether it is complete. It is not while the
        full one is being built, nor after `cancel()`, which is called between steps."""
        while (step := self.step()) == "more":
            if cancel():
                return False
        return step == "current"

    def step(self) -> Step:
        followed, own_state = self._read_own()
        with self._full.reading() as source:
            now = read_source_state(source)
        if followed.identity != now.identity:
            return self._start_again(followed, now)
        if own_state == "ready" and _equals(followed, now):
            return "current"
        if own_state != "ready":
            if followed.generation != now.generation:
                return self._write_names(followed, now)
            return self._write_missing(followed, now)
        if followed.position >= now.first - 1 and now.ready:
            return self._write_changes(followed, self._read_logged(followed))
        differing = self._compare(followed, now)
        if differing is None:
            return "more"
        rows, links = differing
        ids = sorted(rows, key=lambda id_: (rows[id_] is not None, id_))
        with self._full.reading() as source:
            if read_source_state(source) != now:
                return "more"
            files, read = self._read_files(source, ids, frozenset(links), chars=BATCH_CHARS)
        after = followed
        if read == len(ids):
            after = Followed(now.identity, now.generation, now.position, links)
        return self._write_changes(followed, _Changes(files, after))

    def _read_own(self) -> tuple[Followed, str]:
        with self._scoped.reading() as db:
            (state,) = db.execute("SELECT value FROM meta WHERE name = 'state'").fetchone()
            return read_followed(db), state

    def _start_again(self, followed: Followed, now: SourceState) -> Step:
        with self._scoped.writing(silently=True) as db:
            if read_followed(db) == followed:
                schema.empty(db)
                write_meta(db, state="building", done=0, total=0)
                _write_followed(db, Followed(now.identity))
                _count_change(db, names=True)
        return "more"

    # The first filling.

    def _write_names(self, followed: Followed, now: SourceState) -> Step:
        compared = self._compare(followed, now)
        if compared is None:
            return "more"
        rows, links = compared
        after = Followed(now.identity, now.generation, now.position, links)
        with self._scoped.writing(silently=True) as db:
            if read_followed(db) != followed:
                return "more"
            write.begin_bulk(db)
            (known,) = db.execute("SELECT count(*) FROM files").fetchone()
            # Those that differ in their content are written later.
            names = _Names(db, self._read_table(db).copy())
            for id_, row in rows.items():
                names.remove_other(id_, row)
            names.insert([row for row in rows.values() if row is not None])
            self._publish(db, names, resolve=bool(known))
            _write_followed(db, after)
            (total,) = db.execute("SELECT count(*) FROM files WHERE state != ?", (NAME_ONLY,)).fetchone()
            (done,) = db.execute("SELECT count(*) FROM files WHERE state = ?", (INDEXED,)).fetchone()
            write_meta(db, done=done, total=total)
            _count_change(db)
        self._missing = (after, _list_missing(rows))
        return "more"

    def _write_missing(self, followed: Followed, now: SourceState) -> Step:
        if self._missing[0] != followed:
            # This process did not write the names, or has waited for another one.
            compared = self._compare(followed, now)
            if compared is None:
                return "more"
            self._missing = (followed, _list_missing(compared[0]))
        missing = self._missing[1]
        if not missing:
            return self._finish(followed) if now.ready else "waiting"
        with self._full.reading() as source:
            if read_source_state(source) != now:
                return "more"
            files, read = self._read_files(source, missing, frozenset(followed.links), chars=BATCH_CHARS)
        step = self._write_changes(followed, _Changes(files, followed))
        for _ in range(read):
            missing.popleft()
        return step

    def _finish(self, followed: Followed) -> Step:
        with self._scoped.writing(silently=True) as db:
            if read_followed(db) != followed or _is_ready(db):
                return "more"
            write.end_bulk(db)
            write_meta(db, state="ready")
            _count_change(db)
        self._scoped.compact()
        return "more"

    # What has changed.

    def _compare(self, followed: Followed, now: SourceState) -> tuple[_Rows, tuple[str, ...]] | None:
        """Returns the files whose rows differ, as they should be, and the links to hidden files; None if the
        full index is not in this state any more."""
        with self._scoped.reading() as db:
            mine = {row[0]: hash(row) for row in db.execute(f"SELECT {STORED_COLUMNS} FROM files")}
        rows: _Rows = {}
        with self._full.reading() as source:
            if read_source_state(source) != now:
                return None
            links = self._members.find_links_to_hidden(SourceFolders(source, self._full.folders(source)))
            for row in source.execute(f"SELECT {STORED_COLUMNS} FROM files ORDER BY id"):
                if self._members.shows(row[1]) and row[1] not in links:
                    stored = StoredFile(*row)
                    if mine.pop(stored.id, None) != hash(row):
                        rows[stored.id] = stored
        rows |= dict.fromkeys(mine)
        return rows, tuple(sorted(links))

    def _read_logged(self, followed: Followed) -> _Changes:
        """Reads what the log names since the position, as far as it fits into one step."""
        with self._full.reading() as source:
            now = read_source_state(source)
            if now.identity != followed.identity or not now.ready or followed.position < now.first - 1:
                return _Changes({}, followed)
            links = self._members.find_links_to_hidden(SourceFolders(source, self._full.folders(source)))
            if differing := sorted(links ^ set(followed.links))[: self._batch_files]:
                files, _ = self._read_files(source, _find_ids(source, differing), links)
                held = tuple(sorted({*followed.links} ^ {*differing}))
                return _Changes(files, replace(followed, generation=0, links=held))
            logged: dict[int, int] = {}
            statement = "SELECT seq, file FROM changed WHERE seq > ? ORDER BY seq"
            for seq, id_ in source.execute(statement, (followed.position,)):
                logged.setdefault(id_, seq)
            # By their first entries. If a file has a later one too, it is only read again.
            ids = list(logged)
            files, read = self._read_files(source, ids, links, chars=BATCH_CHARS)
        if read < len(ids):
            return _Changes(files, replace(followed, generation=0, position=logged[ids[read]] - 1))
        return _Changes(files, Followed(now.identity, now.generation, now.position, followed.links))

    def _read_files(
        self,
        source: sqlite3.Connection,
        ids: Iterable[int],
        links: Collection[str],
        *,
        chars: int | None = None,
    ) -> tuple[dict[int, _Copied | None], int]:
        """Reads the files with the first of these ids until a step has enough, and returns also how many
        those are. Links have no text in the index, so only for other files the `chars` are limited."""
        files: dict[int, _Copied | None] = {}
        left = chars
        for id_ in ids:
            if len(files) >= self._batch_files or (left is not None and left <= 0):
                break
            row = source.execute(
                f"SELECT {STORED_COLUMNS}, note, text FROM files LEFT JOIN notes USING (id)"
                " LEFT JOIN texts USING (id) WHERE id = ?",
                (id_,),
            ).fetchone()
            if row is None or not self._members.shows(row[1]) or row[1] in links:
                files[id_] = None
            else:
                *about, note, text = row
                files[id_] = _Copied(StoredFile(*about), note, text)
                left = None if left is None else left - len(text or "")
        return files, len(files)

    def _write_changes(self, followed: Followed, changes: _Changes) -> Step:
        with self._scoped.writing(silently=True) as db:
            if read_followed(db) != followed:
                return "more"
            if self._write_files(db, changes.files):
                _count_change(db)
            if changes.after != followed:
                _write_followed(db, changes.after)
        return "more"

    def _write_files(self, db: sqlite3.Connection, files: Mapping[int, _Copied | None]) -> bool:
        """Writes files as they are in the full index; returns whether anything was different."""
        before = {id_: _read_row(db, id_) for id_ in files}
        wanted = {id_: None if copied is None else copied.row for id_, copied in files.items()}
        if all(_agree(before[id_], wanted[id_]) for id_ in files):
            return False
        renamed = any(
            (None if old is None else old.path) != (None if new is None else new.path)
            for old, new in zip(before.values(), wanted.values(), strict=True)
        )
        names = _Names(db, self._read_table(db).copy() if renamed else FileTable())
        for id_, row in wanted.items():
            names.remove_other(id_, row)
        names.insert([row for row in wanted.values() if row is not None])
        if renamed:
            self._publish(db, names, resolve=False)
        ids = write.FileIds(db)
        done = 0
        for copied in files.values():
            if copied is not None:
                done += self._write_content(db, copied, ids)
        # Last: most links to a file that was moved have been rewritten by now.
        self._resolve(db, names)
        add_meta(db, total=names.searched, done=done + names.done)
        return True

    def _write_content(self, db: sqlite3.Connection, copied: _Copied, ids: write.FileIds) -> int:
        """Returns by how much the number of notes with content grew."""
        row = copied.row
        known = _read_row(db, row.id)
        if known is None or _agree(known, row):
            return 0
        entry = FileEntry(VaultPath(row.path), row.size, row.mtime_ns, row.ino, kind_of(row.path))
        trusted = bool(row.trusted)
        if row.state != INDEXED or copied.note is None or _has_content(db, known, copied):
            write.update_stat(db, row.id, entry, trusted=trusted)
            return 0
        ignored = bool(row.ignored)
        target = write.FileWrite(db, row.id, entry, trusted, ignored, lambda: self._read_table(db), ids)
        rows = _make_rows(copied)
        if known.state == INDEXED and known.ignored != row.ignored:
            self._terms.add(db, write.set_ignored(target, rows))
            return 0
        if known.state == INDEXED:
            self._terms.add(db, write.replace_content(target, rows))
            return 0
        write.insert_content(target, rows)
        if _is_ready(db) and not ignored:
            # A first filling collects them at its end.
            self._terms.add(db, collect_terms(rows, row.path))
        return 1

    def _read_table(self, db: sqlite3.Connection) -> FileTable:
        """All files by name, as of this transaction. Shared: copy it before you change it."""
        version = read_meta(db, "files_version")
        if self._table is None or self._table[0] != version:
            self._table = (version, self._scoped.table_while_writing(db))
        return self._table[1]

    def _publish(self, db: sqlite3.Connection, names: _Names, *, resolve: bool) -> None:
        add_meta(db, files_version=1)
        self._table = (read_meta(db, "files_version"), names.table)
        if resolve:
            self._resolve(db, names)

    def _resolve(self, db: sqlite3.Connection, names: _Names) -> None:
        keys = list({name_key(file_name(path)) for path in names.renamed})
        if keys:
            write.update_links(db, keys, self._read_table(db), write.FileIds(db))


class _Names:
    """Adds and removes files in one transaction, in a table of its own."""

    def __init__(self, db: sqlite3.Connection, table: FileTable) -> None:
        self.table = table
        self.renamed: list[str] = []
        self.searched = 0
        self.done = 0
        """By how much the number of notes grows, and of those with content."""
        self._db = db

    def remove_other(self, id_: int, row: StoredFile | None) -> None:
        """Removes the file that has this id, unless it is this one, and a file of the same name with another
        id."""
        known = _read_row(self._db, id_)
        if known is not None and (row is None or known.path != row.path):
            self._remove(known)
        if row is not None:
            same = self._db.execute(
                f"SELECT {STORED_COLUMNS} FROM files WHERE path = ? AND id != ?", (row.path, id_)
            ).fetchone()
            if same is not None:
                self._remove(StoredFile(*same))

    def _remove(self, row: StoredFile) -> None:
        write.remove_file(self._db, row.id, row.path)
        self.table.remove(row.path)
        self.renamed.append(row.path)
        self.searched -= row.state != NAME_ONLY
        self.done -= row.state == INDEXED

    def insert(self, rows: Iterable[StoredFile]) -> None:
        """Inserts those that are not there, without their content, and updates those that have none."""
        new: list[write.FileValues] = []
        for row in rows:
            entry = FileEntry(VaultPath(row.path), row.size, row.mtime_ns, row.ino, kind_of(row.path))
            known = _read_row(self._db, row.id)
            if known is None:
                searched = write.is_searched(row.kind)
                new.append(
                    write.make_file_row(
                        row.id,
                        entry,
                        trusted=bool(row.trusted) and not searched,
                        ignored=bool(row.ignored),
                    )
                )
                self.table.add(row.path)
                self.renamed.append(row.path)
                self.searched += searched
                continue
            if known.state != INDEXED and known.ignored != row.ignored:
                ignored = bool(row.ignored)
                write.set_ignored_without_content(self._db, row.id, ignored=ignored)
            if row.state == NAME_ONLY:
                write.update_stat(self._db, row.id, entry, trusted=bool(row.trusted))
        write.insert_files(self._db, new)


def _equals(followed: Followed, now: SourceState) -> bool:
    return now.ready and (followed.identity, followed.generation) == (now.identity, now.generation)


def _count_change(db: sqlite3.Connection, *, names: bool = False) -> None:
    """Makes this transaction a new state of the scoped index. A step without it changes no answer, so that
    nobody learns from the generation that something has changed elsewhere."""
    add_meta(db, generation=1, files_version=int(names))
    schema.trim_log(db)


def _read_row(db: sqlite3.Connection, id_: int) -> StoredFile | None:
    row = db.execute(f"SELECT {STORED_COLUMNS} FROM files WHERE id = ?", (id_,)).fetchone()
    return None if row is None else StoredFile(*row)


def _find_ids(source: sqlite3.Connection, paths: Iterable[str]) -> Iterator[int]:
    for marks, part in split_for_sql(paths):
        yield from (id_ for (id_,) in source.execute(f"SELECT id FROM files WHERE path IN ({marks})", part))


def _tells_content(row: StoredFile) -> bool:
    """Whether equal rows mean equal content. A file that cannot be read has a problem and no hash."""
    return bool(row.hash) or row.state != INDEXED


def _agree(row: StoredFile | None, other: StoredFile | None) -> bool:
    return row == other and (row is None or _tells_content(row))


def _has_content(db: sqlite3.Connection, known: StoredFile, copied: _Copied) -> bool:
    """Whether the content is in the scoped index already."""
    if (known.state, known.hash, known.ignored) != (INDEXED, copied.row.hash, copied.row.ignored):
        return False
    if known.hash:
        return True
    (note,) = db.execute("SELECT note FROM notes WHERE id = ?", (known.id,)).fetchone() or (None,)
    return note == copied.note


def _make_rows(copied: _Copied) -> Rows:
    assert copied.note is not None
    rows = build_rows(decode_note(copied.note), copied.text, copied.row.hash)
    rows.note = copied.note
    return rows


def _list_missing(rows: _Rows) -> deque[int]:
    """In ascending order, in which the full-text table is filled fastest."""
    return deque(sorted(id_ for id_, row in rows.items() if row is not None and row.state == INDEXED))
