"""Ports that stay what a test takes them for.

A port that was only looked for may be given to any other program of the machine a moment later, as the near
end of a connection of its own. One that is bound may not.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from support.waiting import BOUND


@contextmanager
def held_port() -> Iterator[int]:
    """A port of 127.0.0.1 at which nobody listens: who connects is refused. The test may listen at it, as
    often as it likes, with a socket that has SO_REUSEADDR; nobody else is given it."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@asynccontextmanager
async def kept_port(port: int) -> AsyncIterator[None]:
    """While an HTTP server that listens at `port` ends, and until the port is opened again: its end of a
    connection that it has to close stays with the system, which then gives the port to nobody else."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        # An answer proves that the server has the connection.
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), BOUND)
        yield
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
