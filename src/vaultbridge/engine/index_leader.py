"""Which process leads a vault's index: the one that walks and watches the vault.

It holds a lock file in the vault's cache folder. The system releases the lock when that process dies, however
it dies, and another one takes over. A second file next to the lock shows that the leader is watching, and its
age that the leader is alive.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

from vaultbridge.vault.locking import FileLock

STALLED_SECONDS: Final = 60.0
"""How old the heartbeat may be: the leader renews it every ten seconds. A leader that is stopped (from the
terminal, or by a debugger) still holds the lock, and nothing follows the disk."""

_LOCK_FILE: Final = "keeper.lock"
_HEARTBEAT_FILE: Final = "keeper.watches"
"""The names are old but must stay: a process of an earlier version may be running too, and with other names
both would lead."""


class IndexLeader:
    """The claim to lead one vault's index, held while the vault is walked and watched."""

    __slots__ = ("_heartbeat", "_lock")

    def __init__(self, folder: Path) -> None:
        self._lock = FileLock(folder / _LOCK_FILE)
        self._heartbeat = folder / _HEARTBEAT_FILE

    @property
    def held(self) -> bool:
        return self._lock.held

    def claim(self) -> bool:
        """Becomes the leader unless another process is. True when we are."""
        if self._lock.held:
            return True
        if not self._lock.try_acquire():
            return False
        # Left by a process that died: the new leader must announce itself that it watches.
        self._heartbeat.unlink(missing_ok=True)
        return True

    def release(self) -> None:
        if self._lock.held:
            self._heartbeat.unlink(missing_ok=True)
        self._lock.release()

    def mark_watching(self, *, watching: bool) -> None:
        """Called by the leader, regularly: whether the index follows every change from now on."""
        if watching:
            self._heartbeat.touch()
        else:
            self._heartbeat.unlink(missing_ok=True)

    @property
    def is_watched(self) -> bool:
        """Whether there is a leader that watches the vault."""
        try:
            # It may not be in the future either, as when the clock was set back.
            return abs(time.time() - self._heartbeat.stat().st_mtime) < STALLED_SECONDS
        except OSError:
            return False

    @property
    def is_stalled(self) -> bool:
        """Whether the leader watched the vault and has given no sign of life for a long time."""
        return self._heartbeat.exists() and not self.is_watched
