"""Opens lines: the first, and after a loss the next ones, with their delays and the repeated handshake."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from vaultbridge.client import settlement
from vaultbridge.client.backoff import delays
from vaultbridge.client.errors import ConnectFailed, LineLost
from vaultbridge.client.inbox import Inbox
from vaultbridge.client.ledger import NOTHING_IN_DOUBT
from vaultbridge.client.line import Dial, Line
from vaultbridge.client.messages import encode
from vaultbridge.client.outbox import Outbox
from vaultbridge.client.settings import WebSocketSettings
from vaultbridge.errors import TimedOut


class Connector:
    def __init__(
        self,
        settings: WebSocketSettings,
        dial: Dial | None,
        random: Callable[[], float],
        outbox: Outbox,
        inbox: Inbox,
        report: Callable[[Exception], None],
    ) -> None:
        self._settings = settings
        self._dial = dial
        self._random = random
        self._outbox = outbox
        self._handshake = outbox.handshake
        self._inbox = inbox
        self._report = report
        self._delays = self._fresh_delays()

    async def open(self) -> Line:
        """One attempt. Raises ConnectFailed or TimedOut; cancelled, it leaves nothing behind."""
        if self._dial is None:
            from vaultbridge.client.line_aiohttp import aiohttp_dial

            self._dial = aiohttp_dial(self._settings)
        seconds = self._settings.connect_timeout
        try:
            async with asyncio.timeout(seconds):
                return await self._dial()
        except TimeoutError:
            raise TimedOut(f"WebSocket error: no connection within {seconds:g} s.") from None

    async def reopen(self, *, held_for: float) -> Line | None:
        """A new line with the session renewed, or None when the attempts are spent. Failures are reported.

        `held_for` is how long the lost one had held: after a stable connection the attempts start afresh.
        """
        if held_for >= self._settings.stable_after:
            self._delays = self._fresh_delays()
        for delay in self._delays:
            if delay:
                await asyncio.sleep(delay)
            try:
                line = await self.open()
            except (ConnectFailed, TimedOut) as error:
                self._report(error)
                continue
            try:
                await self._renew_session(line)
            except (ConnectFailed, TimedOut, LineLost) as error:
                self._report(error)
                # The server may have asked something over this line already.
                told = settlement.of_lost_line("", NOTHING_IN_DOUBT, self._outbox.orphan_answers())
                for discarded in told.errors:
                    self._report(discarded)
                await retire(line)
                continue
            except BaseException:
                await retire(line)
                raise
            return line
        return None

    async def _renew_session(self, line: Line) -> None:
        """On a session with a handshake, repeat it, and what the session held, before anything else goes
        out."""
        if not self._handshake.established:
            return
        request = self._handshake.replay()
        seconds = self._settings.connect_timeout
        try:
            async with asyncio.timeout(seconds):
                await line.send(encode(request))
                while not await self._inbox.take(await line.receive(), replay_id=request["id"]):
                    pass
                confirmation = self._handshake.confirmation()
                if confirmation is not None:
                    await line.send(encode(confirmation))
                # Their answers come in the course of things: nothing has to wait for them.
                for request in self._handshake.renewals():
                    await line.send(encode(request))
        except TimeoutError:
            raise TimedOut(f"The server did not initialise the session again within {seconds:g} s.") from None

    def _fresh_delays(self) -> Iterator[float]:
        s = self._settings
        return delays(
            s.reconnect_attempts,
            s.reconnect_delay,
            longest=s.reconnect_longest,
            jitter=s.jitter,
            random=self._random,
        )


async def retire(line: Line) -> None:
    """Let go of a line that nobody uses any more."""
    line.abort()
    await line.close()


async def abandon(dialing: asyncio.Task[Line]) -> None:
    """Stop dialing, and let go of the line if one came about all the same."""
    dialing.cancel()
    await asyncio.wait([dialing])
    if not dialing.cancelled() and dialing.exception() is None:
        await retire(dialing.result())
