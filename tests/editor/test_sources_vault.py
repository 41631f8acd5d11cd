"""A note that is deleted through the engine or behind its back is left by everybody."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from support.vault_view import VaultView
from vaultbridge.editor.model import OpenTab
from vaultbridge.editor.sources import follow_vault
from vaultbridge.editor.state import EditorState
from vaultbridge.engine.operations import Delete, ReplaceText
from vaultbridge.vault.paths import vault_path

A, B = vault_path("A.md"), vault_path("Folder/B.md")


VAULT = {A: "a", B: "b"}


async def wait_until_gone(state: EditorState, changed: asyncio.Event, path: str) -> None:
    async with asyncio.timeout(60):
        while path in state.named_paths():
            await changed.wait()
            changed.clear()


async def test_deleted_notes_lose_the_focus_and_changed_ones_do_not(vault: Path) -> None:
    view = VaultView(vault)
    state = EditorState(lambda path: True)
    state.join("page", "page")
    state.files_open("page", [OpenTab(A), OpenTab(B)])
    state.focus_on("page", A)
    changed = asyncio.Event()
    state.subscribe(changed.set)
    stop = follow_vault(view.engine, state)
    await asyncio.to_thread(view.engine.apply, [ReplaceText(note="A.md", old="a", new="c")])
    assert state.focus() is not None
    await asyncio.to_thread(view.engine.apply, [Delete(note="A.md")])
    await wait_until_gone(state, changed, A)
    assert state.focus() is None
    view.engine.index_sync.start()
    shutil.rmtree(vault / "Folder")
    await wait_until_gone(state, changed, B)
    assert state.open_files() == ()
    stop()
    view.close()
