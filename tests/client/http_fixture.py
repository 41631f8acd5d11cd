"""Streamable HTTP servers for tests: our own core with the conformance fixture, and the official SDK's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
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
