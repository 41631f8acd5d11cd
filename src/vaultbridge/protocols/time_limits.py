"""The time limits of the calls of one connection.

A call that waits for a person has its limit lifted (`Call.lift_time_limit`); every other call is cancelled
when it takes too long. Nearly all end long before that, so what matters is how little a limit costs them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from vaultbridge.protocols.dialect import Call, Handler


class CallExpired(Exception):
    """A call took longer than its time limit."""


class TimeLimits:
    """Cancels the calls of a connection that take too long, with one timer for all of them. Setting and
    removing a timer for each call would add a tenth to the time of a short call."""

    __slots__ = ("_calls", "_timer")

    def __init__(self) -> None:
        self._calls: set[Call] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, call: Call, handler: Handler, seconds: float | None) -> Any:
        """Run the handler and return its result. Raises CallExpired when it takes longer than `seconds`,
        unless the limit is lifted."""
        if seconds is None:
            return await handler(call)
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        call.task, call.expires = task, loop.time() + seconds
        if self._timer is None or call.expires < self._timer.when():
            self._set_timer(loop, call.expires)
        self._calls.add(call)
        cancelled = task.cancelling()
        try:
            return await handler(call)
        except asyncio.CancelledError:
            # The task may have been cancelled for another reason as well.
            if call.expired and task.cancelling() - 1 <= cancelled:
                raise CallExpired from None
            raise
        finally:
            self._calls.discard(call)
            if call.expired:
                task.uncancel()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        self.close()
        self._timer = loop.call_at(when, self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for call in self._calls:
            if call.expires is not None and call.expires <= now and not call.expired:
                call.expired = True
                assert call.task is not None
                call.task.cancel()
        left = [call.expires for call in self._calls if call.expires is not None and not call.expired]
        if left:
            self._set_timer(loop, min(left))
