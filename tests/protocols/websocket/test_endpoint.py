"""Who may open a socket, and who is still there: the upgrade, health checks, slow readers, shutdown."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import os

import aiohttp
import pytest
from aiohttp import web

from support.dial import dial
from support.raw_websocket import CLOSE, PING, PONG, TEXT, connect, make_close_frame, make_frame
from support.waiting import BOUND
from support.websocket import TOKEN, served
from vaultbridge.protocols.claude_ide.lock_files import TOKEN_HEADER
from vaultbridge.protocols.websocket import socket as ws_connection
from vaultbridge.protocols.websocket.endpoint import MAX_CONNECTIONS, PING_SECONDS
from vaultbridge.protocols.websocket.socket import OUTGOING_BYTES, WebSocket

AUTH = {"X_Claude_Code_Ide_Authorization": TOKEN}


# the upgrade


async def test_the_right_token_opens_the_socket() -> None:
    """Seed 000, Authentication Flow 3-5: the header is compared during the upgrade."""
    async with served() as server:
        key = base64.b64encode(os.urandom(16)).decode()
        client = await connect(server.port, key=key, **AUTH)
        assert client.status == 101
        proof = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        assert client.headers["sec-websocket-accept"] == base64.b64encode(proof).decode()
        await client.close()


@pytest.mark.parametrize("token", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "tökén"])
async def test_a_missing_or_wrong_token_is_answered_401(token: str | None) -> None:
    async with served() as server:
        given = {} if token is None else {"X_Claude_Code_Ide_Authorization": token}
        client = await connect(server.port, **given)
        assert client.status == 401
        assert TOKEN not in client.head
        await client.close()
        assert server.endpoint.sockets == ()


async def test_two_different_tokens_are_refused() -> None:
    async with served() as server:
        entry = f"vaultbridge.token.{TOKEN}, mcp"
        client = await connect(
            server.port, Sec_WebSocket_Protocol=entry, X_Claude_Code_Ide_Authorization="other"
        )
        assert client.status == 401
        await client.close()


async def test_a_token_may_come_as_a_subprotocol_entry_and_is_not_echoed() -> None:
    """For clients that cannot set headers."""
    async with served() as server:
        client = await connect(server.port, Sec_WebSocket_Protocol=f"mcp, vaultbridge.token.{TOKEN}")
        assert client.status == 101
        assert client.headers["sec-websocket-protocol"] == "mcp"
        assert TOKEN not in client.head
        await client.close()


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1", "null", ""])
async def test_any_origin_is_answered_403_even_with_the_token(origin: str) -> None:
    """No IDE client is a web page (CVE-2025-52882)."""
    async with served() as server:
        client = await connect(server.port, Origin=origin, **AUTH)
        assert client.status == 403
        await client.close()


@pytest.mark.parametrize("key", ["", "test", "dGVzdA==", "!" * 24, base64.b64encode(b"x" * 17).decode()])
async def test_a_bad_key_is_answered_400(key: str) -> None:
    async with served() as server:
        client = await connect(server.port, key=key, **AUTH)
        assert client.status == 400
        await client.close()


@pytest.mark.parametrize("version", ["8", "7", "12", "", "13, 8"])
async def test_another_version_is_answered_400_with_ours(version: str) -> None:
    """RFC 6455 4.4: the answer names the version that is spoken."""
    async with served() as server:
        client = await connect(server.port, version=version, **AUTH)
        assert client.status == 400
        assert client.headers["sec-websocket-version"] == "13"
        await client.close()


async def test_a_request_that_is_no_upgrade_is_answered_400() -> None:
    async with served() as server, aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{server.port}/"
        async with session.get(url, headers={TOKEN_HEADER: TOKEN}) as answer:
            assert answer.status == 400


async def test_the_seeds_curl_command_learns_that_somebody_listens() -> None:
    """Seed 001, Debug Tools: its key is no key and it brings no token; the token is asked for first."""
    async with served() as server:
        client = await connect(server.port, key="test")
        assert client.status == 401
        await client.close()


async def test_mcp_is_echoed_when_it_was_offered() -> None:
    async with served() as server:
        client = await connect(server.port, Sec_WebSocket_Protocol="foo, mcp", **AUTH)
        assert client.headers["sec-websocket-protocol"] == "mcp"
        await client.close()


@pytest.mark.parametrize("offer", [None, "foo", "MCP2"])
async def test_nothing_is_echoed_that_was_not_offered(offer: str | None) -> None:
    async with served() as server:
        offered = {} if offer is None else {"Sec_WebSocket_Protocol": offer}
        client = await connect(server.port, **AUTH, **offered)
        assert client.status == 101
        assert "sec-websocket-protocol" not in client.headers
        await client.close()


async def test_the_eleventh_connection_is_answered_503_until_one_leaves() -> None:
    """Seed 000, Resource Limits and Authentication Errors."""
    async with served() as server:
        clients = [await connect(server.port, **AUTH) for _ in range(MAX_CONNECTIONS)]
        assert [client.status for client in clients] == [101] * 10
        late = await connect(server.port, **AUTH)
        assert late.status == 503
        await late.close()
        await clients[0].send(make_close_frame(1000))
        assert await clients[0].receive_close() == 1000
        await server.until_open(MAX_CONNECTIONS - 1)
        again = await connect(server.port, **AUTH)
        assert again.status == 101
        for client in (*clients, again):
            await client.close()


async def test_a_wrong_token_learns_nothing_of_how_full_it_is() -> None:
    async with served(connections=0) as server:
        client = await connect(server.port)
        assert client.status == 401
        await client.close()


# the log of seed 000, and what must not be in it


async def test_connecting_and_leaving_are_logged_in_the_seeds_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "vaultbridge")
    async with served() as server:
        client = await connect(server.port, **AUTH)
        await client.send(make_frame(TEXT, b"{}"))
        await client.receive()
        await server.endpoint.check_health()
        await client.close()
        await server.until_open(0)
    for words in (
        "Authentication successful",
        "Client connected",
        "Raw data received",
        "Health check: 1 active connections",
        "Client disconnected",
    ):
        assert words in caplog.text


async def test_no_token_is_ever_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "5e0f7d4c-0000-4000-8000-secretsecret"
    async with served() as server:
        for client in (
            await connect(server.port, Sec_WebSocket_Protocol=f"vaultbridge.token.{TOKEN}"),
            await connect(server.port, X_Claude_Code_Ide_Authorization=secret),
            await connect(server.port, **AUTH),
        ):
            await client.close()
    assert TOKEN not in caplog.text
    assert secret not in caplog.text


# health


def test_health_checks_come_every_thirty_seconds() -> None:
    """Seed 000, Resource Limits."""
    assert PING_SECONDS == 30.0


async def test_everybody_is_pinged_on_the_beat() -> None:
    async with served(ping_seconds=0.01) as server:
        beat = asyncio.ensure_future(server.endpoint.run_health_checks())
        for _ in range(3):
            client = await connect(server.port, **AUTH)
            assert (await client.receive()).opcode == PING
            await client.close()
        beat.cancel()


async def test_a_peer_that_answers_stays() -> None:
    async with served() as server:
        client = await connect(server.port, **AUTH)
        await server.until_open(1)
        for _ in range(3):
            await server.endpoint.check_health()
            ping = await client.receive()
            assert ping.opcode == PING
            await client.send(make_frame(PONG, ping.payload) + make_frame(TEXT, b"heard?"))
            assert (await client.receive()).payload == b"heard?"
        assert len(server.endpoint.sockets) == 1
        await client.close()


async def test_a_peer_that_stays_silent_is_removed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "vaultbridge.ws")
    async with served() as server:
        silent = await connect(server.port, **AUTH)
        talking = await connect(server.port, **AUTH)
        await server.until_open(2)
        await server.endpoint.check_health()
        await talking.send(make_frame(TEXT, b"any message is a sign of life"))
        assert (await talking.receive()).opcode == PING
        await talking.receive()
        await server.endpoint.check_health()
        assert [socket.closed for socket in server.endpoint.sockets] == [False]
        await silent.wait_until_closed()
        await talking.close()
        await silent.close()
    assert "Removing dead connection" in caplog.text


async def test_silence_while_the_machine_slept_drops_nobody() -> None:
    async with served() as server:
        client = await connect(server.port, **AUTH)
        await server.until_open(1)
        await server.endpoint.check_health()
        await server.endpoint.check_health(overslept=True)
        assert len(server.endpoint.sockets) == 1
        await server.endpoint.check_health()
        assert server.endpoint.sockets == ()
        await client.close()


async def test_a_beat_that_comes_far_too_late_counts_as_a_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent client is pinged, excused after the sleep, and dropped at the next beat."""
    async with served(ping_seconds=BOUND) as server:
        loop = asyncio.get_running_loop()
        real, jump = loop.time, 0.0
        monkeypatch.setattr(loop, "time", lambda: real() + jump)
        client = await connect(server.port, **AUTH)
        await server.until_open(1)
        beat = asyncio.ensure_future(server.endpoint.run_health_checks())
        await asyncio.sleep(0)
        for slept in (BOUND, 3600.0):
            jump += slept
            assert (await client.receive()).opcode == PING
        jump += BOUND
        await client.wait_until_closed()
        beat.cancel()
        await client.close()


