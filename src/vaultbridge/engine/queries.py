"""Queries of the index that has what one scope shows.

Every query first waits until changes under way are indexed. A hidden note does not exist in any answer,
because the index of the scope does not have it (`engine.scoped_index`); the full index is only for drafts.
Files that the app ignores are left out of search, tag and graph views only, which the index decides too
(`files.ignored`); whenever the settings name other files, they are marked before the next query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from vaultbridge.engine.drafting.existence import make_existence_filter
from vaultbridge.engine.index_sync import IndexSync
from vaultbridge.errors import AmbiguousName, NoteNotFound
from vaultbridge.index import files, listing
from vaultbridge.index.graph import LinkGraph
from vaultbridge.index.names import AmbiguousMatch, NameLookup, NameMatch
from vaultbridge.index.query.search import search
from vaultbridge.index.store.database import read_left_out
from vaultbridge.links.graph import (
    NEIGHBOURHOOD_NOTES,
    LinkPath,
    Neighbourhood,
    Neighbours,
    NoPath,
    both_ways,
    neighbourhood,
    shortest_path,
)
from vaultbridge.links.resolve import FileTable
from vaultbridge.vault.paths import VaultFolder, VaultPath, Visible
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.settings import VaultSettings

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from vaultbridge.index.files import FoundProblem, IndexedFile, IndexedNote, Order
    from vaultbridge.index.graph import Backlink, OutgoingLink, UnresolvedTarget
    from vaultbridge.index.listing import (
        FileInfo,
        ListPage,
        PropertySummary,
        PropertyValue,
        TagCount,
        TaskPage,
    )
    from vaultbridge.index.query.search import SearchPage, Sort
    from vaultbridge.index.ranking.rank import RankedPage
    from vaultbridge.index.ranking.views import ExtraView
    from vaultbridge.index.store.database import Index, IndexStatus
    from vaultbridge.vault.cloud import Conflict
    from vaultbridge.vault.walk import Skipped


ALL: Final = -1
"""As a limit: every row."""


class Snapshot(Struct, frozen=True):
    """One state of the index of what the caller may see: the index, and a transaction that reads it."""

    index: Index
    db: sqlite3.Connection


class Queries:
    def __init__(
        self,
        root: VaultFolder,
        index_sync: IndexSync,
        scope: Scope,
        settings: Callable[[], VaultSettings],
        extra_views: Callable[[str], tuple[ExtraView, ...]] = lambda question: (),
        dictionaries: tuple[Path, ...] = (),
    ) -> None:
        self._root = root
        self._sync = index_sync
        self._scope = scope
        self._settings = settings
        self._lookup: NameLookup | None = None
        self._extra_views = extra_views
        self._dictionaries = dictionaries

    def index(self) -> Index:
        """The index of what the caller may see, up to date."""
        self._sync.ensure_fresh()
        return self._current_index()

    def _current_index(self) -> Index:
        """The same, as far as changes under way are indexed."""
        parts = self._scope.parts
        return self._sync.scoped.catch_up(self._sync.index, parts) if parts else self._sync.index

    def whole_index(self) -> Index:
        """The same as `index`, and complete. Raises TimedOut."""
        self._sync.whole_index()
        return self._sync.wait_until_complete(self._current_index)

    def prepare(self) -> None:
        """Called by a server that keeps running: fills the index of the scope from now on, while queries are
        answered from what it has. Returns at once."""
        self._sync.scoped.fill_in_background()
        if parts := self._scope.parts:
            self._sync.scoped.prepare(lambda: self._sync.index, parts)

    def shown_in_views(self) -> Visible | None:
        """Says whether a file exists for the caller and belongs in search, tag and graph views; None when all
        do."""
        ignored = self._settings().ignore_filters
        if not self._scope.parts:
            return (lambda path: not ignored.match(path)) if ignored.filters else None
        table = self.visible_table()
        return lambda path: path in table and not ignored.match(path)

    def existence_filter(self, full: Index | None = None) -> Visible:
        """Says whether a file of the vault exists for the caller, indexed or not: for drafts, which contain
        hidden files too. Valid for one draft, which may have asked for the `full` index already."""
        if self._scope.unrestricted:
            return self._scope.visible
        return make_existence_filter(self._root, self._scope, full or self._full_index())

    def _full_index(self) -> Index:
        self._sync.ensure_fresh()
        return self._sync.index

    @property
    def status(self) -> IndexStatus:
        return self._current_index().status()

    def fresh_status(self) -> IndexStatus:
        """The status that a query made now depends on. Read it before the query: the index may become
        complete right after the query returned."""
        return self.index().status()

    def table(self, full: Index | None = None) -> FileTable:
        """All files, hidden ones too: for drafts, never for showing."""
        return (full or self._full_index()).table()

    def visible_table(self) -> FileTable:
        """The files that exist for the caller. Shared: copy it before you change it."""
        return self.index().table()

    def visible_paths(self) -> Mapping[int, str]:
        """The paths by id of the files that exist for the caller: the same object until they change. Shared:
        do not change it."""
        index = self.index()
        with index.reading() as db:
            return index.paths(db)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """One state of the index, up to date: everything asked of it agrees."""
        index = self.index()
        with index.reading() as db:
            yield Snapshot(index, db)

    def search(
        self,
        query: str,
        *,
        limit: int = 20,
        offset: int = 0,
        sort: Sort = "relevance",
        matches_per_note: int = 3,
        context: int = 0,
    ) -> SearchPage:
        return search(
            self.index(),
            query,
            limit=limit,
            offset=offset,
            sort=sort,
            matches_per_note=matches_per_note,
            context=context,
        )

    def rank(
        self,
        question: str,
        *,
        limit: int = 20,
        offset: int = 0,
        sections_per_note: int = 1,
        explain: bool = False,
        extra_views: Sequence[ExtraView] = (),
    ) -> RankedPage:
        """Answers a question in plain words: see `index.ranking`."""
        from vaultbridge.index.ranking.rank import rank

        return rank(
            self.index(),
            question,
            limit=limit,
            offset=offset,
            sections_per_note=sections_per_note,
            explain=explain,
            extra_views=(*extra_views, *self._extra_views(question)),
            dictionaries=self._dictionaries,
        )

    def notes(self) -> Iterator[IndexedNote]:
        """Every visible note and canvas in order of path, parsed, with its links resolved."""
        return files.iterate_notes(self.index())

    def find(self, name: str, *, source: str = "", index: Index | None = None) -> VaultPath:
        """Finds a file by name, as `index.names` does, in this `index` if it was asked for already. Raises
        NoteNotFound with the closest names, or AmbiguousName with the candidates."""
        match self._names(index or self.index()).find(name, source=source):
            case NameMatch(path=path):
                return path
            case AmbiguousMatch(candidates=candidates):
                raise AmbiguousName(name, candidates)
            case missing:
                raise NoteNotFound(name, closest=missing.closest)

    def _names(self, index: Index) -> NameLookup:
        known = self._lookup
        if known is None or known.index is not index:
            known = self._lookup = NameLookup(index)
        return known

    # Links. A note that the app ignores still counts as a source of backlinks.

    def _graph(self) -> LinkGraph:
        return LinkGraph(self.index())

    def neighbours(self, at: Snapshot) -> Neighbours:
        """What a file is linked with, either way."""
        graph = LinkGraph(at.index)
        return both_ways(graph.neighbours(at.db, incoming=False), graph.neighbours(at.db, incoming=True))

    def backlinks(self, path: VaultPath) -> list[Backlink]:
        return self._graph().backlinks(path)

    def outgoing(self, path: VaultPath) -> list[OutgoingLink]:
        return self._graph().outgoing(path)

    def unresolved(
        self, *, limit: int = ALL, offset: int = 0, sources: int = ALL
    ) -> ListPage[UnresolvedTarget]:
        return self._graph().unresolved(limit=limit, offset=offset, sources=sources)

    def unresolved_count(self) -> tuple[int, int]:
        """How many links lead to no file, and how many different targets they name."""
        return self._graph().unresolved_count()

    def unresolved_places(self, *, limit: int = ALL, offset: int = 0) -> ListPage[tuple[VaultPath, str]]:
        return self._graph().unresolved_places(limit=limit, offset=offset)

    def orphans(self, *, attachments: bool = False, limit: int = ALL, offset: int = 0) -> ListPage[VaultPath]:
        return self._graph().orphans(attachments=attachments, limit=limit, offset=offset)

    def unused_files(self) -> set[VaultPath]:
        """Files that no other file links to. A link from a note that the app ignores counts: it would break
        if the file were deleted."""
        return self._graph().unused_files()

    def untagged(self) -> set[str]:
        """Notes without a tag."""
        return files.list_untagged(self.index())

    def dead_ends(self, *, limit: int = ALL, offset: int = 0) -> ListPage[VaultPath]:
        return self._graph().dead_ends(limit=limit, offset=offset)

    def neighbourhood(
        self, path: VaultPath, depth: int, *, limit: int = NEIGHBOURHOOD_NOTES
    ) -> Neighbourhood:
        with self.snapshot() as at:
            return neighbourhood(path, self.neighbours(at), depth, limit=limit)

    def path_between(self, start: VaultPath, goal: VaultPath) -> LinkPath | NoPath:
        """The shortest path by links, each followed in either direction."""
        with self.snapshot() as at:
            return shortest_path(start, goal, self.neighbours(at))

    # Lists over the whole vault.

    def tags(self) -> list[TagCount]:
        return listing.list_tags(self.index())

    def notes_with_tag(self, tag: str) -> list[VaultPath]:
        """The notes with the tag or one nested in it. Ignored notes are included, because a rename must reach
        them. Waits for a first build."""
        notes = listing.list_notes_with_tag(self.whole_index(), tag)
        return self._root.leave_out_links(notes)

    def properties(self) -> list[PropertySummary]:
        return listing.list_properties(self.index())

    def property_count(self) -> int:
        return listing.count_properties(self.index())

    def property_values(self, name: str, *, limit: int = ALL, offset: int = 0) -> ListPage[PropertyValue]:
        return listing.list_property_values(self.index(), name, limit=limit, offset=offset)

    def tasks(
        self,
        *,
        status: str = "any",
        text: str = "",
        tag: str = "",
        path_prefix: str = "",
        due_before: str = "",
        due_after: str = "",
        links_to: VaultPath | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> TaskPage:
        return listing.list_tasks(
            self.index(),
            status=status,
            text=text,
            tag=tag,
            path_prefix=path_prefix,
            due_before=due_before,
            due_after=due_after,
            places=None
            if links_to is None
            else {(link.source, link.line) for link in self.backlinks(links_to)},
            limit=limit,
            offset=offset,
        )

    def files(self, folder: VaultPath | None = None) -> list[IndexedFile]:
        """Every visible file, or those beneath a folder, by path."""
        return list(self.files_page(folder or "").rows)

    def files_page(
        self,
        folder: str = "",
        *,
        kind: str = "",
        order: Order = "path",
        after: str = "",
        modified_since_ns: int = 0,
        limit: int = ALL,
        offset: int = 0,
    ) -> ListPage[IndexedFile]:
        return files.list_files(
            self.index(),
            folder,
            kind=kind,
            order=order,
            after=after,
            modified_since_ns=modified_since_ns,
            limit=limit,
            offset=offset,
        )

    def find_files(self, pattern: str, fits: Visible, folder: str = "") -> list[IndexedFile]:
        return files.find_files(self.index(), pattern, fits, folder)

    def folders(self) -> dict[str, int]:
        """Every folder that has a file beneath it, by path ("" for the top), with how many it has."""
        return files.count_by_folder(self.index())

    def shallow_paths(self, folder: str, depth: int) -> list[str]:
        return files.list_shallow_paths(self.index(), folder, depth)

    # Problems. Notes that the app ignores are included.

    def problem_counts(self) -> dict[str, int]:
        return files.count_problems_by_code(self.index())

    def problems(self, *, limit: int = ALL, offset: int = 0) -> ListPage[FoundProblem]:
        return files.list_problems(self.index(), limit=limit, offset=offset)

    def duplicates(self, *, limit: int = ALL, offset: int = 0) -> ListPage[tuple[VaultPath, ...]]:
        return files.find_duplicates(self.index(), limit=limit, offset=offset)

    def conflicts(self, *, limit: int = ALL, offset: int = 0) -> ListPage[tuple[VaultPath, Conflict]]:
        return files.find_conflicts(self.index(), limit=limit, offset=offset)

    def recent(self, *, limit: int = 20, kinds: tuple[str, ...] = ("note", "canvas")) -> list[FileInfo]:
        return listing.list_recent(self.index(), limit=limit, kinds=kinds)

    def left_out(self) -> tuple[int, list[Skipped]]:
        """How many files and folders are not part of the vault although a person may think so, and some of
        them, with the reason. What the scope hides is not counted."""
        with self._full_index().reading() as db:
            count, examples = read_left_out(db)
        if self._scope.unrestricted:
            return count, examples
        visible = [skipped for skipped in examples if self._scope.visible(skipped.path)]
        return len(visible), visible

    def counts(self) -> dict[str, int]:
        """How many files there are of each kind, visible ones only."""
        kinds = {"note": "notes", "canvas": "canvases", "base": "bases"}
        counts = dict.fromkeys((*kinds.values(), "attachments"), 0)
        for kind, count in files.count_by_kind(self.index()).items():
            counts[kinds.get(kind, "attachments")] += count
        return counts
