"""Transports behind one small interface: configure, connect, use, check, disconnect.

The shape is the seed's `ITransportPlugin`. A plugin owns at most one transport; the client that speaks
over it (the official SDK's `Client` or our `Session`) belongs to the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from vaultbridge.client.callbacks import Transport
from vaultbridge.client.http import StreamableHttpTransport
from vaultbridge.client.primitives import Primitive, list_primitives
from vaultbridge.client.settings import from_mapping
from vaultbridge.client.stdio import StdioTransport
from vaultbridge.client.websocket import WebSocketTransport
from vaultbridge.errors import InvalidArgument

T = TypeVar("T", bound=Transport)


class TransportPlugin(Protocol):
    """What every plugin offers; `config` is the mapping that its class documents."""

    name: str

    async def initialize(self, config: Mapping[str, Any]) -> None: ...
    async def connect(self, config: Mapping[str, Any] | None = None) -> Transport: ...
    async def disconnect(self) -> None: ...
    def is_connected(self) -> bool: ...
    async def is_healthy(self) -> bool: ...
    def get_queue_size(self) -> int: ...
    async def call_tool(self, client: Any, name: str, arguments: dict[str, Any] | None = None) -> Any: ...
    async def get_primitives(self, client: Any) -> list[Primitive]: ...


class _Plugin(Generic[T]):
    """What the plugins share; each adds how its configuration becomes a transport."""

    name = ""

    def __init__(self) -> None:
        self._config: dict[str, Any] = {}
        self._transport: T | None = None

    async def initialize(self, config: Mapping[str, Any]) -> None:
        """Keep a configuration for `connect`. Raises InvalidArgument when it is wrong; connects nothing."""
        self.check(config)
        self._config = dict(config)

    async def connect(self, config: Mapping[str, Any] | None = None) -> T:
        """Open a transport; `config` goes before what `initialize` was given. An earlier one is closed.

        Raises InvalidArgument, ConnectFailed, TimedOut.
        """
        merged = {**self._config, **(config or {})}
        self.check(merged)
        # Before the new one is made: the two may want the same queue file.
        await self.disconnect()
        transport = self._transport = self.make(merged)
        await transport.start()
        return transport

    async def disconnect(self) -> None:
        if self._transport is not None:
            transport, self._transport = self._transport, None
            await transport.close()

    def is_connected(self) -> bool:
        return self._transport is not None and self._transport.is_connected

    async def is_healthy(self) -> bool:
        """Whether the server gives a sign of life now."""
        return self._transport is not None and await self._transport.is_alive()

    def get_queue_size(self) -> int:
        return self._transport.queue_size if self._transport is not None else 0

    async def call_tool(self, client: Any, name: str, arguments: dict[str, Any] | None = None) -> Any:
        """The tool's result in the client's own form. Raises what the client raises."""
        return await client.call_tool(name, arguments or {})

    async def get_primitives(self, client: Any) -> list[Primitive]:
        """Tools, resources, resource templates and prompts; a server without one of them gives the others."""
        return await list_primitives(client)

    def check(self, config: Mapping[str, Any]) -> None:
        """Raises InvalidArgument when `config` is wrong; touches nothing."""
        raise NotImplementedError

    def make(self, config: Mapping[str, Any]) -> T:
        """A transport that is not started. Raises InvalidArgument."""
        raise NotImplementedError


class WebSocketPlugin(_Plugin[WebSocketTransport]):
    """`url`, `protocols`, `reconnectAttempts`, `reconnectDelay` (ms), any option of `WebSocketSettings`."""

    name = "websocket"

    def check(self, config: Mapping[str, Any]) -> None:
        from_mapping(config)

    def make(self, config: Mapping[str, Any]) -> WebSocketTransport:
        return WebSocketTransport.from_config(config)


class _StdioConfig(msgspec.Struct, forbid_unknown_fields=True):
    command: str
    args: list[str] = []
    env: dict[str, str] = {}
    cwd: str | None = None


class StdioPlugin(_Plugin[StdioTransport]):
    """`command`, `args`, `env`, `cwd`, as in an `.mcp.json`."""

    name = "stdio"

    def check(self, config: Mapping[str, Any]) -> None:
        _convert(config, _StdioConfig, self.name)

    def make(self, config: Mapping[str, Any]) -> StdioTransport:
        c = _convert(config, _StdioConfig, self.name)
        return StdioTransport([c.command, *c.args], env=c.env, cwd=c.cwd)


class _HttpConfig(msgspec.Struct, forbid_unknown_fields=True):
    url: str
    headers: dict[str, str] = {}


class HttpPlugin(_Plugin[StreamableHttpTransport]):
    """`url`, `headers`: a Streamable HTTP server."""

    name = "http"

    def check(self, config: Mapping[str, Any]) -> None:
        self.make(config)

    def make(self, config: Mapping[str, Any]) -> StreamableHttpTransport:
        c = _convert(config, _HttpConfig, self.name)
        return StreamableHttpTransport(c.url, headers=c.headers)


C = TypeVar("C")


def _convert(config: Mapping[str, Any], kind: type[C], name: str) -> C:
    try:
        return msgspec.convert(dict(config), kind)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"The {name} configuration is wrong: {error}.") from None
