"""Refuses a path whose exact spelling names another file than the vault path that it becomes.

A vault path is in Unicode NFC, but Linux stores `é.md` composed and decomposed as two files. One of them is
the note of that path; the other is left out (`walk.LEFT_OUT`), as in Obsidian. A caller that writes the
other one's exact spelling must not read, change or delete the note instead. Nor may it change the other one:
SECURITY.md ("Two files of one name") says why. The refusal says how each is spelled, and how to rename one.
"""

from __future__ import annotations

import os
import posixpath
import unicodedata
from typing import Final

from msgspec import Struct

from vaultbridge.errors import InvalidPath, VaultbridgeError
from vaultbridge.limits import PATH_CHARS
from vaultbridge.vault.absolute import is_absolute, relative_to_vault
from vaultbridge.vault.identity.record import file_identity
from vaultbridge.vault.paths import VaultFolder, VaultPath, Visible, vault_path

ENDINGS: Final = ("", ".md")
"""A note may be named without its extension."""

NAMES_TRIED: Final = 20
"""How many new names are tried for the file that should be renamed. If all are taken, the person chooses."""


class Twins(Struct, frozen=True):
    """Two files or folders of one vault path, each as it is stored, from the top of the vault."""

    kept: str
    """The one that the path means."""
    left_out: str
    new_name: str = ""
    """A free path for the one that is left out; "" if none was found."""

    def describe(self) -> str:
        """How the two differ, which cannot be seen."""
        kept, left_out = escape_difference(self.kept, self.left_out)
        return f"'{kept}', which is in the vault, and '{left_out}', which is left out"

    def advise(self) -> str:
        """How to have both in the vault."""
        if not self.new_name or os.name == "nt":
            return "rename one of the two"
        old, new = _quote(self.left_out), _quote(self.new_name)
        return f"rename the other one (in the vault's folder, in bash or zsh: mv -n {old} {new})"


def check_spelling(text: str, root: VaultFolder, visible: Visible) -> None:
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
        parts = [part for part in posixpath.normpath(written).split("/") if part]
        # As it is written, it may lead through a link to a hidden file: then it does not exist either.
        if (twins := _find_twins(parts, root, visible)) and visible("/".join(parts)):
            raise InvalidPath(
                f"Two files or folders are called {unicodedata.normalize('NFC', twins.left_out)}, in two "
                f"Unicode forms: {twins.describe()}. This path spells the latter.",
                argument="path",
                hint=f"For the former, write the path composed (NFC). To use both, {twins.advise()}.",
            )


def find_twins(path: str, root: VaultFolder, visible: Visible = lambda _: True) -> Twins | None:
    """The file or folder of a path, which may end with a slash, and the first one that is left out because of
    it; None if there is none."""
    folder, name = posixpath.split(path.rstrip("/"))
    try:
        names = sorted(os.listdir(root.resolve(VaultPath(folder))))  # noqa: PTH208 - names
    except (OSError, VaultbridgeError):
        return None
    others = [other for other in names if other != name and unicodedata.normalize("NFC", other) == name]
    kept = name if name in names else others.pop(0) if others else name
    if not others:
        return None
    return _make_twins(posixpath.join(folder, kept), posixpath.join(folder, others[0]), root, visible)


def escape_difference(first: str, second: str) -> tuple[str, str]:
    """Both texts, with an escape for each character that is not ASCII in the part where they differ."""
    shorter = min(len(first), len(second))
    start = next((at for at in range(shorter) if first[at] != second[at]), shorter)
    end = next((at for at in range(shorter - start) if first[-1 - at] != second[-1 - at]), shorter - start)
    return _escape(first, start, end), _escape(second, start, end)


def _escape(text: str, start: int, end: int) -> str:
    codes = (ord(char) for char in text[start : len(text) - end])
    middle = "".join(
        chr(code) if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        for code in codes
    )
    return text[:start] + middle + text[len(text) - end :]


def _quote(text: str) -> str:
    """For a shell. Each byte that is not ASCII is escaped, because terminals compose what is pasted."""
    escaped = "".join(
        f"\\x{byte:02x}" if byte >= 0x80 else f"\\{chr(byte)}" if chr(byte) in "'\\" else chr(byte)
        for byte in text.encode()
    )
    return f"$'{escaped}'"


def _make_twins(kept: str, left_out: str, root: VaultFolder, visible: Visible) -> Twins:
    """Chooses the new name without asking the disk about a hidden one."""
    stem, suffix = posixpath.splitext(unicodedata.normalize("NFC", left_out))
    for number in range(2, NAMES_TRIED + 2):
        name = VaultPath(f"{stem} {number}{suffix}")
        if visible(name) and not root.exists(name):
            return Twins(kept, left_out, name)
    return Twins(kept, left_out)


def _take_inner(text: str, root: VaultFolder) -> str:
    """The part of an absolute path below the vault's folder, spelled as written; any other text as it is."""
    inner = relative_to_vault(text, root.folder) if is_absolute(text) else None
    return "/".join(text.rstrip("/").split("/")[-inner.rstrip("/").count("/") - 1 :]) if inner else text


def _find_twins(parts: list[str], root: VaultFolder, visible: Visible) -> Twins | None:
    """What the first part of the path that is spelled otherwise names as it is written, and what it names
    composed; None if that is the same everywhere."""
    here = exact = str(root.folder)
    stored_parts: list[str] = []
    for number, part in enumerate(parts, 1):
        exact = f"{exact}{os.sep}{part}"
        try:
            spelled = os.lstat(exact)
        except (OSError, ValueError):
            return None
        composed = unicodedata.normalize("NFC", part)
        stored = (
            composed
            if os.path.lexists(f"{here}{os.sep}{composed}")
            else root.find_stored_name(here, composed)
        )
        stored_parts.append(stored or part)
        here = f"{here}{os.sep}{stored or part}"
        try:
            if file_identity(os.lstat(here)) != file_identity(spelled):
                return _make_twins("/".join(stored_parts), "/".join(parts[:number]), root, visible)
        except OSError:
            return None
    return None
