"""The frame rules of RFC 6455 that aiohttp's server does not enforce, in front of it.

aiohttp 3.14 takes unmasked frames from a client (5.1 demands that they fail the connection), a new message
after an empty first fragment (5.4), RSV bits on control frames (5.2), and after a refused message it
closes the socket with bytes unread, so that the kernel's reset overtakes the close frame and the peer
never learns why. The guard is an `asyncio.Protocol` put before aiohttp's own on the same transport: it
reads frame headers only, hands on what is right, and after a violation swallows everything but the
peer's close frame. It uses no private part of aiohttp.

It is also where connections take turns. One read of a socket may bring thousands of tiny frames, and each
becomes a message that is parsed and answered; so after a share of them reading pauses and the rest waits for
the next pass of the event loop, in which everybody else is served too. What waits is what one read brought.

A peer that sends frames before it has seen
the 101 answer (which 4.1 forbids) may be judged from the middle of a frame, and is then refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol, cast

PROTOCOL_ERROR: Final = 1002
TOO_BIG: Final = 1009

FRAMES_PER_TURN: Final = 8
"""Frames of one connection that are handed on in one pass of the event loop. Answering as many tiny messages
takes half a millisecond; a client sends a handful at once."""

FRAMES_AT_THE_END: Final = 1024
"""Frames that are still handed on when the peer has gone before their turn came: all that an honest client
had under way, and a few milliseconds of one that sends without end."""

_CONTINUATION: Final = 0
_CLOSE: Final = 8
_COMPRESSED: Final = 0x40
_KNOWN_OPCODES: Final = frozenset((0, 1, 2, 8, 9, 10))


class FrameListener(Protocol):
    """Who is told what happens on the wire."""

    def heard(self) -> None:
        """Bytes arrived."""

    def refuse(self, code: int, reason: str) -> None:
        """The first violation: answer with this close code."""

    def write_paused(self) -> None:
        """The peer reads slower than we write."""

    def write_resumed(self) -> None: ...


class FrameGuard(asyncio.Protocol):
    """`inner` is the protocol that reads the frames; `later` runs something in the next pass of the event
    loop. `max_message` may change while it runs."""

    def __init__(
        self,
        inner: asyncio.Protocol,
        watcher: FrameListener,
        transport: asyncio.Transport,
        *,
        max_message: int,
        later: Callable[[Callable[[], None]], object],
    ) -> None:
        self._inner = inner
        self._watcher = watcher
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
        self._forwarding = True

    def data_received(self, data: bytes) -> None:
        self._watcher.heard()
        if self._waiting:
            # aiohttp has resumed reading for itself while some of the last read still waits here.
            self._waiting = self._waiting[self._waiting_from :] + data
            self._waiting_from = 0
            self._pause()
            return
        if self._payload_left == 0 and not self._head and self._one_whole_frame(data):
            self._inner.data_received(data)
            return
        self._take_turn(data, 0)

    def _take_turn(self, data: bytes, at: int) -> None:
        """Hand on one turn's share of `data`, and keep the rest for the next turn."""
        at = self._walk(data, at, frames=FRAMES_PER_TURN)
        if at >= len(data):
            self._waiting = b""
            return
        self._waiting, self._waiting_from = data, at
        self._pause()
        self._later(self._next_turn)

    def _next_turn(self) -> None:
        if not self._waiting:
            return
        # First, so that a pause of aiohttp's own during this turn is seen and respected.
        if self._paused_here:
            self._paused_here = False
            self._transport.resume_reading()
        self._take_turn(self._waiting, self._waiting_from)

    def _pause(self) -> None:
        if self._transport.is_reading():
            self._paused_here = True
            self._transport.pause_reading()

    def _finish(self) -> None:
        """Nothing more will come: what waits is handed on at once, so that nothing received is lost."""
        data, at = self._waiting, self._waiting_from
        self._waiting = b""
        if not self._refused:
            self._walk(data, at, frames=FRAMES_AT_THE_END)

    def ignore_data(self) -> None:
        """We have said goodbye: of what still comes, only the peer's goodbye matters (RFC 6455 1.4). A frame
        that has begun is handed on to its end, or the next one would be taken for its rest."""
        self._refused = True

    def _one_whole_frame(self, data: bytes) -> bool:
        """The usual case, decided by four comparisons: one short masked final text frame, alone."""
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
        """Judge and hand on until the data or the number of frames is used up; gives where it stopped."""
        start = at  # where the bytes begin that were not handed on yet
        size = len(data)
        while at < size:
            if self._payload_left:
                step = min(self._payload_left, size - at)
                self._payload_left -= step
                at += step
                continue
            if not self._head:
                self._hand_on(data[start:at])
                start = at
                if frames <= 0:
                    return at
            # A header may arrive byte by byte: keep it back until it is whole, then judge it.
            known = len(self._head)
            head = self._head + data[at : at + 14 - known]
            length = _head_length(head)
            if length is None or len(head) < length:
                self._head = head
                return size
            at += length - known
            start = at
            self._head = b""
            self._judge(head[:length])
            self._hand_on(head[:length])
            # Inflating may cost as much as a whole turn of small frames.
            frames -= FRAMES_PER_TURN if head[0] & _COMPRESSED else 1
        self._hand_on(data[start:at])
        return at

    def _hand_on(self, data: bytes) -> None:
        if data and self._forwarding:
            self._inner.data_received(data)

    def _judge(self, head: bytes) -> None:
        final, rsv, opcode = head[0] & 0x80, head[0] & 0x70, head[0] & 0x0F
        masked = head[1] & 0x80
        self._payload_left = _payload_length(head)
        if self._refused:
            self._forwarding = opcode == _CLOSE and bool(masked)
            return
        control = opcode >= 8
        if not masked:
            self._violated(PROTOCOL_ERROR, "a client must mask its frames")
        elif opcode not in _KNOWN_OPCODES:
            self._violated(PROTOCOL_ERROR, f"unknown opcode {opcode}")
        elif control and (rsv or not final or self._payload_left > 125):
            self._violated(PROTOCOL_ERROR, "a control frame must be whole, short and plain")
        elif self._payload_left >= 1 << 63:
            self._violated(PROTOCOL_ERROR, "the highest bit of a length must be 0")
        elif not control:
            self._judge_data(opcode, final=bool(final), rsv=rsv)

    def _judge_data(self, opcode: int, *, final: bool, rsv: int) -> None:
        if opcode == _CONTINUATION:
            if not self._in_message:
                self._violated(PROTOCOL_ERROR, "a continuation without a beginning")
                return
            if rsv:
                self._violated(PROTOCOL_ERROR, "a continuation with reserved bits")
                return
        elif self._in_message:
            self._violated(PROTOCOL_ERROR, "a new message inside an unfinished one")
            return
        else:
            self._message_bytes = 0
        self._message_bytes += self._payload_left
        self._in_message = not final
        if self._message_bytes > self.max_message:
            self._violated(TOO_BIG, f"a message may have {self.max_message} bytes")

    def _violated(self, code: int, reason: str) -> None:
        self._refused = True
        self._forwarding = False
        self._watcher.refuse(code, reason)

    # everything else goes to aiohttp as if the guard were not there

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish()
        self._inner.connection_lost(exc)

    def eof_received(self) -> bool | None:
        self._finish()
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()
        self._watcher.write_paused()

    def resume_writing(self) -> None:
        self._inner.resume_writing()
        self._watcher.write_resumed()


def install(transport: asyncio.Transport, watcher: FrameListener, *, max_message: int) -> FrameGuard:
    """Put a guard before the transport's present protocol; call it before the upgrade is answered."""
    inner = cast(asyncio.Protocol, transport.get_protocol())
    later = asyncio.get_running_loop().call_soon
    guard = FrameGuard(inner, watcher, transport, max_message=max_message, later=later)
    transport.set_protocol(guard)
    return guard


def _head_length(head: bytes) -> int | None:
    """How long the header that begins here is, or None while that cannot be known."""
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
