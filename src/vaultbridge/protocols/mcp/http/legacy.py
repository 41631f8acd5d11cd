"""The HTTP+SSE transport of 2024-11-05, for clients that know no other: `GET /sse` and `POST /messages`.

The first event of the stream says where to post; every message arrives on the stream. Closing the stream ends
the session.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from typing import TYPE_CHECKING, Final

from aiohttp import web

from vaultbridge.jsonrpc.messages import RequestId
from vaultbridge.jsonrpc.session import Outgoing
from vaultbridge.protocols.connection import Connection
from vaultbridge.protocols.http.request import describe_peer
from vaultbridge.protocols.mcp.dialect import mcp_dialect
from vaultbridge.protocols.mcp.http import reply as sse
from vaultbridge.protocols.mcp.http.reply import ClientDisconnected, Reply, read_message, refuse
from vaultbridge.protocols.mcp.http.stream import MayStay, Stream

if TYPE_CHECKING:
    from vaultbridge.activity.clients import Activity, SeenClient
    from vaultbridge.protocols.mcp.http.endpoint import Grant

MAX_STREAMS: Final = 64
"""Open legacy streams. Each is a separate socket."""

PRINCIPAL_STREAMS: Final = 32
"""The same for one principal, so that no client can take them all."""

_PREFIX: Final = re.compile(r"(/[A-Za-z0-9._~-]+)+/?")
"""A path of plain names, so that a header cannot turn it into the address of another server."""


class _Legacy:
    def __init__(self, grant: Grant, call_seconds: float, client: SeenClient | None) -> None:
        self.principal = grant.principal
        self.stream = Stream("")
        self.connection = Connection(
            mcp_dialect(grant.server),
            self,
            principal=grant.principal,
            call_seconds=call_seconds,
            client=client,
        )
        if client is not None:
            client.end = self._disconnect

    def send(self, item: Outgoing) -> None:
        # The message is final for its request, but not for the stream.
        self.stream.push(item.data, final=False, notice=item.notice)

    async def drain(self) -> None:
        await self.stream.wait_for_room()

    def release(self, related: RequestId) -> None:
        pass

    async def end(self, seconds: float) -> None:
        await self.connection.drain(seconds)
        self.stream.end()

    def _disconnect(self) -> None:
        """End the stream now; `open` closes the connection."""
        self.connection.ending.set()
        self.stream.end()


class LegacyEndpoint:
    def __init__(self, *, call_seconds: float, activity: Activity | None = None) -> None:
        self._call_seconds = call_seconds
        self._activity = activity
        self._open: dict[str, _Legacy] = {}

    async def open(self, request: web.Request, grant: Grant) -> web.StreamResponse:
        """`GET /sse`."""
        own = sum(legacy.principal == grant.principal for legacy in self._open.values())
        if own >= PRINCIPAL_STREAMS or len(self._open) >= MAX_STREAMS:
            return refuse(503, "Too many streams are open; close one or try again later")
        id_ = secrets.token_urlsafe(24)
        client = (
            None
            if self._activity is None
            else self._activity.join("sse", **describe_peer(request, grant.principal))
        )
        legacy = self._open[id_] = _Legacy(grant, self._call_seconds, client)
        address = f"{_find_prefix(request)}/messages?session_id={id_}"
        opening = sse.encode_event(address.encode(), name="endpoint")
        try:
            return await Reply(request, legacy.stream).send_events(opening=opening)
        except ClientDisconnected:
            return web.Response(status=499)
        finally:
            self._open.pop(id_, None)
            if self._activity is not None and client is not None:
                self._activity.leave(client)
            await legacy.connection.close()

    async def post(self, request: web.Request, grant: Grant) -> web.StreamResponse:
        """`POST /messages?session_id=…`: the answer arrives on the stream."""
        legacy = self._open.get(request.query.get("session_id", ""))
        if legacy is None or legacy.principal != grant.principal:
            return refuse(404, "Session not found; open the stream again")
        await legacy.connection.receive(await read_message(request))
        return web.Response(status=202, text="Accepted")

    async def end(self, stays: MayStay, seconds: float) -> None:
        """End the streams of principals that may not stay; calls in flight get `seconds`."""
        leaving = {id_: legacy for id_, legacy in self._open.items() if not stays(legacy.principal)}
        for id_ in leaving:
            del self._open[id_]
        await asyncio.gather(*(legacy.end(seconds) for legacy in leaving.values()))


def _find_prefix(request: web.Request) -> str:
    """The path under which a proxy serves us, if it strips one and announces it."""
    prefix = request.headers.get("X-Forwarded-Prefix", "")
    return prefix.rstrip("/") if _PREFIX.fullmatch(prefix) else ""
