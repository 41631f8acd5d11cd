"""Absolute paths: which vault holds one, and which path of that vault it is.

An assistant that also works on files names a note as it names a file. A leading slash can mean two things:
the top of the machine, or the top of the vault, as in Obsidian's own links. `make_vault_relative`
decides, in order:

1. A path below the vault's folder is a path of that vault, however the folder was reached.
2. A path whose first folder is in the vault starts at the vault's top.
3. A path whose first folder is one of the machine's, or of machines in general, lies outside: refused. Taking
   it as the vault's would copy the machine's folder tree into the vault.
4. Any other path starts at the vault's top.

Only names are compared, and folders are identified by their status; no content is read.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from vaultbridge.errors import InvalidPath
from vaultbridge.limits import PATH_CHARS
from vaultbridge.vault.paths import Root, file_identity, vault_path

MACHINE_FOLDERS: Final = frozenset(
    ["Users", "Volumes", "etc", "home", "media", "mnt", "opt", "private", "root", "srv", "tmp", "usr", "var"]
)
"""The top folders of macOS and Linux that hold people's files: a client may run on another system than we
do, so that a look at our own disk would not find them."""

FOLDERS_TRIED: Final = 64
"""The most folders of one path that are compared with the vault's: deeper than any vault lies."""


def is_absolute(text: str) -> bool:
    """Whether a path may be one of the machine's. Quick rather than exact: every call asks this."""
    return text[:1] == "/" or text[:2] == "~/" or (text[1:2] == ":" and os.name == "nt")


def relative_to_vault(text: str, folder: Path) -> str | None:
    """What follows the vault's folder in an absolute path, with a slash at its end kept; `""` for the folder
    itself, None for a path that is not below it."""
    written = _written(text)
    top = _written(str(folder)).rstrip("/") + "/"
    if (written + "/").startswith(top):
        return written[len(top) :]
    return _below_by_identity(written, folder)


def find_innermost(text: str, folders: Iterable[Path]) -> Path | None:
    """Which of several vaults' folders holds an absolute path, of one vault inside another the inner; None
    when none does or the path is not absolute."""
    if not is_absolute(text) or len(text) > PATH_CHARS or "\0" in text:
        return None
    holding = [folder for folder in folders if relative_to_vault(text, folder) is not None]
    return max(holding, key=lambda folder: len(folder.parts), default=None)


def make_vault_relative(text: str, root: Root, visible: Callable[[str], bool]) -> str:
    """A path as a caller wrote it, from the vault's top; one that is not absolute stays as it is. Raises
    `InvalidPath` for a path of the machine that lies outside the vault."""
    if not is_absolute(text) or len(text) > PATH_CHARS or "\0" in text:
        return text
    inside = relative_to_vault(text, root.folder)
    if inside is not None:
        # A bare name would mean a note anywhere in the vault; with the dot it means the one at the top.
        return f"./{inside}" if inside and "/" not in inside else inside
    if _lies_outside(text, root, visible):
        raise outside_vault_error(text)
    return text


def outside_vault_error(text: str) -> InvalidPath:
    """The refusal of a path that no open vault holds."""
    shown = text if len(text) <= 200 else text[:200] + "…"
    return InvalidPath(
        f"The path {shown!r} is outside the vault.",
        argument="path",
        hint="Give a path from the vault's top, such as 'Folder/Note.md', or one below the vault's folder.",
    )


def _lies_outside(text: str, root: Root, visible: Callable[[str], bool]) -> bool:
    if text.startswith("~/"):
        first, several = "~", True
    else:
        first, _, rest = text.lstrip("/").partition("/")
        # One name after the slash is a note at the top: nobody writes a file in the machine's own top folder.
        several = bool(rest.strip("/"))
    if not several or first.startswith("."):
        return False
    try:
        top, whole = vault_path(first), vault_path(text.lstrip("/"))
    except InvalidPath:
        return False
    if root.exists(top) and (visible(top) or visible(whole)):
        return False
    return first == "~" or first in MACHINE_FOLDERS or _is_machine_folder(first)


def _is_machine_folder(name: str) -> bool:
    return os.name != "nt" and Path("/", name).is_dir()


def _below_by_identity(written: str, folder: Path) -> str | None:
    """The same for a path that reaches the vault's folder by a link, or in another spelling."""
    if written.startswith("~/"):
        written = _written(os.path.expanduser(written))  # noqa: PTH111 - a Path would drop a slash at the end
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


def _written(path: str) -> str:
    """One spelling of a path: systems and programs differ in how they compose accents."""
    text = unicodedata.normalize("NFC", path)
    return text.replace("\\", "/") if os.name == "nt" else text
