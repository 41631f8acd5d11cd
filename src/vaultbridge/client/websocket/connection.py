"""One WebSocket connection as the transport sees it: the interface between its logic and the network.

A connection is opened by a `Dial`, is used by one transport, and ends once. However it ends, `receive` raises
ConnectionLost, so the transport needs to watch nothing else.

`AiohttpConnection` is the real one; no other module of the client uses aiohttp's WebSocket. aiohttp writes an
uncompressed frame to the socket's buffer before it first waits, and finishes a compressed one even if the
caller is cancelled. `WebSocketConnection.send` relies on that for what it promises about cancellation.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import msgspec

from vaultbridge.client import redirects
from vaultbridge.client.errors import ConnectFailed, ConnectionLost, SubprotocolRefused
from vaultbridge.client.requests_once import NotRepeated, send_once
from vaultbridge.client.settings import OVERSIZE_FACTOR, WebSocketSettings

if TYPE_CHECKING:
    import aiohttp

DEFLATE_WINDOW = 15
"""Window bits to offer for permessage-deflate: the protocol's default and maximum."""

TURN_FRAMES = 64
"""Frames that are read in a row before everything else gets a turn: a server that floods us must not delay
our timeouts."""

NO_CODE = 1005
"""RFC 6455 section 7.4.1: means a close frame without a code."""


class Pong(msgspec.Struct, frozen=True):
    """The server's answer to a ping, with the ping's payload."""

    payload: bytes


Frame = str | bytes | Pong
"""A text message, a binary message, or a pong. Implementations answer pings themselves."""


class WebSocketConnection(Protocol):
    @property
    def subprotocol(self) -> str | None: ...

    async def send(self, data: bytes) -> None:
        """Send one message; waits while the connection is congested.

        Raises ConnectionLost; the message may have been sent all the same. A cancelled call has sent it.
        """

    async def ping(self, payload: bytes) -> None:
        """Ask the server to confirm everything sent before. Raises ConnectionLost."""

    async def receive(self) -> Frame:
        """Return the next frame. Raises ConnectionLost once the connection has ended for any reason."""

    async def close(self) -> bool:
        """Close it properly and release everything. Never raises; after `abort` it only releases.

        A pending `receive` raises ConnectionLost. Returns True if the server answered the close frame, which
        means that it has read everything sent before.
        """

    def abort(self) -> None:
        """Cut it at once, without a close frame. Never raises; may be called at any time and repeatedly."""


Dial = Callable[[], Awaitable[WebSocketConnection]]
"""Opens a connection. Raises ConnectFailed. The caller limits the time; after a cancellation nothing stays
open."""


class AiohttpConnection:
    """A connected WebSocket with the client session that owns its socket."""

    def __init__(
        self, session: aiohttp.ClientSession, ws: aiohttp.ClientWebSocketResponse, *, binary: bool
    ) -> None:
        from aiohttp import WSMsgType

        self._session = session
        self._ws = ws
        self._types = WSMsgType
        self._opcode = WSMsgType.BINARY if binary else WSMsgType.TEXT
        self._socket: socket.socket | None = ws.get_extra_info("socket")
        self._cut = False
        self._read = 0

    @property
    def subprotocol(self) -> str | None:
        return self._ws.protocol

    async def send(self, data: bytes) -> None:
        try:
            await self._ws.send_frame(data, self._opcode)
        except (ConnectionError, RuntimeError, OSError) as error:
            raise ConnectionLost(f"WebSocket error: sending failed ({_describe_cause(error)}).") from None

    async def ping(self, payload: bytes) -> None:
        try:
            await self._ws.ping(payload)
        except (ConnectionError, RuntimeError, OSError) as error:
            raise ConnectionLost(f"WebSocket error: sending failed ({_describe_cause(error)}).") from None

    async def receive(self) -> Frame:
        types = self._types
        while True:
            self._read += 1
            if self._read % TURN_FRAMES == 0:
                await asyncio.sleep(0)
            try:
                frame = await self._ws.receive()
            except (ConnectionError, OSError) as error:
                raise ConnectionLost(f"WebSocket error: {_describe_cause(error)}.") from None
            if frame.type is types.TEXT or frame.type is types.BINARY:
                data: str | bytes = frame.data
                return data
            if frame.type is types.PONG:
                return Pong(bytes(frame.data))
            if frame.type is types.PING:
                # If the pong cannot be sent, the next receive raises.
                with contextlib.suppress(ConnectionError, RuntimeError, OSError):
                    await self._ws.pong(frame.data)
                continue
            raise self._explain_end(frame)

    def _explain_end(self, frame: aiohttp.WSMessage) -> ConnectionLost:
        code = self._ws.close_code
        if frame.type is self._types.ERROR:
            return ConnectionLost(f"WebSocket error: {_describe_cause(frame.data)}.", close_code=code)
        if frame.type is self._types.CLOSE and not frame.data:
            return ConnectionLost("The server closed the connection without a code.", close_code=NO_CODE)
        if code is None or code == 1006:
            return ConnectionLost("The connection was lost without a close frame.", close_code=code)
        why = f" ({frame.extra})" if frame.type is self._types.CLOSE and frame.extra else ""
        return ConnectionLost(f"The server closed the connection with code {code}{why}.", close_code=code)

    async def close(self) -> bool:
        try:
            await self._ws.close()
            return not self._cut and self._ws.close_code not in (None, 1006)
        except Exception:  # noqa: BLE001 - whatever happens, it is closed; the caller learns "not confirmed"
            return False
        finally:
            self.abort()
            await self._session.close()

    def abort(self) -> None:
        if self._cut:
            return
        self._cut = True
        # Closing the transport would wait for its buffer to drain, which a stalled peer can prevent forever.
        # After a shutdown of the socket the event loop releases it at once.
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


