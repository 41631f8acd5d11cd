"""Lists the targets of links that lead to no file, most frequent first, from the stored totals.

For a caller who may not see everything, a hidden file does not exist: its own links do not count, and links
to it lead to no file unless another one has that name. Only the targets that such links have are counted
again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Set
from heapq import merge

from msgspec import Struct

from vaultbridge.index import totals
from vaultbridge.index.hidden_links import HiddenTargets, Link, NamedLink, count_links
from vaultbridge.index.listing import FEW_ROWS, join_files
from vaultbridge.index.store.file_cache import VisibleFiles
from vaultbridge.index.store.schema import split_for_sql
from vaultbridge.index.totals import MISSING
from vaultbridge.index.visible_totals import select_rows
from vaultbridge.links.resolve import name_key
from vaultbridge.vault.paths import VaultPath


class UnresolvedTarget(Struct, frozen=True):
    """A link target without a file, as first written, with the number of links and notes that contain it and
    some or all of those notes."""

    target: str
    count: int
    notes: int
    sources: tuple[VaultPath, ...]


class MissingTargets(Struct, frozen=True):
    """All targets without a file: `rows` different ones, in `links` links; `places` counts each note once for
    each target. `corrected` has the number of links and notes of those that differ from the stored totals,
    and `to_hidden` the links to hidden files."""

    links: int
    places: int
    rows: int
    paths: Mapping[int, str]
    hidden: Set[int] = frozenset()
    corrected: dict[str, tuple[int, int]] = {}
    to_hidden: dict[str, list[Link]] = {}

    def list_frequent(self, db: sqlite3.Connection) -> Iterator[tuple[str, int, int]]:
        """Yields the key, the number of links and the number of notes of each, most frequent first."""
        stored = (
            row
            for row in totals.list_frequent(db, MISSING, "")
            if not self.corrected or row[0] not in self.corrected
        )
        corrected = [(key, links, notes) for key, (links, notes) in self.corrected.items() if links]
        return merge(stored, sorted(corrected, key=_order), key=_order)

    def read(
        self, db: sqlite3.Connection, key: str, count: int, notes: int, *, limit: int, offset: int = 0
    ) -> UnresolvedTarget:
        """Reads a target as it is first written, and some of the notes that contain it, by path."""
        if key not in self.corrected:
            return _read_target(db, key, count, notes, limit=limit, offset=offset)
        rows = db.execute("SELECT source, seq, target FROM links WHERE missing = ?", (key,))
        links: list[Link] = [row for row in rows if row[0] not in self.hidden]
        links += self.to_hidden.get(key, ())
        links.sort(key=lambda link: (self.paths[link[0]], link[1]))
        sources = list(dict.fromkeys(VaultPath(self.paths[source]) for source, _, _ in links))
        end = None if limit < 0 else offset + limit
        return UnresolvedTarget(links[0][2], count, notes, tuple(sources[offset:end]))


def _order(row: tuple[str, int, int]) -> tuple[int, str]:
    return -row[1], row[0]


def read_missing(db: sqlite3.Connection, paths: Mapping[int, str]) -> MissingTargets:
    """For a caller who may see everything. Call `are_current` first."""
    stored = totals.read_sum(db, MISSING)
    return MissingTargets(stored.count, stored.places, stored.rows, paths)


def read_visible_missing(
    db: sqlite3.Connection,
    paths: Mapping[int, str],
    files: VisibleFiles,
    targets: HiddenTargets,
    leads_elsewhere: Callable[[NamedLink], bool],
) -> MissingTargets:
    """For a caller who does not see all files. `leads_elsewhere` says whether a link leads to a visible file.
    Call `are_current` first."""
    whole = read_missing(db, paths)
    less = _count_of_hidden(db, files)
    to_hidden, corrected = targets.groups.copy(), targets.counts.copy()
    for link in targets.named:
        if not leads_elsewhere(link):
            key = name_key(link.target)
            to_hidden[key] = [*to_hidden.get(key, ()), (link.source, link.seq, link.target)]
            corrected[key] = count_links(to_hidden[key])
    # Few targets of links to hidden files are missing elsewhere too.
    stored = _read_stored(db, less.keys() | to_hidden.keys())
    for key, had in stored.items():
        count, sources = less.get(key, (0, set()))
        more = to_hidden.get(key, [])
        notes = sum(not _has_missing(db, source, key) for source in {source for source, _, _ in more})
        corrected[key] = (had[0] - count + len(more), had[1] - len(sources) + notes)
    (links, places, rows), (links_had, places_had, rows_had) = _sum(corrected), _sum(stored)
    return MissingTargets(
        whole.links + links - links_had,
        whole.places + places - places_had,
        whole.rows + rows - rows_had,
        paths,
        files.hidden,
        corrected,
        to_hidden,
    )


def _sum(counts: dict[str, tuple[int, int]]) -> tuple[int, int, int]:
    """Returns the number of links, of places and of targets."""
    links = [links for links, _ in counts.values()]
    return sum(links), sum(notes for _, notes in counts.values()), len(links) - links.count(0)


def _count_of_hidden(db: sqlite3.Connection, files: VisibleFiles) -> dict[str, tuple[int, set[int]]]:
    """Counts the links of hidden files by target, with the files that have them."""
    known: dict[str, tuple[int, set[int]]] | None = files.of_hidden.get("missing targets")
    if known is None:
        known = {}
        # The plus keeps SQLite from going through all links to no file.
        statement = "SELECT source, missing FROM links WHERE source IN ({ids}) AND +missing IS NOT NULL"
        for source, key in select_rows(db, statement, (), files.hidden):
            count, sources = known.get(key, (0, set()))
            sources.add(source)
            known[key] = (count + 1, sources)
        files.of_hidden["missing targets"] = known
    return known


def _read_stored(db: sqlite3.Connection, keys: Set[str]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for marks, part in split_for_sql(keys):
        statement = (
            f"SELECT name, count, places FROM totals WHERE what = ? AND key = '' AND name IN ({marks})"
        )
        found.update((key, (count, places)) for key, count, places in db.execute(statement, (MISSING, *part)))
    return found


def _has_missing(db: sqlite3.Connection, source: int, key: str) -> bool:
    row = db.execute("SELECT 1 FROM links WHERE source = ? AND +missing = ?", (source, key)).fetchone()
    return row is not None


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
