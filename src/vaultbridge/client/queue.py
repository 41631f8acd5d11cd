"""Messages waiting for a line, in order, bounded by count and by bytes. Pure accounting."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

import msgspec

from vaultbridge.client.errors import QueueFull
from vaultbridge.client.messages import Kind, Message, RequestId, decode
from vaultbridge.limits import MIB

QUEUE_MESSAGES: Final = 10_000
"""What a busy client sends in some minutes. A longer outage is better told to the caller than hidden."""

QUEUE_BYTES: Final = 32 * MIB
"""Three messages of the largest size; the whole queue stays small beside the process."""


class Outgoing(msgspec.Struct, frozen=True, gc=False):
    """An accepted message on its way: encoded once, described for the books."""

    kind: Kind
    id: RequestId | None
    method: str
    data: bytes
    row: int | None = None
    """Its row in the queue file, when there is one."""

    def message(self) -> Message:
        return decode(self.data)[1]


class SendQueue:
    """First in, first out, with removal of a waiting request by its id."""

    __slots__ = ("_items", "_next", "_requests", "bytes", "max_bytes", "max_messages")

    def __init__(self, max_messages: int = QUEUE_MESSAGES, max_bytes: int = QUEUE_BYTES) -> None:
        self.max_messages = max_messages
        self.max_bytes = max_bytes
        self.bytes = 0
        self._items: OrderedDict[int, Outgoing] = OrderedDict()
        self._requests: dict[RequestId, int] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Outgoing]:
        return iter(self._items.values())

    def __contains__(self, request_id: RequestId) -> bool:
        return request_id in self._requests

    def check_room(self, size: int) -> None:
        """Raises QueueFull when one more message of `size` bytes would pass a bound."""
        if len(self._items) >= self.max_messages:
            raise QueueFull(
                f"The queue is full: {len(self._items)} messages are waiting for a connection.",
                hint="Wait for the connection, or raise max_queue_messages.",
            )
        if self.bytes + size > self.max_bytes:
            raise QueueFull(
                f"The queue is full: {self.bytes} of {self.max_bytes} bytes are waiting, {size} more came.",
                hint="Wait for the connection, or raise max_queue_bytes.",
            )

    def push(self, item: Outgoing) -> None:
        """Raises QueueFull; the queue is unchanged then."""
        self.check_room(len(item.data))
        self.push_restored(item)

    def push_restored(self, item: Outgoing) -> None:
        """Put in a message that was accepted before: the bound was asked then."""
        self._items[self._next] = item
        if item.kind is Kind.REQUEST and item.id is not None:
            self._requests[item.id] = self._next
        self._next += 1
        self.bytes += len(item.data)

    def head(self) -> Outgoing | None:
        return next(iter(self._items.values()), None)

    def pop(self) -> Outgoing:
        """The oldest. Raises KeyError when there is none."""
        _, item = self._items.popitem(last=False)
        self._forget(item)
        return item

    def remove_request(self, request_id: RequestId) -> Outgoing | None:
        place = self._requests.get(request_id)
        if place is None:
            return None
        item = self._items.pop(place)
        self._forget(item)
        return item

    def take_answers(self) -> tuple[Outgoing, ...]:
        """Remove and return the waiting answers: they belong to requests of a line that is gone."""
        places = [p for p, item in self._items.items() if item.kind in (Kind.RESPONSE, Kind.ERROR)]
        taken = tuple(self._items.pop(place) for place in places)
        for item in taken:
            self._forget(item)
        return taken

    def clear(self) -> tuple[Outgoing, ...]:
        items = tuple(self._items.values())
        self._items.clear()
        self._requests.clear()
        self.bytes = 0
        return items

    def _forget(self, item: Outgoing) -> None:
        self.bytes -= len(item.data)
        if item.kind is Kind.REQUEST and item.id is not None:
            del self._requests[item.id]
