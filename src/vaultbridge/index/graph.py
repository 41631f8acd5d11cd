"""Finds which notes link to which: backlinks, outgoing and unresolved links, orphans, dead ends, neighbours.

`LinkGraph` shows the links as one caller may see them. A note that `visible` hides does not exist for that
caller: it links to nothing, and a link to it looks unresolved. The index resolves links among all files. A
link to a file that does not exist for the caller (`exists`) is resolved again among those that do; otherwise
a broken link would reveal that a hidden file has that name. A note's links to itself count as links, but the
note is still an orphan.

The functions at the end find sources for moves, whatever the caller may see. Walks over the graph
(neighbourhood, shortest path) are in `links.graph`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from itertools import islice
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.index import totals
from vaultbridge.index.hidden_links import HiddenTargets, NamedLink, group_links_to_hidden
from vaultbridge.index.listing import NO_LIMIT, ListPage, take_page
from vaultbridge.index.missing import MissingTargets, UnresolvedTarget, read_missing, read_visible_missing
from vaultbridge.index.store.database import Index
from vaultbridge.index.store.file_cache import VisibleFiles
from vaultbridge.index.store.rows import AMBIGUOUS, EMBED, decode_link_kind, decode_links
from vaultbridge.index.store.schema import INDEXED, NAME_ONLY, split_for_sql
from vaultbridge.index.totals import MISSING
from vaultbridge.index.visible_totals import (
    hidden_ids,
    hides_most,
    list_marked,
    read_marks_of_hidden,
    select_rows,
)
from vaultbridge.limits import NOTE_PARSE_BYTES
from vaultbridge.links.graph import Neighbours
from vaultbridge.links.resolve import (
    FileTable,
    FilteredTable,
    Resolved,
    candidate_keys,
    file_name,
    name_key,
    resolve,
)
from vaultbridge.markdown.model import Link, LinkKind
from vaultbridge.vault.paths import VaultPath, Visible

_COLUMNS: Final = "line, flags, raw, links.target, subpath"


class Backlink(Struct, frozen=True):
    """A link to the requested file. `seq` is its position among the links of `source`."""

    source: VaultPath
    seq: int
    line: int
    raw: str
    subpath: str
    embed: bool
    kind: LinkKind


class OutgoingLink(Struct, frozen=True):
    """A link of a note. `resolved` is None when no file has the name; `ambiguous` when several do."""

    line: int
    raw: str
    target: str
    subpath: str
    embed: bool
    kind: LinkKind
    resolved: VaultPath | None
    ambiguous: bool


class LinkGraph:
    """Queries about links. Each call is one reading transaction; any thread may call."""

    def __init__(
        self, index: Index, *, visible: Visible | None = None, exists: Visible | None = None
    ) -> None:
        """`visible` selects the files to show, `exists` those that the caller may know of at all. None means
        all files."""
        self._index = index
        self._visible = visible
        self._exists = exists
        self._table: FileTable | None = None
        self._namesakes: dict[str, bool] = {}

    def backlinks(self, path: VaultPath) -> list[Backlink]:
        """Returns every link to a file, including its own, by source and line."""
        with self._index.reading() as db:
            rows = self._find_links_to(db, path)
        rows.sort(key=lambda row: (row[0], row[2], row[1]))
        return [
            Backlink(VaultPath(source), seq, line, raw, subpath, bool(flags & EMBED), decode_link_kind(flags))
            for source, seq, line, flags, raw, _, subpath in rows
            if self._visible is None or self._visible(source)
        ]

    def outgoing(self, path: VaultPath) -> list[OutgoingLink]:
        """Returns every link of a note in the order of its text (links in properties first)."""
        with self._index.reading() as db:
            rows = db.execute(
                f"SELECT target_file.path, {_COLUMNS} FROM links"
                " LEFT JOIN files target_file ON target_file.id = links.target_id"
                " WHERE source = (SELECT id FROM files WHERE path = ?) ORDER BY seq",
                (path,),
            ).fetchall()
        links = []
        for to, line, flags, raw, target, subpath in rows:
            ambiguous = bool(flags & AMBIGUOUS)
            if self._exists is not None and (ambiguous or (to is not None and not self._exists(to))):
                to, ambiguous = self._resolve(target, path)
            seen = VaultPath(to) if to is not None and self._sees(to) else None
            kind = decode_link_kind(flags)
            links.append(OutgoingLink(line, raw, target, subpath, bool(flags & EMBED), kind, seen, ambiguous))
        return links

    def _resolve(self, target: str, source: str) -> tuple[str | None, bool]:
        """Returns the file that a link leads to as the caller sees it, and whether others match as well."""
        found = resolve(target, source, self._names())
        return (found.path, bool(found.others)) if isinstance(found, Resolved) else (None, False)

    def _names(self) -> FileTable:
        """Returns the files that exist for the caller."""
        assert self._exists is not None
        if self._table is None:
            self._table = FilteredTable(self._index.table(), self._exists)
        return self._table

    def _has_namesake(self, target: str) -> bool:
        """Whether a file that exists for the caller has a name that a link with this target may mean."""
        known = self._namesakes.get(target)
        if known is None:
            known = any(self._names().paths_named(key) for key in candidate_keys(target))
            self._namesakes[target] = known
        return known

    def _find_links_to(self, db: sqlite3.Connection, path: str) -> list[tuple[Any, ...]]:
        """Returns (source, seq, line, flags, raw, target, subpath) of each link to a file, as the caller sees
        it."""
        rows = db.execute(
            f"SELECT source_file.path, seq, {_COLUMNS} FROM links"
            " JOIN files source_file ON source_file.id = links.source"
            " WHERE target_id = (SELECT id FROM files WHERE path = ?)",
            (path,),
        ).fetchall()
        if self._exists is None:
            return rows
        # For this caller, links to a hidden file of the same name lead here.
        key = name_key(file_name(path))
        paths, hidden = self._index.paths(db), hidden_ids(self._index, db, self._exists)
        naming = f"SELECT target_id, source, seq, {_COLUMNS} FROM links WHERE key = ? OR exact_key = ?"
        for to, source, *link in db.execute(naming, (key, key)):
            # Few links lead to hidden files, so that is asked before anything else.
            if to not in hidden or source in hidden or paths[to] == path:
                continue
            target = link[4]
            if self._resolve(target, paths[source])[0] == path:
                rows.append((paths[source], *link))
        return rows

    def unresolved(
        self, *, limit: int = NO_LIMIT, offset: int = 0, sources: int = NO_LIMIT
    ) -> ListPage[UnresolvedTarget]:
        """Returns targets without a file, most frequent first, each with at most `sources` of its notes."""
        with self._index.reading() as db:
            if (missing := self._count_missing(db)) is not None:
                wanted = islice(missing.list_frequent(db), offset, None if limit < 0 else offset + limit)
                rows = tuple(missing.read(db, *target, limit=sources) for target in wanted)
                return ListPage(rows, missing.rows)
            found = self._find_unresolved(db)
        page = take_page(found, limit=limit, offset=offset)
        if sources != NO_LIMIT:
            page = [replace(entry, sources=entry.sources[:sources]) for entry in page]
        return ListPage(tuple(page), len(found))

    def _count_missing(self, db: sqlite3.Connection) -> MissingTargets | None:
        """Returns the unresolved targets by the stored totals, corrected for hidden files; None if every link
        must be read instead."""
        if not totals.are_current(db):
            return None
        if self._visible is None:
            return read_missing(db, self._index.paths(db))
        files = self._index.visible_files(db, self._visible)
        if hides_most(files):
            return None
        at = (MISSING, self._exists)
        missing: MissingTargets | None = files.answers.get(at)
        if missing is None:
            targets, paths = self._group_links_to_hidden(db, files), self._index.paths(db)
            missing = read_visible_missing(
                db, paths, files, targets, lambda link: self._leads_to_visible(paths[link.to], link.found)
            )
            files.answers[at] = missing
        return missing

    def _group_links_to_hidden(self, db: sqlite3.Connection, files: VisibleFiles) -> HiddenTargets:
        paths, table = self._index.paths(db), self._index.table(db)

        def find(target: str, source: int) -> str | None:
            return self._resolve(target, paths[source])[0]

        return group_links_to_hidden(db, files, paths, table, self._exists, find)

    def _find_unresolved(self, db: sqlite3.Connection) -> list[UnresolvedTarget]:
        """Finds the unresolved targets by reading every link."""
        paths = self._index.paths(db)
        hidden = hidden_ids(self._index, db, self._visible)
        query = "SELECT source, target, target_id FROM links"
        order = "ORDER BY source, seq"
        links: Iterable[tuple[Any, ...]] = db.execute(f"{query} {order}")
        if self._visible is not None and hides_most(files := self._index.visible_files(db, self._visible)):
            links = select_rows(db, f"{query} WHERE source IN ({{ids}}) {order}", (), files.paths)
        rows = [
            (source, target)
            for source, target, to in links
            if source not in hidden
            and (to is None or (to in hidden and not self._leads_elsewhere(target, paths, source, to)))
        ]
        grouped: dict[str, tuple[str, list[str]]] = {}
        for source, target in sorted(rows, key=lambda row: paths[row[0]]):
            grouped.setdefault(name_key(target), (target, []))[1].append(paths[source])
        found: list[tuple[int, str, UnresolvedTarget]] = []
        for key, (target, naming) in grouped.items():
            sources = tuple(VaultPath(path) for path in dict.fromkeys(naming))
            entry = UnresolvedTarget(target, len(naming), len(sources), sources)
            found.append((-entry.count, key, entry))
        return [entry for _, _, entry in sorted(found, key=lambda item: item[:2])]

    def _leads_elsewhere(self, target: str, paths: Mapping[int, str], source: int, to: int) -> bool:
        """Whether a link to a file that does not exist for the caller resolves to another that does."""
        if self._exists is None or not self._has_namesake(target):
            return False
        return self._leads_to_visible(paths[to], self._resolve(target, paths[source])[0])

    def _leads_to_visible(self, hidden: str, found: str | None) -> bool:
        """Whether a link to a hidden file, which leads to another one if that does not exist, leads to a
        visible one for the caller."""
        exists = self._exists is None or self._exists(hidden)
        return not exists and found is not None and self._sees(found)

    def unresolved_count(self) -> tuple[int, int]:
        """Returns how many links lead to no file, and how many different targets they have."""
        with self._index.reading() as db:
            if (missing := self._count_missing(db)) is not None:
                return missing.links, missing.rows
            found = self._find_unresolved(db)
        return sum(entry.count for entry in found), len(found)

    def unresolved_places(self, *, limit: int = NO_LIMIT, offset: int = 0) -> ListPage[tuple[VaultPath, str]]:
        """Returns each note with an unresolved link and its target, most frequent targets first."""
        with self._index.reading() as db:
            if (missing := self._count_missing(db)) is None:
                pairs = [
                    (path, entry.target) for entry in self._find_unresolved(db) for path in entry.sources
                ]
                return ListPage(tuple(take_page(pairs, limit=limit, offset=offset)), len(pairs))
            total = missing.places
            rows: list[tuple[VaultPath, str]] = []
            passed = 0
            wanted = total if limit == NO_LIMIT else limit
            for key, count, notes in missing.list_frequent(db):
                if passed + notes > offset:
                    skipped = max(0, offset - passed)
                    entry = missing.read(db, key, count, notes, limit=wanted - len(rows), offset=skipped)
                    rows += [(path, entry.target) for path in entry.sources]
                passed += notes
                if len(rows) >= wanted:
                    break
        return ListPage(tuple(rows), total)

    def orphans(
        self, *, attachments: bool = False, limit: int = NO_LIMIT, offset: int = 0
    ) -> ListPage[VaultPath]:
        """Returns notes and canvases (and `attachments`) that no other file links to, by path."""
        with self._index.reading() as db:
            if not attachments and totals.are_current(db):
                if self._visible is None:
                    return _read_marked(db, totals.ORPHAN, limit, offset)
                files = self._index.visible_files(db, self._visible)
                if not hides_most(files):
                    return self._list_visible_orphans(db, files, limit, offset)
            linked = {to for to, _ in self.edges(db)}
            found = self._list_others(db, linked, attachments=attachments)
        return ListPage(tuple(take_page(found, limit=limit, offset=offset)), len(found))

    def dead_ends(self, *, limit: int = NO_LIMIT, offset: int = 0) -> ListPage[VaultPath]:
        """Returns notes and canvases that link to nothing but themselves; an unresolved link counts as
        one."""
        with self._index.reading() as db:
            if totals.are_current(db):
                if self._visible is None:
                    return _read_marked(db, totals.DEAD_END, limit, offset)
                files = self._index.visible_files(db, self._visible)
                more = self._find_self_linking(db, files)
                if not more:
                    marked, total = list_marked(db, totals.DEAD_END, files, limit, offset)
                    return ListPage(tuple(VaultPath(path) for path, _ in marked), total)
                marked, _ = list_marked(db, totals.DEAD_END, files, NO_LIMIT, 0)
                found = sorted({*(VaultPath(path) for path, _ in marked), *more})
                return ListPage(tuple(take_page(found, limit=limit, offset=offset)), len(found))
            rows = db.execute("SELECT DISTINCT source FROM links WHERE target_id IS NOT source")
            linking = {source for (source,) in rows}
            found = self._list_others(db, linking, attachments=False)
            if self._visible is not None:
                files = self._index.visible_files(db, self._visible)
                found = sorted({*found, *self._find_self_linking(db, files)})
        return ListPage(tuple(take_page(found, limit=limit, offset=offset)), len(found))

    def _find_self_linking(self, db: sqlite3.Connection, files: VisibleFiles) -> list[VaultPath]:
        """Finds the notes that link to nothing but themselves once links to files that do not exist for the
        caller are resolved among those that do."""
        if self._exists is None:
            return []
        at = (totals.DEAD_END, self._exists)
        if at not in files.answers:
            paths, exists, all_links = self._index.paths(db), self._exists, files.links_to_hidden(db)
            count = "SELECT count(*) FROM links WHERE source = ? AND target_id IS NOT source"
            # Of the links of such a note, each is named.
            own: dict[int, list[NamedLink]] = {}
            for link in self._group_links_to_hidden(db, files).named:
                if link.found == paths[link.source] and not exists(paths[link.to]):
                    own.setdefault(link.source, []).append(link)
            files.answers[at] = [
                VaultPath(paths[source])
                for source, links in own.items()
                if len(links) == len(all_links[source])
                and db.execute(count, (source,)).fetchone() == (len(all_links[source]),)
            ]
        found: list[VaultPath] = files.answers[at]
        return found

    def _list_visible_orphans(
        self, db: sqlite3.Connection, files: VisibleFiles, limit: int, offset: int
    ) -> ListPage[VaultPath]:
        """The stored marks are of notes that no file links to. To these come notes that only hidden files
        link to; and a link to a hidden file may lead to one of them instead."""
        at = (totals.ORPHAN, self._exists)
        if at not in files.answers:
            paths = self._index.paths(db)
            around = {paths[to] for to, _ in self._edges_around_hidden(db, paths, files)}
            marked = {path for path in around if _is_marked(db, totals.ORPHAN, path)}
            hidden = {*read_marks_of_hidden(db, totals.ORPHAN, files)}
            linked = {to for to, other in files.linked_by_hidden(db).items() if other is None}
            more = {files.paths[to] for to in linked & files.searchable} - around
            files.answers[at] = (marked | hidden, sorted(more))
        left_out, more = files.answers[at]
        rows = db.execute("SELECT name FROM marks WHERE what = ? ORDER BY name", (totals.ORPHAN,))
        seen = merge((path for (path,) in rows if path not in left_out), more)
        page = islice(seen, offset, None if limit < 0 else offset + limit)
        total = totals.count_marked(db, totals.ORPHAN) - len(left_out) + len(more)
        return ListPage(tuple(map(VaultPath, page)), total)

    def neighbours(self, db: sqlite3.Connection, *, incoming: bool) -> Neighbours:
        """Returns a function for `links.graph`: what a file links to, or what links to it, within one
        transaction."""
        if self._exists is not None:
            return self._visible_neighbours(db, incoming=incoming)
        here, there = ("target_id", "source") if incoming else ("source", "target_id")
        statement = (
            f"SELECT DISTINCT there.path FROM links JOIN files there ON there.id = links.{there}"
            f" WHERE links.{here} = (SELECT id FROM files WHERE path = ?) ORDER BY there.path"
        )

        def find(path: str) -> Iterable[str]:
            rows = db.execute(statement, (path,)).fetchall()
            return [other for (other,) in rows if other != path and self._sees(other)]

        return find

    def _visible_neighbours(self, db: sqlite3.Connection, *, incoming: bool) -> Neighbours:
        def find(path: str) -> Iterable[str]:
            if incoming:
                others = {row[0] for row in self._find_links_to(db, path)}
            else:
                others = {link.resolved for link in self.outgoing(VaultPath(path)) if link.resolved}
            return sorted(other for other in others if other != path and self._sees(other))

        return find

    def _sees(self, path: str) -> bool:
        return self._visible is None or self._visible(path)

    def edges(self, db: sqlite3.Connection) -> Iterable[tuple[int, int]]:
        """Returns (target, source) of resolved links between two different files, from visible sources."""
        rows = db.execute(
            "SELECT DISTINCT target_id, source FROM links WHERE target_id IS NOT NULL AND target_id != source"
        )
        if self._visible is None:
            return rows
        paths, files = self._index.paths(db), self._index.visible_files(db, self._visible)
        edges = [(to, source) for to, source in rows if source not in files.hidden]
        return [*edges, *self._edges_around_hidden(db, paths, files)]

    def _edges_around_hidden(
        self, db: sqlite3.Connection, paths: Mapping[int, str], files: VisibleFiles
    ) -> Iterator[tuple[int, int]]:
        """Yields the edges of links to files that do not exist for the caller, resolved among those that
        do."""
        if self._exists is None:
            return
        for link in self._group_links_to_hidden(db, files).named:
            if not self._exists(paths[link.to]):
                row = db.execute("SELECT id FROM files WHERE path = ?", (link.found,)).fetchone()
                if row is not None and row[0] != link.source:
                    yield row[0], link.source

    def _list_others(self, db: sqlite3.Connection, ids: set[int], *, attachments: bool) -> list[VaultPath]:
        condition = "kind != 'base'" if attachments else f"state != {NAME_ONLY}"
        rows = db.execute(f"SELECT id, path FROM files WHERE {condition} ORDER BY path")
        return [VaultPath(path) for id_, path in rows if id_ not in ids and self._sees(path)]


def _read_marked(db: sqlite3.Connection, what: str, limit: int, offset: int) -> ListPage[VaultPath]:
    rows = tuple(VaultPath(path) for path, _ in totals.list_marked(db, what, limit, offset))
    return ListPage(rows, totals.count_marked(db, what))


def _is_marked(db: sqlite3.Connection, what: str, path: str) -> bool:
    row = db.execute("SELECT 1 FROM marks WHERE what = ? AND name = ?", (what, path)).fetchone()
    return row is not None


def find_sources_by_name(index: Index, keys: Iterable[str]) -> list[VaultPath]:
    """Returns the notes and canvases with a link that one of these name keys may affect, by path."""
    found: set[str] = set()
    with index.reading() as db:
        for marks, part in split_for_sql(keys):
            for column in ("key", "exact_key"):
                rows = db.execute(
                    "SELECT DISTINCT files.path FROM links JOIN files ON files.id = source"
                    f" WHERE links.{column} IN ({marks})",
                    part,
                )
                found.update(path for (path,) in rows)
    return [VaultPath(path) for path in sorted(found)]


def find_sources(index: Index, paths: Iterable[str]) -> list[VaultPath]:
    """Returns the notes and canvases with a link to one of these files, by path."""
    found: set[str] = set()
    with index.reading() as db:
        for marks, part in split_for_sql(paths):
            rows = db.execute(
                "SELECT DISTINCT source.path FROM files AS target JOIN links ON links.target_id = target.id"
                " JOIN files AS source ON source.id = links.source"
                f" WHERE target.path IN ({marks})",
                part,
            )
            found.update(path for (path,) in rows)
    return [VaultPath(path) for path in sorted(found)]


class StoredLinks(Struct, frozen=True):
    """The links of a file as they were parsed when its content had this hash."""

    hash: str
    links: tuple[Link, ...]


def read_stored_links(index: Index, paths: Iterable[str]) -> dict[VaultPath, StoredLinks]:
    """Returns the links of each of these files whose content is in the index."""
    found: dict[VaultPath, StoredLinks] = {}
    with index.reading() as db:
        for marks, part in split_for_sql(paths):
            # A file without a text was not parsed, because it was too large or not there.
            rows = db.execute(
                "SELECT path, hash, note FROM files JOIN notes USING (id) JOIN texts USING (id)"
                f" WHERE path IN ({marks})",
                part,
            )
            found.update(
                (VaultPath(path), StoredLinks(hash_, decode_links(note))) for path, hash_, note in rows
            )
    return found


def list_paths_of_kind(index: Index, kind: str) -> list[VaultPath]:
    with index.reading() as db:
        rows = db.execute("SELECT path FROM files WHERE kind = ? ORDER BY path", (kind,))
        return [VaultPath(path) for (path,) in rows]


def list_unparsed(index: Index) -> list[VaultPath]:
    """Returns the notes and canvases that are too large to be parsed, by path: their links are unknown."""
    with index.reading() as db:
        rows = db.execute(
            "SELECT path FROM files WHERE size > ? AND state = ? ORDER BY path", (NOTE_PARSE_BYTES, INDEXED)
        )
        return [VaultPath(path) for (path,) in rows]


def find_notes_with_bases(index: Index) -> list[VaultPath]:
    """Returns the notes that may contain a ```base block, by path: they have a fence and the word."""
    with index.reading() as db:
        # CROSS JOIN makes SQLite start with the word; otherwise it would start with all notes.
        rows = db.execute(
            "SELECT files.path FROM words CROSS JOIN files ON files.id = words.rowid"
            " CROSS JOIN texts ON texts.id = words.rowid"
            " WHERE words MATCH 'body : base' AND files.kind = 'note'"
            " AND (text LIKE '%```%base%' OR text LIKE '%~~~%base%') ORDER BY files.path"
        )
        return [VaultPath(path) for (path,) in rows]
