"""What Obsidian has open, from its `workspace.json`: the only trace of it while no plugin tells.

The app writes the file about a second after tabs change, never when only the cursor moves; and it keeps
what was open when it quit. Never written here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from vaultbridge.errors import InvalidPath
from vaultbridge.json_faults import JSON_FAULTS
from vaultbridge.limits import MIB
from vaultbridge.vault.paths import Root, VaultPath, vault_path

WORKSPACE_FILE: Final = "workspace.json"

WORKSPACE_BYTES: Final = 16 * MIB
"""The largest workspace that is read; the app's own is some dozen KiB."""

WORKSPACE_NODES: Final = 10_000
"""The most splits, tab groups and tabs that are looked at."""

RECENT_FILES: Final = 50
"""The most recent files that are told; the app itself keeps ten."""


class OpenFile(Struct, frozen=True):
    """One tab. `shown` is true for the tab in front of its group, `view` is "markdown", "canvas", "pdf" …"""

    path: VaultPath
    view: str
    shown: bool
    pinned: bool


class Workspace(Struct, frozen=True):
    """`recent` is what the app lists as recent: folders, attachments and paths that are gone included.
    `problem` says why the file could not be used."""

    active: VaultPath | None = None
    open_files: tuple[OpenFile, ...] = ()
    recent: tuple[VaultPath, ...] = ()
    problem: str = ""


class _Tab(Struct, frozen=True):
    id: str
    file: OpenFile
    in_main: bool


def read_workspace(root: Root) -> Workspace:
    """Never raises: an absent file is an empty workspace, a broken one too, with the problem told."""
    try:
        with root.config(WORKSPACE_FILE).open("rb") as file:
            data = file.read(WORKSPACE_BYTES + 1)
    except FileNotFoundError:
        return Workspace()
    except OSError as error:
        return Workspace(problem=f"{WORKSPACE_FILE} cannot be read: {error.strerror}")
    if len(data) > WORKSPACE_BYTES:
        return Workspace(problem=f"{WORKSPACE_FILE} is too large to be read")
    return parse_workspace(data)


def parse_workspace(data: bytes) -> Workspace:
    try:
        tree = msgspec.json.decode(data)
    except JSON_FAULTS as error:
        return Workspace(problem=f"{WORKSPACE_FILE} is not valid JSON: {error}")
    if not isinstance(tree, dict):
        return Workspace(problem=f"{WORKSPACE_FILE} does not hold an object")
    tabs = [tab for part in ("main", "floating") for tab in _tabs(tree.get(part), in_main=part == "main")]
    listed = tree.get("lastOpenFiles")
    recent = (_path(item) for item in (listed if isinstance(listed, list) else [])[:RECENT_FILES])
    return Workspace(
        _active(tree.get("active"), tabs),
        tuple(tab.file for tab in tabs),
        tuple(dict.fromkeys(path for path in recent if path is not None)),
    )


def _active(active: Any, tabs: list[_Tab]) -> VaultPath | None:
    """The leaf that is named as active, if it holds a file and is no sidebar; else, because a sidebar leaf is
    often the active one, the front tab of the main area."""
    for tab in tabs:
        if tab.id and tab.id == active:
            return tab.file.path
    for tab in tabs:
        if tab.in_main and tab.file.shown:
            return tab.file.path
    return None


def _tabs(start: Any, *, in_main: bool) -> Iterator[_Tab]:
    """The tabs that hold a file, in the order of the window."""
    waiting: list[tuple[Any, bool]] = [(start, True)]
    for _ in range(WORKSPACE_NODES):
        if not waiting:
            return
        node, shown = waiting.pop()
        if not isinstance(node, dict):
            continue
        children = node.get("children")
        if isinstance(children, list):
            front = node.get("currentTab", 0) if node.get("type") == "tabs" else None
            inner = [
                (child, shown and (front is None or front == number)) for number, child in enumerate(children)
            ]
            waiting += reversed(inner)
        elif (tab := _tab(node, shown=shown, in_main=in_main)) is not None:
            yield tab


def _tab(leaf: dict[str, Any], *, shown: bool, in_main: bool) -> _Tab | None:
    view = leaf.get("state")
    state = view.get("state") if isinstance(view, dict) else None
    path = _path(state.get("file")) if isinstance(state, dict) else None
    if path is None or not isinstance(view, dict):
        return None
    kind = view.get("type")
    file = OpenFile(path, kind if isinstance(kind, str) else "", shown, leaf.get("pinned") is True)
    number = leaf.get("id")
    return _Tab(number if isinstance(number, str) else "", file, in_main)


def _path(value: Any) -> VaultPath | None:
    if not isinstance(value, str) or not value:
        return None
    try:
        return vault_path(value)
    except InvalidPath:
        return None
