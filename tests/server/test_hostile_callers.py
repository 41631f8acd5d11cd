"""Callers that mean harm, at the whole server over real sockets: others must hardly notice them."""

from __future__ import annotations

import asyncio
import json
import zlib
from typing import Any

import pytest

from server.callers import INITIALIZE, MCP
from server.conftest import Served, Serving
from support.raw_websocket import TEXT, RawClient, connect, deflate_payload, make_frame
from support.waiting import BOUND
from vaultbridge.protocols.editor.socket import EDITOR_CONNECTIONS
from vaultbridge.protocols.mcp.http.sessions import MAX_SESSIONS
from vaultbridge.protocols.websocket.endpoint import BAD_MESSAGES, MAX_UNAUTHENTICATED
from vaultbridge.protocols.websocket.socket import UNAUTHENTICATED_BYTES

BOMB = zlib.compress(bytes(64 * 1024 * 1024), level=9, wbits=31)
"""64 MiB of nothing in 64 kB of gzip."""


def read_token(served: Served) -> str:
    lock = served.home / ".claude" / "ide" / f"{served.listening.port}.lock"
    token: str = json.loads(lock.read_text())["authToken"]
    return token


def make_message(id_: int, method: str, **params: Any) -> bytes:
    return make_frame(
        TEXT, json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode()
    )


async def send_raw(port: int, sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        return await asyncio.wait_for(reader.read(), BOUND)
    finally:
        writer.close()


async def connect_editor(served: Served, token: str) -> RawClient:
    """An editor that shows its token in the first message."""
    client = await connect(served.listening.port, "/editor")
    assert client.status == 101
    await client.send(make_message(1, "hello", app="test", token=token, abilities={}))
    assert b'"result"' in (await client.receive()).payload
    return client


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("path", ["/mcp", "/messages?session_id=x", "/bridge/v1/tools/read_note/call"])
async def test_a_compressed_body_is_refused_and_never_inflated(
    serving: Serving, path: str, encoding: str
) -> None:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\nContent-Encoding: {encoding}\r\n"
        f"Connection: close\r\nContent-Length: {len(BOMB)}\r\n\r\n"
    )
    async with serving() as served:
        answer = await send_raw(served.listening.port, head.encode() + BOMB)
        # There is no such session at /messages, which is said before a body is looked at.
        assert answer.split()[1] in ((b"404",) if "messages" in path else (b"415",))
        assert b"application/json" in answer


HOSTS = [
    "[::1].evil.com",
    "127.0.0.1:80:evil",
    "localhost.evil.com",
    "evil.com",
    "localhost:99999",
    "@localhost",
]


