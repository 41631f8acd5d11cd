"""Notes that vanish from the vault vanish from the editor state: an assistant must not be told of a file
that is gone. Nothing else of a change concerns the state; a rename is told by the editor that shows the note.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from vaultbridge.editor.state import EditorState
from vaultbridge.engine import Engine
from vaultbridge.vault.paths import VaultPath


def follow_vault(engine: Engine, state: EditorState) -> Callable[[], None]:
    """Follow the engine's changes from now on; returns how to stop. Call it in the event loop's thread."""
    loop = asyncio.get_running_loop()

    def changed(paths: frozenset[VaultPath] | None) -> None:
        # Called from the thread that made or noticed the change.
        gone = tuple(
            path for path in state.named() if _concerns(path, paths) and not engine.root.exists(path)
        )
        if gone and not loop.is_closed():
            loop.call_soon_threadsafe(_remove, state, gone)

    return engine.freshness.listen(changed)


def _concerns(path: VaultPath, changed: frozenset[VaultPath] | None) -> bool:
    """A deleted folder is told by its own path only."""
    if changed is None or path in changed:
        return True
    return any(path.startswith(folder + "/") for folder in changed)


def _remove(state: EditorState, gone: tuple[VaultPath, ...]) -> None:
    for path in gone:
        state.removed(path)
