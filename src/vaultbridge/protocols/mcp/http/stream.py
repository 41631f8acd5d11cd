"""The MCP requests that are being answered now, by whom they are asked.

A stream may stay open for days. When its caller may no longer be here, or the server ends, its endpoint ends
it; whoever then does not take the last bytes is hung up on by this module, so that nobody who reads slowly,
or not at all, can stay. It knows no sessions and no streams.

One stream of messages towards an HTTP client: filled by a connection, read by one response after another.

A POST's answer, the GET stream of a session and a legacy SSE connection are each one. It keeps what has not
been read and, when `resumable`, what has been, up to a bound. It knows no HTTP.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec
from aiohttp import web

from vaultbridge.jsonrpc.messages import RequestId
from vaultbridge.limits import MIB

BUFFER_BYTES: Final = 1 * MIB
"""What one stream keeps for a client that comes back, and for one that has not come yet."""

BUFFER_EVENTS: Final = 1024
"""The same, counted: a thousand small progress messages."""

SLOW_BYTES: Final = 1 * MIB
"""Unread bytes at which the connection stops producing for a reader that is there but slow."""


class StreamItem(msgspec.Struct, frozen=True):
    number: int
    data: bytes
    final: bool


class Stream:
    """`waiting` are the requests it owes an answer; it ends by itself when all are answered or given up."""

    def __init__(self, name: str, waiting: Iterable[RequestId] = (), *, resumable: bool = False) -> None:
        self.name = name
        self.waiting = set(waiting)
        self.ended = False
        self.released = False
        self._resumable = resumable
        self._items: deque[StreamItem] = deque()
        self._bytes = 0
        self._number = 0
        self._cursor = 1
        self._unread = 0
        self._reader = 0
        self._attached = False
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def push(self, data: bytes, *, final: bool, notice: bool = False) -> None:
        """Add a message; a final one is the last. The oldest go when the bound is reached and nobody
        reads."""
        if self.ended or (notice and not self._room.is_set()):
            # A reader that is there and too slow misses notifications, never answers.
            return
        self._number += 1
        self._items.append(StreamItem(self._number, data, final))
        self._bytes += len(data)
        self._unread += len(data)
        self._trim()
        if self._attached and self._unread > SLOW_BYTES:
            self._room.clear()
        if final:
            self.waiting.clear()
            self.ended = True
        self._changed.set()

    def give_up(self, id_: RequestId) -> None:
        """No answer to this request will come."""
        self.waiting.discard(id_)
        if not self.waiting:
            self.end()

    def end(self) -> None:
        """Nothing more will come; what is there may still be read."""
        self.ended = True
        self._changed.set()
        self._room.set()

    def release(self) -> None:
        """Ask the reader to let go after what is there; the stream lives on."""
        self.released = True
        self._changed.set()

    def attach(self, after: int | None = None) -> int:
        """Become the reader, in place of any other; gives the ticket for `take`. `after` is the last
        number already seen by the client."""
        self._reader += 1
        self._attached = True
        self.released = False
        if after is not None:
            self._cursor = after + 1
            self._unread = sum(len(item.data) for item in self._items if item.number > after)
        self._changed.set()
        return self._reader

    def is_current(self, ticket: int) -> bool:
        return ticket == self._reader

    def detach(self, ticket: int) -> None:
        if ticket == self._reader:
            self._attached = False
            self._room.set()

    def take(self, ticket: int) -> StreamItem | None:
        """The next message for this reader, if it is there."""
        if ticket != self._reader:
            return None
        if not self._peek():
            return None
        item = self._items[max(0, self._cursor - self._items[0].number)]
        self._cursor = item.number + 1
        self._unread -= len(item.data)
        if not self._resumable:
            self._forget_read()
        if self._unread <= SLOW_BYTES:
            self._room.set()
        return item

    async def changed(self, seconds: float) -> bool:
        """Wait until there may be something new; False when nothing came within `seconds`."""
        if self._peek() or self.ended or self.released:
            return True
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def room(self) -> None:
        """Wait while a reader is there and too far behind."""
        await self._room.wait()

    @property
    def last(self) -> int:
        """The number of the message that came last, 0 before the first."""
        return self._number

    @property
    def kept_bytes(self) -> int:
        return self._bytes

    def _peek(self) -> bool:
        return bool(self._items) and self._items[-1].number >= self._cursor

    def _trim(self) -> None:
        """Keep to the bounds. What a present reader has not read yet is never taken: `room` holds that
        back."""
        while len(self._items) > 1 and (self._bytes > BUFFER_BYTES or len(self._items) > BUFFER_EVENTS):
            oldest = self._items[0]
            if oldest.number >= self._cursor:
                if self._attached:
                    return
                self._unread -= len(oldest.data)
            self._bytes -= len(oldest.data)
            self._items.popleft()

    def _forget_read(self) -> None:
        while self._items and self._items[0].number < self._cursor:
            self._bytes -= len(self._items.popleft().data)


FLUSH_SECONDS: Final = 1.0
"""How long a caller may take to read the end of its answer: it waits in the buffers of both machines."""

MayStay = Callable[[str], bool]
"""Whether a principal may stay."""


def nobody_stays(principal: str) -> bool:
    """At the end of the server."""
    return False


class ActiveRequests:
    def __init__(self) -> None:
        self._open: dict[asyncio.Future[None], tuple[web.Request, str]] = {}

    @contextmanager
    def one(self, request: web.Request, principal: str) -> Iterator[None]:
        """While a request is being answered."""
        done = asyncio.get_running_loop().create_future()
        self._open[done] = request, principal
        try:
            yield
        finally:
            del self._open[done]
            if not done.done():
                done.set_result(None)

    async def hang_up(self, stays: MayStay) -> None:
        """Wait for those who may not stay, and cut off who is still there then."""
        leaving = {done: request for done, (request, who) in self._open.items() if not stays(who)}
        if not leaving:
            return
        _, slow = await asyncio.wait(leaving, timeout=FLUSH_SECONDS)
        for done in slow:
            transport = leaving[done].transport
            if transport is not None:
                transport.abort()
