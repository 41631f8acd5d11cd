"""Recognizes what cloud services leave in a vault: files that are not downloaded yet, and conflict copies.

A placeholder must never be read: reading starts a download or returns zeros. A conflict copy is an ordinary
note; it is recognized so that the report on the vault's health can show it. Nothing here changes a file.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Container
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from vaultbridge.links.resolve import file_name
from vaultbridge.vault.no_follow import open_file
from vaultbridge.vault.paths import VaultPath, folder_of, join

_RECALL_ATTRIBUTES: Final = 0x1000 | 0x40000 | 0x400000
"""Windows: OFFLINE, RECALL_ON_OPEN, RECALL_ON_DATA_ACCESS (OneDrive, Dropbox, Google Drive, iCloud)."""

_SF_DATALESS: Final = 0x40000000
"""macOS: the content is at the file provider (iCloud Drive, Dropbox, OneDrive)."""

_ICLOUD: Final = ".icloud"


def icloud_original_name(stored: str) -> str | None:
    """The name of the file that iCloud's placeholder `.Name.md.icloud` stands for; None for any other
    name."""
    if stored.startswith(".") and stored.endswith(_ICLOUD) and len(stored) > len(_ICLOUD) + 1:
        return stored[1 : -len(_ICLOUD)]
    return None


def icloud_placeholder(place: Path) -> Path:
    """The place of iCloud's placeholder while the file itself is not there."""
    return place.with_name(f".{place.name}{_ICLOUD}")


def is_placeholder(status: os.stat_result, place: str | int) -> bool:
    """Whether the content is not on this machine. Costs nothing for an ordinary file. `place` is the file's
    place, with no link in it, or an open descriptor.

    A file without blocks is examined: some file systems store small files in their metadata and report no
    blocks, so only a file that is one single hole counts.
    """
    if getattr(status, "st_file_attributes", 0) & _RECALL_ATTRIBUTES:
        return True
    if getattr(status, "st_flags", 0) & _SF_DATALESS:
        return True
    if sys.platform == "win32":
        return False  # Windows reports no blocks; the attributes above say everything
    return status.st_size > 0 and status.st_blocks == 0 and _is_one_hole(place)


def _is_one_hole(place: str | int) -> bool:
    if sys.platform == "win32" or not hasattr(os, "SEEK_DATA"):
        return False
    try:
        handle = os.dup(place) if isinstance(place, int) else open_file(place, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        os.lseek(handle, 0, os.SEEK_DATA)
        os.lseek(handle, 0, os.SEEK_SET)
    except OSError as error:
        return error.errno == errno.ENXIO
    else:
        return False
    finally:
        os.close(handle)


ConflictMaker = Literal["dropbox", "obsidian-sync", "syncthing", "nextcloud", "onedrive", "icloud"]


class Conflict(Struct, frozen=True):
    """A conflict copy of `original`. It is not `certain` if only the name of the file next to it suggests
    it."""

    original: VaultPath
    maker: ConflictMaker
    certain: bool


_SIGNED: Final[tuple[tuple[ConflictMaker, re.Pattern[str]], ...]] = (
    ("syncthing", re.compile(r"(.+)\.sync-conflict-\d{8}-\d{6}-[A-Z0-9]{7}", re.IGNORECASE)),
    ("obsidian-sync", re.compile(r"(.+?) \(Conflicted copy .{1,80}? \d{12,14}\)")),
    ("nextcloud", re.compile(r"(.+?) \(conflicted copy \d{4}-\d\d-\d\d \d{6}\)", re.IGNORECASE)),
    ("nextcloud", re.compile(r"(.+?)_conflict-\d{8}-\d{6}", re.IGNORECASE)),
    (
        "dropbox",
        re.compile(r"(.+?) \((?:.{0,80} )?conflicted copy.{0,40}\)", re.IGNORECASE),
    ),
    ("dropbox", re.compile(r"(.+?) \(.{0,80}case conflict.{0,20}\)", re.IGNORECASE)),
)
_MACHINE: Final = re.compile(
    r"(.+?)-((?:DESKTOP|LAPTOP|WIN|MININT)-[A-Z0-9]{4,11}"
    r"|[\w-]{1,40}(?:-PC|-Laptop|-Desktop|MacBook(?:-Pro|-Air)?|iMac|iPhone|iPad))(?:-\d+)?",
    re.IGNORECASE,
)
_NUMBERED: Final = re.compile(r"(.+) (\d{1,3})")


def detect_conflict(path: VaultPath, siblings: Container[str]) -> Conflict | None:
    """Finds out whether `path` is a conflict copy, and of what. `siblings` has the vault's paths, or at least
    those of its folder."""
    folder, name = folder_of(path), file_name(path)
    stem, dot, extension = name.rpartition(".")
    if not dot:
        stem, extension = name, ""
    if "conflict" in stem.lower():
        for maker, pattern in _SIGNED:
            found = pattern.fullmatch(stem)
            if found:
                return Conflict(join(folder, found[1] + dot + extension), maker, certain=True)
    original = _find_beside(_MACHINE.fullmatch(stem), folder, dot + extension, siblings)
    if original is not None:
        return Conflict(original, "onedrive", certain=False)
    numbered = _NUMBERED.fullmatch(stem)
    if numbered and int(numbered[2]) >= 2:
        original = _find_beside(numbered, folder, dot + extension, siblings)
        # iCloud counts from 2. Obsidian's own "Untitled 1", "Untitled 2" count from 1 and are not conflicts.
        if original is not None and join(folder, f"{numbered[1]} 1{dot}{extension}") not in siblings:
            return Conflict(original, "icloud", certain=False)
    return None


def _find_beside(
    found: re.Match[str] | None, folder: VaultPath, ending: str, siblings: Container[str]
) -> VaultPath | None:
    if found is None:
        return None
    candidate = join(folder, found[1] + ending)
    return candidate if candidate in siblings else None
