"""The outgoing half of a WebSocket transport: from `send` to the line, in order, once.

A message goes straight to the line when nothing waits before it, and into the queue otherwise; one writer
empties the queue. Before a message is handed to the line it is entered in the ledger (and in the queue file),
never after: so whatever happens to the line, the books know what is in doubt. What a lost message means to
the user is decided by the transport.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from vaultbridge.client.errors import ConnectionLost, InvalidMessage
from vaultbridge.client.messages import Kind, Message, RequestId, classify, decode, encode, plain
from vaultbridge.client.metrics import Metrics
from vaultbridge.client.settings import WebSocketSettings
from vaultbridge.client.websocket.connection import Connection
from vaultbridge.client.websocket.handshake import OPENING, WATCHED, Handshake, OwnIds
from vaultbridge.client.websocket.queue import QueuedMessage, SendQueue
from vaultbridge.client.websocket.queue_file import QueueFile
from vaultbridge.client.websocket.unacknowledged import AwaitingAnswer, InDoubt, Unacknowledged
from vaultbridge.errors import EngineFailure

SERVER_REQUESTS: Final = 4096
"""Ids of the server's own requests that are remembered, to tell whether an answer still has its line."""


class Outbox:
    def __init__(
        self,
        settings: WebSocketSettings,
        metrics: Metrics,
        file: QueueFile | None,
        report: Callable[[Exception], None],
    ) -> None:
        self.queue = SendQueue(settings.max_queue_messages, settings.max_queue_bytes)
        self.ledger = Unacknowledged()
        self._ids = OwnIds(self.__contains__)
        self.handshake = Handshake(self._ids)
        self.restored: dict[int, Message] = {}
        """Requests of an earlier process by the id under which they go out now."""
        self._settings = settings
        self._metrics = metrics
        self._file = file
        self._report = report
        self._line: Connection | None = None
        self._handing = False
        self._wake = asyncio.Event()
        self._empty = asyncio.Event()
        self._held: deque[QueuedMessage] = deque()
        self._opening = False
        self._asked: dict[RequestId, None] = {}
        self._orphaned: dict[RequestId, None] = {}
        if file is not None:
            self._restore(file)

    @property
    def size(self) -> int:
        return len(self.queue) + len(self._held)

    def __contains__(self, request_id: object) -> bool:
        """Whether a request of that id waits for its answer, sent or not; the transport's own count too."""
        return isinstance(request_id, str | int) and (
            request_id in self.ledger.open
            or request_id in self.queue
            or request_id in self.restored
            or self.handshake.is_repeated(request_id)
        )

    def prepare(self, message: object) -> QueuedMessage:
        """Check and encode. Raises InvalidMessage, or LineLost for an answer whose asker is gone."""
        value = plain(message)
        kind = classify(value)
        data = encode(value)
        if len(data) > self._settings.max_message_bytes:
            raise InvalidMessage(
                f"The message has {len(data)} bytes; the limit is {self._settings.max_message_bytes}."
            )
        item = QueuedMessage(kind, value.get("id"), value.get("method", ""), data)
        if kind is Kind.REQUEST and item.id in self:
            raise InvalidMessage(f"The request id {item.id!r} is in use by a request without an answer.")
        if kind in (Kind.RESPONSE, Kind.ERROR) and item.id is not None:
            self._asked.pop(item.id, None)
            if item.id in self._orphaned:
                raise ConnectionLost(
                    f"The request {item.id!r} came over a connection that is gone; it has no asker."
                )
        return item

    async def post(self, item: QueuedMessage, now: float) -> None:
        """Send or queue. Raises QueueFull; nothing was accepted then."""
        if self._held:
            self._release_before(item)
        if item.method == "notifications/cancelled":
            self._cancel(item)
        line = self._line
        if line is not None and not self._handing and not self.queue and self._has_slot(item):
            filed = self._filed(item, handed=True)
            try:
                await self._hand(line, self._give(line, filed, now))
            finally:
                if self.queue:
                    self._wake.set()  # what came meanwhile waits for the writer
        else:
            self.queue.check_room(len(item.data))
            self.queue.push(self._filed(compact(item), handed=False))
            self._wake.set()
        if self._held and item.method == "notifications/initialized":
            self.release()

    def _cancel(self, item: QueuedMessage) -> None:
        """Its request gives its place to another at once: the word to the server may itself wait behind one
        that waits for a place."""
        params = item.message().get("params")
        request_id = params.get("requestId") if isinstance(params, dict) else None
        if isinstance(request_id, str | int):
            self.ledger.cancel(request_id)
            self._wake.set()

    def attach(self, line: Connection) -> None:
        """The line is ready for ordinary messages: empty the queue into it."""
        self._line = line
        self._wake.set()

    def hold(self) -> None:
        """Hand nothing more to the line, which is about to be closed."""
        self._line = None

    def detach(self) -> tuple[InDoubt, tuple[QueuedMessage, ...]]:
        """The line is gone. Returns what is in doubt, and the queued answers whose asker is gone with it."""
        self._line = None
        self.handshake.lost()
        self._opening = False
        doubt, answers = self.ledger.drop(), self.orphan_answers()
        self._unfile([*doubt.requests, *doubt.others])
        return doubt, answers

    def orphan_answers(self) -> tuple[QueuedMessage, ...]:
        """The requests of the server came over a line that is gone: take back the queued answers."""
        self._orphaned.update(self._asked)
        self._asked.clear()
        while len(self._orphaned) > SERVER_REQUESTS:
            del self._orphaned[next(iter(self._orphaned))]
        answers = self.queue.take_answers()
        self._unfile(answers)
        return answers

    def asked(self, request_id: RequestId) -> None:
        """The server has sent a request over the current line."""
        self._orphaned.pop(request_id, None)
        self._asked[request_id] = None
        if len(self._asked) > SERVER_REQUESTS:
            del self._asked[next(iter(self._asked))]

    def answer(self, request_id: RequestId) -> AwaitingAnswer | None:
        """The open request that an answer closes, or None."""
        found, confirmed = self.ledger.answer(request_id)
        if found is not None:
            if self._file is not None:
                self._unfile([found.item, *confirmed])
            if self.queue:
                self._wake.set()  # the writer may be waiting for a slot
        return found

    def give_up(self, request_id: RequestId) -> tuple[QueuedMessage, bool] | None:
        """Take back an open request: itself, and whether it was sent. Nothing goes to the server."""
        waiting = self.queue.remove_request(request_id)
        if waiting is not None:
            self._unfile([waiting])
            return waiting, False
        found = self.ledger.take(request_id)
        if found is None:
            return None
        self._unfile([found.item])
        self._wake.set()
        return found.item, True

    def confirm(self, place: int) -> None:
        confirmed = self.ledger.confirm(place)
        if self._file is not None:
            self._unfile(confirmed)

    def clear(self, *, requests_kept: bool, others_kept: bool) -> tuple[QueuedMessage, ...]:
        """Empty the queue and return what was in it; kept ones stay in the queue file."""
        items = (*self._held, *self.queue.clear())
        self._held.clear()
        self._empty.set()
        self._unfile(i for i in items if not (requests_kept if i.kind is Kind.REQUEST else others_kept))
        return items

    def _restore(self, file: QueueFile) -> None:
        """Load what an earlier process left waiting, to be sent before anything of this one.

        It is held back until it is known how the session begins (see `_release_before`): a server of the
        handshake era would refuse anything before `initialize`.
        """
        for row, data in file.waiting():
            kind, message = decode(data)
            if message.get("method") in OPENING:
                file.hand(row)  # the session it began ended with the earlier process: only to be reported
            elif kind is Kind.REQUEST:
                new_id = self._ids.next()  # its own may be taken by the new session
                self.restored[new_id] = message
                data = encode({**message, "id": new_id})
                self._held.append(QueuedMessage(kind, new_id, message["method"], data, row))
            elif kind is Kind.NOTIFICATION:
                self._held.append(QueuedMessage(kind, None, message["method"], data, row))
            else:
                file.hand(row)  # its asker's line ended with the earlier process: only to be reported

    def take_left_over(self) -> tuple[QueuedMessage, ...]:
        """What an earlier process had handed to a line without learning that it arrived; told once."""
        if self._file is None or self._line is not None:
            return ()
        items = []
        for row, data in self._file.handed():
            kind, message = decode(data)
            items.append(QueuedMessage(kind, message.get("id"), message.get("method", ""), data, row))
        self._unfile(items)
        return tuple(items)

    async def emptied(self) -> None:
        """Wait until nothing waits any more, because all was handed over or the transport has ended."""
        while self.size:
            self._empty.clear()
            await self._empty.wait()

    def release(self) -> None:
        """Let the restored messages go, behind whatever is queued now."""
        while self._held:
            self.queue.push_restored(self._held.popleft())
        self._wake.set()

    async def write(self, now: Callable[[], float]) -> None:
        """Empty the queue whenever there is a line; runs until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            line = self._line
            if line is not None and not self._handing:
                await self._hand(line, self._flush(line, now))

    async def _flush(self, line: Connection, now: Callable[[], float]) -> None:
        while self._line is line:
            head = self.queue.head()
            if head is None:
                self._empty.set()
                return
            if not self._has_slot(head):
                return
            if self._file is not None and head.row is not None:
                try:
                    self._file.hand(head.row)
                except EngineFailure as error:
                    # Unmarked, it could be sent again by the next process: it waits until the file works.
                    self._report(error)
                    return
            self.queue.pop()
            await self._give(line, head, now())

    def close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _release_before(self, item: QueuedMessage) -> None:
        """The first message of this process tells the era: without a handshake the restored ones go first."""
        if item.method == "initialize":
            self._opening = True
        elif not self._opening:
            self.release()

    def _has_slot(self, item: QueuedMessage) -> bool:
        return item.kind is not Kind.REQUEST or self.ledger.awaited < self._settings.max_in_flight

    async def _hand(self, line: Connection, work: Awaitable[None]) -> None:
        """Let one at a time use the line, so that the order is kept."""
        self._handing = True
        try:
            await work
        except ConnectionLost:
            # The message stands in the ledger; the reader of the line will meet the same end and settle it.
            if self._line is line:
                self._line = None
            line.abort()
        finally:
            self._handing = False

    async def _give(self, line: Connection, item: QueuedMessage, now: float) -> None:
        forgotten = self.ledger.hand(item, now)
        if forgotten:
            self._unfile(forgotten)
        if item.method in WATCHED:
            self.handshake.sent(item.kind, item.message())
        elif item.kind is Kind.REQUEST and item.id is not None:
            self.handshake.reused(item.id)
        self._metrics.messages_sent += 1
        self._metrics.bytes_sent += len(item.data)
        await line.send(item.data)
        if self.ledger.wants_ping():
            await line.ping(b"%d" % self.ledger.place)
            # A line with room in its buffers never waits by itself: let the reader see the pongs.
            await asyncio.sleep(0)

    def _filed(self, item: QueuedMessage, *, handed: bool) -> QueuedMessage:
        if self._file is None:
            return item
        row = self._file.add(item.data, handed=handed)
        return QueuedMessage(item.kind, item.id, item.method, item.data, row)

    def _unfile(self, items: Iterable[QueuedMessage]) -> None:
        """Forget rows. A row that stays by a failure is at worst reported again by the next process."""
        if self._file is None:
            return
        try:
            self._file.remove([item.row for item in items if item.row is not None])
        except EngineFailure as error:
            self._report(error)


def compact(item: QueuedMessage) -> QueuedMessage:
    """A copy without the encoder's spare room, half as large again as the message: it may wait for long."""
    return QueuedMessage(item.kind, item.id, item.method, bytes(memoryview(item.data)), item.row)
