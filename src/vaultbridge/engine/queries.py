"""What a vault answers: the index's queries, as one scope may see them.

Every question first waits for changes under way (`Freshness.settle`). A hidden note does not exist in any
answer: it is not listed, found or counted. What the app's ignore filters name is left out of search, tag and
graph views only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from vaultbridge.engine.freshness import Freshness
from vaultbridge.links.resolve import FileTable
from vaultbridge.note.model import Note
from vaultbridge.vault.paths import Root, VaultPath
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.settings import VaultSettings

if TYPE_CHECKING:
    from vaultbridge.index.search import SearchPage, Sort
    from vaultbridge.index.store import Index, IndexStatus


class Queries:
    """Also the engine's `LinkSources`: who links where is asked without regard to the scope, because a rename
    must not break links in notes that its caller may not see."""

    def __init__(
        self, root: Root, freshness: Freshness, scope: Scope, settings: Callable[[], VaultSettings]
    ) -> None:
        self._root = root
        self._freshness = freshness
        self._scope = scope
        self._settings = settings

    def _index(self) -> Index:
        self._freshness.settle()
        return self._freshness.index

    def _shown(self) -> Callable[[str], bool] | None:
        """Whether a file belongs in search, tag and graph views; None when all do."""
        settings = self._settings()
        if self._scope.unrestricted and not settings.ignoring.filters:
            return None
        return lambda path: self._scope.visible(path) and not settings.ignored(path)

    @property
    def status(self) -> IndexStatus:
        return self._freshness.index.status()

    def table(self) -> FileTable:
        """All files, hidden ones too: for resolving links, never for showing."""
        return self._index().table()

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
        from vaultbridge.index.search import search

        return search(
            self._index(),
            query,
            limit=limit,
            offset=offset,
            sort=sort,
            visible=self._shown(),
            matches_per_note=matches_per_note,
            context=context,
        )

    def notes(self) -> Iterator[tuple[VaultPath, Note]]:
        """Every visible note and canvas, parsed, in order of the paths."""
        from vaultbridge.index import lookups

        for path, note in lookups.notes(self._index()):
            if self._scope.visible(path):
                yield path, note

    # Who links where, for moves.

    def sources_naming(self, keys: Iterable[str]) -> list[VaultPath]:
        from vaultbridge.index import lookups

        self._freshness.wait_complete()
        return lookups.sources_naming(self._freshness.index, keys)

    def sources_of(self, path: VaultPath) -> list[VaultPath]:
        from vaultbridge.index import lookups

        self._freshness.wait_complete()
        return lookups.sources_of(self._freshness.index, path)

    def paths_of_kind(self, kind: str) -> list[VaultPath]:
        from vaultbridge.index import lookups

        return lookups.paths_of_kind(self._freshness.index, kind)

    def find(self, name: str) -> VaultPath:
        from vaultbridge.errors import NoteNotFound
        from vaultbridge.links.resolve import Resolved, resolve

        found = resolve(name, "", self.table())
        if isinstance(found, Resolved) and self._scope.visible(found.path):
            return VaultPath(found.path)
        raise NoteNotFound(name)

    def notes_with_tag(self, tag: str) -> list[VaultPath]:
        return []

    def counts(self) -> dict[str, int]:
        return {}
