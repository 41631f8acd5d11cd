"""Paths as Claude Code writes them, to and from vault paths.

Its client sends and wants absolute paths; the seeds' clients send paths relative to the vault, with or
without a leading slash. Both are understood, and one function each decides. Symlinks on the way to the vault
are followed; whether a path inside it leads out again is the vault's own question (`locate`).
"""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from vaultbridge.editor.ports import VaultView
from vaultbridge.errors import InvalidPath
from vaultbridge.vault.paths import VaultPath, vault_path

FILE_URI: Final = "file://"


class IdePaths:
    def __init__(self, view: VaultView, *, relative: bool = False) -> None:
        self._view = view
        self._relative = relative
        self._root = _key(str(view.folder))

    def shown(self, path: VaultPath) -> str:
        """As a client is told: absolute, or the seed's relative form when the person chose that."""
        return path if self._relative else self.absolute(path)

    def absolute(self, path: VaultPath) -> str:
        return str(self._view.locate(path))

    def url(self, path: VaultPath) -> str:
        """A proper file URL, percent-encoded."""
        return self._view.locate(path).as_uri()

    def raw_uri(self, path: VaultPath) -> str:
        """`file://` and the bare path: the form Claude Code itself uses for diagnostics."""
        return FILE_URI + self.absolute(path)

    def inside(self, text: str) -> VaultPath:
        """A path that must be absolute and in the vault, or relative. Raises InvalidPath."""
        below = self._below(text)
        if below is not None:
            return vault_path(below)
        if Path(text).is_absolute():
            raise InvalidPath(
                "The file is not in this vault.",
                argument="filePath",
                hint="Give a path under the vault's folder.",
            )
        return vault_path(text)

    def lenient(self, text: str) -> VaultPath:
        """Like `inside`, but a leading slash may also mean the top of the vault, as seed 000 writes it."""
        below = self._below(text)
        return vault_path(text if below is None else below)

    def from_uri(self, uri: str) -> VaultPath:
        """A `file://` URI, percent-encoded or not, or a plain path. Raises InvalidPath."""
        if not uri.startswith(FILE_URI):
            return self.inside(uri)
        raw = uri.removeprefix(FILE_URI)
        # Windows: file:///C:/x. The client writes `file://` before whatever path it has.
        if os.name == "nt" and raw.startswith("/"):
            raw = raw[1:]
        # As it is, if there is such a file; a name may hold a percent sign.
        if "%" in raw and not os.path.lexists(raw):
            return self.inside(unquote(raw))
        return self.inside(raw)

    def _below(self, text: str) -> str | None:
        """What follows the vault's folder in an absolute path, or None when it is not below it."""
        if not Path(text).is_absolute() or "\0" in text:
            return None
        # As it is written first: a link inside the vault keeps its own name. Then by real path, because
        # the client may have been started through any symlink to the vault.
        for given in (_key(text), _key(os.path.realpath(text))):
            if given.startswith(self._root + "/"):
                return given[len(self._root) + 1 :]
        return None


def _key(text: str) -> str:
    """One spelling of an absolute path: NFC, `/` between components."""
    plain = unicodedata.normalize("NFC", text)
    return (plain.replace("\\", "/") if os.name == "nt" else plain).rstrip("/")
