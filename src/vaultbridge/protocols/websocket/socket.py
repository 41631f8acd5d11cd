"""One WebSocket after the handshake: receives and sends whole text messages.

It enforces the rules of a running connection: UTF-8 text only, the size of messages, how much is buffered for
a slow reader, pings, the closing handshake. It neither interprets messages nor decides who may connect.

It is the `MessageSink` of a `protocols.connection.Connection`: `send` never waits. What cannot be written at
once is queued, and a peer that lets the queue grow beyond its limit is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import struct
import zlib
from collections import deque
from typing import Final

from aiohttp import WSCloseCode, WSMessage, WSMsgType, web

from vaultbridge.jsonrpc.messages import RequestId
from vaultbridge.jsonrpc.session import Outgoing
from vaultbridge.limits import MIB
from vaultbridge.protocols.websocket import frame_guard

MESSAGE_BYTES: Final = 10 * MIB
"""Document 000: a message may have 10 MB. A larger one closes the connection with 1009."""

UNAUTHENTICATED_BYTES: Final = 64 * 1024
"""The same before the peer has authenticated: a greeting has a few hundred bytes."""

OUTGOING_BYTES: Final = 1 * MIB
"""Document 000's buffer limit: what may wait for a peer in addition to the message being written. A
notification that exceeds it drops the peer, so that a slow reader costs the others nothing."""

ANSWER_BYTES: Final = 4 * MESSAGE_BYTES
"""Answers may exceed OUTGOING_BYTES while the peer reads, because it asked for them, but never this."""

STALL_SECONDS: Final = 2.0
"""A peer beyond OUTGOING_BYTES that reads nothing for this long is stuck, not busy: over loopback, hundreds
of megabytes can be read in that time."""

CLOSE_SECONDS: Final = 2.0
"""How long to wait for the peer's close frame."""

LARGEST_CLOSE_CODE: Final = 4999
"""RFC 6455 7.4.2: the last code that applications may define."""

COMPRESS_FROM: Final = 4096
"""Smaller messages are sent uncompressed: deflating them costs more than it saves."""

log = logging.getLogger("vaultbridge.ws")


class HandshakeAborted(ConnectionError):
    """The peer disconnected before the upgrade was answered."""


class _Response(web.WebSocketResponse):
    """aiohttp's response, with the closing handshake left to `WebSocket`.

    aiohttp's own `close` drops the socket with bytes unread, so that the kernel's reset overtakes the close
    frame and the peer is not informed why. It also answers a broken deflate stream with 1000, as if nothing
    were wrong.
    """

    close_sent = False
    failure: tuple[int, str] | None = None
    """The code and reason to close with, because the peer broke a rule."""

    async def close(self, *, code: int = WSCloseCode.OK, message: bytes = b"", drain: bool = True) -> bool:
        if isinstance(self.exception(), zlib.error):
            self.failure = WSCloseCode.INVALID_TEXT, "broken compression"
        elif code != WSCloseCode.OK:
            self.failure = code, ""
        return True