# slow readers


async def test_notifications_drop_a_peer_that_never_reads_at_one_mebibyte_and_harm_nobody() -> None:
    """Seed 000, Buffer Size; DESIGN: at most 1 MiB waits per connection towards a slow reader."""
    async with served() as server:
        slow, good = await connect(server.port, **AUTH), await connect(server.port, **AUTH)
        await server.until_open(2)
        slow_socket, good_socket = server.endpoint.sockets
        most = 0
        for number in range(2000):
            if slow_socket.closed:
                break
            slow_socket.send_text(b"x" * 20_000)
            most = max(most, slow_socket.waiting_bytes)
            if number % 50 == 0:
                await asyncio.sleep(0)
        assert slow_socket.closed
        assert OUTGOING_BYTES - 20_000 < most <= OUTGOING_BYTES + 20_000 + 14
        good_socket.send_text(b"still served")
        assert (await good.receive()).payload == b"still served"
        await server.until_open(1)
        await slow.close()
        await good.close()


async def test_a_reader_that_takes_nothing_of_its_answers_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ws_connection, "STALL_SECONDS", 0.05)
    async with served() as server:
        slow = await connect(server.port, **AUTH)
        await server.until_open(1)
        (socket,) = server.endpoint.sockets
        for _ in range(20):
            socket.send_text(b"y" * 500_000, is_answer=True)
        assert not socket.closed
        await server.until_open(0)
        assert socket.closed
        await slow.close()


