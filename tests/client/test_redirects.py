"""Redirects, followed by real clients of ours over real sockets, or not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from support.waiting import until
from support.web_app import serve_app
from vaultbridge.client.errors import ConnectFailed
from vaultbridge.client.http.transport import StreamableHttpTransport
from vaultbridge.client.websocket.transport import WebSocketTransport

TOKEN = {"X-Token": "secret"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
NOTIFICATION = {"jsonrpc": "2.0", "method": "n"}


class Place:
    """An HTTP server that notes what it was asked; `/old` sends the caller to `target`."""

    def __init__(self) -> None:
        self.url = ""
        self.target = ""
        self.status = 307
        self.seen: list[tuple[str, str, str | None, bytes]] = []

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.seen.append((request.method, request.path, request.headers.get("X-Token"), body))
        if request.path == "/old":
            return web.Response(status=self.status, headers={"Location": self.target})
        if request.headers.get("Upgrade") == "websocket":
            ws = web.WebSocketResponse(protocols=("mcp",))
            await ws.prepare(request)
            async for _ in ws:
                pass
            return ws
        return web.json_response({"jsonrpc": "2.0", "id": 1, "result": {}})


@asynccontextmanager
async def place() -> AsyncIterator[Place]:
    here = Place()
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", here.handle)
    async with serve_app(app) as here.url:
        yield here


async def post(url: str, message: dict[str, Any]) -> tuple[list[dict[str, Any]], list[Exception]]:
    """The messages and errors that one POST brings."""
    messages: list[dict[str, Any]] = []
    errors: list[Exception] = []
    transport = StreamableHttpTransport(url, headers=TOKEN)
    transport.on_message, transport.on_error = messages.append, errors.append
    await transport.start()
    try:
        await transport.send(message)
        await until(lambda: bool(messages) or "id" not in message)
    except ConnectFailed as failure:
        assert str(failure) in map(str, errors)  # on_error has it too
    finally:
        await transport.close()
    return messages, errors


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_header_goes_to_another_server(status: int) -> None:
    """A token in a header of its own is not one that an HTTP library knows to take off."""
    async with place() as near, place() as far:
        near.target, near.status = f"{far.url}/new", status
        transport = WebSocketTransport(f"{near.url.replace('http', 'ws')}/old", headers=TOKEN)
        with pytest.raises(ConnectFailed, match=r"redirects to 127\.0\.0\.1:\d+, which is not followed"):
            await transport.start()
        messages, errors = await post(f"{near.url}/old", PING)
        assert "not followed" in messages[0]["error"]["message"] and "not followed" in str(errors[0])
        _, errors = await post(f"{near.url}/old", NOTIFICATION)
        assert isinstance(errors[0], ConnectFailed)
        assert far.seen == []


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_redirect_that_would_lose_the_message_is_refused(status: int) -> None:
    async with place() as here:
        here.target, here.status = "/new", status
        messages, _ = await post(f"{here.url}/old", PING)
        assert "lose the message" in messages[0]["error"]["message"]
        _, errors = await post(f"{here.url}/old", NOTIFICATION)
        assert "lose the message" in str(errors[0])
        assert {path for _, path, _, _ in here.seen} == {"/old"}


@pytest.mark.parametrize("status", [307, 308])
async def test_within_one_server_the_message_goes_along(status: int) -> None:
    async with place() as here:
        here.target, here.status = "/new", status
        messages, errors = await post(f"{here.url}/old", PING)
        assert messages == [{"jsonrpc": "2.0", "id": 1, "result": {}}] and errors == []
        method, path, token, body = here.seen[-1]
        assert (method, path, token) == ("POST", "/new", "secret") and b'"ping"' in body


async def test_an_upgrade_is_followed_within_one_server() -> None:
    async with place() as here:
        here.target = f"{here.url}/new"
        transport = WebSocketTransport(f"{here.url.replace('http', 'ws')}/old", headers=TOKEN)
        await transport.start()
        assert transport.is_connected
        await transport.close()


async def test_a_redirect_to_something_that_is_not_a_url_is_refused() -> None:
    async with place() as here:
        here.target = "http://[nowhere"
        transport = WebSocketTransport(f"{here.url.replace('http', 'ws')}/old")
        with pytest.raises(ConnectFailed, match="not a URL"):
            await transport.start()
