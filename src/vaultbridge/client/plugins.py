"""Makes transports from configuration: with the three plugins, or from what a person writes at the command
line.

A plugin configures, connects, checks and disconnects; the interface is the `ITransportPlugin` of the
WebSocket client protocol (docs/protocols/websocket-client.md). It owns at most one transport; the client that
uses it (the official SDK's `Client` or our `Session`) belongs to the caller.

`open_target` takes a URL, a command line, or a name in a configuration file of Claude Code (`.mcp.json`) or
Claude Desktop: an object `mcpServers` of named servers, with `${VAR}` and `${VAR:-default}` replaced from the
environment.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from vaultbridge.client.http.transport import StreamableHttpTransport
from vaultbridge.client.primitives import Primitive, list_primitives
from vaultbridge.client.settings import read_settings
from vaultbridge.client.stdio import StdioTransport
from vaultbridge.client.transport import Connected, Transport
from vaultbridge.client.websocket.transport import WebSocketTransport
from vaultbridge.errors import JSON_ERRORS, InvalidArgument, describe_json_error
from vaultbridge.limits import MIB

T = TypeVar("T", bound=Transport)


class TransportPlugin(Protocol):
    """What every plugin offers. Each class documents the keys of its `config`."""

    name: str

    async def initialize(self, config: Mapping[str, Any]) -> None: ...
    async def connect(self, config: Mapping[str, Any] | None = None) -> Transport: ...
    async def disconnect(self) -> None: ...
    @property
    def is_connected(self) -> Connected: ...
    async def is_healthy(self) -> bool: ...
    def get_queue_size(self) -> int: ...
    async def call_tool(self, client: Any, name: str, arguments: dict[str, Any] | None = None) -> Any: ...
    async def get_primitives(self, client: Any) -> list[Primitive]: ...


class _Plugin(Generic[T]):
    """What the plugins share. Each subclass turns its configuration into a transport."""

    name = ""

    def __init__(self) -> None:
        self._config: dict[str, Any] = {}
        self._transport: T | None = None

    async def initialize(self, config: Mapping[str, Any]) -> None:
        """Check a configuration and keep it for `connect`. Raises InvalidArgument; connects nothing."""
        self.check(config)
        self._config = dict(config)

    async def connect(self, config: Mapping[str, Any] | None = None) -> T:
        """Open a transport. `config` overrides what `initialize` was given. An earlier transport is closed.

        Raises InvalidArgument, ConnectFailed, TimedOut.
        """
        merged = {**self._config, **(config or {})}
        self.check(merged)
        # This comes first, because both may use the same queue file.
        await self.disconnect()
        transport = self._transport = self.make(merged)
        await transport.start()
        return transport

    async def disconnect(self) -> None:
        if self._transport is not None:
            transport, self._transport = self._transport, None
            await transport.close()

    @property
    def is_connected(self) -> Connected:
        return self._transport.is_connected if self._transport is not None else Connected()

    async def is_healthy(self) -> bool:
        """Whether the server responds now."""
        return self._transport is not None and await self._transport.is_alive()

    def get_queue_size(self) -> int:
        return self._transport.queue_size if self._transport is not None else 0

    async def call_tool(self, client: Any, name: str, arguments: dict[str, Any] | None = None) -> Any:
        """Call the tool and return the result in the client's own form. Raises what the client raises."""
        return await client.call_tool(name, arguments or {})

    async def get_primitives(self, client: Any) -> list[Primitive]:
        """List tools, resources, resource templates and prompts; kinds the server lacks are left out."""
        return await list_primitives(client)

    def check(self, config: Mapping[str, Any]) -> None:
        """Raise InvalidArgument when `config` is wrong; has no effects."""
        raise NotImplementedError

    def make(self, config: Mapping[str, Any]) -> T:
        """Make a transport that is not started. Raises InvalidArgument."""
        raise NotImplementedError


class WebSocketPlugin(_Plugin[WebSocketTransport]):
    """`url`, `protocols`, `reconnectAttempts`, `reconnectDelay` (ms), any option of `WebSocketSettings`."""

    name = "websocket"

    def check(self, config: Mapping[str, Any]) -> None:
        read_settings(config)

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
        settings = _convert(config, _StdioConfig, self.name)
        return StdioTransport([settings.command, *settings.args], env=settings.env, cwd=settings.cwd)


class _HttpConfig(msgspec.Struct, forbid_unknown_fields=True):
    url: str
    headers: dict[str, str] = {}


class HttpPlugin(_Plugin[StreamableHttpTransport]):
    """`url`, `headers`: a Streamable HTTP server."""

    name = "http"

    def check(self, config: Mapping[str, Any]) -> None:
        self.make(config)

    def make(self, config: Mapping[str, Any]) -> StreamableHttpTransport:
        settings = _convert(config, _HttpConfig, self.name)
        return StreamableHttpTransport(settings.url, headers=settings.headers)


C = TypeVar("C")


def _convert(config: Mapping[str, Any], kind: type[C], name: str) -> C:
    try:
        return msgspec.convert(dict(config), kind)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"The {name} configuration is wrong: {error}.") from None


PROJECT_FILE: Final = ".mcp.json"
"""Read from the current folder when no file is given, as Claude Code does."""

CONFIG_BYTES: Final = 4 * MIB
"""Claude Desktop's file contains more than servers, but not much more."""

ACTION_CHARS: Final = 1000
"""How much of a server's command line is shown. Nobody reads more before answering."""

IDE: Final = "ide"
"""The target that means a Claude Code IDE server on this machine, found by its lock file."""

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


