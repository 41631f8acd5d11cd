"""One WebSocket connection as the transport sees it: the seam between its logic and the network.

A line is opened by a `Dial`, is used by one transport, and ends once. Everything that can end it comes out of
`receive` as LineLost; the transport needs to watch no other place.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec


class Pong(msgspec.Struct, frozen=True):
    """The server's answer to a ping, with the ping's payload."""

    payload: bytes


Frame = str | bytes | Pong
"""A text message, a binary message, or a pong. Pings are answered below this seam."""


class Connection(Protocol):
    @property
    def subprotocol(self) -> str | None: ...

    async def send(self, data: bytes) -> None:
        """Hand one message to the line; waits while the line is congested.

        Raises LineLost; the message may have gone out all the same. A cancelled call has handed it over.
        """

    async def ping(self, payload: bytes) -> None:
        """Ask the server to confirm all that was sent before. Raises LineLost."""

    async def receive(self) -> Frame:
        """The next frame. Raises LineLost when the line has ended, for whatever reason, ever after."""

    async def close(self) -> bool:
        """Say goodbye and let go of everything. Never raises; after `abort` it only lets go.

        A `receive` under way ends with LineLost. True when the server said goodbye too, and had thus read
        all that was sent before.
        """

    def abort(self) -> None:
        """End it at once, without a word. Never raises; may be called at any time, also again."""


Dial = Callable[[], Awaitable[Connection]]
"""Opens a line. Raises ConnectFailed. The caller bounds the time; cancelled, it leaves nothing behind."""
