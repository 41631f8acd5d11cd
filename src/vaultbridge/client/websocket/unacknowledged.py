"""Who must be told what when messages cannot take their course any more. Pure.

Requests get an answer (an error made up here), everything else gets into an error for `on_error`.

What has been handed to the line and is not known to have arrived. Pure accounting.

A request is open until its answer. A notification or an answer of ours has no answer, but a line keeps the
order: whatever the server sends in reply to something later (an answer, a pong, the echo of a close) proves
that everything before it arrived. `drop` says what a lost line leaves in doubt, so that nothing is lost in
silence, and the caller never needs to send twice by guess.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from vaultbridge.client.errors import MessagesDiscarded, MessagesUnconfirmed, TransportError
from vaultbridge.client.messages import (
    CONNECTION_LOST,
    REQUEST_TIMED_OUT,
    Kind,
    Message,
    RequestId,
    error_answer,
)
from vaultbridge.client.websocket.queue import QueuedMessage
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


class AwaitingAnswer(msgspec.Struct, frozen=True, gc=False):
    """A request that waits for its answer. `place` is its number in the order of handing over."""

    item: QueuedMessage
    place: int
    at: float


class InDoubt(msgspec.Struct, frozen=True):
    """What a lost line leaves: open requests, then messages without an answer, each oldest first."""

    requests: tuple[QueuedMessage, ...]
    others: tuple[QueuedMessage, ...]
    forgotten: int
    """Older messages without an answer that were no longer kept."""


NOTHING_IN_DOUBT: Final = InDoubt((), (), 0)


class Unacknowledged:
    __slots__ = ("_bytes", "_cancelled", "_forgotten", "_others", "_place", "_since_ping", "open")

    def __init__(self) -> None:
        self.open: dict[RequestId, AwaitingAnswer] = {}
        self._cancelled: dict[RequestId, None] = {}
        self._others: deque[tuple[int, QueuedMessage]] = deque()
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

    def hand(self, item: QueuedMessage, now: float) -> tuple[QueuedMessage, ...]:
        """Enter `item`, just before it goes to the line. Returns what is no longer kept for it."""
        self._place = place = self._place + 1
        if item.kind is Kind.REQUEST and item.id is not None:
            self.open[item.id] = AwaitingAnswer(item, place, now)
            return ()
        self._others.append((place, item))
        self._bytes += len(item.data)
        self._since_ping += 1
        if len(self._others) <= UNCONFIRMED_MESSAGES and self._bytes <= UNCONFIRMED_BYTES:
            return ()
        return self._trim()

    def _trim(self) -> tuple[QueuedMessage, ...]:
        forgotten: list[QueuedMessage] = []
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

    def take(self, request_id: RequestId) -> AwaitingAnswer | None:
        """Close a request, whatever becomes of it."""
        self._cancelled.pop(request_id, None)
        return self.open.pop(request_id, None)

    def answer(self, request_id: RequestId) -> tuple[AwaitingAnswer | None, tuple[QueuedMessage, ...]]:
        """The request that an answer closes (None: no such), and what it proves to have arrived."""
        found = self.take(request_id)
        return (found, ()) if found is None or not self._others else (found, self.confirm(found.place))

    def confirm(self, place: int) -> tuple[QueuedMessage, ...]:
        """Everything up to `place` has arrived; returns the messages without an answer among it."""
        done: list[QueuedMessage] = []
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


class FailureReport(msgspec.Struct, frozen=True):
    """`errors` for `on_error`, `answers` for the requests, each in the order of sending."""

    errors: tuple[TransportError, ...] = ()
    answers: tuple[Message, ...] = ()


def of_lost_line(why: str, doubt: InDoubt, orphans: Iterable[QueuedMessage]) -> FailureReport:
    """A line ended: `doubt` had been handed to it, `orphans` are queued answers to its requests."""
    errors: list[TransportError] = []
    if doubt.others or doubt.forgotten:
        errors.append(MessagesUnconfirmed(messages_of(doubt.others), forgotten=doubt.forgotten))
    answers = messages_of(orphans)
    if answers:
        errors.append(
            MessagesDiscarded(answers, "the requests they answer came over a connection that is gone.")
        )
    return FailureReport(tuple(errors), tuple(_unanswered(item, why) for item in doubt.requests))


def of_queue(
    why: str, queued: Iterable[QueuedMessage], *, requests_kept: bool, others_kept: bool
) -> FailureReport:
    """The transport ended with `queued` messages; `…_kept` ones stay in the queue file."""
    items = tuple(queued)
    others = messages_of(item for item in items if item.kind is not Kind.REQUEST)
    errors = () if others_kept or not others else (MessagesDiscarded(others, f"{why[0].lower()}{why[1:]}."),)
    requests = (item for item in items if item.kind is Kind.REQUEST)
    return FailureReport(errors, tuple(_unsent(item, why, kept=requests_kept) for item in requests))


def of_timeout(item: QueuedMessage, seconds: float, *, sent: bool) -> Message:
    assert item.id is not None
    after = "it may still be carried out" if sent else "it was never sent"
    text = f"No answer to {item.method!r} within {seconds:g} s; {after}."
    return error_answer(item.id, REQUEST_TIMED_OUT, text, reason="timeout", sent=sent)


def cancellation(item: QueuedMessage) -> Message:
    """Tell the server that nobody waits for a request's answer any more (MCP, Cancellation)."""
    params = {"requestId": item.id, "reason": "timed out"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def messages_of(items: Iterable[QueuedMessage]) -> tuple[Message, ...]:
    return tuple(item.message() for item in items)


def _unanswered(item: QueuedMessage, why: str) -> Message:
    assert item.id is not None
    text = (
        f"{why} before the answer to {item.method!r} arrived;"
        " it was not sent again and may or may not have been carried out."
    )
    return error_answer(item.id, CONNECTION_LOST, text, reason="connection-lost", sent=True)


def _unsent(item: QueuedMessage, why: str, *, kept: bool) -> Message:
    assert item.id is not None
    after = "it stays in the queue file and goes out with the next process" if kept else "it was never sent"
    text = f"{why} before {item.method!r} could be sent; {after}."
    return error_answer(item.id, CONNECTION_LOST, text, reason="not-sent", sent=False)
