"""Reads whole files of the vault, up to a limit, and finds out whether another program is saving one.

Many editors save in place: they empty the file and then write it, so a reader in between sees an empty note.
Linux can tell whether a file is open for writing: it grants a read lease only if it is not. Where the system
cannot tell, a file that changed a moment ago counts as being saved. `markdown.text` does the decoding, and
`scope.Scope` decides who may read what.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from vaultbridge.errors import EngineFailure, NoteBusy, NoteNotFound, PermissionDenied
from vaultbridge.limits import HASH_DIGITS_SHOWN, NOTE_READ_BYTES
from vaultbridge.system import FileStat
from vaultbridge.vault.cloud import is_placeholder
from vaultbridge.vault.no_follow import open_file
from vaultbridge.vault.scope import HiddenNoteInUse

_Result = TypeVar("_Result")

EMPTY_SECONDS: Final = 1.0
"""How long we wait for a note that has just become empty: a program that closes the file between emptying and
writing it takes some tenths of a second."""

RECENT_SECONDS: Final = 0.2
"""How long after its last change a file is not touched, if the system cannot tell who has it open. A save in
several pieces changes the file more often than that."""

BUSY_SECONDS: Final = 3.0
"""The longest that a change waits for another program to finish saving before it is refused: longer than a
save takes, shorter than an assistant's patience."""

BUSY_POLL_SECONDS: Final = 0.01
"""How often it tries again in that time."""


def is_open_for_writing(handle: int) -> bool | None:
    """Whether any program has this file, which we have open for reading, open for writing. None if that is
    unknown: on another system, on a network file system, for another user's file."""
    if sys.platform == "linux":
        from fcntl import F_RDLCK, F_SETLEASE, F_SETSIG, F_UNLCK, fcntl
        from signal import SIGURG

        try:
            # If a program opens the file during the next microseconds, the system sends us a signal. The
            # default, SIGIO, ends a process; SIGURG is ignored.
            fcntl(handle, F_SETSIG, SIGURG)
            fcntl(handle, F_SETLEASE, F_RDLCK)
        except OSError as error:
            return True if error.errno == errno.EAGAIN else None
        fcntl(handle, F_SETLEASE, F_UNLCK)
        return False
    return None


def check_not_busy(handle: int, status: os.stat_result, path: str) -> None:
    """Raises `NoteBusy` for a file that may be half saved: open for writing, just emptied or, where the
    system cannot tell who has it open, just changed."""
    writing = is_open_for_writing(handle)
    if writing:
        raise NoteBusy(path)
    # The clock of a network disk may be ahead of ours.
    age = abs(time.time() - status.st_mtime)
    if age < (EMPTY_SECONDS if status.st_size == 0 else RECENT_SECONDS if writing is None else 0):
        raise NoteBusy(path, certain=False)


def is_empty_file(place: Path) -> bool:
    """Whether an ordinary file, not a link to one, is there and is empty."""
    try:
        status = os.lstat(place)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == 0


def retry_while_busy(change: Callable[[], _Result]) -> _Result:
    """Calls `change` again while a note, hidden or not, is busy, for `BUSY_SECONDS` at most. When it raises,
    it must have changed nothing and hold no lock."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return change()
        except (NoteBusy, HiddenNoteInUse) as error:
            busy = isinstance(error, NoteBusy) or error.busy
            if not busy or time.monotonic() >= deadline:
                raise
        time.sleep(BUSY_POLL_SECONDS)


READ_ATTEMPTS: Final = 5
"""How often a file that changes during reading is read again: once is enough for a writer that replaces
atomically, a few times give one that writes in place time to finish."""

_LINKED: Final = (errno.ELOOP, errno.ENOTDIR)


def content_hash(data: bytes) -> str:
    """The hash of a note's bytes: 16 hexadecimal digits."""
    return blake2b(data, digest_size=8).hexdigest()


