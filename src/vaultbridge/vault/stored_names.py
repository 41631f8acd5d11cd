"""How a name is stored in a folder, when it was asked for in another spelling.

macOS and Windows ignore case, macOS also the Unicode form: a file that is found may have another name than
the one that was asked for. There the system is asked for the stored name. Where it does not say, and where
the disk tells spellings apart and the app does not, the folder is listed, and the list is used again while
the folder has not changed: making one note asks seven times.
"""

from __future__ import annotations

import os
import sys
import time
import unicodedata
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from vaultbridge.links.resolve import name_key
from vaultbridge.system import is_racy

LISTED_NAMES: Final = 100_000
"""How many names of folders are kept, about 10 MB. A vault with more is listed again from time to time."""

ANSWERS: Final = 1000
"""How many answers of `find_other_spelling` are kept for one folder: a batch has fewer operations."""

TICK_NS: Final = 10_000_000
"""The longest step of a system's clock of files (Linux at 100 Hz), and the unit in which exFAT counts."""

_SYSTEM_PATH_BYTES: Final = 1024
"""macOS writes a path of at most this many bytes (PATH_MAX)."""


class _Listing(Struct):
    stamp: tuple[int, int, int, int]
    """When the folder was changed, and when its time was set: rsync and tar give it its old time again after
    they made files in it. And which folder it is."""
    names: frozenset[str]
    by_key: dict[str, list[str]] | None = None
    """The names by the form in which they are compared, made when a name is not among them as it is."""
    found: dict[str, str | None] = field(default_factory=dict)
    """Answers of `find_other_spelling`: a change asks for its new name several times."""


class StoredNames:
    """The stored names of one vault."""

    def __init__(self) -> None:
        self._listings: dict[str, _Listing] = {}
        self._count = 0

    def is_stored_as(self, folder: str, path: str) -> bool:
        """Whether something that exists below a folder, with no link on the way, is stored in exactly this
        spelling, all folders on the way too."""
        stored = _ask_system(f"{folder}{os.sep}{path}")
        if stored is not None:
            return stored.replace(os.sep, "/").endswith("/" + path)
        for part in path.split("/"):
            if part not in self._list(folder).names:
                return False
            folder = f"{folder}{os.sep}{part}"
        return True

    def find(self, folder: Path, wanted: str) -> str | None:
        """The stored name of a file or folder, asked for in any spelling; None if there is none."""
        stored = _ask_system(str(folder / wanted))
        if stored is not None:
            name = Path(stored).name
            # A link leads to another name, and so may a file with several names.
            if name_key(name) == name_key(wanted):
                return name
        listing = self._list(str(folder))
        if wanted in listing.names:
            return wanted
        if listing.by_key is None:
            by_key: dict[str, list[str]] = {}
            for name in sorted(listing.names):
                by_key.setdefault(name_key(name), []).append(name)
            listing.by_key = by_key
        return choose_spelling(listing.by_key.get(name_key(wanted), []), wanted)

    def find_other_spelling(self, folder: str, wanted: str) -> str | None:
        """The name in a folder that is the wanted one in another Unicode form or, failing that, in another
        case. For a disk that tells them apart."""
        listing = self._list(folder)
        if wanted not in listing.found:
            key, plain, length = name_key(wanted), wanted.isascii(), len(wanted)
            same = [
                name
                for name in listing.names
                # Two names in ASCII that differ in length are not the same in any spelling.
                if (len(name) == length or not plain or not name.isascii()) and name_key(name) == key
            ]
            if len(listing.found) >= ANSWERS:
                listing.found.clear()
            listing.found[wanted] = choose_spelling(sorted(same), wanted)
        return listing.found[wanted]

    def _list(self, folder: str) -> _Listing:
        try:
            about = os.stat(folder)  # noqa: PTH116 - text
            stamp = about.st_mtime_ns, about.st_ctime_ns, about.st_dev, about.st_ino
            known = self._listings.get(folder)
            if known is not None and known.stamp == stamp:
                return known
            listing = _Listing(stamp, frozenset(os.listdir(folder)))  # noqa: PTH208 - names
        except OSError:
            return _Listing((0, 0, 0, 0), frozenset())
        now = time.time_ns()
        if not _is_racy(about.st_mtime_ns, now) and not _is_racy(about.st_ctime_ns, now):
            self._count += len(listing.names)
            if self._count > LISTED_NAMES:
                self._listings = {}
                self._count = len(listing.names)
            self._listings[folder] = listing
        return listing


def _is_racy(mtime_ns: int, now_ns: int) -> bool:
    """Whether a folder may have changed again without a new time. A file system whose times are finer than
    `TICK_NS` takes them from the system's clock, so that notes made one after the other need one listing
    each and not seven."""
    if mtime_ns % TICK_NS:
        return now_ns - mtime_ns <= 2 * TICK_NS
    return is_racy(mtime_ns, now_ns)


def ignores_case(folder: Path) -> bool | None:
    """Whether the disk ignores case in a folder; None if it has no name to try that with."""
    try:
        with os.scandir(folder) as listing:
            for item in listing:
                other = folder / item.name.swapcase()
                if other.name != item.name:
                    return other.lstat().st_ino == item.inode()
    except FileNotFoundError:
        return False
    except OSError:
        pass
    return None


def choose_spelling(names: list[str], wanted: str) -> str | None:
    """Which of several names that differ in spelling is meant; the first if none is the wanted one."""
    names = [name for name in names if not name.startswith(".")]
    same = (name for name in names if unicodedata.normalize("NFC", name) == wanted)
    return next(same, names[0] if names else None)


def _ask_system(place: str) -> str | None:
    """The path of an existing file or folder as it is stored; None where the system does not say. If it is a
    link, Windows gives the path of what it leads to."""
    if sys.platform == "darwin":
        import fcntl

        try:
            # Looks at the file, link or folder itself, without leave to read it and without waiting for it.
            handle = os.open(place, os.O_EVTONLY | os.O_SYMLINK | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        try:
            answer = fcntl.fcntl(handle, fcntl.F_GETPATH, bytes(_SYSTEM_PATH_BYTES))
            return os.fsdecode(answer.rstrip(b"\0"))
        except OSError:
            return None
        finally:
            os.close(handle)
    if sys.platform == "win32":
        try:
            return os.path.realpath(place, strict=True)
        except (OSError, ValueError):
            return None
    return None
