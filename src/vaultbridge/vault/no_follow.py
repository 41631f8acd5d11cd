"""Opens, creates, renames and removes files at an exact place, without ever following a link.

A place is an absolute path whose links `paths.VaultFolder` resolved when it checked the path. Between that
check and its use, another program may replace a file or a folder with a link. So nothing here trusts a path
twice: an opened file is proven to be at its path, either by what the system reports about the open descriptor
or by opening each component in turn without following links. Files are created, renamed and removed relative
to the descriptor of their folder. If a link has taken a place, there is an error (`ELOOP` or `ENOTDIR`),
never another file.

Windows has no folder descriptors to open files relative to; the plain calls are used there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from vaultbridge.errors import EngineFailure
from vaultbridge.system import sync_file

_PLAIN: Final = os.name == "nt"
_CLOSED: Final = getattr(os, "O_CLOEXEC", 0)
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_FOLDER: Final = getattr(os, "O_DIRECTORY", 0) | _NO_LINK | _CLOSED
_SEARCH: Final = _FOLDER | getattr(os, "O_PATH", os.O_RDONLY)
"""O_PATH, where it exists, needs no permission to list a folder, only to pass through it."""

_DESCRIPTORS: Final = "/proc/self/fd/"

RESOLVE_ATTEMPTS: Final = 20
"""How often we try to follow a link that changes meanwhile. A program that changes it in a loop interferes
now and then, but not twenty times in a row."""

_NOREPLACE: Final = 1
_EXCHANGE: Final = 2
_UNSUPPORTED: Final = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)
"""A kernel without the call, a file system without the flag, or a sandbox that forbids it."""


def real_path(place: Path | str) -> str:
    """The place with every link followed. Raises `EngineFailure` when links keep changing."""
    for _ in range(RESOLVE_ATTEMPTS):
        # The library raises when a link becomes a file between its check and its reading of the link.
        with contextlib.suppress(OSError):
            return os.path.realpath(place)
    raise EngineFailure("Links in the vault keep changing.", hint="Try again in a moment.", paths=())


def open_file(place: Path | str, flags: int) -> int:
    """Opens the existing file at exactly this place. Raises `OSError`, also for a link."""
    text = str(place)
    if _PLAIN:
        return os.open(text, flags)
    handle = os.open(text, flags | _NO_LINK | _CLOSED)
    if _is_at(handle, text):
        return handle
    os.close(handle)
    folder, _, name = text.rpartition("/")
    above = _open_stepwise(folder or "/", _SEARCH)
    try:
        return os.open(name, flags | _NO_LINK | _CLOSED, dir_fd=above)
    finally:
        os.close(above)


def open_folder(place: Path | str, flags: int = _SEARCH) -> int:
    """Opens the folder at exactly this place. Pass `os.O_RDONLY` as `flags` to list or sync it."""
    text = str(place)
    handle = os.open(text, flags | _FOLDER)
    if _is_at(handle, text):
        return handle
    os.close(handle)
    return _open_stepwise(text, flags)


def _is_at(handle: int, text: str) -> bool:
    """Whether the system says that an open descriptor is at this path. False is not certain: a file system
    that ignores case may spell the name differently, or there is no /proc."""
    try:
        return os.readlink(f"{_DESCRIPTORS}{handle}") == text  # noqa: PTH115 - in the way of every read
    except OSError:
        return False


def _open_stepwise(text: str, flags: int) -> int:
    parts = [part for part in text.split("/") if part]
    if ".." in parts:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    handle = os.open("/", _SEARCH if parts else flags | _FOLDER)
    for at, part in enumerate(parts, 1):
        try:
            nearer = os.open(part, _SEARCH if at < len(parts) else flags | _FOLDER, dir_fd=handle)
        finally:
            os.close(handle)
        handle = nearer
    return handle


@contextmanager
def _parent(place: Path | str) -> Iterator[tuple[int | None, str]]:
    """The open folder of a place, and its name there; on Windows no folder and the whole path."""
    if _PLAIN:
        yield None, str(place)
        return
    folder, _, name = str(place).rpartition("/")
    handle = open_folder(folder or "/")
    try:
        yield handle, name
    finally:
        os.close(handle)


@contextmanager
def _parents(source: Path | str, target: Path | str) -> Iterator[tuple[int | None, str, int | None, str]]:
    """The folders and names of both places. Usually they share one folder, which is opened once."""
    folder, _, new = str(target).rpartition("/")
    with _parent(source) as (here, name):
        if not _PLAIN and str(source) == f"{folder}/{name}":
            yield here, name, here, new
        else:
            with _parent(target) as (there, new):
                yield here, name, there, new


def create_file(place: Path | str, mode: int) -> int:
    """Creates a file and opens it for writing. Raises `FileExistsError`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | _CLOSED
    with _parent(place) as (folder, name):
        return os.open(name, flags | _NO_LINK, mode, dir_fd=folder)


