"""A real aiohttp server with the MCP routes on a free loopback port, and a plain client for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from conformance.fixture import FixtureProvider
from support import schema
from support.waiting import BOUND
from support.wire import MODERN, make_fixture_server, make_meta
from vaultbridge.protocols.http.guard import HostGuard
from vaultbridge.protocols.mcp.http.endpoint import add_mcp_routes

BOTH = "application/json, text/event-stream"


class Event:
    def __init__(self, fields: dict[str, str]) -> None:
        self.name = fields.get("event", "")
        self.id = fields.get("id", "")
        self.retry = fields.get("retry", "")
        self.data = fields.get("data", "")

    @property
    def message(self) -> Any:
        return msgspec.json.decode(self.data)


async def read_events(response: aiohttp.ClientResponse) -> AsyncIterator[Event]:
    """The events of a stream, read as the HTML standard says; comments are left out."""
    fields: dict[str, str] = {}
    async for raw in response.content:
        line = raw.decode().rstrip("\n")
        if not line:
            if fields:
                yield Event(fields)
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            fields[name] = f"{fields[name]}\n{value}" if name == "data" and name in fields else value


class HttpClient:
    """Posts messages; remembers the session and the version."""

    def __init__(self, url: str, session: aiohttp.ClientSession, fixture: FixtureProvider) -> None:
        self.url = url
        self.http = session
        self.fixture = fixture
        self.session_id = ""
        self.version = ""
        self.last_id = 0
        self.stop: Callable[[], Awaitable[None]]

    def headers(self, **more: str | None) -> dict[str, str]:
        found: dict[str, str | None] = {"Accept": BOTH, "Content-Type": "application/json"}
        if self.session_id:
            found["Mcp-Session-Id"] = self.session_id
        if self.version:
            found["MCP-Protocol-Version"] = self.version
        found.update({name.replace("_", "-"): value for name, value in more.items()})
        return {name: value for name, value in found.items() if value is not None}

    def post(self, message: Any, **headers: str | None) -> Any:
        data = message if isinstance(message, bytes) else msgspec.json.encode(message)
        return self.http.post(f"{self.url}/mcp", data=data, headers=self.headers(**headers))

    def start(self, method: str, params: dict[str, Any] | None = None, **headers: str | None) -> Any:
        """POST a request; gives the response's context manager."""
        self.last_id += 1
        params = params or {}
        if self.version == MODERN:
            params = {"_meta": make_meta(), **params}
            name = params.get("name") or params.get("uri")
            headers = {"Mcp_Method": method, **({"Mcp_Name": name} if name else {}), **headers}
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        return self.post(message, **headers)

    async def ask(self, method: str, params: dict[str, Any] | None = None, **headers: str | None) -> Any:
        """The answer to a request, however it is sent."""
        async with asyncio.timeout(BOUND), self.start(method, params, **headers) as response:
            if response.content_type == "application/json":
                answer = msgspec.json.decode(await response.read())
            else:
                answer = [event.message async for event in read_events(response) if event.data][-1]
            if self.version:
                schema.check(self.version, answer, method)
            return answer

    async def initialize(self, version: str, capabilities: dict[str, Any] | None = None) -> Any:
        params = {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        async with self.start("initialize", params) as response:
            assert response.status == 200, await response.text()
            self.session_id = response.headers["Mcp-Session-Id"]
            answer = msgspec.json.decode(await response.read())
        self.version = version if version >= "2025-06-18" else ""
        async with self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}) as response:
            assert (response.status, await response.read()) == (202, b"")
        return answer


@asynccontextmanager
async def http_server(**options: Any) -> AsyncIterator[HttpClient]:
    server, fixture = make_fixture_server()
    app = web.Application()
    options.setdefault("guard", HostGuard())
    if "authorize" in options:
        options["authorize"] = options["authorize"](server)
    add_mcp_routes(app, server, **options)
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    try:
        async with aiohttp.ClientSession() as session:
            client = HttpClient(f"http://127.0.0.1:{port}", session, fixture)
            client.stop = runner.cleanup
            yield client
            await runner.cleanup()
    finally:
        await runner.cleanup()
        await server.close()
