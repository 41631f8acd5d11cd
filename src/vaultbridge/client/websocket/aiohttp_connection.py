"""The real line: a WebSocket of aiohttp. The only module of the client that knows it.

aiohttp writes an uncompressed frame to the socket's buffer before its first wait, and finishes a compressed
one even when the caller is cancelled: what `Connection.send` promises about cancellation rests on that.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from vaultbridge.client import redirects
from vaultbridge.client.errors import ConnectFailed, ConnectionLost, SubprotocolRefused
from vaultbridge.client.settings import OVERSIZE_FACTOR, WebSocketSettings
from vaultbridge.client.websocket.connection import Connection, Dial, Frame, Pong

if TYPE_CHECKING:
    import aiohttp

DEFLATE_WINDOW = 15
"""Window bits offered for permessage-deflate: the protocol's own default and maximum."""


NO_CODE = 1005
"""RFC 6455 section 7.4.1: stands for a close frame that carries no code."""


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

    @property
    def subprotocol(self) -> str | None:
        return self._ws.protocol

    async def send(self, data: bytes) -> None:
        try:
            await self._ws.send_frame(data, self._opcode)
        except (ConnectionError, RuntimeError, OSError) as error:
            raise ConnectionLost(f"WebSocket error: sending failed ({_cause(error)}).") from None

    async def ping(self, payload: bytes) -> None:
        try:
            await self._ws.ping(payload)
        except (ConnectionError, RuntimeError, OSError) as error:
            raise ConnectionLost(f"WebSocket error: sending failed ({_cause(error)}).") from None

    async def receive(self) -> Frame:
        types = self._types
        while True:
            try:
                frame = await self._ws.receive()
            except (ConnectionError, OSError) as error:
                raise ConnectionLost(f"WebSocket error: {_cause(error)}.") from None
            if frame.type is types.TEXT or frame.type is types.BINARY:
                data: str | bytes = frame.data
                return data
            if frame.type is types.PONG:
                return Pong(bytes(frame.data))
            if frame.type is types.PING:
                # Best effort: a line that cannot carry the pong ends on the next receive.
                with contextlib.suppress(ConnectionError, RuntimeError, OSError):
                    await self._ws.pong(frame.data)
                continue
            raise self._ending(frame)

    def _ending(self, frame: aiohttp.WSMessage) -> ConnectionLost:
        code = self._ws.close_code
        if frame.type is self._types.ERROR:
            return ConnectionLost(f"WebSocket error: {_cause(frame.data)}.", close_code=code)
        if frame.type is self._types.CLOSE and not frame.data:
            return ConnectionLost("The server closed the connection without a code.", close_code=NO_CODE)
        if code is None or code == 1006:
            return ConnectionLost("The connection was lost without a goodbye.", close_code=code)
        why = f" ({frame.extra})" if frame.type is self._types.CLOSE and frame.extra else ""
        return ConnectionLost(f"The server closed the connection with code {code}{why}.", close_code=code)

    async def close(self) -> bool:
        try:
            await self._ws.close()
            return not self._cut and self._ws.close_code not in (None, 1006)
        except Exception:  # noqa: BLE001 - the line's end is all that matters; the caller learns "not confirmed"
            return False
        finally:
            self.abort()
            await self._session.close()

    def abort(self) -> None:
        if self._cut:
            return
        self._cut = True
        # Closing the transport alone would wait for its buffer to drain, which a stalled peer can prevent
        # for ever; after a shutdown of the socket the event loop lets go of it at once.
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


def aiohttp_dial(settings: WebSocketSettings) -> Dial:
    """A dial for `settings`. Certificates are read here, once, so that a wrong file is told at once."""
    context = _tls(settings)

    async def dial() -> Connection:
        import aiohttp

        host = _host(settings.url)
        session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=1, force_close=True),
            timeout=aiohttp.ClientTimeout(total=None),
            trace_configs=[redirects.guard()],
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
            if isinstance(error, aiohttp.ClientError | OSError | ValueError):
                raise _connect_failed(host, error) from None
            raise
        line = AiohttpConnection(session, ws, binary=settings.binary)
        if settings.protocols and ws.protocol is None:
            await line.close()
            offered = ", ".join(settings.protocols)
            raise SubprotocolRefused(
                f"Protocol negotiation failed: {host} agreed to no offered subprotocol ({offered}).",
                hint="Offer one that the server knows, or none: protocols=().",
            )
        return line

    return dial


def _tls(settings: WebSocketSettings) -> ssl.SSLContext | bool:
    if settings.ssl_context is not None:
        return settings.ssl_context
    if settings.ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=settings.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConnectFailed(f"The file of certificate authorities cannot be read: {_cause(error)}.") from None


def _connect_failed(host: str, error: Exception) -> ConnectFailed:
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
            return ConnectFailed(f"WebSocket error: {host} accepted the upgrade wrongly: {error.message}.")
        return ConnectFailed(f"WebSocket error: {host} did not accept the upgrade (HTTP {error.status}).")
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return ConnectFailed(f"WebSocket error: {host} ended the connection before it answered the upgrade.")
    if isinstance(error, aiohttp.ClientResponseError):
        return ConnectFailed(f"WebSocket error: {host} answered with something that is not HTTP.")
    if isinstance(error, aiohttp.ClientConnectorError):
        return ConnectFailed(f"WebSocket error: cannot connect to {host}: {_cause(error.os_error)}.")
    return ConnectFailed(f"WebSocket error: cannot connect to {host}: {_cause(error)}.")


def _host(url: str) -> str:
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{host}:{parts.port}" if parts.port else f"{host}"


def _cause(error: BaseException | None) -> str:
    """The kind of an error in words, without the addresses and paths that its own text may carry."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, ConnectionResetError):
        return "connection reset"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    text = str(error).split("\n", 1)[0]
    return text or type(error).__name__
