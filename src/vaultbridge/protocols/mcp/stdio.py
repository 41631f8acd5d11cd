"""Serves JSON-RPC on standard input and output, one message per line.

    exit_code = serve_stdio(mcp_dialect(server, honours_exit=True), at_end=server.close)

Standard output belongs to the protocol. Its descriptor is moved away before anything else runs, and
descriptor 1 then leads to standard error, so that nothing a tool, a library or a child process prints can get
between messages.

A message is a line that ends with a newline, with or without a carriage return before it. A byte order mark
in front of it is ignored (RFC 8259, section 8.1). A line longer than the limit is discarded as it arrives and
reported once as `TooLong`; reading continues after it.

Both ends are raw descriptors, without Python's buffers. Threads read and write them, because event loops
cannot watch files and /dev/null, and a blocking write would stop everything. A small line that fits into the
pipe at once, as nearly every answer does, is written without the thread. Imports are few: a client waits for
this module before its first answer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, Protocol

from vaultbridge import event_loop
from vaultbridge.jsonrpc import codec
from vaultbridge.jsonrpc.messages import RequestId
from vaultbridge.jsonrpc.session import Outgoing
from vaultbridge.limits import CALL_SECONDS, KIB, MIB
from vaultbridge.protocols import failures
from vaultbridge.protocols.connection import UNREAD_SECONDS, Connection
from vaultbridge.protocols.dialect import Dialect, Peer

if TYPE_CHECKING:
    from vaultbridge.activity.clients import SeenClient

LINE_BYTES: Final = 16 * MIB
"""The longest message on stdio: an attachment of some ten megabytes as base64 still fits, and it equals
the most that one write may put into a note."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class TooLong:
    """Stands for a line that was discarded because it was too long."""


TOO_LONG: Final = TooLong()


class LineSplitter:
    def __init__(self, bound: int = LINE_BYTES) -> None:
        self._bound = bound
        self._parts: list[bytes] = []
        self._held = 0
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """The lines that `data` completes, without their line ends. Empty lines are skipped."""
        lines: list[bytes | TooLong] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start:end])
            lines.extend(self._take())
            start = end + 1
        self._add(data[start:])
        return lines

    def finish(self) -> list[bytes | TooLong]:
        """At the end of input: a last line without its end is still a message."""
        return self._take()

    def _add(self, part: bytes) -> None:
        self._held += len(part)
        if self._held > self._bound:
            self._skipping = True
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _take(self) -> list[bytes | TooLong]:
        line, skipped = b"".join(self._parts), self._skipping
        self._parts.clear()
        self._held = 0
        self._skipping = False
        if skipped:
            return [TOO_LONG]
        line = line.removeprefix(_BYTE_ORDER_MARK).removesuffix(b"\r")
        return [line] if line.strip() else []


READ_BYTES: Final = 64 * KIB
"""One read: as much as fits in a pipe on Linux."""

READ_AHEAD: Final = 16
"""Reads that may wait for the event loop. After that the reading thread waits, and the client's pipe
fills."""

ATOMIC_BYTES: Final = getattr(select, "PIPE_BUF", 512)
"""What can be written without blocking to a pipe that is ready; more goes to the writing thread."""

WRITE_BUFFER_BYTES: Final = 4 * MIB
"""Bytes that may wait for a slow reader before new requests wait and notifications are dropped: a few of the
largest results. Every request in progress may still add its answer."""

ATTACH_SECONDS: Final = 1.0
"""How long after the start a client that has not called anything is recorded. It gets its first answers
before that."""

FINISH_SECONDS: Final = 5.0
"""How long `finish` waits for a client that does not read its last answers."""

RECEIVE_SECONDS: Final = 1.0
"""How long, at the end, a message may still be in the middle of being received. Only `initialize` is answered
there; anything else waits for a client that does not read."""

log = logging.getLogger(__name__)


