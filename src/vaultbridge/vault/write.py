"""One file replaced atomically: stage beside it, make it durable, look once more, swap.

The smallest acts only. Their order, their record and their undoing are `transaction.py`'s. A place given
here came from `Root`. Known and accepted: a replaced file is a new file to the system, so a hard link to
the old one keeps the old content.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from pathlib import Path
from typing import Final

from vaultbridge.errors import EngineFailure, InvalidPath, PermissionDenied, VaultbridgeError
from vaultbridge.vault.paths import Root
from vaultbridge.vault.walk import TEMPORARY_PREFIX, TEMPORARY_SUFFIX

LEFTOVER_SECONDS: Final = 3600.0
"""How old a temporary file must be before it counts as left by a dead writer that no journal remembers:
far longer than any write, also one of another machine on the same synchronised folder."""

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) if hasattr(errno, "EDQUOT") else (errno.ENOSPC,)
_FORBIDDEN: Final = (errno.EACCES, errno.EPERM)


def temporary_name() -> str:
    """A name that no note can have, that the walk never lists, and that nobody else chooses."""
    return f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}{TEMPORARY_SUFFIX}"


def stage(temporary: Path, data: bytes, *, like: Path | None, mode: int | None = None) -> None:
    """Writes `data` durably to a new file. It gets the mode, owner and extended attributes of `like` when
    there is one (owner and attributes as far as the system lets us), else `mode`, else the user's default."""
    private = like is not None or mode is not None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    handle = os.open(temporary, flags, 0o600 if private else 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        if like is not None:
            _keep_attributes(handle, like)
        elif mode is not None and hasattr(os, "fchmod"):
            os.fchmod(handle, mode)
        os.fsync(handle)
    except BaseException:
        os.close(handle)
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    os.close(handle)


def _keep_attributes(handle: int, like: Path) -> None:
    status = like.stat()
    if hasattr(os, "fchown"):
        mine = os.fstat(handle)
        if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
            with contextlib.suppress(OSError):
                os.fchown(handle, status.st_uid, status.st_gid)
    if hasattr(os, "listxattr"):
        with contextlib.suppress(OSError):
            for name in os.listxattr(like):
                with contextlib.suppress(OSError):
                    os.setxattr(handle, name, os.getxattr(like, name))
    if hasattr(os, "fchmod"):
        os.fchmod(handle, stat.S_IMODE(status.st_mode))


def publish_new(temporary: Path, place: Path) -> None:
    """Gives a staged file its name. Raises `FileExistsError` when somebody took the name meanwhile: a hard
    link, unlike a rename, never replaces."""
    if os.name == "nt":
        temporary.rename(place)
        return
    try:
        os.link(temporary, place, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ENOENT):
            raise
        # A file system without hard links: the check and the rename leave a small gap there.
        if os.path.lexists(place):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        temporary.replace(place)
        return
    temporary.unlink()


def publish_over(temporary: Path, place: Path) -> None:
    """Swaps a staged file for the one that is there. The caller has just looked at that one."""
    temporary.replace(place)


def sync_folder(folder: Path) -> None:
    """Makes names made, changed or removed in a folder durable, where the system has that notion."""
    if os.name == "nt":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


def check_writable(place: Path, path: str) -> None:
    """Raises `PermissionDenied` for a file that is read-only. A swap would succeed all the same, because
    only its folder counts for the system; but whoever made it read-only meant it."""
    status = place.stat()
    if not status.st_mode & 0o222 or not os.access(place, os.W_OK):
        raise PermissionDenied(f"{path} is read-only.", hint="Nothing was changed.")


def remove_leftover(root: Root, shown: str, *, now: float | None = None) -> bool:
    """Takes away a temporary file that the walk reported as a leftover, when it is old enough that no live
    writer can own it. True when it is gone."""
    folder, _, name = shown.rpartition("/")
    if not (name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)):
        return False
    place = root.folder.joinpath(*folder.split("/"), name) if folder else root.folder / name
    try:
        status = place.lstat()
        if stat.S_ISREG(status.st_mode) and (now or time.time()) - status.st_mtime > LEFTOVER_SECONDS:
            place.unlink()
            return True
    except OSError:
        return False
    return False


def as_vault_error(error: OSError, path: str) -> VaultbridgeError:
    """What the file system refused, in words for the caller."""
    if error.errno in _FORBIDDEN:
        return PermissionDenied(f"{path} may not be changed by this user.", hint="Nothing was changed.")
    if error.errno == errno.EROFS:
        return PermissionDenied(f"{path} lies on a disk that is read-only.", hint="Nothing was changed.")
    if error.errno in _FULL:
        return EngineFailure(f"{path} could not be written: the disk is full.", hint="Nothing was changed.")
    if error.errno == errno.ENAMETOOLONG:
        return InvalidPath(f"The name of {path} is too long for this file system.", argument="path")
    why = os.strerror(error.errno) if error.errno else type(error).__name__
    return EngineFailure(f"{path} could not be changed: {why}.", hint="Nothing was changed.")
