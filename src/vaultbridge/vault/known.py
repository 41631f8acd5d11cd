"""The vaults that Obsidian knows, and finding one by name or by path."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from vaultbridge.errors import AmbiguousName, VaultNotFound
from vaultbridge.json_faults import JSON_FAULTS
from vaultbridge.limits import MIB
from vaultbridge.links.resolve import name_key

KNOWN_BYTES: Final = MIB
"""The largest list of vaults that is read: thousands of vaults fit."""

_LIST: Final = "obsidian.json"


class KnownVault(Struct, frozen=True):
    """`opened` is when it was last opened, in seconds. `open` survives quitting: it does not prove that the
    app runs (`running.py` tells that)."""

    id: str
    name: str
    folder: Path
    opened: float
    open: bool


def app_folders(environ: Mapping[str, str], *, platform: str = sys.platform) -> tuple[Path, ...]:
    """Where the app may keep its own files on this system, the ordinary place first."""
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if platform == "darwin":
        return (home / "Library" / "Application Support" / "obsidian",)
    if platform == "win32":
        return (Path(environ.get("APPDATA") or home / "AppData" / "Roaming") / "obsidian",)
    given = environ.get("XDG_CONFIG_HOME", "")
    config = Path(given) if Path(given).is_absolute() else home / ".config"
    return (
        config / "obsidian",
        home / ".var" / "app" / "md.obsidian.Obsidian" / "config" / "obsidian",
        home / "snap" / "obsidian" / "current" / ".config" / "obsidian",
    )


def known_vaults(
    environ: Mapping[str, str] = os.environ, *, platform: str = sys.platform
) -> tuple[KnownVault, ...]:
    """Every vault in the app's list, the last opened first. A list that is missing or broken is empty; a
    vault whose folder is gone is still told."""
    found: dict[Path, KnownVault] = {}
    for folder in app_folders(environ, platform=platform):
        for vault in _read_list(folder / _LIST):
            found.setdefault(vault.folder, vault)
    return tuple(sorted(found.values(), key=lambda vault: (-vault.opened, vault.name)))


def _read_list(file: Path) -> Iterable[KnownVault]:
    try:
        with file.open("rb") as handle:
            data = msgspec.json.decode(handle.read(KNOWN_BYTES))
    except (OSError, *JSON_FAULTS):
        return
    vaults = data.get("vaults") if isinstance(data, dict) else None
    for number, entry in (vaults if isinstance(vaults, dict) else {}).items():
        if isinstance(entry, dict) and isinstance(entry.get("path"), str) and entry["path"]:
            yield _vault(str(number), entry)


def _vault(number: str, entry: dict[str, Any]) -> KnownVault:
    folder = Path(entry["path"])
    stamp = entry.get("ts")
    opened = stamp / 1000 if isinstance(stamp, (int, float)) and not isinstance(stamp, bool) else 0.0
    name = unicodedata.normalize("NFC", folder.name)
    return KnownVault(number, name, folder, opened, entry.get("open") is True)


def find_vault(
    text: str,
    *,
    environ: Mapping[str, str] = os.environ,
    platform: str = sys.platform,
) -> Path:
    """The folder of the vault that a person named by its path or by the name Obsidian shows.

    A folder that exists wins over a name. Raises `VaultNotFound`, listing the known vaults, or
    `AmbiguousName` when several known vaults have the name.
    """
    place = Path(text).expanduser() if text else None
    if place is not None and place.is_dir():
        return place
    known = known_vaults(environ, platform=platform)
    named = [vault for vault in known if text in (vault.id, vault.name)]
    named = named or [vault for vault in known if name_key(vault.name) == name_key(text)]
    named = [vault for vault in named if vault.folder.is_dir()] or named
    if len(named) > 1:
        raise AmbiguousName(text, tuple(f"{vault.name} (id {vault.id})" for vault in named))
    if named and named[0].folder.is_dir():
        return named[0].folder
    if named:
        raise VaultNotFound(f"Obsidian knows the vault {named[0].name!r}, but its folder is not there.")
    hint = "Obsidian knows no vaults on this machine." if not known else f"Known vaults: {_listed(known)}."
    # Assistants are told this too, and the folders above a vault are not their business.
    name = Path(text).name or text
    if place is not None and place.exists():
        raise VaultNotFound(f"{name!r} is a file, not the folder of a vault.", hint=hint)
    if name != text:
        raise VaultNotFound(f"There is no folder {name!r} at the path that was given.", hint=hint)
    raise VaultNotFound(f"There is no vault {text!r}.", hint=hint)


def _listed(known: tuple[KnownVault, ...]) -> str:
    return ", ".join(dict.fromkeys(vault.name for vault in known))
