"""A real vault in a temporary folder with a real index, for the tests of `index`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.files import write_vault
from vaultbridge.engine.index_sync import IndexLeader
from vaultbridge.index.files import dump
from vaultbridge.index.store.database import Index
from vaultbridge.index.sync import Synchronizer, SyncReport
from vaultbridge.vault.paths import Root, VaultPath


@contextmanager
def another_leader(cache: Path, *, watches: bool = False) -> Iterator[None]:
    """Somebody else leads the index in this cache folder. Unless that one `watches`, it has only just begun,
    and the index may be empty; one that does has not yet reported what is saved from now on."""
    leader = IndexLeader(cache)
    assert leader.claim()
    leader.mark_watching(watching=watches)
    try:
        yield
    finally:
        leader.release()


class Vault:
    """A vault on disk and its index. Everything is read from the files by the real synchronizer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "vault"
        self.cache = folder / "cache"
        self.folder.mkdir(parents=True)
        self.cache.mkdir()
        self.root = Root(self.folder)
        self.index = Index.open(self.cache)
        self.sync = Synchronizer(self.root, self.index)
        self._rebuilt = 0

    def write(self, files: dict[str, str | bytes]) -> None:
        write_vault(self.folder, files)

    def remove(self, path: str) -> None:
        (self.folder / path).unlink()

    def sync_all(self) -> SyncReport:
        return self.sync.sync_all()

    def sync_paths(self, *paths: str) -> SyncReport:
        return self.sync.sync_paths([VaultPath(path) for path in paths])

    def dump(self) -> dict[str, Any]:
        return dump(self.index)

    def rebuilt(self) -> dict[str, Any]:
        """Returns the dump of a new index of the same files."""
        self._rebuilt += 1
        folder = self.cache / f"rebuilt-{self._rebuilt}"
        folder.mkdir()
        index = Index.open(folder)
        try:
            Synchronizer(self.root, index).sync_all()
            return dump(index)
        finally:
            index.close()

    def close(self) -> None:
        self.index.close()
