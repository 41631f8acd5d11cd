"""An aiohttp application on a listening socket.

What aiohttp would answer by itself, in plain text that repeats what was sent, is answered here in the form of
Bridge v1's errors: bytes that are no request, an address that nothing serves, a failure that no endpoint has
answered. What the endpoints answer passes as it is.

How many connections this process has room for.

Each is an open file, and so is everything a vault needs: where callers use them all up, no note can be read.
Many systems allow few files until a process asks for more (256 on a Mac), so a server asks.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, Final

from aiohttp import http_exceptions, web
from aiohttp.abc import AbstractAccessLogger

from vaultbridge.protocols.bridge_v1.endpoints import INTERNAL, HttpFailure

MAX_CONNECTIONS: Final = 1000
"""Connections at once: all the exchanges and sessions that there may be, and the editors beside them."""

RESERVED_FILES: Final = 128
"""Files kept for the vaults: indexes, journals, watches and the notes that are being read."""

MIN_CONNECTIONS: Final = 16
"""Let in however few files there may be: somebody has to be told what is wrong."""


def reserve_connections() -> int:
    """Ask the system for as many open files as are needed, and give how many connections then fit."""
    try:
        import resource
    except ImportError:
        # Windows has no such limit.
        return MAX_CONNECTIONS
    wanted = MAX_CONNECTIONS + RESERVED_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        better = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (better, hard))
            soft = better
        except (OSError, ValueError):
            # A rule of the system that the limits do not show.
            pass
    unlimited = soft == resource.RLIM_INFINITY or soft >= wanted
    return MAX_CONNECTIONS if unlimited else max(soft - RESERVED_FILES, MIN_CONNECTIONS)


LINE_BYTES: Final = 8190
"""The longest request line and the longest header line; other servers read as much."""

BACKLOG: Final = 128
"""Callers that may wait to be let in: 200 that come at once are taken in faster than they queue."""

REQUESTS_PER_TURN: Final = 8
"""Requests that one connection may have answered before everybody else gets a turn: a caller may send
thousands at once without waiting for an answer."""

HANDSHAKE_SECONDS: Final = 10.0
"""How long TLS may take to begin. Until then a connection is in no count, and costs the caller nothing."""

_FORWARDED_HEADERS: Final = ("Allow", "WWW-Authenticate", "Retry-After")
"""Headers of a refusal that mean something to its reader."""

_REASONS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (http_exceptions.LineTooLong, f"A line is too long: {LINE_BYTES} bytes are read."),
    (http_exceptions.BadHttpMethod, "It does not begin with a method of HTTP."),
    (http_exceptions.InvalidURLError, "Its address cannot be read."),
)
"""What is told of a request that could not be read. Never the parser's own words: they quote it."""


@asynccontextmanager
async def serve_app(
    app: web.Application,
    sock: socket.socket,
    *,
    tls: ssl.SSLContext | None = None,
    idle_seconds: float,
    shutdown_seconds: float,
    address_hint: str = "",
    connections: int = MAX_CONNECTIONS,
) -> AsyncIterator[None]:
    """Serve while the block runs. At the end nobody new comes in, and requests that are being answered get
    `shutdown_seconds`. `address_hint` says what is where, to those who knock at a wall; `connections` is how
    many there may be at once: when all are taken, one on which nothing is being answered makes room."""
    # aiohttp waits twice: before it gives up a request and after.
    runner = web.AppRunner(app, shutdown_timeout=shutdown_seconds / 2)
    await runner.setup()
    try:
        loop = asyncio.get_running_loop()
        manager = runner.server
        assert manager is not None

        inside: dict[_RequestHandler, None] = {}
        answer = manager.request_handler

        async def answered(request: web.BaseRequest) -> web.StreamResponse:
            connection = request.protocol
            assert isinstance(connection, _RequestHandler)
            connection.answering = True
            try:
                return await answer(request)
            finally:
                connection.answering = False

        manager.request_handler = answered

        def accepted() -> _RequestHandler:
            return _RequestHandler(
                manager,
                loop=loop,
                access_log=logging.getLogger("vaultbridge.http"),
                access_log_class=_AccessLog,
                keepalive_timeout=idle_seconds,
                max_line_size=LINE_BYTES,
                max_field_size=LINE_BYTES,
                # aiohttp would inflate a body while it arrives, before anybody has looked at who sends it.
                auto_decompress=False,
                address_hint=address_hint,
                inside=inside,
                most=connections,
            )

        handshake = HANDSHAKE_SECONDS if tls is not None else None
        server = await loop.create_server(
            accepted, sock=sock, ssl=tls, backlog=BACKLOG, ssl_handshake_timeout=handshake
        )
        try:
            yield
        finally:
            server.close()
    finally:
        await runner.cleanup()


