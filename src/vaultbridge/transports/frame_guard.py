"""The frame rules of RFC 6455 that aiohttp's server does not enforce, in front of it.

aiohttp 3.14 takes unmasked frames from a client (5.1 demands that they fail the connection), a new message
after an empty first fragment (5.4), RSV bits on control frames (5.2), and after a refused message it
closes the socket with bytes unread, so that the kernel's reset overtakes the close frame and the peer
never learns why. The guard is an `asyncio.Protocol` put before aiohttp's own on the same transport: it
reads frame headers only, hands on what is right, and after a violation swallows everything but the
peer's close frame. It uses no private part of aiohttp.

It holds no payload: at most one frame header is kept back. A peer that sends frames before it has seen
the 101 answer (which 4.1 forbids) may be judged from the middle of a frame, and is then refused.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, cast

PROTOCOL_ERROR: Final = 1002
TOO_BIG: Final = 1009

_CONTINUATION: Final = 0
_CLOSE: Final = 8
_KNOWN_OPCODES: Final = frozenset((0, 1, 2, 8, 9, 10))


class Watcher(Protocol):
    """Who is told what happens on the wire."""

    def heard(self) -> None:
        """Bytes arrived."""

    def refuse(self, code: int, reason: str) -> None:
        """The first violation: answer with this close code."""

    def write_paused(self) -> None:
        """The peer reads slower than we write."""

    def write_resumed(self) -> None: ...


class FrameGuard(asyncio.Protocol):
    """`inner` is the protocol that reads the frames."""

    def __init__(self, inner: asyncio.Protocol, watcher: Watcher, *, max_message: int) -> None:
        self._inner = inner
        self._watcher = watcher
        self._max_message = max_message
        self._head = b""
        self._payload_left = 0
        self._message_bytes = 0
        self._in_message = False
        self._refused = False
        self._forwarding = True

    def data_received(self, data: bytes) -> None:
        self._watcher.heard()
        if self._payload_left == 0 and not self._head and self._one_whole_frame(data):
            self._inner.data_received(data)
            return
        self._walk(data)

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

    def _walk(self, data: bytes) -> None:
        at = 0
        start = 0  # where the bytes begin that were not handed on yet
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
            # A header may arrive byte by byte: keep it back until it is whole, then judge it.
            known = len(self._head)
            head = self._head + data[at : at + 14 - known]
            length = _head_length(head)
            if length is None or len(head) < length:
                self._head = head
                return
            at += length - known
            start = at
            self._head = b""
            self._judge(head[:length])
            self._hand_on(head[:length])
        self._hand_on(data[start:at])

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
        if self._message_bytes > self._max_message:
            self._violated(TOO_BIG, f"a message may have {self._max_message} bytes")

    def _violated(self, code: int, reason: str) -> None:
        self._refused = True
        self._forwarding = False
        self._watcher.refuse(code, reason)

    # everything else goes to aiohttp as if the guard were not there

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._inner.connection_lost(exc)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()
        self._watcher.write_paused()

    def resume_writing(self) -> None:
        self._inner.resume_writing()
        self._watcher.write_resumed()


def install(transport: asyncio.Transport, watcher: Watcher, *, max_message: int) -> None:
    """Put a guard before the transport's present protocol; call it before the upgrade is answered."""
    inner = cast(asyncio.Protocol, transport.get_protocol())
    transport.set_protocol(FrameGuard(inner, watcher, max_message=max_message))


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
