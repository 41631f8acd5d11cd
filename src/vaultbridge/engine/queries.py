"""Queries of the index, limited to what one scope may see.

Every query first waits until changes under way are indexed. A hidden note does not exist in any answer: it is
not listed, found or counted. Files that the app's ignore filters name are left out of search, tag and graph
views only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from vaultbridge.engine.index_sync import IndexSync
from vaultbridge.engine.visibility import ExistenceFilter, Visibility
from vaultbridge.errors import AmbiguousName, NoteNotFound
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
from vaultbridge.links.resolve import FileTable, FilteredTable, Resolved, resolve_among
from vaultbridge.vault.paths import Root, VaultPath, Visible
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.settings import VaultSettings

if TYPE_CHECKING:
    import sqlite3

    from vaultbridge.index.files import FoundProblem, IndexedFile, IndexedNote, Order
    from vaultbridge.index.graph import Backlink, LinkGraph, OutgoingLink
    from vaultbridge.index.listing import (
        FileInfo,
        ListPage,
        PropertySummary,
        PropertyValue,
        TagCount,
        TaskPage,
    )
    from vaultbridge.index.missing import UnresolvedTarget
    from vaultbridge.index.names import NameLookup
    from vaultbridge.index.query.search import SearchPage, Sort
    from vaultbridge.index.ranking.rank import RankedPage
    from vaultbridge.index.ranking.views import ExtraView
    from vaultbridge.index.store.database import Index, IndexStatus
    from vaultbridge.vault.cloud import Conflict
    from vaultbridge.vault.walk import Skipped


ALL: Final = -1
"""As a limit: every row."""


class Queries:
    def __init__(
        self,
        root: Root,
        index_sync: IndexSync,
        scope: Scope,
        settings: Callable[[], VaultSettings],
        extra_views: Callable[[str], tuple[ExtraView, ...]] = lambda question: (),
    ) -> None:
        self._root = root
        self._sync = index_sync
        self._scope = scope
        self._settings = settings
        self._lookup: NameLookup | None = None
        self._visibility = Visibility(root, scope)
        self._extra_views = extra_views

    def index(self) -> Index:
        """The index, up to date."""
        self._sync.ensure_fresh()
        return self._sync.index

    def _existence_filter_or_none(self) -> ExistenceFilter | None:
        """Says whether a file exists for the caller; None when all do."""
        return None if self._scope.unrestricted else self._visibility.existence_filter(self.index)

    def view_filter(self) -> Visible | None:
        """Says whether a file belongs in search, tag and graph views; None when all do. Valid for one
        query."""
        ignored = self._settings().ignore_filters
        exists = self._existence_filter_or_none()
        return self._visibility.view_filter(exists, ignored) if ignored.filters else exists

    def existence_filter(self) -> Visible:
        """Says whether a file of the vault exists for the caller, indexed or not. Valid for one query."""
        return self._existence_filter_or_none() or self._scope.visible

    @property
    def status(self) -> IndexStatus:
        return self._hide_counts(self._sync.index.status())

    def fresh_status(self) -> IndexStatus:
        """The status that a query made now depends on. Read it before the query: the index may become
        complete right after the query returned."""
        return self._hide_counts(self.index().status())

    def _hide_counts(self, status: IndexStatus) -> IndexStatus:
        """The status without how many notes there are, which would count those that the scope hides."""
        return status if self._scope.unrestricted else replace(status, done=0, total=0)

    def table(self) -> FileTable:
        """All files, hidden ones too: for drafts, never for showing."""
        return self.index().table()

    def visible_table(self) -> FileTable:
        """The files that exist for the caller. Shared: copy it before you change it."""
        table, exists = self.table(), self._existence_filter_or_none()
        return table if exists is None else FilteredTable(table, exists)

    def visible_names(self) -> tuple[Mapping[int, str], FileTable]:
        """The files that exist for the caller, at one moment: their paths by id, and the files by name. The
        former is the same object until they change. Shared: do not change either."""
        index, exists = self.index(), self._existence_filter_or_none()
        with index.reading() as db:
            if exists is None:
                return index.paths(db), index.table(db)
            return index.visible_files(db, exists).paths, FilteredTable(index.table(db), exists)

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
        from vaultbridge.index.query.search import search

        page = search(
            self.index(),
            query,
            limit=limit,
            offset=offset,
            sort=sort,
            visible=self.view_filter(),
            matches_per_note=matches_per_note,
            context=context,
        )
        return page if self._scope.unrestricted else replace(page, indexed=0, notes=0)

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

        page = rank(
            self.index(),
            question,
            limit=limit,
            offset=offset,
            visible=self.view_filter(),
            exists=self._existence_filter_or_none(),
            sections_per_note=sections_per_note,
            explain=explain,
            extra_views=(*extra_views, *self._extra_views(question)),
        )
        return page if self._scope.unrestricted else replace(page, indexed=0, searchable=0)

    def notes(self) -> Iterator[IndexedNote]:
        """Every visible note and canvas in order of path, parsed, with its links resolved as far as the
        caller may see."""
        from vaultbridge.index import files

        index = self.index()
        exists = self._existence_filter_or_none()
        for indexed in files.iterate_notes(index):
            if exists is None:
                yield indexed
            elif exists(indexed.file.path):
                yield _resolve_for_caller(indexed, index.table(), exists)

    def find(self, name: str, *, source: str = "") -> VaultPath:
        """Finds a file by name, as `index.names` does. Raises NoteNotFound with the closest names, or
        AmbiguousName with the candidates."""
        from vaultbridge.index.names import AmbiguousMatch, NameMatch

        match self._names().find(name, source=source, visible=self._existence_filter_or_none()):
            case NameMatch(path=path):
                return path
            case AmbiguousMatch(candidates=candidates):
                raise AmbiguousName(name, candidates)
            case missing:
                raise NoteNotFound(name, closest=missing.closest)

    def _names(self) -> NameLookup:
        index = self.index()
        if self._lookup is None:
            from vaultbridge.index.names import NameLookup

            self._lookup = NameLookup(index)
        return self._lookup

    # Links. A note that the app ignores still counts as a source of backlinks.

    def _graph(self, visible: Visible | None) -> LinkGraph:
        from vaultbridge.index.graph import LinkGraph

        return LinkGraph(self.index(), visible=visible, exists=self._existence_filter_or_none())

    def neighbours(self, db: sqlite3.Connection) -> Neighbours:
        """What a file is linked with, either way, within one transaction."""
        graph = self._graph(self.view_filter())
        return both_ways(graph.neighbours(db, incoming=False), graph.neighbours(db, incoming=True))

    def visibility(self) -> tuple[Visible | None, Visible | None]:
        """What belongs in search, tag and graph views, and what exists for the caller; None means all."""
        return self.view_filter(), self._existence_filter_or_none()

    def backlinks(self, path: VaultPath) -> list[Backlink]:
        return self._graph(self._existence_filter_or_none()).backlinks(path)

    def outgoing(self, path: VaultPath) -> list[OutgoingLink]:
        return self._graph(self._existence_filter_or_none()).outgoing(path)

    def unresolved(
        self, *, limit: int = ALL, offset: int = 0, sources: int = ALL
    ) -> ListPage[UnresolvedTarget]:
        return self._graph(self.view_filter()).unresolved(limit=limit, offset=offset, sources=sources)

    def unresolved_count(self) -> tuple[int, int]:
        """How many links lead to no file, and how many different targets they name."""
        return self._graph(self.view_filter()).unresolved_count()

    def unresolved_places(self, *, limit: int = ALL, offset: int = 0) -> ListPage[tuple[VaultPath, str]]:
        return self._graph(self.view_filter()).unresolved_places(limit=limit, offset=offset)

    def orphans(self, *, attachments: bool = False, limit: int = ALL, offset: int = 0) -> ListPage[VaultPath]:
        return self._graph(self.view_filter()).orphans(attachments=attachments, limit=limit, offset=offset)

    def unused_files(self) -> set[VaultPath]:
        """Files that no other file links to. A link from a note that the app ignores counts: it would break
        if the file were deleted."""
        return set(self._graph(self._existence_filter_or_none()).orphans(attachments=True).rows)

    def untagged(self) -> set[str]:
        """Notes without a tag."""
        from vaultbridge.index import files

        return files.list_untagged(self.index())

    def dead_ends(self, *, limit: int = ALL, offset: int = 0) -> ListPage[VaultPath]:
        return self._graph(self.view_filter()).dead_ends(limit=limit, offset=offset)

    def neighbourhood(
        self, path: VaultPath, depth: int, *, limit: int = NEIGHBOURHOOD_NOTES
    ) -> Neighbourhood:
        graph = self._graph(self.view_filter())
        with self._sync.index.reading() as db:
            neighbours = both_ways(graph.neighbours(db, incoming=False), graph.neighbours(db, incoming=True))
            return neighbourhood(path, neighbours, depth, limit=limit)

    def path_between(self, start: VaultPath, goal: VaultPath) -> LinkPath | NoPath:
        """The shortest path by links, each followed in either direction."""
        graph = self._graph(self.view_filter())
        with self._sync.index.reading() as db:
            neighbours = both_ways(graph.neighbours(db, incoming=False), graph.neighbours(db, incoming=True))
            return shortest_path(start, goal, neighbours)

    # Lists over the whole vault.

    def tags(self) -> list[TagCount]:
        from vaultbridge.index import listing

        return listing.list_tags(self.index(), visible=self.view_filter())

    def notes_with_tag(self, tag: str) -> list[VaultPath]:
        """The notes with the tag or one nested in it. Ignored notes are included, because a rename must reach
        them. Waits for a first build."""
        from vaultbridge.index import listing

        notes = listing.list_notes_with_tag(
            self._sync.whole_index(), tag, visible=self._existence_filter_or_none()
        )
        return self._root.leave_out_links(notes)

    def properties(self) -> list[PropertySummary]:
        from vaultbridge.index import listing

        return listing.list_properties(self.index(), visible=self.view_filter())

    def property_values(self, name: str, *, limit: int = ALL, offset: int = 0) -> ListPage[PropertyValue]:
        from vaultbridge.index import listing

        return listing.list_property_values(
            self.index(), name, limit=limit, offset=offset, visible=self.view_filter()
        )

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
        from vaultbridge.index import listing

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
            visible=self.view_filter(),
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
        from vaultbridge.index import files
        from vaultbridge.index.listing import ListPage

        if not self._scope.may_contain(folder):
            return ListPage((), 0)
        return files.list_files(
            self.index(),
            folder,
            kind=kind,
            order=order,
            after=after,
            modified_since_ns=modified_since_ns,
            limit=limit,
            offset=offset,
            visible=self._existence_filter_or_none(),
        )

    def find_files(self, pattern: str, fits: Visible, folder: str = "") -> list[IndexedFile]:
        from vaultbridge.index import files

        if not self._scope.may_contain(folder):
            return []
        return files.find_files(self.index(), pattern, fits, folder, visible=self._existence_filter_or_none())

    def folders(self) -> dict[str, int]:
        """Every folder that has a file beneath it, by path ("" for the top), with how many it has."""
        from vaultbridge.index import files

        return files.count_by_folder(self.index(), visible=self._existence_filter_or_none())

    def shallow_paths(self, folder: str, depth: int) -> list[str]:
        from vaultbridge.index import files

        if not self._scope.may_contain(folder):
            return []
        return files.list_shallow_paths(self.index(), folder, depth, visible=self._existence_filter_or_none())

    # Problems. Notes that the app ignores are included.

    def problem_counts(self) -> dict[str, int]:
        from vaultbridge.index import files

        return files.count_problems_by_code(self.index(), visible=self._existence_filter_or_none())

    def problems(self, *, limit: int = ALL, offset: int = 0) -> ListPage[FoundProblem]:
        from vaultbridge.index import files

        return files.list_problems(
            self.index(), limit=limit, offset=offset, visible=self._existence_filter_or_none()
        )

    def duplicates(self, *, limit: int = ALL, offset: int = 0) -> ListPage[tuple[VaultPath, ...]]:
        from vaultbridge.index import files

        return files.find_duplicates(
            self.index(), limit=limit, offset=offset, visible=self._existence_filter_or_none()
        )

    def conflicts(self, *, limit: int = ALL, offset: int = 0) -> ListPage[tuple[VaultPath, Conflict]]:
        from vaultbridge.index import files

        return files.find_conflicts(
            self.index(), limit=limit, offset=offset, visible=self._existence_filter_or_none()
        )

    def recent(self, *, limit: int = 20, kinds: tuple[str, ...] = ("note", "canvas")) -> list[FileInfo]:
        from vaultbridge.index import listing

        return listing.list_recent(
            self.index(), limit=limit, kinds=kinds, visible=self._existence_filter_or_none()
        )

    def left_out(self) -> tuple[int, list[Skipped]]:
        """How many files and folders are not part of the vault although a person may think so, and some of
        them, with the reason. What the scope hides is not counted."""
        from vaultbridge.index.store.database import read_left_out

        with self.index().reading() as db:
            count, examples = read_left_out(db)
        if self._scope.unrestricted:
            return count, examples
        visible = [skipped for skipped in examples if self._scope.visible(skipped.path)]
        return len(visible), visible

    def counts(self) -> dict[str, int]:
        """How many files there are of each kind, visible ones only."""
        from vaultbridge.index import files

        kinds = {"note": "notes", "canvas": "canvases", "base": "bases"}
        counts = dict.fromkeys((*kinds.values(), "attachments"), 0)
        for kind, count in files.count_by_kind(
            self.index(), visible=self._existence_filter_or_none()
        ).items():
            counts[kinds.get(kind, "attachments")] += count
        return counts


def _resolve_for_caller(indexed: IndexedNote, table: FileTable, exists: Visible) -> IndexedNote:
    """The same note with each link that leads to a hidden file resolved among those that exist."""
    path = indexed.file.path
    resolved: list[VaultPath | None] = []
    for link, to in zip(indexed.note.links, indexed.resolved, strict=True):
        if to is not None and not exists(to):
            found = resolve_among(link.target, path, table, exists)
            to = VaultPath(found.path) if isinstance(found, Resolved) else None
        resolved.append(to)
    return replace(indexed, resolved=tuple(resolved))
