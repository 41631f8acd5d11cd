"""The MCP requests that are being answered now, by whom they are asked.

A stream may stay open for days. When its caller may no longer be here, or the server ends, its endpoint ends
it; whoever then does not take the last bytes is hung up on by this module, so that nobody who reads slowly,
or not at all, can stay. It knows no sessions and no streams.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from aiohttp import web

LAST_WORDS_SECONDS: Final = 1.0
"""How long a caller may take to read the end of its answer: it waits in the buffers of both machines."""

Stays = Callable[[str], bool]
"""Whether a principal may stay."""


def nobody(principal: str) -> bool:
    """At the end of the server."""
    return False


class OpenRequests:
    def __init__(self) -> None:
        self._open: dict[asyncio.Future[None], tuple[web.Request, str]] = {}

    @contextmanager
    def one(self, request: web.Request, principal: str) -> Iterator[None]:
        """While a request is being answered."""
        done = asyncio.get_running_loop().create_future()
        self._open[done] = request, principal
        try:
            yield
        finally:
            del self._open[done]
            if not done.done():
                done.set_result(None)

    async def hang_up(self, stays: Stays) -> None:
        """Wait for those who may not stay, and cut off who is still there then."""
        leaving = {done: request for done, (request, who) in self._open.items() if not stays(who)}
        if not leaving:
            return
        _, slow = await asyncio.wait(leaving, timeout=LAST_WORDS_SECONDS)
        for done in slow:
            transport = leaving[done].transport
            if transport is not None:
                transport.abort()
