"""A TCP proxy between client and server that does harm on demand.

Faults are set for the next connection or befall the open ones: refusing, cutting, resetting inside a frame,
going silent without closing (half open), stalling, doubling and reordering bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct


class FaultyProxy:
    """`async with FaultyProxy(port) as proxy:` listens on `proxy.port` and forwards to 127.0.0.1:`port`."""

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self.refuse = 0
        """How many of the next connections are reset at once."""
        self.cut_after: int | None = None
        """Reset the connection once so many bytes have gone from the server to the client since now."""
        self.double = False
        """Send the next chunk to the client twice."""
        self.reverse = False
        """Send the next chunk to the client with its halves exchanged."""
        self.connections = 0
        self.opened = asyncio.Event()
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._deaf = False
        self._half_open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> FaultyProxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def open_connections(self) -> int:
        return len(self._pairs)

    def cut(self) -> None:
        """Reset every open connection, on both sides."""
        for pair in list(self._pairs):
            for writer in pair:
                reset(writer)

    def go_deaf(self) -> None:
        """Half open: the connections stay, and nothing passes any more, nor ever will."""
        self._deaf = True

    def hear_again(self) -> None:
        """For connections to come; what was swallowed stays swallowed."""
        self._deaf = False

    def swallow(self) -> None:
        """The same for the connections of now alone: one that comes next is sound."""
        self._half_open.update(*self._pairs)

    def stall(self) -> None:
        self._flowing.clear()

    def flow(self) -> None:
        self._flowing.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.opened.set()
        if self.refuse:
            self.refuse -= 1
            reset(writer)
            return
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            reset(writer)
            return
        pair = (writer, far_writer)
        self._pairs.add(pair)
        tasks = [
            asyncio.create_task(self._pump(reader, far_writer, to_client=False)),
            asyncio.create_task(self._pump(far_reader, writer, to_client=True)),
        ]
        self._tasks.update(tasks)
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.difference_update(tasks)
        self._pairs.discard(pair)
        self._half_open.difference_update(pair)
        for writer in pair:
            writer.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, to_client: bool
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                await self._flowing.wait()
                if self._deaf or writer in self._half_open:
                    while await reader.read(65536):  # until the connection is cut, or given up by who sends
                        pass
                    return
                if to_client:
                    data = self._harm(data)
                    if self.cut_after is not None and len(data) >= self.cut_after:
                        writer.write(data[: self.cut_after])
                        self.cut_after = None
                        await writer.drain()
                        reset(writer)
                        return
                    if self.cut_after is not None:
                        self.cut_after -= len(data)
                writer.write(data)
                await writer.drain()

    def _harm(self, data: bytes) -> bytes:
        if self.double:
            self.double = False
            return data + data
        if self.reverse:
            self.reverse = False
            middle = len(data) // 2
            return data[middle:] + data[:middle]
        return data


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with a RST instead of a FIN, as a crashed host does."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
