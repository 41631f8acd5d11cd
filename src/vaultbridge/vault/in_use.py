"""Whether another program is saving a file at this moment, so that nobody builds on half of it.

Many editors save in place: they empty the file and then write it. Whoever looks in between sees an empty
note.
Linux tells whether a file is open for writing: a read lease is given only when it is not. Where the system
cannot tell, a file that changed a moment ago counts as being saved.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from typing import Final, TypeVar

from vaultbridge.errors import NoteBusy

Answer = TypeVar("Answer")

EMPTY_SECONDS: Final = 1.0
"""How long a note that has just become empty is waited for: a program that closes the file between emptying
and writing it does so within some tenths of a second."""

RECENT_SECONDS: Final = 0.2
"""Where the system cannot tell who has a file open: how long after its last change it is left alone. A save
in several pieces changes it more often than that."""

BUSY_SECONDS: Final = 3.0
"""The longest a change waits for another program to end its save; then it is refused. Longer than any editor
saves, shorter than an assistant's patience."""

BUSY_POLL_SECONDS: Final = 0.01
"""How often it looks meanwhile."""


def is_open_for_writing(handle: int) -> bool | None:
    """Whether any program has this file, which is open for reading here, open for writing. None where that
    cannot be told: another system, a network's file system, a file of another user."""
    try:
        from fcntl import F_RDLCK, F_SETLEASE, F_SETSIG, F_UNLCK, fcntl
        from signal import SIGURG
    except ImportError:
        return None
    try:
        # Whoever opens the file during the next microseconds makes the system signal us. By default that
        # would be SIGIO, which ends a process; SIGURG is ignored.
        fcntl(handle, F_SETSIG, SIGURG)
        fcntl(handle, F_SETLEASE, F_RDLCK)
    except OSError as error:
        return True if error.errno == errno.EAGAIN else None
    fcntl(handle, F_SETLEASE, F_UNLCK)
    return False


def check_at_rest(handle: int, status: os.stat_result, path: str) -> None:
    """Raises `NoteBusy` for a file that may be half saved: open for writing, emptied just now or, where the
    former cannot be told, changed just now."""
    writing = is_open_for_writing(handle)
    if writing:
        raise NoteBusy(path)
    age = time.time() - status.st_mtime
    if 0 <= age < (EMPTY_SECONDS if status.st_size == 0 else RECENT_SECONDS if writing is None else 0):
        raise NoteBusy(path, certain=False)


def when_at_rest(change: Callable[[], Answer]) -> Answer:
    """What `change` gives, tried again while it raises `NoteBusy`, for `BUSY_SECONDS` at most. It must have
    changed nothing when it raises, and hold no lock."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return change()
        except NoteBusy:
            if time.monotonic() >= deadline:
                raise
        time.sleep(BUSY_POLL_SECONDS)
