"""The outgoing half of a WebSocket transport: from `send` to the connection, in order, once.

A message is sent directly when nothing waits before it, and queued otherwise; one writer empties the queue. A
message is recorded as unacknowledged (and in the queue file) before it is sent, never after. So whatever
happens to the connection, we know what may not have arrived. The transport decides how a lost message is
reported.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from vaultbridge.client.errors import ConnectionLost, InvalidMessage
from vaultbridge.client.messages import Message, MessageKind, RequestId, classify, decode, encode, to_dict
from vaultbridge.client.metrics import Metrics
from vaultbridge.client.settings import WebSocketSettings
from vaultbridge.client.websocket.connection import WebSocketConnection
from vaultbridge.client.websocket.handshake import OPENING, WATCHED, Handshake, OwnIds
from vaultbridge.client.websocket.queue import QueuedMessage, SendQueue
from vaultbridge.client.websocket.queue_file import QueueFile
from vaultbridge.client.websocket.unacknowledged import AwaitingAnswer, Unacknowledged, Unconfirmed
from vaultbridge.errors import EngineFailure

logger = logging.getLogger(__name__)

SERVER_REQUESTS: Final = 4096
"""How many ids of the server's own requests are remembered, to know whether their connection still exists."""


class Outbox:
    def __init__(
        self,
        settings: WebSocketSettings,
        metrics: Metrics,
        file: QueueFile | None,
        report: Callable[[Exception], None],
    ) -> None:
        self.queue = SendQueue(settings.max_queue_messages, settings.max_queue_bytes)
        self.unacknowledged = Unacknowledged()
        self._ids = OwnIds(self.__contains__)
        self.handshake = Handshake(self._ids)
        self.restored: dict[int, Message] = {}
        """Requests of an earlier process, by the id under which they are sent now."""
        self._settings = settings
        self._metrics = metrics
        self._file = file
        self._report = report
        self._connection: WebSocketConnection | None = None
        self._sending = False
        self._wake = asyncio.Event()
        self._empty = asyncio.Event()
        self._restored_items: deque[QueuedMessage] = deque()
        self._opening = False
        self._server_requests: dict[RequestId, None] = {}
        self._orphaned: dict[RequestId, None] = {}
        self.queued_for_others = 0
        if file is not None:
            self._restore(file)
            self.queued_for_others = file.count_others()
        if self.queued_for_others:
            logger.warning(
                "The queue file has %d message(s) for other addresses; they wait for a transport to those.",
                self.queued_for_others,
            )

    @property
    def size(self) -> int:
        return len(self.queue) + len(self._restored_items)

    def __contains__(self, request_id: object) -> bool:
        """Whether a request with that id waits for its answer, sent or not; the transport's own included."""
        return isinstance(request_id, str | int) and (
            request_id in self.unacknowledged.open
            or request_id in self.queue
            or request_id in self.restored
            or self.handshake.is_repeated(request_id)
        )

    def prepare(self, message: object) -> QueuedMessage:
        """Check and encode a message. Raises InvalidMessage, or ConnectionLost for an answer whose request
        came over a connection that is gone."""
        value = to_dict(message)
        kind = classify(value)
        data = encode(value)
        if len(data) > self._settings.max_message_bytes:
            raise InvalidMessage(
                f"The message has {len(data)} bytes; the limit is {self._settings.max_message_bytes}."
            )
        item = QueuedMessage(kind, value.get("id"), value.get("method", ""), data)
        if kind is MessageKind.REQUEST and item.id in self:
            raise InvalidMessage(f"The request id {item.id!r} is in use by a request without an answer.")
        if kind in (MessageKind.RESPONSE, MessageKind.ERROR) and item.id is not None:
            self._server_requests.pop(item.id, None)
            if item.id in self._orphaned:
                raise ConnectionLost(
                    f"The request {item.id!r} came over a connection that is gone: nobody needs the answer."
                )
        return item

    async def post(self, item: QueuedMessage, now: float) -> None:
        """Send or queue a message. Raises QueueFull, and then has accepted nothing."""
        if self._restored_items:
            self._release_before(item)
        if item.method == "notifications/cancelled":
            self._cancel(item)
        connection = self._connection
        if connection is not None and not self._sending and not self.queue and self._has_slot(item):
            filed = self._store(item, handed=True)
            try:
                await self._send_exclusively(connection, self._transmit(connection, filed, now))
            finally:
                if self.queue:
                    self._wake.set()  # Messages that were queued meanwhile wait for the writer.
        else:
            self.queue.check_room(len(item.data))
            self.queue.push(self._store(compact(item), handed=False))
            self._wake.set()
        if self._restored_items and item.method == "notifications/initialized":
            self.release()

    def _cancel(self, item: QueuedMessage) -> None:
        """Free the slot of the cancelled request at once: the notification may itself be queued behind a
        request that waits for a slot."""
        params = item.message().get("params")
        request_id = params.get("requestId") if isinstance(params, dict) else None
        if isinstance(request_id, str | int):
            self.unacknowledged.cancel(request_id)
            self._wake.set()

    def attach(self, connection: WebSocketConnection) -> None:
        """The connection is ready for ordinary messages: start to send the queue."""
        self._connection = connection
        self._wake.set()

    def pause(self) -> None:
        """Send nothing more: the connection is about to be closed."""
        self._connection = None

    def detach(self) -> tuple[Unconfirmed, tuple[QueuedMessage, ...]]:
        """The connection is gone. Returns what is unconfirmed, and the queued answers to its requests."""
        self._connection = None
        self.handshake.note_lost()
        self._opening = False
        unconfirmed, answers = self.unacknowledged.drop(), self.orphan_answers()
        self._remove_rows([*unconfirmed.requests, *unconfirmed.others])
        return unconfirmed, answers

    def orphan_answers(self) -> tuple[QueuedMessage, ...]:
        """Remove and return the queued answers: their requests came over a connection that is gone."""
        self._orphaned.update(self._server_requests)
        self._server_requests.clear()
        while len(self._orphaned) > SERVER_REQUESTS:
            del self._orphaned[next(iter(self._orphaned))]
        answers = self.queue.take_answers()
        self._remove_rows(answers)
        return answers

    def note_server_request(self, request_id: RequestId) -> None:
        """Note that the server has sent a request over the current connection."""
        self._orphaned.pop(request_id, None)
        self._server_requests[request_id] = None
        if len(self._server_requests) > SERVER_REQUESTS:
            del self._server_requests[next(iter(self._server_requests))]

    def answer(self, request_id: RequestId) -> AwaitingAnswer | None:
        """Close and return the request that an answer belongs to; None if unknown."""
        request, confirmed = self.unacknowledged.answer(request_id)
        if request is not None:
            if self._file is not None:
                self._remove_rows([request.item, *confirmed])
            if self.queue:
                self._wake.set()  # the writer may wait for a slot
        return request

    def give_up(self, request_id: RequestId) -> tuple[QueuedMessage, float | None] | None:
        """Remove an open request, without informing the server. Returns it and when it was sent, if it
        was."""
        waiting = self.queue.remove_request(request_id)
        if waiting is not None:
            self._remove_rows([waiting])
            return waiting, None
        request = self.unacknowledged.take(request_id)
        if request is None:
            return None
        self._remove_rows([request.item])
        self._wake.set()
        return request.item, request.at

    def confirm(self, sequence: int) -> None:
        confirmed = self.unacknowledged.confirm(sequence)
        if self._file is not None:
            self._remove_rows(confirmed)

    def clear(self, *, requests_kept: bool, others_kept: bool) -> tuple[QueuedMessage, ...]:
        """Empty the queue and return its messages; those that are kept stay in the queue file."""
        items = (*self._restored_items, *self.queue.clear())
        self._restored_items.clear()
        self._empty.set()
        self._remove_rows(
            item for item in items if not (requests_kept if item.kind is MessageKind.REQUEST else others_kept)
        )
        return items

    def _restore(self, file: QueueFile) -> None:
        """Load the messages that an earlier process left waiting, to be sent before those of this one.

        They are held back until it is known how the session begins (see `_release_before`): a server with a
        handshake would refuse anything before `initialize`.
        """
        for row, data in file.list_waiting():
            kind, message = decode(data)
            if message.get("method") in OPENING:
                file.mark_handed(row)  # its session has ended: only to be reported
            elif kind is MessageKind.REQUEST:
                new_id = self._ids.next()  # the new session may use the old one
                self.restored[new_id] = message
                data = encode({**message, "id": new_id})
                self._restored_items.append(QueuedMessage(kind, new_id, message["method"], data, row))
            elif kind is MessageKind.NOTIFICATION:
                self._restored_items.append(QueuedMessage(kind, None, message["method"], data, row))
            else:
                file.mark_handed(row)  # its connection has ended: only to be reported

    def take_left_over(self) -> tuple[QueuedMessage, ...]:
        """Return, once, what an earlier process had sent without confirmation."""
        if self._file is None or self._connection is not None:
            return ()
        items = []
        for row, data in self._file.list_handed():
            kind, message = decode(data)
            items.append(QueuedMessage(kind, message.get("id"), message.get("method", ""), data, row))
        self._remove_rows(items)
        return tuple(items)

    async def wait_until_empty(self) -> None:
        """Wait until the queue is empty, because all was sent or the transport has ended."""
        while self.size:
            self._empty.clear()
            await self._empty.wait()

    def release(self) -> None:
        """Queue the restored messages behind whatever is queued now."""
        while self._restored_items:
            self.queue.push_restored(self._restored_items.popleft())
        self._wake.set()

    async def write(self, now: Callable[[], float]) -> None:
        """Send the queue whenever there is a connection; runs until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            connection = self._connection
            if connection is not None and not self._sending:
                await self._send_exclusively(connection, self._flush(connection, now))

    async def _flush(self, connection: WebSocketConnection, now: Callable[[], float]) -> None:
        while self._connection is connection:
            head = self.queue.head()
            if head is None:
                self._empty.set()
                return
            if not self._has_slot(head):
                return
            if self._file is not None and head.row is not None:
                try:
                    self._file.mark_handed(head.row)
                except EngineFailure as error:
                    # If it were sent unmarked, the next process could send it again: wait until the file
                    # works.
                    self._report(error)
                    return
            self.queue.pop()
            await self._transmit(connection, head, now())

    def close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _release_before(self, item: QueuedMessage) -> None:
        """The first message of this process shows whether there is a handshake; if not, the restored ones go
        first."""
        if item.method == "initialize":
            self._opening = True
        elif not self._opening:
            self.release()

    def _has_slot(self, item: QueuedMessage) -> bool:
        return (
            item.kind is not MessageKind.REQUEST or self.unacknowledged.awaited < self._settings.max_in_flight
        )

    async def _send_exclusively(self, connection: WebSocketConnection, work: Awaitable[None]) -> None:
        """Let one sender at a time use the connection, so that the order is kept."""
        self._sending = True
        try:
            await work
        except ConnectionLost:
            # The message is recorded as unacknowledged. The reader will see the same loss and report it.
            if self._connection is connection:
                self._connection = None
            connection.abort()
        finally:
            self._sending = False

    async def _transmit(self, connection: WebSocketConnection, item: QueuedMessage, now: float) -> None:
        forgotten = self.unacknowledged.record(item, now)
        if forgotten:
            self._remove_rows(forgotten)
        if item.method in WATCHED:
            self.handshake.note_sent(item.kind, item.message())
        elif item.kind is MessageKind.REQUEST and item.id is not None:
            self.handshake.note_reused(item.id)
        self._metrics.messages_sent += 1
        self._metrics.bytes_sent += len(item.data)
        await connection.send(item.data)
        if self.unacknowledged.wants_ping():
            await connection.ping(b"%d" % self.unacknowledged.sequence)
            # Sending never yields while there is room in the buffers, so give the reader a chance to see the
            # pongs.
            await asyncio.sleep(0)

    def _store(self, item: QueuedMessage, *, handed: bool) -> QueuedMessage:
        if self._file is None:
            return item
        row = self._file.add(item.data, handed=handed)
        return QueuedMessage(item.kind, item.id, item.method, item.data, row)

    def _remove_rows(self, items: Iterable[QueuedMessage]) -> None:
        """Delete rows. If that fails, the next process reports them again, at worst."""
        if self._file is None:
            return
        try:
            self._file.remove([item.row for item in items if item.row is not None])
        except EngineFailure as error:
            self._report(error)


def compact(item: QueuedMessage) -> QueuedMessage:
    """Copy a message without the encoder's spare capacity, which adds half of its size, because it may wait
    for a long time."""
    return QueuedMessage(item.kind, item.id, item.method, bytes(memoryview(item.data)), item.row)
