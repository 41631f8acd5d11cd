"""An answer that cannot be read is reported as that, and not as a server that said nothing."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import WSMsgType, web

from support.waiting import BOUND, until
from support.web_app import serve_app
from vaultbridge.client.errors import InvalidMessage, RpcError
from vaultbridge.client.http.transport import StreamableHttpTransport
from vaultbridge.client.messages import Message
from vaultbridge.client.session import Session
from vaultbridge.client.stdio import StdioTransport
from vaultbridge.client.transport import Transport
from vaultbridge.client.websocket.transport import WebSocketTransport

PATIENCE = 0.3
"""Seconds until a request without any answer is given up; nothing that is answered waits so long."""

DEEP = "[" * 100_000 + "]" * 100_000

WITH_ID = {
    "NaN": '{"jsonrpc":"2.0","id":%d,"result":{"x":NaN}}',
    "surrogate": '{"jsonrpc":"2.0","id":%d,"result":{"x":"\\ud800"}}',
    "deep": f'{{"jsonrpc":"2.0","id":%d,"result":{{"x":{DEEP}}}}}',
    "cut": '{"jsonrpc":"2.0","id":%d,"result":{"x":',
    "id last": '{"result":{"x":NaN},"jsonrpc":"2.0","id":%d}',
}
GARBAGE = {"text": "hello", "braces": "{{{", "no id": '{"jsonrpc":"2.0","result":NaN}', "quote": '"'}

INITIALIZED = '{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}'


@asynccontextmanager
async def open_websocket(answer: str) -> AsyncIterator[Transport]:
    async def handle(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=("mcp",))
        await socket.prepare(request)
        async for message in socket:
            if message.type is WSMsgType.TEXT and "id" in (asked := message.json()):
                reply = INITIALIZED if asked["method"] == "initialize" else answer
                await socket.send_str(reply.replace("%d", str(asked["id"])))
        return socket

    app = web.Application()
    app.router.add_get("/", handle)
    async with serve_app(app) as url:
        yield WebSocketTransport(url.replace("http", "ws"))


@asynccontextmanager
async def open_http(answer: str) -> AsyncIterator[Transport]:
    """Its streams stay open, so that nothing but their messages ends a request."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method != "POST":
            return web.Response(status=405)
        asked = await request.json()
        if "id" not in asked:
            return web.Response(status=202)
        reply = INITIALIZED if asked["method"] == "initialize" else answer
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(f"data: {reply.replace('%d', str(asked['id']))}\n\n".encode())
        if asked["method"] != "initialize":
            await ended.wait()
        return response

    app = web.Application()
    ended = asyncio.Event()
    app.router.add_route("*", "/", handle)
    async with serve_app(app) as url:
        yield StreamableHttpTransport(url)
        ended.set()


SERVER = """
import json, sys
initialized, answer = sys.argv[1], sys.argv[2].replace("DEEP", "[" * 100000 + "]" * 100000)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        reply = initialized if asked["method"] == "initialize" else answer
        print(reply.replace("%d", str(asked["id"])), flush=True)
"""


@asynccontextmanager
async def open_stdio(answer: str) -> AsyncIterator[Transport]:
    # The deep one is too long for a command line.
    yield StdioTransport([sys.executable, "-c", SERVER, INITIALIZED, answer.replace(DEEP, "DEEP")])


OPEN: dict[str, Any] = {"websocket": open_websocket, "http": open_http, "stdio": open_stdio}


@pytest.mark.parametrize("answer", WITH_ID.values(), ids=WITH_ID)
@pytest.mark.parametrize("kind", OPEN)
async def test_an_answer_whose_id_can_be_read_fails_its_request_at_once(kind: str, answer: str) -> None:
    errors: list[Exception] = []
    async with OPEN[kind](answer) as transport:
        transport.on_error = errors.append
        async with Session(transport, version="2025-11-25", timeout=BOUND) as session:
            with pytest.raises(RpcError, match="The server's answer was refused: Invalid JSON") as refused:
                await session.request("tools/list")
    assert refused.value.data["reason"] == "invalid-message"
    assert any(isinstance(error, InvalidMessage) and error.received for error in errors)


@pytest.mark.parametrize("answer", GARBAGE.values(), ids=GARBAGE)
@pytest.mark.parametrize("kind", OPEN)
async def test_garbage_instead_of_an_answer_is_what_the_error_says(kind: str, answer: str) -> None:
    """It may be no answer at all, so the request has its time; but then it is not called silence."""
    async with OPEN[kind](answer) as transport, Session(transport, version="2025-11-25") as session:
        with pytest.raises(InvalidMessage, match="No readable answer to 'tools/list' came: Invalid JSON"):
            await session.request("tools/list", timeout=PATIENCE)


async def test_a_time_limit_of_the_transport_says_it_too() -> None:
    answers: list[Message] = []
    async with open_websocket("hello") as made:
        transport = WebSocketTransport(made.settings.url, request_timeout=PATIENCE)  # type: ignore[attr-defined]
        transport.on_message = answers.append
        await transport.start()
        await transport.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        await transport.flush()
        await until(lambda: answers)
        await transport.close()
    (answer,) = answers
    assert answer["error"]["data"] == {"reason": "invalid-message", "sent": True}
    assert "Invalid JSON" in answer["error"]["message"]
