"""Messages that wait for a connection, in order, limited in number and bytes. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

import msgspec

from vaultbridge.client.errors import QueueFull
from vaultbridge.client.messages import Message, MessageKind, RequestId, decode
from vaultbridge.limits import MIB

QUEUE_MESSAGES: Final = 10_000
"""The most queued messages: as many as a busy client sends in some minutes. It is better to report a longer
outage than to hide it."""

QUEUE_BYTES: Final = 32 * MIB
"""The most queued bytes: three messages of the largest size, and little compared with the process."""


class QueuedMessage(msgspec.Struct, frozen=True, gc=False):
    """An accepted message, encoded once, with its kind, id and method."""

    kind: MessageKind
    id: RequestId | None
    method: str
    data: bytes
    row: int | None = None
    """Its row in the queue file, when there is one."""

    def message(self) -> Message:
        return decode(self.data)[1]


class SendQueue:
    """First in, first out, with removal of a waiting request by its id."""

    __slots__ = ("_items", "_requests", "bytes", "max_bytes", "max_messages")

    def __init__(self, max_messages: int = QUEUE_MESSAGES, max_bytes: int = QUEUE_BYTES) -> None:
        self.max_messages = max_messages
        self.max_bytes = max_bytes
        self.bytes = 0
        self._items: deque[QueuedMessage] = deque()
        self._requests: dict[RequestId, QueuedMessage] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[QueuedMessage]:
        return iter(self._items)

    def __contains__(self, request_id: RequestId) -> bool:
        return request_id in self._requests

    def check_room(self, size: int) -> None:
        """Raise QueueFull when one more message of `size` bytes would exceed a limit."""
        if len(self._items) >= self.max_messages:
            raise QueueFull(
                f"The queue is full: {len(self._items)} messages are waiting for a connection.",
                hint="Wait for the connection, or raise max_queue_messages.",
            )
        if self.bytes + size > self.max_bytes:
            raise QueueFull(
                f"The queue is full: {self.bytes} of {self.max_bytes} bytes wait; this one has {size}.",
                hint="Wait for the connection, or raise max_queue_bytes.",
            )

    def push(self, item: QueuedMessage) -> None:
        """Append a message. Raises QueueFull, and then changes nothing."""
        self.check_room(len(item.data))
        self.push_restored(item)

    def push_restored(self, item: QueuedMessage) -> None:
        """Append a message that an earlier process accepted: its limits were checked then."""
        self._items.append(item)
        self.bytes += len(item.data)
        if item.kind is MessageKind.REQUEST and item.id is not None:
            self._requests[item.id] = item

    def head(self) -> QueuedMessage | None:
        return self._items[0] if self._items else None

    def pop(self) -> QueuedMessage:
        """Remove and return the oldest. Raises IndexError when there is none."""
        item = self._items.popleft()
        self._forget(item)
        return item

    def remove_request(self, request_id: RequestId) -> QueuedMessage | None:
        """Remove a request. Fast near the head, where the requests that time out are."""
        item = self._requests.get(request_id)
        if item is not None:
            self._items.remove(item)
            self._forget(item)
        return item

    def take_answers(self) -> tuple[QueuedMessage, ...]:
        """Remove and return the waiting answers: their requests came over a connection that is gone."""
        taken = tuple(item for item in self._items if item.kind in (MessageKind.RESPONSE, MessageKind.ERROR))
        if taken:
            rest = [
                item for item in self._items if item.kind not in (MessageKind.RESPONSE, MessageKind.ERROR)
            ]
            self._items = deque(rest)
            self.bytes -= sum(len(item.data) for item in taken)
        return taken

    def clear(self) -> tuple[QueuedMessage, ...]:
        items = tuple(self._items)
        self._items.clear()
        self._requests.clear()
        self.bytes = 0
        return items

    def _forget(self, item: QueuedMessage) -> None:
        self.bytes -= len(item.data)
        if item.kind is MessageKind.REQUEST and item.id is not None:
            del self._requests[item.id]
