"""What goes wrong with an HTTP exchange is explained in words, as a real exchange shows."""

from __future__ import annotations

import asyncio

import pytest

from support.waiting import until
from vaultbridge.client.http.transport import StreamableHttpTransport

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"", "it ended the connection without an answer"),
        (HEAD + b"Content-Length: 100\r\n\r\n{", "its answer was cut short"),
        (b"\x16\x03\x01 nothing known\r\n\r\n", "it answered with something that is not HTTP"),
        (HEAD.replace(b"200 OK", b"503 Busy") + b"Content-Length: 0\r\n\r\n", "HTTP 503 Busy"),
    ],
)
async def test_a_broken_answer_is_explained_in_words(answer: bytes, words: str) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        transport = StreamableHttpTransport(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")
        messages: list[dict[str, object]] = []
        transport.on_message = messages.append
        await transport.start()
        try:
            await transport.send({"jsonrpc": "2.0", "id": 1, "method": "m"})
            await until(lambda: bool(messages))
        finally:
            await transport.close()
    assert words in str(messages[0]["error"])


async def test_a_server_that_is_not_there_is_explained_in_words(closed_port: int) -> None:
    transport = StreamableHttpTransport(f"http://127.0.0.1:{closed_port}/mcp")
    errors: list[Exception] = []
    transport.on_error = errors.append
    await transport.start()
    await transport.send({"jsonrpc": "2.0", "id": 1, "method": "m"})
    await until(lambda: bool(errors))
    await transport.close()
    assert "connection refused" in str(errors[0])
