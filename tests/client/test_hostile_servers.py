"""Whatever a server sends, a client ends in bounded time with one clear error, and sends its token nowhere
else. The servers are drawn (`hostile.py`); these are a few hundred of them, the same in each run, and most of
them are left to the long tests.

    VAULTBRIDGE_HOSTILE=1000:500 python -m pytest tests/client/test_hostile_servers.py

draws 500 others, from seed 1000 on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from client import hostile
from client.hostile import Exchange, HostileServer, make_answer, make_head, make_response
from support.long_form import mark_long_after
from vaultbridge.client import Session, StdioTransport, StreamableHttpTransport, WebSocketTransport
from vaultbridge.client.http import transport as http_transport
from vaultbridge.client.session import ANSWERING
from vaultbridge.client.transport import State, Transport
from vaultbridge.errors import VaultbridgeError
from vaultbridge.protocols.bridge_v1 import client as bridge_client
from vaultbridge.protocols.bridge_v1.client import BridgeClient

BOUND = 120.0
"""Seconds that a client may take on a machine busy with other things."""

PATIENCE = 0.5
"""The time limit of each request: silence is part of what is drawn."""

TOKEN = "token-of-the-vault-1234567890"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "X-Api-Key": TOKEN}

BLOCK = 10
"""Servers per test."""


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_client, "LIST_SECONDS", PATIENCE)
    monkeypatch.setattr(http_transport, "CLOSE_SECONDS", PATIENCE)


async def use(transport: Transport) -> list[str]:
    """Use a server as a program does. Returns the texts of all errors."""
    errors: list[Exception] = []
    transport.on_error = errors.append
    try:
        async with Session(transport, timeout=PATIENCE) as session:
            await session.list_tools()
            await session.call_tool("t", {"a": 1})
    except VaultbridgeError as error:
        errors.append(error)
    return [str(error) for error in errors]


async def use_http(server: HostileServer) -> list[str]:
    return await use(StreamableHttpTransport(f"http://127.0.0.1:{server.port}/mcp", headers=HEADERS))


async def use_websocket(server: HostileServer) -> list[str]:
    url = f"ws://127.0.0.1:{server.port}/"
    return await use(
        WebSocketTransport(
            url, headers=HEADERS, connect_timeout=PATIENCE, close_timeout=PATIENCE, reconnect_attempts=1
        )
    )


async def use_bridge(server: HostileServer) -> list[str]:
    client = BridgeClient(f"http://127.0.0.1:{server.port}", key=TOKEN, call_seconds=PATIENCE)
    try:
        await client.fetch_tools()
        await client.call("t", {})
    except VaultbridgeError as error:
        return [str(error)]
    return []


KINDS: dict[str, tuple[Callable[[int], HostileServer], Callable[[HostileServer], Awaitable[list[str]]]]] = {
    "http": (hostile.draw_http_server, use_http),
    "websocket": (hostile.draw_websocket_server, use_websocket),
    "bridge": (hostile.draw_bridge_server, use_bridge),
}


@contextlib.asynccontextmanager
async def nothing_unhandled(caplog: pytest.LogCaptureFixture) -> AsyncIterator[None]:
    """No exception ends in the event loop or in the log, and no task of the client is left."""
    loop, unhandled = asyncio.get_running_loop(), []
    loop.set_exception_handler(lambda _, context: unhandled.append(context))
    before = asyncio.all_tasks()
    yield
    for task in asyncio.all_tasks() - before:
        await asyncio.wait_for(asyncio.wait({task}), BOUND)
    assert not unhandled
    assert not [record for record in caplog.records if record.exc_info or record.levelname == "ERROR"]


def check_errors(server: HostileServer, errors: list[str]) -> None:
    assert not server.trapped, f"{server.done}: a request reached another origin"
    for text in errors:
        assert TOKEN not in text, server.done
        assert "Traceback" not in text, server.done
        assert len(text) < 3000, server.done


async def meet(kind: str, seed: int) -> None:
    make, run = KINDS[kind]
    async with make(seed) as server:
        try:
            async with asyncio.timeout(BOUND):
                errors = await run(server)
        except TimeoutError:
            raise AssertionError(f"seed {seed}: {server.done}: the client waits forever") from None
        check_errors(server, errors)


def draw_blocks() -> list[range]:
    start, count = map(int, os.environ.get("VAULTBRIDGE_HOSTILE", "0:60").split(":"))
    return [range(first, min(first + BLOCK, start + count)) for first in range(start, start + count, BLOCK)]


@pytest.mark.parametrize("seeds", mark_long_after(1, draw_blocks()), ids=lambda seeds: f"from {seeds[0]}")
@pytest.mark.parametrize("kind", KINDS)
async def test_a_drawn_server(kind: str, seeds: range, caplog: pytest.LogCaptureFixture) -> None:
    async with nothing_unhandled(caplog):
        for seed in seeds:
            await meet(kind, seed)


@pytest.mark.parametrize("seed", mark_long_after(3, range(14)))
async def test_a_drawn_server_over_stdio(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    async with nothing_unhandled(caplog), asyncio.timeout(BOUND):
        errors = await use(StdioTransport([sys.executable, hostile.__file__, str(seed)]))
    assert all(len(text) < 10_000 for text in errors)


# What was found this way.


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("step", ["initialize", "notifications/initialized", "GET", "tools/list", "DELETE"])
@pytest.mark.parametrize("header", ["Location", "URI"])
async def test_no_redirect_leads_to_another_origin(header: str, step: str, status: int) -> None:
    """aiohttp follows the obsolete `URI` too, and sends every header but `Authorization` along."""

    async def redirect(exchange: Exchange) -> None:
        where = f"http://127.0.0.1:{exchange.session}/"
        await exchange.write(make_head(f"{status} Moved", **{header: where, "Content-Length": 0}))

    async with HostileServer(0, redirect, step) as server, asyncio.timeout(BOUND):
        await use_http(server)
        assert server.done
        assert not server.trapped


@pytest.mark.parametrize(
    "step", ["notifications/initialized", "initialize", "tools/list", "tools/call", "DELETE"]
)
async def test_a_server_that_falls_silent_at_any_step_is_given_up(step: str) -> None:
    """A notification had no time limit."""
    async with HostileServer(0, hostile.say_nothing, step) as server, asyncio.timeout(BOUND):
        errors = await use_http(server)
        assert server.done
        assert bool(errors) == (step != "DELETE")


async def test_a_message_without_an_answer_is_given_up_without_a_session_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_transport, "ACCEPT_SECONDS", 0.05)
    async with HostileServer(0, hostile.say_nothing, "x") as server:
        transport = StreamableHttpTransport(f"http://127.0.0.1:{server.port}/mcp")
        await transport.start()
        with pytest.raises(VaultbridgeError, match="timed out"):
            await asyncio.wait_for(transport.send({"jsonrpc": "2.0", "method": "x"}), BOUND)
        await transport.close()


async def test_a_server_cannot_ask_for_its_stream_to_be_opened_without_a_pause() -> None:
    """With `retry: 0` a server that ended each stream at once was asked a thousand times a second."""
    opened: list[float] = []
    thrice = asyncio.Event()

    async def end_at_once(exchange: Exchange) -> None:
        opened.append(asyncio.get_running_loop().time())
        if len(opened) == 3:
            thrice.set()
        head = make_head(Content_Type="text/event-stream", Connection="close")
        await exchange.write(head + b"retry: 0\nid: 5\ndata: {}\n\n")
        raise EOFError

    async with HostileServer(0, end_at_once, "GET") as server:
        transport = StreamableHttpTransport(f"http://127.0.0.1:{server.port}/mcp")
        async with Session(transport):
            await asyncio.wait_for(thrice.wait(), BOUND)
    # The clock of the event loop ticks more coarsely than it sleeps.
    assert opened[2] - opened[1] >= http_transport.SHORTEST_DELAY * 0.9


@pytest.mark.parametrize(
    "value", ["\x01", "\x7f", "é", "\udcff", "x" * 7000, "", "a\tb", "\x1b[2J", "😀", "\x85"]
)
async def test_an_odd_session_id_is_an_error_or_works(value: str, caplog: pytest.LogCaptureFixture) -> None:
    async def name_session(exchange: Exchange) -> None:
        body = json.dumps(make_answer(exchange.message)).encode()
        await exchange.write(make_response(body, **{"Mcp-Session-Id": value}))

    async with nothing_unhandled(caplog), HostileServer(0, name_session, "initialize") as server:
        async with asyncio.timeout(BOUND):
            check_errors(server, await use_http(server))


class DeafTransport:
    """A server that takes nothing: `send` never returns."""

    on_message: Any = None
    on_close: Any = None
    on_error: Any = None
    on_state: Any = None
    state = State.CONNECTED
    is_connected = True
    queue_size = 0

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def is_alive(self, patience: float = 0) -> bool:
        return True

    async def send(self, message: object) -> None:
        await asyncio.Event().wait()


async def test_a_server_that_asks_and_reads_no_answer_is_not_read_for_ever() -> None:
    transport = DeafTransport()
    session = Session(transport, timeout=PATIENCE)
    with pytest.raises(VaultbridgeError):
        await asyncio.wait_for(session.open(), BOUND)
    for number in range(ANSWERING - 1):
        request = {"jsonrpc": "2.0", "id": number, "method": "sampling/createMessage"}
        assert transport.on_message(request) is None
    waiting = transport.on_message({"jsonrpc": "2.0", "id": -1, "method": "roots/list"})
    assert waiting is not None
    reading = asyncio.ensure_future(waiting)
    await asyncio.sleep(0)
    assert not reading.done()
    await session.close()
    await asyncio.wait_for(reading, BOUND)
