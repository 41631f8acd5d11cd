"""The provider behind the stdio bridge: tools that come and go with the other side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.bridge import SampleProvider, running
from support.ports import held_port
from support.waiting import BOUND
from support.wire import Wire
from vaultbridge.protocols.bridge_v1.client import BridgeClient
from vaultbridge.protocols.bridge_v1.stdio_bridge import STATUS_TOOL, BridgeProvider, make_mcp_names
from vaultbridge.protocols.mcp.dialect import mcp_dialect
from vaultbridge.protocols.mcp.provider import Offer, Provider
from vaultbridge.protocols.mcp.server import McpServer


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first list waits until the other side was asked, however busy the machine is."""
    monkeypatch.setattr("vaultbridge.protocols.bridge_v1.stdio_bridge.FIRST_LIST_SECONDS", BOUND)


@pytest.fixture
def port() -> Iterator[int]:
    """Where nobody listens yet."""
    with held_port() as port:
        yield port


@asynccontextmanager
async def bridged(port: int, version: str = "2025-11-25", **options: Any) -> AsyncIterator[Wire]:
    """An MCP client of the stdio bridge's provider, past the handshake."""

    async def make() -> Provider:
        provider = BridgeProvider(BridgeClient(f"http://127.0.0.1:{port}", **options), poll_seconds=0.02)
        provider.start()
        return provider

    server = McpServer(Offer(), make)
    wire = Wire(mcp_dialect(server), version=version)
    await wire.initialize()
    try:
        yield wire
    finally:
        await wire.connection.close()
        await server.close()


async def list_tool_names(wire: Wire) -> list[str]:
    return [tool["name"] for tool in (await wire.result("tools/list"))["tools"]]


async def call(wire: Wire, name: str, **arguments: Any) -> Any:
    return await wire.result("tools/call", {"name": name, "arguments": arguments})


async def test_the_servers_tools_are_listed_and_called() -> None:
    async with running() as bridge, bridged(bridge.port) as wire:
        listed = (await wire.result("tools/list"))["tools"]
        assert listed[0] == {
            "name": "read_note",
            "description": "Read a note by path",
            "inputSchema": {
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
            },
        }
        assert (await call(wire, "read_note", path="a.md"))["content"] == [{"type": "text", "text": "# a.md"}]
        picture = await call(wire, "picture")
        assert picture["content"][1]["mimeType"] == "image/png"
        failed = await call(wire, "read_note", path="Notes/Missing.md")
        assert failed["isError"] is True
        assert failed["content"][0]["text"] == "Error: No note named 'Notes/Missing.md'."


async def test_names_that_clients_refuse_are_changed_and_still_work() -> None:
    async with running() as bridge, bridged(bridge.port) as wire:
        assert "odd_name" in await list_tool_names(wire)
        assert (await call(wire, "odd_name"))["content"][0]["text"] == "odd name/é"


async def test_a_change_of_the_servers_tools_is_announced() -> None:
    async with running() as bridge, bridged(bridge.port) as wire:
        assert "picture" in await list_tool_names(wire)
        bridge.provider.tools = bridge.provider.tools[:1]
        bridge.provider.announce()
        await wire.notification("notifications/tools/list_changed")
        assert await list_tool_names(wire) == ["read_note"]


async def test_until_the_server_is_reached_one_tool_says_why_and_then_its_tools_appear(port: int) -> None:
    async with bridged(port) as wire:
        assert await list_tool_names(wire) == [STATUS_TOOL]
        answer = await call(wire, STATUS_TOOL)
        assert answer["isError"] is True
        assert f"127.0.0.1:{port} cannot be reached: connection refused" in answer["content"][0]["text"]
        assert "running there?" in answer["content"][0]["text"]
        async with running(port=port):
            await wire.notification("notifications/tools/list_changed")
            assert "read_note" in await list_tool_names(wire)
            assert STATUS_TOOL not in await list_tool_names(wire)


async def test_the_status_tool_asks_the_server_again(port: int) -> None:
    async with bridged(port) as wire:
        assert await list_tool_names(wire) == [STATUS_TOOL]
        async with running(port=port):
            answer = await call(wire, STATUS_TOOL)
            assert "is running and has 6 tools" in answer["content"][0]["text"]


