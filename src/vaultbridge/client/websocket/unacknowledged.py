"""Tracks what has been sent and is not known to have arrived, and reports what fails. Pure.

A request is open until its answer. A notification or an answer of ours gets no answer, but a connection keeps
the order: whatever the server sends in reply to something later (an answer, a pong, the echo of a close
frame) proves that everything before it arrived. `drop` returns what a lost connection leaves unconfirmed, so
that nothing is lost silently and the caller never has to guess whether to send again.

The `report_…` functions turn that into failures: a request gets an error as its answer, everything else goes
into an error for `on_error`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

import msgspec

from vaultbridge.client.errors import InvalidMessage, MessagesDiscarded, MessagesUnconfirmed, TransportError
from vaultbridge.client.messages import (
    CONNECTION_LOST,
    REQUEST_TIMED_OUT,
    Message,
    MessageKind,
    RequestId,
    make_error_answer,
)
from vaultbridge.client.websocket.queue import QueuedMessage
from vaultbridge.limits import MIB

UNCONFIRMED_MESSAGES: Final = 4096
"""How many messages without an answer are kept for the report of a lost connection; older ones are only
counted. With a ping every CONFIRM_EVERY messages, there are more only if the server has stopped reading."""

UNCONFIRMED_BYTES: Final = 4 * MIB
"""The same limit in bytes: this must not use more memory than the queue."""

CONFIRM_EVERY: Final = 512
"""After this many messages without an answer, a ping makes the server confirm them. That is far fewer than
are kept, and ten bytes per 512 messages cost nothing."""

IN_FLIGHT: Final = 10_000
"""The most open requests; further ones wait in the queue, which is bounded itself."""

CANCELLED: Final = 4096
"""How many cancelled requests are remembered in case an answer still arrives; MCP allows a server to give
none. A late answer to an older one is reported as unknown, at worst."""


class AwaitingAnswer(msgspec.Struct, frozen=True, gc=False):
    """A request that waits for its answer. `sequence` is its number in the order of sending."""

    item: QueuedMessage
    sequence: int
    at: float


class Unconfirmed(msgspec.Struct, frozen=True):
    """What a lost connection leaves: open requests, and messages without an answer, each oldest first."""

    requests: tuple[QueuedMessage, ...]
    others: tuple[QueuedMessage, ...]
    forgotten: int
    """How many older messages without an answer were dropped."""


NOTHING_UNCONFIRMED: Final = Unconfirmed((), (), 0)


class Unacknowledged:
    __slots__ = ("_bytes", "_cancelled", "_forgotten", "_others", "_sequence", "_since_ping", "open")

    def __init__(self) -> None:
        self.open: dict[RequestId, AwaitingAnswer] = {}
        self._cancelled: dict[RequestId, None] = {}
        self._others: deque[tuple[int, QueuedMessage]] = deque()
        self._bytes = 0
        self._forgotten = 0
        self._sequence = 0
        self._since_ping = 0

    @property
    def sequence(self) -> int:
        """The number of the last message sent: what a ping sent now would confirm."""
        return self._sequence

    @property
    def awaited(self) -> int:
        """How many open requests have not been cancelled."""
        return len(self.open) - len(self._cancelled)

    def record(self, item: QueuedMessage, now: float) -> tuple[QueuedMessage, ...]:
        """Record `item` just before it is sent. Returns older messages that were dropped to make room."""
        self._sequence = sequence = self._sequence + 1
        if item.kind is MessageKind.REQUEST and item.id is not None:
            self.open[item.id] = AwaitingAnswer(item, sequence, now)
            return ()
        self._others.append((sequence, item))
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
        """Mark a request as cancelled: it may or may not be answered."""
        if request_id in self.open:
            self._cancelled[request_id] = None
            if len(self._cancelled) > CANCELLED:
                self.take(next(iter(self._cancelled)))

    def take(self, request_id: RequestId) -> AwaitingAnswer | None:
        """Remove a request, however it ended."""
        self._cancelled.pop(request_id, None)
        return self.open.pop(request_id, None)

    def answer(self, request_id: RequestId) -> tuple[AwaitingAnswer | None, tuple[QueuedMessage, ...]]:
        """Return the request that an answer closes (None if unknown) and the messages it proves to have
        arrived."""
        request = self.take(request_id)
        return (
            (request, ())
            if request is None or not self._others
            else (request, self.confirm(request.sequence))
        )

    def confirm(self, sequence: int) -> tuple[QueuedMessage, ...]:
        """Record that everything up to `sequence` has arrived. Returns the messages without an answer among
        them."""
        done: list[QueuedMessage] = []
        while self._others and self._others[0][0] <= sequence:
            _, item = self._others.popleft()
            self._bytes -= len(item.data)
            done.append(item)
        # Dropped messages are older than any that are kept, so they were sent before the first confirmed one.
        if done:
            self._forgotten = 0
        return tuple(done)

    def drop(self) -> Unconfirmed:
        """Return and forget everything, because the connection is gone."""
        unconfirmed = Unconfirmed(
            tuple(entry.item for entry in self.open.values()),
            tuple(item for _, item in self._others),
            self._forgotten,
        )
        self.open.clear()
        self._cancelled.clear()
        self._others.clear()
        self._bytes = self._forgotten = self._since_ping = 0
        return unconfirmed


class FailureReport(msgspec.Struct, frozen=True):
    """`errors` for `on_error`, `answers` for the requests, each in the order of sending."""

    errors: tuple[TransportError, ...] = ()
    answers: tuple[Message, ...] = ()


def report_lost_connection(
    why: str, unconfirmed: Unconfirmed, orphans: Iterable[QueuedMessage]
) -> FailureReport:
    """Report the end of a connection. `unconfirmed` was sent over it; `orphans` are queued answers to its
    requests."""
    errors: list[TransportError] = []
    if unconfirmed.others or unconfirmed.forgotten:
        errors.append(
            MessagesUnconfirmed(decode_messages(unconfirmed.others), forgotten=unconfirmed.forgotten)
        )
    answers = decode_messages(orphans)
    if answers:
        errors.append(
            MessagesDiscarded(answers, "the requests they answer came over a connection that is gone.")
        )
    return FailureReport(tuple(errors), tuple(_make_unanswered(item, why) for item in unconfirmed.requests))


def report_unsent(
    why: str, queued: Iterable[QueuedMessage], *, requests_kept: bool, others_kept: bool
) -> FailureReport:
    """Report the `queued` messages that were unsent when the transport ended; those that are `…_kept` stay in
    the queue file."""
    items = tuple(queued)
    others = decode_messages(item for item in items if item.kind is not MessageKind.REQUEST)
    errors = () if others_kept or not others else (MessagesDiscarded(others, f"{why[0].lower()}{why[1:]}."),)
    requests = (item for item in items if item.kind is MessageKind.REQUEST)
    return FailureReport(errors, tuple(_make_unsent(item, why, kept=requests_kept) for item in requests))


def make_timeout_answer(item: QueuedMessage, seconds: float, *, sent: bool) -> Message:
    assert item.id is not None
    after = "it may still be carried out" if sent else "it was never sent"
    text = f"No answer to {item.method!r} within {seconds:g} s; {after}."
    return make_error_answer(item.id, REQUEST_TIMED_OUT, text, reason="timeout", sent=sent)


def make_refused_answer(item: QueuedMessage, seconds: float, error: InvalidMessage) -> Message:
    """Make the answer of a request that got none in time, when something arrived that may have been it."""
    assert item.id is not None
    text = f"No readable answer to {item.method!r} came within {seconds:g} s: {error.message}"
    return make_error_answer(item.id, CONNECTION_LOST, text, reason=error.reason, sent=True)


def make_cancellation(item: QueuedMessage) -> Message:
    """Make the notification that cancels a request which timed out (MCP, Cancellation)."""
    params = {"requestId": item.id, "reason": "timed out"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def decode_messages(items: Iterable[QueuedMessage]) -> tuple[Message, ...]:
    return tuple(item.message() for item in items)


def _make_unanswered(item: QueuedMessage, why: str) -> Message:
    assert item.id is not None
    text = (
        f"{why} before the answer to {item.method!r} arrived;"
        " it was not sent again and may or may not have been carried out."
    )
    return make_error_answer(item.id, CONNECTION_LOST, text, reason="connection-lost", sent=True)


def _make_unsent(item: QueuedMessage, why: str, *, kept: bool) -> Message:
    assert item.id is not None
    after = "it stays in the queue file and goes out with the next process" if kept else "it was never sent"
    text = f"{why} before {item.method!r} could be sent; {after}."
    return make_error_answer(item.id, CONNECTION_LOST, text, reason="not-sent", sent=False)
