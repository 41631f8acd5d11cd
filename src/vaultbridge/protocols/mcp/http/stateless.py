"""MCP 2026-07-28 over HTTP: every POST is a single request without a session.

Each request gets its own connection, which ends with the response; a client that disconnects has cancelled
it.

2026-07-28 repeats parts of a message in headers, and proxies may route by them. So the headers must agree
with the body (Streamable HTTP, Server Validation); the `check_*` functions compare them.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from aiohttp import web

from vaultbridge.activity.clients import Activity, SeenClient
from vaultbridge.errors import VaultbridgeError
from vaultbridge.jsonrpc.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    Notification,
    Params,
    Request,
    RequestId,
    Response,
    RpcError,
)
from vaultbridge.jsonrpc.messages import ErrorResponse as ErrorAnswer
from vaultbridge.jsonrpc.session import Outgoing
from vaultbridge.protocols.connection import Connection
from vaultbridge.protocols.http.request import find_address
from vaultbridge.protocols.mcp.dialect import mcp_dialect
from vaultbridge.protocols.mcp.http.reply import ClientDisconnected, Reply, make_error_reply, refuse
from vaultbridge.protocols.mcp.http.stream import MayStay, Stream
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.versions import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    HEADER_MARK,
    METHOD_HEADER,
    MODERN_VERSIONS,
    NAME_HEADER,
    NAME_SOURCES,
    PARAM_PREFIX,
    VERSION_HEADER,
    VERSION_KEY,
)

_MAX_DEPTH: Final = 16
"""How deep annotated properties are searched for. Our schemas are shallow; a hostile one may not be."""


def check_version(headers: Mapping[str, str], declared: object) -> None:
    """Check that the version header is present and agrees with `_meta`. Raises RpcError."""
    header = headers.get(VERSION_HEADER)
    if header is None:
        raise _make_mismatch(f"{VERSION_HEADER} is missing")
    if header != declared:
        raise _make_mismatch(f"{VERSION_HEADER} is {header!r}, but the body says {declared!r}")


def check_routing(headers: Mapping[str, str], request: Request) -> None:
    """Check `Mcp-Method`, which every request has, and `Mcp-Name` if there is a name. Raises RpcError."""
    method = headers.get(METHOD_HEADER)
    if method is None:
        raise _make_mismatch(f"{METHOD_HEADER} is missing")
    if method != request.method:
        raise _make_mismatch(f"{METHOD_HEADER} is {method!r}, but the body says {request.method!r}")
    source = NAME_SOURCES.get(request.method)
    if source is None:
        return
    name = headers.get(NAME_HEADER)
    if name is None:
        raise _make_mismatch(f"{NAME_HEADER} is missing")
    if _decode_header(NAME_HEADER, name) != request.params.get(source):
        raise _make_mismatch(f"{NAME_HEADER} is not the body's {source}")


def check_arguments(headers: Mapping[str, str], schema: dict[str, Any], params: Params) -> None:
    """Check `Mcp-Param-*` for the properties that a tool's schema marks. Raises RpcError."""
    arguments = params.get("arguments")
    for path, name in find_annotated(schema):
        header = PARAM_PREFIX + name
        header_value, value = headers.get(header), _find_argument(arguments, path)
        if value is None:
            if header_value is not None:
                raise _make_mismatch(f"{header} is present, but the body has no value for it")
        elif header_value is None:
            raise _make_mismatch(f"{header} is missing")
        elif not _is_equal(_decode_header(header, header_value), value):
            raise _make_mismatch(f"{header} is not the body's {'.'.join(path)}")


