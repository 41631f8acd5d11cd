"""MCP over HTTP on an aiohttp application: Streamable HTTP at `/mcp`, and the HTTP+SSE of 2024-11-05.

    add_mcp_routes(app, server, guard=HostGuard())

`authorize` looks at each request after the Host and Origin rules and gives the server and the principal
that it may speak as, or raises an aiohttp HTTPException (401, 403). This module decides which of the
three ways a request goes; `mcp_http_stateless`, `mcp_http_sessions` and `mcp_http_legacy` go them. It
knows no tokens, no TLS, no engine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import msgspec
from aiohttp import web

from vaultbridge.jsonrpc import codec
from vaultbridge.jsonrpc.messages import Batch, Malformed, Request
from vaultbridge.limits import CALL_SECONDS
from vaultbridge.protocols.http.body import BodyRefused, close_if_body_unread, defer_continue
from vaultbridge.protocols.http.guard import ALLOWED_HEADERS, HostGuard, requested_host
from vaultbridge.protocols.mcp.failures import unsupported_version
from vaultbridge.protocols.mcp.http.failures import error_reply, refuse, refuse_as
from vaultbridge.protocols.mcp.http.legacy import LegacyEndpoint
from vaultbridge.protocols.mcp.http.reply import read_message
from vaultbridge.protocols.mcp.http.sessions import SESSION_HEADER, HttpSession, Sessions
from vaultbridge.protocols.mcp.http.stateless import VERSION_HEADER, StatelessEndpoint, is_stateless
from vaultbridge.protocols.mcp.http.stream import ActiveRequests, MayStay, nobody_stays
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.versions import HANDSHAKE_VERSIONS, MODERN_VERSIONS, SUPPORTED_NEWEST_FIRST

ALLOWED_METHODS: Final = "GET, POST, DELETE, OPTIONS"

ENDING_SECONDS: Final = 5.0
"""How long calls in flight may go on when the server ends: somebody waits for it to be gone."""

REVOKED_SECONDS: Final = 0.5
"""The same for a caller who may no longer be here: enough to be told that a stream is over."""


class Grant(msgspec.Struct, frozen=True):
    """What a request may speak to, and as whom."""

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
    path: str = "/mcp",
    legacy: bool = True,
    call_seconds: float = CALL_SECONDS,
    clock: Callable[[], float] = time.monotonic,
) -> EndExchanges:
    """Serve MCP on `path` and, when `legacy`, on `/sse` and `/messages`. Open exchanges end with the
    application; the server itself stays the caller's. Gives what ends the exchanges of those who may no
    longer be here: `authorize` sees nobody again who only listens."""

    async def allow(request: web.Request) -> Grant:
        return Grant(server)

    # With a slash behind it, too: other servers have one there, and people copy addresses.
    places = (path, f"{path}/")
    paths = {*places, "/sse", "/messages"} if legacy else {*places}
    endpoint = McpEndpoint(call_seconds=call_seconds, clock=clock)
    old = LegacyEndpoint(call_seconds=call_seconds)
    answering = ActiveRequests()

    def guarded(view: _View) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def answered(request: web.Request) -> web.StreamResponse:
            origin = request.headers.get("Origin")
            refusal = guard.refusal(requested_host(request), origin)
            if refusal is not None:
                return refuse(403, refusal)
            try:
                grant = await (authorize or allow)(request)
                with answering.one(request, grant.principal):
                    return await view(request, grant)
            except (web.HTTPException, BodyRefused) as error:
                return refuse_as(error)

        async def handle(request: web.Request) -> web.StreamResponse:
            response = await answered(request)
            if not response.prepared:
                close_if_body_unread(request, response)
            return response

        return handle

    async def preflight(request: web.Request) -> web.StreamResponse:
        """A browser asks before it calls; this is answered without a token, which it may not send here."""
        origin = request.headers.get("Origin")
        refusal = guard.refusal(requested_host(request), origin)
        if refusal is not None:
            return refuse(403, refusal)
        headers = {
            "Access-Control-Allow-Methods": ALLOWED_METHODS,
            "Access-Control-Allow-Headers": ALLOWED_HEADERS,
            "Access-Control-Max-Age": "600",
        }
        return web.Response(status=204, headers=headers)

    async def add_cors(request: web.Request, response: web.StreamResponse) -> None:
        """Here and not in the handlers, because a stream's headers leave before its handler returns."""
        if request.path in paths:
            response.headers.update(guard.cors_headers(request.headers.get("Origin")))

    async def dismiss(stays: MayStay, seconds: float = REVOKED_SECONDS) -> None:
        await asyncio.gather(endpoint.end(stays, seconds), old.end(stays, seconds))
        await answering.hang_up(stays)

    async def shut_down(app: web.Application) -> None:
        await dismiss(nobody_stays, ENDING_SECONDS)

    for place in places:
        app.router.add_route("OPTIONS", place, preflight)
        app.router.add_route("*", place, guarded(endpoint.handle), expect_handler=defer_continue)
    if legacy:
        for method, old_path, view in (("GET", "/sse", old.open), ("POST", "/messages", old.post)):
            app.router.add_route("OPTIONS", old_path, preflight)
            app.router.add_route(method, old_path, guarded(view), expect_handler=defer_continue)
            app.router.add_route("*", old_path, guarded(partial(_only, f"{method}, OPTIONS")))
    app.on_response_prepare.append(add_cors)
    app.on_shutdown.append(shut_down)
    return dismiss


