"""Ten thousand random faults in virtual time: nothing is lost in silence, doubled, or left behind.

Each schedule is made from its number alone, so that a failing one can be run again: `schedule(N)`.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest

from client.virtual import Hang, VirtualLoop, World, copy_database, run_virtually
from support.long_form import mark_long_after
from vaultbridge.client.errors import (
    ConnectionLost,
    InvalidMessage,
    MessagesDiscarded,
    MessagesUnconfirmed,
    QueueFull,
    TransportClosed,
)
from vaultbridge.client.websocket.queue_file import QueueFile
from vaultbridge.client.websocket.transport import WebSocketTransport
from vaultbridge.errors import VaultbridgeError

SCHEDULES = 6_000
SHARDS = 8
SENDERS = 3


class Books:
    """What the user of a transport sees, kept to be compared with what the server has read."""

    def __init__(self, transport: WebSocketTransport, rng: random.Random) -> None:
        self.transport = transport
        self.accepted: list[dict[str, Any]] = []
        self.answers: dict[Any, list[dict[str, Any]]] = {}
        self.unconfirmed: list[dict[str, Any]] = []
        self.discarded: list[dict[str, Any]] = []
        self.forgotten = 0
        self.closed = 0
        self.initialized = asyncio.Event()
        self.late: list[object] = []
        self.asked: list[Any] = []
        self.replies: set[asyncio.Task[None]] = set()
        self.slow = rng.random() < 0.3
        self.closes_at = rng.randrange(1, 30) if rng.random() < 0.1 else -1
        self.heard = 0
        transport.on_message = self.on_message
        transport.on_error = self.on_error
        transport.on_close = self.on_close
        transport.on_state = self.on_state

    def on_message(self, message: dict[str, Any]) -> Awaitable[None] | None:
        self.note(message)
        self.heard += 1
        if "method" not in message:
            self.answers.setdefault(message["id"], []).append(message)
            self.initialized.set()
        elif "id" in message:
            self.asked.append(message["id"])
            task = asyncio.get_running_loop().create_task(self.reply(message["id"]))
            self.replies.add(task)
            task.add_done_callback(self.replies.discard)
        if self.heard == self.closes_at:
            return self.transport.close()
        return asyncio.sleep(0.02) if self.slow else None

    async def reply(self, request_id: Any) -> None:
        await asyncio.sleep(0.05)
        await self.send({"jsonrpc": "2.0", "id": request_id, "result": {}})

    def on_error(self, error: Exception) -> None:
        self.note(error)
        if isinstance(error, MessagesUnconfirmed):
            self.unconfirmed.extend(error.messages)
            self.forgotten += error.forgotten
        elif isinstance(error, MessagesDiscarded):
            self.discarded.extend(error.messages)

    def on_state(self, state: object) -> None:
        self.note(state)

    def on_close(self) -> None:
        self.closed += 1

    def note(self, thing: object) -> None:
        if self.closed:
            self.late.append(thing)

    async def send(self, message: dict[str, Any]) -> bool:
        try:
            await self.transport.send(message)
        except (QueueFull, TransportClosed, ConnectionLost, InvalidMessage):
            return False
        self.accepted.append(message)
        return True


def encode_sorted(message: object) -> bytes:
    """The same for equal messages, whatever the order of their members."""
    return msgspec.json.encode(message, order="sorted")


def check(world: World, books: Books) -> None:
    counted = Counter(
        encode_sorted(m) for m in world.log if not str(m.get("id", "")).startswith("vaultbridge-")
    )
    again = [text for text, n in counted.items() if n > 1 and b"initialized" not in text]
    assert not again, f"sent twice: {again}"
    assert not world.wrong, world.wrong
    assert books.closed == 1, "on_close must be called exactly once"
    assert not books.late, f"called after close: {books.late}"
    assert world.open_connections == 0, "a connection was not let go"

    unconfirmed = {encode_sorted(m) for m in books.unconfirmed}
    discarded = {encode_sorted(m) for m in books.discarded}
    for message in books.accepted:
        text = encode_sorted(message)
        arrived = text in counted
        if "method" in message and "id" in message:
            got = books.answers.get(message["id"], [])
            assert len(got) == 1, f"{message} has {len(got)} answers: {got}"
            if "result" in got[0]:
                assert arrived, f"answered but never read: {message}"
            elif got[0]["error"].get("data", {}).get("sent") is False:
                assert not arrived, f"said to be unsent, but read: {message}"
        else:
            assert arrived or text in unconfirmed or text in discarded, f"lost in silence: {message}"
            assert not (arrived and text in discarded), f"said to be unsent, but read: {message}"
    for sender in range(SENDERS):
        order = [m["params"]["n"] for m in world.log if (m.get("params") or {}).get("by") == sender]
        assert order == sorted(order), f"out of order: {order}"


async def schedule(seed: int, *, queue_file: str | None = None) -> tuple[World, Books]:
    rng = random.Random(seed)
    handshake = rng.random() < 0.4
    world = World(seed, handshake=handshake, delay=rng.choice((0.001, 0.05, 0.3)))
    transport = WebSocketTransport(
        "ws://memory",
        dial=world.dial,
        random=rng.random,
        reconnect_attempts=rng.choice((0, 1, 3, 6)),
        reconnect_delay=rng.choice((0.01, 0.5)),
        jitter=rng.choice((0.0, 0.5)),
        stable_after=rng.choice((0.0, 1.0, 5.0)),
        heartbeat=rng.choice((None, 1.0, 3.0)),
        heartbeat_timeout=rng.choice((0.7, 2.0)),
        request_timeout=rng.choice((None, None, 2.0, 8.0)),
        connect_timeout=1.0,
        close_timeout=1.0,
        max_queue_messages=rng.choice((2, 100)),
        max_in_flight=rng.choice((1, 3, 100)),
        queue_file=queue_file,
    )
    books = Books(transport, rng)
    loop = asyncio.get_running_loop()
    silent_from = rng.random() * 4 if rng.random() < 0.2 else 1e9
    started = loop.time()
    world.answer = lambda connection, request: None if loop.time() - started > silent_from else {"ok": True}

    try:
        await transport.start()
    except VaultbridgeError:
        await transport.close()
        return world, books
    if handshake:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        await books.send({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params})
        await books.initialized.wait()
        if "result" in books.answers.get("init", [{}])[0]:
            await books.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        else:
            await transport.close()
            return world, books

    for at in range(rng.randrange(1, 4)):
        loop.call_later(rng.random() * 4, befall, rng, world, at)
    busy = rng.randrange(1, SENDERS + 1)
    senders = [asyncio.create_task(use(rng.randrange(1 << 30), books, by)) for by in range(busy)]
    await asyncio.sleep(rng.random() * 6)
    if rng.random() < 0.3:
        await asyncio.gather(transport.close(), transport.close())
    await asyncio.gather(*senders)
    await asyncio.sleep(rng.choice((0.0, 0.1, 3.0)))
    await transport.close()
    if books.replies:
        await asyncio.wait(books.replies)
    await asyncio.sleep(10)  # whatever would still come must come into the silence
    return world, books


def befall(rng: random.Random, world: World, number: int) -> None:
    """One fault of many kinds, on whatever connection there is now."""
    connection = world.connection
    kind = rng.randrange(11)
    if kind == 0:
        connection.break_off()
    elif kind == 1:
        connection.break_off()
        world.refusals = rng.randrange(1, 8)
    elif kind == 2:
        connection.half_open = True
    elif kind == 3:
        connection.stalled = connection.stalled or asyncio.Event()
        connection.loop.call_later(rng.random() * 5, connection.break_off)
    elif kind == 4:
        connection.push(
            rng.choice(
                ["{", "[]", '"x"', '{"jsonrpc":"1.0"}', '{"jsonrpc":"2.0","id":1,"result":1,"error":{}}']
            )
        )
    elif kind == 5:
        connection.push(b"\xff\xfe not text")
    elif kind == 6:
        connection.say({"jsonrpc": "2.0", "id": f"s{number}", "method": "roots/list"})
        connection.loop.call_later(rng.random() * 0.2, connection.break_off)
    elif kind == 7:
        connection.say({"jsonrpc": "2.0", "id": f"s{number}", "method": "ping"})
    elif kind == 8:
        answered = [m["id"] for m in world.log if "id" in m and m.get("method") == "m"]
        doubled = rng.choice([*answered, "never asked"])
        connection.say({"jsonrpc": "2.0", "id": doubled, "result": {"doubled": True}})
    elif kind == 9:
        for _ in range(4):
            connection.loop.call_later(rng.random(), lambda: world.connection.break_off())
    else:
        connection.say({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})


async def use(seed: int, books: Books, by: int) -> None:
    rng = random.Random(seed)
    for n in range(rng.randrange(4, 25)):
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": "m", "params": {"n": n, "by": by}}
        if rng.random() < 0.6:
            message["id"] = n * SENDERS + by if rng.random() < 0.5 else f"{by}:{n}"
        await books.send(message)
        if rng.random() < 0.5:
            await asyncio.sleep(rng.random() * 0.6)


@pytest.mark.timeout(600)  # Seconds of pure computing, which a busy machine may stretch.
@pytest.mark.parametrize("shard", mark_long_after(2, range(SHARDS)))
def test_no_schedule_of_faults_loses_doubles_or_leaks_anything(shard: int) -> None:
    loop = VirtualLoop()
    asyncio.set_event_loop(loop)
    try:
        for seed in range(shard, SCHEDULES, SHARDS):
            try:
                world, books = loop.run_until_complete(schedule(seed))
                check(world, books)
                left = asyncio.all_tasks(loop)
                assert not left, f"tasks left behind: {left}"
            except BaseException as error:
                error.add_note(f"schedule {seed}")
                raise
    finally:
        asyncio.set_event_loop(None)
        loop.close()


async def crash(seed: int, queue_file: str) -> None:
    """A process dies with a queue file in any state; the next one goes on with it."""
    rng = random.Random(seed)
    world = World(seed, delay=0.01)
    first = WebSocketTransport(
        "ws://memory", dial=world.dial, queue_file=queue_file, reconnect_attempts=2, heartbeat=None
    )
    books = Books(first, rng)
    books.closes_at = -1
    await first.start()
    for _ in range(rng.randrange(3)):
        asyncio.get_running_loop().call_later(rng.random() * 0.3, befall, rng, world, 0)
    sender = asyncio.create_task(use(rng.randrange(1 << 30), books, 0))
    await asyncio.sleep(rng.random())
    # The process dies: its tasks, its memory and its sockets are gone; only the file stays as it is now.
    after_death = copy_database(queue_file)
    dead = asyncio.all_tasks() - {asyncio.current_task()}
    assert sender in dead or sender.done()
    for task in dead:
        task.cancel()
    await asyncio.gather(*dead, return_exceptions=True)
    for connection in world.connections:
        connection.break_off()
        connection.released = True
    answered = set(books.answers)

    world.refusals = 0
    second = WebSocketTransport("ws://memory", dial=world.dial, queue_file=after_death)
    after = Books(second, rng)
    after.closes_at = -1
    await second.start()
    second.flush_restored()
    await asyncio.sleep(20)
    await second.close()
    assert second.queue_size == 0

    read = [encode_sorted(m.get("params")) for m in world.log if "by" in (m.get("params") or {})]
    assert len(read) == len(set(read)), "a message was sent twice"
    found = [*books.unconfirmed, *books.discarded, *after.unconfirmed, *after.discarded]
    names = {encode_sorted(m.get("params")) for m in found}
    for message in books.accepted:
        text = encode_sorted(message.get("params"))
        if "method" in message and message.get("id") not in answered:
            assert text in read or text in names, f"lost in silence: {message}"


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where the system has such a place: hundreds of small files are synchronised, and what a disk
    does then is not looked at here."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


def test_a_crash_at_any_moment_neither_loses_nor_doubles_what_the_queue_file_holds(folder: Path) -> None:
    for seed in range(200):
        try:
            run_virtually(crash(seed, str(folder / f"{seed}.sqlite")))
        except BaseException as error:
            error.add_note(f"crash {seed}")
            raise


def test_schedules_hold_with_a_queue_file_too(folder: Path) -> None:
    for seed in range(200):
        world, books = run_virtually(schedule(seed, queue_file=str(folder / f"{seed}.sqlite")))
        # What a server that stays away leaves in the file is neither lost nor sent: the file says so.
        kept = QueueFile(str(folder / f"{seed}.sqlite"), "ws://memory")
        books.discarded.extend(json.loads(data) for _, data in kept.list_waiting())
        kept.close()
        check(world, books)


def test_the_checks_would_notice_a_message_that_vanishes() -> None:
    """The schedules prove something only if they can fail: a connection that swallows messages must be
    noticed."""

    async def swallow() -> None:
        world, books = await schedule(3)
        lost = {"jsonrpc": "2.0", "method": "m", "params": {"n": 99, "by": 0}}
        books.accepted.append(lost)
        check(world, books)

    with pytest.raises(AssertionError, match="lost in silence"):
        run_virtually(swallow())


def test_a_wait_without_end_is_noticed() -> None:
    async def wait() -> None:
        await asyncio.Event().wait()

    loop = VirtualLoop()
    task = loop.create_task(wait())
    with pytest.raises(Hang):
        loop.run_until_complete(task)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()