class _RequestHandler(web.RequestHandler):
    """One connection."""

    __slots__ = ("_address_hint", "_answered", "_inside", "_most", "_peer", "answering")

    def __init__(
        self,
        manager: web.Server,
        *,
        address_hint: str,
        inside: dict[_RequestHandler, None],
        most: int,
        **options: Any,
    ) -> None:
        super().__init__(manager, **options)
        self._address_hint = address_hint
        self._inside = inside
        self._most = most
        self._peer = ""
        self._answered = 0
        self.answering = False
        """Whether a request of this connection is being answered; a WebSocket is one for as long as it is
        open."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if len(self._inside) >= self._most:
            self._make_room()
        if len(self._inside) >= self._most:
            # aiohttp never hears of it: there is no request to wait for.
            assert isinstance(transport, asyncio.WriteTransport)
            transport.write(_render_busy())
            transport.close()
            return
        address = transport.get_extra_info("peername")
        self._peer = str(address[0]) if isinstance(address, tuple) else ""
        self._inside[self] = None
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._inside.pop(self, None)
        if self.transport is not None:
            super().connection_lost(exc)

    def _make_room(self) -> None:
        """Close a connection that only waits: of the machine that has the most, the one that came first."""
        counts = Counter(connection._peer for connection in self._inside)
        waiting = [connection for connection in self._inside if not connection.answering]
        if waiting:
            goes = max(waiting, key=lambda connection: counts[connection._peer])
            del self._inside[goes]
            if goes.transport is not None:
                goes.transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Bytes that are no request, and what an endpoint raised. Raises ConnectionError when an answer has
        begun."""
        super().handle_error(request, status, exc, message)  # Logs it.
        response = _answer(_failure(status, exc))
        response.force_close()
        return response

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Every answer passes here; those that are aiohttp's are told by their type."""
        if isinstance(resp, web.HTTPException):
            resp = _answer(_refusal(request.method, resp, self._address_hint))
        finished = await super().finish_response(request, resp, start_time)
        self._answered += 1
        if self._answered % REQUESTS_PER_TURN == 0:
            await asyncio.sleep(0)
        return finished


class _AccessLog(AbstractAccessLogger):
    """A line a request when somebody looks for one. Without the query: a session's id stands there."""

    @property
    def enabled(self) -> bool:
        return self.logger.isEnabledFor(logging.DEBUG)

    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
        self.logger.debug("%s %s %d %.1f ms", request.method, request.path, response.status, time * 1000)


def _render_busy() -> bytes:
    """The whole answer to somebody for whom there is no room, whatever they ask."""
    why = "Too many connections are open; close one or try again later."
    body = HttpFailure(503, _error(503), why).body()
    head = (
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _failure(status: int, error: BaseException | None) -> HttpFailure:
    if status == 400:
        why = (text for kind, text in _REASONS if isinstance(error, kind))
        return HttpFailure(
            400,
            "Bad request",
            "What came is no request that this server can read.",
            details=next(why, "It breaks a rule of HTTP/1.1."),
        )
    if status == 500:
        return HttpFailure(500, INTERNAL, "The server failed; its log says why.")
    return HttpFailure(status, _error(status), "The request could not be answered.")


def _refusal(method: str, refusal: web.HTTPException, address_hint: str) -> HttpFailure:
    headers = {name: refusal.headers[name] for name in _FORWARDED_HEADERS if name in refusal.headers}
    match refusal:
        case web.HTTPNotFound():
            message, details = "There is nothing at this address.", address_hint
        case web.HTTPMethodNotAllowed():
            message = f"{method} is not possible here."
            details = f"Allowed are: {headers['Allow']}. {address_hint}".strip()
        case web.HTTPExpectationFailed():
            message, details = "This server does not know what the Expect header asks for.", ""
        case _:
            message, details = refusal.text or refusal.reason, ""
    return HttpFailure(refusal.status, _error(refusal.status), message, details=details, headers=headers)


def _error(status: int) -> str:
    """`Not found` for 404, as Bridge v1 writes it."""
    return HTTPStatus(status).phrase.capitalize()


def _answer(failure: HttpFailure) -> web.Response:
    return web.Response(
        status=failure.status,
        body=failure.body(),
        content_type="application/json",
        headers=failure.headers,
    )
