"""What the index knows about links, for one draft."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from vaultbridge.index.graph import (
    StoredLinks,
    find_notes_with_bases,
    find_sources,
    find_sources_by_name,
    list_paths_of_kind,
    list_unparsed,
    read_stored_links,
)
from vaultbridge.vault.paths import VaultFolder, VaultPath

if TYPE_CHECKING:
    from vaultbridge.engine.index_sync import IndexSync
    from vaultbridge.index.store.database import Index


class LinkSources:
    """What the index knows about which files link where, for one draft. It ignores the scope: a move must not
    break links in notes that its caller may not see. Whether the index is up to date is asked once, by
    whatever needs it first; that waits for a first build, and raises TimedOut."""

    def __init__(self, root: VaultFolder, index_sync: IndexSync) -> None:
        self._root = root
        self._sync = index_sync
        self.known: Index | None = None
        """The full index, if it was needed."""

    def index(self) -> Index:
        if self.known is None:
            self.known = self._sync.whole_index()
        return self.known

    def find_by_name(self, keys: Iterable[str]) -> list[VaultPath]:
        """The notes and canvases with a link whose target may depend on one of these name keys."""
        return self._root.leave_out_links(find_sources_by_name(self.index(), keys))

    def find_linking_to(self, paths: Iterable[VaultPath]) -> list[VaultPath]:
        """The notes and canvases with a link to one of these files."""
        return self._root.leave_out_links(find_sources(self.index(), paths))

    def read_stored_links(self, paths: Iterable[VaultPath]) -> dict[VaultPath, StoredLinks]:
        """The links of these files as the index knows them; of some files it knows none."""
        return read_stored_links(self.index(), paths)

    def list_bases(self) -> list[VaultPath]:
        return self._root.leave_out_links(list_paths_of_kind(self.index(), "base"))

    def list_unparsed(self) -> list[VaultPath]:
        """The notes and canvases that are too large to be parsed: the links in them are unknown."""
        return self._root.leave_out_links(list_unparsed(self.index()))

    def list_notes_with_bases(self) -> list[VaultPath]:
        """The notes that may contain a base as a code block."""
        return self._root.leave_out_links(find_notes_with_bases(self.index()))