async def test_a_reader_that_is_only_busy_gets_every_answer() -> None:
    """Many large answers at once wait for a peer that reads, however far beyond the buffer they go."""
    async with served() as server:
        client = await connect(server.port, **AUTH)
        await server.until_open(1)
        (socket,) = server.endpoint.sockets
        for number in range(30):
            socket.send_text(b"%d" % (number % 10) * 1_000_000, is_answer=True)
        for number in range(30):
            assert (await client.receive()).payload == b"%d" % (number % 10) * 1_000_000
        await asyncio.wait_for(socket.drain(), BOUND)
        assert socket.waiting_bytes == 0
        await client.close()


async def test_answers_have_a_hard_bound_too() -> None:
    async with served() as server:
        client = await connect(server.port, **AUTH)
        await server.until_open(1)
        (socket,) = server.endpoint.sockets
        for _ in range(5):
            socket.send_text(b"z" * ws_connection.MESSAGE_BYTES, is_answer=True)
        assert socket.closed
        await client.close()


async def test_messages_keep_their_order_whatever_their_size() -> None:
    """Small plain frames must not overtake large compressed ones."""
    sizes = [10, 100_000, 20, 3000, 50_000, 1, 200_000, 5, 5000]

    async def send_burst(socket: WebSocket, request: web.Request) -> None:
        for number, size in enumerate(sizes):
            socket.send_text(b"%d" % number + b"a" * size, is_answer=True)
        await socket.receive()

    async with served(send_burst) as server:
        url = f"ws://127.0.0.1:{server.port}/"
        async with dial(url, additional_headers={TOKEN_HEADER: TOKEN}, max_size=None) as client:
            got = [await asyncio.wait_for(client.recv(), BOUND) for _ in sizes]
    assert [len(message) - 1 for message in got] == sizes
    assert [int(message[0]) for message in got] == list(range(len(sizes)))


# ends


async def test_shutting_down_closes_with_1001_and_refuses_new_connections() -> None:
    async with served() as server:
        client = await connect(server.port, **AUTH)
        await server.until_open(1)
        shutting = asyncio.ensure_future(server.endpoint.shut_down())
        assert await client.receive_close() == 1001
        await client.send(make_frame(CLOSE, b"\x03\xe9"))
        await asyncio.wait_for(shutting, BOUND)
        await server.until_open(0)
        late = await connect(server.port, **AUTH)
        assert late.status == 503
        await client.close()
        await late.close()


async def test_waiting_messages_are_sent_before_the_close_frame() -> None:
    async def send_last_words(socket: WebSocket, request: web.Request) -> None:
        socket.send_text(b"w" * 600_000, is_answer=True)
        await socket.close(1000, "done")

    async with served(send_last_words) as server:
        client = await connect(server.port, **AUTH)
        assert len((await client.receive()).payload) == 600_000
        assert (await client.receive()).close_code == 1000
        await client.close()


async def test_a_peer_that_never_answers_the_close_frame_is_disconnected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ws_connection, "CLOSE_SECONDS", 0.05)
    async with served() as server:
        client = await connect(server.port, **AUTH)
        await server.until_open(1)
        await asyncio.wait_for(server.endpoint.shut_down(), BOUND)
        await client.wait_until_closed()
        await client.close()


async def test_a_serving_function_that_fails_ends_only_its_own_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(socket: WebSocket, request: web.Request) -> None:
        if await socket.receive() == b"fail":
            raise RuntimeError("a bug")
        socket.send_text(b"fine")
        await socket.receive()

    async with served(fail) as server:
        bad, good = await connect(server.port, **AUTH), await connect(server.port, **AUTH)
        await bad.send(make_frame(TEXT, b"fail"))
        assert await bad.receive_close() == 1011
        await good.send(make_frame(TEXT, b"go on"))
        assert (await good.receive()).payload == b"fine"
        await good.close()
        await bad.close()
    assert "a bug" in caplog.text
