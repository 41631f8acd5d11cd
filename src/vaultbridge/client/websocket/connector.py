"""Opens lines: the first, and after a loss the next ones, with their delays and the repeated handshake.

Finds out that a silent server is gone. A half-open line looks like one on which nothing happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from vaultbridge.client.errors import ConnectFailed, ConnectionLost
from vaultbridge.client.messages import encode
from vaultbridge.client.settings import WebSocketSettings, delays
from vaultbridge.client.websocket import unacknowledged as settlement
from vaultbridge.client.websocket.connection import Connection, Dial
from vaultbridge.client.websocket.inbox import Inbox
from vaultbridge.client.websocket.outbox import Outbox
from vaultbridge.client.websocket.unacknowledged import NOTHING_IN_DOUBT
from vaultbridge.errors import TimedOut


async def watch(
    line: Connection,
    *,
    interval: float,
    patience: float,
    heard_at: Callable[[], float],
    place: Callable[[], int],
) -> ConnectionLost:
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
        except (TimeoutError, ConnectionLost):
            pass  # a line too congested for a ping is judged by the silence that follows
        await asyncio.sleep(asked_at + patience - now())
        if heard_at() < asked_at:
            return ConnectionLost(f"The server did not answer a heartbeat within {patience:g} s.")


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

    async def open(self) -> Connection:
        """One attempt. Raises ConnectFailed or TimedOut; cancelled, it leaves nothing behind."""
        if self._dial is None:
            from vaultbridge.client.websocket.aiohttp_connection import aiohttp_dial

            self._dial = aiohttp_dial(self._settings)
        seconds = self._settings.connect_timeout
        try:
            async with asyncio.timeout(seconds):
                return await self._dial()
        except TimeoutError:
            raise TimedOut(f"WebSocket error: no connection within {seconds:g} s.") from None

    async def reopen(self, *, held_for: float) -> Connection | None:
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
            except (ConnectFailed, TimedOut, ConnectionLost) as error:
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

    async def _renew_session(self, line: Connection) -> None:
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


async def retire(line: Connection) -> None:
    """Let go of a line that nobody uses any more."""
    line.abort()
    await line.close()


async def abandon(dialing: asyncio.Task[Connection]) -> None:
    """Stop dialing, and let go of the line if one came about all the same."""
    dialing.cancel()
    await asyncio.wait([dialing])
    if not dialing.cancelled() and dialing.exception() is None:
        await retire(dialing.result())
