"""A Bridge v1 server on a real port, with tools that do what the tests of HTTP need and no vault behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from support.waiting import BOUND
from vaultbridge.errors import NoteNotFound
from vaultbridge.protocols.bridge_v1.routes import add_bridge_routes
from vaultbridge.protocols.http.guard import HostGuard
from vaultbridge.protocols.mcp.http.endpoint import Authorize, Grant
from vaultbridge.protocols.mcp.provider import Context, EmptyProvider, Offer, Provider
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.values import (
    ImageContent,
    ProviderChange,
    TextContent,
    ToolInfo,
    ToolResult,
    ToolsChanged,
)

PIXEL = bytes.fromhex("89504e470d0a1a0a")

SECRET = "/home/somebody/secret"

READ_NOTE = ToolInfo(
    name="obsidian_read_note",
    description="Read a note by path",
    input_schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


class SampleProvider(EmptyProvider):
    """`tools` may be changed at any time; `announce` tells the server."""

    def __init__(self) -> None:
        self.tools: list[ToolInfo] = [
            READ_NOTE,
            *(
                ToolInfo(name=name, description=f"Does {name}", input_schema={"type": "object"})
                for name in (
                    "obsidian_picture",
                    "obsidian_crash",
                    "obsidian_stuck",
                    "obsidian_data",
                    "odd name/é",
                )
            ),
        ]
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.entered = asyncio.Event()
        self.release = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.cancelled_tools: list[str] = []
        self.completed = asyncio.Event()
        self._listeners: list[Callable[[ProviderChange], None]] = []

    async def list_tools(self) -> Sequence[ToolInfo]:
        return tuple(self.tools)

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        self.calls.append((name, arguments))
        match name:
            case "obsidian_read_note":
                if arguments.get("path") == "Notes/Missing.md":
                    raise NoteNotFound("Notes/Missing.md")
                return ToolResult((TextContent(text=f"# {arguments.get('path')}"),))
            case "obsidian_picture":
                return ToolResult((TextContent(text="look"), ImageContent(data=PIXEL, mime_type="image/png")))
            case "obsidian_crash":
                raise RuntimeError(SECRET)
            case "obsidian_stuck" | "obsidian_stuck_reading":
                self.entered.set()
                try:
                    await self.release.wait()
                except asyncio.CancelledError:
                    self.cancelled_tools.append(name)
                    self.cancelled.set()
                    raise
                self.completed.set()
                return ToolResult((TextContent(text="at last"),))
            case "obsidian_data":
                return ToolResult((), structured={"n": 1})
            case _:
                return ToolResult((TextContent(text=name),), is_error=bool(arguments.get("fail")))

    def subscribe(self, listener: Callable[[ProviderChange], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def announce(self) -> None:
        for listener in tuple(self._listeners):
            listener(ToolsChanged())


def make_server(provider: Provider) -> McpServer:
    async def make() -> Provider:
        return provider

    return McpServer(Offer(), make)


class Bridge:
    def __init__(self, port: int, provider: SampleProvider, http: aiohttp.ClientSession) -> None:
        self.port = port
        self.provider = provider
        self.http = http

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def at(self, path: str) -> str:
        return f"{self.url}/bridge/v1{path}"


@asynccontextmanager
async def running(
    *,
    guard: HostGuard | None = None,
    authorize: Authorize | None = None,
    provider: SampleProvider | None = None,
    server: McpServer | None = None,
    port: int = 0,
    **options: Any,
) -> AsyncIterator[Bridge]:
    provider = provider or SampleProvider()
    served = server or make_server(provider)

    async def allow_anybody(request: web.Request) -> Grant:
        return Grant(served)

    app = web.Application()
    add_bridge_routes(app, guard=guard or HostGuard(), authorize=authorize or allow_anybody, **options)
    runner = web.AppRunner(
        app, access_log=None, shutdown_timeout=1, keepalive_timeout=5, auto_decompress=False
    )
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, reuse_address=True)
    await site.start()
    opened = runner.addresses[0][1]
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(BOUND)) as http:
            yield Bridge(opened, provider, http)
    finally:
        provider.release.set()
        await runner.cleanup()
