"""The official SDK's `Client` over our transports, against the official SDK's server and our own core."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from client.proxy import FaultyProxy
from client.servers import core_server, make_sdk_server, running, serve_sdk
from support.waiting import until
from vaultbridge.client.errors import ConnectFailed, ConnectionLost
from vaultbridge.client.stdio import StdioTransport
from vaultbridge.client.websocket.transport import WebSocketTransport

MODES = [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]


@asynccontextmanager
async def reference() -> AsyncIterator[Any]:
    """The official server, with `calls` to see what it has carried out."""
    made = make_sdk_server()
    async with running(serve_sdk(made)) as server:
        server.calls = made.calls
        yield server


@pytest.mark.parametrize(("mode", "version"), MODES)
async def test_the_official_client_works_against_the_official_server(mode: str, version: str) -> None:
    async with reference() as server, Client(WebSocketTransport(server.url), mode=mode) as client:
        assert client.protocol_version == version
        assert (await client.call_tool("add", {"a": 2, "b": 3})).structured_content == {"result": 5}
        assert [tool.name for tool in (await client.list_tools()).tools] == ["add", "fail"]
        read = await client.read_resource("test://note")
        assert read.contents[0].text == "# A note\n"
        prompt = await client.get_prompt("greet", {"name": "Ada"})
        assert "Ada" in prompt.messages[0].content.text
        assert (await client.call_tool("fail")).is_error


@pytest.mark.parametrize(("mode", "version"), MODES)
async def test_the_official_client_works_against_our_own_core(mode: str, version: str) -> None:
    async with (
        core_server() as port,
        Client(WebSocketTransport(f"ws://127.0.0.1:{port}"), mode=mode) as client,
    ):
        assert client.protocol_version == version
        result = await client.call_tool("test_simple_text")
        assert result.content[0].text
        assert len((await client.list_tools()).tools) > 10
        assert (await client.read_resource("test://static-text")).contents[0].text
        assert (await client.get_prompt("test_simple_prompt")).messages


@pytest.mark.parametrize(("mode", "version"), MODES)
@pytest.mark.parametrize("whose", ["official", "own"])
async def test_a_lost_connection_fails_the_open_call_and_the_session_continues(
    mode: str, version: str, whose: str
) -> None:
    async with (
        reference() as server,
        core_server() as own_port,
        FaultyProxy(server.port if whose == "official" else own_port) as proxy,
    ):
        transport = WebSocketTransport(f"ws://127.0.0.1:{proxy.port}", reconnect_delay=0.01)
        tool: tuple[str, dict[str, Any]] = (
            ("add", {"a": 1, "b": 1}) if whose == "official" else ("test_simple_text", {})
        )
        async with Client(transport, mode=mode) as client:
            assert not (await client.call_tool(*tool)).is_error
            proxy.go_deaf()
            call = asyncio.create_task(client.call_tool(*tool))
            await until(lambda: transport.metrics().in_flight == 1)
            proxy.cut()
            with pytest.raises(MCPError, match="Connection lost before the answer to 'tools/call'"):
                await call
            proxy.hear_again()
            for _ in range(3):
                assert not (await client.call_tool(*tool)).is_error
            assert client.protocol_version == version


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_server_restarted_twenty_times_under_a_thousand_calls(mode: str) -> None:
    """Each call either succeeds, carried out once, or raises; and the session works at the end."""
    async with reference() as server:
        transport = WebSocketTransport(
            server.url, reconnect_attempts=200, reconnect_delay=0.005, reconnect_longest=0.02, stable_after=0
        )
        outcomes: dict[int, str] = {}

        async with Client(transport, mode=mode) as client:

            async def call(n: int) -> None:
                try:
                    result = await client.call_tool("add", {"a": n, "b": 1})
                    assert result.structured_content == {"result": n + 1}
                    outcomes[n] = "ok"
                except MCPError as error:
                    assert "Connection lost" in str(error), error
                    outcomes[n] = "lost"

            waiting: set[asyncio.Task[None]] = set()
            for n in range(1000):
                waiting.add(asyncio.create_task(call(n)))
                if len(waiting) >= 20:
                    _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if n % 50 == 25:
                    await server.restart()
            await asyncio.wait(waiting)
            final = await client.call_tool("add", {"a": 5000, "b": 1})
            assert final.structured_content == {"result": 5001}
        assert len(outcomes) == 1000
        carried_out = [n for n in server.calls if n < 1000]
        assert len(carried_out) == len(set(carried_out)), "no call was carried out twice"
        assert all(n in set(carried_out) for n, outcome in outcomes.items() if outcome == "ok")
        assert transport.metrics().reconnects == 20
        lost = sum(outcome == "lost" for outcome in outcomes.values())
        assert 0 < lost < 700, "the restarts were real, and most calls got through"


async def test_a_failed_first_connect_reaches_the_caller(closed_port: int) -> None:
    with pytest.raises(ConnectFailed, match="connection refused"):
        async with Client(WebSocketTransport(f"ws://127.0.0.1:{closed_port}")):
            pass


async def test_when_no_attempts_are_left_the_official_client_learns_it() -> None:
    async with reference() as server:
        transport = WebSocketTransport(server.url, reconnect_attempts=1)
        closed: list[bool] = []
        transport.on_close = lambda: closed.append(True)
        async with Client(transport) as client:
            await server.stop()
            await until(lambda: bool(closed))
            with pytest.raises(MCPError, match="Connection closed"):
                await client.call_tool("add", {"a": 1, "b": 1})
        await server.start()


async def test_transport_errors_reach_the_message_handler_of_the_official_client() -> None:
    async with reference() as server:
        seen: list[Any] = []

        async def handler(message: Any) -> None:
            seen.append(message)

        transport = WebSocketTransport(server.url, reconnect_delay=0.01)
        async with Client(transport, message_handler=handler) as client:
            await server.restart()
            await until(lambda: any(isinstance(m, ConnectionLost) for m in seen))
            await client.call_tool("add", {"a": 1, "b": 1})


async def test_a_result_that_is_no_object_fails_its_call_instead_of_hanging() -> None:
    async def send_text_results(ws: Any, request: Any) -> None:
        async for frame in ws:
            message = frame.json()
            if "id" in message:
                await ws.send_json({"jsonrpc": "2.0", "id": message["id"], "result": "just text"})

    async with running(send_text_results) as server:
        with pytest.raises(ExceptionGroup) as raised:
            async with Client(WebSocketTransport(server.url), mode="legacy"):
                pass
        assert raised.group_contains(MCPError, match="not an object")


async def test_the_stdio_transport_serves_the_official_client_too() -> None:
    command = [sys.executable, "tests/conformance/fixture.py", "stdio"]
    async with Client(StdioTransport(command)) as client:
        assert (await client.call_tool("test_simple_text")).content


def test_without_the_sdk_the_transport_alone_works_and_the_streams_say_what_to_install() -> None:
    """In a process of its own, in which the SDK cannot be imported."""
    script = """
import asyncio, sys
sys.modules["mcp"] = None
from vaultbridge.client import WebSocketTransport
from aiohttp import web

async def main():
    async def echo(request):
        ws = web.WebSocketResponse(protocols=("mcp",))
        await ws.prepare(request)
        async for frame in ws:
            await ws.send_json({"jsonrpc": "2.0", "id": frame.json()["id"], "result": {}})
        return ws

    app = web.Application()
    app.router.add_get("/", echo)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"ws://127.0.0.1:{runner.addresses[0][1]}"
    transport = WebSocketTransport(url)
    got = asyncio.get_running_loop().create_future()
    transport.on_message = got.set_result
    await transport.start()
    await transport.send({"jsonrpc": "2.0", "id": 1, "method": "m"})
    print((await asyncio.wait_for(got, 60))["id"])
    await transport.close()
    try:
        async with WebSocketTransport(url):
            pass
    except Exception as error:
        print(error)
    await runner.cleanup()

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "1",
        "The official MCP SDK is not installed. Install vaultbridge[client], or use callbacks.",
    ]
