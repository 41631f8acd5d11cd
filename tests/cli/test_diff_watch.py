"""`vaultbridge diffs --watch` is left at once, whatever it does at that moment."""

from __future__ import annotations

import asyncio

from vaultbridge.cli.diff_watch import ended


async def test_an_interruption_while_a_reader_is_being_stopped_is_not_lost() -> None:
    """Ctrl-C cancels the command once. When that fell together with the end of a reader, it was taken for
    the reader's own."""
    stopping = asyncio.Event()
    leave = asyncio.Event()

    async def reader() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopping.set()
            await leave.wait()

    reading = asyncio.ensure_future(reader())
    await asyncio.sleep(0)
    command = asyncio.ensure_future(ended(reading))
    await stopping.wait()
    command.cancel()
    leave.set()
    await asyncio.wait({command, reading})
    assert command.cancelled() and reading.done()
