"""Decides which vaults to use.

A server uses those of the first source that names any: the command line, `VAULTBRIDGE_VAULT` and the
configuration file (which `server.config.model` has already merged), and then Obsidian's own list. From that
list it takes the vaults that are open in the app, or else the one opened last: a person who names none means
the one they work in.

A command at a terminal works on one vault, and may change it, so it never guesses between two: see
`choose_vault`.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final

from vaultbridge.errors import VaultNotFound
from vaultbridge.limits import VAULTS

UNNAMED: Final = "vault"
"""The name of the vault while none could be chosen."""


def name_vaults(texts: Sequence[str]) -> dict[str, str]:
    """Give each vault the name that callers use, mapped to the text that finds it. A vault has the name of
    its folder; if two have the same name, the second gets a number."""
    names: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        name = _make_name(text)
        free, number = name, 2
        while free in names:
            free, number = f"{name} {number}", number + 1
        names[free] = text
        if len(names) == VAULTS:
            break
    return names


def _make_name(text: str) -> str:
    # Resolved like the vault's own name: a symlink or `.` gets the name of the folder it leads to.
    place = os.path.expanduser(text)
    real = os.path.realpath(place) if os.path.isdir(place) else place
    return unicodedata.normalize("NFC", os.path.basename(real.rstrip("/\\")) or text)


def list_obsidian_vaults(environ: Mapping[str, str]) -> list[str]:
    """List the folders to open when nobody named a vault. Raises VaultNotFound when there is none."""
    from vaultbridge.vault.obsidian import list_known_vaults

    existing = [vault for vault in list_known_vaults(environ) if vault.is_there]
    chosen = [vault for vault in existing if vault.open] or existing[:1]
    if not chosen:
        raise VaultNotFound(
            "No vault was named, and Obsidian knows none on this machine.",
            hint="Start with the vault's folder: vaultbridge stdio FOLDER, or set VAULTBRIDGE_VAULT.",
        )
    return [str(vault.folder) for vault in chosen]


def choose_vault(environ: Mapping[str, str], here: str) -> str:
    """Return the vault of a command that was given none: the one that `here` is in, the one that
    `VAULTBRIDGE_VAULT` names, the only one of the configuration, or the only one in Obsidian's list. Raises
    VaultNotFound, which says how to name one."""
    from vaultbridge.server.config.model import VAULT_VARIABLE, config_file, load_config

    if surrounding := find_vault_around(here):
        return surrounding
    if named := [path for path in environ.get(VAULT_VARIABLE, "").split(os.pathsep) if path]:
        return _require_one(named, f"{VAULT_VARIABLE} names")
    if configured := [vault.path for vault in load_config(config_file(environ)).vaults]:
        return _require_one(configured, "The configuration names")
    from vaultbridge.vault.obsidian import list_known_vaults

    if known := [str(vault.folder) for vault in list_known_vaults(environ) if vault.is_there]:
        return _require_one(known, "Obsidian knows")
    raise VaultNotFound(
        "No vault was named, this folder is not in one, and Obsidian knows none on this machine.",
        hint=f"Name one with -v FOLDER, change into its folder, or set {VAULT_VARIABLE}.",
    )


def find_vault_around(here: str) -> str:
    """Return the nearest folder at or above `here` that Obsidian has opened as a vault, or ""."""
    # Not resolved: a symlinked folder keeps the name that the person knows.
    folder = os.path.abspath(here)
    while True:
        if os.path.isdir(os.path.join(folder, ".obsidian")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above


def _require_one(vaults: Sequence[str], source: str) -> str:
    if len(vaults) == 1:
        return vaults[0]
    names = ", ".join(name_vaults(vaults))
    raise VaultNotFound(f"{source} {len(vaults)} vaults: {names}.", hint="Say which one with -v NAME.")
