"""A world without a network or a clock: an event loop whose time jumps, and connections that break on demand.

Nothing here waits: when no callback is ready, time jumps to the next timer. When there is no timer either,
nothing can ever happen again, and that is reported as the hang it would be.
"""

from __future__ import annotations

import asyncio
import random
import selectors
import shutil
from collections import deque
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from vaultbridge.client.errors import ConnectFailed, ConnectionLost
from vaultbridge.client.websocket.connection import Frame, Pong

T = TypeVar("T")

TICK = 1e-6
"""Between two arrivals on one connection: timers of the same instant fire in no order."""


class Hang(AssertionError):
    """Something waits for what cannot come."""


class _Jump(selectors.DefaultSelector):  # type: ignore[misc, valid-type]
    now = 1000.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise Hang("nothing is ready and no timer is set")
        self.now += max(timeout, 0.0)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.now


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end in virtual time, and see that it leaves no task behind."""
    loop = VirtualLoop()
    try:
        result = loop.run_until_complete(work)
        left = asyncio.all_tasks(loop)
        assert not left, f"tasks left behind: {left}"
        return result
    finally:
        loop.close()


class World:
    """A server, the connections to it, and the faults that befall them. `log` holds what the server has
    read."""

    def __init__(self, seed: int = 0, *, handshake: bool = False, delay: float = 0.01) -> None:
        self.random = random.Random(seed)
        self.handshake = handshake
        self.delay = delay
        self.log: list[dict[str, Any]] = []
        self.wrong: list[str] = []
        self.connections: list[MemoryConnection] = []
        self.kind = MemoryConnection
        """The class of the next connections, for a server that behaves differently."""
        self.refusals = 0
        """How many of the next attempts to connect fail."""
        self.dials = 0
        self.dial_times: list[float] = []
        self.answer: Callable[[MemoryConnection, dict[str, Any]], Any] = lambda connection, request: {
            "echo": request.get("params")
        }

    async def dial(self) -> MemoryConnection:
        self.dials += 1
        self.dial_times.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.delay)
        if self.refusals:
            self.refusals -= 1
            raise ConnectFailed("WebSocket error: cannot connect to memory: connection refused.")
        connection = self.kind(self)
        self.connections.append(connection)
        return connection

    @property
    def connection(self) -> MemoryConnection:
        return self.connections[-1]

    @property
    def open_connections(self) -> int:
        return sum(not connection.released for connection in self.connections)

    def list_received(self, *, method: str | None = None) -> list[Any]:
        return [m for m in self.log if method is None or m.get("method") == method]


class MemoryConnection:
    """A WebSocket in memory: messages travel for a while, in order, and are gone when it is cut meanwhile."""

    subprotocol = "mcp"

    def __init__(self, world: World) -> None:
        self.world = world
        self.loop = asyncio.get_running_loop()
        self.to_client: deque[Frame] = deque()
        self.arrived = asyncio.Event()
        self.cut = False
        self.half_open = False
        self.stalled: asyncio.Event | None = None
        self.released = False
        self.initialized = False
        self.server_requests: set[Any] = set()
        self.goodbye_heard = False
        self._wire_free_at = self._back_free_at = self.loop.time()
        self.why = "The connection was lost without a close frame."

    # The client's side.

    async def send(self, data: bytes) -> None:
        if self.cut:
            raise ConnectionLost("WebSocket error: sending failed (connection reset).")
        self._travel(lambda: self._serve(msgspec.json.decode(data)))
        if self.stalled is not None:
            await self.stalled.wait()
            if self.cut:
                raise ConnectionLost("WebSocket error: sending failed (connection reset).")

    async def ping(self, payload: bytes) -> None:
        if self.cut:
            raise ConnectionLost("WebSocket error: sending failed (connection reset).")
        self._travel(lambda: self.push(Pong(payload)))

    async def receive(self) -> Frame:
        while not self.to_client:
            if self.cut:
                raise ConnectionLost(self.why)
            self.arrived.clear()
            await self.arrived.wait()
        return self.to_client.popleft()

    async def close(self) -> bool:
        try:
            if self.cut:
                return False
            heard = asyncio.Event()
            self._travel(heard.set)
            await heard.wait()
            return True
        finally:
            self.abort()
            self.released = True

    def abort(self) -> None:
        self.break_off()

    # The network's and the server's side.

    def break_off(self, why: str = "") -> None:
        self.why = why or self.why
        self.cut = True
        self.arrived.set()
        if self.stalled is not None:
            self.stalled.set()

    def push(self, frame: Frame) -> None:
        """The server sends something; it arrives after a while unless the connection breaks."""

        def arrive() -> None:
            if not self.cut and not self.half_open:
                self.to_client.append(frame)
                self.arrived.set()

        self._back_free_at = max(self._back_free_at + TICK, self.loop.time() + self.world.delay)
        self.loop.call_at(self._back_free_at, arrive)

    def say(self, message: dict[str, Any] | list[Any]) -> None:
        if isinstance(message, dict) and "method" in message and "id" in message:
            self.server_requests.add(message["id"])
        self.push(msgspec.json.encode(message).decode())

    def _travel(self, arrive: Callable[[], None]) -> None:
        """In order: nothing arrives before what was sent before it."""
        soonest = self.loop.time() + self.world.delay * self.world.random.random()
        self._wire_free_at = max(self._wire_free_at + TICK, soonest)

        def land() -> None:
            if not self.cut and not self.half_open and self.stalled is None:
                arrive()

        self.loop.call_at(self._wire_free_at, land)

    def _serve(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        early = {"initialize", "ping", "notifications/initialized", None}
        if self.world.handshake and not self.initialized and method not in early:
            self.world.wrong.append(f"{method} before initialize")
        if "method" not in message and message.get("id") not in self.server_requests:
            self.world.wrong.append(f"an answer to {message.get('id')!r}, which this connection never asked")
        self.world.log.append(message)
        if method == "initialize":
            self.initialized = True
            result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {}}
            self.say({"jsonrpc": "2.0", "id": message["id"], "result": result})
        elif method is not None and "id" in message:
            result = self.world.answer(self, message)
            if result is not None:
                self.say({"jsonrpc": "2.0", "id": message["id"], "result": result})


def copy_database(file: str) -> str:
    """Copy a SQLite file with all that its owner has written so far, as the disk has it after a crash."""
    copy = f"{file}.copy"
    for suffix in ("", "-wal"):
        if Path(file + suffix).exists():
            shutil.copyfile(file + suffix, copy + suffix)
    return copy
