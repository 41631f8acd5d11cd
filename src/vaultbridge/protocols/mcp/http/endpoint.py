"""MCP over HTTP on an aiohttp application: Streamable HTTP at `/mcp`, and the HTTP+SSE of 2024-11-05.

    add_mcp_routes(app, server, guard=HostGuard())

`authorize` checks each request after the Host and Origin rules and returns the server and the principal that
it may use, or raises an aiohttp HTTPException (401, 403). This module decides whether `stateless`, `sessions`
or `legacy` answers a request. Tokens, TLS and the engine are handled elsewhere.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import msgspec
from aiohttp import web

from vaultbridge.activity.clients import Activity
from vaultbridge.jsonrpc import codec
from vaultbridge.jsonrpc.messages import Batch, Malformed, MalformedAnswer, Message, Request
from vaultbridge.limits import CALL_SECONDS
from vaultbridge.protocols.http.guard import ALLOWED_HEADERS, API_KEY_HEADER, HostGuard, find_host
from vaultbridge.protocols.http.request import (
    BodyRefused,
    close_if_body_unread,
    defer_continue,
    describe_peer,
)
from vaultbridge.protocols.mcp.failures import make_unsupported_version
from vaultbridge.protocols.mcp.http.legacy import LegacyEndpoint
from vaultbridge.protocols.mcp.http.reply import make_error_reply, read_message, refuse, refuse_as
from vaultbridge.protocols.mcp.http.sessions import HttpSession, Sessions
from vaultbridge.protocols.mcp.http.stateless import StatelessEndpoint, is_stateless
from vaultbridge.protocols.mcp.http.stream import ActiveRequests, MayStay, nobody_stays
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.versions import (
    HANDSHAKE_VERSIONS,
    MODERN_VERSIONS,
    SESSION_HEADER,
    SUPPORTED_NEWEST_FIRST,
    VERSION_HEADER,
)

ALLOWED_METHODS: Final = "GET, POST, DELETE, OPTIONS"

ENDING_SECONDS: Final = 5.0
"""How long calls in flight may continue when the server ends, because somebody waits for it to exit."""

REVOKED_SECONDS: Final = 0.5
"""The same for a client whose access was revoked: enough time to receive the end of a stream."""


class Grant(msgspec.Struct, frozen=True):
    """Which server a request may use, and as which principal."""

    server: McpServer
    principal: str = ""


Authorize = Callable[[web.Request], Awaitable[Grant]]
EndExchanges = Callable[[MayStay], Awaitable[None]]
_View = Callable[[web.Request, Grant], Awaitable[web.StreamResponse]]


def add_mcp_routes(
    app: web.Application,
    server: McpServer,
    *,
    guard: HostGuard,
    authorize: Authorize | None = None,
    call_seconds: float = CALL_SECONDS,
    clock: Callable[[], float] = time.monotonic,
    activity: Activity | None = None,
) -> EndExchanges:
    """Serve MCP on `/mcp`, and its old transport on `/sse` and `/messages`. Open exchanges end with the
    application; the caller closes the server. Returns a function that ends the exchanges of principals whose
    access was revoked: a client that only listens is never authorized again."""

    async def allow(request: web.Request) -> Grant:
        return Grant(server)

    # A trailing slash is accepted too, because other servers have one and people copy addresses.
    mcp_paths = ("/mcp", "/mcp/")
    paths = {*mcp_paths, "/sse", "/messages"}
    endpoint = McpEndpoint(call_seconds=call_seconds, clock=clock, activity=activity)
    legacy_endpoint = LegacyEndpoint(call_seconds=call_seconds, activity=activity)
    active = ActiveRequests()

    def guarded(view: _View) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def answer(request: web.Request) -> web.StreamResponse:
            origin = request.headers.get("Origin")
            refusal = guard.find_refusal(find_host(request), origin)
            if refusal is not None:
                return refuse(403, refusal)
            try:
                grant = await (authorize or allow)(request)
                with active.track(request, grant.principal):
                    return await view(request, grant)
            except (web.HTTPException, BodyRefused) as error:
                return refuse_as(error)

        async def handle(request: web.Request) -> web.StreamResponse:
            response = await answer(request)
            if not response.prepared:
                close_if_body_unread(request, response)
            return response

        return handle

    async def preflight(request: web.Request) -> web.StreamResponse:
        """Answer a browser that asks before it calls; it cannot send a token with this request."""
        origin = request.headers.get("Origin")
        refusal = guard.find_refusal(find_host(request), origin)
        if refusal is not None:
            return refuse(403, refusal)
        headers = {
            "Access-Control-Allow-Methods": ALLOWED_METHODS,
            "Access-Control-Allow-Headers": ALLOWED_HEADERS,
            "Access-Control-Max-Age": "600",
        }
        return web.Response(status=204, headers=headers)

    async def add_cors(request: web.Request, response: web.StreamResponse) -> None:
        """Done here and not in the handlers, because the headers of a stream are sent before its handler
        returns."""
        if request.path in paths:
            response.headers.update(guard.make_cors_headers(request.headers.get("Origin")))

    async def end_exchanges(stays: MayStay, seconds: float = REVOKED_SECONDS) -> None:
        await asyncio.gather(endpoint.end(stays, seconds), legacy_endpoint.end(stays, seconds))
        await active.disconnect(stays)

    async def shut_down(app: web.Application) -> None:
        await end_exchanges(nobody_stays, ENDING_SECONDS)

    for place in mcp_paths:
        app.router.add_route("OPTIONS", place, preflight)
        app.router.add_route("*", place, guarded(endpoint.handle), expect_handler=defer_continue)
    for method, old_path, view in (
        ("GET", "/sse", legacy_endpoint.open),
        ("POST", "/messages", legacy_endpoint.post),
    ):
        app.router.add_route("OPTIONS", old_path, preflight)
        app.router.add_route(method, old_path, guarded(view), expect_handler=defer_continue)
        app.router.add_route("*", old_path, guarded(partial(_refuse_method, f"{method}, OPTIONS")))
    app.on_response_prepare.append(add_cors)
    app.on_shutdown.append(shut_down)
    return end_exchanges


class McpEndpoint:
    """The one path of Streamable HTTP."""

    def __init__(
        self, *, call_seconds: float, clock: Callable[[], float], activity: Activity | None = None
    ) -> None:
        self._stateless = StatelessEndpoint(call_seconds=call_seconds, activity=activity)
        self._sessions = Sessions(call_seconds=call_seconds, clock=clock, activity=activity)

    async def handle(self, request: web.Request, grant: Grant) -> web.StreamResponse:
        match request.method:
            case "POST":
                return await self._post(request, grant)
            case "GET" | "DELETE" if request.headers.get(VERSION_HEADER) in MODERN_VERSIONS:
                return refuse(405, "Method not allowed: 2026-07-28 has only POST", allow="POST")
            case "GET":
                return await self._get(request, grant)
            case "DELETE":
                return await self._delete(request, grant)
            case _:
                return refuse(405, "Method not allowed", allow=ALLOWED_METHODS)

    async def end(self, stays: MayStay, seconds: float) -> None:
        """End the exchanges of principals that may not stay; calls in flight get `seconds`."""
        await asyncio.gather(self._stateless.end(stays, seconds), self._sessions.end(stays, seconds))

    async def _post(self, request: web.Request, grant: Grant) -> web.StreamResponse:
        if request.content_type != "application/json":
            return refuse(415, "Unsupported media type: a message is application/json")
        is_plain = API_KEY_HEADER in request.headers
        if not _accepts(request, "application/json") or not (
            is_plain or _accepts(request, "text/event-stream")
        ):
            return refuse(406, "Not acceptable: accept application/json and text/event-stream")
        body = await read_message(request)
        message, size = codec.decode(body), len(body)
        if isinstance(message, Malformed):
            # Streamable HTTP, Sending Messages: the error about an answer of the client has no id.
            id_ = None if isinstance(message, MalformedAnswer) else message.id
            return make_error_reply(message.error, id_=id_, status=400)
        if is_stateless(request, message):
            if isinstance(message, Batch):
                return refuse(400, "Invalid Request: batches are not part of this protocol version")
            return await self._stateless.post(request, message, grant.server, grant.principal, size=size)
        if (refusal := _check_version(request, message)) is not None:
            return refusal
        if isinstance(message, Request) and message.method == "initialize":
            return await self._initialize(request, message, grant, size)
        if is_plain and isinstance(message, Request) and SESSION_HEADER not in request.headers:
            # The stdio bridge of document 003's plugin begins without a handshake, and reads only JSON.
            return await self._stateless.post_plain(
                request, message, grant.server, grant.principal, size=size
            )
        return await self._post_to_session(request, message, grant, size)

    async def _post_to_session(
        self, request: web.Request, message: Message | Batch, grant: Grant, size: int
    ) -> web.StreamResponse:
        session = self._find_session(request, grant)
        if isinstance(session, web.Response):
            return session
        return await session.post(request, message, size=size)

    async def _initialize(
        self, request: web.Request, message: Request, grant: Grant, size: int
    ) -> web.StreamResponse:
        if SESSION_HEADER in request.headers:
            return await self._post_to_session(request, message, grant, size)
        session = await self._sessions.open(grant.server, describe_peer(request, grant.principal))
        if session is None:
            return refuse(503, "Too many sessions are in use; close one or try again later")
        response = await session.post(request, message, size=size)
        if not session.is_initialized:
            await self._sessions.drop(session)
            response.headers.pop(SESSION_HEADER, None)
        return response

    async def _get(self, request: web.Request, grant: Grant) -> web.StreamResponse:
        if not _accepts(request, "text/event-stream"):
            return refuse(406, "Not acceptable: accept text/event-stream")
        if SESSION_HEADER not in request.headers:
            # A client of 2024-11-05 tries its own transport here; a 2026-07-28 client never sends GET.
            return refuse(405, "Method not allowed: a GET stream needs a session", allow="POST")
        session = self._find_session(request, grant)
        return session if isinstance(session, web.Response) else await session.get(request)

    async def _delete(self, request: web.Request, grant: Grant) -> web.StreamResponse:
        session = self._find_session(request, grant)
        if isinstance(session, web.Response):
            return session
        await self._sessions.drop(session)
        return web.Response(status=200)

    def _find_session(self, request: web.Request, grant: Grant) -> HttpSession | web.Response:
        id_ = request.headers.get(SESSION_HEADER)
        if id_ is None:
            return refuse(400, f"Invalid Request: {SESSION_HEADER} is missing; send initialize first")
        session = self._sessions.find(id_, grant.principal)
        return session or refuse(404, "Session not found; send initialize again")


async def _refuse_method(allow: str, request: web.Request, grant: Grant) -> web.StreamResponse:
    return refuse(405, f"Method not allowed: use {allow}", allow=allow)


def _accepts(request: web.Request, wanted: str) -> bool:
    """Whether the Accept header allows a type. Without the header everything is allowed (RFC 9110)."""
    header = ",".join(request.headers.getall("Accept", []))
    if not header:
        return True
    ranges = {part.partition(";")[0].strip().lower() for part in header.split(",")}
    return bool(ranges & {wanted, wanted.partition("/")[0] + "/*", "*/*"})


def _check_version(request: web.Request, message: object) -> web.Response | None:
    """2025-06-18: "If the server receives a request with an invalid or unsupported MCP-Protocol-Version,
    it MUST respond with 400"."""
    header = request.headers.get(VERSION_HEADER)
    if header is None or header in HANDSHAKE_VERSIONS:
        return None
    error = make_unsupported_version(header, SUPPORTED_NEWEST_FIRST).error
    return make_error_reply(error, id_=message.id if isinstance(message, Request) else None, status=400)
