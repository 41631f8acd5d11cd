"""Finds out that a silent server is gone. A half-open line looks like one on which nothing happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from vaultbridge.client.errors import LineLost
from vaultbridge.client.line import Line


async def watch(
    line: Line,
    *,
    interval: float,
    patience: float,
    heard_at: Callable[[], float],
    place: Callable[[], int],
) -> LineLost:
    """Ping after `interval` seconds of silence; returns when nothing at all was heard for `patience` more.

    Any message or pong counts as a sign of life. The ping's payload is `place()`, so that its pong also
    confirms what was sent before. Cutting the line is the caller's duty.
    """
    now = asyncio.get_running_loop().time
    while True:
        quiet_until = heard_at() + interval
        if now() < quiet_until:
            await asyncio.sleep(quiet_until - now())
            continue
        asked_at = now()
        try:
            async with asyncio.timeout(patience):
                await line.ping(b"%d" % place())
        except (TimeoutError, LineLost):
            pass  # a line too congested for a ping is judged by the silence that follows
        await asyncio.sleep(asked_at + patience - now())
        if heard_at() < asked_at:
            return LineLost(f"The server did not answer a heartbeat within {patience:g} s.")
