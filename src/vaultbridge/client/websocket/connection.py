"""One WebSocket connection as the transport sees it: the interface between its logic and the network.

A connection is opened by a `Dial`, is used by one transport, and ends once. However it ends, `receive` raises
ConnectionLost, so the transport needs to watch nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec


class Pong(msgspec.Struct, frozen=True):
    """The server's answer to a ping, with the ping's payload."""

    payload: bytes


Frame = str | bytes | Pong
"""A text message, a binary message, or a pong. Implementations answer pings themselves."""


class Connection(Protocol):
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


Dial = Callable[[], Awaitable[Connection]]
"""Opens a connection. Raises ConnectFailed. The caller limits the time; if cancelled, nothing stays open."""
