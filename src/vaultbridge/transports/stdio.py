"""JSON-RPC over standard input and output, one message per line.

    exit_code = serve_stdio(mcp_dialect(server, honours_exit=True), at_end=server.close)

Standard output belongs to the protocol: its descriptor is moved away before anything else runs and
descriptor 1 then leads to standard error, so nothing that a tool, a library or a child process prints can
get between messages. Standard input is read by a thread, because event loops cannot watch files and
/dev/null. Both ends are raw descriptors; Python's own buffers are not involved. Imports stay few: this
module stands between a client and its first answer.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Final

from vaultbridge.dialects.dialect import Dialect, Peer
from vaultbridge.limits import CALL_SECONDS
from vaultbridge.rpc import codec
from vaultbridge.rpc.messages import PARSE_ERROR, ErrorObject, ErrorResponse
from vaultbridge.rpc.session import Outgoing
from vaultbridge.transports.connection import Connection
from vaultbridge.transports.descriptors import DescriptorOutlet, DescriptorReader
from vaultbridge.transports.lines import LINE_BYTES, LineSplitter, TooLong

_STANDARD_ERROR: Final = 2
_LENGTH_HEADER: Final = b"content-length:"
"""How a client begins that frames messages as language servers do."""


def take_streams() -> tuple[int, int]:
    """Move the protocol's descriptors to safety and give them back as (input, output).

    Afterwards descriptor 0 is /dev/null, so that no child process eats the client's messages, and
    descriptor 1 is standard error, so that no print reaches the client.
    """
    _open_missing_streams()
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink


def _open_missing_streams() -> None:
    """Put /dev/null where whoever started us closed a standard stream, so that no file of ours gets its
    number: the system gives out the lowest free one."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= _STANDARD_ERROR:
        os.set_inheritable(descriptor, True)  # noqa: FBT003
    os.close(descriptor)


def serve_stdio(
    dialect: Callable[[Peer], Dialect],
    *,
    at_end: Callable[[], Awaitable[None]] | None = None,
    call_seconds: float = CALL_SECONDS,
) -> int:
    """Serve this process's standard streams until they end; gives the exit code.

    Ends on `exit`, on the end of input and on SIGTERM or SIGINT: what is in flight is finished and
    answered, then `at_end` runs. The code is 0 in all these cases.
    """
    source, sink = take_streams()
    asyncio.run(serve_descriptors(dialect, source, sink, at_end=at_end, call_seconds=call_seconds))
    return 0


async def serve_descriptors(
    dialect: Callable[[Peer], Dialect],
    source: int,
    sink: int,
    *,
    at_end: Callable[[], Awaitable[None]] | None = None,
    call_seconds: float = CALL_SECONDS,
) -> None:
    """`serve_stdio` on any two descriptors, which are this function's from now on."""
    outlet = DescriptorOutlet(sink)
    connection = Connection(dialect, outlet, call_seconds=call_seconds)
    reader = DescriptorReader(source)
    _end_on_signals(connection)
    try:
        await _pump(reader, connection, outlet)
        await connection.drain()
    finally:
        await connection.close()
        if at_end is not None:
            await at_end()
        await outlet.finish()


async def _pump(reader: DescriptorReader, connection: Connection, outlet: DescriptorOutlet) -> None:
    """Feed lines to the connection until the input or the session ends, or nobody reads our answers."""

    async def stop_on(event: asyncio.Event) -> None:
        await event.wait()
        reader.stop()

    splitter = LineSplitter()
    reader.start()
    watchers = [asyncio.ensure_future(stop_on(event)) for event in (connection.ending, outlet.broken)]
    try:
        while data := await reader.read():
            for line in splitter.feed(data):
                await _feed(line, connection, outlet)
        if not connection.ending.is_set():
            for line in splitter.finish():
                await _feed(line, connection, outlet)
    finally:
        for watcher in watchers:
            watcher.cancel()


async def _feed(line: bytes | TooLong, connection: Connection, outlet: DescriptorOutlet) -> None:
    if connection.ending.is_set():
        # What comes after `exit` is not for us.
        return
    if isinstance(line, TooLong):
        outlet.send(
            _unread(f"a message may have {LINE_BYTES} bytes; this one was longer and has been thrown away")
        )
    elif line[: len(_LENGTH_HEADER)].lower() == _LENGTH_HEADER:
        outlet.send(_unread("each message is one line of JSON; headers such as Content-Length are not used"))
    else:
        await connection.receive(line)


def _unread(what: str) -> Outgoing:
    error = ErrorObject(PARSE_ERROR, f"Parse error: {what}")
    return Outgoing(codec.encode(ErrorResponse(None, error)), None, final=True)


def _end_on_signals(connection: Connection) -> None:
    """Let SIGTERM and SIGINT end the session as `exit` does, where signals can be caught. A second one ends
    the process at once: somebody does not want to wait for what is in flight."""
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGTERM, signal.SIGINT)

    def end() -> None:
        connection.end()
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)

    for number in numbers:
        try:
            loop.add_signal_handler(number, end)
        except NotImplementedError:
            # Windows: the loop cannot, the interpreter can.
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(end))