def status(place: Path | str) -> os.stat_result:
    """The status of what has this name: of a link itself, not of its target."""
    with _parent(place) as (folder, name):
        return os.stat(name, dir_fd=folder, follow_symlinks=False)


def exists(place: Path | str) -> bool:
    try:
        status(place)
    except OSError:
        return False
    return True


def remove(place: Path | str, *, missing_ok: bool = False) -> None:
    with contextlib.suppress(*(FileNotFoundError,) if missing_ok else ()), _parent(place) as (folder, name):
        os.unlink(name, dir_fd=folder)


def make_folder(place: Path, mode: int = 0o777) -> None:
    """Makes a folder and those above it, durably: after a power cut, what was moved into a folder is gone if
    the folder's own name is. Does nothing when it exists."""
    try:
        with _parent(place) as (folder, name):
            os.mkdir(name, mode, dir_fd=folder)
    except FileNotFoundError:
        if place.parent == place:
            raise
        make_folder(place.parent, mode)
        make_folder(place, mode)
    except FileExistsError:
        if not _PLAIN:
            # A link to a folder does not count as a folder.
            os.close(open_folder(place))
    else:
        sync_folder(place.parent)


def sync_folder(folder: Path | str) -> None:
    """Makes the names in a folder durable, where the system can do that."""
    if os.name == "nt":
        return
    try:
        handle = open_folder(folder, os.O_RDONLY)
    except FileNotFoundError:
        return
    try:
        sync_file(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


def remove_folder(place: Path) -> None:
    """Removes an empty folder."""
    with _parent(place) as (folder, name):
        os.rmdir(name, dir_fd=folder)


def link(source: Path | str, target: Path | str) -> None:
    """Gives a file a second name. Raises `FileExistsError`."""
    with _parents(source, target) as (here, name, there, new):
        os.link(name, new, src_dir_fd=here, dst_dir_fd=there, follow_symlinks=False)


def rename_over(source: Path | str, target: Path | str) -> None:
    """Renames a file, replacing what has the new name."""
    with _parents(source, target) as (here, name, there, new):
        os.replace(name, new, src_dir_fd=here, dst_dir_fd=there)


def rename_new(source: Path | str, target: Path | str) -> None:
    """Renames a file. Raises `FileExistsError` when the new name is taken. Where the system has no such call,
    there is a gap between check and rename in which a new file of another program would be replaced."""
    with _parents(source, target) as (here, name, there, new):
        try:
            if not _PLAIN and _renameat2(here, name, there, new, _NOREPLACE):
                return
        except FileExistsError:
            if not _is_respelling(Path(source), Path(target)):
                raise
        if _PLAIN:
            Path(name).rename(new)
            return
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(new, dir_fd=there, follow_symlinks=False)
            if not os.path.samestat(found, os.stat(name, dir_fd=here, follow_symlinks=False)):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        os.rename(name, new, src_dir_fd=here, dst_dir_fd=there)


def _is_respelling(source: Path, target: Path) -> bool:
    """Whether both names find one file only because the disk ignores case or the Unicode form. Two hard links
    are one file as well, but the folder lists both."""
    return (
        source.parent == target.parent
        and os.path.samestat(status(source), status(target))
        and not any(item.name == target.name for item in target.parent.iterdir())
    )


def exchange(first: Path | str, second: Path | str) -> bool:
    """Exchanges two files in one step, so that neither is ever without a name. Returns False where the system
    or the file system cannot do that."""
    with _parents(first, second) as (here, name, there, new):
        return not _PLAIN and _renameat2(here, name, there, new, _EXCHANGE)


def _renameat2(here: int | None, name: str, there: int | None, new: str, flag: int) -> bool:
    call = _call()
    if call is None:
        return False
    import ctypes

    if call(here, os.fsencode(name), there, os.fsencode(new), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number))


_loaded: list[Any] = []


def _call() -> Any:
    """The C library's `renameat2`, or None. Loaded on first use: reading never needs it."""
    if not _loaded:
        found = None
        if sys.platform.startswith("linux"):
            import ctypes

            found = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
            if found is not None:
                found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
        _loaded.append(found)
    return _loaded[0]
