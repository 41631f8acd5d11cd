"""Raw descriptors on an event loop, by threads: one to read bytes, one to write lines.

Event loops cannot watch files and /dev/null, and a blocking write would stop everything; a thread can do
both. The writer goes around its thread when a small line fits at once, which nearly every answer does.
Knows no protocol.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from vaultbridge.limits import KIB, MIB
from vaultbridge.rpc.messages import RequestId
from vaultbridge.rpc.session import Outgoing

READ_BYTES: Final = 64 * KIB
"""One read. A pipe of Linux holds as much."""

READ_AHEAD: Final = 16
"""Reads that may wait for the event loop; beyond them the reading thread waits, and then the client's
pipe fills."""

ATOMIC_BYTES: Final = getattr(select, "PIPE_BUF", 512)
"""What can be written without blocking to a pipe that reports room; more goes to the writing thread."""

WRITE_BUFFER_BYTES: Final = 4 * MIB
"""Bytes waiting for a slow reader before new work stops and notifications are dropped: a few of the largest
results. Each request already being worked on may still add its one answer."""

FINISH_SECONDS: Final = 5.0
"""How long the end waits for a client that does not read its last answers."""

log = logging.getLogger(__name__)


class DescriptorReader:
    """Reads a descriptor in a thread and hands the bytes to the event loop, never more than READ_AHEAD
    ahead."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._chunks: deque[bytes] = deque()
        self._there = asyncio.Event()
        self._stopped = False
        self._slots = threading.Semaphore(READ_AHEAD)
        # A daemon: a read that never returns must not keep the process alive.
        self._thread = threading.Thread(target=self._run, name="stdin", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def read(self) -> bytes:
        """The next bytes; empty at the end of input and after `stop`."""
        while not self._chunks and not self._stopped:
            self._there.clear()
            await self._there.wait()
        if self._stopped:
            return b""
        self._slots.release()
        return self._chunks.popleft()

    def stop(self) -> None:
        """Read no more; the thread ends with its next read, or with the process."""
        self._stopped = True
        self._there.set()

    def _run(self) -> None:
        while True:
            self._slots.acquire()
            try:
                data = os.read(self._source, READ_BYTES)
            except OSError:
                # A terminal or a pipe that has gone away: the same as its end.
                data = b""
            try:
                self._loop.call_soon_threadsafe(self._arrived, data)
            except RuntimeError:
                # The loop has closed while we were reading.
                return
            if not data:
                os.close(self._source)
                return

    def _arrived(self, data: bytes) -> None:
        self._chunks.append(data)
        self._there.set()


class DescriptorOutlet:
    """Writes whole lines to a descriptor, at once when the pipe has room, else by a thread, always in
    order."""

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._more = threading.Condition(self._lock)
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._writing = False
        self._stop = False
        self._thread: threading.Thread | None = None
        self._below = asyncio.Event()
        self._below.set()
        self.broken = asyncio.Event()
        """Set when nobody reads any more."""
        self._poll = _room_poll(sink)

    def send(self, item: Outgoing) -> None:
        if self.broken.is_set() or (item.notice and not self._below.is_set()):
            return
        line = item.data + b"\n"
        with self._lock:
            direct = not self._queue and not self._writing
        if direct and len(line) <= ATOMIC_BYTES and self._poll is not None and self._poll.poll(0):
            self._write_now(line)
            return
        self._hand_over(line)

    async def drained(self) -> None:
        await self._below.wait()

    def release(self, related: RequestId) -> None:
        pass

    async def finish(self) -> None:
        """Write what is left, as long as somebody reads, and close the descriptor."""
        if self._thread is not None:
            with self._lock:
                self._stop = True
                self._more.notify()
            await asyncio.to_thread(self._thread.join, FINISH_SECONDS)
            if self._thread.is_alive():
                # Nobody reads and nobody hung up. The thread and its descriptor go with the process.
                log.warning("the client does not read its last answers")
                return
        os.close(self._sink)

    def _write_now(self, line: bytes) -> None:
        try:
            written = os.write(self._sink, line)
        except BlockingIOError:
            written = 0
        except OSError:
            # The client has gone without a word: nothing to report to anybody.
            self._break()
            return
        if written < len(line):
            # Only a descriptor that somebody made non-blocking does this.
            self._hand_over(line[written:])

    def _hand_over(self, data: bytes) -> None:
        with self._lock:
            self._queue.append(data)
            self._queued += len(data)
            if self._queued > WRITE_BUFFER_BYTES:
                self._below.clear()
            self._more.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="stdout", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._lock:
                while not self._queue and not self._stop:
                    self._more.wait()
                if not self._queue:
                    return
                line = self._queue.popleft()
                self._writing = True
            try:
                _write_all(self._sink, line)
            except OSError:
                with self._lock:
                    self._queue.clear()
                    self._stop = True
                self._in_loop(self._break)
                return
            with self._lock:
                self._writing = False
                self._queued -= len(line)
                below = self._queued <= WRITE_BUFFER_BYTES
            if below and not self._below.is_set():
                self._in_loop(self._below.set)

    def _in_loop(self, action: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(action)
        except RuntimeError:
            # The loop has closed: nobody waits any more.
            return

    def _break(self) -> None:
        self.broken.set()
        self._below.set()


def _write_all(sink: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(sink, view) :]
        except BlockingIOError:
            select.select([], [sink], [])


def _room_poll(sink: int) -> select.poll | None:
    """Who can say whether a small write would block; None where nobody can (Windows)."""
    if not hasattr(select, "poll"):
        return None
    poll = select.poll()
    poll.register(sink, select.POLLOUT)
    return poll
