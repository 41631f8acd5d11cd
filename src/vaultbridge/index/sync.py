"""Brings the index up to date with the disk: all of it, or just some paths.

The cost grows with the change: everything is compared by stat, only files that differ are read, only what was
read is written, and only links that an added or removed name may affect are resolved again. A small change is
one transaction, so that during a move no reader sees the vault without the file. A large one is committed in
batches, so that readers see the first notes early.

Another process may write rows of the same files at the same time. So rows are compared again inside the
transaction: the process that read the file as it still is wins, and the next comparison corrects the rest.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import cache, partial
from typing import Final

import msgspec
from msgspec import Struct

from vaultbridge.errors import EngineFailure
from vaultbridge.index import compare
from vaultbridge.index.build import ChunkResult, FileJob, FileResult, parse_files
from vaultbridge.index.ignored import read_ignore_filters
from vaultbridge.index.store import write
from vaultbridge.index.store.database import (
    Index,
    add_meta,
    read_meta,
    read_status,
    write_meta,
)
from vaultbridge.index.store.rows import collect_terms
from vaultbridge.index.store.schema import INDEXED, NAME_ONLY, PENDING
from vaultbridge.limits import NOTE_PARSE_BYTES
from vaultbridge.links.resolve import FileTable, file_name, name_key
from vaultbridge.system import FileStat, is_racy
from vaultbridge.vault.paths import VaultFolder, VaultPath
from vaultbridge.vault.walk import FileEntry, Skipped, Unreadable

BATCH_FILES: Final = 2000
"""Notes in one transaction of a large change: about 6 MB of text and less than a second of work, after which
readers see them. Smaller batches leave the full-text table more segments to merge (measured: 500 is a third
slower)."""

log = logging.getLogger(__name__)

SyncProgress = Callable[[int, int], None]
Cancelled = Callable[[], bool]
Pause = Callable[[], None]


def never_pause() -> None:
    pass


LEFT_OUT_STORED: Final = 10_000
"""The most files and folders left out that the index lists. An answer shows a few, but those of them that its
caller may see, and hidden ones must not use up the list."""


class SyncReport(Struct, frozen=True):
    """What a comparison with the disk changed in the index. `leftovers` are temporary files of ours that were
    found, `left_out` are files and folders that are not part of the vault although a person may think so, and
    `cancelled` says that the work is unfinished."""

    added: int = 0
    changed: int = 0
    removed: int = 0
    unreadable: tuple[Unreadable, ...] = ()
    leftovers: tuple[str, ...] = ()
    left_out: tuple[Skipped, ...] = ()
    cancelled: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


class Synchronizer:
    """Updates one vault's index. Only one thread at a time may use it; each call blocks until it is done."""

    def __init__(
        self,
        root: VaultFolder,
        index: Index,
        *,
        clock: Callable[[], int] = time.time_ns,
        children: int | None = None,
        batch_files: int = BATCH_FILES,
    ) -> None:
        self.root = root
        self.index = index
        self._clock = clock
        self._children = children
        self._batch_files = batch_files

    def sync_all(self, progress: SyncProgress | None = None, cancel: Cancelled | None = None) -> SyncReport:
        """Compare the whole vault. `progress(done, total)` counts notes. When `cancel()`, which is called
        between batches, returns True, committed batches stay and the next call continues from there. Raises
        `VaultNotFound` or `EngineFailure` when the vault's folder itself cannot be read; then nothing has
        changed."""
        self.root.check()
        started = self._clock()
        with self.index.reading() as db:
            status = read_status(db)
            (left_out,) = db.execute("SELECT value FROM meta WHERE name = 'left_out'").fetchone()
            seen, difference = compare.compare_vault(db, self.root)
        for place in seen.unreadable:
            if not place.path:
                self.root.check()
                raise EngineFailure(f"The vault's folder could not be read: {place.why}.")
        report = self._apply(difference, seen, started, progress, cancel, fresh=status.state != "ready")
        self._remember(report)
        if not report.cancelled:
            if status.state != "ready":
                self._finish(seen)
            elif left_out != _encode_left_out(seen):
                self._store_left_out(seen)
        return report

    def sync_paths(self, changed: Iterable[VaultPath], pause: Pause = never_pause) -> SyncReport:
        """Compare these files and folders, whether they are new, changed or gone. `pause` is called between
        two files; it may wait for something that is more urgent."""
        started = self._clock()
        difference = compare.Difference()
        unreadable: list[Unreadable] = []
        entries: dict[str, FileEntry] = {}
        rows: dict[str, compare.StoredFile] = {}
        # Another folder in the vault's place may have files of the same names.
        if why := self.root.absence():
            return SyncReport(unreadable=(Unreadable(VaultPath(""), why),))
        with self.index.reading() as db:
            for path in dict.fromkeys(changed):
                # The rows first: see `compare_vault`.
                rows |= {row.path: row for row in compare.read_rows_beneath(db, path)}
                seen = compare.scan_path(self.root, path)
                unreadable += seen.unreadable
                entries |= seen.entries
        everything = compare.DiskSnapshot(entries, unreadable)
        difference = compare.compare(rows.values(), everything)
        # The leader builds an index that was never built, with these files among the rest.
        report = self._apply(difference, everything, started, None, None, fresh=False, pause=pause)
        self._remember(report)
        return report

    def _remember(self, report: SyncReport) -> None:
        """Somebody saw how the vault changed, so it is still this vault, whatever is left of its files."""
        if report.added or report.removed:
            self.root.identity.renew()

    def _store_left_out(self, seen: compare.DiskSnapshot) -> None:
        try:
            with self.index.writing(silently=True) as db:
                write_meta(db, left_out=_encode_left_out(seen))
        except EngineFailure as error:
            if error.details.get("index_rebuilt"):
                raise
            # The disk is full. The comparison is still right; only this list is not stored.
            log.warning("What is left out could not be stored: %s", error)

    def _finish(self, seen: compare.DiskSnapshot) -> None:
        with self.index.writing() as db:
            write.end_bulk(db)
            (total,) = db.execute("SELECT count(*) FROM files WHERE state != ?", (NAME_ONLY,)).fetchone()
            write_meta(db, state="ready", done=total, total=total, left_out=_encode_left_out(seen))
        self.index.compact()

    def _apply(
        self,
        difference: compare.Difference,
        seen: compare.DiskSnapshot,
        started: int,
        progress: SyncProgress | None,
        cancel: Cancelled | None,
        *,
        fresh: bool,
        pause: Pause = never_pause,
    ) -> SyncReport:
        if not difference:
            return SyncReport(
                unreadable=tuple(seen.unreadable),
                leftovers=tuple(seen.leftovers),
                left_out=tuple(seen.left_out),
            )
        with self.index.reading() as db:
            first_id = write.next_file_id(db)
        jobs = difference.jobs(first_id)
        change = _Change(self.root, self.index, difference, started, fresh=fresh)
        if len(jobs) <= self._batch_files and not fresh:
            self._write_at_once(change, jobs, pause)
            return change.report(seen)
        cancelled = self._write_in_batches(change, jobs, progress, cancel)
        return change.report(seen, cancelled=cancelled)

    def _write_at_once(self, change: _Change, jobs: list[FileJob], pause: Pause) -> None:
        parsed = parse_files(self.root, jobs, children=self._children, pause=pause)
        results = list(parsed)
        if change.writes_nothing(results):
            return
        with self.index.writing() as db:
            change.write_files(db)
            sum(change.write_contents(db, iter(results), pause))
            # Last: most links to a file that was moved have been rewritten by now.
            change.resolve_links(db)

    def _write_in_batches(
        self,
        change: _Change,
        jobs: list[FileJob],
        progress: SyncProgress | None,
        cancel: Cancelled | None,
    ) -> bool:
        """Returns whether it was cancelled."""
        with self.index.writing() as db:
            change.write_files(db)
            change.resolve_links(db)
            if change.fresh:
                (searchable,) = db.execute(
                    "SELECT count(*) FROM files WHERE state != ?", (NAME_ONLY,)
                ).fetchone()
                write_meta(db, state="building", total=searchable, done=searchable - len(jobs))
        done = 0
        cancelled = False
        with closing(parse_files(self.root, jobs, children=self._children)) as parsed:
            while done < len(jobs) and not cancelled:
                # Written as results arrive, so that the children need not wait for a whole batch.
                with self.index.writing() as db:
                    for count in change.write_contents(db, _take_results(parsed, self._batch_files)):
                        done += count
                    change.resolve_links(db)
                if progress is not None:
                    progress(done, len(jobs))
                cancelled = done < len(jobs) and cancel is not None and cancel()
        return cancelled


