"""The smallest operations of replacing a file atomically: stage the new one next to it, make it durable,
swap.

`transaction.py` decides their order, records them and undoes them. A place that is passed in comes from
`VaultFolder` and has no link in it; a link that appears in it later is not followed. A known limitation: a
replaced file is a new file to the system, so a hard link to the old one keeps the old content.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

from vaultbridge.errors import EngineFailure, InvalidPath, PermissionDenied, VaultbridgeError
from vaultbridge.system import sync_file
from vaultbridge.vault import no_follow
from vaultbridge.vault.paths import VaultFolder
from vaultbridge.vault.walk import TEMPORARY_PREFIX, TEMPORARY_SUFFIX

LEFTOVER_SECONDS: Final = 3600.0
"""How old a temporary file must be before we assume that a dead writer left it and that no journal has a
record of it: far longer than any write takes, even on another machine that shares the folder."""

CONFLICT_NAMES: Final = 1000
"""How many names are tried for a conflict copy: even two copies in one second are very unlikely."""

TOGETHER: Final = 8
"""How many files are synced or removed at a time, so that the file system commits them together. Measured on
ext4: syncing 250 new files takes 40 to 90 ms in this way, and 130 to 300 one after the other."""

_Item = TypeVar("_Item")
_Done = TypeVar("_Done")

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) if hasattr(errno, "EDQUOT") else (errno.ENOSPC,)
_FORBIDDEN: Final = (errno.EACCES, errno.EPERM)


def temporary_name() -> str:
    """Return a name that no note can have, that the walk never lists as a file, and that no other program
    chooses."""
    return f"{TEMPORARY_PREFIX}{os.urandom(8).hex()}{TEMPORARY_SUFFIX}"


def stage(temporary: Path, data: bytes, *, like: Path | None, mode: int | None = None) -> int:
    """Writes `data` durably to a new file and returns its inode. The file gets the mode, owner and extended
    attributes of `like` if given (owner and attributes as far as the system allows), else `mode`, else the
    user's default."""
    return make_durable(start_staging(temporary, data, like=like, mode=mode))


