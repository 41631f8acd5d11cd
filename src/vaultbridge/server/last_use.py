"""Ends a server that nobody uses, such as one that `vaultbridge page` has started in the background.

    last_use = LastUse(seconds)
    app = web.Application(middlewares=[last_use.count])
    last_use.watch(activity)
    await last_use.wait_unused()

Every request counts, for as long as it runs: an open page, an editor and Claude Code each hold a WebSocket, a
process of `vaultbridge stdio` holds a request in which it waits for what a person wants, and a call that
waits for a decision is one as well. A client that has a session but no request at the moment is known to
`activity`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from aiohttp import web

if TYPE_CHECKING:
    from vaultbridge.activity.clients import Activity

LOOKS: Final = 20
"""How often the use is checked within the time after which the server ends: it ends at most a twentieth
late."""


class LastUse:
    """`seconds` is how long nobody may use the server before it ends."""

    def __init__(self, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._running = 0
        self._last = clock()
        self._activity: Activity | None = None

    @web.middleware
    async def count(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        self._running += 1
        try:
            return await handler(request)
        finally:
            self._running -= 1
            self._last = self._clock()

    def watch(self, activity: Activity) -> None:
        self._activity = activity

    @property
    def is_used(self) -> bool:
        if self._running:
            return True
        clients = self._activity.clients.values() if self._activity is not None else ()
        return any(client.is_connected for client in clients)

    async def wait_unused(self) -> None:
        """Return when nobody has used the server for as long as that."""
        while True:
            if self.is_used:
                self._last = self._clock()
            if self._clock() - self._last >= self._seconds:
                return
            await asyncio.sleep(self._seconds / LOOKS)
