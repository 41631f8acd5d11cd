"""A real listening server with one endpoint, for the WebSocket tests."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from support.waiting import until
from vaultbridge.protocols.claude_ide.lock_files import TOKEN_HEADER
from vaultbridge.protocols.claude_ide.socket import refuse_any_origin
from vaultbridge.protocols.websocket.endpoint import EndpointRules, Serve, WebSocketEndpoint
from vaultbridge.protocols.websocket.socket import WebSocket

TOKEN = str(uuid.UUID("b3b8c2f4-6f2e-4c54-9a55-0d3c2a1e7f10"))


async def echo(socket: WebSocket, request: web.Request) -> None:
    while (message := await socket.receive()) is not None:
        socket.send_text(message, is_answer=True)


class Served:
    def __init__(self, endpoint: WebSocketEndpoint, port: int) -> None:
        self.endpoint = endpoint
        self.port = port

    async def until_open(self, count: int) -> None:
        """Wait until exactly `count` connections are in the books."""
        await until(lambda: len(self.endpoint.sockets) == count)


@asynccontextmanager
async def served(serve: Serve = echo, **rules: Any) -> AsyncIterator[Served]:
    rules = {"name": "client", "check_origin": refuse_any_origin, "token": TOKEN, **rules}
    endpoint = WebSocketEndpoint(EndpointRules(token_header=TOKEN_HEADER, **rules), serve)
    app = web.Application()
    app.router.add_get("/", endpoint.request_handler)
    runner = web.AppRunner(app, shutdown_timeout=1, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield Served(endpoint, runner.addresses[0][1])
    finally:
        await endpoint.shut_down()
        await runner.cleanup()
