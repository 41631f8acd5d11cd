"""What has been handed to the line and is not known to have arrived. Pure accounting.

A request is open until its answer. A notification or an answer of ours has no answer, but a line keeps the
order: whatever the server sends in reply to something later (an answer, a pong, the echo of a close) proves
that everything before it arrived. `drop` says what a lost line leaves in doubt, so that nothing is lost in
silence, and the caller never needs to send twice by guess.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import msgspec

from vaultbridge.client.messages import Kind, RequestId
from vaultbridge.client.queue import Outgoing
from vaultbridge.limits import MIB

UNCONFIRMED_MESSAGES: Final = 4096
"""How many messages without an answer are kept for the report of a lost line; older ones are only counted.
With a ping every CONFIRM_EVERY messages, more are in doubt only when the server has stopped reading."""

UNCONFIRMED_BYTES: Final = 4 * MIB
"""The same bound in bytes: a lost line must not cost more memory than the queue."""

CONFIRM_EVERY: Final = 512
"""After so many messages without an answer a ping asks the server to confirm. Far below what is kept, and a
ping of ten bytes for 512 messages costs nothing."""

IN_FLIGHT: Final = 10_000
"""Open requests; further ones wait in the queue, whose bound then tells the caller."""


CANCELLED: Final = 4096
"""Requests that their sender cancelled and that are kept for an answer all the same; MCP allows a server to
give none. Of older ones an answer is at worst reported as unknown."""


class Open(msgspec.Struct, frozen=True, gc=False):
    """A request that waits for its answer. `place` is its number in the order of handing over."""

    item: Outgoing
    place: int
    at: float


class InDoubt(msgspec.Struct, frozen=True):
    """What a lost line leaves: open requests, then messages without an answer, each oldest first."""

    requests: tuple[Outgoing, ...]
    others: tuple[Outgoing, ...]
    forgotten: int
    """Older messages without an answer that were no longer kept."""


NOTHING_IN_DOUBT: Final = InDoubt((), (), 0)


class Ledger:
    __slots__ = ("_bytes", "_cancelled", "_forgotten", "_others", "_place", "_since_ping", "open")

    def __init__(self) -> None:
        self.open: dict[RequestId, Open] = {}
        self._cancelled: dict[RequestId, None] = {}
        self._others: deque[tuple[int, Outgoing]] = deque()
        self._bytes = 0
        self._forgotten = 0
        self._place = 0
        self._since_ping = 0

    @property
    def place(self) -> int:
        """The number of the last message handed over: what a ping sent now would confirm."""
        return self._place

    @property
    def awaited(self) -> int:
        """How many open requests somebody still waits for."""
        return len(self.open) - len(self._cancelled)

    def hand(self, item: Outgoing, now: float) -> tuple[Outgoing, ...]:
        """Enter `item`, just before it goes to the line. Returns what is no longer kept for it."""
        self._place = place = self._place + 1
        if item.kind is Kind.REQUEST and item.id is not None:
            self.open[item.id] = Open(item, place, now)
            return ()
        self._others.append((place, item))
        self._bytes += len(item.data)
        self._since_ping += 1
        if len(self._others) <= UNCONFIRMED_MESSAGES and self._bytes <= UNCONFIRMED_BYTES:
            return ()
        return self._trim()

    def _trim(self) -> tuple[Outgoing, ...]:
        forgotten: list[Outgoing] = []
        while len(self._others) > UNCONFIRMED_MESSAGES or self._bytes > UNCONFIRMED_BYTES:
            _, old = self._others.popleft()
            self._bytes -= len(old.data)
            self._forgotten += 1
            forgotten.append(old)
        return tuple(forgotten)

    def wants_ping(self) -> bool:
        """True once after every CONFIRM_EVERY messages without an answer."""
        if self._since_ping < CONFIRM_EVERY:
            return False
        self._since_ping = 0
        return True

    def cancel(self, request_id: RequestId) -> None:
        """Nobody waits for the request any more: an answer may come or not."""
        if request_id in self.open:
            self._cancelled[request_id] = None
            if len(self._cancelled) > CANCELLED:
                self.take(next(iter(self._cancelled)))

    def take(self, request_id: RequestId) -> Open | None:
        """Close a request, whatever becomes of it."""
        self._cancelled.pop(request_id, None)
        return self.open.pop(request_id, None)

    def answer(self, request_id: RequestId) -> tuple[Open | None, tuple[Outgoing, ...]]:
        """The request that an answer closes (None: no such), and what it proves to have arrived."""
        found = self.take(request_id)
        return (found, ()) if found is None or not self._others else (found, self.confirm(found.place))

    def confirm(self, place: int) -> tuple[Outgoing, ...]:
        """Everything up to `place` has arrived; returns the messages without an answer among it."""
        done: list[Outgoing] = []
        while self._others and self._others[0][0] <= place:
            _, item = self._others.popleft()
            self._bytes -= len(item.data)
            done.append(item)
        # What was forgotten is older than anything kept, so it lies before the first confirmed message.
        if done:
            self._forgotten = 0
        return tuple(done)

    def drop(self) -> InDoubt:
        """The line is gone: empty the books."""
        doubt = InDoubt(
            tuple(entry.item for entry in self.open.values()),
            tuple(item for _, item in self._others),
            self._forgotten,
        )
        self.open.clear()
        self._cancelled.clear()
        self._others.clear()
        self._bytes = self._forgotten = self._since_ping = 0
        return doubt
