"""Reading a file of the vault: bounded, whole, and with what is needed to notice a change later.

No decoding (that is `markdown.text`) and no scope (`scope.Scope`).

Whether another program is saving a file at this moment, so that nobody builds on half of it.

Many editors save in place: they empty the file and then write it. Whoever looks in between sees an empty
note.
Linux tells whether a file is open for writing: a read lease is given only when it is not. Where the system
cannot tell, a file that changed a moment ago counts as being saved.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from vaultbridge.errors import EngineFailure, NoteBusy, NoteNotFound, PermissionDenied
from vaultbridge.limits import NOTE_READ_BYTES
from vaultbridge.system import FileStat
from vaultbridge.vault.beneath import open_file
from vaultbridge.vault.cloud import is_placeholder
from vaultbridge.vault.paths import Root, VaultPath

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


def check_not_busy(handle: int, status: os.stat_result, path: str) -> None:
    """Raises `NoteBusy` for a file that may be half saved: open for writing, emptied just now or, where the
    former cannot be told, changed just now."""
    writing = is_open_for_writing(handle)
    if writing:
        raise NoteBusy(path)
    age = time.time() - status.st_mtime
    if 0 <= age < (EMPTY_SECONDS if status.st_size == 0 else RECENT_SECONDS if writing is None else 0):
        raise NoteBusy(path, certain=False)


def retry_while_busy(change: Callable[[], Answer]) -> Answer:
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


READ_ATTEMPTS: Final = 5
"""How often a file that changes while it is read is read again: a writer that replaces atomically needs
one, one that writes in place is given time for a few."""

_LINKED: Final = (errno.ELOOP, errno.ENOTDIR)


def content_hash(data: bytes) -> str:
    """The hash of a note's bytes, as callers see it: 16 hexadecimal digits."""
    return blake2b(data, digest_size=8).hexdigest()


class FileContent(Struct, frozen=True):
    data: bytes
    signature: FileStat
    mode: int

    @property
    def hash(self) -> str:
        return content_hash(self.data)


def read_file(root: Root, path: VaultPath, *, limit: int = NOTE_READ_BYTES) -> FileContent:
    """The whole file as it was at one moment.

    Raises `NoteNotFound`, `PermissionDenied`, or `EngineFailure` for a folder, a file larger than
    `limit`, or one that its cloud service has not downloaded.
    """
    return read_place(root.resolve(path), path, limit=limit)


def read_place(
    place: Path | str, path: str, *, limit: int = NOTE_READ_BYTES, at_rest: bool = False
) -> FileContent:
    """Like `read_file`, for a place that `Root.resolve` gave, with no link in it; `path` is for messages.
    With `at_rest`, raises `NoteBusy` for a file that another program may be saving."""
    try:
        return _read(str(place), path, limit, at_rest=at_rest)
    except FileNotFoundError:
        raise NoteNotFound(path) from None
    except PermissionError as error:
        raise PermissionDenied(f"{path} may not be read by this user.", paths=(path,)) from error
    except IsADirectoryError as error:
        raise EngineFailure(f"{path} is a folder, not a file.", paths=(path,)) from error
    except OSError as error:
        if error.errno in _LINKED:
            raise EngineFailure(
                f"A link took the place of {path}, or of a folder it lies in, while it was read.",
                hint="Try again in a moment.",
                paths=(path,),
            ) from error
        raise EngineFailure(
            f"{path} could not be read: {os.strerror(error.errno or 0)}.", paths=(path,)
        ) from error


def not_downloaded_error(path: str) -> EngineFailure:
    return EngineFailure(
        f"{path} is not downloaded yet: its content lies with the cloud service.",
        hint="Open it in the service's app, or make the folder available offline.",
        paths=(path,),
    )


def _read(place: str, path: str, limit: int, *, at_rest: bool) -> FileContent:
    for _ in range(READ_ATTEMPTS):
        # Not blocking, so that a named pipe in the vault cannot hold us; O_NONBLOCK means nothing for a file.
        handle = open_file(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                what = "a folder" if stat.S_ISDIR(before.st_mode) else "no ordinary file"
                raise EngineFailure(f"{path} is {what}.", paths=(path,))
            if before.st_size > limit:
                raise EngineFailure(
                    f"{path} has {before.st_size} bytes; at most {limit} are read.",
                    size=before.st_size,
                    limit=limit,
                    paths=(path,),
                )
            if is_placeholder(before, handle):
                raise not_downloaded_error(path)
            data = _read_all(handle, before.st_size)
            signature = FileStat.of(before)
            if at_rest:
                check_not_busy(handle, before, path)
            # In this order: whatever was added while we read shows in the size.
            if FileStat.of(os.fstat(handle)) == signature and len(data) == before.st_size:
                return FileContent(data, signature, stat.S_IMODE(before.st_mode))
        finally:
            os.close(handle)
    raise EngineFailure(
        f"{path} keeps changing while it is read.", hint="Try again in a moment.", paths=(path,)
    )


def _read_all(handle: int, size: int) -> bytes:
    """As many bytes as the file is said to have, or fewer when it has become shorter."""
    pieces = [os.read(handle, size)]
    missing = size - len(pieces[0])
    while missing and (piece := os.read(handle, missing)):
        pieces.append(piece)
        missing -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
