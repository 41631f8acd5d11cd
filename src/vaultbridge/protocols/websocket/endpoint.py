"""Decides who may open a WebSocket, and checks which connections are still alive.

A `WebSocketEndpoint` has the rules of one route and its open connections. It refuses a request before the
upgrade with the status that the protocol prescribes (403 for a web page's Origin, 401 for a missing or wrong
token, 400 for a malformed handshake, 503 when full), passes each accepted connection to `serve`, pings all of
them regularly, drops the dead ones, and closes all of them at the end. It does not interpret messages:
`run_connection` passes them to a dialect.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import WSCloseCode, hdrs, web
from msgspec import Struct

from vaultbridge.activity.clients import SeenClient
from vaultbridge.jsonrpc import codec
from vaultbridge.jsonrpc.messages import Malformed
from vaultbridge.protocols.connection import Connection
from vaultbridge.protocols.dialect import Dialect, Peer
from vaultbridge.protocols.websocket.socket import HandshakeAborted, WebSocket, accept

TOKEN_PROTOCOL_PREFIX: Final = "vaultbridge.token."
"""A subprotocol entry `vaultbridge.token.<token>` carries the token for clients that cannot set headers
(browsers). Never echoed, never logged."""

MAX_CONNECTIONS: Final = 10
"""Document 000: ten concurrent connections; the eleventh is answered 503."""

MAX_UNAUTHENTICATED: Final = 8
"""Connections that may be open before they have sent the token in their first message. A client sends it
within milliseconds. When there are too many, the oldest is dropped, so that silent connections cannot block
others."""

PING_SECONDS: Final = 30.0
"""Document 000: health checks every 30 seconds."""

BAD_MESSAGES: Final = 64
"""How many unreadable messages in a row close a connection. Each is answered with what is wrong; a program
that sends this many is not reading the answers."""

SLEEP_INTERVALS: Final = 2.0
"""A health check that is late by this many intervals means that the machine slept or the process was stopped.
No client could have answered, so none is dropped."""

log = logging.getLogger("vaultbridge.ws")


def authenticate_all(request: web.Request) -> bool:
    return True


Serve = Callable[[WebSocket, web.Request], Awaitable[None]]
OriginCheck = Callable[[web.Request], str | None]


class EndpointRules(Struct, frozen=True):
    """The rules of one route. `name` begins the name of each connection. `token_header` is the header with
    the token. If `token` is None, `serve` checks it in the first message; `how_to_connect` is the hint for a
    program that sent none or a wrong one. `protocols` are the subprotocols that we support, best first; the
    first one that the client offers is chosen. `check_origin` returns why a request's Origin or Host is
    refused, or None. `is_authenticated` returns whether a request has already shown the token. `connections`
    is the most authenticated connections."""

    name: str
    check_origin: OriginCheck
    token_header: str
    token: str | None = None
    how_to_connect: str = ""
    is_authenticated: Callable[[web.Request], bool] = authenticate_all
    protocols: tuple[str, ...] = ("mcp",)
    connections: int = MAX_CONNECTIONS
    ping_seconds: float = PING_SECONDS


class WebSocketEndpoint:
    """Accepts the WebSockets of one route. `request_handler` is the aiohttp handler. Start
    `run_health_checks` as a task, and call `shut_down` at the end."""

    def __init__(self, rules: EndpointRules, serve: Serve) -> None:
        self.rules = rules
        self._serve = serve
        self._open: dict[str, WebSocket] = {}
        self._entering = 0
        self._numbers = itertools.count(1)
        self._closed = False

    @property
    def sockets(self) -> tuple[WebSocket, ...]:
        return tuple(self._open.values())

    async def request_handler(self, request: web.Request) -> web.StreamResponse:
        refusal = self._find_refusal(request)
        if refusal is not None:
            # A request without any token is not an attack: some program checks whether we are running, as
            # `doctor` does.
            probe = refusal.status == 401 and not _list_tokens(request, self.rules.token_header)
            level = logging.INFO if probe else logging.WARNING
            log.log(level, "Refused a connection: %s", (refusal.text or "").strip())
            return refusal
        authenticated = self.rules.is_authenticated(request)
        if not authenticated:
            self._make_room_for_unauthenticated()
        self._entering += 1
        try:
            name = f"{self.rules.name}-{next(self._numbers)}"
            socket = await accept(
                request, name, protocol=self._choose_protocol(request), authenticated=authenticated
            )
            self._open[name] = socket
        except HandshakeAborted:
            return web.Response(status=400)
        finally:
            self._entering -= 1
        if self.rules.token is not None:
            log.info("Authentication successful: %s", name)
        log.info("Client connected: %s", name)
        try:
            await self._serve(socket, request)
            await socket.close()
        except Exception:
            log.exception("serving %s failed", name)
            await socket.close(WSCloseCode.INTERNAL_ERROR, "internal error")
        finally:
            self._open.pop(name, None)
            log.info("Client disconnected: %s", name)
        return socket.response

    def _find_refusal(self, request: web.Request) -> web.Response | None:
        reason = self.rules.check_origin(request)
        if reason is not None:
            return _refuse(403, reason)
        token = self.rules.token
        if token is not None and not has_valid_token(request, token, self.rules.token_header):
            return _refuse(401, f"The authentication token is missing or wrong. {self.rules.how_to_connect}")
        problem = _find_handshake_problem(request)
        if problem is not None:
            return _refuse(400, problem, {hdrs.SEC_WEBSOCKET_VERSION: "13"})
        known = sum(socket.authenticated for socket in self._open.values())
        if self._closed or known + self._entering >= self.rules.connections:
            reason = f"{self.rules.connections} connections are already open"
            return _refuse(503, reason, {"Retry-After": "5"})
        return None

    def _make_room_for_unauthenticated(self) -> None:
        unauthenticated = [socket for socket in self._open.values() if not socket.authenticated]
        for socket in unauthenticated[: max(0, len(unauthenticated) - MAX_UNAUTHENTICATED + 1)]:
            self._open.pop(socket.name, None)
            socket.drop("it has not authenticated, and others are waiting to")

    def _choose_protocol(self, request: web.Request) -> str | None:
        offered = list_offered_protocols(request)
        return next((name for name in self.rules.protocols if name in offered), None)

    async def run_health_checks(self) -> None:
        """Check all connections at every interval. Runs until cancelled."""
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(self.rules.ping_seconds)
            now = loop.time()
            await self.check_health(overslept=now - last > SLEEP_INTERVALS * self.rules.ping_seconds)
            last = now

    async def check_health(self, *, overslept: bool = False) -> None:
        """Ping every connection, and drop those that were silent since the last ping. After the machine
        slept, none is dropped."""
        if log.isEnabledFor(logging.DEBUG):
            log.debug("Health check: %d active connections (%s)", len(self._open), self.rules.name)
        for socket in self.sockets:
            if overslept:
                socket.reset_liveness()
            if not await socket.ping():
                log.info("Removing dead connection: %s", socket.name)
                self._open.pop(socket.name, None)
                socket.drop("no sign of life since the last ping")

    async def shut_down(self) -> None:
        """Close every connection with 1001 (going away) and refuse new ones."""
        self._closed = True
        closing = [
            socket.close(WSCloseCode.GOING_AWAY, "the server is shutting down") for socket in self.sockets
        ]
        await asyncio.gather(*closing, return_exceptions=True)


async def run_connection(
    socket: WebSocket,
    dialect: Callable[[Peer], Dialect],
    principal: str,
    *,
    call_seconds: float,
    client: SeenClient | None = None,
) -> None:
    """Run the messages of one socket until the peer disconnects or the dialect ends it."""
    connection = Connection(dialect, socket, principal=principal, call_seconds=call_seconds, client=client)
    if client is not None:
        client.end = connection.end
    closing = asyncio.ensure_future(_close_when_ended(connection, socket))
    try:
        bad = 0
        while (data := await socket.receive()) is not None:
            message = codec.decode(data)
            await connection.receive_message(message, size=len(data))
            bad = bad + 1 if isinstance(message, Malformed) else 0
            if bad >= BAD_MESSAGES:
                await socket.close(WSCloseCode.POLICY_VIOLATION, f"{bad} messages in a row were not JSON-RPC")
                return
    finally:
        closing.cancel()
        await connection.close()


async def _close_when_ended(connection: Connection, socket: WebSocket) -> None:
    await connection.ending.wait()
    await socket.close(WSCloseCode.POLICY_VIOLATION, "the connection was refused")


def list_offered_protocols(request: web.Request) -> list[str]:
    return [
        name.strip()
        for header in request.headers.getall(hdrs.SEC_WEBSOCKET_PROTOCOL, [])
        for name in header.split(",")
    ]


def has_valid_token(request: web.Request, token: str, header: str) -> bool:
    """Whether the request carries the token in a header or a subprotocol entry, compared in constant time."""
    tokens = _list_tokens(request, header)
    # Exactly one: with two different tokens it would be unclear which one counts.
    return len(tokens) == 1 and is_same_token(tokens[0], token)


def _list_tokens(request: web.Request, header: str) -> list[str]:
    return request.headers.getall(header, []) + [
        name.removeprefix(TOKEN_PROTOCOL_PREFIX)
        for name in list_offered_protocols(request)
        if name.startswith(TOKEN_PROTOCOL_PREFIX)
    ]


def is_same_token(candidate: str, token: str) -> bool:
    return hmac.compare_digest(candidate.encode("utf-8", "surrogateescape"), token.encode())


def is_upgrade(request: web.Request) -> bool:
    return request.headers.get(hdrs.UPGRADE, "").strip().lower() == "websocket"


def _find_handshake_problem(request: web.Request) -> str | None:
    """RFC 6455 4.2.1, stricter than aiohttp, which accepts drafts 7 and 8 and keys with stray characters."""
    headers = request.headers
    connection = [word.strip().lower() for word in headers.get(hdrs.CONNECTION, "").split(",")]
    if not is_upgrade(request) or "upgrade" not in connection:
        return "this address speaks WebSocket only"
    if request.method != hdrs.METH_GET:
        return "a WebSocket begins with GET"
    if headers.get(hdrs.SEC_WEBSOCKET_VERSION) != "13":
        return "the WebSocket version must be 13"
    try:
        key = base64.b64decode(headers.get(hdrs.SEC_WEBSOCKET_KEY, ""), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    return None if len(key) == 16 else "Sec-WebSocket-Key must be 16 bytes in base64"


def _refuse(status: int, reason: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=status, text=reason + "\n", headers=headers)


class _NoProtocolWarnings(logging.Filter):
    """aiohttp warns when it knows none of the offered subprotocols, and prints them; one may contain a
    token."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "protocols" not in str(record.msg)


logging.getLogger("aiohttp.websocket").addFilter(_NoProtocolWarnings())
