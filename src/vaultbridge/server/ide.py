"""The IDE side of a server: each vault's desk, the sockets to them, and what Obsidian itself has open.

Joins `editor/`, the IDE dialects and their sockets to the engines. All vaults are behind one port: Claude
Code is at the desk of the vault it runs in, an editor at that of the vault it names. Opens no port itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from aiohttp import web

from vaultbridge.editor.hub import EditorHub
from vaultbridge.editor.sources import WorkspaceSource, follow_vault
from vaultbridge.editor.vault_view import EngineView
from vaultbridge.engine import Engine
from vaultbridge.errors import TimedOut
from vaultbridge.protocols.claude_ide.dialect import ClaudeIde, IdeOptions
from vaultbridge.protocols.claude_ide.server import IdeServer, Page
from vaultbridge.protocols.connection import cancel_and_wait
from vaultbridge.protocols.editor.server import EditorServer
from vaultbridge.protocols.http.guard import HostGuard
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.vault.engines import VaultEngines
from vaultbridge.server.config.model import IdeConfig
from vaultbridge.tools.base.tool import ActiveNote, OpenFile, SelectedText
from vaultbridge.vault.obsidian import is_obsidian_running

if TYPE_CHECKING:
    from vaultbridge.vault.obsidian import Workspace

DESK_SECONDS: Final = 2.0
"""How long a tool waits for the event loop, which does nothing long."""

T = TypeVar("T")


class _Place:
    """One vault's desk, and what is told to it."""

    def __init__(
        self, engine: Engine, server: McpServer, token: str, options: IdeOptions, *, share_selection: bool
    ) -> None:
        self.engine = engine
        self.desk = EditorHub(engine.scope.visible, share_selection=share_selection)
        view = EngineView(engine)
        self.ide = ClaudeIde(view, self.desk, server, options)
        self.editors = EditorServer(view, self.desk, self.ide, token)
        self._workspace = WorkspaceSource(engine.root, self.desk.state, is_obsidian_running)
        self._looking: asyncio.Task[None] | None = None
        self._unlisten: Callable[[], None] | None = None

    def start(self) -> None:
        self._unlisten = follow_vault(self.engine, self.desk.state)
        self._looking = asyncio.create_task(self._workspace.follow())

    async def stop(self) -> None:
        if self._unlisten is not None:
            self._unlisten()
        if self._looking is not None:
            await cancel_and_wait(self._looking)


class IdeSide:
    """Make it in the event loop; `start` when the port is served, `stop` before the server ends."""

    def __init__(
        self,
        engines: Sequence[Engine],
        server: McpServer,
        token: str,
        config: IdeConfig,
        *,
        guard: HostGuard,
        share_selection: bool,
        call_seconds: float,
    ) -> None:
        options = IdeOptions(relative_paths=config.relative_paths, quote_mentions=config.quote_mentions)
        self._places = [
            _Place(engine, server, token, options, share_selection=share_selection) for engine in engines
        ]
        for place in self._places:
            others = [one for one in self._places if one is not place]
            place.ide.others = tuple(one.ide for one in others)
            place.editors.others = tuple(one.editors for one in others)
        first = self._places[0]
        self.sockets = IdeServer(
            token, first.ide.dialect, first.editors.dialect, guard=guard, call_seconds=call_seconds
        )

    @property
    def desks(self) -> tuple[tuple[Path, EditorHub], ...]:
        """Each vault's folder and desk."""
        return tuple((place.engine.root.folder, place.desk) for place in self._places)

    def add_routes(self, app: web.Application, page: Page) -> None:
        self.sockets.add_routes(app, page=page)

    def start(self) -> None:
        self.sockets.start()
        for place in self._places:
            place.start()

    async def stop(self) -> None:
        for place in self._places:
            await place.stop()
        await self.sockets.stop()


class HubAccess:
    """What people have open, for the tools, which run in threads (`tools.base.tool.EditorPort`). Of a vault
    without a desk it tells what the app's workspace file says."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._desks: dict[Path, EditorHub] = {}
        self.engines: VaultEngines | None = None

    def desk_of(self, folder: Path, desk: EditorHub) -> None:
        self._desks = {**self._desks, folder: desk}

    def focus(self, folder: Path) -> ActiveNote | None:
        desk = self._desks.get(folder)
        if desk is None:
            workspace = self._workspace(folder)
            return None if workspace is None or workspace.active is None else ActiveNote(workspace.active)
        found = self._ask(desk.state.focus)
        if found is None:
            return None
        selection = found.selection
        return ActiveNote(found.path, SelectedText(selection.text, selection.start.line, selection.end.line))

    def open_files(self, folder: Path) -> Sequence[OpenFile]:
        desk = self._desks.get(folder)
        if desk is None:
            workspace = self._workspace(folder)
            paths = [] if workspace is None else [file.path for file in workspace.open_files]
            return [OpenFile(path) for path in dict.fromkeys(paths)]
        return [OpenFile(file.path, dirty=file.dirty) for file in self._ask(desk.state.open_files)]

    def _ask(self, question: Callable[[], T]) -> T:
        """The state belongs to the event loop."""

        async def answer() -> T:
            return question()

        future = asyncio.run_coroutine_threadsafe(answer(), self._loop)
        try:
            return future.result(DESK_SECONDS)
        except TimeoutError:
            future.cancel()
            raise TimedOut("The editor's state could not be read in time.") from None

    def _workspace(self, folder: Path) -> Workspace | None:
        from vaultbridge.vault.obsidian import read_workspace

        opened = self.engines.opened().values() if self.engines is not None else ()
        root = next((engine.root for engine in opened if engine.root.folder == folder), None)
        return read_workspace(root) if root is not None else None
