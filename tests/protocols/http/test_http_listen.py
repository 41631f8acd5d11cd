"""What aiohttp answers by itself: always JSON, never what was sent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from support.ports import kept_port
from support.waiting import BOUND
from support.web_app import make_certificate
from vaultbridge.protocols.http.listen import REQUESTS_PER_TURN, serve_app

SECRET = "hunter2"
HOST = "Host: 127.0.0.1\r\n"


@asynccontextmanager
async def served(counted: list[None] | None = None, **options: Any) -> AsyncIterator[int]:
    app = web.Application()

    async def answer_here(request: web.Request) -> web.Response:
        await request.read()
        if counted is not None:
            counted.append(None)
        return web.Response(text="here")

    async def fail(request: web.Request) -> web.Response:
        raise ValueError(f"/home/somebody/{SECRET}")

    async def dawdle(request: web.Request) -> web.Response:
        raise TimeoutError

    async def refuse(request: web.Request) -> web.Response:
        raise web.HTTPUnauthorized(text="Who are you?", headers={"WWW-Authenticate": "Bearer"})

    async def break_off(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"half")
        raise ValueError(SECRET)

    app.router.add_route("GET", "/here", answer_here)
    app.router.add_route("POST", "/here", answer_here)
    app.router.add_get("/fails", fail)
    app.router.add_get("/dawdles", dawdle)
    app.router.add_get("/refuses", refuse)
    app.router.add_get("/breaks-off", break_off)
    with socket.create_server(("127.0.0.1", 0)) as sock:
        port: int = sock.getsockname()[1]
        async with serve_app(app, sock, idle_seconds=5.0, shutdown_seconds=1.0, **options):
            yield port


async def exchange(port: int, sent: str | bytes) -> bytes:
    """Everything that comes back until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent if isinstance(sent, bytes) else sent.encode())
        async with asyncio.timeout(BOUND):
            return await reader.read()
    finally:
        writer.close()


def parse_answer(answer: bytes) -> tuple[int, dict[str, str], Any]:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return int(first.split(" ")[1]), headers, json.loads(body)


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (f"{SECRET}\r\n\r\n", "method"),
        (f"FETCH /{SECRET} HTTP/1.1\r\n{HOST}\r\n", "method"),
        (f"GET /{SECRET} HTTP/9.9\r\n{HOST}\r\n", "HTTP/1.1"),
        (f"GET /here HTTP/1.1\r\n{HOST}Authori zation: Bearer {SECRET}\r\n\r\n", "HTTP/1.1"),
        (f"GET /here HTTP/1.1\r\n{HOST}X: {SECRET * 3000}\r\n\r\n", "too long"),
        (f"GET /{SECRET * 3000} HTTP/1.1\r\n{HOST}\r\n", "too long"),
        (f"GET http://127.0.0.1:99999999/{SECRET} HTTP/1.1\r\n{HOST}\r\n", "address"),
        (f"GET /here HTTP/1.1\r\nX: {SECRET}\r\n\r\n", "HTTP/1.1"),
        (f"POST /here HTTP/1.1\r\n{HOST}Content-Length: {SECRET}\r\n\r\n", "HTTP/1.1"),
        (f"POST /here HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n{SECRET}\r\n", "HTTP/1.1"),
    ],
)
async def test_what_is_no_request_is_refused_in_json_that_repeats_nothing_of_it(sent: str, why: str) -> None:
    async with served() as port:
        answer = await exchange(port, sent)
    status, headers, body = parse_answer(answer)
    assert status == 400
    assert headers["content-type"] == "application/json"
    assert body["error"] == "Bad request"
    assert why.lower() in body["details"].lower()
    assert SECRET.encode() not in answer
    assert b"aiohttp" not in json.dumps(body).encode()


async def test_a_bad_request_after_a_good_one_is_refused_too() -> None:
    async with served() as port, asyncio.timeout(BOUND):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /here HTTP/1.1\r\n{HOST}\r\n".encode())
        await reader.readuntil(b"\r\n\r\nhere")
        writer.write(f"{SECRET}\r\n\r\n".encode())
        assert parse_answer(await reader.read())[2]["error"] == "Bad request"
        writer.close()


