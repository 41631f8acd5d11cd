"""Opens a port and serves an aiohttp application on it, with a limit on the number of connections.

aiohttp's own error pages are plain text and repeat what was sent. Here they become errors in the form of
Bridge v1: for bytes that are not a request, for an address that nothing serves, and for a failure that no
endpoint has answered. The endpoints' own responses pass unchanged.

Every connection is an open file, and a vault needs open files too: if clients use them all up, no note can be
read. Many systems allow few files unless a process raises the limit (256 on a Mac), so `reserve_connections`
raises it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from aiohttp import http_exceptions, web
from aiohttp.abc import AbstractAccessLogger

from vaultbridge.errors import EngineFailure
from vaultbridge.protocols.http.failures import INTERNAL, HttpFailure, from_refusal, name_status, to_response

MAX_CONNECTIONS: Final = 1000
"""Open connections: enough for all the exchanges and sessions that are allowed, and for editors."""

RESERVED_FILES: Final = 128
"""Files reserved for the vaults: indexes, journals, watches and the notes that are being read."""

MIN_CONNECTIONS: Final = 16
"""Connections that are allowed even if there are too few files, so that a person can see what is wrong."""


def reserve_connections() -> int:
    """Raise the limit on open files as far as needed, and return how many connections fit."""
    if sys.platform == "win32":
        return MAX_CONNECTIONS  # there is no such limit
    import resource

    wanted = MAX_CONNECTIONS + RESERVED_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        better = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (better, hard))
            soft = better
        except (OSError, ValueError):
            # The system has a rule that the limits do not show.
            pass
    unlimited = soft == resource.RLIM_INFINITY or soft >= wanted
    return MAX_CONNECTIONS if unlimited else max(soft - RESERVED_FILES, MIN_CONNECTIONS)


def open_socket(host: str, ports: Sequence[int]) -> socket.socket:
    """A socket that listens on the first free one of `ports` (0: any). Raises EngineFailure when none is
    free.

    An address still in TIME_WAIT after a crash may be taken again; one that somebody listens on may not.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    problem: OSError | None = None
    for port in dict.fromkeys(ports):
        candidate = socket.socket(family, socket.SOCK_STREAM)
        try:
            if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
                candidate.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
            else:
                candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            candidate.bind((host, port))
            candidate.listen(BACKLOG)
        except OSError as error:
            candidate.close()
            problem = error
        else:
            candidate.settimeout(0)
            return candidate
    tried = ", ".join(str(port) for port in ports)
    why = problem.strerror if problem is not None else "none was given"
    raise EngineFailure(
        f"No port could be opened (tried {tried}): {why}.", hint="Choose another one with --port."
    )


LINE_BYTES: Final = 8190
"""The longest request line and header line; other servers allow as much."""

BACKLOG: Final = 128
"""Connections that may wait to be accepted. Even 200 that arrive at once are accepted before so many wait."""

REQUESTS_PER_TURN: Final = 8
"""Requests that one connection may have answered before the others get a turn: a client may pipeline
thousands."""

HANDSHAKE_SECONDS: Final = 10.0
"""How long the TLS handshake may take. Until it is done a connection is not counted."""

_REASONS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (http_exceptions.LineTooLong, f"A line is too long: at most {LINE_BYTES} bytes are accepted."),
    (http_exceptions.BadHttpMethod, "It does not begin with an HTTP method."),
    (http_exceptions.InvalidURLError, "Its address cannot be read."),
)
"""Why a request could not be parsed. The parser's own messages are not used, because they quote the
request."""


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
    """Serve while the block runs. At the end no new connection is accepted, and requests in progress get
    `shutdown_seconds`. `address_hint` tells a client that requested an unknown address which addresses there
    are. At most `connections` are open; when they are all taken, one that is not answering a request is
    closed."""
    # aiohttp waits twice: before it cancels requests and after.
    runner = web.AppRunner(app, shutdown_timeout=shutdown_seconds / 2)
    await runner.setup()
    try:
        loop = asyncio.get_running_loop()
        manager = runner.server
        assert manager is not None

        open_connections: dict[_RequestHandler, None] = {}
        answer = manager.request_handler

        async def track_answering(request: web.BaseRequest) -> web.StreamResponse:
            connection = request.protocol
            assert isinstance(connection, _RequestHandler)
            connection.answering = True
            try:
                return await answer(request)
            finally:
                connection.answering = False

        manager.request_handler = track_answering

        def make_handler() -> _RequestHandler:
            return _RequestHandler(
                manager,
                loop=loop,
                access_log=logging.getLogger("vaultbridge.http"),
                access_log_class=_AccessLog,
                keepalive_timeout=idle_seconds,
                max_line_size=LINE_BYTES,
                max_field_size=LINE_BYTES,
                # aiohttp would inflate a body while it arrives, before its sender is authenticated.
                auto_decompress=False,
                address_hint=address_hint,
                open_connections=open_connections,
                most=connections,
            )

        handshake = HANDSHAKE_SECONDS if tls is not None else None
        server = await loop.create_server(
            make_handler, sock=sock, ssl=tls, backlog=BACKLOG, ssl_handshake_timeout=handshake
        )
        try:
            yield
        finally:
            server.close()
    finally:
        await runner.cleanup()


