"""Decides which files exist for one caller: for drafts, which contain hidden files too.

What a scope hides by name does not exist, and neither does a link to it. A filter is valid for one draft.
While nothing has changed, the next one gets the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from vaultbridge.index.store.database import read_meta
from vaultbridge.links.resolve import FileTable, folder_of
from vaultbridge.vault.file_links import find_links_to_hidden, leads_to_hidden
from vaultbridge.vault.paths import Root
from vaultbridge.vault.scope import Scope

if TYPE_CHECKING:
    from vaultbridge.index.store.database import Index


JUDGED_FILES: Final = 10_000
"""For how many files a filter remembers its answer: queries about links ask for the same files again and
again. They take about 1 MB."""


class ExistenceFilter:
    """Says whether a file exists for the caller. `table` has the files of the vault when it was made, and
    `links` are those of them that are links to a hidden one; a later file is looked at when it is asked
    for."""

    __slots__ = ("_judged", "links", "parts", "root", "table")

    def __init__(self, root: Root, parts: tuple[Scope, ...], table: FileTable, links: frozenset[str]) -> None:
        self.root = root
        self.parts = parts
        self.table = table
        self.links = links
        self._judged: dict[str, bool] = {}

    def shows_name(self, path: str) -> bool:
        return all(part.visible(path) for part in self.parts)

    def __call__(self, path: str) -> bool:
        known = self._judged.get(path)
        if known is not None:
            return known
        if not self.shows_name(path):
            return False
        if path in self.table:
            shown = path not in self.links
            if len(self._judged) < JUDGED_FILES:
                self._judged[path] = shown
            return shown
        return not leads_to_hidden(self.root, path, self.shows_name)


class Visibility:
    """The filters of one caller with a scope."""

    def __init__(self, root: Root, scope: Scope) -> None:
        self._root = root
        self._scope = scope
        self._exists: tuple[int, ExistenceFilter] | None = None

    def existence_filter(self, index: Index) -> ExistenceFilter:
        """Says whether a file of the vault exists, indexed or not: its path is visible, and so is its target
        when it is a link."""
        parts = self._scope.parts
        known = self._exists
        with index.reading() as db:
            generation = read_meta(db, "generation")
            if known is not None and known[0] == generation and known[1].parts == parts:
                return known[1]
            table, folders = index.table(db), index.folders(db)
        named = ExistenceFilter(self._root, parts, table, frozenset())
        links = find_links_to_hidden(
            self._root,
            _FolderFiles(folders, table),
            named.shows_name,
            lambda folder: all(part.may_contain(folder) for part in parts),
        )
        earlier = None if known is None else known[1]
        if (
            earlier is not None
            and (earlier.parts, earlier.links) == (parts, links)
            and earlier.table is table
        ):
            exists = earlier
        else:
            exists = ExistenceFilter(self._root, parts, table, links)
        self._exists = (generation, exists)
        return exists


class _FolderFiles(Mapping[str, Collection[str]]):
    """The files in each folder. They are listed only for a folder that cannot be read."""

    def __init__(self, folders: Mapping[str, int], table: FileTable) -> None:
        self._folders = folders
        self._table = table

    def __getitem__(self, folder: str) -> Collection[str]:
        return [path for path in self._table if folder_of(path) == folder]

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __len__(self) -> int:
        return len(self._folders)
