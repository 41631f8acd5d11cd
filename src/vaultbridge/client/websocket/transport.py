"""The WebSocket transport: it reconnects when its connection is lost, and loses no message silently.

Use it with callbacks (`start`, `send`, `close`), or as an async context manager that yields the read and
write streams of the official SDK (`Client(WebSocketTransport("ws://…"))`). The outbox sends, the inbox
receives, the connector opens connections; this module manages the life cycle from `start` to `on_close`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random as _random
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Unpack

from vaultbridge.client.errors import ConnectionLost, MessagesUnconfirmed, QueueFull, TransportClosed
from vaultbridge.client.locks import find_lock
from vaultbridge.client.messages import Message, MessageKind, RequestId
from vaultbridge.client.metrics import MetricsSnapshot, render_prometheus
from vaultbridge.client.settings import WebSocketOptions, WebSocketSettings, make_settings, read_settings
from vaultbridge.client.transport import ALIVE_SECONDS, Callbacks, State
from vaultbridge.client.websocket.connection import Dial, WebSocketConnection
from vaultbridge.client.websocket.connector import Connector, cancel_dialing, discard, watch_silence
from vaultbridge.client.websocket.inbox import Deadlines, Inbox
from vaultbridge.client.websocket.outbox import Outbox
from vaultbridge.client.websocket.queue_file import QueueFile
from vaultbridge.client.websocket.unacknowledged import (
    decode_messages,
    make_cancellation,
    make_refused_answer,
    make_timeout_answer,
    report_lost_connection,
    report_unsent,
)
from vaultbridge.errors import VaultbridgeError
from vaultbridge.protocols.claude_ide.lock_files import TOKEN_HEADER


class WebSocketTransport(Callbacks):
    """See `transport.Transport` for the promises, `settings.WebSocketSettings` for the options."""

    def __init__(
        self,
        url: str,
        *,
        dial: Dial | None = None,
        random: Callable[[], float] = _random.random,
        **options: Unpack[WebSocketOptions],
    ) -> None:
        """Check the options and open the queue file; connects nothing.

        `dial` replaces the network, and `random` the source of jitter. Raises InvalidArgument, or
        EngineFailure when the queue file cannot be used.
        """
        super().__init__()
        self.settings = make_settings(url, options)
        file = QueueFile(self.settings.queue_file, url) if self.settings.queue_file is not None else None
        self._outbox = Outbox(self.settings, self._metrics, file, self._report)
        self._deadlines = Deadlines(self.settings.request_timeout)
        self._deadline_set = asyncio.Event()
        self._inbox = Inbox(
            self._outbox,
            self._deadlines,
            self._metrics,
            max_message_bytes=self.settings.max_message_bytes,
            deliver=self._deliver,
            report=self._report,
        )
        self._connector = Connector(self.settings, dial, random, self._outbox, self._inbox, self._report)
        self._undelivered: deque[Message] = deque()
        self._ending = False
        """Nothing more is accepted: the rest is being reported."""
        self._connection: WebSocketConnection | None = None
        self._connected_at = 0.0
        self._cut_because: ConnectionLost | None = None
        self._dialing: asyncio.Task[WebSocketConnection] | None = None
        self._heartbeat: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    def from_settings(cls, settings: WebSocketSettings, *, dial: Dial | None = None) -> WebSocketTransport:
        values: Any = {name: getattr(settings, name) for name in settings.__struct_fields__}
        return cls(values.pop("url"), dial=dial, **values)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> WebSocketTransport:
        """Make one from a mapping with the plugin interface's keys; see `settings.read_settings`."""
        return cls.from_settings(read_settings(config))

    @classmethod
    def from_lock(
        cls, folder: str | None = None, workspace: str | None = None, **options: Unpack[WebSocketOptions]
    ) -> WebSocketTransport:
        """Make one to a Claude Code IDE server on this machine, found by its lock file. Raises
        ConnectFailed."""
        lock = find_lock(folder, workspace)
        options["headers"] = {**options.get("headers", {}), TOKEN_HEADER: lock.token}
        return cls(f"ws://127.0.0.1:{lock.port}", **options)

    @property
    def queue_size(self) -> int:
        return self._outbox.size

    @property
    def queued_for_others(self) -> int:
        """How many messages the queue file had for other addresses when it was opened. They wait there until
        a transport is opened with that address."""
        return self._outbox.queued_for_others

    @property
    def restored(self) -> Mapping[int, Message]:
        """Requests that an earlier process left in the queue file, by the id under which they are sent
        now."""
        return self._outbox.restored

    @property
    def subprotocol(self) -> str | None:
        """What the server accepted on the current connection."""
        return self._connection.subprotocol if self._connection is not None else None

    def metrics(self) -> MetricsSnapshot:
        return self._metrics.snapshot(
            queue_messages=self._outbox.size,
            queue_bytes=self._outbox.queue.bytes,
            in_flight=len(self._outbox.unacknowledged.open),
            state=self.state.value,
        )

    def prometheus(self) -> str:
        return render_prometheus(self.metrics())

    async def start(self) -> None:
        """Connect. Raises ConnectFailed or TimedOut, and then does not retry in the background."""
        if not self._life.allows("start"):
            state = "has ended" if self._life.ended else "has already been started"
            raise TransportClosed(f"This transport {state}.")
        left = self._outbox.take_left_over()
        if left:
            self._report(MessagesUnconfirmed(decode_messages(left)))
        self._move("start")
        dialing = self._dialing = asyncio.create_task(self._connector.open())
        try:
            connection = await asyncio.shield(dialing)
        except BaseException as error:
            await cancel_dialing(dialing)
            if not self._is(State.CONNECTING):
                raise TransportClosed("The transport was closed while it was connecting.") from None
            self._move("failed")
            if isinstance(error, VaultbridgeError):
                self._report(error)
            raise
        if not self._is(State.CONNECTING):
            await discard(connection)
            raise TransportClosed("The transport was closed while it was connecting.")
        self._use(connection)
        self._spawn(self._supervise(connection))
        self._spawn(self._outbox.write(asyncio.get_running_loop().time))
        if self.settings.request_timeout is not None:
            self._spawn(self._watch_deadlines())

    async def send(self, message: object) -> None:
        """Send a message (a dict, or a typed one), or queue it while there is no connection.

        Raises InvalidMessage, QueueFull or TransportClosed (also reported to `on_error`) when the message was
        not accepted. Waits only while the connection is congested; if cancelled then, the message stays
        accepted.
        """
        try:
            if self._ending or self._life.ended:
                raise TransportClosed("The transport is closed.")
            item = self._outbox.prepare(message)
            now = asyncio.get_running_loop().time()
            if (
                self._deadlines.seconds is not None
                and item.kind is MessageKind.REQUEST
                and item.id is not None
            ):
                self._deadlines.add(item.id, now)
                self._deadline_set.set()
            await self._outbox.post(item, now)
        except VaultbridgeError as error:
            self._report(error)
            raise

    async def is_alive(self, patience: float = ALIVE_SECONDS) -> bool:
        """Whether the server answers a ping within `patience` seconds."""
        connection = self._connection
        if connection is None or not self.is_connected:
            return False
        try:
            async with asyncio.timeout(patience):
                await connection.ping(b"%d" % self._outbox.unacknowledged.sequence)
                await self._inbox.next_pong()
        except (TimeoutError, ConnectionLost):
            return False
        return True

    def flush_restored(self) -> None:
        """Send what an earlier process left now, not after the first message of this one."""
        self._outbox.release()

    async def flush(self) -> None:
        """Wait until the queue is empty: all was sent, or was reported because the transport has ended.

        Afterwards `is_alive` says whether all of it has arrived.
        """
        self._outbox.release()
        await self._outbox.wait_until_empty()

    async def close(self, *, keep_queue: bool = False) -> None:
        """End the transport: open requests get an error, the queue is cleared, `on_close` is called.

        With `keep_queue`, what waits in the queue file stays there for the next process. May be called at any
        time, repeatedly, and from a callback.
        """
        if not self._life.allows("close"):
            await self._wait_for_end(self._tasks)
            return
        self._closer = asyncio.current_task()
        self._ending = True
        self._move("close")
        confirmed = False
        self._outbox.pause()
        try:
            # The reader keeps running: cancelling it would end the connection without a close frame.
            if self._connection is not None:
                confirmed = await self._close_connection(self._connection)
            await self._stop_tasks()
        finally:
            keep = keep_queue and self.settings.queue_file is not None
            why = "The transport was closed"
            await self._fail_remaining(why, confirmed=confirmed, requests_kept=keep, others_kept=keep)
            self._move("closed")
            self._end()

    async def _supervise(self, connection: WebSocketConnection) -> None:
        """Read the connection; when it is lost, report and reconnect, until no attempts are left."""
        now = asyncio.get_running_loop().time
        while True:
            lost = await self._read(connection)
            if not self._is(State.CONNECTED):
                return  # closed by a callback
            await self._drop(connection, lost)
            if not self._is(State.RECONNECTING):
                return
            new_connection = await self._connector.reopen(held_for=now() - self._connected_at)
            if new_connection is None:
                await self._give_up()
                return
            self._metrics.reconnects += 1
            self._use(new_connection)
            connection = new_connection

    def _use(self, connection: WebSocketConnection) -> None:
        self._connection = connection
        self._cut_because = None
        self._connected_at = self._inbox.last_received = asyncio.get_running_loop().time()
        self._metrics.connects += 1
        if self.settings.heartbeat is not None:
            self._heartbeat = asyncio.create_task(self._watch_silence(connection, self.settings.heartbeat))
        # The state first, then the queue: what a callback sends now is still queued behind what is waiting.
        self._move("opened")
        self._outbox.attach(connection)

    async def _read(self, connection: WebSocketConnection) -> ConnectionLost:
        while self._is(State.CONNECTED):
            try:
                frame = await connection.receive()
            except ConnectionLost as lost:
                return self._cut_because or lost
            await self._inbox.take(frame)
        return ConnectionLost("The transport was closed.")

    async def _drop(self, connection: WebSocketConnection, lost: ConnectionLost) -> None:
        """Report everything that failed with a lost connection, at once."""
        connection.abort()
        if self._heartbeat is not None:
            self._heartbeat.cancel()
        unconfirmed, orphans = self._outbox.detach()
        failures = report_lost_connection("Connection lost", unconfirmed, orphans)
        self._undelivered.extend(failures.answers)
        self._move("lost")
        self._report(lost)
        for error in failures.errors:
            self._report(error)
        await self._deliver_failures()
        await discard(connection)
        self._connection = None

    async def _give_up(self) -> None:
        self._ending = True
        await self._stop_tasks()
        attempts = self.settings.reconnect_attempts
        # Notifications stay in the queue file until the server is back. Requests do not: their callers now
        # get an error, so they must not be sent later.
        others_kept = self.settings.queue_file is not None
        why = f"The connection was lost and {attempts} attempt(s) to restore it failed"
        await self._fail_remaining(why, confirmed=False, requests_kept=False, others_kept=others_kept)
        if self._is(State.RECONNECTING):
            self._move("spent")
            self._end()

    async def _fail_remaining(
        self, why: str, *, confirmed: bool, requests_kept: bool, others_kept: bool
    ) -> None:
        """Report everything that was accepted and can no longer be sent or answered."""
        if self._connection is not None:
            await discard(self._connection)
            self._connection = None
        if confirmed:
            self._outbox.confirm(self._outbox.unacknowledged.sequence)
        unconfirmed, orphans = self._outbox.detach()
        queued = self._outbox.clear(requests_kept=requests_kept, others_kept=others_kept)
        for failures in (
            report_lost_connection(why, unconfirmed, orphans),
            report_unsent(why, queued, requests_kept=requests_kept, others_kept=others_kept),
        ):
            self._undelivered.extend(failures.answers)
            for error in failures.errors:
                self._report(error)
        await self._deliver_failures()

    async def _deliver_failures(self) -> None:
        """Deliver our own error answers. They wait in `_undelivered`, so that `close` can finish the work."""
        while self._undelivered:
            await self._deliver(self._undelivered.popleft())

    def _end(self) -> None:
        self._outbox.close_file()
        self._ended.set()
        self._call_on_close()

    async def _stop_tasks(self) -> None:
        """Cancel the background tasks, except the current one."""
        me = asyncio.current_task()
        tasks = [
            task
            for task in (*self._tasks, self._dialing, self._heartbeat)
            if task is not None and task is not me
        ]
        for task in tasks:
            task.cancel()
        if tasks:
            # With a timeout: the user's callback may refuse to be cancelled.
            await asyncio.wait(tasks, timeout=self.settings.close_timeout)

    async def _close_connection(self, connection: WebSocketConnection) -> bool:
        try:
            async with asyncio.timeout(self.settings.close_timeout):
                return await connection.close()
        except TimeoutError:
            return False

    async def _watch_silence(self, connection: WebSocketConnection, interval: float) -> None:
        self._cut_because = await watch_silence(
            connection,
            interval=interval,
            patience=self.settings.heartbeat_timeout,
            last_received=self._inbox.last_activity,
            sequence=lambda: self._outbox.unacknowledged.sequence,
        )
        connection.abort()

    async def _watch_deadlines(self) -> None:
        now = asyncio.get_running_loop().time
        while not self._ending:
            due_at = self._deadlines.next_due(self._outbox)
            if due_at is None:
                self._deadline_set.clear()
                await self._deadline_set.wait()
            elif due_at > now():
                await asyncio.sleep(due_at - now())
            for request_id in self._deadlines.take_due(now()):
                await self._time_out(request_id)

    async def _time_out(self, request_id: RequestId) -> None:
        given_up = self._outbox.give_up(request_id)
        seconds = self._deadlines.seconds
        if given_up is None or seconds is None:
            return
        item, sent_at = given_up
        sent = sent_at is not None
        if sent:
            self._deadlines.give_up(request_id)
        refused = self._inbox.refused
        if sent_at is not None and refused is not None and refused[0] >= sent_at:
            await self._deliver(make_refused_answer(item, seconds, refused[1]))
        else:
            await self._deliver(make_timeout_answer(item, seconds, sent=sent))
        # MCP forbids cancelling `initialize`.
        if sent and item.method != "initialize":
            with contextlib.suppress(QueueFull, TransportClosed):
                await self.send(make_cancellation(item))

    def _is(self, state: State) -> bool:
        return self._life.state is state

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