class _RequestHandler(web.RequestHandler):
    """One connection."""

    __slots__ = ("_address_hint", "_answered", "_most", "_open", "_peer", "answering")

    def __init__(
        self,
        manager: web.Server,
        *,
        address_hint: str,
        open_connections: dict[_RequestHandler, None],
        most: int,
        **options: Any,
    ) -> None:
        super().__init__(manager, **options)
        self._address_hint = address_hint
        self._open = open_connections
        self._most = most
        self._peer = ""
        self._answered = 0
        self.answering = False
        """Whether a request of this connection is being answered. An open WebSocket counts as one."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if len(self._open) >= self._most:
            self._make_room()
        if len(self._open) >= self._most:
            # aiohttp is not involved, because there is no request to wait for.
            assert isinstance(transport, asyncio.WriteTransport)
            transport.write(_render_busy())
            transport.close()
            return
        address = transport.get_extra_info("peername")
        self._peer = str(address[0]) if isinstance(address, tuple) else ""
        self._open[self] = None
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        self._open.pop(self, None)
        if self.transport is not None:
            super().connection_lost(exc)

    def _make_room(self) -> None:
        """Close an idle connection: the oldest of the machine that has the most."""
        counts = Counter(connection._peer for connection in self._open)
        idle = [connection for connection in self._open if not connection.answering]
        if idle:
            chosen = max(idle, key=lambda connection: counts[connection._peer])
            del self._open[chosen]
            if chosen.transport is not None:
                chosen.transport.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer bytes that are not a request, and exceptions of an endpoint. Raises ConnectionError if a
        response has begun."""
        super().handle_error(request, status, exc, message)  # Logs it.
        response = to_response(_make_failure(status, exc))
        response.force_close()
        return response

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Every response passes through here; aiohttp's own errors are recognized by their type."""
        if isinstance(resp, web.HTTPException):
            resp = to_response(_convert_refusal(request.method, resp, self._address_hint))
        finished = await super().finish_response(request, resp, start_time)
        self._answered += 1
        if self._answered % REQUESTS_PER_TURN == 0:
            await asyncio.sleep(0)
        return finished


class _AccessLog(AbstractAccessLogger):
    """One debug line per request. Without the query, which contains the id of a session."""

    @property
    def enabled(self) -> bool:
        return self.logger.isEnabledFor(logging.DEBUG)

    def log(self, request: web.BaseRequest, response: web.StreamResponse, time: float) -> None:
        self.logger.debug("%s %s %d %.1f ms", request.method, request.path, response.status, time * 1000)


def _render_busy() -> bytes:
    """The whole response to a connection for which there is no room."""
    why = "Too many connections are open; close one or try again later."
    body = HttpFailure(503, name_status(503), why).body()
    head = (
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _make_failure(status: int, error: BaseException | None) -> HttpFailure:
    if status == 400:
        why = (text for kind, text in _REASONS if isinstance(error, kind))
        return HttpFailure(
            400,
            "Bad request",
            "This is not a request that the server can read.",
            details=next(why, "It violates HTTP/1.1."),
        )
    if status == 500:
        return HttpFailure(500, INTERNAL, "The server failed; see its log.")
    return HttpFailure(status, name_status(status), "The request could not be answered.")


def _convert_refusal(method: str, refusal: web.HTTPException, address_hint: str) -> HttpFailure:
    match refusal:
        case web.HTTPNotFound():
            return from_refusal(refusal, "There is nothing at this address.", address_hint)
        case web.HTTPMethodNotAllowed():
            details = f"Allowed: {refusal.headers['Allow']}. {address_hint}".strip()
            return from_refusal(refusal, f"{method} is not allowed here.", details)
        case web.HTTPExpectationFailed():
            return from_refusal(refusal, "This server does not know what the Expect header asks for.")
        case _:
            return from_refusal(refusal)
