"""Opens connections: the first one, and after a loss the next ones, with delays and a repeated handshake.

`watch_silence` detects that a silent server is gone, because a half-open connection looks like an idle one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

from vaultbridge.client.errors import ConnectFailed, ConnectionLost
from vaultbridge.client.messages import encode
from vaultbridge.client.settings import WebSocketSettings, make_backoff_delays
from vaultbridge.client.websocket.connection import Dial, WebSocketConnection, make_aiohttp_dial
from vaultbridge.client.websocket.inbox import Inbox
from vaultbridge.client.websocket.outbox import Outbox
from vaultbridge.client.websocket.unacknowledged import NOTHING_UNCONFIRMED, report_lost_connection
from vaultbridge.errors import TimedOut


async def watch_silence(
    connection: WebSocketConnection,
    *,
    interval: float,
    patience: float,
    last_received: Callable[[], float],
    sequence: Callable[[], int],
) -> ConnectionLost:
    """Ping after `interval` seconds of silence; return when nothing was received for `patience` more.

    Any message or pong counts. The ping's payload is `sequence()`, so that its pong also confirms what was
    sent before. The caller must cut the connection.
    """
    now = asyncio.get_running_loop().time
    while True:
        quiet_until = last_received() + interval
        if now() < quiet_until:
            await asyncio.sleep(quiet_until - now())
            continue
        asked_at = now()
        try:
            async with asyncio.timeout(patience):
                await connection.ping(b"%d" % sequence())
        except (TimeoutError, ConnectionLost):
            pass  # if it is too congested for a ping, the silence that follows decides
        await asyncio.sleep(asked_at + patience - now())
        if last_received() < asked_at:
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
        self._delays = self._make_delays()

    async def open(self) -> WebSocketConnection:
        """Try once. Raises ConnectFailed or TimedOut; if cancelled, nothing stays open."""
        if self._dial is None:
            self._dial = make_aiohttp_dial(self._settings)
        seconds = self._settings.connect_timeout
        try:
            async with asyncio.timeout(seconds):
                return await self._dial()
        except TimeoutError:
            raise TimedOut(f"WebSocket error: no connection within {seconds:g} s.") from None

    async def reopen(self, *, held_for: float) -> WebSocketConnection | None:
        """Open a new connection and renew the session; None when no attempts are left. Failures are reported.

        `held_for` is how long the lost connection had lasted: after a stable one the attempts start afresh.
        """
        if held_for >= self._settings.stable_after:
            self._delays = self._make_delays()
        for delay in self._delays:
            if delay:
                await asyncio.sleep(delay)
            try:
                connection = await self.open()
            except (ConnectFailed, TimedOut) as error:
                self._report(error)
                continue
            try:
                await self._renew_session(connection)
            except (ConnectFailed, TimedOut, ConnectionLost) as error:
                self._report(error)
                # The server may already have sent requests over this connection.
                failures = report_lost_connection("", NOTHING_UNCONFIRMED, self._outbox.orphan_answers())
                for discarded in failures.errors:
                    self._report(discarded)
                await discard(connection)
                continue
            except BaseException:
                await discard(connection)
                raise
            return connection
        return None

    async def _renew_session(self, connection: WebSocketConnection) -> None:
        """If the session has a handshake, repeat it, and then the subscriptions, before anything else is
        sent."""
        if not self._handshake.is_established:
            return
        request = self._handshake.make_replay()
        seconds = self._settings.connect_timeout
        try:
            async with asyncio.timeout(seconds):
                await connection.send(encode(request))
                while not await self._inbox.take(await connection.receive(), replay_id=request["id"]):
                    pass
                confirmation = self._handshake.confirmation()
                if confirmation is not None:
                    await connection.send(encode(confirmation))
                # The answers arrive like any others, so nothing has to wait for them.
                for request in self._handshake.make_renewals():
                    await connection.send(encode(request))
        except TimeoutError:
            raise TimedOut(f"The server did not initialize the session again within {seconds:g} s.") from None

    def _make_delays(self) -> Iterator[float]:
        settings = self._settings
        return make_backoff_delays(
            settings.reconnect_attempts,
            settings.reconnect_delay,
            longest=settings.reconnect_longest,
            jitter=settings.jitter,
            random=self._random,
        )


async def discard(connection: WebSocketConnection) -> None:
    """Release a connection that is no longer used."""
    connection.abort()
    await connection.close()


async def cancel_dialing(dialing: asyncio.Task[WebSocketConnection]) -> None:
    """Stop dialing, and release the connection if it was opened all the same."""
    dialing.cancel()
    await asyncio.wait([dialing])
    if not dialing.cancelled() and dialing.exception() is None:
        await discard(dialing.result())
