"""Opening, naming and removing files at an exact place: no link on the way is ever followed.

A place here is an absolute path whose links were resolved once, by `paths.Root`, when it was checked. Between
that check and its use another program may exchange a file or a folder for a link. So nothing here trusts a
path twice: what is opened is proven to lie at that path, either by what the system says of the open
descriptor or by opening each component in turn without following links; and whatever is made, renamed or
removed is named relative to its folder's descriptor. Where a link took a place there is an error (`ELOOP` or
`ENOTDIR`), never another file.

Windows has no descriptor of a folder to open relative to; there the plain calls are used.
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

_PLAIN: Final = os.name == "nt"
_CLOSED: Final = getattr(os, "O_CLOEXEC", 0)
_NO_LINK: Final = getattr(os, "O_NOFOLLOW", 0)
_FOLDER: Final = getattr(os, "O_DIRECTORY", 0) | _NO_LINK | _CLOSED
_SEARCH: Final = _FOLDER | getattr(os, "O_PATH", os.O_RDONLY)
"""O_PATH, where there is one, wants no permission to list a folder, only to pass through it."""

_DESCRIPTORS: Final = "/proc/self/fd/"

RESOLVE_ATTEMPTS: Final = 20
"""How often a link that changes while it is followed is followed anew: somebody who changes it in a loop is
met in the wrong moment now and then, not twenty times."""

_NOREPLACE: Final = 1
_EXCHANGE: Final = 2
_UNSUPPORTED: Final = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)
"""A kernel without the call, a file system without the flag, a sandbox that forbids it."""


def real_path(place: Path | str) -> str:
    """The place with every link followed, as of now. Raises `EngineFailure` when links keep changing."""
    for _ in range(RESOLVE_ATTEMPTS):
        # A link that becomes a file between the library's look and its reading of the link raises.
        with contextlib.suppress(OSError):
            return os.path.realpath(place)
    raise EngineFailure("Links in the vault keep changing.", hint="Try again in a moment.", paths=())


def open_file(place: Path | str, flags: int) -> int:
    """A descriptor of the existing file at exactly this place. Raises `OSError`, for a link too."""
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
    """A descriptor of the folder at exactly this place; `flags` to list or sync it: `os.O_RDONLY`."""
    text = str(place)
    handle = os.open(text, flags | _FOLDER)
    if _is_at(handle, text):
        return handle
    os.close(handle)
    return _open_stepwise(text, flags)


def _is_at(handle: int, text: str) -> bool:
    """Whether the system says that an open descriptor lies at this path. A no is not certain: the name may be
    spelled otherwise on a file system that ignores case, or there is no /proc."""
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
    """A place's folder, open, and its name there; on Windows no folder, and the whole path."""
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
def _parents(one: Path, other: Path) -> Iterator[tuple[int | None, str, int | None, str]]:
    """Both places' folders and names. Most often that is one folder, which is opened once."""
    with _parent(one) as (here, name):
        if one.parent == other.parent and not _PLAIN:
            yield here, name, here, other.name
        else:
            with _parent(other) as (there, new):
                yield here, name, there, new


def create_file(place: Path, mode: int) -> int:
    """A new file, open for writing. Raises `FileExistsError`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | _CLOSED
    with _parent(place) as (folder, name):
        return os.open(name, flags | _NO_LINK, mode, dir_fd=folder)


def status(place: Path | str) -> os.stat_result:
    """Of what has this name: of a link itself, not of what it leads to."""
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
    """With those above it; nothing happens when it is there."""
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
            # A link to a folder is no folder.
            os.close(open_folder(place))


def remove_folder(place: Path) -> None:
    """One that is empty."""
    with _parent(place) as (folder, name):
        os.rmdir(name, dir_fd=folder)


def link(source: Path, target: Path) -> None:
    """A second name for a file. Raises `FileExistsError`."""
    with _parents(source, target) as (here, name, there, new):
        os.link(name, new, src_dir_fd=here, dst_dir_fd=there, follow_symlinks=False)


def rename_over(source: Path, target: Path) -> None:
    """Replaces what has the name."""
    with _parents(source, target) as (here, name, there, new):
        os.replace(name, new, src_dir_fd=here, dst_dir_fd=there)


def rename_new(source: Path, target: Path) -> None:
    """Raises `FileExistsError` when somebody has the name. Where the system has no such call, a look and a
    rename leave a gap in which a file made by somebody else would be replaced."""
    with _parents(source, target) as (here, name, there, new):
        if not _PLAIN and _renameat2(here, name, there, new, _NOREPLACE):
            return
        if _PLAIN:
            Path(name).rename(new)
            return
        with contextlib.suppress(FileNotFoundError):
            found = os.stat(new, dir_fd=there, follow_symlinks=False)
            if not os.path.samestat(found, os.stat(name, dir_fd=here, follow_symlinks=False)):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        os.rename(name, new, src_dir_fd=here, dst_dir_fd=there)


def exchange(one: Path, other: Path) -> bool:
    """Two files change places in one step, so that neither is ever without a name. False where the system or
    the file system cannot."""
    with _parents(one, other) as (here, name, there, new):
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
    """The C library's `renameat2`, None where there is none. Loaded on first need: reading never needs it."""
    if not _loaded:
        found = None
        if sys.platform.startswith("linux"):
            import ctypes

            found = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
            if found is not None:
                found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
        _loaded.append(found)
    return _loaded[0]
