"""Locks between processes: a file that one open handle holds, released by the system when its holder dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from vaultbridge.errors import TimedOut

LOCK_POLL_SECONDS: Final = 0.02
"""How often a wait looks again: two processes that write in turn hardly notice, and it costs nothing."""


class FileLock:
    """A lock held by this object alone: a second object in the same process has to wait as well."""

    __slots__ = ("_handle", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    @property
    def held(self) -> bool:
        return self._handle is not None

    def try_acquire(self) -> bool:
        """Takes the lock unless another holds it. True when it is ours now (or was already)."""
        if self._handle is not None:
            return True
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            taken = _lock(handle)
        except BaseException:
            os.close(handle)
            raise
        if not taken:
            os.close(handle)
            return False
        self._handle = handle
        return True

    def release(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    @contextmanager
    def waiting(self, seconds: float, *, what: str) -> Iterator[None]:
        """Holds the lock for a block. Raises `TimedOut`, saying that `what` is busy."""
        deadline = time.monotonic() + seconds
        while not self.try_acquire():
            if time.monotonic() >= deadline:
                raise TimedOut(
                    f"{what} is busy: another process has held it for more than {seconds:g} s.",
                    hint="Try again in a moment.",
                )
            time.sleep(LOCK_POLL_SECONDS)
        try:
            yield
        finally:
            self.release()


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> bool:
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
