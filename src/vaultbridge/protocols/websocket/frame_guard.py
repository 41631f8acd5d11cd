"""Enforces the frame rules of RFC 6455 that aiohttp's server does not.

aiohttp 3.14 accepts unmasked frames from a client (5.1 says that they fail the connection), a new message
after an empty first fragment (5.4) and RSV bits on control frames (5.2). After a refused message it closes
the socket with bytes unread, so that the kernel's reset overtakes the close frame and the peer is not
informed why. The guard is an `asyncio.Protocol` in front of aiohttp's own on the same transport: it reads
only frame headers, forwards what is valid, and after a violation discards everything but the peer's close
frame. It uses no private part of aiohttp.

Connections also take turns here. One read may bring thousands of tiny frames, each a message to parse and
answer. So after a share of them reading pauses, and the rest waits for the next pass of the event loop, in
which the other connections are served too. At most one read is buffered.

A peer that sends frames before it has seen the 101 response (which 4.1 forbids) may be checked from the
middle of a frame, and is then refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, cast

PROTOCOL_ERROR: Final = 1002
TOO_BIG: Final = 1009

FRAMES_PER_TURN: Final = 8
"""Frames of one connection that are forwarded in one pass of the event loop. Answering that many tiny
messages takes half a millisecond; a client sends a handful at once."""

FRAMES_AT_THE_END: Final = 1024
"""Frames that are still forwarded if the peer disconnects before their turn: everything that an honest client
has sent, and a few milliseconds' worth from one that never stops sending."""

_CONTINUATION: Final = 0
_CLOSE: Final = 8
_COMPRESSED: Final = 0x40
_KNOWN_OPCODES: Final = frozenset((0, 1, 2, 8, 9, 10))


class FrameListener(Protocol):
    """Receives what happens on the wire."""

    def data_arrived(self) -> None:
        """Bytes arrived."""

    def refuse(self, code: int, reason: str) -> None:
        """Called once, at the first violation: close with this code."""

    def peer_closed(self) -> None:
        """The peer has sent a whole close frame, or has disconnected: it will send nothing more."""

    def write_paused(self) -> None:
        """The peer reads slower than we write."""

    def write_resumed(self) -> None: ...


