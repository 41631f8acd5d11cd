"""MCP 2026-07-28 over HTTP: every POST is one request that stands for itself.

A connection of its own answers it and is gone with the response; a client that hangs up has cancelled.
"""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web

from vaultbridge.dialects.mcp import VERSION_KEY, mcp_dialect
from vaultbridge.dialects.mcp_server import McpServer
from vaultbridge.errors import VaultbridgeError
from vaultbridge.rpc.messages import (
    INVALID_PARAMS,
    Notification,
    Refused,
    Request,
    RequestId,
    Response,
)
from vaultbridge.rpc.messages import ErrorResponse as ErrorAnswer
from vaultbridge.rpc.session import Outgoing
from vaultbridge.rpc.versions import MODERN_VERSIONS
from vaultbridge.transports import mcp_headers
from vaultbridge.transports.connection import Connection
from vaultbridge.transports.mcp_http_open import Stays
from vaultbridge.transports.mcp_http_reply import ClientGone, Reply, error_reply, refused
from vaultbridge.transports.mcp_stream import Stream

MAX_OPEN: Final = 512
"""Exchanges at once: more than any number of clients has calls in flight and streams to listen on, and below
the 1024 files that a process may have open on most systems."""


class StatelessEndpoint:
    """Holds the open exchanges, to end them gracefully with the server."""

    def __init__(self, *, call_seconds: float) -> None:
        self._call_seconds = call_seconds
        self._open: dict[Connection, Stream] = {}

    async def post(
        self,
        request: web.Request,
        message: Request | Notification | Response | ErrorAnswer,
        server: McpServer,
        principal: str,
    ) -> web.StreamResponse:
        match message:
            case Request():
                pass
            case Notification():
                # The core protocol has none over HTTP: taken and without effect.
                return web.Response(status=202)
            case _:
                return refused(400, "Invalid Request: 2026-07-28 has no answers from clients")
        try:
            _check_envelope(request, message)
            await _check_arguments(request, message, server)
        except Refused as refusal:
            return error_reply(refusal.error, id_=message.id)
        return await self._exchange(request, message, server, principal)

    async def end(self, stays: Stays, seconds: float) -> None:
        """End the exchanges of principals who may not stay: calls get `seconds` to finish, listening streams
        their closing result."""

        async def end_one(connection: Connection, stream: Stream) -> None:
            await connection.drain(seconds)
            stream.end()

        leaving = [one for one in self._open.items() if not stays(one[0].principal)]
        await asyncio.gather(*(end_one(*one) for one in leaving))

    async def _exchange(
        self, request: web.Request, message: Request, server: McpServer, principal: str
    ) -> web.StreamResponse:
        if len(self._open) >= MAX_OPEN:
            return refused(503, "Too many requests are in flight; end one or try again later")
        stream = Stream("", (message.id,))
        connection = Connection(
            mcp_dialect(server, stateless=True),
            _StreamOutlet(stream),
            principal=principal,
            call_seconds=self._call_seconds,
        )
        self._open[connection] = stream
        try:
            await connection.receive_message(message)
            return await Reply(request, stream, map_status=True).answer()
        except ClientGone:
            # Streamable HTTP, Cancellation: closing the response stream cancels the request.
            return web.Response(status=499)
        finally:
            del self._open[connection]
            await connection.close()


class _StreamOutlet:
    """Everything a stateless connection says belongs to its one request."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def send(self, item: Outgoing) -> None:
        self._stream.push(item.data, final=item.final, notice=item.notice)

    async def drained(self) -> None:
        await self._stream.room()

    def release(self, related: RequestId) -> None:
        # 2026-07-28 has no way back to a stream: the client keeps waiting.
        pass


def is_stateless(request: web.Request, message: object) -> bool:
    """Whether a POST is a 2026-07-28 one: its header or its body says so, or the header names no version
    we know of the older ones."""
    header = request.headers.get(mcp_headers.VERSION_HEADER)
    declared = None
    if isinstance(message, Request | Notification):
        meta = message.params.get("_meta")
        declared = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    return header in MODERN_VERSIONS or declared is not None


def _check_envelope(request: web.Request, message: Request) -> None:
    meta = message.params.get("_meta")
    if not isinstance(meta, dict):
        raise Refused(INVALID_PARAMS, "Invalid params: _meta is missing", {"argument": "_meta"})
    declared = meta.get(VERSION_KEY)
    if not isinstance(declared, str):
        what = f"Invalid params: _meta has no {VERSION_KEY}"
        raise Refused(INVALID_PARAMS, what, {"argument": VERSION_KEY})
    mcp_headers.check_version(request.headers, declared)
    if declared in MODERN_VERSIONS:
        # For other versions the dialect says which there are.
        mcp_headers.check_routing(request.headers, message)


async def _check_arguments(request: web.Request, message: Request, server: McpServer) -> None:
    if message.method != "tools/call":
        return
    try:
        tool = (await server.tools()).get(str(message.params.get("name")))
    except VaultbridgeError:
        # The call itself will meet the same error and tell it.
        return
    if tool is not None:
        mcp_headers.check_arguments(request.headers, tool.input_schema, message.params)
