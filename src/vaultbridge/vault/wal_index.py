"""Repairs the `-shm` file of a SQLite database in WAL mode, which every open connection has mapped into
memory.

A process that touches a mapped page beyond the end of the file is killed by SIGBUS, which cannot be caught.
Some tools truncate files that they take for rubbish, so the size is checked before each use of a connection.
The content is derived from the `-wal` file: SQLite rebuilds it under its own locks when its header is
cleared.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

REGION_BYTES: Final = 32768
"""The file grows and is mapped in steps of this size (WALINDEX_PGSZ)."""

HEADER_BYTES: Final = 136
"""Two copies of the header, checkpoint marks and locks. Zeros there make SQLite rebuild the file."""

EMPTY_BYTES: Final = 3
"""The size to which SQLite itself truncates the file when nobody else has it open."""


class WalIndex:
    """Call `repair` before each use of a connection to the database, and before opening one."""

    __slots__ = ("_place", "_seen")

    def __init__(self, database: Path) -> None:
        self._place = f"{database}-shm"
        self._seen = 0
        """The largest size while a connection was open: that much may be mapped."""

    def repair(self) -> bool:
        """Restores the size of a truncated file; returns whether that was needed. A file that we may not
        write is left to SQLite, which reports it."""
        try:
            size = os.stat(self._place).st_size  # noqa: PTH116 - before every question to the index
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

    def forget(self) -> None:
        """Call it when every connection of this process is closed: nothing is mapped any more."""
        self._seen = 0
