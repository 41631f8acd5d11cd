"""Real servers for the client's tests: a WebSocket echo, and the official SDK's server behind a WebSocket."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from aiohttp import WSMsgType, web

from support.ports import held_port

ACCEPTING_TURNS = 4
"""After how many turns of the loop a connection that asyncio has accepted is known to the server's runner."""


class Server:
    """An aiohttp server on a free (or given) port of 127.0.0.1. `connections` counts upgrades."""

    def __init__(
        self, handle: Callable[[web.WebSocketResponse, web.Request], Awaitable[None]], **options: Any
    ) -> None:
        self.handle = handle
        self.protocols: tuple[str, ...] = options.pop("protocols", ("mcp",))
        self.ssl: ssl.SSLContext | None = options.pop("ssl", None)
        self.options = options
        self.port = 0
        self.connections = 0
        self.headers: list[dict[str, str]] = []
        self.sockets: set[web.WebSocketResponse] = set()
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        return f"{'wss' if self.ssl else 'ws'}://{'localhost' if self.ssl else '127.0.0.1'}:{self.port}"

    async def start(self, port: int = 0) -> None:
        app = web.Application()
        app.router.add_get("/{tail:.*}", self._upgrade)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, ssl_context=self.ssl, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Drop everything at once, as a crash would."""
        assert self._runner is not None
        for ws in list(self.sockets):
            transport = ws._req.transport if ws._req is not None else None
            if transport is not None:
                transport.abort()
        for site in list(self._runner.sites):
            await site.stop()
        for _ in range(ACCEPTING_TURNS):  # else nobody closes a connection that was accepted just now
            await asyncio.sleep(0)
        await self._runner.cleanup()
        self._runner = None

    async def restart(self) -> None:
        await self.stop()
        await self.start(self.port)

    async def _upgrade(self, request: web.Request) -> web.StreamResponse:
        self.headers.append(dict(request.headers))
        token = self.options.get("token")
        if token is not None and request.headers.get("X-Claude-Code-Ide-Authorization") != token:
            raise web.HTTPUnauthorized
        ws = web.WebSocketResponse(
            protocols=self.protocols, max_msg_size=64 * 2**20, compress=self.options.get("compress", True)
        )
        await ws.prepare(request)
        self.connections += 1
        self.sockets.add(ws)
        try:
            await self.handle(ws, request)
        except ConnectionError:
            pass  # the peer has gone, which the tests do on purpose
        finally:
            self.sockets.discard(ws)
        return ws


async def echo(ws: web.WebSocketResponse, request: web.Request) -> None:
    """Answers each request with its params; obeys a few methods that tests use."""
    async for frame in ws:
        if frame.type not in (WSMsgType.TEXT, WSMsgType.BINARY):
            continue
        message = json.loads(frame.data)
        method, params = message.get("method"), message.get("params") or {}
        if method == "say":
            await ws.send_str(params["text"])
        elif method == "say_binary":
            await ws.send_bytes(bytes.fromhex(params["hex"]))
        elif method == "flood":
            result = "x" * params["size"]
            await ws.send_str(json.dumps({"jsonrpc": "2.0", "id": params["id"], "result": result}))
        elif method == "drop":
            assert ws._req is not None and ws._req.transport is not None
            ws._req.transport.abort()
            return
        elif method == "bye":
            await ws.close(code=1012, message=b"restarting")
            return
        elif "id" in message and method not in ("silence", None):
            kind = "binary" if frame.type is WSMsgType.BINARY else "text"
            record = {"method": method, "params": params, "frame": kind}
            await ws.send_str(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": record}))


@asynccontextmanager
async def running(
    handle: Callable[[web.WebSocketResponse, web.Request], Awaitable[None]] = echo, **options: Any
) -> AsyncIterator[Server]:
    """The port stays the server's while it is stopped."""
    server = Server(handle, **options)
    with held_port() as port:
        await server.start(port)
        try:
            yield server
        finally:
            await server.stop()


def make_sdk_server() -> Any:
    """A small server of the official SDK, with all three kinds of primitives."""
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("reference", version="9.9")
    calls: list[int] = []
    server.calls = calls  # type: ignore[attr-defined]

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        calls.append(a)
        return a + b

    @server.tool()
    def fail() -> str:
        """Always fail."""
        raise ValueError("it failed on purpose")

    @server.resource("test://note")
    def note() -> str:
        return "# A note\n"

    @server.prompt()
    def greet(name: str) -> str:
        """Greet somebody."""
        return f"Say hello to {name}."

    return server


def serve_sdk(server: Any) -> Callable[[web.WebSocketResponse, web.Request], Awaitable[None]]:
    """The official SDK's server behind a WebSocket, one session a connection."""
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    core = server._lowlevel_server

    async def handle(ws: web.WebSocketResponse, request: web.Request) -> None:
        in_send, in_receive = anyio.create_memory_object_stream[Any](16)
        out_send, out_receive = anyio.create_memory_object_stream[Any](16)

        async def read() -> None:
            async with in_send:
                async for frame in ws:
                    message = jsonrpc_message_adapter.validate_json(frame.data, by_name=False)
                    await in_send.send(SessionMessage(message))

        async def write() -> None:
            async with out_receive:
                async for item in out_receive:
                    with anyio.move_on_after(5):
                        await ws.send_str(item.message.model_dump_json(by_alias=True, exclude_unset=True))

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(write)
                group.start_soon(read)
                async with in_receive, out_send:
                    await core.run(in_receive, out_send, core.create_initialization_options())
                group.cancel_scope.cancel()
        except* ConnectionError:
            pass

    return handle


@asynccontextmanager
async def core_server(token: str | None = None) -> AsyncIterator[int]:
    """Our own core, with the conformance fixture's tools, behind our own WebSocket; yields its port."""
    from conformance.fixture import OFFER, make_provider
    from vaultbridge.protocols.claude_ide.lock_files import TOKEN_HEADER
    from vaultbridge.protocols.claude_ide.socket import refuse_any_origin
    from vaultbridge.protocols.connection import Connection
    from vaultbridge.protocols.mcp.dialect import mcp_dialect
    from vaultbridge.protocols.mcp.server import McpServer
    from vaultbridge.protocols.websocket.endpoint import EndpointRules, WebSocketEndpoint

    server = McpServer(OFFER, make_provider)

    async def serve(socket: Any, request: web.Request) -> None:
        connection = Connection(mcp_dialect(server), socket)
        try:
            while (data := await socket.receive()) is not None:
                await connection.receive(data)
        finally:
            await connection.close()

    rules = EndpointRules(name="test", check_origin=refuse_any_origin, token_header=TOKEN_HEADER, token=token)
    endpoint = WebSocketEndpoint(rules, serve)
    app = web.Application()
    app.router.add_get("/", endpoint.request_handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await endpoint.shut_down()
        await runner.cleanup()
        await server.close()
