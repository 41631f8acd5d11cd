"""Converts between Claude Code's paths and vault paths.

The client sends and expects absolute paths; the seeds' clients send paths relative to the vault, with or
without a leading slash. Both are accepted; `vault.absolute` has the rule. Whether a path in the vault leads
out of it through a symlink is for the vault to decide (`locate`).
"""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import unquote

from vaultbridge.editor.model import VaultView
from vaultbridge.errors import InvalidPath
from vaultbridge.vault.absolute import is_absolute, relative_to_vault
from vaultbridge.vault.paths import VaultPath, vault_path

FILE_URI: Final = "file://"


class IdePaths:
    def __init__(self, view: VaultView, *, relative: bool = False) -> None:
        self._view = view
        self._relative = relative

    def for_client(self, path: VaultPath) -> str:
        """The form sent to clients: absolute, or the seed's relative form when the person has chosen that."""
        return path if self._relative else self.absolute(path)

    def absolute(self, path: VaultPath) -> str:
        return str(self._view.locate(path))

    def url(self, path: VaultPath) -> str:
        """A proper file URL, percent-encoded."""
        return self._view.locate(path).as_uri()

    def raw_uri(self, path: VaultPath) -> str:
        """`file://` and the bare path: the form Claude Code itself uses for diagnostics."""
        return FILE_URI + self.absolute(path)

    def parse(self, text: str, *, argument: str = "filePath") -> VaultPath:
        """A path that is relative, or absolute and in the vault. Raises InvalidPath."""
        inner = relative_to_vault(text, self._view.folder)
        if inner is None and is_absolute(text):
            raise InvalidPath(
                "The file is not in this vault.",
                argument=argument,
                hint="Give a path under the vault's folder.",
            )
        return vault_path(text if inner is None else inner)

    def parse_lenient(self, text: str) -> VaultPath:
        """Like `parse`, but a leading slash may also mean the top of the vault, as seed 000 writes it."""
        inner = relative_to_vault(text, self._view.folder)
        return vault_path(text if inner is None else inner)

    def parse_for_write(self, text: str) -> VaultPath:
        """Like `parse_lenient`, for a file to write: one outside the vault is not created inside it."""
        return vault_path(self._view.make_vault_relative(text))

    def from_uri(self, uri: str, *, argument: str = "filePath") -> VaultPath:
        """A `file://` URI, percent-encoded or not, or a plain path. Raises InvalidPath."""
        return self.parse(path_from_uri(uri), argument=argument)


def path_from_uri(uri: str) -> str:
    """The path in a `file://` URI; anything else unchanged."""
    if not uri.startswith(FILE_URI):
        return uri
    raw = uri.removeprefix(FILE_URI)
    # Windows: file:///C:/x. The client puts `file://` before any path.
    if os.name == "nt" and raw.startswith("/"):
        raw = raw[1:]
    # Not decoded if such a file exists: a name may contain a percent sign.
    if "%" in raw and "\0" not in raw and not os.path.lexists(raw):
        return unquote(raw)
    return raw
