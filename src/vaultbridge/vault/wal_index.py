"""The `-shm` file beside a SQLite database in WAL mode, which every open connection has mapped into memory.

Whoever touches a mapped page that lies behind the end of the file dies of SIGBUS, without a word and without
a chance to catch it. Some tools cut files they take for rubbish, so the file's size is looked at before a
connection uses it. The content is derived from the `-wal` file: when its header is cleared, SQLite builds it
anew under its own locks.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

REGION_BYTES: Final = 32768
"""SQLite's file grows, and is mapped, in steps of this size (WALINDEX_PGSZ)."""

HEADER_BYTES: Final = 136
"""Two copies of the header, checkpoint marks and locks. Zeros there mean: to be built anew."""

EMPTY_BYTES: Final = 3
"""The size to which SQLite itself cuts the file when nobody else has it open."""


class WalIndex:
    """Call `repair` before each use of a connection to the database, and before opening one."""

    __slots__ = ("_place", "_seen")

    def __init__(self, database: Path) -> None:
        self._place = f"{database}-shm"
        self._seen = 0
        """The largest size while a connection was open: as much may be mapped."""

    def repair(self) -> bool:
        """Make the file whole again when somebody has cut it; True when that was needed. What cannot be
        mended (no right to write) is left to SQLite, which says so."""
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

        logging.getLogger(__name__).warning("%s had been cut and is built anew", Path(self._place).name)
        self._seen = whole
        return True

    def forget(self) -> None:
        """Every connection of this process is closed: nothing is mapped any more."""
        self._seen = 0