def is_hash_of(given: str, hash_: str) -> bool:
    """Whether a caller who gives this hash, whole or its beginning as answers show it, means `hash_`."""
    return len(given) >= HASH_DIGITS_SHOWN and hash_.startswith(given)


class FileContent(Struct, frozen=True):
    data: bytes
    signature: FileStat
    mode: int

    @property
    def hash(self) -> str:
        return content_hash(self.data)


def read_place(
    place: Path | str, path: str, *, limit: int = NOTE_READ_BYTES, not_busy: bool = False
) -> FileContent:
    """Read a whole file as it was at one moment. `place` is from `VaultFolder.resolve` and has no link in
    it; `path` is for messages.

    Raises `NoteNotFound`, `PermissionDenied`, or `EngineFailure` for a folder, a file larger than `limit`, or
    one that its cloud service has not downloaded. With `not_busy`, raises `NoteBusy` for a file that another
    program may be saving."""
    try:
        return _read(str(place), path, limit, not_busy=not_busy)
    except FileNotFoundError:
        raise NoteNotFound(path) from None
    except PermissionError as error:
        raise PermissionDenied(f"{path} may not be read by this user.", paths=(path,)) from error
    except IsADirectoryError as error:
        raise EngineFailure(f"{path} is a folder, not a file.", paths=(path,)) from error
    except OSError as error:
        if error.errno in _LINKED:
            raise EngineFailure(
                f"{path}, or a folder that contains it, was replaced with a link while it was read.",
                hint="Try again in a moment.",
                paths=(path,),
            ) from error
        raise EngineFailure(
            f"{path} could not be read: {os.strerror(error.errno or 0)}.", paths=(path,)
        ) from error


def read_start(place: Path | str, count: int) -> bytes:
    """The first bytes of an ordinary file at a place from `VaultFolder.resolve`. Raises `OSError`."""
    handle = open_file(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(handle)
        # A file that is still with a cloud service would be downloaded for it.
        if not stat.S_ISREG(status.st_mode) or is_placeholder(status, handle):
            return b""
        return os.read(handle, count)
    finally:
        os.close(handle)


def not_downloaded_error(path: str) -> EngineFailure:
    return EngineFailure(
        f"{path} is not downloaded yet: its content is still with the cloud service.",
        hint="Open it in the service's app, or make the folder available offline.",
        paths=(path,),
    )


def _read(place: str, path: str, limit: int, *, not_busy: bool) -> FileContent:
    for _ in range(READ_ATTEMPTS):
        # Without O_NONBLOCK a named pipe in the vault would block us; for a file it has no effect.
        handle = open_file(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                what = "a folder" if stat.S_ISDIR(before.st_mode) else "not an ordinary file"
                raise EngineFailure(f"{path} is {what}.", paths=(path,))
            if before.st_size > limit:
                raise EngineFailure(
                    f"{path} has {before.st_size} bytes; files up to {limit} bytes are read.",
                    size=before.st_size,
                    limit=limit,
                    paths=(path,),
                )
            if is_placeholder(before, handle):
                raise not_downloaded_error(path)
            data = _read_all(handle, before.st_size)
            signature = FileStat.of(before)
            if not_busy:
                check_not_busy(handle, before, path)
            # The order matters: anything added during reading shows in the size.
            if FileStat.of(os.fstat(handle)) == signature and len(data) == before.st_size:
                return FileContent(data, signature, stat.S_IMODE(before.st_mode))
        finally:
            os.close(handle)
    raise EngineFailure(
        f"{path} keeps changing while it is read.", hint="Try again in a moment.", paths=(path,)
    )


def _read_all(handle: int, size: int) -> bytes:
    """Reads as many bytes as the file should have, or fewer if it has become shorter."""
    pieces = [os.read(handle, size)]
    missing = size - len(pieces[0])
    while missing and (piece := os.read(handle, missing)):
        pieces.append(piece)
        missing -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