def find_annotated(schema: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The properties with an `x-mcp-header`, as (path, header suffix)."""
    stack: list[tuple[tuple[str, ...], Any]] = [((), schema)]
    while stack:
        path, node = stack.pop()
        properties = node.get("properties") if isinstance(node, dict) else None
        if not isinstance(properties, dict) or len(path) >= _MAX_DEPTH:
            continue
        for key, member in properties.items():
            if isinstance(member, dict) and isinstance(member.get(HEADER_MARK), str):
                yield (*path, key), member[HEADER_MARK]
            stack.append(((*path, key), member))


def _find_argument(arguments: object, path: tuple[str, ...]) -> object:
    for key in path:
        arguments = arguments.get(key) if isinstance(arguments, dict) else None
    return arguments


def _is_equal(text: str, value: object) -> bool:
    match value:
        case bool():
            return text == ("true" if value else "false")
        case int() | float():
            try:
                return float(text) == value
            except ValueError:
                return False
        case str():
            return text == value
        case _:
            return False


def _decode_header(header: str, value: str) -> str:
    """A header value, decoded from base64 if it is wrapped. Raises RpcError for what no client may
    send."""
    if any(not (" " <= character <= "~" or character == "\t") for character in value):
        raise _make_mismatch(f"{header} has a character that headers may not have")
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise _make_mismatch(f"{header} has invalid base64") from None


def _make_mismatch(reason: str) -> RpcError:
    return RpcError(HEADER_MISMATCH, f"Header mismatch: {reason}")


MAX_OPEN: Final = 512
"""Open exchanges: more than clients need for calls in flight and listening streams, and fewer than the 1024
files that a process may open on most systems."""


PLAIN_CLIENT: Final = {"name": "obsidian-mcp-bridge", "version": ""}
"""How the one client that sends such requests calls itself elsewhere."""


class StatelessEndpoint:
    """Tracks the open exchanges, to end them gracefully with the server."""

    def __init__(self, *, call_seconds: float, activity: Activity | None = None) -> None:
        self._call_seconds = call_seconds
        self._activity = activity
        self._open: dict[Connection, Stream] = {}

    async def post(
        self,
        request: web.Request,
        message: Request | Notification | Response | ErrorAnswer,
        server: McpServer,
        principal: str,
        *,
        size: int,
    ) -> web.StreamResponse:
        match message:
            case Request():
                pass
            case Notification():
                # The core protocol has no notifications over HTTP, so this one is accepted without effect.
                return web.Response(status=202)
            case _:
                return refuse(400, "Invalid Request: 2026-07-28 has no answers from clients")
        try:
            _check_envelope(request, message)
            await _check_arguments(request, message, server)
        except RpcError as refusal:
            return make_error_reply(refusal.error, id_=message.id)
        return await self._exchange(request, message, server, principal, size)

    async def post_plain(
        self, request: web.Request, message: Request, server: McpServer, principal: str, *, size: int
    ) -> web.StreamResponse:
        """Answer a request that belongs to no session and says nothing about itself: as one of the newest
        version, whose requests are independent, by a client that can do nothing."""
        meta = {VERSION_KEY: MODERN_VERSIONS[-1], CAPABILITIES_KEY: {}, CLIENT_KEY: PLAIN_CLIENT}
        whole = Request(message.id, message.method, {**message.params, "_meta": meta})
        return await self._exchange(request, whole, server, principal, size)

    async def end(self, stays: MayStay, seconds: float) -> None:
        """End the exchanges of principals that may not stay: calls get `seconds` to finish, listening streams
        get their closing result."""

        async def end_one(connection: Connection, stream: Stream) -> None:
            await connection.drain(seconds)
            stream.end()

        leaving = [item for item in self._open.items() if not stays(item[0].principal)]
        await asyncio.gather(*(end_one(*item) for item in leaving))

    async def _exchange(
        self, request: web.Request, message: Request, server: McpServer, principal: str, size: int
    ) -> web.StreamResponse:
        if len(self._open) >= MAX_OPEN:
            return refuse(503, "Too many requests are in flight; end one or try again later")
        stream = Stream("", (message.id,))
        connection = Connection(
            mcp_dialect(server, stateless=True),
            _StreamSink(stream),
            principal=principal,
            call_seconds=self._call_seconds,
            client=self._find_client(request, message, principal),
        )
        self._open[connection] = stream
        try:
            await connection.receive_message(message, size=size)
            return await Reply(request, stream, map_status=True).answer()
        except ClientDisconnected:
            # Streamable HTTP, Cancellation: closing the response stream cancels the request.
            return web.Response(status=499)
        finally:
            del self._open[connection]
            await connection.close()

    def _find_client(self, request: web.Request, message: Request, principal: str) -> SeenClient | None:
        """Requests are independent, so those with the same token and the same client name count as one
        client."""
        if self._activity is None:
            return None
        meta = message.params.get("_meta")
        info = meta.get(CLIENT_KEY) if isinstance(meta, dict) else None
        return self._activity.find_group(
            "stateless",
            principal=principal,
            user_agent=request.headers.get("User-Agent", ""),
            info=info,
            find_address=partial(find_address, request),
        )


class _StreamSink:
    """All messages of a stateless connection belong to its one request."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def send(self, item: Outgoing) -> None:
        self._stream.push(item.data, final=item.final, notice=item.notice)

    async def drain(self) -> None:
        await self._stream.wait_for_room()

    def release(self, related: RequestId) -> None:
        # 2026-07-28 cannot resume a stream: the client keeps waiting.
        pass


def is_stateless(request: web.Request, message: object) -> bool:
    """Whether a POST is of 2026-07-28: its header or its body says so."""
    header = request.headers.get(VERSION_HEADER)
    declared = None
    if isinstance(message, Request | Notification):
        meta = message.params.get("_meta")
        declared = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    return header in MODERN_VERSIONS or declared is not None


def _check_envelope(request: web.Request, message: Request) -> None:
    meta = message.params.get("_meta")
    if not isinstance(meta, dict):
        raise RpcError(INVALID_PARAMS, "Invalid params: _meta is missing", {"argument": "_meta"})
    declared = meta.get(VERSION_KEY)
    if not isinstance(declared, str):
        reason = f"Invalid params: _meta has no {VERSION_KEY}"
        raise RpcError(INVALID_PARAMS, reason, {"argument": VERSION_KEY})
    check_version(request.headers, declared)
    if declared in MODERN_VERSIONS:
        # For other versions the dialect reports which ones are supported.
        check_routing(request.headers, message)


async def _check_arguments(request: web.Request, message: Request, server: McpServer) -> None:
    if message.method != "tools/call":
        return
    try:
        tool = (await server.tools()).get(str(message.params.get("name")))
    except VaultbridgeError:
        # The call itself will fail with the same error and report it.
        return
    if tool is not None:
        check_arguments(request.headers, tool.input_schema, message.params)
