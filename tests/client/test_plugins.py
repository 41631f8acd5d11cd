"""The plugins: one shape for WebSocket, stdio and Streamable HTTP. The seed's samples: test_examples.py."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from client.http_fixture import fixture_over_http
from client.servers import core_server, make_sdk_server, running, serve_sdk
from support.waiting import until
from vaultbridge.client.errors import ConnectFailed
from vaultbridge.client.plugins import HttpPlugin, StdioPlugin, TransportPlugin, WebSocketPlugin
from vaultbridge.client.session import Session
from vaultbridge.errors import InvalidArgument

FIXTURE = {"command": sys.executable, "args": ["tests/conformance/fixture.py", "stdio"]}


async def use(plugin: TransportPlugin, config: dict[str, Any]) -> None:
    """What every plugin must do, whatever is beneath."""
    assert not plugin.is_connected() and not await plugin.is_healthy() and plugin.get_queue_size() == 0
    await plugin.initialize(config)
    assert not plugin.is_connected()
    transport = await plugin.connect()
    assert plugin.is_connected() and await plugin.is_healthy() and plugin.get_queue_size() == 0
    async with Session(transport) as session:
        result = await plugin.call_tool(session, "test_simple_text", {})
        assert result["content"][0]["text"]
        found = await plugin.get_primitives(session)
        assert {p.type for p in found} == {"tool", "resource", "template", "prompt"}
    await plugin.disconnect()
    assert not plugin.is_connected() and not await plugin.is_healthy()
    again = await plugin.connect()
    async with Client(again) as client:
        result = await plugin.call_tool(client, "test_simple_text")
        assert result.content[0].text
    await plugin.disconnect()


async def test_the_websocket_plugin_keeps_the_shape() -> None:
    async with core_server() as port:
        await use(WebSocketPlugin(), {"url": f"ws://127.0.0.1:{port}"})


async def test_the_stdio_plugin_keeps_the_shape() -> None:
    await use(StdioPlugin(), FIXTURE)


async def test_the_http_plugin_keeps_the_shape() -> None:
    async with fixture_over_http() as url:
        await use(HttpPlugin(), {"url": url})


@pytest.mark.parametrize(
    ("plugin", "config", "reason"),
    [
        (WebSocketPlugin(), {"url": "http://x"}, "must start with ws:// or wss://"),
        (
            WebSocketPlugin(),
            {"url": "ws://a b"},
            "URL: it contains ' ', which is written %20",
        ),
        (WebSocketPlugin(), {"url": "ws://x/%zz"}, "a % must be followed by two hexadecimal digits"),
        (WebSocketPlugin(), {"url": "ws://x/\n"}, r"it contains '\\n', which is written %0A"),
        (HttpPlugin(), {"url": "http://a b"}, "Invalid HTTP URL"),
        (WebSocketPlugin(), {}, "no url"),
        (WebSocketPlugin(), {"url": "ws://x", "reconnectAttempts": "three"}, "reconnect_attempts"),
        (StdioPlugin(), {}, "command"),
        (StdioPlugin(), {"command": "x", "args": "y"}, "args"),
        (HttpPlugin(), {"url": "ws://x"}, "must start with http:// or https://"),
        (HttpPlugin(), {"url": "http://x", "header": {}}, "header"),
    ],
)
async def test_a_wrong_configuration_is_refused_by_initialize(plugin: Any, config: Any, reason: str) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        await plugin.initialize(config)


async def test_whether_it_is_connected_may_be_read_and_called() -> None:
    """The document writes `isConnected()`, Python a property; a method read without a call would be true."""
    plugin = WebSocketPlugin()
    assert not plugin.is_connected and plugin.is_connected() is False
    async with core_server() as port:
        transport = await plugin.connect({"url": f"ws://127.0.0.1:{port}"})
        for each in (plugin, transport):
            assert each.is_connected and each.is_connected == True  # noqa: E712 - it equals the value
            assert each.is_connected() is True and f"{each.is_connected}" == "True"
        await plugin.disconnect()
    for each in (plugin, transport):
        assert not each.is_connected and each.is_connected() is False and f"{each.is_connected}" == "False"


async def test_settings_for_connect_override_those_for_initialize() -> None:
    async with running() as server:
        plugin = WebSocketPlugin()
        await plugin.initialize({"url": "ws://127.0.0.1:1", "reconnectAttempts": 7})
        transport = await plugin.connect({"url": server.url})
        assert transport.settings.reconnect_attempts == 7 and transport.is_connected
        await plugin.disconnect()


async def test_connecting_again_closes_the_earlier_transport() -> None:
    async with running() as server:
        plugin = WebSocketPlugin()
        first = await plugin.connect({"url": server.url})
        second = await plugin.connect({"url": server.url})
        assert not first.is_connected and second.is_connected
        await plugin.disconnect()
        await plugin.disconnect()


async def test_a_failed_connect_raises_and_leaves_the_plugin_disconnected(closed_port: int) -> None:
    plugin = WebSocketPlugin()
    with pytest.raises(ConnectFailed):
        await plugin.connect({"url": f"ws://127.0.0.1:{closed_port}"})
    assert not plugin.is_connected() and plugin.get_queue_size() == 0


async def test_the_queue_size_is_the_transport_s() -> None:
    async with running() as server:
        plugin = WebSocketPlugin()
        transport = await plugin.connect({"url": server.url, "reconnectDelay": 60_000})
        port = server.port
        await server.stop()
        await until(lambda: not plugin.is_connected())
        for _ in range(3):
            await transport.send({"jsonrpc": "2.0", "method": "m"})
        assert plugin.get_queue_size() == 3 and not await plugin.is_healthy()
        await plugin.disconnect()
        await server.start(port)


async def test_the_primitives_of_the_official_server_are_filtered_by_type() -> None:
    async with running(serve_sdk(make_sdk_server())) as server:
        plugin = WebSocketPlugin()
        async with Client(await plugin.connect({"url": server.url})) as client:
            found = await plugin.get_primitives(client)
            assert [p.name for p in found if p.type == "tool"] == ["add", "fail"]
            assert [p.name for p in found if p.type == "resource"] == ["test://note"]
            assert [p.name for p in found if p.type == "prompt"] == ["greet"]


async def test_a_plugin_may_connect_again_with_the_same_queue_file(tmp_path: Path) -> None:
    async with running() as server:
        plugin = WebSocketPlugin()
        await plugin.initialize({"url": server.url, "queue_file": str(tmp_path / "queue.sqlite")})
        first = await plugin.connect()
        second = await plugin.connect()
        assert second is not first and plugin.is_connected() and not first.is_connected
        with pytest.raises(InvalidArgument):
            await plugin.connect({"reconnectDelay": "soon"})
        assert plugin.is_connected(), "a wrong configuration closes nothing"
        await plugin.disconnect()