async def test_while_the_server_is_away_its_tools_stay_listed_and_say_what_is_wrong(port: int) -> None:
    async with bridged(port) as wire:
        assert await list_tool_names(wire) == [STATUS_TOOL]
        async with running(port=port):
            await wire.notification("notifications/tools/list_changed")
            before = await list_tool_names(wire)
        for _ in range(2):
            answer = await call(wire, "read_note", path="a.md")
            assert answer["isError"] is True
            assert "cannot be reached" in answer["content"][0]["text"]
        assert await list_tool_names(wire) == before
        async with running(port=port):
            async with asyncio.timeout(BOUND):
                while (await call(wire, "read_note", path="a.md")).get("isError"):
                    pass
            assert await list_tool_names(wire) == before


async def test_a_call_that_the_server_drops_is_an_error_and_is_not_repeated(port: int) -> None:
    provider = SampleProvider()
    async with bridged(port) as wire:
        assert await list_tool_names(wire) == [STATUS_TOOL]
        async with running(port=port, provider=provider):
            await wire.notification("notifications/tools/list_changed")
            await list_tool_names(wire)
            id_ = await wire.start("tools/call", {"name": "stuck", "arguments": {}})
            await asyncio.wait_for(provider.entered.wait(), BOUND)
            # The server ends while the call is with it: nobody can know what became of it. `running` itself
            # releases its provider at the end, but not by the event that this call waits for.
            provider.release = asyncio.Event()
            dropped = asyncio.ensure_future(
                wire.until(lambda message: message.get("id") == id_ and "method" not in message)
            )
        answer = await dropped
        assert answer["result"]["isError"] is True
        assert "broke off" in answer["result"]["content"][0]["text"]
        assert [name for name, _ in provider.calls].count("obsidian_stuck") == 1


async def test_an_old_client_gets_the_failure_as_an_error_of_the_protocol(port: int) -> None:
    async with bridged(port, version="2024-11-05") as wire:
        await list_tool_names(wire)
        error = await wire.error("tools/call", {"name": STATUS_TOOL, "arguments": {}})
        assert error["code"] == -32000
        assert error["data"]["errorCode"] == "SERVER_ERROR"


async def test_a_rejected_key_is_reported_and_no_request_is_sent_without_it() -> None:
    from aiohttp import web

    from vaultbridge.protocols.mcp.http.endpoint import Grant

    seen: list[str] = []

    async def refuse(request: web.Request) -> Grant:
        seen.append(request.headers.get("Authorization", ""))
        raise web.HTTPUnauthorized(text="The bearer token is not valid.")

    async with running(authorize=refuse) as bridge, bridged(bridge.port, key="old") as wire:
        assert await list_tool_names(wire) == [STATUS_TOOL]
        answer = await call(wire, STATUS_TOOL)
        assert "rejects the API key" in answer["content"][0]["text"]
        assert set(seen) == {"Bearer old"}


async def test_a_removed_tool_is_reported_and_the_list_follows() -> None:
    async with running() as bridge, bridged(bridge.port) as wire:
        await list_tool_names(wire)
        bridge.provider.tools = bridge.provider.tools[:1]
        bridge.provider.announce()
        answer = await wire.ask("tools/call", {"name": "picture", "arguments": {}})
        assert answer["result"]["isError"] is True
        await wire.notification("notifications/tools/list_changed")


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (["read_note", "a-b"], ["read_note", "a-b"]),
        (["a b", "a/b", "a_b"], ["a_b", "a_b_2", "a_b_3"]),
        (["é", "日本"], ["tool", "tool_2"]),
        (["x" * 100], ["x" * 60]),
    ],
)
def test_names_become_acceptable_to_models(given: list[str], made: list[str]) -> None:
    found = make_mcp_names(given)
    assert sorted(found) == sorted(made)
    assert sorted(found.values()) == sorted(given)


def test_a_name_that_is_listed_twice_is_one_tool() -> None:
    assert make_mcp_names(["a b", "c", "a b", "c"]) == {"c": "c", "a_b": "a b"}
