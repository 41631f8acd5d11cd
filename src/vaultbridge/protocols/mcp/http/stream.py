"""Streams of messages to HTTP clients, and the requests that are being answered.

A `Stream` is filled by a connection and read by one response after another: the answer to a POST, the GET
stream of a session, a legacy SSE connection. It buffers what has not been read and, if `resumable`, also what
has been read, up to a limit. It is independent of HTTP.

A response may stay open for days. When the access of its client is revoked, or the server ends, its endpoint
ends it; `ActiveRequests` then disconnects the clients that do not read the last bytes in time.
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
"""What one stream buffers for a client that reconnects, or that has not connected yet."""

BUFFER_EVENTS: Final = 1024
"""The same, counted: a thousand small progress messages."""

SLOW_BYTES: Final = 1 * MIB
"""Unread bytes at which the connection pauses for a slow reader."""


class StreamItem(msgspec.Struct, frozen=True):
    number: int
    data: bytes
    final: bool


class Stream:
    """`waiting` are the requests to be answered, by one final message; without it, whoever fills the stream
    ends it."""

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
        self._may_push = asyncio.Event()
        self._may_push.set()

    def push(self, data: bytes, *, final: bool, notice: bool = False) -> None:
        """Add a message; a final one is the last. Without a reader, the oldest are dropped at the limit."""
        if self.ended or (notice and not self._may_push.is_set()):
            # A slow reader misses notifications, but never answers.
            return
        self._number += 1
        self._items.append(StreamItem(self._number, data, final))
        self._bytes += len(data)
        self._unread += len(data)
        self._trim()
        if self._attached and self._unread > SLOW_BYTES:
            self._may_push.clear()
        if final:
            self.waiting.clear()
            self.ended = True
        self._changed.set()

    def end(self) -> None:
        """No more messages will be added; those that are there may still be read."""
        self.ended = True
        self._changed.set()
        self._may_push.set()

    def release(self) -> None:
        """Ask the reader to end its response after the messages that are there; the stream stays open."""
        self.released = True
        self._changed.set()

    def attach(self, after: int | None = None) -> int:
        """Attach a reader in place of any other; returns its ticket for `take`. `after` is the number of the
        last message that the client has."""
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
            self._may_push.set()

    def take(self, ticket: int) -> StreamItem | None:
        """The next message for this reader, if there is one."""
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
            self._may_push.set()
        return item

    async def wait_for_change(self, seconds: float) -> bool:
        """Wait until there may be something new; False after `seconds`."""
        if self._peek() or self.ended or self.released:
            return True
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def wait_for_room(self) -> None:
        """Wait while an attached reader is too far behind."""
        await self._may_push.wait()

    @property
    def last(self) -> int:
        """The number of the last message, 0 before the first."""
        return self._number

    @property
    def buffered_bytes(self) -> int:
        return self._bytes

    def _peek(self) -> bool:
        return bool(self._items) and self._items[-1].number >= self._cursor

    def _trim(self) -> None:
        """Enforce the limits. What an attached reader has not read yet is never dropped: `wait_for_room`
        prevents that."""
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
"""How long a client may take to read the end of its response, which is already in the buffers of both
machines."""

MayStay = Callable[[str], bool]
"""Whether a principal may stay connected."""


def nobody_stays(principal: str) -> bool:
    """Every principal is disconnected when the server ends."""
    return False


class ActiveRequests:
    def __init__(self) -> None:
        self._open: dict[asyncio.Future[None], tuple[web.Request, str]] = {}

    @contextmanager
    def track(self, request: web.Request, principal: str) -> Iterator[None]:
        """Wrap the answering of a request."""
        done = asyncio.get_running_loop().create_future()
        self._open[done] = request, principal
        try:
            yield
        finally:
            del self._open[done]
            if not done.done():
                done.set_result(None)

    async def disconnect(self, stays: MayStay) -> None:
        """Wait for the responses to principals that may not stay, and abort those that do not end in time."""
        leaving = {done: request for done, (request, principal) in self._open.items() if not stays(principal)}
        if not leaving:
            return
        _, slow = await asyncio.wait(leaving, timeout=FLUSH_SECONDS)
        for done in slow:
            transport = leaving[done].transport
            if transport is not None:
                transport.abort()
