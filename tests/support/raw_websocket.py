"""A WebSocket client of single bytes: it can say anything, right or wrong. For the frame-level tests."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import struct
import zlib
from typing import NamedTuple

from support.waiting import BOUND

TEXT, BINARY, CLOSE, PING, PONG, CONTINUATION = 1, 2, 8, 9, 10, 0


class Frame(NamedTuple):
    opcode: int
    payload: bytes
    final: bool = True
    rsv: int = 0

    @property
    def close_code(self) -> int:
        return struct.unpack("!H", self.payload[:2])[0] if len(self.payload) >= 2 else 1005


MASK = b"\x01\x02\x03\x04"


def make_frame(
    opcode: int, payload: bytes = b"", *, final: bool = True, rsv: int = 0, mask: bytes | None = MASK
) -> bytes:
    head = bytes([(0x80 if final else 0) | rsv << 4 | opcode])
    masked = 0x80 if mask is not None else 0
    if len(payload) < 126:
        head += bytes([masked | len(payload)])
    elif len(payload) < 65536:
        head += bytes([masked | 126]) + struct.pack("!H", len(payload))
    else:
        head += bytes([masked | 127]) + struct.pack("!Q", len(payload))
    if mask is None:
        return head + payload
    key = (mask * (len(payload) // 4 + 1))[: len(payload)]
    hidden = (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(len(payload), "big")
    return head + mask + hidden


def make_close_frame(code: int, reason: bytes = b"") -> bytes:
    return make_frame(CLOSE, struct.pack("!H", code) + reason)


def deflate_payload(payload: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return (packer.compress(payload) + packer.flush(zlib.Z_SYNC_FLUSH)).removesuffix(b"\x00\x00\xff\xff")


class RawClient:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, status: int, head: str
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.status = status
        self.head = head

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.split("\r\n")[1:]
        pairs = (line.partition(":") for line in lines if line)
        return {name.lower(): value.strip() for name, _, value in pairs}

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await asyncio.wait_for(self.writer.drain(), BOUND)

    async def receive(self) -> Frame:
        return await asyncio.wait_for(self._receive(), BOUND)

    async def _receive(self) -> Frame:
        first, second = await self.reader.readexactly(2)
        assert not second & 0x80, "a server must not mask"
        length = second & 0x7F
        if length == 126:
            length = struct.unpack("!H", await self.reader.readexactly(2))[0]
        elif length == 127:
            length = struct.unpack("!Q", await self.reader.readexactly(8))[0]
        payload = await self.reader.readexactly(length)
        return Frame(first & 0x0F, payload, bool(first & 0x80), first >> 4 & 7)

    async def receive_close(self) -> int:
        """The code of the close frame that ends the connection; data before it is skipped."""
        while True:
            got = await self.receive()
            if got.opcode == CLOSE:
                return got.close_code

    async def wait_until_closed(self) -> bytes:
        """Wait until the server has closed its side. Returns what it sent before."""
        sent = b""
        with contextlib.suppress(ConnectionError):
            while data := await asyncio.wait_for(self.reader.read(65536), BOUND):
                sent += data
        return sent

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await asyncio.wait_for(self.writer.wait_closed(), BOUND)


async def connect(
    port: int, path: str = "/", *, key: str | None = None, version: str = "13", **headers: str
) -> RawClient:
    """Open a connection and do the handshake; the status tells whether it worked. Keyword names become header
    names, `_` turned into `-`."""
    reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), BOUND)
    key = base64.b64encode(os.urandom(16)).decode() if key is None else key
    lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += [f"Sec-WebSocket-Key: {key}", f"Sec-WebSocket-Version: {version}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), BOUND)).decode()
    return RawClient(reader, writer, int(head.split()[1]), head)