def _encode_left_out(seen: compare.DiskSnapshot) -> str:
    """Returns how many files and folders are left out, and the first of them, as JSON for `meta`."""
    first = sorted((skipped.path, skipped.why) for skipped in seen.left_out)[:LEFT_OUT_STORED]
    return msgspec.json.encode([len(seen.left_out), first]).decode()


def _take_results(results: Iterator[ChunkResult], files: int) -> Iterator[ChunkResult]:
    """Yields the next results until they contain this many files."""
    for result in results:
        yield result
        files -= len(result)
        if files <= 0:
            return


class _Change:
    """Writes one difference, in one or several transactions."""

    def __init__(
        self, root: VaultFolder, index: Index, difference: compare.Difference, started: int, *, fresh: bool
    ) -> None:
        self.root = root
        self.index = index
        self.difference = difference
        self.started = started
        self.fresh = fresh
        self.changed = 0
        self.removed = 0
        self.entries: dict[str, FileEntry] = {entry.path: entry for entry in difference.added}
        self.entries |= {entry.path: entry for _, entry in difference.changed}
        self.compared: dict[str, compare.StoredFile] = {row.path: row for row, _ in difference.changed}
        self.known: dict[str, int] = {}
        self.renamed: list[str] = []
        """The files that were added or removed, until the links that may lead to them are resolved again."""
        self.version = -1
        self._table: tuple[int, FileTable] | None = None
        """The files by name, with the `files_version` that they belong to."""
        self.terms = write.TermWriter()

    def report(self, seen: compare.DiskSnapshot, *, cancelled: bool = False) -> SyncReport:
        return SyncReport(
            added=len(self.difference.added),
            changed=self.changed,
            removed=self.removed,
            unreadable=tuple(seen.unreadable),
            leftovers=tuple(seen.leftovers),
            left_out=tuple(seen.left_out),
            cancelled=cancelled,
        )

    def may_trust(self, mtime_ns: int) -> bool:
        return not is_racy(mtime_ns, self.started)

    def _is_on_disk(self, entry: FileEntry) -> bool:
        """Whether a file is still as it was read."""
        now = compare.scan_path(self.root, entry.path).entries.get(entry.path)
        return now is not None and (now.size, now.mtime_ns, now.ino) == (
            entry.size,
            entry.mtime_ns,
            entry.ino,
        )

    def writes_nothing(self, results: Iterable[ChunkResult]) -> bool:
        """Whether every row is already as it would be written. That is so for files that were read again only
        because they are too recent to be trusted by their stat, and still are. A transaction would make every
        reader believe that something has changed."""
        if self.difference.added or self.difference.gone or self.difference.restamped:
            return False
        return all(self._is_stored(result) for chunk in results for result in chunk)

    def _is_stored(self, result: FileResult) -> bool:
        row, signature = self.compared[result.path], result.signature
        if signature is None or not result.is_known or row.trusted or row.state == PENDING:
            return False
        same = FileStat(row.mtime_ns, row.size, row.ino) == signature
        return same and not self.may_trust(row.mtime_ns)

    def write_files(self, db: sqlite3.Connection) -> None:
        """Write the added and removed files. The caller must then call `resolve_links`."""
        if self.fresh:
            write.begin_bulk(db)
        for row, entry in self.difference.restamped:
            write.update_stat(db, row.id, entry, trusted=True)
        if not self.fresh and not self.difference.gone and not self.difference.added:
            # A change that affects only text needs no table of all names in the vault.
            self.version = read_meta(db, "files_version")
            return
        # The table is shared.
        table = self._read_table(db).copy()
        empty = not len(table)
        gone = self._remove_gone(db, table)
        added = self._add_new(db, table, empty=empty)
        self._publish_table(db, table, changed=bool(gone or added))
        if not empty:
            self.renamed += [*gone, *added]

    def _publish_table(self, db: sqlite3.Connection, table: FileTable, *, changed: bool) -> None:
        if changed:
            add_meta(db, files_version=1)
        self.version = read_meta(db, "files_version")
        self._table = (self.version, table)

    def _read_table(self, db: sqlite3.Connection) -> FileTable:
        """Returns all files by name, as of this transaction. Shared: copy it before you change it."""
        version = read_meta(db, "files_version")
        if self._table is None or self._table[0] != version:
            self._table = (version, self.index.table_while_writing(db))
        return self._table[1]

    def resolve_links(self, db: sqlite3.Connection) -> None:
        """Update the links that the added and removed files affect."""
        keys = list({name_key(file_name(path)) for path in self.renamed})
        if keys:
            write.update_links(db, keys, self._read_table(db), write.FileIds(db))
        self.renamed.clear()

    def _remove_gone(self, db: sqlite3.Connection, table: FileTable) -> list[str]:
        gone: list[str] = []
        for row in self.difference.gone:
            now = _read_row(db, row.path)
            # Another process has found the file again, so its row is newer than our scan.
            if now is None or (now.mtime_ns, now.ino, now.hash) != (row.mtime_ns, row.ino, row.hash):
                continue
            write.remove_file(db, now.id, now.path)
            table.remove(now.path)
            gone.append(now.path)
            self._count(db, now.kind, -1)
        self.removed += len(gone)
        return gone

    def _add_new(self, db: sqlite3.Connection, table: FileTable, *, empty: bool) -> list[str]:
        new = [entry for entry in self.difference.added if empty or _read_row(db, entry.path) is None]
        first = write.next_file_id(db)
        ignored = read_ignore_filters(db)
        rows = [
            write.make_file_row(
                first + at,
                entry,
                trusted=not write.is_searched(entry.kind),
                ignored=ignored.match(entry.path),
            )
            for at, entry in enumerate(new)
        ]
        write.insert_files(db, rows)
        for row in rows:
            table.add(row[1])
            self.known[row[1]] = row[0]
        searched = sum(write.is_searched(entry.kind) for entry in new)
        if searched:
            add_meta(db, total=searched)
        return [entry.path for entry in new]

    def _count(self, db: sqlite3.Connection, kind: str, amount: int) -> None:
        if write.is_searched(kind):
            add_meta(db, total=amount, done=amount)

    def write_contents(
        self,
        db: sqlite3.Connection,
        chunks: Iterator[ChunkResult],
        pause: Pause = never_pause,
    ) -> Iterator[int]:
        """Replace the content in the index with what was read; yields the number of files in each chunk."""
        ids = write.FileIds(db, self.known if read_meta(db, "files_version") == self.version else None)
        # Read once, when the first link is resolved: nobody else adds a file during this transaction.
        table = cache(partial(self._read_table, db))
        vanished: list[str] = []
        fresh = 0
        for chunk in chunks:
            for result in chunk:
                pause()
                row = _read_row(db, result.path)
                if row is None:
                    continue
                if result.gone:
                    vanished.append(result.path)
                    write.remove_file(db, row.id, row.path)
                    self._count(db, row.kind, -1 if row.state == INDEXED else 0)
                    continue
                fresh += row.state == PENDING
                self._write_content(db, row, result, table, ids)
            yield len(chunk)
        add_meta(db, done=fresh)
        if vanished:
            # If the whole vault is gone, this raises and nothing is committed.
            self.root.check()
            self.removed += len(vanished)
            without = table().copy()
            for path in vanished:
                without.remove(path)
                self.known.pop(path, None)
            self._publish_table(db, without, changed=True)
            self.renamed += vanished

    def _write_content(
        self,
        db: sqlite3.Connection,
        row: compare.StoredFile,
        result: FileResult,
        table: Callable[[], FileTable],
        ids: write.FileIds,
    ) -> None:
        entry = self.entries[result.path]
        compared = self.compared.get(result.path)
        if result.signature is not None:
            signature = result.signature
            entry = FileEntry(entry.path, signature.size, signature.mtime_ns, signature.ino, entry.kind)
        if compared is not None and row.mtime_ns != compared.mtime_ns and not self._is_on_disk(entry):
            # Another process has written a newer row. Not the later time decides: a file that was put back
            # may be older than the one that it replaced.
            return
        # Content that could not be read is read again at every comparison.
        unread = result.signature is None and not entry.placeholder and entry.size <= NOTE_PARSE_BYTES
        trusted = self.may_trust(entry.mtime_ns) and not unread
        ignored = bool(row.ignored)
        target = write.FileWrite(db, row.id, entry, trusted, ignored, table, ids)
        rows = result.rows
        if rows is None or write.has_same_problem(db, row.id, row.hash, rows):
            write.update_stat(db, row.id, entry, trusted=trusted)
        elif row.state == INDEXED:
            self.terms.add(db, write.replace_content(target, rows))
            self.changed += 1
        else:
            write.insert_content(target, rows)
            # A first build collects them from the full-text table at its end.
            if not self.fresh and not ignored:
                self.terms.add(db, collect_terms(rows, entry.path))


def _read_row(db: sqlite3.Connection, path: str) -> compare.StoredFile | None:
    row = db.execute(f"SELECT {compare.STORED_COLUMNS} FROM files WHERE path = ?", (path,)).fetchone()
    return None if row is None else compare.StoredFile(*row)
