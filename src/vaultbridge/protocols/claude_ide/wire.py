"""The names and shapes of Claude Code's undocumented IDE protocol, each written once.

Takes values and returns JSON values; the only disk access resolves a folder's symlinks. Lines on the wire
count from 0; columns are UTF-16 units on both sides. If a release turns out to behave differently, this is
the module to change.
"""

from __future__ import annotations

import os
from typing import Any, Final

from vaultbridge.editor.model import Focus, Mention, NoteFindings, OpenFile, Point, Selection, Severity
from vaultbridge.markdown.positions import Positions
from vaultbridge.protocols.claude_ide.paths import IdePaths
from vaultbridge.vault.paths import VaultPath, name_of

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


def selection_changed(focus: Focus | None, paths: IdePaths) -> dict[str, Any]:
    """Seed 000's shape. Without a focus, the same shape with empty values clears the client's display; a null
    anywhere would make the client drop the whole message."""
    if focus is None:
        return {"text": "", "filePath": "", "fileUrl": "", "selection": _range(Selection())}
    return {
        "text": focus.selection.text,
        "filePath": paths.for_client(focus.path),
        "fileUrl": paths.url(focus.path),
        "selection": _range(focus.selection),
    }


def at_mentioned(mention: Mention, paths: IdePaths, *, client_folder: str = "") -> dict[str, Any]:
    """Seed 000's shape: lines from 0 and inclusive, left out for a whole note.

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
    """The trick that makes Claude Code attach a note whose path contains a space.

    The client inserts `@` and the path relative to its folder, without quotes, and later reads the mention
    only up to the first space. It reads a quoted mention whole, so we put quotes into the path, after the
    client's folder, with the lines inside them. A note outside that folder is named by its whole path,
    because the client would take a second `..` for the way back out of the quotes. This depends on the
    client's internals, so it is kept here and behind a switch. None when the path needs no quotes or contains
    one.
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


def workspace_selection(focus: Focus | None, paths: IdePaths) -> dict[str, Any]:
    """Seed 000's `workspace/selection`: the selection and the cursor, which is at its end."""
    shape = selection_changed(focus, paths)
    return {**shape, "cursor": shape["selection"]["end"]}


def current_selection(focus: Focus | None, paths: IdePaths, otherwise: str) -> dict[str, Any]:
    """`getCurrentSelection` and `getLatestSelection`."""
    if focus is None:
        return {"success": False, "message": otherwise}
    return {"success": True, **selection_changed(focus, paths)}


def editor_tab(file: OpenFile, paths: IdePaths, *, active: bool, lines: int) -> dict[str, Any]:
    """One entry of `getOpenEditors`."""
    return {
        "uri": paths.url(file.path),
        "isActive": active,
        "isPinned": file.pinned,
        "isPreview": file.preview,
        "isDirty": file.dirty,
        "label": name_of(file.path),
        "groupIndex": 0,
        "viewColumn": 1,
        "isGroupActive": True,
        "fileName": paths.absolute(file.path),
        "languageId": language_id(file.path),
        "lineCount": lines,
        "isUntitled": False,
    }


def diagnostics(found: NoteFindings, uri: str) -> dict[str, Any]:
    """One note's entry of `getDiagnostics`."""
    positions = Positions(found.text)
    return {
        "uri": uri,
        "diagnostics": [
            {
                "message": finding.message,
                "severity": _SEVERITY[finding.severity],
                "range": {
                    "start": _place(*positions.to_lsp(finding.start)),
                    "end": _place(*positions.to_lsp(finding.end)),
                },
                "source": SOURCE,
                "code": finding.code,
            }
            for finding in found.findings
        ],
    }


def language_id(path: VaultPath) -> str:
    return _LANGUAGES.get(path.rpartition(".")[2].lower(), "plaintext")


def _range(selection: Selection) -> dict[str, Any]:
    return {
        "start": _point(selection.start),
        "end": _point(selection.end),
        "isEmpty": selection.is_empty,
    }


def _point(point: Point) -> dict[str, int]:
    return _place(point.line - 1, point.column)


def _place(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}
