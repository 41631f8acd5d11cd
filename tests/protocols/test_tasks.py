"""Ending a task that runs beside us."""

from __future__ import annotations

import asyncio

import pytest

from vaultbridge.protocols.connection import cancel_and_wait


async def test_our_own_cancellation_while_a_task_ends_is_not_lost() -> None:
    """Ctrl-C cancels a command once. When that fell together with the end of a reader, it was taken for the
    reader's own."""
    stopping = asyncio.Event()
    leave = asyncio.Event()

    async def read_task() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopping.set()
            await leave.wait()

    reading = asyncio.ensure_future(read_task())
    await asyncio.sleep(0)
    command = asyncio.ensure_future(cancel_and_wait(reading))
    await stopping.wait()
    command.cancel()
    leave.set()
    await asyncio.wait({command, reading})
    assert command.cancelled() and reading.done()


async def test_an_exception_of_the_task_is_raised() -> None:
    async def fail() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("on the way out")

    task = asyncio.ensure_future(fail())
    await asyncio.sleep(0)
    with pytest.raises(ValueError, match="on the way out"):
        await cancel_and_wait(task)
