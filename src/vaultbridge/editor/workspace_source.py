"""Obsidian's own tabs as a source of editor state, while no companion tells more.

Reads `workspace.json` when told that it may have changed; watching it is the caller's duty
(`vault.watch` reports `WorkspaceChanged`). What the file says while Obsidian is not running is what was open
when it quit, so it counts only while `is_running` says so.
"""

from __future__ import annotations

from collections.abc import Callable

from vaultbridge.editor.model import OpenFile
from vaultbridge.editor.state import OBSIDIAN, WORKSPACE, EditorState
from vaultbridge.vault.paths import Root, VaultPath
from vaultbridge.vault.workspace import read_workspace


class WorkspaceSource:
    """Call `refresh` in the event loop's thread: at the start, on every change of the file, and now and then
    because Obsidian may have quit. It reads one small file."""

    def __init__(self, root: Root, state: EditorState, is_running: Callable[[], bool]) -> None:
        self._root = root
        self._state = state
        self._is_running = is_running
        self._joined = False

    def refresh(self) -> None:
        if not self._is_running():
            self.stop()
            return
        workspace = read_workspace(self._root)
        if workspace.problem:
            # Half-written or broken: what was known stays until the next change.
            return
        if not self._joined:
            self._state.join(WORKSPACE, OBSIDIAN)
            self._joined = True
        shown: dict[VaultPath, OpenFile] = {}
        for file in workspace.open_files:
            shown.setdefault(file.path, OpenFile(file.path, pinned=file.pinned))
        self._state.files_open(WORKSPACE, shown.values())
        self._state.focus_on(WORKSPACE, workspace.active)

    def stop(self) -> None:
        if self._joined:
            self._joined = False
            self._state.leave(WORKSPACE)