class McpEndpoint:
    """The one path of Streamable HTTP."""

    def __init__(self, *, call_seconds: float, clock: Callable[[], float]) -> None:
        self._stateless = StatelessEndpoint(call_seconds=call_seconds)
        self._sessions = Sessions(call_seconds=call_seconds, clock=clock)

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
        """End what belongs to principals who may not stay; calls in flight get `seconds`."""
        await asyncio.gather(self._stateless.end(stays, seconds), self._sessions.end(stays, seconds))

    async def _post(self, request: web.Request, grant: Grant) -> web.StreamResponse:
        if request.content_type != "application/json":
            return refuse(415, "Unsupported media type: a message is application/json")
        if not _accepts(request, "application/json") or not _accepts(request, "text/event-stream"):
            return refuse(406, "Not acceptable: accept application/json and text/event-stream")
        message = codec.decode(await read_message(request))
        if isinstance(message, Malformed):
            return error_reply(message.error, id_=message.id, status=400)
        if is_stateless(request, message):
            if isinstance(message, Batch):
                return refuse(400, "Invalid Request: batches are not part of this protocol version")
            return await self._stateless.post(request, message, grant.server, grant.principal)
        if (wrong := _wrong_version(request, message)) is not None:
            return wrong
        if isinstance(message, Request) and message.method == "initialize":
            return await self._initialize(request, message, grant)
        session = self._session(request, grant)
        return session if isinstance(session, web.Response) else await session.post(request, message)

    async def _initialize(self, request: web.Request, message: Request, grant: Grant) -> web.StreamResponse:
        if SESSION_HEADER in request.headers:
            session = self._session(request, grant)
            return session if isinstance(session, web.Response) else await session.post(request, message)
        opened = await self._sessions.open(grant.server, grant.principal)
        if opened is None:
            return refuse(503, "Too many sessions are in use; close one or try again later")
        response = await opened.post(request, message)
        if not opened.is_initialized:
            await self._sessions.drop(opened)
            response.headers.pop(SESSION_HEADER, None)
        return response

    async def _get(self, request: web.Request, grant: Grant) -> web.StreamResponse:
        if not _accepts(request, "text/event-stream"):
            return refuse(406, "Not acceptable: accept text/event-stream")
        if SESSION_HEADER not in request.headers:
            # A client of 2024-11-05 looks for its own transport here, a modern one for nothing.
            return refuse(405, "Method not allowed: a GET stream needs a session", allow="POST")
        session = self._session(request, grant)
        return session if isinstance(session, web.Response) else await session.get(request)

    async def _delete(self, request: web.Request, grant: Grant) -> web.StreamResponse:
        session = self._session(request, grant)
        if isinstance(session, web.Response):
            return session
        await self._sessions.drop(session)
        return web.Response(status=200)

    def _session(self, request: web.Request, grant: Grant) -> HttpSession | web.Response:
        id_ = request.headers.get(SESSION_HEADER)
        if id_ is None:
            return refuse(400, f"Invalid Request: {SESSION_HEADER} is missing; send initialize first")
        session = self._sessions.find(id_, grant.principal)
        return session or refuse(404, "Session not found; send initialize again")


async def _only(allow: str, request: web.Request, grant: Grant) -> web.StreamResponse:
    return refuse(405, f"Method not allowed: here it is {allow}", allow=allow)


def _accepts(request: web.Request, wanted: str) -> bool:
    """Whether the Accept header allows a type. None at all allows everything (RFC 9110)."""
    header = ",".join(request.headers.getall("Accept", []))
    if not header:
        return True
    ranges = {part.partition(";")[0].strip().lower() for part in header.split(",")}
    return bool(ranges & {wanted, wanted.partition("/")[0] + "/*", "*/*"})


def _wrong_version(request: web.Request, message: object) -> web.Response | None:
    """2025-06-18: "If the server receives a request with an invalid or unsupported MCP-Protocol-Version,
    it MUST respond with 400"."""
    header = request.headers.get(VERSION_HEADER)
    if header is None or header in HANDSHAKE_VERSIONS:
        return None
    error = unsupported_version(header, SUPPORTED_NEWEST_FIRST).error
    return error_reply(error, id_=message.id if isinstance(message, Request) else None, status=400)
