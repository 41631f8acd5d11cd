"""Repairs the `-shm` file of a SQLite database in WAL mode, which every open connection has mapped into
memory.

A process that touches a mapped page beyond the end of the file is killed by SIGBUS, which cannot be caught.
Some tools truncate files that they take for rubbish, so the size is checked before each use of a connection.
The content is derived from the `-wal` file: SQLite rebuilds it under its own locks when its header is
cleared. A file that is truncated at the very moment when SQLite uses it still ends the process.

A file that SQLite enlarges in another thread or process looks truncated for an instant. It must not be
touched, because opening and closing it here would release the locks that SQLite holds on it in this process.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

REGION_BYTES: Final = 32768
"""The file grows and is mapped in steps of this size (WALINDEX_PGSZ)."""

HEADER_BYTES: Final = 136
"""Two copies of the header, checkpoint marks and locks. Zeros there make SQLite rebuild the file."""

EMPTY_BYTES: Final = 3
"""The size to which SQLite itself truncates the file when no other connection has it open."""

GROWING_SECONDS: Final = 1.0
"""SQLite enlarges the file by a region in steps of a page, which takes microseconds. A size between two
regions that lasts longer is the work of another program: even on a busy machine a thread continues sooner."""

GROWING_POLL_SECONDS: Final = 0.001
"""How often the size is checked in that time."""


class WalIndex:
    """Call `repair` before each use of a connection to the database, and before opening one."""

    __slots__ = ("_growing_seconds", "_place", "_seen")

    def __init__(self, database: Path, *, growing_seconds: float = GROWING_SECONDS) -> None:
        self._place = f"{database}-shm"
        self._growing_seconds = growing_seconds
        self._seen = 0
        """The largest size while a connection was open: that much may be mapped."""

    def repair(self) -> bool:
        """Restores the size of a truncated file; returns whether that was needed. A file that we may not
        write is left to SQLite, which reports it."""
        try:
            size = os.stat(self._place).st_size  # noqa: PTH116 - before every question to the index
            if self._may_grow(size):
                size = self._wait_until_grown(size)
        except OSError:
            return False
        if size >= self._seen and size % REGION_BYTES == 0:
            self._seen = size
            return False
        if size <= EMPTY_BYTES and not self._seen:
            return False
        whole = max(self._seen, -(-size // REGION_BYTES) * REGION_BYTES)
        try:
            with open(self._place, "r+b") as file:
                file.truncate(whole)
                file.write(bytes(HEADER_BYTES))
        except OSError:
            return False
        import logging

        logging.getLogger(__name__).warning(
            "%s had been truncated and is being rebuilt", Path(self._place).name
        )
        self._seen = whole
        return True

    def _may_grow(self, size: int) -> bool:
        """Whether SQLite may be enlarging the file at this moment: it never makes one smaller that is in
        use."""
        return size >= self._seen and size > EMPTY_BYTES and size % REGION_BYTES != 0

    def _wait_until_grown(self, size: int) -> int:
        deadline = time.monotonic() + self._growing_seconds
        while self._may_grow(size) and time.monotonic() < deadline:
            time.sleep(GROWING_POLL_SECONDS)
            size = os.stat(self._place).st_size  # noqa: PTH116 - likewise
        return size

    def record(self) -> None:
        """Call it after the first use of a connection: from then on a file that was emptied is repaired."""
        if not self._seen:
            self.repair()

    def forget(self) -> None:
        """Call it when every connection of this process is closed: nothing is mapped now."""
        self._seen = 0
