"""What the index of a scope asks of the full index that it follows, and of the scope: see `scope_sync`."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from typing import Final, Protocol

from msgspec import Struct

from vaultbridge.links.resolve import folder_of

UNLOGGED: Final = -1
"""The position while the full index is being built: it has no log yet."""


class Membership(Protocol):
    """Which files are in the scope."""

    def shows(self, path: str) -> bool:
        """Whether the scope shows a file of this name."""

    def find_links_to_hidden(self, folders: Mapping[str, Collection[str]]) -> frozenset[str]:
        """The files in these folders whose names it shows and that are links to files that it hides."""


class SourceState(Struct, frozen=True):
    """A state of the full index: `first` and `position` are the ends of its log."""

    identity: int
    generation: int
    ready: bool
    first: int
    position: int


class SourceFolders(Mapping[str, Collection[str]]):
    """The files of the full index in each folder. They are listed only for a folder that cannot be read."""

    def __init__(self, source: sqlite3.Connection, folders: Mapping[str, int]) -> None:
        self._source = source
        self._folders = folders

    def __getitem__(self, folder: str) -> Collection[str]:
        paths = self._source.execute("SELECT path FROM files ORDER BY path")
        return [path for (path,) in paths if folder_of(path) == folder]

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __len__(self) -> int:
        return len(self._folders)


def read_source_state(source: sqlite3.Connection) -> SourceState:
    identity, generation, state, first, position = source.execute(
        "SELECT (SELECT value FROM meta WHERE name = 'identity'),"
        " (SELECT value FROM meta WHERE name = 'generation'), (SELECT value FROM meta WHERE name = 'state'),"
        " (SELECT min(seq) FROM changed), (SELECT max(seq) FROM changed)"
    ).fetchone()
    ready = state == "ready"
    return SourceState(identity, generation, ready, first or 0, position if ready else UNLOGGED)
