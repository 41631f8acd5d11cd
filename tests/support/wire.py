"""Two ends joined without a network: the test plays the client, a real connection serves the other end.

Every message that the server sends is held to the schema of the version in use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from conformance.fixture import OFFER, FixtureProvider
from support import schema
from support.waiting import BOUND
from vaultbridge.jsonrpc.messages import RequestId
from vaultbridge.jsonrpc.session import Outgoing
from vaultbridge.protocols.connection import Connection
from vaultbridge.protocols.dialect import Dialect, Peer
from vaultbridge.protocols.mcp.dialect import mcp_dialect
from vaultbridge.protocols.mcp.provider import Offer, Provider
from vaultbridge.protocols.mcp.server import McpServer

MODERN = "2026-07-28"
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
EVERY_VERSION = (*HANDSHAKE, MODERN)

Json = dict[str, Any]


def make_meta(capabilities: Json | None = None, **more: Any) -> Json:
    prefix = "io.modelcontextprotocol/"
    meta: Json = {
        f"{prefix}protocolVersion": MODERN,
        f"{prefix}clientInfo": {"name": "test", "version": "1"},
        f"{prefix}clientCapabilities": capabilities or {},
    }
    return meta | {(key if key == "progressToken" else prefix + key): value for key, value in more.items()}


class Wire:
    """The client's end. `version` is "" for a connection that speaks no MCP: then nothing is held to a
    schema."""

    def __init__(
        self, dialect: Callable[[Peer], Dialect], *, version: str = "", call_seconds: float = 30.0
    ) -> None:
        self.version = version
        self.capabilities: Json = {}
        """What the client says it can do; before the handshake, or with every request of 2026-07-28."""
        self.messages: list[Any] = []
        self.raw_messages: list[bytes] = []
        self._arrived = asyncio.Event()
        self._methods: dict[RequestId, str] = {}
        self._next_id = 0
        self.released: list[RequestId] = []
        self.slow = asyncio.Event()
        self.slow.set()
        self.connection = Connection(dialect, self, call_seconds=call_seconds)

    # The sink of the connection.

    def send(self, item: Outgoing) -> None:
        assert b"\n" not in item.data
        self.raw_messages.append(item.data)
        message = msgspec.json.decode(item.data)
        if self.version:
            for member in message if isinstance(message, list) else [message]:
                method = self._methods.get(member.get("id"), "")
                # MCP Apps puts `_meta` on tools and resources in every version.
                extends = ("_meta",) if "extensions" in self.capabilities else ()
                schema.check(self.version, member, method, extends=extends)
        self.messages.append(message)
        self._arrived.set()

    async def drain(self) -> None:
        await self.slow.wait()

    def release(self, related: RequestId) -> None:
        self.released.append(related)

    # The client.

    async def raw(self, data: bytes) -> None:
        await self.connection.receive(data)

    async def post(self, message: Any) -> None:
        for member in message if isinstance(message, list) else [message]:
            if isinstance(member, dict) and "method" in member and "id" in member:
                self._methods[member["id"]] = member["method"]
        await self.raw(msgspec.json.encode(message))

    async def notify(self, method: str, **params: Any) -> None:
        await self.post({"jsonrpc": "2.0", "method": method, "params": params})

    async def start(self, method: str, params: Json | None = None) -> int:
        """Send a request without waiting for its answer; gives its id."""
        self._next_id += 1
        id_ = self._next_id
        if self.version == MODERN:
            params = {"_meta": make_meta(self.capabilities), **(params or {})}
        await self.post({"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}})
        return id_

    async def ask(self, method: str, params: Json | None = None) -> Json:
        """A request and its whole answer."""
        id_ = await self.start(method, params)
        return await self.until(lambda message: message.get("id") == id_ and "method" not in message)

    async def result(self, method: str, params: Json | None = None) -> Json:
        answer = await self.ask(method, params)
        assert "result" in answer, answer
        found: Json = answer["result"]
        return found

    async def error(self, method: str, params: Json | None = None) -> Json:
        answer = await self.ask(method, params)
        assert "error" in answer, answer
        found: Json = answer["error"]
        return found

    async def until(self, wanted: Callable[[Any], bool]) -> Any:
        """The first message so far or to come that is wanted; it is taken out."""
        async with asyncio.timeout(BOUND):
            while True:
                for index, message in enumerate(self.messages):
                    if wanted(message):
                        return self.messages.pop(index)
                self._arrived.clear()
                await self._arrived.wait()

    async def notification(self, method: str) -> Json:
        message = await self.until(lambda message: message.get("method") == method and "id" not in message)
        found: Json = message.get("params", {})
        return found

    async def request(self, method: str) -> Json:
        """A request of the server to us."""
        message: Json = await self.until(lambda message: message.get("method") == method and "id" in message)
        return message

    async def settle(self) -> None:
        """Let everything that can run without input run."""
        for _ in range(50):
            await asyncio.sleep(0)

    async def initialize(self, capabilities: Json | None = None) -> Json:
        result = await self.result(
            "initialize",
            {
                "protocolVersion": self.version,
                "capabilities": capabilities or self.capabilities,
                "clientInfo": {"name": "test", "version": "1"},
            },
        )
        await self.notify("notifications/initialized")
        return result


def make_fixture_server(
    provider: Provider | None = None, *, offer: Offer = OFFER, **options: Any
) -> tuple[McpServer, FixtureProvider]:
    fixture = FixtureProvider()

    async def make() -> Provider:
        return provider or fixture

    return McpServer(offer, make, **options), fixture


async def open_fixture_wire(version: str, capabilities: Json | None = None, **options: Any) -> Wire:
    """A client of the fixture server, past the handshake where the version has one."""
    server, _ = make_fixture_server()
    wire = Wire(mcp_dialect(server, honours_exit=True), version=version, **options)
    if version != MODERN:
        await wire.initialize(capabilities)
    return wire
