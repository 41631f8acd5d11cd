"""Finds which notes link to which: backlinks, outgoing and unresolved links, orphans, dead ends, neighbours.

Views (unresolved links, orphans, dead ends, neighbours) leave out the notes that the app ignores, and the
links in them; a link to such a note is a link to a file that exists. Backlinks, outgoing links and unused
files count them: the links are there. A note's links to itself count as links, but the note is still an
orphan.

The functions at the end find sources for moves. Walks over the graph (neighbourhood, shortest path) are in
`links.graph`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from msgspec import Struct

from vaultbridge.index.listing import NO_LIMIT, ListPage, take_page
from vaultbridge.index.store.database import Index
from vaultbridge.index.store.rows import AMBIGUOUS, EMBED, decode_link_kind, decode_links
from vaultbridge.index.store.schema import INDEXED, NAME_ONLY, split_for_sql
from vaultbridge.limits import NOTE_PARSE_BYTES
from vaultbridge.links.graph import Neighbours
from vaultbridge.markdown.model import Link, LinkKind
from vaultbridge.vault.paths import VaultPath


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

    def __init__(self, index: Index) -> None:
        self._index = index

    def backlinks(self, path: VaultPath) -> list[Backlink]:
        """Returns every link to a file, including its own, by source and line."""
        with self._index.reading() as db:
            rows = db.execute(
                "SELECT source_file.path, seq, line, flags, raw, subpath FROM links"
                " JOIN files source_file ON source_file.id = links.source"
                " WHERE target_id = (SELECT id FROM files WHERE path = ?)",
                (path,),
            ).fetchall()
        rows.sort(key=lambda row: (row[0], row[2], row[1]))
        return [
            Backlink(VaultPath(source), seq, line, raw, subpath, bool(flags & EMBED), decode_link_kind(flags))
            for source, seq, line, flags, raw, subpath in rows
        ]

    def outgoing(self, path: VaultPath) -> list[OutgoingLink]:
        """Returns every link of a note in the order of its text (links in properties first)."""
        with self._index.reading() as db:
            rows = db.execute(
                "SELECT target_file.path, line, flags, raw, links.target, subpath FROM links"
                " LEFT JOIN files target_file ON target_file.id = links.target_id"
                " WHERE source = (SELECT id FROM files WHERE path = ?) ORDER BY seq",
                (path,),
            ).fetchall()
        return [
            OutgoingLink(
                line,
                raw,
                target,
                subpath,
                bool(flags & EMBED),
                decode_link_kind(flags),
                None if to is None else VaultPath(to),
                bool(flags & AMBIGUOUS),
            )
            for to, line, flags, raw, target, subpath in rows
        ]

    def unresolved(
        self, *, limit: int = NO_LIMIT, offset: int = 0, sources: int = NO_LIMIT
    ) -> ListPage[UnresolvedTarget]:
        """Returns targets without a file, most frequent first, each with at most `sources` of its notes."""
        with self._index.reading() as db:
            statement = "SELECT count(DISTINCT missing) FROM links WHERE missing IS NOT NULL"
            (total,) = db.execute(statement).fetchone()
            keys = db.execute(
                "SELECT missing FROM links WHERE missing IS NOT NULL GROUP BY missing"
                " ORDER BY count(*) DESC, missing LIMIT ? OFFSET ?",
                (limit, offset),
            ).fetchall()
            found = _read_targets(db, [key for (key,) in keys], sources)
        return ListPage(tuple(found.values()), total)

    def unresolved_count(self) -> tuple[int, int]:
        """Returns how many links lead to no file, and how many different targets they have."""
        with self._index.reading() as db:
            statement = "SELECT count(missing), count(DISTINCT missing) FROM links WHERE missing IS NOT NULL"
            links, targets = db.execute(statement).fetchone()
        return links, targets

    def unresolved_places(self, *, limit: int = NO_LIMIT, offset: int = 0) -> ListPage[tuple[VaultPath, str]]:
        """Returns each note with an unresolved link and its target, most frequent targets first."""
        with self._index.reading() as db:
            (total,) = db.execute(
                "SELECT count(*) FROM (SELECT DISTINCT missing, source FROM links WHERE missing IS NOT NULL)"
            ).fetchone()
            pairs = db.execute(
                "SELECT path, missing FROM (SELECT missing, source, sum(count(*)) OVER (PARTITION BY missing)"
                " AS frequency FROM links WHERE missing IS NOT NULL GROUP BY missing, source)"
                " JOIN files ON files.id = source ORDER BY frequency DESC, missing, path LIMIT ? OFFSET ?",
                (limit, offset),
            ).fetchall()
            targets = _read_targets(db, [key for _, key in pairs], 0)
        return ListPage(tuple((VaultPath(path), targets[key].target) for path, key in pairs), total)

    def orphans(
        self, *, attachments: bool = False, limit: int = NO_LIMIT, offset: int = 0
    ) -> ListPage[VaultPath]:
        """Returns notes and canvases (and `attachments`) that no other file links to, by path."""
        with self._index.reading() as db:
            condition = "kind != 'base'" if attachments else f"state != {NAME_ONLY}"
            rows = db.execute(
                f"SELECT path FROM files WHERE {condition} AND NOT ignored AND id NOT IN (SELECT target_id"
                " FROM links WHERE target_id IS NOT NULL AND target_id != source AND source NOT IN (SELECT id"
                " FROM files WHERE ignored)) ORDER BY path"
            )
            found = [VaultPath(path) for (path,) in rows]
        return ListPage(tuple(take_page(found, limit=limit, offset=offset)), len(found))

    def unused_files(self) -> set[VaultPath]:
        """Returns the files, except bases, that no other file links to, not even one that is ignored."""
        with self._index.reading() as db:
            rows = db.execute(
                "SELECT path FROM files WHERE kind != 'base' AND id NOT IN (SELECT target_id FROM links"
                " WHERE target_id IS NOT NULL AND target_id != source)"
            )
            return {VaultPath(path) for (path,) in rows}

    def dead_ends(self, *, limit: int = NO_LIMIT, offset: int = 0) -> ListPage[VaultPath]:
        """Returns notes and canvases that link to nothing but themselves; an unresolved link counts as
        one."""
        with self._index.reading() as db:
            rows = db.execute(
                f"SELECT path FROM files WHERE state != {NAME_ONLY} AND NOT ignored AND id NOT IN (SELECT"
                " source FROM links WHERE target_id IS NOT source) ORDER BY path"
            )
            found = [VaultPath(path) for (path,) in rows]
        return ListPage(tuple(take_page(found, limit=limit, offset=offset)), len(found))

    def neighbours(self, db: sqlite3.Connection, *, incoming: bool) -> Neighbours:
        """Returns a function for `links.graph`: what a file links to, or what links to it, within one
        transaction."""
        here, there = ("target_id", "source") if incoming else ("source", "target_id")
        statement = (
            f"SELECT DISTINCT there.path FROM links JOIN files there ON there.id = links.{there}"
            f" WHERE links.{here} = (SELECT id FROM files WHERE path = ?) AND NOT there.ignored"
            " ORDER BY there.path"
        )

        def find(path: str) -> Iterable[str]:
            rows = db.execute(statement, (path,)).fetchall()
            return [other for (other,) in rows if other != path]

        return find

    def edges(self, db: sqlite3.Connection) -> Iterable[tuple[int, int]]:
        """Returns (target, source) of resolved links between two different files, from sources in views."""
        rows = db.execute(
            "SELECT DISTINCT target_id, source FROM links WHERE target_id IS NOT NULL AND target_id != source"
        )
        ignored = self._index.ignored(db)
        return ((to, source) for to, source in rows if source not in ignored) if ignored else rows


def _read_targets(db: sqlite3.Connection, keys: Iterable[str], sources: int) -> dict[str, UnresolvedTarget]:
    """Reads these targets without a file, in this order: as each is first written, and some of its notes."""
    grouped: dict[str, tuple[str, list[str]]] = {}
    ordered = list(dict.fromkeys(keys))
    for marks, part in split_for_sql(ordered):
        rows = db.execute(
            "SELECT missing, target, path FROM links JOIN files ON files.id = source"
            f" WHERE missing IN ({marks}) ORDER BY path, seq",
            part,
        )
        for key, target, path in rows:
            grouped.setdefault(key, (target, []))[1].append(path)
    found: dict[str, UnresolvedTarget] = {}
    for key in ordered:
        target, naming = grouped[key]
        notes = list(map(VaultPath, dict.fromkeys(naming)))
        shown = notes if sources == NO_LIMIT else notes[:sources]
        found[key] = UnresolvedTarget(target, len(naming), len(notes), tuple(shown))
    return found


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
            f" WHERE words MATCH 'body : base' AND files.kind = 'note' AND {_HAS_BASE}"
        )
        # Ignored notes are not among the words.
        ignored = db.execute(
            "SELECT path FROM files CROSS JOIN texts USING (id)"
            f" WHERE ignored AND kind = 'note' AND {_HAS_BASE}"
        )
        return sorted(VaultPath(path) for (path,) in (*rows, *ignored))


_HAS_BASE = "(text LIKE '%```%base%' OR text LIKE '%~~~%base%')"
