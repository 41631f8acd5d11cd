"""Answers read from files before, given again only while the file is certain to be what it was.

Assistants read the same few notes again and again, and a server that answers from here does so in its event
loop: no thread, no wait. Over HTTP that takes 170 µs of the server instead of 290, and it is all this module
is for. So nothing here may wait for a disk or a network: only a file system of this machine is asked, and a
file is remembered by its stat only when a later change is sure to show in it. If that cannot be established,
the answer is None, and the caller reads the file in the ordinary way.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Final, Generic, TypeVar

from msgspec import Struct

from vaultbridge.limits import MIB
from vaultbridge.system import FileStat, is_racy
from vaultbridge.vault.paths import Root, VaultPath

Part = TypeVar("Part", bound=Hashable)
Value = TypeVar("Value")

CACHE_BYTES: Final = 8 * MIB
"""Of all values together: some thousand notes, and little compared with what a process needs anyway."""

ENTRY_BYTES: Final = 600
"""What an entry takes in addition to its value."""

MOUNT_TABLE: Final = Path("/proc/self/mountinfo")

LOCAL_FILESYSTEMS: Final = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"}
)
"""Kept by this machine's kernel on its own disks or in its memory. A name that is missing here costs a little
speed and nothing else."""

_OCTAL: Final = re.compile(r"\\([0-7]{3})")


def is_local_filesystem(folder: Path, *, mounts: Path = MOUNT_TABLE) -> bool:
    """`folder` is real: absolute and without links."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").split("\n")
    except OSError:
        return False
    longest, kind = "", ""
    for line in lines:
        # "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw": proc_pid_mountinfo(5).
        before, dash, after = line.partition(" - ")
        fields = before.split(" ")
        if not dash or len(fields) < 5:
            continue
        point = _OCTAL.sub(lambda found: chr(int(found[1], 8)), fields[4]).rstrip(os.sep) + os.sep
        # Of several mounted on one place, the last one counts.
        if f"{folder}{os.sep}".startswith(point) and len(point) >= len(longest):
            longest, kind = point, after.split(" ", 1)[0]
    return kind in LOCAL_FILESYSTEMS


class StrictFileStat(FileStat, frozen=True, gc=False):
    """Also the time of the last status change, which moves even when a program sets the time of the content
    back, and the device."""

    ctime_ns: int
    device: int

    @classmethod
    def of(cls, status: os.stat_result) -> StrictFileStat:
        return cls(status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns, status.st_dev)


class _Entry(Struct, Generic[Value], frozen=True, gc=False):
    stat: StrictFileStat
    value: Value
    size: int


class ReadCache(Generic[Part, Value]):
    """What was made of parts of a vault's files. Any thread may use it; the value that was used longest ago
    goes first."""

    def __init__(
        self, root: Root, *, clock: Callable[[], float] = time.time, most_bytes: int = CACHE_BYTES
    ) -> None:
        self._root = root
        self._clock = clock
        self._most = most_bytes
        self._guard = threading.Lock()
        self._entries: OrderedDict[tuple[VaultPath, Part], _Entry[Value]] = OrderedDict()
        self._bytes = 0
        self._device: int | None = None
        if is_local_filesystem(root.folder):
            self._device = root.folder.stat().st_dev

    @property
    def usable(self) -> bool:
        return self._device is not None

    def stat(self, path: VaultPath) -> StrictFileStat | None:
        """Before reading: what to compare with later, or None for a file that should not be remembered."""
        status = self._root.plain_status(path)
        if status is None or not stat.S_ISREG(status.st_mode) or status.st_dev != self._device:
            return None
        changed = max(status.st_mtime_ns, status.st_ctime_ns)
        return None if is_racy(changed, int(self._clock() * 1e9)) else StrictFileStat.of(status)

    def is_unchanged(self, path: VaultPath, before: StrictFileStat) -> bool:
        """Whether the file under exactly this path is the same one, with the same content."""
        status = self._root.plain_status(path)
        return status is not None and StrictFileStat.of(status) == before

    def put(self, path: VaultPath, part: Part, value: Value, before: StrictFileStat, *, size: int) -> None:
        """`before` was taken before the file was read: if it changed since, the next look will tell. `size`
        is what the value takes in memory."""
        size += ENTRY_BYTES
        if size > self._most:
            return
        with self._guard:
            self._drop((path, part))
            self._entries[path, part] = _Entry(before, value, size)
            self._bytes += size
            while self._bytes > self._most:
                self._bytes -= self._entries.popitem(last=False)[1].size

    def get(self, path: VaultPath, part: Part, *, largest: int) -> Value | None:
        """`largest` is how many bytes a file may have now."""
        key = (path, part)
        entry = self._entries.get(key)
        if entry is None or entry.stat.size > largest:
            return None
        unchanged = self.is_unchanged(path, entry.stat)
        with self._guard:
            if self._entries.get(key) is entry:
                if unchanged:
                    self._entries.move_to_end(key)
                else:
                    self._drop(key)
        return entry.value if unchanged else None

    def _drop(self, key: tuple[VaultPath, Part]) -> None:
        gone = self._entries.pop(key, None)
        if gone is not None:
            self._bytes -= gone.size
