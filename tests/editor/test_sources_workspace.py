"""Obsidian's workspace file as a source of state."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from vaultbridge.editor.model import TOP_OF_NOTE, Focus, OpenTab
from vaultbridge.editor.sources import WorkspaceSource
from vaultbridge.editor.state import OBSIDIAN, WORKSPACE, EditorState
from vaultbridge.vault.paths import VaultFolder, vault_path


class App:
    """Obsidian as far as the bridge can see it: a file, and whether it runs."""

    def __init__(self, vault: Path) -> None:
        (vault / ".obsidian").mkdir()
        self._file = vault / ".obsidian" / "workspace.json"
        self.running = True
        self.state = EditorState(lambda path: not path.startswith("Private/"))
        self.source = WorkspaceSource(VaultFolder(vault), self.state, lambda: self.running)

    def show_files(self, *files: str, front: int = 0, pinned: str = "", read: bool = True) -> None:
        leaves = [
            {
                "id": f"leaf{number}",
                "type": "leaf",
                "pinned": file == pinned,
                "state": {"type": "markdown", "state": {"file": file}},
            }
            for number, file in enumerate(files)
        ]
        tabs = {"id": "t", "type": "tabs", "currentTab": front, "children": leaves}
        tree = {"main": {"id": "m", "type": "split", "children": [tabs]}, "active": "sidebar"}
        self._file.write_text(json.dumps(tree))
        if read:
            self.source.refresh()

    def write_workspace(self, text: str) -> None:
        self._file.write_text(text)
        self.source.refresh()


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App(tmp_path)


def test_tabs_and_the_active_one_are_reported(app: App) -> None:
    app.show_files("A.md", "B.md", "A.md", front=1, pinned="B.md")
    assert app.state.focus() == Focus(vault_path("B.md"), TOP_OF_NOTE, WORKSPACE)
    assert app.state.open_files() == (OpenTab(vault_path("A.md")), OpenTab(vault_path("B.md"), pinned=True))
    app.show_files("A.md")
    assert app.state.focus() == Focus(vault_path("A.md"), TOP_OF_NOTE, WORKSPACE)


def test_closing_everything_clears_it(app: App) -> None:
    app.show_files("A.md")
    app.show_files()
    assert app.state.focus() is None


def test_a_half_written_file_changes_nothing(app: App) -> None:
    app.show_files("A.md")
    app.write_workspace('{"main": {')
    assert app.state.focus() is not None


def test_an_app_that_does_not_run_reports_nothing(app: App) -> None:
    """The file keeps what was open when it quit."""
    app.running = False
    app.show_files("A.md")
    assert app.state.focus() is None
    app.running = True
    app.source.refresh()
    assert app.state.focus() is not None
    app.running = False
    app.source.refresh()
    assert app.state.focus() is None
    assert app.state.sources() == ()


def test_the_companion_outranks_it(app: App) -> None:
    app.state.join("editor-1", OBSIDIAN)
    app.state.focus_on("editor-1", vault_path("B.md"))
    app.show_files("A.md")
    assert app.state.focus() == Focus(vault_path("B.md"), TOP_OF_NOTE, "editor-1")


def test_a_private_tab_is_not_reported(app: App) -> None:
    app.show_files("Private/Diary.md", "A.md")
    assert app.state.focus() is None
    assert app.state.open_files() == (OpenTab(vault_path("A.md")),)


async def test_the_file_is_followed_live(app: App) -> None:
    changed = asyncio.Event()
    app.state.subscribe(changed.set)
    following = asyncio.ensure_future(app.source.follow(look_seconds=0.001))
    try:
        for name in ("A.md", "B.md"):
            changed.clear()
            app.show_files(name, read=False)
            async with asyncio.timeout(60):
                while (focus := app.state.focus()) is None or focus.path != name:
                    await changed.wait()
                    changed.clear()
        app.running = False
        async with asyncio.timeout(60):
            while app.state.focus() is not None:
                await changed.wait()
                changed.clear()
    finally:
        following.cancel()