class DescriptorReader:
    """Reads a descriptor in a thread and passes the bytes to the event loop, at most READ_AHEAD reads
    ahead."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._chunks: deque[bytes] = deque()
        self._available = asyncio.Event()
        self._stopped = False
        self._slots = threading.Semaphore(READ_AHEAD)
        # The thread is a daemon, because a read that never returns must not keep the process alive.
        self._thread = threading.Thread(target=self._run, name="stdin", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def read(self) -> bytes:
        """The next bytes; empty at the end of input and after `stop`."""
        while not self._chunks and not self._stopped:
            self._available.clear()
            await self._available.wait()
        if self._stopped:
            return b""
        self._slots.release()
        return self._chunks.popleft()

    def stop(self) -> None:
        """Read no more; the thread ends with its next read, or with the process."""
        self._stopped = True
        self._available.set()

    def _run(self) -> None:
        while True:
            self._slots.acquire()
            try:
                data = os.read(self._source, READ_BYTES)
            except OSError:
                # The terminal or pipe is gone: the same as the end of input.
                data = b""
            try:
                self._loop.call_soon_threadsafe(self._add_chunk, data)
            except RuntimeError:
                # The loop has closed while we were reading.
                return
            if not data:
                os.close(self._source)
                return

    def _add_chunk(self, data: bytes) -> None:
        self._chunks.append(data)
        self._available.set()


class DescriptorSink:
    """Writes whole lines to a descriptor, in order: at once when the pipe has room, else in a thread."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._more = threading.Condition(self._lock)
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._writing = False
        self._stop = False
        self._thread: threading.Thread | None = None
        self._has_room = asyncio.Event()
        self._has_room.set()
        self.broken = asyncio.Event()
        """Set when the reader has closed its end."""
        self._poll = _make_poll(target)

    def send(self, item: Outgoing) -> None:
        if self.broken.is_set() or (item.notice and not self._has_room.is_set()):
            return
        line = item.data + b"\n"
        with self._lock:
            direct = not self._queue and not self._writing
        if direct and len(line) <= ATOMIC_BYTES and self._poll is not None and self._poll.poll(0):
            self._write_now(line)
            return
        self._enqueue(line)

    async def drain(self) -> None:
        await self._has_room.wait()

    def release(self, related: RequestId) -> None:
        pass

    async def finish(self, seconds: float | None = None) -> None:
        """Write what is left, if the client reads it within `seconds`, or FINISH_SECONDS, and close the
        descriptor."""
        if self._thread is not None:
            with self._lock:
                self._stop = True
                self._more.notify()
            await asyncio.to_thread(self._thread.join, FINISH_SECONDS if seconds is None else seconds)
            if self._thread.is_alive():
                # The client neither reads nor closes. The thread and its descriptor end with the process.
                log.warning("the client is not reading its last answers")
                return
        os.close(self._target)

    def _write_now(self, line: bytes) -> None:
        try:
            written = os.write(self._target, line)
        except BlockingIOError:
            written = 0
        except OSError:
            # The client has disconnected: there is nobody to report this to.
            self._break()
            return
        if written < len(line):
            # Only a non-blocking descriptor does this.
            self._enqueue(line[written:])

    def _enqueue(self, data: bytes) -> None:
        with self._lock:
            self._queue.append(data)
            self._queued += len(data)
            if self._queued > WRITE_BUFFER_BYTES:
                self._has_room.clear()
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
                _write_all(self._target, line)
            except OSError:
                with self._lock:
                    self._queue.clear()
                    self._stop = True
                self._call_in_loop(self._break)
                return
            with self._lock:
                self._writing = False
                self._queued -= len(line)
                has_room = self._queued <= WRITE_BUFFER_BYTES
            if has_room and not self._has_room.is_set():
                self._call_in_loop(self._has_room.set)

    def _call_in_loop(self, action: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(action)
        except RuntimeError:
            # The loop has closed: nobody is waiting.
            return

    def _break(self) -> None:
        self.broken.set()
        self._has_room.set()


def _write_all(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(target, view) :]
        except BlockingIOError:
            select.select([], [target], [])


class _Poll(Protocol):
    """What `select.poll` makes; the name does not exist on Windows."""

    def poll(self, timeout: float | None = ..., /) -> list[tuple[int, int]]: ...


def _make_poll(target: int) -> _Poll | None:
    """Something that says whether a small write would block; None where that cannot be known (Windows)."""
    if sys.platform == "win32":
        return None
    poll = select.poll()
    poll.register(target, select.POLLOUT)
    return poll


_STANDARD_ERROR: Final = 2
_LENGTH_HEADER: Final = b"content-length:"
"""The beginning of a message that is framed as for language servers."""


def take_streams() -> tuple[int, int]:
    """Move the protocol's descriptors to safety and return them as (input, output).

    Afterwards descriptor 0 is /dev/null, so that no child process reads the client's messages, and
    descriptor 1 is standard error, so that no print reaches the client.
    """
    _open_missing_streams()
    source, target = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, target


def _open_missing_streams() -> None:
    """Open /dev/null in place of each standard stream that our parent closed. Otherwise a file of ours would
    get its number, because the system assigns the lowest free one."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERROR:
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - it takes no names
    os.close(descriptor)


def serve_stdio(
    dialect: Callable[[Peer], Dialect],
    *,
    at_end: Callable[[], Awaitable[None]] | None = None,
    call_seconds: float = CALL_SECONDS,
    attach: Callable[[Connection], SeenClient | None] | None = None,
) -> int:
    """Serve this process's standard streams until they end; returns the exit code.

    Ends on `exit`, at the end of input and on SIGTERM, SIGINT or SIGHUP: requests in flight are finished and
    answered, then `at_end` runs. After a signal, only those that run already are finished, and a client that
    does not read is not waited for. The exit code is 0 in all these cases. `attach` makes the record of the
    client (see `Connection`).
    """
    source, target = take_streams()
    event_loop.run(
        serve_descriptors(dialect, source, target, at_end=at_end, call_seconds=call_seconds, attach=attach)
    )
    return 0


async def serve_descriptors(
    dialect: Callable[[Peer], Dialect],
    source: int,
    target: int,
    *,
    at_end: Callable[[], Awaitable[None]] | None = None,
    call_seconds: float = CALL_SECONDS,
    attach: Callable[[Connection], SeenClient | None] | None = None,
) -> None:
    """`serve_stdio` on any two descriptors, which this function closes."""
    sink = DescriptorSink(target)
    connection = Connection(dialect, sink, call_seconds=call_seconds, attach=attach)
    # A client that calls nothing is recorded too, when it has had its first answers.
    attaching = asyncio.get_running_loop().call_later(ATTACH_SECONDS, connection.attach_client)
    reader = DescriptorReader(source)
    _end_on_signals(connection)
    try:
        await _pump(reader, connection, sink)
        await connection.drain()
    finally:
        attaching.cancel()
        await connection.close()
        if at_end is not None:
            await at_end()
        await sink.finish(UNREAD_SECONDS if connection.is_stopping else None)


async def _pump(reader: DescriptorReader, connection: Connection, sink: DescriptorSink) -> None:
    """Feed lines to the connection until the input or the session ends, or the client stops reading."""
    splitter = LineSplitter()

    async def feed_lines() -> None:
        while data := await reader.read():
            for line in splitter.feed(data):
                await _feed(line, connection, sink)
        if not connection.ending.is_set():
            for line in splitter.finish():
                await _feed(line, connection, sink)

    reader.start()
    feeding = asyncio.ensure_future(feed_lines())
    endings = [asyncio.ensure_future(event.wait()) for event in (connection.ending, sink.broken)]
    try:
        await asyncio.wait((feeding, *endings), return_when=asyncio.FIRST_COMPLETED)
        reader.stop()
        # The task may be waiting for a client that reads no answers, and would wait forever.
        await asyncio.wait((feeding,), timeout=RECEIVE_SECONDS)
        if feeding.done():
            feeding.result()
    finally:
        for task in (feeding, *endings):
            task.cancel()


async def _feed(line: bytes | TooLong, connection: Connection, sink: DescriptorSink) -> None:
    if connection.ending.is_set():
        # Messages after `exit` are ignored.
        return
    if isinstance(line, TooLong):
        reason = f"a message may have at most {LINE_BYTES} bytes; this one was longer and was discarded"
    elif line[: len(_LENGTH_HEADER)].lower() == _LENGTH_HEADER:
        reason = "each message is one line of JSON; headers such as Content-Length are not used"
    else:
        await connection.receive(line)
        return
    sink.send(Outgoing(codec.encode(failures.make_parse_error(reason)), None, final=True))
    await sink.drain()


def list_ending_signals() -> tuple[signal.Signals, ...]:
    """The signals that ask a server to end. A closed terminal sends SIGHUP; with `nohup` it is ignored, and
    stays so."""
    ending = (signal.SIGINT, signal.SIGTERM)
    if sys.platform == "win32" or signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return ending
    return (*ending, signal.SIGHUP)


def _end_on_signals(connection: Connection) -> None:
    """Let these signals end the session as `exit` does, where they can be caught. A second signal ends the
    process at once, for a person who does not want to wait for the requests in flight."""
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    numbers = list_ending_signals()

    def end() -> None:
        connection.end_soon()
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)

    for number in numbers:
        try:
            loop.add_signal_handler(number, end)
        except NotImplementedError:
            # On Windows the loop cannot handle signals, but the interpreter can.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(end))