def make_aiohttp_dial(settings: WebSocketSettings) -> Dial:
    """Make a dial for `settings`. Certificates are read here, once, so that a wrong file fails early."""
    context = _load_tls(settings)

    async def dial() -> WebSocketConnection:
        import aiohttp

        host = _format_host(settings.url)
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=1, force_close=True),
            timeout=aiohttp.ClientTimeout(total=None),
            trace_configs=[redirects.make_redirect_guard()],
            middlewares=(send_once,),
        )
        try:
            ws = await session.ws_connect(
                settings.url,
                protocols=settings.protocols,
                headers=dict(settings.headers),
                ssl=context,
                autoping=False,
                compress=DEFLATE_WINDOW if settings.compression else 0,
                max_msg_size=settings.max_message_bytes * OVERSIZE_FACTOR,
                timeout=aiohttp.ClientWSTimeout(ws_close=settings.close_timeout),
            )
        except BaseException as error:
            await session.close()
            if isinstance(error, NotRepeated):
                raise _explain_failure(host, error.error) from None
            if isinstance(error, aiohttp.ClientError | OSError | ValueError):
                raise _explain_failure(host, error) from None
            raise
        connection = AiohttpConnection(session, ws, binary=settings.binary)
        if settings.protocols and ws.protocol is None:
            await connection.close()
            offered = ", ".join(settings.protocols)
            raise SubprotocolRefused(
                f"Protocol negotiation failed: {host} accepted none of the offered subprotocols ({offered}).",
                hint="Offer one that the server supports, or none: protocols=().",
            )
        return connection

    return dial


def _load_tls(settings: WebSocketSettings) -> ssl.SSLContext | bool:
    if settings.ssl_context is not None:
        return settings.ssl_context
    if settings.ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=settings.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConnectFailed(
            f"The file of certificate authorities cannot be read: {_describe_cause(error)}."
        ) from None


def _explain_failure(host: str, error: Exception) -> ConnectFailed:
    import aiohttp

    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = error.certificate_error
        detail = getattr(reason, "verify_message", "") or "it cannot be verified"
        return ConnectFailed(f"WebSocket error: the certificate of {host} is not trusted: {detail}.")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return ConnectFailed(f"WebSocket error: the name of {host} cannot be resolved.")
    if isinstance(error, aiohttp.WSServerHandshakeError):
        if error.status in (401, 403):
            hint = "Check the token or the headers."
            return ConnectFailed(f"WebSocket error: {host} refused access (HTTP {error.status}).", hint=hint)
        if error.status == 101:
            return ConnectFailed(f"WebSocket error: {host} answered the upgrade wrongly: {error.message}.")
        return ConnectFailed(f"WebSocket error: {host} did not accept the upgrade (HTTP {error.status}).")
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return ConnectFailed(f"WebSocket error: {host} ended the connection before it answered the upgrade.")
    if isinstance(error, aiohttp.ClientResponseError):
        return ConnectFailed(f"WebSocket error: {host} answered with something that is not HTTP.")
    if isinstance(error, aiohttp.ClientConnectorError):
        return ConnectFailed(f"WebSocket error: cannot connect to {host}: {_describe_cause(error.os_error)}.")
    return ConnectFailed(f"WebSocket error: cannot connect to {host}: {_describe_cause(error)}.")


def _format_host(url: str) -> str:
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port}" if parts.port else f"{host}"


def _describe_cause(error: BaseException | None) -> str:
    """Describe an error without the addresses and paths that its own text may contain."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, ConnectionResetError):
        return "connection reset"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    text = str(error).split("\n", 1)[0]
    return text or type(error).__name__
