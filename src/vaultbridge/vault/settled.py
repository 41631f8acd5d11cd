"""Whether a file still holds what was read from it before, told without opening it and without waiting.

A server may keep what it has read, if it can tell with certainty that it still is what stands on the disk. A
stamp is given only for a file where a later change is sure to show in its status, and where asking for that
status cannot wait for a network.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from vaultbridge.vault.mounts import answers_at_once
from vaultbridge.vault.paths import Root, VaultPath

SETTLED_SECONDS: Final = 2.0
"""How long ago a file must have changed last: file systems count time in steps, the coarsest of two seconds,
and a second change within a step might not show."""


class Stamp(Struct, frozen=True, gc=False):
    """What one status says. The time of the status change moves even where a program sets the time of the
    content back."""

    mtime_ns: int
    ctime_ns: int
    size: int
    ino: int
    device: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev)


class SettledFiles:
    """Of one vault. Any thread may use it."""

    def __init__(self, root: Root, *, clock: Callable[[], float] = time.time) -> None:
        self._root = root
        self._clock = clock
        self._device: int | None = None
        if answers_at_once(root.folder):
            self._device = root.folder.stat().st_dev

    def stamp(self, path: VaultPath) -> Stamp | None:
        """Before reading: what to compare with later, or None for a file that should not be kept."""
        status = self._root.plain_status(path)
        if status is None or not stat.S_ISREG(status.st_mode) or status.st_dev != self._device:
            return None
        changed = max(status.st_mtime, status.st_ctime)
        return Stamp.of(status) if changed < self._clock() - SETTLED_SECONDS else None

    def unchanged(self, path: VaultPath, stamp: Stamp) -> bool:
        """Whether the file under exactly this path is the one that was stamped, with the same content."""
        status = self._root.plain_status(path)
        return status is not None and Stamp.of(status) == stamp
