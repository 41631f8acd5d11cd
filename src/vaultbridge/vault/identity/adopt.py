"""Finds the folder of a vault that was moved, by the vault's identity.

A vault's folder of history, proposals and index is named after the vault's path. When the vault is renamed,
the next start would find no history there, and a change that a crash interrupted would stay half done. So a
path that has no folder yet is compared with the known vaults: the folder of one that is no longer at its own
path, and that is here now, is renamed to this path's. A copy gets a folder of its own, because the first
vault still is where it was.
"""

from __future__ import annotations

import logging
import os
from itertools import islice
from pathlib import Path
from typing import Final

from vaultbridge.errors import TimedOut
from vaultbridge.vault.identity.record import VaultRecord, load_record
from vaultbridge.vault.locking import WRITER_LOCK, WRITER_SECONDS, FileLock

KNOWN_VAULTS: Final = 1000
"""How many known vaults are compared: few people have ten, but tests and scripts open many."""

LEAST_SAMPLE: Final = 8
"""How many sampled files, all of them there, prove a vault that was copied to another disk. With fewer it may
be another one with files of the same names."""

_ADOPTING_LOCK: Final = "moving.lock"

log = logging.getLogger(__name__)


def adopt_moved(vault: Path, folder: Path) -> Path | None:
    """Renames the folder of the vault that was moved to `vault` to `folder`, and returns what it was named;
    None if there is no such vault, or more than one. Call it before `folder` is made. Raises OSError, and
    `TimedOut` while a writer uses the folder."""
    if folder.exists() or not folder.parent.is_dir() or find_moved(vault, folder.parent) is None:
        return None
    with FileLock(folder.parent / _ADOPTING_LOCK).hold(WRITER_SECONDS, what="The list of vaults"):
        # Another process may have been faster.
        moved = None if folder.exists() else find_moved(vault, folder.parent)
        if moved is None:
            return None
        writer = FileLock(moved / WRITER_LOCK)
        if not writer.try_acquire():
            raise TimedOut("The vault was moved while it is being changed.", hint="Try again in a moment.")
        try:
            if os.name == "nt":
                # Nothing in a folder may be open there when it is renamed.
                writer.release()
            moved.rename(folder)
        finally:
            writer.release()
    log.warning("The vault %s was moved; its history comes with it.", vault.name)
    return moved


def find_moved(vault: Path, base: Path) -> Path | None:
    """The folder in `base` of the one vault that was moved to this path."""
    same: list[Path] = []
    copied: list[Path] = []
    status = vault.stat()
    with os.scandir(base) as listing:
        names = [item.name for item in islice(listing, KNOWN_VAULTS)]
    for name in names:
        record = load_record(base / name)
        if record is None or not record.sample or _is_still_there(record, vault):
            continue
        if record.is_certainly(vault, status):
            same.append(base / name)
        elif len(record.sample) >= LEAST_SAMPLE and record.count_present(vault) == len(record.sample):
            copied.append(base / name)
    found = same or copied
    return found[0] if len(found) == 1 else None


def _is_still_there(record: VaultRecord, vault: Path) -> bool:
    """Whether a vault is where it was; also if that cannot be found out. A link that was left there and leads
    to `vault` is not the vault."""
    place = Path(record.vault)
    try:
        return place.resolve() != vault and record.is_at(place, place.stat())
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
