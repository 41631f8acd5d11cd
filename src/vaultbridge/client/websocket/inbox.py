"""The incoming half of a WebSocket transport: from a frame to the user's callback.

Every message is checked. A refused one does not end the connection, but the request that it seems to answer
fails. `Deadlines` decides which requests have waited too long; it reads no clock.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Container
from typing import Final

from vaultbridge.client.errors import ConnectFailed, InvalidMessage, UnknownAnswer
from vaultbridge.client.messages import (
    CONNECTION_LOST,
    Message,
    MessageKind,
    RequestId,
    decode,
    make_error_answer,
    read_answered_id,
    shorten,
)
from vaultbridge.client.metrics import Metrics
from vaultbridge.client.websocket.connection import Frame, Pong
from vaultbridge.client.websocket.outbox import Outbox

LATE_IDS: Final = 4096
"""How many ids of timed-out requests are remembered, so that a late answer is not reported as unknown. A late
answer to an older one is."""


class Deadlines:
    """All requests have the same timeout, so the first sent is the first due."""

    __slots__ = ("_due", "_late", "_waiting", "seconds")

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._waiting: deque[tuple[float, RequestId]] = deque()
        self._due: dict[RequestId, float] = {}
        """The newest deadline of each id: an id may be reused once its request has been answered, and the
        deadline of the earlier request must not end the later one."""
        self._late: dict[RequestId, None] = {}

    def add(self, request_id: RequestId, now: float) -> None:
        if self.seconds is not None:
            due_at = self._due[request_id] = now + self.seconds
            self._waiting.append((due_at, request_id))

    def next_due(self, open_ids: Container[RequestId]) -> float | None:
        """Return when the next open request is due. Drops the entries of answered requests."""
        while self._waiting:
            due_at, request_id = self._waiting[0]
            if request_id in open_ids and self._due.get(request_id) == due_at:
                return due_at
            self._drop_first()
        return None

    def take_due(self, now: float) -> list[RequestId]:
        due: list[RequestId] = []
        while self._waiting and self._waiting[0][0] <= now:
            request_id = self._drop_first()
            if request_id is not None:
                due.append(request_id)
        return due

    def _drop_first(self) -> RequestId | None:
        """Remove the first entry. Returns its id if the entry was the newest one of that id."""
        due_at, request_id = self._waiting.popleft()
        if self._due.get(request_id) != due_at:
            return None
        del self._due[request_id]
        return request_id

    def give_up(self, request_id: RequestId) -> None:
        self._late[request_id] = None
        if len(self._late) > LATE_IDS:
            del self._late[next(iter(self._late))]

    def was_given_up(self, request_id: RequestId) -> bool:
        """True, once, for a request that timed out."""
        if request_id not in self._late:
            return False
        del self._late[request_id]
        return True


SEQUENCE_DIGITS = 19
"""The longest pong payload that can be one of our sequence numbers."""


class Inbox:
    def __init__(
        self,
        outbox: Outbox,
        deadlines: Deadlines,
        metrics: Metrics,
        *,
        max_message_bytes: int,
        deliver: Callable[[Message], Awaitable[None]],
        report: Callable[[Exception], None],
    ) -> None:
        self.last_received = 0.0
        """When the last frame arrived, by the event loop's clock."""
        self.refused: tuple[float, InvalidMessage] | None = None
        """The last message that was refused, and when it arrived: a request that gets no answer may have got
        this one."""
        self._outbox = outbox
        self._deadlines = deadlines
        self._metrics = metrics
        self._max_message_bytes = max_message_bytes
        self._deliver = deliver
        self._report = report
        self._delivering = False
        self._waiters: set[asyncio.Future[None]] = set()

    def last_activity(self) -> float:
        """When the server was last active. While the user's callback keeps us from reading, that is now."""
        return asyncio.get_running_loop().time() if self._delivering else self.last_received

    async def next_pong(self) -> None:
        """Wait for the server's next pong. The caller must limit the wait."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)

    async def take(self, frame: Frame, *, replay_id: int | None = None) -> bool:
        """Handle one frame. True when it was the accepted answer to the repeated handshake `replay_id`.

        Raises ConnectFailed when the server refused that handshake, or its answer cannot be read.
        """
        self.last_received = asyncio.get_running_loop().time()
        if isinstance(frame, Pong):
            if frame.payload.isdigit() and len(frame.payload) <= SEQUENCE_DIGITS:
                self._outbox.confirm(int(frame.payload))
            for waiter in self._waiters:
                if not waiter.done():
                    waiter.set_result(None)
            self._waiters.clear()
            return False
        size = len(frame) if isinstance(frame, bytes) or frame.isascii() else len(frame.encode())
        self._metrics.messages_received += 1
        self._metrics.bytes_received += size
        try:
            if size > self._max_message_bytes:
                raise InvalidMessage(
                    f"A message of {size} bytes arrived; the limit is {self._max_message_bytes}."
                )
            kind, message = decode(frame)
        except InvalidMessage as error:
            error.received = True
            self.refused = self.last_received, error
            self._report(error)
            await self._fail_invalid(frame, error, replay_id)
            return False
        if replay_id is not None and message.get("id") == replay_id and "method" not in message:
            self._outbox.handshake.check_replay(kind, message)
            return True
        if self._match(kind, message):
            await self._deliver_and_reset(message)
        return False

    async def _deliver_and_reset(self, message: Message) -> None:
        """Deliver, then restart the silence: frames that arrived in the meantime have not been read yet."""
        self._delivering = True
        try:
            await self._deliver(message)
        finally:
            self._delivering = False
            self.last_received = asyncio.get_running_loop().time()

    def _match(self, kind: MessageKind, message: Message) -> bool:
        """Match an answer with its request; False for an answer that nobody waits for."""
        if kind is MessageKind.NOTIFICATION:
            return True
        request_id = message["id"]
        if kind is MessageKind.REQUEST:
            self._outbox.note_server_request(request_id)
        elif self._outbox.handshake.is_repeated(request_id):
            if (refusal := self._outbox.handshake.take_renewal(kind, message)) is not None:
                self._report(refusal)
            return False
        elif request_id is not None:  # null: the server could not read the id of the request it refuses
            request = self._outbox.answer(request_id)
            if request is None:
                if not self._deadlines.was_given_up(request_id):
                    self._report(
                        UnknownAnswer(f"An answer matches no open request (id {shorten(request_id)}).")
                    )
                return False
            self._metrics.count_answer(self.last_received - request.at)
            self._outbox.handshake.note_received(kind, message)
        return True

    async def _fail_invalid(
        self, frame: str | bytes, error: InvalidMessage, replay_id: RequestId | None
    ) -> None:
        """Fail the request that a refused message answers: it may get no other answer and must not hang."""
        request_id = read_answered_id(frame)
        if request_id is not None and request_id == replay_id:
            raise ConnectFailed(f"The server's answer to the repeated handshake was refused: {error.message}")
        if request_id is not None and self._outbox.answer(request_id) is not None:
            text = f"The server's answer was refused: {error.message}"
            await self._deliver_and_reset(
                make_error_answer(request_id, CONNECTION_LOST, text, reason=error.reason)
            )