Trust = Callable[[str], bool]
"""Decides whether to use a server that only the current folder's file names; takes a description of what that
would do."""


def open_target(
    target: str,
    *,
    config: str | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 10.0,
    trust: Trust | None = None,
) -> Transport:
    """Make a transport to `target`, not started. Raises InvalidArgument, which says how to correct it.

    The current folder's `.mcp.json` may be from anybody: it may have come with an archive or a clone, and the
    commands in it run with all rights of the user. So it is used only if `trust` agrees. A file given as
    `config` was chosen by the user and is trusted.
    """
    extra = dict(headers or {})
    if target.lower().startswith(("ws://", "wss://", "http://", "https://")):
        return _from_entry(target, {"url": target}, extra, timeout)
    if target == IDE and config is None:
        return _open_ide(extra, timeout)
    servers = read_servers(config)
    if target in servers:
        if config is None and (trust is None or not trust(_describe_action(servers[target]))):
            raise InvalidArgument(
                f"{target!r} comes from the {PROJECT_FILE} of this folder, which is not trusted: "
                f"it {_describe_action(servers[target])}.",
                hint=f"If that is what you want, say --trust or --config {PROJECT_FILE}.",
            )
        return _from_entry(target, servers[target], extra, timeout)
    if config is not None:
        known = ", ".join(sorted(servers)) or "none"
        raise InvalidArgument(f"The configuration has no server {target!r}.", hint=f"It has: {known}.")
    try:
        command = shlex.split(target)
    except ValueError as error:
        raise InvalidArgument(f"The command cannot be read: {error}.") from None
    if not command:
        raise InvalidArgument("Give a URL, a command or a server's name.")
    return _from_entry(target, {"command": command[0], "args": command[1:]}, extra, timeout)


def _describe_action(entry: Mapping[str, Any]) -> str:
    """Say in one printable line what using this entry would do; its variables are not replaced yet."""
    if "command" in entry:
        args = entry.get("args")
        words = [str(entry["command"]), *(map(str, args) if isinstance(args, list) else ())]
        names = entry.get("env")
        variables = f" with {', '.join(map(str, names))} set" if isinstance(names, dict) and names else ""
        where = f" in {entry['cwd']}" if entry.get("cwd") else ""
        text = f"runs {shlex.join(words)}{where}{variables}"
    else:
        text = f"connects to {entry.get('url', 'no address')}"
    return "".join(char if char.isprintable() else "�" for char in text)[:ACTION_CHARS]


def read_servers(config: str | None) -> dict[str, dict[str, Any]]:
    """Read the named servers of a file; without one, those of the current folder's `.mcp.json`, if any."""
    path = Path(config) if config is not None else Path(PROJECT_FILE)
    if config is None and not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            data = file.read(CONFIG_BYTES + 1)
    except OSError as error:
        raise InvalidArgument(
            f"The configuration file cannot be read: {(error.strerror or '').lower()}."
        ) from None
    if len(data) > CONFIG_BYTES:
        raise InvalidArgument("The configuration file is too large.")
    try:
        content = msgspec.json.decode(data)
    except JSON_ERRORS as error:
        raise InvalidArgument(f"The configuration file is not JSON: {describe_json_error(error)}.") from None
    servers = content.get("mcpServers", content.get("servers")) if isinstance(content, dict) else None
    if not isinstance(servers, dict) or not all(isinstance(entry, dict) for entry in servers.values()):
        raise InvalidArgument('The configuration file has no object "mcpServers" of named servers.')
    return servers


def _from_entry(name: str, entry: Mapping[str, Any], headers: dict[str, str], timeout: float) -> Transport:
    values = _expand(name, {key: value for key, value in entry.items() if key in _KEYS})
    if "command" in values:
        if headers:
            raise InvalidArgument("Headers are for URLs; a command has none.", argument="header")
        values.pop("type", None)
        return StdioPlugin().make(values)
    url = str(values.get("url", ""))
    own_headers = values.get("headers", {})
    if not isinstance(own_headers, dict):
        raise InvalidArgument(f"The headers of the server {name!r} must be an object of names and values.")
    all_headers = {**own_headers, **headers}
    kind = values.get("type")
    if kind == "sse":
        raise InvalidArgument(
            f"{name!r} speaks HTTP+SSE, which MCP has replaced.",
            hint="Use its Streamable HTTP or WebSocket URL.",
        )
    if url.lower().startswith(("ws://", "wss://")):
        return WebSocketPlugin().make({"url": url, "headers": all_headers, "connect_timeout": timeout})
    if url.lower().startswith(("http://", "https://")):
        return HttpPlugin().make({"url": url, "headers": all_headers})
    raise InvalidArgument(f"The server {name!r} has neither a command nor a ws, wss, http or https URL.")


_KEYS: Final = frozenset({"command", "args", "env", "cwd", "url", "headers", "type"})
"""The keys that concern a connection. The files contain others too, for other programs."""


def _expand(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _expand_variable(name, match), value)
    if isinstance(value, dict):
        return {key: _expand(name, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_expand(name, inner) for inner in value]
    return value


def _expand_variable(name: str, match: re.Match[str]) -> str:
    variable, default = match.groups()
    value = os.environ.get(variable, default)
    if value is None:
        raise InvalidArgument(f"The server {name!r} needs the environment variable {variable}.")
    return value


def _open_ide(headers: dict[str, str], timeout: float) -> Transport:
    return WebSocketTransport.from_lock(headers=headers, connect_timeout=timeout)
