"""Refuses a path whose exact spelling names another file than the vault path that it becomes.

A vault path is in Unicode NFC, but Linux stores `é.md` composed and decomposed as two files. One of them is
the note of that path; the other is left out (`walk.LEFT_OUT`), as in Obsidian. A caller that writes the
other one's exact spelling must not read, change or delete the note instead.
"""

from __future__ import annotations

import os
import posixpath
import unicodedata
from typing import Final

from vaultbridge.errors import InvalidPath
from vaultbridge.limits import PATH_CHARS
from vaultbridge.vault.absolute import is_absolute, relative_to_vault
from vaultbridge.vault.identity.record import file_identity
from vaultbridge.vault.paths import Root, Visible, vault_path

ENDINGS: Final = ("", ".md")
"""A note may be named without its extension."""


def check_spelling(text: str, root: Root, visible: Visible) -> None:
    """Raises `InvalidPath` for such a path. Costs nothing for a text that is in NFC, as nearly all are."""
    if text.isascii() or len(text) > PATH_CHARS or unicodedata.is_normalized("NFC", text):
        return
    for ending in ENDINGS:
        written = _take_inner(text, root) + ending
        try:
            path = vault_path(written)
        except InvalidPath:
            return
        if not visible(path):
            # The answer is that of a path that does not exist, whatever is there.
            continue
        if left_out := _find_left_out(written, root):
            raise InvalidPath(
                f"{unicodedata.normalize('NFC', left_out)} is stored in two Unicode forms, and this path "
                "spells the one that is not part of the vault.",
                argument="path",
                hint="Rename one of the two on disk, or write the path composed (NFC) for the other one.",
            )


def _take_inner(text: str, root: Root) -> str:
    """The part of an absolute path below the vault's folder, spelled as written; any other text as it is."""
    inner = relative_to_vault(text, root.folder) if is_absolute(text) else None
    return "/".join(text.rstrip("/").split("/")[-inner.rstrip("/").count("/") - 1 :]) if inner else text


def _find_left_out(written: str, root: Root) -> str:
    """The beginning of the path, as written, that names something else than its composed form; "" if there
    is none."""
    here = exact = str(root.folder)
    parts = [part for part in posixpath.normpath(written).split("/") if part]
    for number, part in enumerate(parts, 1):
        exact = f"{exact}{os.sep}{part}"
        try:
            spelled = os.lstat(exact)
        except (OSError, ValueError):
            return ""
        composed = unicodedata.normalize("NFC", part)
        stored = (
            composed
            if os.path.lexists(f"{here}{os.sep}{composed}")
            else root.find_stored_name(here, composed)
        )
        here = f"{here}{os.sep}{stored or part}"
        try:
            if file_identity(os.lstat(here)) != file_identity(spelled):
                return "/".join(parts[:number])
        except OSError:
            return ""
    return ""
