"""Locks between processes: locked files, which the system releases when their holder dies.

A person may delete the file or its folder at any time. A lock on a file that has lost its name would exclude
nobody, so it does not count as held, and the next process creates the file again.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from vaultbridge.errors import EngineFailure, TimedOut

WRITER_LOCK: Final = "writer.lock"
"""The lock file in a vault's folder that its one writer holds."""

WRITER_SECONDS: Final = 10.0
"""How long a writer waits for another: longer than any transaction takes, shorter than a call may take."""

LOCK_POLL_SECONDS: Final = 0.02
"""How often a waiting process tries again: two processes that write in turn hardly notice, and it costs
little."""


class FileLock:
    """A lock that belongs to this object only: a second object in the same process has to wait too."""

    __slots__ = ("_handle", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    @property
    def held(self) -> bool:
        return self._handle is not None and self._is_ours(self._handle)

    def try_acquire(self) -> bool:
        """Takes the lock unless someone else holds it. Returns whether we hold it now. Raises `EngineFailure`
        when the file cannot be created."""
        if self.held:
            return True
        self.release()
        try:
            handle = self._open()
            taken = False
            try:
                taken = _lock(handle) and self._is_ours(handle)
            finally:
                if not taken:
                    os.close(handle)
        except OSError as error:
            raise EngineFailure(
                f"The lock file {self.path.name} cannot be used: {os.strerror(error.errno or 0)}.",
                hint="Is its folder writable?",
                paths=(),
            ) from error
        if taken:
            self._handle = handle
        return taken

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        try:
            return os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self.path, flags, 0o600)

    def _is_ours(self, handle: int) -> bool:
        """Whether the open file still has the lock's name."""
        try:
            return os.path.samestat(os.fstat(handle), self.path.stat())
        except OSError:
            return False

    def release(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    @contextmanager
    def hold(self, seconds: float, *, what: str) -> Iterator[None]:
        """Waits for the lock and holds it during the block. Raises `TimedOut`, which says that `what` is
        busy."""
        deadline = time.monotonic() + seconds
        while not self.try_acquire():
            if time.monotonic() >= deadline:
                raise TimedOut(
                    f"{what} is busy: another process has held it for more than {seconds:g} s.",
                    hint="Try again in a moment.",
                    paths=(),
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
