"""Which files of a vault are links to hidden ones.

A link inside the vault gives a hidden note a second name, so a caller with a scope must not find that name
either. The index follows links and does not know which files are links.

Links are followed one by one, up to the first name that the caller may not see. Looking at a hidden target
would take a moment longer, or fail differently, if it exists. So each name to which a link leads is judged
before anything is looked up there, and a link through a hidden place counts as hidden, wherever it ends.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Final

from msgspec import Struct

from vaultbridge.errors import VaultbridgeError
from vaultbridge.system import is_racy
from vaultbridge.vault.beneath import real_path
from vaultbridge.vault.paths import Root, VaultPath, Visible, normalize_name
from vaultbridge.vault.read_cache import StrictFileStat, is_local_filesystem

LINKS_FOLLOWED: Final = 40
"""The most links on the way to one file, as in Linux (MAXSYMLINKS)."""

_LONG_PATH: Final = "\\\\?\\"
"""Windows writes the target of a link with this before it."""


def leads_to_hidden(root: Root, path: str, shows: Visible, *, if_unknown: bool = False) -> bool:
    """Whether a path, whose own name is visible, leads through a link to something hidden. A path that leads
    out of the vault, or to nothing, does not. `shows` judges paths of the vault by their names. The answer is
    `if_unknown` when the disk does not say what is there."""
    top = str(root.folder)
    here = top
    waiting = path.split("/")[::-1]
    links = 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            here = os.path.dirname(here)  # noqa: PTH120 - text
            continue
        place = f"{here.rstrip(os.sep)}{os.sep}{part}"
        if ".." in waiting and _is_hidden(place, top, shows):
            return True
        try:
            is_link = stat.S_ISLNK(os.lstat(place).st_mode)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            stored = root.find_stored_name(here, part) if root.contains(here) else None
            if stored is None or stored == part:
                return False
            waiting.append(stored)
            continue
        except OSError:
            return if_unknown
        if not is_link:
            here = place
            continue
        links += 1
        try:
            target = os.readlink(place).removeprefix(_LONG_PATH)  # noqa: PTH115 - text
        except OSError:
            return True  # It was a link a moment ago; whatever it is now has not been judged.
        if links > LINKS_FOLLOWED:
            return True
        if os.path.isabs(target):  # noqa: PTH117 - text
            here = os.path.splitdrive(target)[0] + os.sep
            target = target[len(here) :]
        waiting += [piece for piece in target.replace(os.sep, "/").split("/") if piece not in ("", ".")][::-1]
        if _is_hidden(os.sep.join((here.rstrip(os.sep), *waiting[::-1])), top, shows):  # noqa: PTH118 - text
            return True
    # Windows has other kinds of links too.
    return os.name == "nt" and _is_hidden(real_path(here), top, shows)


def _is_hidden(place: str, top: str, shows: Visible) -> bool:
    """Whether a place is in the vault and hidden there."""
    place = os.path.normpath(place)
    if not place.startswith(top + os.sep):
        return False
    return not shows(place[len(top) + 1 :].replace(os.sep, "/"))


class _Folder(Struct, frozen=True, gc=False):
    stat: StrictFileStat
    links: tuple[tuple[str, str], ...]
    """The links in it: the stored name of each, and the name in its vault path."""


class LinkFinder:
    """Finds the links to hidden files in one vault. A folder is listed again only if it has changed, so that
    a query after an edit does not cost a stat of every file. What a link leads to may change while its folder
    does not, so that is always looked up.

    On a network disk, which may report old times for a folder, every folder is listed each time."""

    def __init__(self, root: Root, *, clock: Callable[[], float] = time.time) -> None:
        self._root = root
        self._clock = clock
        self._folders: dict[str, _Folder] = {}

    @cached_property
    def _device(self) -> int | None:
        """The disk whose folders need not be listed each time."""
        return self._root.folder.stat().st_dev if is_local_filesystem(self._root.folder) else None

    def find(
        self, files: Mapping[str, Iterable[str]], visible: Visible, may_contain: Visible
    ) -> frozenset[str]:
        """Return which of these files, given by their folder (`""` is the vault itself), are links to a
        hidden one. Folders in which nothing is visible are not looked at: a link in one is hidden itself."""
        known, kept = self._folders, dict[str, _Folder]()
        found: set[str] = set()
        for folder in filter(may_contain, files):
            try:
                place, status = self._locate(folder)
                seen = StrictFileStat.of(status)
                entry = known.get(folder)
                if entry is None or entry.stat != seen:
                    entry = _Folder(seen, _list_links(place))
            except FileNotFoundError:
                continue
            except (OSError, VaultbridgeError):
                # Its files may still be in the index.
                found.update(path for path in files[folder] if self._may_lead_to_hidden(path, visible))
                continue
            if status.st_dev == self._device and not self._may_change_unseen(status):
                kept[folder] = entry
            prefix = f"{folder}/" if folder else ""
            found.update(
                prefix + shown
                for name, shown in entry.links
                if visible(prefix + shown) and self._may_lead_to_hidden(prefix + name, visible)
            )
        self._folders = kept
        return frozenset(found)

    def _locate(self, folder: str) -> tuple[str, os.stat_result]:
        place = f"{self._root.folder}{os.sep}{folder}" if folder else str(self._root.folder)
        try:
            return place, os.stat(place)  # noqa: PTH116 - text
        except FileNotFoundError:
            # Stored in another spelling, unless it was just deleted.
            place = str(self._root.place(VaultPath(folder)))
            return place, os.stat(place)  # noqa: PTH116 - text

    def _may_lead_to_hidden(self, path: str, visible: Visible) -> bool:
        try:
            return leads_to_hidden(self._root, path, visible, if_unknown=True)
        except VaultbridgeError:
            return True

    def _may_change_unseen(self, status: os.stat_result) -> bool:
        return is_racy(max(status.st_mtime_ns, status.st_ctime_ns), int(self._clock() * 1e9))


def _list_links(place: str) -> tuple[tuple[str, str], ...]:
    with os.scandir(place) as listing:
        items = list(listing)
    links = [
        (item.name, shown) for item in items if item.is_symlink() and (shown := normalize_name(item.name))
    ]
    if all(name == shown for name, shown in links):
        return tuple(links)
    # Of names that differ only in their Unicode form, one is a file of the vault: see `walk`.
    first: dict[str | None, str] = {}
    for name in sorted(item.name for item in items):
        shown = normalize_name(name)
        if name == shown or shown not in first:
            first[shown] = name
    return tuple((name, shown) for name, shown in links if first[shown] == name)
