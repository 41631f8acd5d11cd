"""Follows the links of a vault one by one, and stops at the first name that a caller may not see.

A link gives its target a second name, so what a caller may see depends on the disk, not on the name alone.
Looking at a hidden target would take a moment longer, or fail differently, if it exists. So each name to
which a link leads is judged before anything is looked up there, and a link through a hidden place counts as
hidden, wherever it leads in the end.
"""

from __future__ import annotations

import os
import stat
from typing import Final

from vaultbridge.vault.beneath import real_path
from vaultbridge.vault.paths import Root, Visible

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
