"""Who may no longer be here, and what becomes of them: streams that end, and readers that do not read."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web

from support.http import HttpClient, read_events
from support.waiting import BOUND
from support.wire import MODERN, make_fixture_server
from vaultbridge.protocols.http.guard import HostGuard
from vaultbridge.protocols.mcp.http import endpoint as mcp_http
from vaultbridge.protocols.mcp.http.endpoint import EndExchanges, Grant, add_mcp_routes


class Endpoints:
    """A server whose callers are who their `Authorization` says."""

    def __init__(self, runner: web.AppRunner, dismiss: EndExchanges, http: aiohttp.ClientSession) -> None:
        self.runner = runner
        self.dismiss = dismiss
        self.http = http
        self.port: int = runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.port}"

    def client(self) -> HttpClient:
        return HttpClient(self.url, self.http, self.fixture)

    fixture: Any

    def open_stalled(self) -> socket.socket:
        """A connection with room for little: what is not read stays with the server."""
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", self.port))
        line.setblocking(False)
        return line


@asynccontextmanager
async def endpoints() -> AsyncIterator[Endpoints]:
    server, fixture = make_fixture_server()

    async def authorize(request: web.Request) -> Grant:
        return Grant(server, request.headers.get("Authorization", ""))

    app = web.Application()
    dismiss = add_mcp_routes(app, server, guard=HostGuard(), authorize=authorize)
    runner = web.AppRunner(app, shutdown_timeout=60.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with aiohttp.ClientSession() as http:
            opened = Endpoints(runner, dismiss, http)
            opened.fixture = fixture
            yield opened
    finally:
        await runner.cleanup()
        await server.close()


def is_ann(principal: str) -> bool:
    return principal == "ann"


async def test_streams_of_every_kind_end_when_their_caller_may_not_stay() -> None:
    async with endpoints() as opened, asyncio.timeout(BOUND):
        for who in ("ann", "bob"):
            stays = who == "ann"
            session, modern, old = opened.client(), opened.client(), opened.client()
            session_headers = {"Authorization": who}
            async with session.start(
                "initialize", {"protocolVersion": "2025-11-25"}, **session_headers
            ) as response:
                session.session_id = response.headers["Mcp-Session-Id"]
            modern.version = MODERN
            async with (
                opened.http.get(f"{opened.url}/mcp", headers=session.headers(Authorization=who)) as get,
                modern.start("subscriptions/listen", {"notifications": {}}, Authorization=who) as listen,
                opened.http.get(f"{opened.url}/sse", headers=old.headers(Authorization=who)) as sse,
            ):
                found = [await anext(read_events(stream)) for stream in (listen, sse)]
                assert found[0].message["method"] == "notifications/subscriptions/acknowledged"
                await opened.dismiss(is_ann)
                if stays:
                    await session.ask("tools/call", {"name": "test_trigger_tool_change"}, Authorization=who)
                    method = (await anext(read_events(get))).message["method"]
                    assert method == "notifications/tools/list_changed"
                else:
                    assert [event async for event in read_events(get)] == []
                    assert [event async for event in read_events(sse)] == []
                    (last,) = [event.message async for event in read_events(listen)]
                    assert last["result"]["resultType"] == "complete"
            ping = {"jsonrpc": "2.0", "id": 9, "method": "ping"}
            async with session.post(ping, Authorization=who) as response:
                assert response.status == (200 if stays else 404)


async def test_a_call_in_flight_of_a_revoked_principal_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http, "REVOKED_SECONDS", 0.0)
    async with endpoints() as opened, asyncio.timeout(BOUND):
        begun, stopped = asyncio.Event(), asyncio.Event()

        async def wait(arguments: Any, context: Any) -> Any:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

        info, _ = opened.fixture.tools["test_wait"]
        opened.fixture.tools["test_wait"] = (info, wait)
        client = opened.client()
        client.version = MODERN

        async def call() -> bytes:
            async with client.start("tools/call", {"name": "test_wait"}, Authorization="bob") as response:
                return bytes(await response.read())

        calling = asyncio.ensure_future(call())
        await begun.wait()
        await opened.dismiss(is_ann)
        await stopped.wait()
        assert await calling == b""


@pytest.mark.parametrize("ends", ["the caller", "the server"])
async def test_a_client_that_does_not_read_is_disconnected(
    monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    monkeypatch.setattr(mcp_http, "ENDING_SECONDS", 0.1)
    async with endpoints() as opened:
        with opened.open_stalled() as line:
            reader, writer = await asyncio.open_connection(sock=line, limit=1024)
            writer.write(b"GET /sse HTTP/1.1\r\nHost: localhost\r\nAuthorization: bob\r\n\r\n")
            head = await reader.readuntil(b"\n\n")
            path = head.rpartition(b"data: ")[2].strip().decode()
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            message = {"jsonrpc": "2.0", "method": "initialize", "params": {"protocolVersion": "2024-11-05"}}
            # More answers than the machine's own buffers take.
            for id_ in range(600):
                data = msgspec.json.encode({**message, "id": id_} if id_ == 0 else make_listing(id_))
                async with opened.http.post(
                    opened.url + path, data=data, headers={"Authorization": "bob"}
                ) as response:
                    assert response.status == 202
            async with asyncio.timeout(BOUND):
                if ends == "the caller":
                    await opened.dismiss(is_ann)
                else:
                    await opened.runner.cleanup()
                writer.transport.resume_reading()  # type: ignore[attr-defined]
                # What lay in the machine's own buffers may still come, and no proper end.
                with contextlib.suppress(ConnectionResetError):
                    assert not (await reader.read(-1)).endswith(b"0\r\n\r\n")
            writer.close()


def make_listing(id_: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/list"}