@pytest.mark.parametrize(
    ("request_line", "status", "error"),
    [
        ("GET /nowhere HTTP/1.1", 404, "Not found"),
        ("GET //here HTTP/1.1", 404, "Not found"),
        ("OPTIONS * HTTP/1.1", 404, "Not found"),
        ("DELETE /here HTTP/1.1", 405, "Method not allowed"),
        ("GET /fails HTTP/1.1", 500, "Internal server error"),
        ("GET /dawdles HTTP/1.1", 504, "Gateway timeout"),
        ("GET /refuses HTTP/1.1", 401, "Unauthorized"),
    ],
)
async def test_what_no_endpoint_answers_is_answered_in_json(
    request_line: str, status: int, error: str
) -> None:
    async with served() as port:
        answer = await exchange(
            port, f"{request_line}\r\n{HOST}Accept: text/html\r\nConnection: close\r\n\r\n"
        )
    came, headers, body = parse_answer(answer)
    assert (came, body["error"]) == (status, error)
    assert headers["content-type"] == "application/json"
    assert body["message"]
    assert SECRET.encode() not in answer
    if status == 405:
        assert headers["allow"] == "GET,POST"
        assert "GET,POST" in body["details"]
    if status == 401:
        assert headers["www-authenticate"] == "Bearer"
        assert body["message"] == "Who are you?"


async def test_an_expectation_that_nobody_knows_is_refused_in_json() -> None:
    async with served() as port:
        answer = await exchange(
            port, f"GET /here HTTP/1.1\r\n{HOST}Expect: {SECRET}\r\nConnection: close\r\n\r\n"
        )
    status, headers, body = parse_answer(answer)
    assert (status, body["error"]) == (417, "Expectation failed")
    assert headers["content-type"] == "application/json"
    assert SECRET.encode() not in answer


async def test_an_answer_that_has_begun_is_broken_off_and_not_followed_by_another() -> None:
    async with served() as port:
        answer = await exchange(port, f"GET /breaks-off HTTP/1.1\r\n{HOST}\r\n")
    assert answer.endswith(b"half\r\n")
    assert answer.count(b"HTTP/1.") == 1


async def test_at_the_end_no_new_connection_is_accepted() -> None:
    async with AsyncExitStack() as connection:
        async with served() as port:
            await connection.enter_async_context(kept_port(port))
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", port)


async def test_a_connection_that_only_waits_makes_room_for_a_new_one() -> None:
    request = f"GET /here HTTP/1.1\r\n{HOST}\r\n".encode()
    async with served(connections=2) as port, asyncio.timeout(BOUND):
        silent = await asyncio.open_connection("127.0.0.1", port)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        await reader.readuntil(b"here")
        newer, their = await asyncio.open_connection("127.0.0.1", port)
        their.write(request)
        await newer.readuntil(b"here")
        with contextlib.suppress(ConnectionResetError):
            assert await silent[0].read() == b""
        writer.write(request)
        await reader.readuntil(b"here")
        for stream in (silent[1], writer, their):
            stream.close()


async def test_many_requests_sent_at_once_let_others_in_between() -> None:
    """Counted in answers, not in seconds: between two of its own passes, others see a few of them."""
    count = 20 * REQUESTS_PER_TURN
    request = f"GET /here HTTP/1.1\r\n{HOST}\r\n".encode()
    counted: list[None] = []
    most = before = 0
    async with served(counted=counted) as port, asyncio.timeout(BOUND):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request * count)
        while len(counted) < count:
            await asyncio.sleep(0)
            most, before = max(most, len(counted) - before), len(counted)
        writer.close()
    assert 0 < most <= 2 * REQUESTS_PER_TURN


async def test_connections_are_limited_and_one_too_many_is_answered_503() -> None:
    request = f"POST /here HTTP/1.1\r\n{HOST}Content-Length: 1\r\n\r\n".encode()
    async with served(connections=2) as port, asyncio.timeout(BOUND):
        inside = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for reader, writer in inside:
            writer.write(request + b"x" + request)  # The second is being answered until its body comes.
            await reader.readuntil(b"here")
        reader, outside = await asyncio.open_connection("127.0.0.1", port)
        status, headers, body = parse_answer(await reader.read())
        assert (status, body["error"]) == (503, "Service unavailable")
        assert headers["content-type"] == "application/json"
        outside.close()
        # Those who are in are still served, and a place that becomes free is taken.
        reader, writer = inside[0]
        writer.write(b"x" + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + b"x")
        assert (await reader.read()).count(b"here") == 2
        writer.close()
        again = b""
        while b"here" not in again:  # The server hears of the end when it has come round to it.
            with contextlib.suppress(ConnectionResetError):  # It need not read what it refuses.
                again = await exchange(port, f"GET /here HTTP/1.1\r\n{HOST}Connection: close\r\n\r\n")
        inside[1][1].close()


async def test_a_client_that_never_finishes_the_tls_handshake_is_disconnected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultbridge.protocols.http.listen.HANDSHAKE_SECONDS", 0.1)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*await asyncio.to_thread(make_certificate, tmp_path, "localhost"))
    async with served(tls=tls) as port:
        assert await exchange(port, b"") == b""
