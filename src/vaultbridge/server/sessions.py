"""The processes of `vaultbridge stdio` that use a vault, known without a server to which they could report.

Each holds a locked file in the vault's cache folder, named by its process id. The system releases the lock
when the process dies, however that happens, so an id that is in use again is not mistaken for a session.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

from vaultbridge.errors import EngineFailure, TimedOut
from vaultbridge.vault.locking import FileLock

FOLDER: Final = "sessions"

MARK_SECONDS: Final = 0.5
"""How long a process tries to lock its file: `list_sessions` holds it for an instant to see whether anybody
does."""

SESSIONS: Final = 1000
"""The most sessions of one vault that are listed: nobody starts so many."""


class SessionMark:
    """The mark of this process on one vault. `cache` is the vault's cache folder."""

    def __init__(self, cache: Path) -> None:
        self._lock = FileLock(cache / FOLDER / str(os.getpid()))
        self._holding = contextlib.ExitStack()

    def write(self) -> None:
        """Without a writable folder there is no mark: reading works all the same."""
        with contextlib.suppress(EngineFailure, TimedOut):
            self._holding.enter_context(self._lock.hold(MARK_SECONDS, what="The mark of this session"))

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            if self._lock.held:
                self._holding.close()
                self._lock.path.unlink()


def list_sessions(cache: Path) -> list[int]:
    """The process ids of a vault's sessions. Removes the marks of those that were killed."""
    pids = []
    try:
        names = sorted(file.name for file in (cache / FOLDER).iterdir())[:SESSIONS]
    except OSError:
        return []
    for name in names:
        if not (name.isascii() and name.isdigit() and len(name) <= 10):
            continue
        lock = FileLock(cache / FOLDER / name)
        try:
            if not lock.try_acquire():
                pids.append(int(name))
                continue
        except EngineFailure:
            continue
        lock.release()
        with contextlib.suppress(OSError):
            lock.path.unlink()
    return pids
