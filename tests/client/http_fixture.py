"""Streamable HTTP servers for tests: our own core with the conformance fixture, and the official SDK's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from support.waiting import until
from support.web_app import serve_app


@asynccontextmanager
async def fixture_over_http() -> AsyncIterator[str]:
    from conformance.fixture import OFFER, make_provider
    from vaultbridge.protocols.http.guard import HostGuard
    from vaultbridge.protocols.mcp.http.endpoint import add_mcp_routes
    from vaultbridge.protocols.mcp.server import McpServer

    app = web.Application()
    add_mcp_routes(app, McpServer(OFFER, make_provider), guard=HostGuard())
    async with serve_app(app, shutdown_timeout=0.5) as url:
        yield f"{url}/mcp"


@asynccontextmanager
async def sdk_over_http(server: Any) -> AsyncIterator[str]:
    """The official SDK's own Streamable HTTP server, under uvicorn, in this loop."""
    import uvicorn

    config = uvicorn.Config(
        server.streamable_http_app(), host="127.0.0.1", port=0, log_level="error", ws="none"
    )
    serving = uvicorn.Server(config)
    task = asyncio.create_task(serving.serve())
    await until(lambda: serving.started)
    port = serving.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        serving.should_exit = True
        serving.force_exit = True
        await task


@asynccontextmanager
async def serving(handle: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/mcp", handle)
    async with serve_app(app) as url:
        yield f"{url}/mcp"


def make_session_server(
    stream: Callable[[web.Request, int], Awaitable[web.StreamResponse]],
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A server of the handshake era; `stream` answers its GETs, which it counts."""
    gets = 0

    async def handle(request: web.Request) -> web.StreamResponse:
        nonlocal gets
        if request.method == "GET":
            gets += 1
            return await stream(request, gets)
        if request.method == "DELETE":
            return web.Response()
        message = await request.json()
        if "id" not in message:
            return web.Response(status=202)
        result = {"protocolVersion": "2025-11-25", "capabilities": {}}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return web.json_response(answer, headers={"Mcp-Session-Id": "s1"})

    return handle
