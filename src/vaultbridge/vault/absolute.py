"""Handles absolute paths: which vault contains one, and which vault path it means.

An assistant that also works on files may name a note like a file. A leading slash can mean the top of the
machine or the top of the vault, as in Obsidian's own links. `make_vault_relative` decides, in this order:

1. A path below the vault's folder is a path of that vault, however the folder was reached.
2. A path whose first folder exists in the vault starts at the vault's top.
3. A path whose first folder is a top folder of this machine, or of machines in general, is outside the vault
   and refused. Reading it as a vault path would copy the machine's folder tree into the vault. So is a path
   that starts with two slashes, as a network share does (`//server/share/Note.md`).
4. Any other path starts at the vault's top.

Only names and folder identities are compared; no content is read.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from vaultbridge.errors import InvalidPath
from vaultbridge.limits import PATH_CHARS
from vaultbridge.vault.identity.record import file_identity
from vaultbridge.vault.paths import VaultFolder, Visible, vault_path

MACHINE_FOLDERS: Final = frozenset(
    ["Users", "Volumes", "etc", "home", "media", "mnt", "opt", "private", "root", "srv", "tmp", "usr", "var"]
)
"""The top folders of macOS and Linux that contain people's files. A client may run on another system, whose
folders are not on our disk."""

FOLDERS_TRIED: Final = 64
"""The most folders of one path that are compared with the vault's: no vault is nested deeper."""


def is_absolute(text: str) -> bool:
    """Whether a path may be a path of the machine. It is fast rather than exact, because every call checks
    this."""
    return text[:1] == "/" or text[:2] == "~/" or (text[1:2] == ":" and os.name == "nt")


def relative_to_vault(text: str, folder: Path) -> str | None:
    """The part of an absolute path that follows the vault's folder, with any trailing slash; `""` for the
    folder itself, None for a path that is not in it."""
    written = _normalize(text)
    top = _normalize(str(folder)).rstrip("/") + "/"
    if (written + "/").startswith(top):
        return written[len(top) :]
    return _below_by_identity(written, folder)


def find_innermost(text: str, folders: Iterable[Path]) -> Path | None:
    """The folder among `folders` that contains an absolute path, the innermost when vaults are nested; None
    when none does or the path is not absolute."""
    if not is_absolute(text) or len(text) > PATH_CHARS or "\0" in text:
        return None
    holding = [folder for folder in folders if relative_to_vault(text, folder) is not None]
    return max(holding, key=lambda folder: len(folder.parts), default=None)


def make_vault_relative(text: str, root: VaultFolder, visible: Visible) -> str:
    """Turns an absolute path into one from the vault's top; any other path stays as it is. Raises
    `InvalidPath` for a path of the machine that is outside the vault."""
    if not is_absolute(text) or len(text) > PATH_CHARS or "\0" in text:
        return text
    inside = relative_to_vault(text, root.folder)
    if inside is not None:
        # A bare name could mean a note anywhere in the vault; the dot makes it the one at the top.
        return f"./{inside}" if inside and "/" not in inside else inside
    if _is_outside(text, root, visible):
        raise outside_vault_error(text)
    return text


def outside_vault_error(text: str) -> InvalidPath:
    """The error for a path that no open vault contains."""
    shortened = text if len(text) <= 200 else text[:200] + "…"
    return InvalidPath(
        f"The path {shortened!r} is outside the vault.",
        argument="path",
        hint="Give a path from the vault's top, such as 'Folder/Note.md', or one below the vault's folder.",
    )


def _is_outside(text: str, root: VaultFolder, visible: Visible) -> bool:
    if text.startswith("~/"):
        first, several = "~", True
    else:
        first, _, rest = text.lstrip("/").partition("/")
        # A single name after the slash is a note at the top, because nobody puts a file in the machine's top
        # folder.
        several = bool(rest.strip("/"))
    if not several or first.startswith("."):
        return False
    try:
        top, whole = vault_path(first), vault_path(text.lstrip("/"))
    except InvalidPath:
        return False
    if (visible(top) or visible(whole)) and root.exists(top):
        return False
    return text.startswith(("~", "//")) or first in MACHINE_FOLDERS or _is_machine_folder(first)


def _is_machine_folder(name: str) -> bool:
    return os.name != "nt" and Path("/", name).is_dir()


def _below_by_identity(written: str, folder: Path) -> str | None:
    """Like `relative_to_vault`, for a path that reaches the vault's folder through a link or in another
    spelling."""
    if written.startswith("~/"):
        written = _normalize(os.path.expanduser(written))  # noqa: PTH111 - a Path would drop a slash at the end
    try:
        wanted = file_identity(folder.stat())
    except OSError:
        return None
    end = 0
    for _ in range(FOLDERS_TRIED):
        end = written.find("/", end + 1)
        try:
            status = Path(written if end < 0 else written[:end]).stat()
        except (OSError, ValueError):
            return None
        if file_identity(status) == wanted:
            return "" if end < 0 else written[end + 1 :]
        if end < 0:
            return None
    return None


def _normalize(path: str) -> str:
    """One spelling for a path: systems and programs compose accents differently."""
    text = unicodedata.normalize("NFC", path)
    return text.replace("\\", "/") if os.name == "nt" else text
