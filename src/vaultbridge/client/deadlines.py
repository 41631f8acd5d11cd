"""Which requests have waited too long for their answer. Pure: times come from outside."""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from typing import Final

from vaultbridge.client.messages import RequestId

LATE_IDS: Final = 4096
"""Ids of requests given up, remembered so that a late answer is not taken for an unknown one. An id beyond
these is at worst reported as unknown."""


class Deadlines:
    """All requests wait equally long, so the first sent is the first due."""

    __slots__ = ("_due", "_late", "_waiting", "seconds")

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._waiting: deque[tuple[float, RequestId]] = deque()
        self._due: dict[RequestId, float] = {}
        """The newest deadline of each id: an id may be used again once its request was answered, and the
        entry of the earlier request must not end the later one."""
        self._late: dict[RequestId, None] = {}

    def add(self, request_id: RequestId, now: float) -> None:
        if self.seconds is not None:
            due_at = self._due[request_id] = now + self.seconds
            self._waiting.append((due_at, request_id))

    def next_due(self, open_ids: Container[RequestId]) -> float | None:
        """When the next open request is due. Entries of answered requests fall away here."""
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
        """Remove the first entry; its id when the entry was the newest of that id."""
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
        """True once for the late answer of a request that was given up."""
        if request_id not in self._late:
            return False
        del self._late[request_id]
        return True
