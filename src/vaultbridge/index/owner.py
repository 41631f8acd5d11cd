"""Which process keeps a vault's index fresh.

One process a machine walks and watches a vault: the one that holds a lock file in the vault's cache folder.
The system releases the lock when that process dies, however it dies, and the next that asks takes over.
Every process may write the rows of files that it changed itself."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from vaultbridge.vault.locking import FileLock

TAKEOVER_SECONDS: Final = 2.0
"""How often a process that is not the keeper should ask again: a dead keeper is then missed for no longer."""

_LOCK_FILE: Final = "keeper.lock"


class Keeper:
    """The claim to keep one vault's index. Hold it as long as you walk and watch."""

    __slots__ = ("_lock",)

    def __init__(self, folder: Path) -> None:
        self._lock = FileLock(folder / _LOCK_FILE)

    @property
    def ours(self) -> bool:
        return self._lock.held

    def claim(self) -> bool:
        """Become the keeper unless another process is. True when we are."""
        return self._lock.try_acquire()

    def release(self) -> None:
        self._lock.release()
