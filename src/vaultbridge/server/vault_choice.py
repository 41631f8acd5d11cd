"""Which vaults a server opens, when a person may have said so in four places.

In this order, the first that names any decides: the command line, `VAULTBRIDGE_VAULT` and the configuration
file (which `server.config.model` has merged already), the vaults that Obsidian knows. Of the last, those that
are open in the app; when none is, the one opened last: somebody who names none means the one they work in.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final

from vaultbridge.errors import VaultNotFound

VAULTS: Final = 32
"""The most vaults of one server: each costs a watch and an index, and a person has a handful."""

UNNAMED: Final = "vault"
"""What the vault is called as long as none could be chosen."""


def named(texts: Sequence[str]) -> dict[str, str]:
    """Names by which callers know the vaults, each with the text that finds it. A vault is called like its
    folder; of two with the same name the second gets a number."""
    found: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        name = _name(text)
        free, number = name, 2
        while free in found:
            free, number = f"{name} {number}", number + 1
        found[free] = text
        if len(found) == VAULTS:
            break
    return found


def _name(text: str) -> str:
    # Resolved as the vault's own name will be: a symlink or `.` is called like the folder it leads to.
    place = os.path.expanduser(text)  # noqa: PTH111 - this stands before the first answer; pathlib costs
    real = os.path.realpath(place) if os.path.isdir(place) else place  # noqa: PTH112
    return unicodedata.normalize("NFC", os.path.basename(real.rstrip("/\\")) or text)  # noqa: PTH119


def known_to_obsidian(environ: Mapping[str, str]) -> list[str]:
    """The folders to open when nobody named a vault. Raises VaultNotFound when there is none."""
    from vaultbridge.vault.obsidian import list_known_vaults

    there = [vault for vault in list_known_vaults(environ) if vault.folder.is_dir()]
    chosen = [vault for vault in there if vault.open] or there[:1]
    if not chosen:
        raise VaultNotFound(
            "No vault was named, and Obsidian knows none on this machine.",
            hint="Start with the vault's folder: vaultbridge stdio FOLDER, or set VAULTBRIDGE_VAULT.",
        )
    return [str(vault.folder) for vault in chosen]
