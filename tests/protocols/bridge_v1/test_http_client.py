"""The small HTTP client against servers of all manners, each a few lines on a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.ports import held_port
from support.waiting import BOUND
from support.web_app import make_certificate
from vaultbridge.errors import EngineFailure, InvalidArgument, TimedOut
from vaultbridge.protocols.bridge_v1.http_client import ANSWER_BYTES, parse_address, send_request

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1]


def make_answerer(answer: bytes, seen: list[bytes] | None = None) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if seen is not None:
            seen.append(head)
        writer.write(answer)
        await writer.drain()

    return serve


async def fetch(
    port: int, method: str = "GET", body: bytes = b"", seconds: float = BOUND
) -> tuple[int, bytes]:
    answer = await send_request(
        parse_address(f"http://127.0.0.1:{port}/base/"),
        method,
        "/x",
        headers={"X-Own": "1"},
        body=body,
        seconds=seconds,
    )
    return answer.status, answer.body


@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi and more", 200, b"hi"),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, b"until the end"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=1\r\nabc\r\nA\r\n0123456789\r\n"
         b"0\r\nT: 1\r\n\r\n", 200, b"abc0123456789"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, b""),
        (b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", 304, b""),
        (b"HTTP/1.1 204\r\n\r\n", 204, b""),
    ],
)  # fmt: skip
async def test_answers_are_read_whichever_way_their_length_is_given(
    answer: bytes, status: int, body: bytes
) -> None:
    async with listening(make_answerer(answer)) as port:
        assert await fetch(port) == (status, body)


async def test_a_request_names_the_host_and_closes() -> None:
    seen: list[bytes] = []
    async with listening(make_answerer(b"HTTP/1.1 204 No\r\n\r\n", seen)) as port:
        await fetch(port, "POST", b"abc")
        assert seen[0].split(b"\r\n") == [
            b"POST /base/x HTTP/1.1",
            f"Host: 127.0.0.1:{port}".encode(),
            b"Connection: close",
            b"X-Own: 1",
            b"Content-Length: 3",
            b"",
            b"",
        ]


async def test_header_names_are_lower_case() -> None:
    async with listening(
        make_answerer(b'HTTP/1.1 200 OK\r\nETag: "a" \r\nContent-LENGTH: 0\r\n\r\n')
    ) as port:
        answer = await send_request(
            parse_address(f"http://localhost:{port}"), "GET", "/", headers={}, seconds=BOUND
        )
        assert answer.headers["etag"] == '"a"'


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"", "the connection was closed"),
        (b"HTTP/1.1 200", "the connection was closed"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "the connection was closed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", "the connection was closed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "not HTTP"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 abc\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: " + b"\r\nA: ".join([b"x" * 1000] * 100) + b"\r\n\r\n", "not HTTP"),
        (f"HTTP/1.1 200 OK\r\nContent-Length: {ANSWER_BYTES + 1}\r\n\r\n".encode(), "^http://.* more than"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "more than"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n", "more than"),
    ],
)
async def test_an_answer_that_is_not_http_is_reported_as_such(answer: bytes, says: str) -> None:
    async with listening(make_answerer(answer)) as port:
        with pytest.raises(EngineFailure, match=says):
            await fetch(port)


PIECES = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.0 ", b"Content-Length: 5\r\n",
        b"Content-Length: -5\r\n", b"Transfer-Encoding: chunked\r\n", b"\r\n", b"\n", b"5\r\nhello\r\n",
        b"0\r\n\r\n", b"-1\r\n", b"\xb2\r\n", b": \r\n", b"9" * 5000, b"\x00",
    ]
)  # fmt: skip
ANSWERS = st.lists(PIECES | st.binary(max_size=8), max_size=8).map(b"".join)


@settings(max_examples=20, deadline=None)
@given(st.lists(ANSWERS, min_size=10, max_size=10))
def test_any_bytes_are_an_answer_or_a_reported_failure(answers: list[bytes]) -> None:
    async def send_all() -> None:
        left = list(answers)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await make_answerer(left.pop())(reader, writer)

        async with listening(serve) as port:
            for _ in answers:
                with contextlib.suppress(EngineFailure):
                    await fetch(port)

    asyncio.run(send_all())


async def test_a_refused_connection_is_reported_with_the_address() -> None:
    with (
        held_port() as port,
        pytest.raises(
            EngineFailure, match=rf"127\.0\.0\.1:{port}/base cannot be reached: connection refused"
        ),
    ):
        await fetch(port)


@pytest.mark.parametrize("host", ["a..b", "x" * 64])
async def test_an_unknown_host_name_is_reported_as_such(host: str) -> None:
    with pytest.raises(EngineFailure, match="cannot be reached: that host name is unknown"):
        await send_request(parse_address(f"http://{host}:1"), "GET", "/", headers={}, seconds=BOUND)


async def test_a_server_without_tls_is_reported_as_such() -> None:
    async def complain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        # A close before all is read would be a reset.
        while await reader.read(65536):
            pass

    async with listening(complain) as port:
        with pytest.raises(EngineFailure, match="it does not speak TLS"):
            await send_request(
                parse_address(f"https://127.0.0.1:{port}"), "GET", "/", headers={}, seconds=BOUND
            )


async def test_a_lost_answer_leaves_open_whether_the_request_was_done() -> None:
    """Somebody who appends to a note must not simply ask again; somebody who only reads may."""
    async with listening(make_answerer(b"HTTP/1.1 200 OK\r\n")) as port:
        with pytest.raises(EngineFailure, match="broke off") as lost:
            await fetch(port, "POST", b"{}")
        assert "not known" in lost.value.hint
        with pytest.raises(EngineFailure, match="broke off") as unread:
            await fetch(port, "GET")
        assert unread.value.hint == ""
    with held_port() as port, pytest.raises(EngineFailure, match="cannot be reached") as unsent:
        await fetch(port, "POST", b"{}")
    assert unsent.value.hint == ""


async def test_a_silent_server_times_out() -> None:
    held = asyncio.Event()

    async def stay_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await held.wait()

    async with listening(stay_silent) as port:
        with pytest.raises(TimedOut, match=r"did not answer within 0\.05 s"):
            await fetch(port, seconds=0.05)
        held.set()


async def test_an_answer_sent_before_the_body_was_read_is_received() -> None:
    """As our own server refuses a large body."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        await writer.drain()
        while await reader.read(65536):
            pass

    async with listening(refuse) as port:
        assert await fetch(port, "POST", b"x" * 4_000_000) == (413, b"no")


