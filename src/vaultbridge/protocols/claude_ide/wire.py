"""The names and shapes of Claude Code's undocumented IDE protocol, each written once.

Takes values and returns JSON values; the only disk access resolves a folder's symlinks. Lines on the wire
count from 0; columns are UTF-16 units on both sides. If a release turns out to behave differently, this is
the module to change.

The client sends and expects absolute paths; the clients of documents 000 and 001 send paths relative to the
vault, with or without a leading slash. Both are accepted; `vault.absolute` has the rule. Whether a path leads
out of the vault through a symlink is decided in `vault` (`locate`).
"""

from __future__ import annotations

import os
from typing import Any, Final
from urllib.parse import unquote

from vaultbridge.editor.model import (
    Focus,
    Mention,
    NoteDiagnostics,
    OpenTab,
    Point,
    Selection,
    Severity,
    VaultView,
)
from vaultbridge.errors import InvalidPath
from vaultbridge.links.resolve import file_name
from vaultbridge.markdown.text import Positions
from vaultbridge.system import FILE_URI
from vaultbridge.vault.absolute import is_absolute, relative_to_vault
from vaultbridge.vault.paths import VaultPath, vault_path

SELECTION_CHANGED: Final = "selection_changed"
AT_MENTIONED: Final = "at_mentioned"
IDE_CONNECTED: Final = "ide_connected"

FILE_SAVED: Final = "FILE_SAVED"
DIFF_REJECTED: Final = "DIFF_REJECTED"
TAB_CLOSED: Final = "TAB_CLOSED"

SOURCE: Final = "vaultbridge"

_SEVERITY: Final[dict[Severity, str]] = {
    "error": "Error",
    "warning": "Warning",
    "information": "Info",
    "hint": "Hint",
}

_LANGUAGES: Final = {"md": "markdown", "canvas": "json", "base": "yaml", "json": "json", "html": "html"}


def encode_selection(focus: Focus | None, paths: IdePaths) -> dict[str, Any]:
    """Document 000's shape. Without a focus, the same shape with empty values clears the client's display; a
    null anywhere would make the client drop the whole message."""
    if focus is None:
        return {"text": "", "filePath": "", "fileUrl": "", "selection": _encode_range(Selection())}
    return {
        "text": focus.selection.text,
        "filePath": paths.for_client(focus.path),
        "fileUrl": paths.url(focus.path),
        "selection": _encode_range(focus.selection),
    }


def encode_mention(mention: Mention, paths: IdePaths, *, client_folder: str = "") -> dict[str, Any]:
    """Document 000's shape: lines from 0 and inclusive, left out for a whole note.

    When the client's working folder is known, a path that the client would insert unquoted and then fail to
    attach is quoted for it (`quote_path`).
    """
    first, last = mention.first_line, mention.last_line
    if client_folder:
        quoted = quote_path(paths.absolute(mention.path), client_folder, first, last)
        if quoted is not None:
            return {"filePath": quoted}
    params: dict[str, Any] = {"filePath": paths.for_client(mention.path)}
    if first is not None:
        params["lineStart"] = first - 1
        params["lineEnd"] = (last if last is not None else first) - 1
    return params


def quote_path(absolute: str, client_folder: str, first: int | None, last: int | None) -> str | None:
    """Quote a path that contains a space, so that Claude Code attaches the note.

    The client inserts `@` and the path relative to its folder, without quotes, and later reads the mention
    only up to the first space. It reads a quoted mention whole, so we put quotes into the path, after the
    client's folder, with the lines inside them. A note outside that folder is named by its whole path,
    because the client would take a second `..` for the way back out of the quotes. This depends on the
    client's internals, so it is confined to this function and behind a switch. None when the path needs no
    quotes or contains one.
    """
    below = absolute.removeprefix(client_folder.rstrip("/") + "/")
    if below == absolute:
        # The client may have given its folder through a symlink.
        below = absolute.removeprefix(os.path.realpath(client_folder) + "/")
    if not any(character.isspace() for character in below) or '"' in below:
        return None
    lines = ""
    if first is not None:
        lines = f"#L{first}" if last is None or last == first else f"#L{first}-{last}"
    return f'{client_folder.rstrip("/")}/"{below}{lines}"'


