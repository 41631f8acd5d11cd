"""Which folders the system watches for this process.

When a folder is moved as soon as it is made, the library that watches the vault may meet it at its new place
first. The system gives both places one watch, which the library then removes together with the old place:
what happens in the folder afterwards is not reported. Linux lists the watches of a process (proc(5)), so that
this can be noticed. Elsewhere the system watches all folders of the vault as one.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Set
from pathlib import Path
from typing import Final

_OURS: Final = Path("/proc/self")
_NOTIFIER: Final = "anon_inode:inotify"
_WATCH: Final = re.compile(r"^inotify wd:\w+ ino:([0-9a-f]+) ", re.MULTILINE)


def list_watched() -> frozenset[int]:
    """Return the inodes that this process watches, for whatever vault; none where that is unknown."""
    if sys.platform != "linux":
        return frozenset()
    found: set[int] = set()
    try:
        handles = list((_OURS / "fd").iterdir())
    except OSError:
        return frozenset()
    for handle in handles:
        try:
            if str(handle.readlink()) == _NOTIFIER:
                about = (_OURS / "fdinfo" / handle.name).read_text("ascii")
                found.update(int(inode, 16) for inode in _WATCH.findall(about))
        except OSError:
            continue  # Closed by another thread.
    return frozenset(found)


def list_unwatched(folder: Path, watched: Set[int]) -> frozenset[int]:
    """Return the inodes of the folders in a vault that are not watched although they could be."""
    found: set[int] = set()
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                inner = [item for item in listing if not item.name.startswith(".")]
        except OSError:
            continue  # Just moved or deleted, or nobody may look into it.
        for item in inner:
            if item.is_dir(follow_symlinks=False):
                waiting.append(item.path)
                if item.inode() not in watched and (inode := _stat_readable(item.path)) not in watched:
                    found.add(inode)
    return frozenset(found - {0})


def _stat_readable(place: str) -> int:
    """Return the inode of a folder, of what is mounted there if something is; 0 if it cannot be read."""
    try:
        return os.stat(place).st_ino if os.access(place, os.R_OK) else 0  # noqa: PTH116 - text
    except OSError:
        return 0