async def test_an_untrusted_certificate_is_refused(tmp_path: Path) -> None:
    files = await asyncio.to_thread(make_certificate, tmp_path, "localhost", alternative="DNS:localhost")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*files)
    async with listening(make_answerer(b"HTTP/1.1 204 No\r\n\r\n"), context) as port:
        with pytest.raises(EngineFailure, match="certificate is not trusted") as refused:
            await send_request(
                parse_address(f"https://localhost:{port}"), "GET", "/", headers={}, seconds=BOUND
            )
        assert "SSL_CERT_FILE" in refused.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:3000",
        "ftp://x",
        "http://",
        "http://u:p@h",
        "http://h?x=1",
        "http://h:99999",
        "http://h:3x",
        "http://h:-1",
        "http://h#x",
        "http://::1",
        "http://[::1",
        "http://[x]",
        "http:///path",
        "http://a:b:1",
        "http://h\r\nX: 1",
        "http://h/é",
        "http://bücher.example",
    ],
)
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_address(url)


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(InvalidArgument) as refused:
        parse_address("http://me:hunter2@h")
    assert "hunter2" not in str(refused.value)


def test_addresses_are_parsed() -> None:
    assert str(parse_address("http://localhost/")) == "http://localhost:80"
    assert str(parse_address("https://[::1]/a/")) == "https://[::1]:443/a"
    assert parse_address("HTTP://LocalHost:1").is_loopback
    assert str(parse_address("http://h:")) == "http://h:80"
    assert parse_address("http://[::1]:1").is_loopback
    assert not parse_address("http://10.0.0.1").is_loopback