def encode_workspace_selection(focus: Focus | None, paths: IdePaths) -> dict[str, Any]:
    """Document 000's `workspace/selection`: the selection and the cursor, which is at its end."""
    shape = encode_selection(focus, paths)
    return {**shape, "cursor": shape["selection"]["end"]}


def encode_current_selection(focus: Focus | None, paths: IdePaths, otherwise: str) -> dict[str, Any]:
    """`getCurrentSelection` and `getLatestSelection`."""
    if focus is None:
        return {"success": False, "message": otherwise}
    return {"success": True, **encode_selection(focus, paths)}


def encode_tab(file: OpenTab, paths: IdePaths, *, active: bool, lines: int) -> dict[str, Any]:
    """One entry of `getOpenEditors`."""
    return {
        "uri": paths.url(file.path),
        "isActive": active,
        "isPinned": file.pinned,
        "isPreview": file.preview,
        "isDirty": file.dirty,
        "label": file_name(file.path),
        "groupIndex": 0,
        "viewColumn": 1,
        "isGroupActive": True,
        "fileName": paths.absolute(file.path),
        "languageId": find_language_id(file.path),
        "lineCount": lines,
        "isUntitled": False,
    }


def encode_diagnostics(note: NoteDiagnostics, uri: str) -> dict[str, Any]:
    """One note's entry of `getDiagnostics`."""
    positions = Positions(note.text)
    return {
        "uri": uri,
        "diagnostics": [
            {
                "message": finding.message,
                "severity": _SEVERITY[finding.severity],
                "range": {
                    "start": _encode_position(*positions.to_lsp(finding.start)),
                    "end": _encode_position(*positions.to_lsp(finding.end)),
                },
                "source": SOURCE,
                "code": finding.code,
            }
            for finding in note.findings
        ],
    }


def find_language_id(path: VaultPath) -> str:
    return _LANGUAGES.get(path.rpartition(".")[2].lower(), "plaintext")


def _encode_range(selection: Selection) -> dict[str, Any]:
    return {
        "start": _encode_point(selection.start),
        "end": _encode_point(selection.end),
        "isEmpty": selection.is_empty,
    }


def _encode_point(point: Point) -> dict[str, int]:
    return _encode_position(point.line - 1, point.column)


def _encode_position(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


class IdePaths:
    def __init__(self, view: VaultView, *, relative: bool = False) -> None:
        self._view = view
        self._relative = relative

    def for_client(self, path: VaultPath) -> str:
        """The form sent to clients: absolute, or relative as in document 000 if the person has chosen
        that."""
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
        self._view.check_spelling(text)
        inner = relative_to_vault(text, self._view.folder)
        if inner is None and is_absolute(text):
            raise InvalidPath(
                "The file is not in this vault.",
                argument=argument,
                hint="Give a path under the vault's folder.",
            )
        return vault_path(text if inner is None else inner)

    def parse_lenient(self, text: str) -> VaultPath:
        """Like `parse`, but a leading slash may also mean the top of the vault, as document 000 writes it."""
        self._view.check_spelling(text)
        inner = relative_to_vault(text, self._view.folder)
        return vault_path(text if inner is None else inner)

    def parse_for_write(self, text: str) -> VaultPath:
        """Like `parse_lenient`, for a file to write: one outside the vault is not created inside it."""
        return vault_path(self._view.make_vault_relative(text))

    def from_uri(self, uri: str, *, argument: str = "filePath") -> VaultPath:
        """A `file://` URI, percent-encoded or not, or a plain path. Raises InvalidPath."""
        return self.parse(read_path_uri(uri), argument=argument)


def read_path_uri(uri: str) -> str:
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
