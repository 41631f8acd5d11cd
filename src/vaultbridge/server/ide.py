"""What a server offers to editors: each vault's editor hub, the sockets, and what Obsidian itself has open.

Connects `editor/`, the IDE protocols and their sockets to the engines. All vaults share one port: Claude Code
gets the hub of the vault it runs in, an editor gets that of the vault it names. Opens no port itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from aiohttp import web

from vaultbridge.activity.clients import Activity
from vaultbridge.editor.hub import EditorHub
from vaultbridge.editor.sources import NotesUnderReview, WorkspaceSource, follow_vault
from vaultbridge.editor.state import OBSIDIAN
from vaultbridge.editor.vault_view import EngineView
from vaultbridge.engine import DirectEngine, Engine
from vaultbridge.errors import TimedOut, VaultbridgeError
from vaultbridge.limits import CALL_SECONDS
from vaultbridge.protocols.claude_ide.dialect import ClaudeIde, IdeOptions
from vaultbridge.protocols.claude_ide.socket import MakeDialect, make_ide_endpoint
from vaultbridge.protocols.connection import cancel_and_wait
from vaultbridge.protocols.editor.server import ActivitySource, EditorServer
from vaultbridge.protocols.editor.socket import MakeEditorDialect, make_editor_endpoint
from vaultbridge.protocols.http.guard import HostGuard
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.vault.engines import VaultEngines
from vaultbridge.protocols.websocket.endpoint import PING_SECONDS, is_upgrade
from vaultbridge.review.policy import ReviewRules
from vaultbridge.review.reviews import Reviews
from vaultbridge.server.config.model import IdeConfig
from vaultbridge.tools.base.tool import ActiveNote, OpenFile, SelectedText
from vaultbridge.vault.obsidian import is_obsidian_running, read_workspace
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.scope import Scope
from vaultbridge.web.api.assistants import Editor

if TYPE_CHECKING:
    from vaultbridge.vault.obsidian import Workspace

HUB_SECONDS: Final = 2.0
"""How long a tool waits for the event loop, which never blocks for long."""

log = logging.getLogger("vaultbridge.review")

T = TypeVar("T")

PageHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class BridgeSockets:
    """The two WebSocket routes of a bridge: `/` for Claude Code, `/editor` for people's editors. Call `start`
    when the application runs, and `stop` before it ends."""

    def __init__(
        self,
        token: str,
        ide: MakeDialect,
        editor: MakeEditorDialect,
        *,
        guard: HostGuard | None = None,
        ping_seconds: float = PING_SECONDS,
        call_seconds: float = CALL_SECONDS,
        activity: Activity | None = None,
    ) -> None:
        guard = guard or HostGuard()
        self.ide = make_ide_endpoint(
            token, ide, guard, ping_seconds=ping_seconds, call_seconds=call_seconds, activity=activity
        )
        self.editor = make_editor_endpoint(
            token, editor, guard, ping_seconds=ping_seconds, call_seconds=call_seconds
        )
        self._health: list[asyncio.Task[None]] = []

    def add_routes(self, app: web.Application, *, page: PageHandler | None = None) -> None:
        """`/` upgrades to the IDE socket; `page`, if there is one, answers any other GET of it."""

        async def answer(request: web.Request) -> web.StreamResponse:
            if page is not None and not is_upgrade(request):
                return await page(request)
            return await self.ide.request_handler(request)

        app.router.add_get("/", answer)
        app.router.add_get("/editor", self.editor.request_handler)

    def start(self) -> None:
        self._health = [
            asyncio.create_task(endpoint.run_health_checks()) for endpoint in (self.ide, self.editor)
        ]

    async def stop(self) -> None:
        """Close every connection (1001) and stop the health checks."""
        for task in self._health:
            await cancel_and_wait(task)
        self._health = []
        await asyncio.gather(self.ide.shut_down(), self.editor.shut_down())


class _VaultEditor:
    """One vault's hub, and what keeps it up to date."""

    def __init__(
        self,
        engine: DirectEngine,
        server: McpServer,
        token: str,
        options: IdeOptions,
        *,
        share_selection: bool,
        find_rules: Callable[[Engine], ReviewRules],
        reopen: Callable[[DirectEngine, Scope], DirectEngine],
    ) -> None:
        self.engine = engine
        self.hub = EditorHub(engine.scope.visible, share_selection=share_selection)
        self.reviews = Reviews(engine, find_rules, partial(reopen, engine))
        self.hub.reviews = self.reviews
        self.hub.diffs.store = self.reviews.store
        view = EngineView(engine, find_rules)
        self.ide = ClaudeIde(view, self.hub, server, options)
        self.editors = EditorServer(view, self.hub, self.ide, token)
        self._workspace = WorkspaceSource(engine.root, self.hub.state, is_obsidian_running)
        self._following: tuple[asyncio.Task[None], ...] = ()
        self._notes = NotesUnderReview(engine.root, self._list_notes, self._notes_changed)
        self._unsubscribe: Callable[[], None] | None = None

    def start(self) -> None:
        self._unsubscribe = follow_vault(self.engine, self.hub.state)
        self._following = (
            asyncio.create_task(self._workspace.follow()),
            asyncio.create_task(self.reviews.follow()),
            asyncio.create_task(self._notes.follow()),
        )

    def _list_notes(self) -> frozenset[VaultPath]:
        return self.reviews.list_paths() | self.hub.diffs.list_paths()

    async def _notes_changed(self, paths: frozenset[VaultPath]) -> None:
        try:
            await self.hub.diffs.notes_changed(paths)
            await self.reviews.notes_changed(paths)
        except VaultbridgeError as error:
            log.warning("%s", error)

    async def stop(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
        for task in self._following:
            await cancel_and_wait(task)
        await self.reviews.stop()


class IdeService:
    """Create it in the event loop. Call `start` when the port is served, and `stop` before the server
    ends."""

    def __init__(
        self,
        engines: Sequence[DirectEngine],
        server: McpServer,
        token: str,
        config: IdeConfig,
        *,
        guard: HostGuard,
        share_selection: bool,
        call_seconds: float,
        find_rules: Callable[[Engine], ReviewRules],
        reopen: Callable[[DirectEngine, Scope], DirectEngine],
        activity: Activity | None = None,
    ) -> None:
        options = IdeOptions(relative_paths=config.relative_paths, quote_mentions=config.quote_mentions)
        self._vaults = [
            _VaultEditor(
                engine,
                server,
                token,
                options,
                share_selection=share_selection,
                find_rules=find_rules,
                reopen=reopen,
            )
            for engine in engines
        ]
        for vault in self._vaults:
            others = [other for other in self._vaults if other is not vault]
            vault.ide.others = tuple(other.ide for other in others)
            vault.editors.others = tuple(other.editors for other in others)
        first = self._vaults[0]
        self.sockets = BridgeSockets(
            token,
            first.ide.dialect,
            first.editors.dialect,
            guard=guard,
            call_seconds=call_seconds,
            activity=activity,
        )

    @property
    def hubs(self) -> tuple[tuple[Path, EditorHub], ...]:
        """The folder and hub of each vault."""
        return tuple((vault.engine.root.folder, vault.hub) for vault in self._vaults)

    def show_activity(self, source: ActivitySource) -> None:
        """Let editors follow what assistants do."""
        for vault in self._vaults:
            vault.editors.activity = source

    def list_editors(self) -> list[Editor]:
        return [
            Editor(name, app, vault.editors.view.name)
            for vault in self._vaults
            for name, app in vault.editors.connected.items()
        ]

    def has_companion(self, vault: str) -> bool:
        """Whether Obsidian is connected and has this vault open."""
        return any((editor.app, editor.vault) == (OBSIDIAN, vault) for editor in self.list_editors())

    def add_routes(self, app: web.Application, page: PageHandler) -> None:
        self.sockets.add_routes(app, page=page)

    def start(self) -> None:
        self.sockets.start()
        for vault in self._vaults:
            vault.start()

    async def stop(self) -> None:
        for vault in self._vaults:
            await vault.stop()
        await self.sockets.stop()


class HubAccess:
    """Shows the tools, which run in threads, what people have open (`tools.base.tool.EditorAccess`). For a
    vault without a hub, it reads the app's workspace file."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._hubs: dict[Path, EditorHub] = {}
        self.engines: VaultEngines | None = None

    def add_hub(self, folder: Path, hub: EditorHub) -> None:
        self._hubs = {**self._hubs, folder: hub}

    def focus(self, folder: Path) -> ActiveNote | None:
        hub = self._hubs.get(folder)
        if hub is None:
            workspace = self._read_workspace(folder)
            return None if workspace is None or workspace.active is None else ActiveNote(workspace.active)
        focus = self._run_in_loop(hub.state.focus)
        if focus is None:
            return None
        selection = focus.selection
        return ActiveNote(focus.path, SelectedText(selection.text, selection.start.line, selection.end.line))

    def open_files(self, folder: Path) -> Sequence[OpenFile]:
        hub = self._hubs.get(folder)
        if hub is None:
            workspace = self._read_workspace(folder)
            paths = [] if workspace is None else [file.path for file in workspace.open_files]
            return [OpenFile(path) for path in dict.fromkeys(paths)]
        return [OpenFile(file.path, dirty=file.dirty) for file in self._run_in_loop(hub.state.open_files)]

    def _run_in_loop(self, read: Callable[[], T]) -> T:
        """Run `read` in the event loop, which owns the state."""

        async def run() -> T:
            return read()

        future = asyncio.run_coroutine_threadsafe(run(), self._loop)
        try:
            return future.result(HUB_SECONDS)
        except TimeoutError:
            future.cancel()
            raise TimedOut("The editor's state could not be read in time.") from None

    def _read_workspace(self, folder: Path) -> Workspace | None:
        opened = self.engines.opened().values() if self.engines is not None else ()
        root = next((engine.root for engine in opened if engine.root.folder == folder), None)
        return read_workspace(root) if root is not None else None
