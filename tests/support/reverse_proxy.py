"""A reverse proxy as tunnels are: it rewrites the Host of each request to the server's own and says so in
further headers. One request per connection, which may become a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from support.waiting import BOUND

CLOUDFLARED = ("Cf-Connecting-Ip: 203.0.113.7", "Cf-Ray: 8f00-AMS", "Cdn-Loop: cloudflare; loops=1")
"""What one tunnel adds; the address is one for documentation."""


@asynccontextmanager
async def proxying(port: int, added: Sequence[str] = CLOUDFLARED) -> AsyncIterator[str]:
    """The public address of the server on `port`, which names another host than the server has."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").removesuffix("\r\n\r\n")
        request, *headers = head.split("\r\n")
        kept = [line for line in headers if not line.lower().startswith(("host:", "connection: keep-alive"))]
        upgrades = any(line.lower().startswith("upgrade:") for line in kept)
        closing = [] if upgrades else ["Connection: close"]
        sent = [request, f"Host: 127.0.0.1:{port}", *closing, *kept, *added, "", ""]
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        inner_writer.write("\r\n".join(sent).encode("latin-1"))
        try:
            async with asyncio.timeout(BOUND), asyncio.TaskGroup() as pumps:
                up = pumps.create_task(_pump(reader, inner_writer))
                await _pump(inner_reader, writer)
                up.cancel()
        finally:
            writer.close()
            inner_writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
