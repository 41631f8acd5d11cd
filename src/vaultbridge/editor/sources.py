"""Keeps the editor state current from the vault's own files: Obsidian's tabs, and notes that are deleted.

`WorkspaceSource` reports the tabs in Obsidian's `workspace.json` while no companion reports more. It polls
the file's stat and reads it when that has changed. (The vault's watcher would notice too, but only the
process that leads the index has one.) While Obsidian is not running the file says what was open when it quit,
so it counts only while `is_running` returns true.

`NotesUnderReview` notices when a note changes for which a change is proposed.

`follow_vault` removes deleted notes from the state: an assistant must not be told about a file that is gone.
No other change matters here; the editor that shows a note reports when it is moved.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from vaultbridge.editor.model import OpenTab
from vaultbridge.editor.state import OBSIDIAN, WORKSPACE, EditorState
from vaultbridge.engine import Engine
from vaultbridge.errors import VaultbridgeError
from vaultbridge.system import FileStat, stat_file
from vaultbridge.vault.obsidian import WORKSPACE_FILE, read_workspace
from vaultbridge.vault.paths import VaultFolder, VaultPath


def follow_vault(engine: Engine, state: EditorState) -> Callable[[], None]:
    """Follow the engine's changes until the returned function is called. Call it in the event loop's
    thread."""
    loop = asyncio.get_running_loop()

    def changed(paths: frozenset[VaultPath] | None) -> None:
        # Called from the thread that made or noticed the change.
        gone = tuple(
            path for path in state.named_paths() if _is_affected(path, paths) and not engine.root.exists(path)
        )
        if gone and not loop.is_closed():
            loop.call_soon_threadsafe(_remove_paths, state, gone)

    return engine.index_sync.listen(changed)


def _is_affected(path: VaultPath, changed: frozenset[VaultPath] | None) -> bool:
    """Whether `path` or a folder above it changed: a deleted folder is reported by its own path only."""
    if changed is None or path in changed:
        return True
    return any(path.startswith(folder + "/") for folder in changed)


def _remove_paths(state: EditorState, gone: tuple[VaultPath, ...]) -> None:
    for path in gone:
        state.removed(path)


POLL_SECONDS: Final = 0.5
"""How often file stats are compared. Obsidian writes its tabs a second after they change; this adds little
to that, and a stat takes microseconds."""

WATCHED_FILES: Final = 500
"""The most files whose stats are compared in one round, which takes about a millisecond."""


class NotesUnderReview:
    """Notices when a file changes for which a change is proposed. It compares file stats, because only the
    process that leads the index has a watcher. Run `follow` as a task."""

    def __init__(
        self,
        root: VaultFolder,
        list_paths: Callable[[], Iterable[VaultPath]],
        changed: Callable[[frozenset[VaultPath]], Awaitable[None]],
    ) -> None:
        self._root = root
        self._list_paths = list_paths
        self._changed = changed
        self._seen: dict[VaultPath, FileStat | None] = {}

    async def follow(self) -> None:
        """Runs until cancelled."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            paths = tuple(itertools.islice(self._list_paths(), WATCHED_FILES))
            if paths or self._seen:
                await self._compare(paths)

    async def _compare(self, paths: tuple[VaultPath, ...]) -> None:
        before = self._seen
        self._seen = await asyncio.to_thread(lambda: {path: self._stat(path) for path in paths})
        # A file that was not watched before may have changed since its proposal was made.
        changed = {path for path, stat in self._seen.items() if path not in before or before[path] != stat}
        if changed:
            await self._changed(frozenset(changed))

    def _stat(self, path: VaultPath) -> FileStat | None:
        try:
            return stat_file(self._root.place(path))
        except VaultbridgeError:
            return None


POLLS_PER_RUNNING_CHECK: Final = 10
"""How many polls pass between two checks whether Obsidian is still running, which take a little longer."""


class WorkspaceSource:
    """Run `follow` as a task, or call `refresh` whenever something may have changed. Both belong in the event
    loop's thread: they read one small file."""

    def __init__(self, root: VaultFolder, state: EditorState, is_running: Callable[[], bool]) -> None:
        self._root = root
        self._state = state
        self._is_running = is_running
        self._joined = False

    async def follow(self, look_seconds: float = POLL_SECONDS) -> None:
        """Runs until cancelled."""
        seen: FileStat | None = None
        for count in itertools.count():
            stat = stat_file(self._root.config(WORKSPACE_FILE))
            if stat != seen or count % POLLS_PER_RUNNING_CHECK == 0:
                seen = stat
                self.refresh()
            await asyncio.sleep(look_seconds)

    def refresh(self) -> None:
        if not self._is_running():
            self.stop()
            return
        workspace = read_workspace(self._root)
        if workspace.problem:
            # Half-written or broken: the last state stays until the next change.
            return
        if not self._joined:
            self._state.join(WORKSPACE, OBSIDIAN)
            self._joined = True
        open_files: dict[VaultPath, OpenTab] = {}
        for file in workspace.open_files:
            open_files.setdefault(file.path, OpenTab(file.path, pinned=file.pinned))
        self._state.files_open(WORKSPACE, open_files.values())
        self._state.focus_on(WORKSPACE, workspace.active)

    def stop(self) -> None:
        if self._joined:
            self._joined = False
            self._state.leave(WORKSPACE)
