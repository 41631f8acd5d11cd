"""The WebSocket transport: a line that is opened again when it is lost, and messages not lost with it.

Used by itself with callbacks (`start`, `send`, `close`), or as an async context manager that yields the read
and write streams of the official SDK (`Client(WebSocketTransport("ws://…"))`). What goes out is the outbox's
duty, what comes in the inbox's, opening lines the connector's; here is the life from `start` to `on_close`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random as _random
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Unpack

from vaultbridge.client.errors import ConnectionLost, MessagesUnconfirmed, QueueFull, TransportClosed
from vaultbridge.client.messages import Kind, Message, RequestId
from vaultbridge.client.metrics import Snapshot, prometheus
from vaultbridge.client.settings import WebSocketOptions, WebSocketSettings, from_mapping, make_settings
from vaultbridge.client.transport import ALIVE_SECONDS, Callbacks, State
from vaultbridge.client.websocket import connector as heartbeat
from vaultbridge.client.websocket import unacknowledged as settlement
from vaultbridge.client.websocket.connection import Connection, Dial
from vaultbridge.client.websocket.connector import Connector, abandon, retire
from vaultbridge.client.websocket.inbox import Deadlines, Inbox
from vaultbridge.client.websocket.outbox import Outbox
from vaultbridge.client.websocket.queue_file import QueueFile
from vaultbridge.errors import VaultbridgeError


class WebSocketTransport(Callbacks):
    """See `callbacks.Transport` for the promises, `settings.WebSocketSettings` for the options."""

    def __init__(
        self,
        url: str,
        *,
        dial: Dial | None = None,
        random: Callable[[], float] = _random.random,
        **options: Unpack[WebSocketOptions],
    ) -> None:
        """Checks the options and opens the queue file; connects nothing.

        `dial` replaces the network and `random` the jitter's source. Raises InvalidArgument, or EngineFailure
        when the queue file cannot be used.
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
        self._owed: deque[Message] = deque()
        self._ending = False
        """Nothing is accepted any more: what is there is being settled."""
        self._line: Connection | None = None
        self._connected_at = 0.0
        self._cut_because: ConnectionLost | None = None
        self._dialing: asyncio.Task[Connection] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    def from_settings(cls, settings: WebSocketSettings, *, dial: Dial | None = None) -> WebSocketTransport:
        values: Any = {name: getattr(settings, name) for name in settings.__struct_fields__}
        return cls(values.pop("url"), dial=dial, **values)

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> WebSocketTransport:
        """From a mapping with the seed's keys; see `settings.from_mapping`."""
        return cls.from_settings(from_mapping(config))

    @classmethod
    def from_lock(
        cls, folder: str | None = None, workspace: str | None = None, **options: Unpack[WebSocketOptions]
    ) -> WebSocketTransport:
        """To a Claude Code IDE server on this machine, found by its lock file. Raises ConnectFailed."""
        from vaultbridge.client.locks import TOKEN_HEADER, find_lock

        lock = find_lock(folder, workspace)
        options["headers"] = {**options.get("headers", {}), TOKEN_HEADER: lock.token}
        return cls(f"ws://127.0.0.1:{lock.port}", **options)

    @property
    def queue_size(self) -> int:
        return self._outbox.size

    @property
    def restored(self) -> Mapping[int, Message]:
        """Requests that an earlier process left in the queue file, by the id under which they go out now."""
        return self._outbox.restored

    @property
    def subprotocol(self) -> str | None:
        """What the server agreed to on the current connection."""
        return self._line.subprotocol if self._line is not None else None

    def metrics(self) -> Snapshot:
        return self._metrics.snapshot(
            queue_messages=self._outbox.size,
            queue_bytes=self._outbox.queue.bytes,
            in_flight=len(self._outbox.ledger.open),
            state=self.state.value,
        )

    def prometheus(self) -> str:
        return prometheus(self.metrics())

    async def start(self) -> None:
        """Connect. Raises ConnectFailed or TimedOut, and then does not go on in the background."""
        if not self._life.allows("start"):
            what = "has ended" if self._life.ended else "is started already"
            raise TransportClosed(f"This transport {what}.")
        left = self._outbox.take_left_over()
        if left:
            self._report(MessagesUnconfirmed(settlement.messages_of(left)))
        self._move("start")
        dialing = self._dialing = asyncio.create_task(self._connector.open())
        try:
            line = await asyncio.shield(dialing)
        except BaseException as error:
            await abandon(dialing)
            if not self._is(State.CONNECTING):
                raise TransportClosed("The transport was closed while it was connecting.") from None
            self._move("failed")
            if isinstance(error, VaultbridgeError):
                self._report(error)
            raise
        if not self._is(State.CONNECTING):
            await retire(line)
            raise TransportClosed("The transport was closed while it was connecting.")
        self._take_up(line)
        self._spawn(self._supervise(line))
        self._spawn(self._outbox.write(asyncio.get_running_loop().time))
        if self.settings.request_timeout is not None:
            self._spawn(self._watch_deadlines())

    async def send(self, message: object) -> None:
        """Send a message (a dict, or a typed one), or queue it while there is no connection.

        Raises InvalidMessage, QueueFull, TransportClosed (and tells `on_error`); the message was not accepted
        then. Waits only while the line is congested; cancelled then, the message stays accepted.
        """
        try:
            if self._ending or self._life.ended:
                raise TransportClosed("The transport is closed.")
            item = self._outbox.prepare(message)
            now = asyncio.get_running_loop().time()
            if self._deadlines.seconds is not None and item.kind is Kind.REQUEST and item.id is not None:
                self._deadlines.add(item.id, now)
                self._deadline_set.set()
            await self._outbox.post(item, now)
        except VaultbridgeError as error:
            self._report(error)
            raise

    async def is_alive(self, patience: float = ALIVE_SECONDS) -> bool:
        """Whether the server answers a ping within `patience` seconds."""
        line = self._line
        if line is None or not self.is_connected:
            return False
        try:
            async with asyncio.timeout(patience):
                await line.ping(b"%d" % self._outbox.ledger.place)
                await self._inbox.next_pong()
        except (TimeoutError, ConnectionLost):
            return False
        return True

    def flush_restored(self) -> None:
        """Send what an earlier process left now, instead of after the first message of this one."""
        self._outbox.release()

    async def flush(self) -> None:
        """Wait until the queue is empty: handed to the line, or settled because the transport has ended.

        Then `is_alive` tells whether all of it has arrived.
        """
        self._outbox.release()
        await self._outbox.emptied()

    async def close(self, *, keep_queue: bool = False) -> None:
        """End the transport: open requests get an error, the queue is cleared, `on_close` is called.

        With `keep_queue`, what waits in the queue file stays there for the next process. May be called at any
        time, from a callback too, and again.
        """
        if not self._life.allows("close"):
            await self._wait_for_end(self._tasks)
            return
        self._closer = asyncio.current_task()
        self._ending = True
        self._move("close")
        confirmed = False
        self._outbox.hold()
        try:
            # The reader goes on meanwhile: cancelling it would end the line without a goodbye.
            if self._line is not None:
                confirmed = await self._say_goodbye(self._line)
            await self._stop_tasks()
        finally:
            keep = keep_queue and self.settings.queue_file is not None
            why = "The transport was closed"
            await self._settle(why, confirmed=confirmed, requests_kept=keep, others_kept=keep)
            self._move("closed")
            self._end()

    async def _supervise(self, line: Connection) -> None:
        """Read the line; when it is lost, settle, and open another; until the attempts are spent."""
        now = asyncio.get_running_loop().time
        while True:
            lost = await self._read(line)
            if not self._is(State.CONNECTED):
                return  # closed by a callback
            await self._drop(line, lost)
            if not self._is(State.RECONNECTING):
                return
            new_line = await self._connector.reopen(held_for=now() - self._connected_at)
            if new_line is None:
                await self._give_up()
                return
            self._metrics.reconnects += 1
            self._take_up(new_line)
            line = new_line

    def _take_up(self, line: Connection) -> None:
        self._line = line
        self._cut_because = None
        self._connected_at = self._inbox.heard_at = asyncio.get_running_loop().time()
        self._metrics.connects += 1
        if self.settings.heartbeat is not None:
            self._beating = asyncio.create_task(self._watch_silence(line, self.settings.heartbeat))
        # First the state, then the queue: what a callback sends now still queues behind what waits.
        self._move("opened")
        self._outbox.attach(line)

    async def _read(self, line: Connection) -> ConnectionLost:
        while self._is(State.CONNECTED):
            try:
                frame = await line.receive()
            except ConnectionLost as lost:
                return self._cut_because or lost
            await self._inbox.take(frame)
        return ConnectionLost("The transport was closed.")

    async def _drop(self, line: Connection, lost: ConnectionLost) -> None:
        """The line is lost: tell everybody concerned, at once."""
        line.abort()
        if self._beating is not None:
            self._beating.cancel()
        doubt, orphans = self._outbox.detach()
        told = settlement.of_lost_line("Connection lost", doubt, orphans)
        self._owed.extend(told.answers)
        self._move("lost")
        self._report(lost)
        for error in told.errors:
            self._report(error)
        await self._pay()
        await retire(line)
        self._line = None

    async def _give_up(self) -> None:
        self._ending = True
        await self._stop_tasks()
        attempts = self.settings.reconnect_attempts
        # The queue file outlives a server that is down; but what a caller waits for is settled now, and is
        # not sent later: the caller has been told that it failed.
        others_kept = self.settings.queue_file is not None
        why = f"The connection was lost and {attempts} attempt(s) to restore it failed"
        await self._settle(why, confirmed=False, requests_kept=False, others_kept=others_kept)
        if self._is(State.RECONNECTING):
            self._move("spent")
            self._end()

    async def _settle(self, why: str, *, confirmed: bool, requests_kept: bool, others_kept: bool) -> None:
        """Nothing will be sent or received any more: account for everything that was accepted."""
        if self._line is not None:
            await retire(self._line)
            self._line = None
        if confirmed:
            self._outbox.confirm(self._outbox.ledger.place)
        doubt, orphans = self._outbox.detach()
        queued = self._outbox.clear(requests_kept=requests_kept, others_kept=others_kept)
        for told in (
            settlement.of_lost_line(why, doubt, orphans),
            settlement.of_queue(why, queued, requests_kept=requests_kept, others_kept=others_kept),
        ):
            self._owed.extend(told.answers)
            for error in told.errors:
                self._report(error)
        await self._pay()

    async def _pay(self) -> None:
        """Deliver the answers made up here; from `_owed`, so that `close` can go on where this stops."""
        while self._owed:
            await self._deliver(self._owed.popleft())

    def _end(self) -> None:
        self._outbox.close_file()
        self._over.set()
        self._say_closed()

    async def _stop_tasks(self) -> None:
        """Stop what runs in the background, except the task that asks for it."""
        me = asyncio.current_task()
        mine = [t for t in (*self._tasks, self._dialing, self._beating) if t is not None and t is not me]
        for task in mine:
            task.cancel()
        if mine:
            # Bounded: a callback of the user may refuse to be cancelled.
            await asyncio.wait(mine, timeout=self.settings.close_timeout)

    async def _say_goodbye(self, line: Connection) -> bool:
        try:
            async with asyncio.timeout(self.settings.close_timeout):
                return await line.close()
        except TimeoutError:
            return False

    async def _watch_silence(self, line: Connection, interval: float) -> None:
        self._cut_because = await heartbeat.watch(
            line,
            interval=interval,
            patience=self.settings.heartbeat_timeout,
            heard_at=self._inbox.last_sign,
            place=lambda: self._outbox.ledger.place,
        )
        line.abort()

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
        item, sent = given_up
        if sent:
            self._deadlines.give_up(request_id)
        await self._deliver(settlement.of_timeout(item, seconds, sent=sent))
        # MCP forbids cancelling `initialize`.
        if sent and item.method != "initialize":
            with contextlib.suppress(QueueFull, TransportClosed):
                await self.send(settlement.cancellation(item))

    def _is(self, state: State) -> bool:
        return self._life.state is state

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
