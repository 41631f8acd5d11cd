"""Whether a file still holds what was read from it before, told without opening it and without waiting.

A server may keep what it has read, if it can tell with certainty that it still is what stands on the disk. A
stamp is given only for a file where a later change is sure to show in its status, and where asking for that
status cannot wait for a network.

Whether a folder lies on a file system that answers at once: one of this machine, not of a network.

A file system that is reached over a network, or made by another program, may not answer for minutes. Where
nothing may wait, only a file system that is known not to do so is asked. Linux tells which one it is;
elsewhere nothing is known, and the answer is no.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from vaultbridge.system import FileStat, is_racy
from vaultbridge.vault.paths import Root, VaultPath

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


class StatCache:
    """Of one vault. Any thread may use it."""

    def __init__(self, root: Root, *, clock: Callable[[], float] = time.time) -> None:
        self._root = root
        self._clock = clock
        self._device: int | None = None
        if is_local_filesystem(root.folder):
            self._device = root.folder.stat().st_dev

    def stamp(self, path: VaultPath) -> StrictFileStat | None:
        """Before reading: what to compare with later, or None for a file that should not be kept."""
        status = self._root.plain_status(path)
        if status is None or not stat.S_ISREG(status.st_mode) or status.st_dev != self._device:
            return None
        changed = max(status.st_mtime_ns, status.st_ctime_ns)
        return None if is_racy(changed, int(self._clock() * 1e9)) else StrictFileStat.of(status)

    def unchanged(self, path: VaultPath, stamp: StrictFileStat) -> bool:
        """Whether the file under exactly this path is the one that was stamped, with the same content."""
        status = self._root.plain_status(path)
        return status is not None and StrictFileStat.of(status) == stamp
