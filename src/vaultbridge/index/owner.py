"""Which process keeps a vault's index fresh.

One process a machine walks and watches a vault: the one that holds a lock file in the vault's cache folder.
The system releases the lock when that process dies, however it dies, and the next that asks takes over.
A process may also hold it for one comparison only; a mark beside the lock says that its holder watches, and
its age that the holder is alive.
Every process may write the rows of files that it changed itself."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from vaultbridge.vault.locking import FileLock

TAKEOVER_SECONDS: Final = 2.0
"""How often a process that is not the keeper should ask again: a dead keeper is then missed for no longer."""

SILENT_SECONDS: Final = 60.0
"""How old the mark may be: its holder renews it every ten seconds. One that stands still (stopped from the
terminal, or by a debugger) keeps the lock, and nothing follows the disk."""

_LOCK_FILE: Final = "keeper.lock"
_WATCH_MARK: Final = "keeper.watches"


class Keeper:
    """The claim to keep one vault's index. Hold it as long as you walk and watch."""

    __slots__ = ("_lock", "_mark")

    def __init__(self, folder: Path) -> None:
        self._lock = FileLock(folder / _LOCK_FILE)
        self._mark = folder / _WATCH_MARK

    @property
    def ours(self) -> bool:
        return self._lock.held

    def claim(self) -> bool:
        """Become the keeper unless another process is. True when we are."""
        if self._lock.held:
            return True
        if not self._lock.try_acquire():
            return False
        # Left by one that died: whoever holds the lock watches only when it says so itself.
        self._mark.unlink(missing_ok=True)
        return True

    def release(self) -> None:
        if self._lock.held:
            self._mark.unlink(missing_ok=True)
        self._lock.release()

    def tell_watching(self, *, watching: bool) -> None:
        """For the keeper, now and then: whether the index follows every change from now on."""
        if watching:
            self._mark.touch()
        else:
            self._mark.unlink(missing_ok=True)

    @property
    def watched(self) -> bool:
        """Whether the holder of the lock, if there is one, watches the vault."""
        try:
            # Nor may it be of the future, as after a clock was set back.
            return abs(time.time() - self._mark.stat().st_mtime) < SILENT_SECONDS
        except OSError:
            return False

    @property
    def silent(self) -> bool:
        """Whether the holder of the lock watched the vault, and has not been heard of for long."""
        return self._mark.exists() and not self.watched
