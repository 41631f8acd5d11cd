"""Decides which vaults to use, by one rule for every command and server:

1. those that are named, as arguments or with `-v`
2. the one whose folder you are in, or below which you are
3. those that `VAULTBRIDGE_VAULT` names, or else the configuration file
4. the only one that Obsidian knows

Nothing guesses between several: a command works on one vault, so it then asks for a name. A server serves all
those of 1 or 3.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Final, Literal

from msgspec import Struct

from vaultbridge.errors import VaultNotFound
from vaultbridge.limits import VAULTS

VAULT_VARIABLE: Final = "VAULTBRIDGE_VAULT"

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


Source = Literal["arguments", "folder", "environment", "configuration", "obsidian"]

REASONS: Final[Mapping[Source, str]] = {
    "arguments": "named in the command",
    "folder": "the folder you are in",
    "environment": "named in VAULTBRIDGE_VAULT",
    "configuration": "named in the configuration file",
    "obsidian": "the only vault in Obsidian",
}
"""Why these vaults: what `serve` says about its choice."""


class VaultChoice(Struct, frozen=True):
    """`vaults` are folders, or names in Obsidian's list; at least one."""

    vaults: tuple[str, ...]
    source: Source


def choose_vaults(
    environ: Mapping[str, str],
    here: str,
    *,
    named: Sequence[str] = (),
    configured: Callable[[], Sequence[str]] | None = None,
) -> VaultChoice:
    """Apply the whole rule. `configured` gives the vaults of the configuration file, by default the usual
    one. Raises VaultNotFound, which says how to name one."""
    return find_named_vaults(environ, here, named=named, configured=configured) or choose_known_vault(environ)


def find_named_vaults(
    environ: Mapping[str, str],
    here: str,
    *,
    named: Sequence[str] = (),
    configured: Callable[[], Sequence[str]] | None = None,
) -> VaultChoice | None:
    """Apply the rule without its last step, for a server that reads Obsidian's list later."""
    if named:
        return VaultChoice(tuple(named), "arguments")
    if around := find_vault_around(here):
        return VaultChoice((around,), "folder")
    texts = environ.get(VAULT_VARIABLE, "").split(os.pathsep)
    if listed := tuple(expand_variables(text, environ) for text in texts if text):
        return VaultChoice(listed, "environment")
    if paths := tuple((configured or partial(_read_configured, environ))()):
        return VaultChoice(paths, "configuration")
    return None


def _read_configured(environ: Mapping[str, str]) -> list[str]:
    from vaultbridge.server.config.model import choose_config

    return [vault.path for vault in choose_config(environ).load().vaults]


def choose_known_vault(environ: Mapping[str, str]) -> VaultChoice:
    """Return the only vault that Obsidian knows and that is there. Raises VaultNotFound."""
    from vaultbridge.vault.obsidian import list_known_vaults

    known = [str(vault.folder) for vault in list_known_vaults(environ) if vault.is_there]
    if not known:
        raise UnnamedVault(
            "No vault found here or in Obsidian.",
            hint=f"Name one with -v FOLDER, change into its folder, or set {VAULT_VARIABLE}.",
        )
    return VaultChoice((_require_one(known, "Obsidian knows"),), "obsidian")


def choose_vault(environ: Mapping[str, str], here: str) -> str:
    """Return the vault of a command that was given none. Raises VaultNotFound."""
    choice = choose_vaults(environ, here)
    return _require_one(choice.vaults, _NAMES.get(choice.source, ""))


_NAMES: Final = {"environment": f"{VAULT_VARIABLE} names", "configuration": "The configuration names"}


class UnnamedVault(VaultNotFound):
    """Nobody named a vault, and there is not exactly one."""


def find_here() -> str:
    """The current folder, or "" if it has been deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""


def expand_variables(text: str, environ: Mapping[str, str]) -> str:
    """Replace `$NAME` and `${NAME}`, as a shell would do, because clients start us without one. A folder with
    such a name, and a variable that is not set, stay as they are. A `file://` address has neither: `connect`
    writes it where the client itself would replace a part of the path."""
    if text.startswith("file://"):
        from vaultbridge.system import read_file_uri

        return read_file_uri(text)
    if "$" not in text or os.path.isdir(text):
        return text
    import re

    return re.sub(
        r"\$(?:(\w+)|\{(\w+)\})",
        lambda match: environ.get(match[1] or match[2], match[0]),
        text,
        flags=re.ASCII,
    )


ENTRIES_LOOKED_AT: Final = 1000
"""How many entries of a folder are looked at for a note: a folder of notes has one among the first."""


def contains_notes(folder: str) -> bool:
    """Whether Markdown files are in this folder, which Obsidian need not have opened."""
    try:
        with os.scandir(folder or ".") as entries:
            return any(entry.name.endswith(".md") for entry in islice(entries, ENTRIES_LOOKED_AT))
    except OSError:
        return False


def find_vault_around(here: str) -> str:
    """Return the nearest folder at or above `here` that Obsidian has opened as a vault, or ""."""
    if not here:
        return ""
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
    raise UnnamedVault(f"{source} {len(vaults)} vaults: {names}.", hint="Say which one with -v NAME.")