class WebSocket:
    """Made by `accept`. `name` identifies the socket in logs and state; it contains no secret."""

    def __init__(self, response: _Response, transport: asyncio.Transport, name: str) -> None:
        self.name = name
        self._response = response
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._sent = 0
        self._writing = 0
        self._pump: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._stall_timer: asyncio.TimerHandle | None = None
        self._alive = True
        self._refusal: asyncio.Task[None] | None = None
        self._peer_closed = asyncio.Event()
        self._guard: frame_guard.FrameGuard | None = None

    @property
    def authenticated(self) -> bool:
        """Whether the peer has proved that it knows the token."""
        return self._guard is None or self._guard.max_message == MESSAGE_BYTES

    def watch(self, guard: frame_guard.FrameGuard) -> None:
        """Called once, by `accept`."""
        self._guard = guard

    def authenticate(self) -> None:
        """Record that the peer has sent the token: from now on its messages may have the full size."""
        if self._guard is not None:
            self._guard.max_message = MESSAGE_BYTES

    @property
    def response(self) -> web.WebSocketResponse:
        """What the aiohttp handler returns when the connection has ended."""
        return self._response

    @property
    def closed(self) -> bool:
        return self._response.close_sent or self._response.closed or self._transport.is_closing()

    @property
    def waiting_bytes(self) -> int:
        """What was given to `send` and has not reached the kernel yet."""
        return self._queued + self._transport.get_write_buffer_size()

    # Receiving.

    async def receive(self) -> bytes | None:
        """The next message, or None when the connection has ended."""
        message = await self._next()
        if message is None:
            if (failure := self._response.failure) is not None:
                await self.close(*failure)
            return None
        if message.type is not WSMsgType.TEXT:
            await self.close(WSCloseCode.UNSUPPORTED_DATA, "messages are text")
            return None
        data: bytes = message.data
        if log.isEnabledFor(logging.DEBUG):
            log.debug("Raw data received: %d bytes from %s", len(data), self.name)
        if len(data) > MESSAGE_BYTES:
            # The guard counts bytes on the wire; this message grew when it was inflated.
            await self.close(WSCloseCode.MESSAGE_TOO_BIG, "message too big")
            return None
        if not data.isascii() and not _is_utf8(data):
            await self.close(WSCloseCode.INVALID_TEXT, "text must be UTF-8")
            return None
        return data

    async def _next(self) -> WSMessage | None:
        """The next text or binary message; pings and closes are answered here."""
        while True:
            message = await self._response.receive()
            kind = message.type
            if kind is WSMsgType.TEXT or kind is WSMsgType.BINARY:
                return message
            if kind is WSMsgType.PING:
                await self._send_control(message.data, WSMsgType.PONG)
            elif kind is WSMsgType.CLOSE:
                answer = _choose_close_code(message.data or WSCloseCode.OK), ""
                await self._send_close(*(self._response.failure or answer))
                return None
            elif kind is not WSMsgType.PONG:
                return None

    # Sending.

    def send(self, item: Outgoing) -> None:
        """Queue a message, in order. Never waits; does nothing when the peer has disconnected."""
        self.send_text(item.data, is_answer=item.final)

    def send_text(self, data: bytes, *, is_answer: bool = False) -> None:
        """`is_answer` distinguishes answers from notifications, which drop the peer when the buffer is
        full."""
        if self.closed:
            return
        if not self._has_room(len(data), is_answer=is_answer):
            self.drop("more than the limit waits for a slow reader")
            return
        if self._pump is None and self._writable.is_set() and not self._deflates(data):
            self._write(data)
            return
        self._queue.append(data)
        self._queued += len(data)
        if self.waiting_bytes > OUTGOING_BYTES:
            self._watch_for_stall()
        if self._pump is None:
            self._pump = self._loop.create_task(self._send_queued())

    async def drain(self) -> None:
        """Wait while the peer is slower than we are."""
        if not self._writable.is_set():
            await self._writable.wait()
        if self._pump is not None:
            await asyncio.wait((self._pump,))

    def release(self, related: RequestId) -> None:
        """Do nothing: all requests share one stream."""

    def _has_room(self, size: int, *, is_answer: bool) -> bool:
        waiting = self.waiting_bytes
        if is_answer:
            return waiting + size <= ANSWER_BYTES
        return waiting + size <= OUTGOING_BYTES + min(self._writing, waiting)

    async def _send_queued(self) -> None:
        try:
            while self._queue:
                await self._writable.wait()
                if self.closed:
                    return
                data = self._queue.popleft()
                self._queued -= len(data)
                if self._deflates(data):
                    self._writing = len(data)
                    self._sent += len(data)
                    await self._response.send_frame(data, WSMsgType.TEXT)
                else:
                    self._write(data)
        except ConnectionError:
            self._transport.abort()
        finally:
            self._pump = None

    def _deflates(self, data: bytes) -> bool:
        return len(data) >= COMPRESS_FROM and bool(self._response.compress)

    def _write(self, data: bytes) -> None:
        """One plain frame. RFC 7692 6: a message may be sent uncompressed even though compression was
        negotiated."""
        size = len(data)
        if size < 126:
            head = bytes((0x81, size))
        elif size < 65536:
            head = struct.pack("!BBH", 0x81, 126, size)
        else:
            head = struct.pack("!BBQ", 0x81, 127, size)
        self._writing = size
        self._sent += size
        self._transport.write(head + data)
        if size > OUTGOING_BYTES:
            self._watch_for_stall()

    async def _send_control(self, data: bytes, kind: WSMsgType) -> None:
        if not self._response.close_sent:
            with contextlib.suppress(ConnectionError):
                await self._response.send_frame(data, kind)

    def _watch_for_stall(self) -> None:
        if self._stall_timer is None:
            unwritten = self._transport.get_write_buffer_size()
            self._stall_timer = self._loop.call_later(
                STALL_SECONDS, self._check_progress, self._sent - unwritten
            )

    def _check_progress(self, read_before: int) -> None:
        self._stall_timer = None
        unwritten = self._transport.get_write_buffer_size()
        if self.closed or self.waiting_bytes <= OUTGOING_BYTES:
            return
        if self._sent - unwritten <= read_before:
            self.drop("a slow reader read nothing of what waits for it")
            return
        self._watch_for_stall()

    # `frame_guard.FrameListener`.

    def data_arrived(self) -> None:
        self._alive = True

    def refuse(self, code: int, reason: str) -> None:
        log.warning("Refusing %s: %s", self.name, reason)
        # The peer's close frame may be read before the task runs.
        self._response.failure = code, reason
        self._refusal = self._loop.create_task(self.close(code, reason))

    def peer_closed(self) -> None:
        self._peer_closed.set()

    def write_paused(self) -> None:
        self._writable.clear()

    def write_resumed(self) -> None:
        self._writable.set()

    # Liveness.

    async def ping(self) -> bool:
        """Ping the peer. False when it has been silent since the last ping."""
        if not self._alive or self.closed:
            return False
        self._alive = False
        await self._send_control(b"", WSMsgType.PING)
        return True

    @property
    def is_answering(self) -> bool:
        """Whether the peer has sent anything since the last ping. A benchmark waits for it."""
        return self._alive

    def reset_liveness(self) -> None:
        """Ignore the silence so far, because the machine slept."""
        self._alive = True

    # Closing.

    async def close(self, code: int = WSCloseCode.OK, reason: str = "") -> None:
        """Send what is queued and a close frame, and wait for the peer's for a limited time."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                if not self.closed:
                    await self.drain()
                    await self._send_close(code, reason)
                await self._wait_for_peer()
        except TimeoutError:
            log.info("%s did not answer the close frame", self.name)
        self._end()
        self._transport.close()

    def drop(self, why: str) -> None:
        """Disconnect at once, without a close frame: the peer is not reading."""
        log.warning("Dropping %s: %s", self.name, why)
        self._end()
        self._transport.abort()

    async def _wait_for_peer(self) -> None:
        """Wait until the peer has closed too. Otherwise the kernel would answer what it still sends with a
        reset, which overtakes our close frame."""
        if not self._transport.is_closing():
            await self._peer_closed.wait()

    async def _send_close(self, code: int, reason: str) -> None:
        payload = struct.pack("!H", code) + reason.encode()[:123]
        await self._send_control(payload, WSMsgType.CLOSE)
        self._response.close_sent = True
        if self._guard is not None:
            self._guard.ignore_data()

    def _end(self) -> None:
        self._peer_closed.set()
        self._writable.set()
        self._queue.clear()
        self._queued = 0
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None


async def accept(
    request: web.Request, name: str, *, protocol: str | None, authenticated: bool = True
) -> WebSocket:
    """Answer the upgrade. The caller has checked everything that may refuse it. A peer that is not
    `authenticated` may send little until it is, and nothing compressed ever: a kilobyte may inflate to a
    megabyte."""
    response = _Response(
        timeout=CLOSE_SECONDS,
        autoping=False,
        autoclose=False,
        protocols=(protocol,) if protocol else (),
        compress=authenticated,
        # aiohttp refuses at its limit, we refuse above ours; the guard and `receive` count exactly.
        max_msg_size=MESSAGE_BYTES + 2,
        decode_text=False,
    )
    transport = request.transport
    if transport is None:
        raise HandshakeAborted(name)
    socket = WebSocket(response, transport, name)
    most = MESSAGE_BYTES if authenticated else UNAUTHENTICATED_BYTES
    guard = frame_guard.install(transport, socket, max_message=most)
    socket.watch(guard)
    await response.prepare(request)
    guard.compresses = bool(response.compress)
    return socket


def _choose_close_code(code: int) -> int:
    """Return the close code that answers the peer's. aiohttp accepts 1006, which must never appear in a frame
    (RFC 6455 7.4.1), and codes beyond the largest."""
    allowed = code != WSCloseCode.ABNORMAL_CLOSURE and code <= LARGEST_CLOSE_CODE
    return code if allowed else WSCloseCode.PROTOCOL_ERROR


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
