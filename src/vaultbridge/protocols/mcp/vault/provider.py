"""What vaults offer over MCP: the tools of the catalog, files as resources, prompts and suggestions.

Implements `provider.Provider`. Creating it loads nothing: the list of tools, which every client requests
first, is a generated file; everything that needs the engine (`loaded`) is loaded, and the vaults are opened,
a moment later, or when something needs them. Whatever blocks runs in worker threads. It is independent of
protocol versions and transports.

    engines = VaultEngines({"Notes": lambda: open_engine(folder, scope=scope)})
    server = McpServer(make_offer(settings), lambda: VaultProvider(engines, settings))
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.errors import VaultbridgeError, VaultNotFound
from vaultbridge.protocols.mcp.apps import Apps
from vaultbridge.protocols.mcp.provider import Context, Offer
from vaultbridge.protocols.mcp.values import (
    Completion,
    Page,
    PromptInfo,
    PromptRef,
    PromptResult,
    PromptsChanged,
    ProviderChange,
    ResourceContents,
    ResourceInfo,
    ResourceRef,
    TemplateInfo,
    ToolInfo,
    ToolResult,
    ToolsChanged,
)
from vaultbridge.protocols.mcp.vault.changes import VaultChanges
from vaultbridge.protocols.mcp.vault.engines import VaultEngines
from vaultbridge.protocols.mcp.vault.listing import load_tool_list, render_instructions
from vaultbridge.protocols.mcp.vault.workers import Workers

if TYPE_CHECKING:
    from vaultbridge.engine import DirectEngine, Engine
    from vaultbridge.protocols.mcp.vault.loaded import Loaded
    from vaultbridge.review.policy import ReviewRules
    from vaultbridge.tools.base.catalog import Catalog
    from vaultbridge.tools.base.tool import Profile, ToolContext

SERVER_NAME: Final = "obsidian-mcp"
"""The name in document 004."""

WARM_SECONDS: Final = 0.05
"""How long after the start the engine is loaded if nothing needed it before: a client sends its first
requests within a few milliseconds, and loading must not delay them."""

POLICY_SECONDS: Final = 2.0
"""How often we check, with one small query, whether a person has switched review on or off. Nobody returns to
the chat sooner than that."""

CLOSE_SECONDS: Final = 5.0
"""How long `close` waits for the vaults: they have files and a thread to close."""

log = logging.getLogger(__name__)


class ProviderSettings(Struct, frozen=True, kw_only=True):
    """`restricted`: the engines' scopes hide some notes. `lead`: keep the vaults' indexes up to date.
    `quick_list`: until the catalog is loaded, list the standard tools. `reviewed`: changes may wait for a
    person."""

    profile: Profile = "full"
    read_only: bool = False
    restricted: bool = False
    prompt_folder: str = "Prompts"
    lead: bool = True
    quick_list: bool = True
    reviewed: bool = False


def make_offer(settings: ProviderSettings, *, vaults: int = 1, name: str = "") -> Offer:
    """What `initialize` answers, before anything is loaded."""
    return Offer(
        name=name or SERVER_NAME,
        description="An Obsidian vault: read, search, edit, link.",
        instructions=render_instructions(
            core=settings.profile == "core",
            read_only=settings.read_only or settings.profile == "read-only",
            restricted=settings.restricted,
            several=vaults > 1,
            reviewed=settings.reviewed,
        ),
        resources=True,
        subscriptions=True,
        prompts=True,
        completions=True,
        views=True,
    )


class VaultProvider:
    """Created and used in one event loop. `make_catalog` is called once, in a worker. `review` says, in a
    worker and for each change, which policy a vault has; without it nothing is reviewed."""

    def __init__(
        self,
        engines: VaultEngines,
        settings: ProviderSettings,
        *,
        make_catalog: Callable[[], Catalog] | None = None,
        extend_context: Callable[[ToolContext], ToolContext] | None = None,
        review: Callable[[Engine], ReviewRules] | None = None,
        at_close: Callable[[], None] | None = None,
    ) -> None:
        self._at_close = at_close
        self._loop = asyncio.get_running_loop()
        self._engines = engines
        self._settings = settings
        self._make_catalog = make_catalog
        self._extend_context = extend_context
        self._review = review
        self._workers = Workers()
        self._listeners: list[Callable[[ProviderChange], None]] = []
        self._loading = threading.Lock()
        self._loaded: Loaded | None = None
        self._load_task: asyncio.Task[Loaded] | None = None
        self._changes = VaultChanges(self._workers, self._announce)
        self._warmer: asyncio.Task[None] | None = None
        self._unlisten: Callable[[], None] | None = None
        self._closed = False
        self._policy_watch: asyncio.Task[None] | None = None
        self._listed: tuple[ToolInfo, ...] | None = None
        """The tools as last listed."""
        engines.on_open = self._opened
        self._warming = self._loop.call_later(WARM_SECONDS, self._warm)

    # Tools.

    async def list_tools(self) -> Sequence[ToolInfo]:
        if self._loaded is None and self._settings.quick_list:
            read_only = self._settings.read_only
            ready = load_tool_list(self._settings.profile, read_only=read_only, vaults=tuple(self._engines))
            if ready is not None:
                self._listed = ready
                return ready
        loaded = await self._load()
        self._listed = loaded.list_tools()
        return self._listed

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        return await (await self._load()).call_tool(name, arguments, context)

    async def list_apps(self) -> Apps:
        tools = await self.list_tools()
        loaded = await self._load()
        apps = await self._workers.run(lambda: loaded.apps.list_apps(tools))
        if self._policy_watch is None and not self._closed:
            self._policy_watch = self._loop.create_task(self._watch_policy(loaded))
            self._policy_watch.add_done_callback(_log_failure)
        return apps

    async def _watch_policy(self, loaded: Loaded) -> None:
        """Notice when a person switches review on or off in another process. This matters only to clients
        that show views: for others the tools are the same."""
        while True:
            await asyncio.sleep(POLICY_SECONDS)
            if await self._workers.run(loaded.apps.has_changed):
                self._announce(ToolsChanged(views=True))

    async def withholds(self, name: str) -> bool:
        settings = self._settings
        if not (settings.read_only or settings.profile == "read-only"):
            return False
        return (await self._load()).catalog.changes(name)

    # Resources.

    async def list_resources(self, cursor: str) -> Page[ResourceInfo]:
        await self.watch_resources()
        loaded = await self._load()
        return await self._workers.run(lambda: loaded.list_resources(cursor))

    async def watch_resources(self) -> None:
        await self._changes.watch_files()

    async def list_templates(self, cursor: str) -> Page[TemplateInfo]:
        return (await self._load()).list_templates()

    async def read_resource(self, uri: str, context: Context) -> Sequence[ResourceContents]:
        loaded = await self._load()
        return await self._workers.run(lambda: loaded.read_resource(uri))

    async def watch_resource(self, uri: str) -> None:
        await self.watch_resources()
        loaded = await self._load()
        await self._changes.watch(uri, lambda: loaded.locate(uri))

    async def unwatch_resource(self, uri: str) -> None:
        self._changes.unwatch(uri)

    # Prompts and suggestions.

    async def list_prompts(self, cursor: str) -> Page[PromptInfo]:
        loaded = await self._load()
        infos = await self._workers.run(loaded.prompts.list_infos)
        self._changes.watch_prompts(loaded.prompts, infos)
        return loaded.paginate_prompts(infos, cursor)

    async def get_prompt(self, name: str, arguments: dict[str, str], context: Context) -> PromptResult:
        loaded = await self._load()
        return await self._workers.run(lambda: loaded.prompts.get(name, arguments))

    async def complete(
        self, ref: PromptRef | ResourceRef, argument: str, value: str, others: Mapping[str, str]
    ) -> Completion:
        loaded = await self._load()
        return await self._workers.run(lambda: loaded.suggest(ref, argument, value, others.get("vault", "")))

    # Changes and the end.

    def subscribe(self, listener: Callable[[ProviderChange], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def close(self) -> None:
        """Close the vaults; after CLOSE_SECONDS they are left as they are."""
        self._closed = True
        if self._at_close is not None:
            self._at_close()
        self._warming.cancel()
        if self._warmer is not None:
            self._warmer.cancel()
        if self._policy_watch is not None:
            self._policy_watch.cancel()
        if self._unlisten is not None:
            self._unlisten()
        self._changes.close()
        self._workers.close()
        closer = Workers(1)
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await closer.run(self._engines.close)
        except TimeoutError:
            # This is not a warning: nothing is lost, since a vault survives a process that is killed, and its
            # owner can do nothing about a slow disk.
            log.debug("A vault did not close in time; what it was doing ends with the process.")
        finally:
            closer.close()

    def limit(self, *, read_only: bool) -> None:
        """Set whether changes are forbidden from now on, and announce changed lists. May be called from any
        thread."""
        with self._loading:
            if read_only == self._settings.read_only:
                return
            self._settings = replace(self._settings, read_only=read_only)
            if self._loaded is not None:
                self._loaded.limit(self._settings)
        self._announce_tools()
        self._call_in_loop(lambda: self._announce(PromptsChanged()))

    def _announce(self, change: ProviderChange) -> None:
        for listener in tuple(self._listeners):
            listener(change)

    # Loading.

    def _warm(self) -> None:
        async def warm() -> None:
            await self._load()
            for name in self._engines:
                try:
                    await self._workers.run(lambda name=name: self._engines[name])  # type: ignore[misc]
                except VaultNotFound as error:
                    # The path is in the log already, and the client's first call reports the error.
                    log.debug("The vault %s is not there: %s", name, error)
                except VaultbridgeError as error:
                    log.warning("The vault %s cannot be opened: %s", name, error)

        self._warmer = self._loop.create_task(warm())
        self._warmer.add_done_callback(_log_failure)

    async def _load(self) -> Loaded:
        if self._loaded is not None:
            return self._loaded
        if self._load_task is None:
            # One for all: calls that wait for it go on in the order in which they came.
            self._load_task = self._loop.create_task(self._workers.run(self._load_now))
            self._load_task.add_done_callback(self._end_loading)
        return await asyncio.shield(self._load_task)

    def _end_loading(self, task: asyncio.Task[Loaded]) -> None:
        if task.cancelled() or task.exception() is not None:
            self._load_task = None  # The next call tries again.

    def _load_now(self) -> Loaded:
        """Load the catalog and everything that needs the engine. Runs in a worker."""
        if self._loaded is not None:
            return self._loaded
        with self._loading:
            first = self._loaded is None
            loaded = self._loaded or self._load_parts()
            self._loaded = loaded
        if first:
            self._announce_tools()
        return loaded

    def _load_parts(self) -> Loaded:
        # The only place where this package reaches beyond what the first answers need.
        from vaultbridge.protocols.mcp.vault.loaded import Loaded

        loaded = Loaded(
            self._engines,
            self._settings,
            self._workers,
            self._loop,
            make_catalog=self._make_catalog,
            extend_context=self._extend_context,
            review=self._review,
        )
        # The catalog may be shared, and may outlive us.
        self._unlisten = loaded.catalog.listen(self._announce_tools)
        return loaded

    def _opened(self, name: str, engine: DirectEngine) -> None:
        """Called in a worker when a vault was opened: from now on its changes are announced."""
        for change in engine.recovered:
            log.warning("%s: recovered an interrupted change: %s", name, change)
        self._changes.attach(name, engine)
        engine.queries.prepare()
        if self._settings.lead:
            engine.index_sync.start()
            engine.start_embeddings()

    def _announce_tools(self) -> None:
        """Announce the list of tools if it has changed. May be called from any thread."""

        def compare() -> None:
            if self._listed is not None and self._loaded is not None and not self._closed:
                now = self._loaded.list_tools()
                if now != self._listed:
                    self._listed = now
                    self._announce(ToolsChanged())

        self._call_in_loop(compare)

    def _call_in_loop(self, work: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(work)
        except RuntimeError:
            # The loop has closed: nobody is listening.
            return


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("loading the vaults failed", exc_info=error)
