"""Ending a task that runs beside us."""

from __future__ import annotations

import asyncio
from typing import Any


async def ended(task: asyncio.Future[Any]) -> None:
    """Cancel a task and wait for its end. Raises what it raised instead.

    Waiting for the task itself would take our own cancellation, such as Ctrl-C, for the task's."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()
