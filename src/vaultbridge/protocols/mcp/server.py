"""What all connections of one MCP server share: the offer, the provider (made on first use) and its changes.

What concerns a single client is in `dialect.McpDialect`, made per connection by `dialect.mcp_dialect`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from vaultbridge.protocols.mcp.context import StateSigner
from vaultbridge.protocols.mcp.failures import ToolErrors
from vaultbridge.protocols.mcp.provider import Offer, Provider
from vaultbridge.protocols.mcp.values import ProviderChange, ToolInfo, ToolsChanged

LIST_TTL_MS: Final = 60_000
"""How long a 2026-07-28 client may cache a list of tools, prompts or templates. Changes are announced at once
to clients that listen; for the others a list is stale for a minute at most."""

ProviderListener = Callable[[ProviderChange], None]


class McpServer:
    """An MCP server, shared by its connections. `factory` may be slow or fail: it is called on first use, and
    again after a failure."""

    def __init__(
        self,
        offer: Offer,
        factory: Callable[[], Awaitable[Provider]],
        *,
        tool_errors: ToolErrors = "auto",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.offer = offer
        self.tool_errors: ToolErrors = tool_errors
        self.signer = StateSigner(clock)
        self._factory = factory
        self._provider: Provider | None = None
        self._making = asyncio.Lock()
        self._unsubscribe: Callable[[], None] | None = None
        self._listeners: set[ProviderListener] = set()
        self._tools: dict[str, ToolInfo] | None = None
        self._watched: Counter[str] = Counter()
        self._watching = asyncio.Lock()

    async def provider(self) -> Provider:
        """The provider, created now if it does not exist yet. Raises what the factory raises."""
        if self._provider is not None:
            return self._provider
        async with self._making:
            if self._provider is None:
                provider = await self._factory()
                self._unsubscribe = provider.subscribe(self._changed)
                self._provider = provider
            return self._provider

    async def tools(self) -> dict[str, ToolInfo]:
        """All tools by name, in order. Cached until the provider announces a change."""
        if self._tools is None:
            tools = await (await self.provider()).list_tools()
            self._tools = {tool.name: tool for tool in tools}
        return self._tools

    def cached_tool(self, name: str) -> ToolInfo | None:
        """A tool, if the list has been requested before."""
        return self._tools.get(name) if self._tools is not None else None

    def may_change(self, name: object) -> bool:
        """Whether a tool may change something: one that is not known to read only. Before the tools have been
        listed, none is."""
        tool = self.cached_tool(name) if isinstance(name, str) else None
        return tool is None or tool.annotations is None or not tool.annotations.read_only_hint

    def listen(self, listener: ProviderListener) -> None:
        self._listeners.add(listener)

    def unlisten(self, listener: ProviderListener) -> None:
        self._listeners.discard(listener)

    async def watch(self, uri: str) -> None:
        """Add a subscriber of a resource; the first one is passed on to the provider. Raises NotFound."""
        async with self._watching:
            if self._watched[uri] == 0:
                await (await self.provider()).watch_resource(uri)
            self._watched[uri] += 1

    async def unwatch(self, uri: str) -> None:
        async with self._watching:
            self._watched[uri] -= 1
            if self._watched[uri] <= 0:
                del self._watched[uri]
                if self._provider is not None:
                    await self._provider.unwatch_resource(uri)

    async def close(self) -> None:
        """Close the provider if there is one."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        provider, self._provider, self._tools = self._provider, None, None
        if provider is not None:
            await provider.close()

    def _changed(self, change: ProviderChange) -> None:
        if isinstance(change, ToolsChanged):
            self._tools = None
        for listener in tuple(self._listeners):
            listener(change)