class FrameGuard(asyncio.Protocol):
    """Checks frames and forwards them to `inner`, the protocol that reads them. `later` runs a function in
    the next pass of the event loop. `max_message` may change at any time."""

    def __init__(
        self,
        inner: asyncio.Protocol,
        listener: FrameListener,
        transport: asyncio.Transport,
        *,
        max_message: int,
        later: Callable[[Callable[[], None]], object],
    ) -> None:
        self._inner = inner
        self._listener = listener
        self._transport = transport
        self._later = later
        self.max_message = max_message
        self._waiting = b""
        self._waiting_from = 0
        self._paused_here = False
        self._head = b""
        self._payload_left = 0
        self._message_bytes = 0
        self._in_message = False
        self._refused = False
        self._forwards = True
        self._in_close = False
        self.compresses = False
        """Whether compression was negotiated, so that RSV1 has a meaning (RFC 7692 6)."""

    def data_received(self, data: bytes) -> None:
        self._listener.data_arrived()
        if self._waiting:
            # aiohttp has resumed reading while some of the last read still waits here.
            self._waiting = self._waiting[self._waiting_from :] + data
            self._waiting_from = 0
            self._pause()
            return
        if self._payload_left == 0 and not self._head and self._is_single_frame(data):
            self._inner.data_received(data)
            return
        self._take_turn(data, 0)

    def _take_turn(self, data: bytes, at: int) -> None:
        """Forward one turn's share of `data`, and keep the rest for the next turn."""
        at = self._walk(data, at, frames=FRAMES_PER_TURN)
        if at >= len(data):
            self._waiting = b""
            if self._refused:
                self._read_on()
            return
        self._waiting, self._waiting_from = data, at
        self._pause()
        self._later(self._next_turn)

    def _next_turn(self) -> None:
        if not self._waiting:
            return
        # First, so that a pause by aiohttp during this turn is noticed.
        if self._paused_here:
            self._paused_here = False
            self._transport.resume_reading()
        self._take_turn(self._waiting, self._waiting_from)

    def _pause(self) -> None:
        if self._transport.is_reading():
            self._paused_here = True
            self._transport.pause_reading()

    def _finish(self) -> None:
        """There will be no more data: forward what is waiting at once, so that nothing received is lost."""
        data, at = self._waiting, self._waiting_from
        self._waiting = b""
        if not self._refused:
            self._walk(data, at, frames=FRAMES_AT_THE_END)

    def ignore_data(self) -> None:
        """We have sent a close frame: from now on only the peer's close frame matters (RFC 6455 1.4). A frame
        that has begun is forwarded to its end, or the next one would be taken for its rest."""
        self._refused = True
        self._read_on()

    def _read_on(self) -> None:
        """Read until the peer's close frame, even if aiohttp has paused because its messages are not taken:
        no more will be added."""
        if not self._waiting and not self._transport.is_closing():
            self._transport.resume_reading()

    def _is_single_frame(self, data: bytes) -> bool:
        """Whether this is the usual case: exactly one short, masked, final text frame."""
        size = len(data)
        return (
            size >= 6
            and data[0] in (0x81, 0xC1)
            and 0x80 <= data[1] < 0xFE
            and size == 6 + (data[1] & 0x7F)
            and not self._in_message
            and not self._refused
        )

    def _walk(self, data: bytes, at: int, *, frames: int) -> int:
        """Check and forward until the data or the number of frames is used up; returns where it stopped."""
        start = at  # where the bytes begin that are not forwarded yet
        size = len(data)
        while at < size:
            if self._payload_left:
                step = min(self._payload_left, size - at)
                self._payload_left -= step
                at += step
                continue
            if not self._head:
                self._forward(data[start:at])
                start = at
                self._report_close()
                if frames <= 0:
                    return at
            # A header may arrive byte by byte: hold it back until it is complete.
            known = len(self._head)
            head = self._head + data[at : at + 14 - known]
            length = _head_length(head)
            if length is None or len(head) < length:
                self._head = head
                return size
            at += length - known
            start = at
            self._head = b""
            self._check(head[:length])
            self._forward(head[:length])
            # Inflating may cost as much as a whole turn of small frames.
            frames -= FRAMES_PER_TURN if head[0] & _COMPRESSED else 1
        self._forward(data[start:at])
        if not self._payload_left:
            self._report_close()
        return at

    def _report_close(self) -> None:
        """Called between two frames: report if the last one was the peer's close frame."""
        if self._in_close:
            self._in_close = False
            self._listener.peer_closed()

    def _forward(self, data: bytes) -> None:
        if data and self._forwards:
            self._inner.data_received(data)

    def _check(self, head: bytes) -> None:
        final, rsv, opcode = head[0] & 0x80, head[0] & 0x70, head[0] & 0x0F
        masked = head[1] & 0x80
        self._payload_left = _payload_length(head)
        self._in_close = opcode == _CLOSE and bool(masked)
        if self._refused:
            self._forwards = self._in_close
            return
        control = opcode >= 8
        if not masked:
            self._refuse(PROTOCOL_ERROR, "a client must mask its frames")
        elif opcode not in _KNOWN_OPCODES:
            self._refuse(PROTOCOL_ERROR, f"unknown opcode {opcode}")
        elif control and (rsv or not final or head[1] & 0x7F > 125):
            self._refuse(PROTOCOL_ERROR, "a control frame must be whole, short and plain")
        elif rsv and (rsv != _COMPRESSED or not self.compresses):
            self._refuse(PROTOCOL_ERROR, "a reserved bit that no extension uses")
        elif self._payload_left >= 1 << 63:
            self._refuse(PROTOCOL_ERROR, "the highest bit of a length must be 0")
        elif not control:
            self._check_data(opcode, final=bool(final), rsv=rsv)

    def _check_data(self, opcode: int, *, final: bool, rsv: int) -> None:
        if opcode == _CONTINUATION:
            if not self._in_message:
                self._refuse(PROTOCOL_ERROR, "a continuation without a beginning")
                return
            if rsv:
                self._refuse(PROTOCOL_ERROR, "a continuation with reserved bits")
                return
        elif self._in_message:
            self._refuse(PROTOCOL_ERROR, "a new message inside an unfinished one")
            return
        else:
            self._message_bytes = 0
        self._message_bytes += self._payload_left
        self._in_message = not final
        if self._message_bytes > self.max_message:
            self._refuse(TOO_BIG, f"a message may have {self.max_message} bytes")

    def _refuse(self, code: int, reason: str) -> None:
        self._refused = True
        self._forwards = False
        self._in_close = False
        self._listener.refuse(code, reason)
        self._read_on()

    # Everything else goes to aiohttp as if the guard were not there.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish()
        self._listener.peer_closed()
        self._inner.connection_lost(exc)

    def eof_received(self) -> bool | None:
        self._finish()
        self._listener.peer_closed()
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()
        self._listener.write_paused()

    def resume_writing(self) -> None:
        self._inner.resume_writing()
        self._listener.write_resumed()


def install(transport: asyncio.Transport, listener: FrameListener, *, max_message: int) -> FrameGuard:
    """Put a guard in front of the transport's protocol. Call this before the upgrade is answered."""
    inner = cast(asyncio.Protocol, transport.get_protocol())
    later = asyncio.get_running_loop().call_soon
    guard = FrameGuard(inner, listener, transport, max_message=max_message, later=later)
    transport.set_protocol(guard)
    return guard


def _head_length(head: bytes) -> int | None:
    """The length of the header that begins here, or None while it is unknown."""
    if len(head) < 2:
        return None
    short = head[1] & 0x7F
    extended = 2 if short == 126 else 8 if short == 127 else 0
    return 2 + extended + (4 if head[1] & 0x80 else 0)


def _payload_length(head: bytes) -> int:
    short = head[1] & 0x7F
    if short == 126:
        return int.from_bytes(head[2:4], "big")
    if short == 127:
        return int.from_bytes(head[2:10], "big")
    return short