@pytest.mark.parametrize("host", HOSTS)
async def test_every_door_reads_the_host_in_the_same_strict_way(serving: Serving, host: str) -> None:
    upgrade = (
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    )
    async with serving() as served:
        port, token = served.listening.port, read_token(served)
        addresses = {
            "GET /": "",
            "GET /page/app.js": "",
            "GET /bridge/v1/health": "",
            "GET /sse": "",
            "OPTIONS /mcp": "",
            "DELETE /mcp": "",
            "GET /editor": upgrade,
        }
        sent = [f"{address} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n" for address, more in addresses.items()]
        ide = f"{upgrade}X-Claude-Code-Ide-Authorization: {token}\r\n"
        for request in (*sent, f"GET / HTTP/1.1\r\nHost: {host}\r\n{ide}\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request.encode())
            status = (await asyncio.wait_for(reader.readline(), BOUND)).split()[1]
            assert status == b"403", request
            writer.close()
        # The same with a good name, so that it is the Host that was refused.
        good = await connect(port, "/", X_Claude_Code_Ide_Authorization=token)
        assert good.status == 101
        await good.close()


async def test_silent_sockets_do_not_keep_an_editor_out(serving: Serving) -> None:
    async with serving() as served:
        silent = [await connect(served.listening.port, "/editor") for _ in range(EDITOR_CONNECTIONS + 8)]
        editor = await connect_editor(served, read_token(served))
        # And one that has shown its token stays, however many come after it.
        silent += [await connect(served.listening.port, "/editor") for _ in range(EDITOR_CONNECTIONS + 8)]
        await editor.send(make_message(2, "ping"))
        assert b'"id":2' in (await editor.receive()).payload
        for client in (*silent, editor):
            await client.close()


async def test_of_silent_sockets_only_a_few_are_open_at_once(serving: Serving) -> None:
    async with serving() as served:
        silent = [await connect(served.listening.port, "/editor") for _ in range(MAX_UNAUTHENTICATED + 3)]
        for client in silent[:3]:
            # One whose time for the token is over would get a close frame.
            assert await client.wait_until_closed() == b""
        # The others are still open: each may send its token.
        for client in silent[3:]:
            await client.send(make_message(1, "ping"))
            assert b"send hello first" in (await client.receive()).payload
        for client in silent:
            await client.close()


async def test_a_client_without_a_token_may_neither_compress_nor_send_much(serving: Serving) -> None:
    deflate = {"Sec_WebSocket_Extensions": "permessage-deflate"}
    async with serving() as served:
        port = served.listening.port
        client = await connect(port, "/editor", **deflate)
        assert "sec-websocket-extensions" not in client.headers
        await client.send(make_frame(TEXT, deflate_payload(bytes(1000)), rsv=4))
        assert await client.receive_close() == 1002
        await client.close()
        client = await connect(port, "/editor")
        await client.send(make_frame(TEXT, b" " * (UNAUTHENTICATED_BYTES + 1)))
        assert await client.receive_close() == 1009
        await client.close()
        editor = await connect_editor(served, read_token(served))
        await editor.send(make_message(2, "ping", padding="x" * 4 * UNAUTHENTICATED_BYTES))
        assert b'"id":2' in (await editor.receive()).payload
        await editor.close()


@pytest.mark.parametrize("garbage", [b"x", b"{}", b"[]", b'{"jsonrpc":"2.0"}'])
async def test_a_socket_that_sends_only_garbage_gets_an_error_and_is_closed(
    serving: Serving, garbage: bytes
) -> None:
    async with serving() as served:
        client = await connect(served.listening.port, "/", X_Claude_Code_Ide_Authorization=read_token(served))
        await client.send(make_frame(TEXT, garbage) * (2 * BAD_MESSAGES))
        found = 0
        while (got := await client.receive()).opcode == TEXT:
            found += b'"error"' in got.payload
        assert (got.close_code, found) == (1008, BAD_MESSAGES)
        await client.close()


async def test_handshakes_without_end_do_not_push_out_a_session_in_use(serving: Serving) -> None:
    async with serving() as served:
        mcp = f"{served.url}/mcp"

        async def open_and_read() -> str:
            async with served.http.post(mcp, json=INITIALIZE, headers=MCP) as response:
                assert response.status == 200
                return response.headers["Mcp-Session-Id"]

        async def post(session: str, body: dict[str, Any]) -> int:
            headers = {**MCP, "Mcp-Session-Id": session}
            async with served.http.post(mcp, json={"jsonrpc": "2.0", **body}, headers=headers) as response:
                return response.status

        mine = await open_and_read()
        assert await post(mine, {"method": "notifications/initialized"}) == 202
        for _ in range(MAX_SESSIONS + 44):
            await open_and_read()
        assert await post(mine, {"id": 2, "method": "ping"}) == 200


async def test_one_token_cannot_push_out_the_sessions_of_another(serving: Serving) -> None:
    async with serving() as served:
        mcp = f"{served.url}/mcp"
        _, secret = served.tokens.make("other")
        theirs = {**MCP, "Authorization": f"Bearer {secret}"}
        async with served.http.post(mcp, json=INITIALIZE, headers=theirs) as response:
            session = {**theirs, "Mcp-Session-Id": response.headers["Mcp-Session-Id"]}
        for _ in range(MAX_SESSIONS + 44):
            async with served.http.post(mcp, json=INITIALIZE, headers=MCP) as response:
                assert response.status == 200
        async with served.http.post(
            mcp, json={"jsonrpc": "2.0", "id": 2, "method": "ping"}, headers=session
        ) as response:
            assert response.status == 200