def start_staging(temporary: Path | str, data: bytes, *, like: Path | None, mode: int | None) -> int:
    """The first half of `stage`: writes the new file and returns it open, for `make_durable`. When there are
    many files, all are started before the first is made durable, so that the disk writes them together."""
    private = like is not None or mode is not None
    handle = no_follow.create_file(temporary, 0o600 if private else 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        if like is not None:
            _keep_attributes(handle, like)
        elif mode is not None and hasattr(os, "fchmod"):
            os.fchmod(handle, mode)
        if sys.platform == "linux":
            # As a side effect, Linux starts to write the file to the disk without waiting for it.
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    except BaseException:
        os.close(handle)
        with contextlib.suppress(OSError):
            no_follow.remove(temporary)
        raise
    return handle


def make_durable(handle: int) -> int:
    """The second half of `stage`: syncs and closes the file, and returns its inode."""
    try:
        sync_file(handle)
        return os.fstat(handle).st_ino
    finally:
        os.close(handle)


def do_together(work: Callable[[_Item], _Done], items: Sequence[_Item]) -> Iterator[_Done]:
    """Calls `work`, which waits for the disk, with each item, several at a time. When all are done, yields
    what each returned, in order, or raises what it raised."""
    waiting = deque(enumerate(items))
    returned: dict[int, _Done] = {}
    raised: dict[int, BaseException] = {}

    def run() -> None:
        with contextlib.suppress(IndexError):
            while True:
                at, item = waiting.popleft()
                try:
                    returned[at] = work(item)
                except BaseException as error:  # noqa: BLE001 - raised in the thread that waits
                    raised[at] = error

    helpers = [threading.Thread(target=run, daemon=True) for _ in range(min(len(items), TOGETHER) - 1)]
    started: list[threading.Thread] = []
    # If no more threads can be started, this one does all the work.
    with contextlib.suppress(RuntimeError):
        for helper in helpers:
            helper.start()
            started.append(helper)
    run()
    for helper in started:
        helper.join()
    for at in range(len(items)):
        if at in raised:
            raise raised[at]
        yield returned[at]


_ACCESS_AND_ATTRIBUTES: Final = 1 << 0 | 1 << 2
"""COPYFILE_ACL and COPYFILE_XATTR of macOS."""


def _keep_attributes(handle: int, like: Path) -> None:
    model = no_follow.open_file(like, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        status = os.fstat(model)
        if hasattr(os, "fchown"):
            mine = os.fstat(handle)
            if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
                with contextlib.suppress(OSError):
                    os.fchown(handle, status.st_uid, status.st_gid)
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                for name in os.listxattr(model):
                    with contextlib.suppress(OSError):
                        os.setxattr(handle, name, os.getxattr(model, name))
        elif sys.platform == "darwin":
            # Python has no functions for these there: tags of the Finder, and access lists.
            import ctypes

            ctypes.CDLL(None).fcopyfile(model, handle, None, _ACCESS_AND_ATTRIBUTES)
        if hasattr(os, "fchmod"):
            os.fchmod(handle, stat.S_IMODE(status.st_mode))
    finally:
        os.close(model)


def publish_new(temporary: Path | str, place: Path | str) -> None:
    """Gives a staged file its name. Raises `FileExistsError` when the name has been taken in the meantime: a
    hard link, unlike a rename, never replaces a file."""
    if os.name == "nt":
        Path(temporary).rename(place)
        return
    try:
        no_follow.link(temporary, place)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
            raise
        # On a file system without hard links, a small gap remains between the check and the rename.
        no_follow.rename_new(temporary, place)
        return
    no_follow.remove(temporary)


def publish_over(temporary: Path, place: Path) -> None:
    """Replaces the file at `place` with a staged one; the old file is gone then."""
    no_follow.rename_over(temporary, place)


def swap(temporary: Path | str, place: Path | str) -> bool:
    """Exchanges a staged file with the one at `place`, which is at `temporary` then, so that it can be
    checked once more and put back. Returns False when the old file is gone instead, on a file system that can
    neither exchange names nor make hard links. On one that cannot exchange names, a file that another program
    creates in between is overwritten."""
    if no_follow.exchange(temporary, place):
        return True
    aside = Path(place).with_name(temporary_name())
    try:
        no_follow.link(place, aside)
    except OSError:
        no_follow.rename_over(temporary, place)
        return False
    no_follow.rename_over(temporary, place)
    no_follow.rename_over(aside, temporary)
    return True


def set_aside(temporary: Path, place: Path) -> Path:
    """Saves text that has lost its name, and that nobody asked to delete, as a conflict copy next to the
    note."""
    when = time.strftime("%Y-%m-%d %H%M%S")
    for number in range(1, CONFLICT_NAMES):
        more = f" {number}" if number > 1 else ""
        copy = place.with_name(f"{place.stem} (conflicted copy {when}){more}{place.suffix}")
        with contextlib.suppress(FileExistsError):
            no_follow.rename_new(temporary, copy)
            return copy
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def check_writable(place: Path, path: str, mode: int | None = None) -> None:
    """Raises `PermissionDenied` for a file that is read-only. A swap would still succeed, because the system
    asks only about the folder, but the owner made the file read-only on purpose. `mode` is the file's mode if
    it was just read."""
    if mode is None:
        mode = no_follow.status(place).st_mode
    if not mode & 0o222 or not os.access(place, os.W_OK):
        raise PermissionDenied(f"{path} is read-only.", hint="Nothing was changed.", paths=(path,))


def remove_leftover(root: VaultFolder, shown: str, *, now: float | None = None) -> bool:
    """Removes a temporary file that the walk reported as a leftover, if it is so old that no live writer can
    own it. Returns whether it was removed."""
    folder, _, name = shown.rpartition("/")
    if not (name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)):
        return False
    place = root.folder.joinpath(*folder.split("/"), name) if folder else root.folder / name
    try:
        status = no_follow.status(place)
        # A file that a swap has just displaced keeps the time of its last save, but its status is new.
        changed = max(status.st_mtime, status.st_ctime)
        if stat.S_ISREG(status.st_mode) and (now or time.time()) - changed > LEFTOVER_SECONDS:
            no_follow.remove(place)
            return True
    except OSError:
        return False
    return False


def to_vault_error(error: OSError, path: str) -> VaultbridgeError:
    """The error of the file system as an error for the caller."""
    if error.errno in _FORBIDDEN:
        return PermissionDenied(
            f"{path} may not be changed by this user.", hint="Nothing was changed.", paths=(path,)
        )
    if error.errno == errno.EROFS:
        return PermissionDenied(f"{path} is on a read-only disk.", hint="Nothing was changed.", paths=(path,))
    if error.errno in _FULL:
        return EngineFailure(
            f"{path} could not be written: the disk is full.", hint="Nothing was changed.", paths=(path,)
        )
    if error.errno == errno.ENAMETOOLONG:
        return InvalidPath(
            f"The name of {path} is too long for this file system.", argument="path", paths=(path,)
        )
    if error.errno == errno.EXDEV:
        return EngineFailure(
            f"{path} could not be moved: the new place is on another disk or is mounted separately.",
            hint="Nothing was changed. Such files can only be copied and deleted, with another program.",
            paths=(path,),
        )
    why = os.strerror(error.errno) if error.errno else type(error).__name__
    return EngineFailure(f"{path} could not be changed: {why}.", hint="Nothing was changed.", paths=(path,))
