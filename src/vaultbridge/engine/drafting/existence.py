"""Decides which files exist for one caller: for drafts, which contain hidden files too.

What a scope hides by name does not exist, and neither does a link to it. A filter is valid for one draft.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from vaultbridge.links.resolve import FileTable, folder_of
from vaultbridge.vault.file_links import find_links_to_hidden, leads_to_hidden
from vaultbridge.vault.paths import VaultFolder, Visible
from vaultbridge.vault.scope import Scope

if TYPE_CHECKING:
    from vaultbridge.index.store.database import Index


class ExistenceFilter:
    """Says whether a file exists for the caller. `table` has the files of the vault when it was made, and
    `links` are those of them that are links to a hidden one; a later file is looked at when it is asked
    for."""

    __slots__ = ("_links", "_root", "_shows_name", "_table")

    def __init__(
        self, root: VaultFolder, shows_name: Visible, table: FileTable, links: frozenset[str]
    ) -> None:
        self._root = root
        self._shows_name = shows_name
        self._table = table
        self._links = links

    def __call__(self, path: str) -> bool:
        if not self._shows_name(path):
            return False
        if path in self._table:
            return path not in self._links
        return not leads_to_hidden(self._root, path, self._shows_name)


def make_existence_filter(root: VaultFolder, scope: Scope, index: Index) -> ExistenceFilter:
    """Says whether a file of the vault exists, indexed or not: its path is visible, and so is its target when
    it is a link."""
    # Read once: what a caller may see can become narrower at any moment.
    parts = scope.parts
    with index.reading() as db:
        table, folders = index.table(db), index.folders(db)

    def shows_name(path: str) -> bool:
        return all(part.visible(path) for part in parts)

    links = find_links_to_hidden(
        root,
        _FolderFiles(folders, table),
        shows_name,
        lambda folder: all(part.may_contain(folder) for part in parts),
    )
    return ExistenceFilter(root, shows_name, table, links)


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
