"""The transport over real sockets: subprotocols, TLS, frames, compression, and a proxy that does harm."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import random
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from client.proxy import FaultyProxy
from client.servers import Server, running
from client.user import TransportUser
from support.waiting import until
from support.web_app import serve_app
from vaultbridge.client.errors import ConnectFailed, ConnectionLost, InvalidMessage, SubprotocolRefused
from vaultbridge.client.websocket.transport import WebSocketTransport
from vaultbridge.errors import TimedOut


class User(TransportUser[WebSocketTransport]):
    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(WebSocketTransport(url, **{"reconnect_delay": 0.02, **options}))

    async def ask(self, request_id: Any, method: str = "echo", **params: Any) -> dict[str, Any]:
        await self.post(request_id, method, **params)
        return await self.answer(request_id)

    async def post(self, request_id: Any, method: str = "echo", **params: Any) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        await self.transport.send(message if request_id is None else {**message, "id": request_id})

    async def answer(self, request_id: Any) -> dict[str, Any]:
        def find_answers() -> list[dict[str, Any]]:
            return [m for m in self.messages if m.get("id") == request_id and "method" not in m]

        await until(lambda: bool(find_answers()))
        (answer,) = find_answers()
        return answer


@asynccontextmanager
async def proxied(**options: Any) -> AsyncIterator[tuple[Server, FaultyProxy, User]]:
    """A server, a proxy before it, and a connected user of the proxy."""
    async with (
        running() as server,
        FaultyProxy(server.port) as proxy,
        User(f"ws://127.0.0.1:{proxy.port}", **options) as user,
    ):
        yield server, proxy, user


# Connecting.


async def test_the_subprotocol_mcp_is_negotiated_by_default() -> None:
    async with running() as server, User(server.url) as user:
        assert user.transport.subprotocol == "mcp"
        assert server.headers[0]["Sec-WebSocket-Protocol"] == "mcp"


async def test_custom_subprotocols_are_offered_and_one_suffices() -> None:
    async with (
        running(protocols=("custom-protocol",)) as server,
        User(server.url, protocols=["mcp", "custom-protocol"]) as user,
    ):
        assert user.transport.subprotocol == "custom-protocol"
        assert "result" in await user.ask(1)


async def test_a_server_that_agrees_to_none_fails_the_connection_with_a_clear_error() -> None:
    async with running(protocols=()) as server:
        user = User(server.url)
        with pytest.raises(
            SubprotocolRefused, match=r"accepted none of the offered subprotocols \(mcp\).*protocols=\(\)"
        ):
            await user.transport.start()
        await until(lambda: not server.sockets)
        assert server.connections == 1, "it is not tried again"


async def test_without_subprotocols_none_is_offered_and_none_is_needed() -> None:
    async with running(protocols=()) as server, User(server.url, protocols=[]) as user:
        assert "Sec-WebSocket-Protocol" not in server.headers[0]
        assert user.transport.subprotocol is None and "result" in await user.ask(1)


async def test_a_refused_connection_says_so(closed_port: int) -> None:
    user = User(f"ws://127.0.0.1:{closed_port}")
    with pytest.raises(
        ConnectFailed, match=r"WebSocket error: cannot connect to 127.0.0.1:.*connection refused"
    ):
        await user.transport.start()


async def test_a_name_that_cannot_be_resolved_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_to_resolve(*_: Any, **__: Any) -> Any:
        """As the system answers; some take half a minute for it."""
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail_to_resolve)
    with pytest.raises(ConnectFailed, match=r"name of nowhere.invalid cannot be resolved"):
        await User("ws://nowhere.invalid").transport.start()


async def test_a_server_that_is_no_websocket_server_says_so() -> None:
    async def page(request: web.Request) -> web.Response:
        return web.Response(text="hello")

    app = web.Application()
    app.router.add_get("/", page)
    async with serve_app(app) as url:
        with pytest.raises(ConnectFailed, match=r"did not accept the upgrade \(HTTP 200\)"):
            await User(url.replace("http", "ws")).transport.start()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "ended the connection before it answered the upgrade"),
        (b"HTTP/1.1 101 Sw", "ended the connection before it answered the upgrade"),
        (b"\x16\x03\x01 not http at all\r\n\r\n", "answered with something that is not HTTP"),
        (
            b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
            "answered the upgrade wrongly",
        ),
    ],
)
async def test_a_server_that_breaks_the_upgrade_is_explained_in_words(answer: bytes, reason: str) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConnectFailed, match=reason) as failed:
            await User(f"ws://127.0.0.1:{port}").transport.start()
        assert len(str(failed.value)) < 200


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 101 Sw"])
async def test_an_attempt_is_one_upgrade_request(answer: bytes) -> None:
    """The HTTP library would send it a second time, without a word."""
    asked: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        user = User(f"ws://127.0.0.1:{port}")
        for attempt in (1, 2):
            with pytest.raises(ConnectFailed, match="ended the connection before it answered"):
                await user.transport.start()
            assert len(asked) == attempt


async def test_a_refused_token_is_reported_without_showing_it() -> None:
    async with running(token="right") as server:
        user = User(server.url, headers={"X-Claude-Code-Ide-Authorization": "wrong-secret"})
        with pytest.raises(ConnectFailed, match=r"refused access \(HTTP 401\)") as failed:
            await user.transport.start()
        assert "wrong-secret" not in str(failed.value)
        async with User(server.url, headers={"X-Claude-Code-Ide-Authorization": "right"}) as good:
            assert "result" in await good.ask(1)


async def test_a_server_that_never_answers_the_upgrade_times_out() -> None:
    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(TimedOut, match=r"no connection within"):
            await User(f"ws://127.0.0.1:{port}", connect_timeout=0.2).transport.start()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for localhost and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(pem)
    return folder / "cert.pem", folder / "key.pem"


def make_server_context(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


async def test_wss_works_with_a_custom_authority(certificate: tuple[Path, Path]) -> None:
    async with running(ssl=make_server_context(certificate)) as server:
        assert server.url.startswith("wss://")
        async with User(server.url, ca_file=certificate[0]) as user:
            assert "result" in await user.ask(1)
        own = ssl.create_default_context(cafile=str(certificate[0]))
        async with User(server.url, ssl_context=own) as user:
            assert "result" in await user.ask(1)


async def test_wss_refuses_a_certificate_it_does_not_know(certificate: tuple[Path, Path]) -> None:
    async with running(ssl=make_server_context(certificate)) as server:
        with pytest.raises(ConnectFailed, match=r"certificate of localhost:.* is not trusted: self-signed"):
            await User(server.url).transport.start()


async def test_a_missing_file_of_authorities_is_reported() -> None:
    with pytest.raises(ConnectFailed, match=r"certificate authorities cannot be read: no such file"):
        await User("wss://localhost:1", ca_file="missing.pem").transport.start()


async def test_a_client_certificate_is_shown_when_asked_for(certificate: tuple[Path, Path]) -> None:
    context = make_server_context(certificate)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(certificate[0])
    async with running(ssl=context) as server:
        own = ssl.create_default_context(cafile=str(certificate[0]))
        own.load_cert_chain(*certificate)
        async with User(server.url, ssl_context=own) as user:
            assert "result" in await user.ask(1)


# Frames.


async def test_messages_travel_as_text_or_as_binary_frames() -> None:
    async with running() as server:
        async with User(server.url) as user:
            assert (await user.ask(1))["result"]["frame"] == "text"
        async with User(server.url, binary=True) as user:
            assert (await user.ask(1, text="äöü"))["result"]["frame"] == "binary"


async def test_binary_json_is_understood_and_raw_bytes_are_refused() -> None:
    async with running() as server, User(server.url) as user:
        await user.post(None, "say_binary", hex=b'{"jsonrpc":"2.0","method":"hi"}'.hex())
        await user.post(None, "say_binary", hex="00ff00ff")
        assert "result" in await user.ask(1)
        assert user.messages[0] == {"jsonrpc": "2.0", "method": "hi"}
        assert isinstance(user.errors[0], InvalidMessage) and len(user.errors) == 1
        assert user.transport.is_connected


@pytest.mark.parametrize("offered", [True, False])
async def test_compression_is_negotiated_when_it_is_wanted(offered: bool) -> None:
    async with running() as server, User(server.url, compression=offered) as user:
        text = "wiki " * 20_000
        assert (await user.ask(1, text=text))["result"]["params"]["text"] == text
        assert ("permessage-deflate" in server.headers[0].get("Sec-WebSocket-Extensions", "")) is offered


async def test_an_oversized_answer_fails_its_request_and_a_huge_one_ends_the_connection() -> None:
    async with running() as server, User(server.url, max_message_bytes=10_000) as user:
        await user.post(7, "silence")
        await user.post(None, "flood", id=7, size=20_000)
        assert "limit is 10000" in (await user.answer(7))["error"]["message"]
        assert "result" in await user.ask(8)
        assert server.connections == 1
        await user.post(9, "silence")
        await user.post(None, "flood", id=9, size=100_000)
        assert (await user.answer(9))["error"]["data"]["reason"] == "connection-lost"
        assert [e.close_code for e in user.errors if isinstance(e, ConnectionLost)] == [1009]
        assert "result" in await user.ask(10)


async def test_the_server_s_close_code_is_reported() -> None:
    async with running() as server, User(server.url) as user:
        await user.post(None, "bye")
        await until(lambda: server.connections == 2)
        (lost,) = [e for e in user.errors if isinstance(e, ConnectionLost)]
        assert lost.close_code == 1012 and "code 1012" in str(lost)


async def test_a_close_frame_without_a_code_is_a_proper_close() -> None:
    async def leave(ws: web.WebSocketResponse, request: web.Request) -> None:
        async for _ in ws:
            assert request.transport is not None
            request.transport.write(b"\x88\x00")  # type: ignore[attr-defined]

    async with running(leave) as server, User(server.url) as user:
        await user.post(None, "n")
        await until(lambda: server.connections == 2)
        (lost,) = [e for e in user.errors if isinstance(e, ConnectionLost)]
        assert lost.close_code == 1005 and "without a code" in str(lost)


async def test_closing_sends_a_close_frame_and_learns_that_everything_arrived() -> None:
    seen: list[Any] = []

    async def note(ws: web.WebSocketResponse, request: web.Request) -> None:
        async for frame in ws:
            seen.append(frame.json()["method"])
        seen.append(ws.close_code)

    async with running(note) as server:
        user = User(server.url)
        await user.transport.start()
        for n in range(50):
            await user.post(None, f"n{n}")
        await user.transport.close()
        await until(lambda: not server.sockets)
        assert seen == [*(f"n{n}" for n in range(50)), 1000]
        assert user.errors == [] and user.closed == 1


async def test_pings_of_the_server_are_answered() -> None:
    answered = asyncio.Event()

    async def ping(ws: web.WebSocketResponse, request: web.Request) -> None:
        await ws.ping(b"are you there")
        async for frame in ws:
            if frame.type is web.WSMsgType.PONG and frame.data == b"are you there":
                answered.set()

    class NoAutoPing(web.WebSocketResponse):
        def __init__(self, **options: Any) -> None:
            super().__init__(autoping=False, **options)

    server = Server(ping)
    original = web.WebSocketResponse
    web.WebSocketResponse = NoAutoPing  # type: ignore[misc]
    try:
        await server.start()
        async with User(server.url):
            async with asyncio.timeout(60):
                await answered.wait()
        await server.stop()
    finally:
        web.WebSocketResponse = original  # type: ignore[misc]


# Harm.


async def test_a_cut_connection_is_replaced_and_the_open_request_fails() -> None:
    async with proxied() as (server, proxy, user):
        await user.post(1, "silence")
        await until(lambda: server.connections == 1)
        proxy.cut()
        assert (await user.answer(1))["error"]["data"]["reason"] == "connection-lost"
        assert "result" in await user.ask(2)
        assert user.transport.metrics().reconnects == 1


async def test_a_reset_inside_a_frame_delivers_nothing_of_it() -> None:
    async with proxied() as (_, proxy, user):
        proxy.cut_after = 40
        answer = await user.ask(1, text="x" * 500)
        assert answer["error"]["data"]["reason"] == "connection-lost"
        assert "result" in await user.ask(2)


@pytest.mark.parametrize("harm", ["double", "reverse"])
async def test_doubled_or_reordered_bytes_never_give_a_request_two_answers(harm: str) -> None:
    async with proxied() as (_, proxy, user):
        assert "result" in await user.ask(0)
        setattr(proxy, harm, True)
        await user.post(1, text="x" * 300)
        await user.answer(1)
        assert "result" in await user.ask(2)
        assert len([m for m in user.messages if m["id"] == 1]) == 1


async def test_the_heartbeat_notices_a_half_open_connection() -> None:
    async with proxied(heartbeat=0.1, heartbeat_timeout=0.2) as (_, proxy, user):
        proxy.go_deaf()
        await user.post(1)
        await until(lambda: any("heartbeat" in str(e) for e in user.errors))
        proxy.hear_again()
        assert "error" in await user.answer(1)
        await until(lambda: user.transport.is_connected)
        # So short a heartbeat may find a busy machine dead too; in the end the connection works.
        for n in range(2, 50):
            if "result" in await user.ask(n):
                return
        raise AssertionError("the connection never worked again")


async def test_a_stalled_connection_blocks_the_sender_only_until_it_flows_again() -> None:
    async with proxied(heartbeat=None, max_queue_bytes=2**28) as (_, proxy, user):
        proxy.stall()
        for n in range(30):
            with_data = asyncio.create_task(user.post(n, text="x" * 2**20))
            await asyncio.wait([with_data], timeout=0.02)
            if not with_data.done():
                break
        assert not with_data.done(), "the socket's buffers must be full by now"
        proxy.flow()
        await with_data
        for m in range(n + 1):
            assert "result" in await user.answer(m)


async def test_a_stalled_connection_can_be_closed_within_the_close_timeout() -> None:
    async with running() as server, FaultyProxy(server.port) as proxy:
        user = User(f"ws://127.0.0.1:{proxy.port}", heartbeat=None, close_timeout=0.2)
        await user.transport.start()
        proxy.stall()
        stuck = []
        for n in range(30):
            stuck.append(asyncio.create_task(user.post(n, text="x" * 2**20)))
            await asyncio.wait(stuck[-1:], timeout=0.02)
            if not stuck[-1].done():
                break
        async with asyncio.timeout(60):
            await user.transport.close()
            await asyncio.gather(*stuck, return_exceptions=True)
        assert user.closed == 1 and len(user.messages) == n + 1
        proxy.flow()


async def test_a_restarted_server_is_found_again() -> None:
    async with running() as server, User(server.url, reconnect_attempts=50) as user:
        for n in range(3):
            assert "result" in await user.ask(n)
            await server.restart()
            await until(lambda: user.transport.is_connected and bool(server.sockets))


async def test_a_server_that_refuses_the_subprotocol_after_a_restart_spends_the_attempts() -> None:
    async with running() as server, User(server.url, reconnect_attempts=2) as user:
        server.protocols = ()
        await user.post(None, "drop")
        await until(lambda: user.closed == 1)
        assert sum(isinstance(e, SubprotocolRefused) for e in user.errors) == 2


async def test_random_harm_through_real_sockets_keeps_every_promise() -> None:
    """The same invariants as in test_faults.py, over TCP: one answer each, nothing doubled."""
    rng = random.Random(7)
    seen: list[int] = []

    async def note(ws: web.WebSocketResponse, request: web.Request) -> None:
        async for frame in ws:
            message = frame.json()
            seen.append(message["params"]["n"])
            if "id" in message:
                await ws.send_json({"jsonrpc": "2.0", "id": message["id"], "result": {}})

    async with running(note) as server, FaultyProxy(server.port) as proxy:
        user = User(
            f"ws://127.0.0.1:{proxy.port}",
            reconnect_attempts=100_000,
            reconnect_longest=0.01,
            stable_after=0,
            connect_timeout=60.0,
            # So short that a busy machine is found dead, too; what is promised holds then as well.
            heartbeat=0.05,
            heartbeat_timeout=0.3,
            request_timeout=10.0,  # Bytes that came twice may leave an answer that nobody can read.
        )
        harms = [
            proxy.cut,
            proxy.swallow,
            lambda: setattr(proxy, "cut_after", rng.randrange(200)),
        ]
        harms += [lambda: setattr(proxy, "refuse", 2), lambda: setattr(proxy, "double", True)]
        async with user:
            for n in range(600):
                await user.post(n, n=n)
                if rng.random() < 0.08:
                    rng.choice(harms)()
                await asyncio.sleep(0.003)
            await until(lambda: len({m["id"] for m in user.messages}) == 600)
        ids = [m["id"] for m in user.messages]
        assert sorted(ids) == list(range(600)), "each request has exactly one answer"
        assert len(seen) == len(set(seen)) and seen == sorted(seen), "sent once, in order"
        assert all(m["id"] in seen for m in user.messages if "result" in m)
        assert user.transport.metrics().reconnects > 5, "the harm was real"
        await until(lambda: proxy.open_connections == 0)
