"""Readings kept for the next caller, and given only while the file is what it was.

Assistants read the same few notes again and again. What was read is kept with the file's stamp; asking for it
costs a look at the file's status and never waits, so a server may do it where it may not block.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from typing import Final

from msgspec import Struct

from vaultbridge.engine.reading import Excerpt, Part
from vaultbridge.limits import MIB
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.stat_cache import StatCache, StrictFileStat

KEPT_BYTES: Final = 8 * MIB
"""Of all texts together: some thousand notes, and small beside what a process needs anyway."""

ENTRY_BYTES: Final = 600
"""What an entry takes beside its text."""


class Reading(Struct, frozen=True, gc=False):
    """A part of a file. `lines` is how many the whole file has, as a reader counts them."""

    path: VaultPath
    hash: str
    lines: int
    excerpt: Excerpt


class _Kept(Struct, frozen=True, gc=False):
    stamp: StrictFileStat
    reading: Reading
    size: int


class ReadCache:
    """Any thread may use it; the one that was used longest ago goes first."""

    def __init__(self, files: StatCache, *, most_bytes: int = KEPT_BYTES) -> None:
        self._files = files
        self._most = most_bytes
        self._guard = threading.Lock()
        self._kept: OrderedDict[tuple[VaultPath, Part], _Kept] = OrderedDict()
        self._bytes = 0

    def keep(self, reading: Reading, part: Part, stamp: StrictFileStat) -> None:
        """`stamp` was taken before the file was read: if it changed since, the next look will tell."""
        size = sys.getsizeof(reading.excerpt.text) + ENTRY_BYTES
        if size > self._most:
            return
        with self._guard:
            self._drop((reading.path, part))
            self._kept[reading.path, part] = _Kept(stamp, reading, size)
            self._bytes += size
            while self._bytes > self._most:
                self._bytes -= self._kept.popitem(last=False)[1].size

    def get(self, path: VaultPath, part: Part, *, largest: int) -> Reading | None:
        """`largest` is how many bytes a file may have now."""
        key = (path, part)
        kept = self._kept.get(key)
        if kept is None or kept.stamp.size > largest:
            return None
        true = self._files.unchanged(path, kept.stamp)
        with self._guard:
            if self._kept.get(key) is kept:
                if true:
                    self._kept.move_to_end(key)
                else:
                    self._drop(key)
        return kept.reading if true else None

    def _drop(self, key: tuple[VaultPath, Part]) -> None:
        gone = self._kept.pop(key, None)
        if gone is not None:
            self._bytes -= gone.size
