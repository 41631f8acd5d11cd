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
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.index import totals
from vaultbridge.index.listing import FEW_ROWS, NO_LIMIT, ListPage, hidden_ids, join_files, take_page
from vaultbridge.index.store.database import Index
from vaultbridge.index.store.rows import AMBIGUOUS, EMBED, decode_link_kind, decode_links
from vaultbridge.index.store.schema import NAME_ONLY, split_for_sql
from vaultbridge.index.totals import MISSING, Counts, count_missing
from vaultbridge.links.graph import Neighbours
from vaultbridge.links.resolve import Resolved, file_name, name_key, resolve_among
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


class UnresolvedTarget(Struct, frozen=True):
    """A link target without a file, as first written, with the number of links and notes that contain it and
    some or all of those notes."""

    target: str
    count: int
    notes: int
    sources: tuple[VaultPath, ...]


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
        assert self._exists is not None
        found = resolve_among(target, source, self._index.table(), self._exists)
        return (found.path, bool(found.others)) if isinstance(found, Resolved) else (None, False)

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
        naming = (
            f"SELECT there.path, source_file.path, seq, {_COLUMNS} FROM links"
            " JOIN files source_file ON source_file.id = links.source"
            " JOIN files there ON there.id = target_id"
            " WHERE (links.key = ? OR links.exact_key = ?) AND there.path != ?"
        )
        for row in db.execute(naming, (key, key, path)):
            to, source, target = row[0], row[1], row[6]
            if not self._exists(to) and self._exists(source) and self._resolve(target, source)[0] == path:
                rows.append(row[1:])
        return rows

    def unresolved(
        self, *, limit: int = NO_LIMIT, offset: int = 0, sources: int = NO_LIMIT
    ) -> ListPage[UnresolvedTarget]:
        """Returns targets without a file, most frequent first, each with at most `sources` of its notes."""
        with self._index.reading() as db:
            if self._visible is None and totals.are_current(db):
                rows = tuple(
                    _read_target(db, key, count, notes, limit=sources)
                    for key, count, notes in totals.list_frequent(db, MISSING, "", limit=limit, offset=offset)
                )
                return ListPage(rows, totals.read_sum(db, MISSING).rows)
            found = self._find_unresolved(db)
        page = take_page(found, limit=limit, offset=offset)
        if sources != NO_LIMIT:
            page = [replace(entry, sources=entry.sources[:sources]) for entry in page]
        return ListPage(tuple(page), len(found))

    def _find_unresolved(self, db: sqlite3.Connection) -> list[UnresolvedTarget]:
        """Finds the unresolved targets by reading every link."""
        paths = self._index.paths(db)
        hidden = hidden_ids(self._index, db, self._visible)
        query = "SELECT source, target, target_id FROM links ORDER BY source, seq"
        rows = [
            (source, target)
            for source, target, to in db.execute(query)
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
        if self._exists is None or self._exists(paths[to]):
            return False
        found, _ = self._resolve(target, paths[source])
        return found is not None and self._sees(found)

    def unresolved_count(self) -> tuple[int, int]:
        """Returns how many links lead to no file, and how many different targets they have."""
        with self._index.reading() as db:
            if self._visible is None and totals.are_current(db):
                stored = totals.read_sum(db, MISSING)
                return stored.count, stored.rows
            if self._exists is not None:
                found = self._find_unresolved(db)
                return sum(entry.count for entry in found), len(found)
            counts = Counts()
            count_missing(db, counts, hidden=hidden_ids(self._index, db, self._visible))
        return sum(links for links, _ in counts.values()), len(counts)

    def unresolved_places(self, *, limit: int = NO_LIMIT, offset: int = 0) -> ListPage[tuple[VaultPath, str]]:
        """Returns each note with an unresolved link and its target, most frequent targets first."""
        with self._index.reading() as db:
            if self._visible is not None or not totals.are_current(db):
                pairs = [
                    (path, entry.target) for entry in self._find_unresolved(db) for path in entry.sources
                ]
                return ListPage(tuple(take_page(pairs, limit=limit, offset=offset)), len(pairs))
            total = totals.read_sum(db, MISSING).places
            rows: list[tuple[VaultPath, str]] = []
            passed = 0
            wanted = total if limit == NO_LIMIT else limit
            for key, count, notes in totals.list_frequent(db, MISSING, ""):
                if passed + notes > offset:
                    skipped = max(0, offset - passed)
                    entry = _read_target(db, key, count, notes, limit=wanted - len(rows), offset=skipped)
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
            if self._visible is None and not attachments and totals.are_current(db):
                return _read_marked(db, totals.ORPHAN, limit, offset)
            linked = {to for to, _ in self.edges(db)}
            found = self._list_others(db, linked, attachments=attachments)
        return ListPage(tuple(take_page(found, limit=limit, offset=offset)), len(found))

    def dead_ends(self, *, limit: int = NO_LIMIT, offset: int = 0) -> ListPage[VaultPath]:
        """Returns notes and canvases that link to nothing but themselves; an unresolved link counts as
        one."""
        with self._index.reading() as db:
            if self._visible is None and totals.are_current(db):
                return _read_marked(db, totals.DEAD_END, limit, offset)
            rows = db.execute("SELECT DISTINCT source FROM links WHERE target_id IS NOT source")
            linking = {source for (source,) in rows}
            found = self._list_others(db, linking, attachments=False)
        return ListPage(tuple(take_page(found, limit=limit, offset=offset)), len(found))

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
        paths = self._index.paths(db)
        seen = {id_ for id_, path in paths.items() if self._visible(path)}
        edges = [(to, source) for to, source in rows if source in seen]
        return edges if self._exists is None else [*edges, *self._edges_around_hidden(db, paths, seen)]

    def _edges_around_hidden(
        self, db: sqlite3.Connection, paths: Mapping[int, str], seen: set[int]
    ) -> Iterator[tuple[int, int]]:
        """Yields the edges of links to files that do not exist for the caller, resolved among those that
        do."""
        assert self._exists is not None
        hidden = {id_ for id_, path in paths.items() if not self._exists(path)}
        ids = {path: id_ for id_, path in paths.items()}
        for target, source, to in db.execute("SELECT target, source, target_id FROM links"):
            if to in hidden and source in seen:
                found, _ = self._resolve(target, paths[source])
                if found is not None and ids[found] != source:
                    yield ids[found], source

    def _list_others(self, db: sqlite3.Connection, ids: set[int], *, attachments: bool) -> list[VaultPath]:
        condition = "kind != 'base'" if attachments else f"state != {NAME_ONLY}"
        rows = db.execute(f"SELECT id, path FROM files WHERE {condition} ORDER BY path")
        return [VaultPath(path) for id_, path in rows if id_ not in ids and self._sees(path)]


def _read_marked(db: sqlite3.Connection, what: str, limit: int, offset: int) -> ListPage[VaultPath]:
    rows = tuple(VaultPath(path) for path, _ in totals.list_marked(db, what, limit, offset))
    return ListPage(rows, totals.count_marked(db, what))


def _read_target(
    db: sqlite3.Connection, key: str, count: int, notes: int, *, limit: int, offset: int = 0
) -> UnresolvedTarget:
    """Reads a target without a file as it is first written, and some of the notes that contain it."""
    # Grouping in the order in which the join visits the rows saves sorting them.
    group = "source" if count < FEW_ROWS else "path"
    statement = (
        f"SELECT path, source, min(seq) FROM {join_files('links', count)} ON files.id = source"
        f" WHERE missing = ? GROUP BY {group} ORDER BY path LIMIT ? OFFSET ?"
    )
    rows = db.execute(statement, (key, limit, offset)).fetchall()
    first = rows[0] if rows and not offset else db.execute(statement, (key, 1, 0)).fetchone()
    (target,) = db.execute("SELECT target FROM links WHERE source = ? AND seq = ?", first[1:]).fetchone()
    return UnresolvedTarget(target, count, notes, tuple(VaultPath(path) for path, _, _ in rows))


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
