"""Waiting in a test, always with a limit: for an event where there is one, else by asking again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

T = TypeVar("T")

BOUND: Final = 60.0
"""Seconds that nothing takes that works, however busy the machine is. No test asserts on it."""


async def until(holds: Callable[[], object]) -> None:
    """Wait for a state of this process that has no event of its own."""
    async with asyncio.timeout(BOUND):
        while not holds():  # noqa: ASYNC110 - this is for what has no event
            await asyncio.sleep(0.001)


async def ask_until(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask a server again until its answer is true. It needs processor time to get there, so it is left alone
    between two questions."""
    async with asyncio.timeout(BOUND):
        while not (answer := await ask()):  # noqa: ASYNC110 - a server has no event of ours
            await asyncio.sleep(0.01)
        return answer


def wait_until(holds: Callable[[], object]) -> None:
    """The same as `until`, in a test without an event loop."""
    deadline = time.monotonic() + BOUND
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.002)
