"""Whether a folder lies on a file system that answers at once: one of this machine, not of a network.

A file system that is reached over a network, or made by another program, may not answer for minutes. Where
nothing may wait, only a file system that is known not to do so is asked. Linux tells which one it is;
elsewhere nothing is known, and the answer is no.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

MOUNTS: Final = Path("/proc/self/mountinfo")

LOCAL: Final = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"}
)
"""Kept by this machine's kernel on its own disks or in its memory. A name that is missing here costs a little
speed and nothing else."""

_OCTAL: Final = re.compile(r"\\([0-7]{3})")


def answers_at_once(folder: Path, *, mounts: Path = MOUNTS) -> bool:
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
    return kind in LOCAL
