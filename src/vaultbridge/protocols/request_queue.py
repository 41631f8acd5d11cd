"""Decides which requests of one connection run now and which wait.

Requests run at the same time, up to MAX_RUNNING, except that changes run one after another, in the order in
which they arrived: a model that sends two edits of a note at once expects the second one to come second.
Everything else overtakes changes that wait. A change that waits for a person lets the next one begin.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from vaultbridge.jsonrpc.messages import RequestId

MAX_RUNNING: Final = 64
"""Requests of one connection that run at once. A model calls a handful of tools in parallel; more would only
queue for the engine's lock."""

MAX_WAITING: Final = 1024
"""Requests that are read ahead beyond those. After that, reading stops and the peer's own buffers fill. Far
more than MAX_RUNNING, so that cancellations and answers behind a burst of requests are still read."""

Work = Callable[[], Coroutine[Any, Any, None]]
"""Answers one request; it raises nothing but CancelledError."""


class RequestQueue:
    """All methods belong to the event loop's thread."""

    def __init__(self) -> None:
        self._running: dict[RequestId, asyncio.Task[None]] = {}
        self._waiting: deque[tuple[RequestId, Work]] = deque()
        self._waiting_changes: deque[tuple[RequestId, Work]] = deque()
        self._changing: asyncio.Task[None] | None = None
        """The change that runs now. It is not stored by its id, which a new request may use once this one is
        cancelled."""
        self._has_room = asyncio.Event()
        self._has_room.set()
        self.idle = asyncio.Event()
        """Set while nothing runs or waits."""
        self.idle.set()

    @property
    def running(self) -> Mapping[RequestId, asyncio.Task[None]]:
        return self._running

    def add(self, id_: RequestId, work: Work, *, is_change: bool) -> None:
        """Start a request as soon as it may run."""
        self.idle.clear()
        (self._waiting_changes if is_change else self._waiting).append((id_, work))
        self._start_waiting()
        if self._count_waiting() >= MAX_WAITING:
            self._has_room.clear()

    async def wait_for_room(self) -> None:
        """Wait while too many requests wait; no more should be read until then."""
        await self._has_room.wait()

    def runs_now(self, id_: RequestId) -> bool:
        """Whether the current task is that of this request. If the request was cancelled, it is not: a new
        request may already use its id."""
        return self._running.get(id_) is asyncio.current_task()

    def pass_turn(self, id_: RequestId) -> None:
        """Let the next change begin although this one has not ended."""
        if self._changing is not None and self._running.get(id_) is self._changing:
            self._end_turn(self._changing)

    def cancel(self, id_: RequestId) -> None:
        task = self._running.pop(id_, None)
        if task is not None:
            task.cancel()
            # A task that has not begun does not run `_run`, so this callback starts the next request.
            task.add_done_callback(self._end_turn)
            return
        self._waiting = deque(waiting for waiting in self._waiting if waiting[0] != id_)
        self._waiting_changes = deque(waiting for waiting in self._waiting_changes if waiting[0] != id_)

    def clear(self) -> None:
        """Forget the requests that wait; those that run go on."""
        self._waiting.clear()
        self._waiting_changes.clear()
        self._start_waiting()

    def _start_waiting(self) -> None:
        while len(self._running) < MAX_RUNNING:
            if self._waiting_changes and self._changing is None:
                self._changing = self._start(*self._waiting_changes.popleft())
            elif self._waiting:
                self._start(*self._waiting.popleft())
            else:
                break
        if self._count_waiting() < MAX_WAITING:
            self._has_room.set()
        if not self._running and not self._count_waiting():
            self.idle.set()

    def _start(self, id_: RequestId, work: Work) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._run(id_, work))
        self._running[id_] = task
        return task

    async def _run(self, id_: RequestId, work: Work) -> None:
        # The end is not a callback of the task, because that would take one more turn of the event loop for
        # each request.
        try:
            await work()
        finally:
            if self.runs_now(id_):
                del self._running[id_]
            self._end_turn(asyncio.current_task())

    def _end_turn(self, task: asyncio.Task[None] | None) -> None:
        if self._changing is task:
            self._changing = None
        self._start_waiting()

    def _count_waiting(self) -> int:
        return len(self._waiting) + len(self._waiting_changes)
