"""`vaultbridge call` and the official SDK against a vault that `vaultbridge serve` serves."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from support.serve import Served, served
from support.waiting import BOUND
from vaultbridge.client.http.transport import StreamableHttpTransport
from vaultbridge.client.session import Session
from vaultbridge.client.stdio import StdioTransport
from vaultbridge.client.websocket.transport import WebSocketTransport

MODES = [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]
HEADER = "X-Claude-Code-Ide-Authorization"


VAULT_NAME = "My Notes"
VAULT = {"Plain.md": "one\ntwo\n"}


@pytest.fixture
async def server(tmp_path: Path, vault: Path) -> AsyncIterator[Served]:
    # Indexed before, because clients are also notified when a first build ends, whenever that is.
    assert (await Served(tmp_path / "home").command("index", vault))[0] == 0
    async with served(tmp_path / "home", vault) as server:
        yield server


def read(out: str) -> str:
    return out.split("\n", 1)[1]


async def test_one_tool_is_called_over_every_transport(server: Served, vault: Path) -> None:
    stdio = shlex.join([sys.executable, "-m", "vaultbridge", "stdio", str(vault)])
    arguments = '{"name": "Plain"}'
    for target, *options in (
        ["ide"],
        [f"ws://127.0.0.1:{server.port}", "--header", f"{HEADER}: {server.token}"],
        [f"http://127.0.0.1:{server.port}/mcp"],
        [stdio],
    ):
        # Options between the target and the tool, as people write them.
        code, out, err = await server.command(
            "call", target, *options, "obsidian_read_note", arguments, cwd=vault
        )
        assert (code, err) == (0, ""), target
        assert read(out) == "one\ntwo\n"
        code, out, _ = await server.command("call", target, *options, "--json", cwd=vault)
        listing = json.loads(out)
        assert {entry["type"] for entry in listing["primitives"]} == {
            "tool",
            "resource",
            "template",
            "prompt",
        }
        uri = next(entry["uri"] for entry in listing["primitives"] if entry["type"] == "resource")
        code, out, _ = await server.command("call", target, "--read", uri, *options, cwd=vault)
        assert (code, out) == (0, "one\ntwo\n")


async def test_a_server_by_name_from_a_config_file_with_its_token(
    server: Served, vault: Path, tmp_path: Path
) -> None:
    entry = {"type": "ws", "url": f"ws://127.0.0.1:{server.port}", "headers": {HEADER: server.token}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": entry}}))
    code, out, err = await server.command("call", "notes", cwd=tmp_path)
    assert (code, out) == (2, "") and "is not trusted" in err and "--trust" in err
    code, out, _ = await server.command("call", "notes", "--trust", cwd=tmp_path)
    assert code == 0 and out.startswith("obsidian-mcp ") and "obsidian_search" in out and "openDiff" in out


async def test_without_the_token_the_refusal_is_one_line(server: Served, vault: Path) -> None:
    code, out, err = await server.command("call", f"ws://127.0.0.1:{server.port}")
    assert (code, out, err.count("\n")) == (1, "", 1) and "HTTP 401" in err


async def test_watching_the_ide_server_shows_selections_and_mentions(server: Served, vault: Path) -> None:
    watch = await server.open_command("call", "ide", "--watch", "--count", "2", "--json", cwd=vault)
    try:
        assert watch.stdout is not None
        async with asyncio.timeout(BOUND):
            while not (await server.answer("status"))["clients"]:
                pass
            await server.command("select", vault, "Plain:2")
            seen = json.loads(await watch.stdout.readline())
            assert (seen["method"], seen["params"]["text"]) == ("selection_changed", "two")
            await server.command("mention", vault, "Plain")
            seen = json.loads(await watch.stdout.readline())
            assert seen["params"] == {"filePath": str(vault / "Plain.md")}
            assert await watch.wait() == 0
    finally:
        if watch.returncode is None:
            watch.kill()
        await watch.communicate()


@pytest.mark.parametrize(("mode", "version"), MODES)
async def test_the_official_client_works_over_every_transport(
    server: Served, vault: Path, mode: str, version: str
) -> None:
    locks = str(server.home / ".claude" / "ide")
    command = [sys.executable, "-m", "vaultbridge", "stdio", str(vault)]
    for transport in (
        WebSocketTransport.from_lock(locks, str(vault)),
        StreamableHttpTransport(f"http://127.0.0.1:{server.port}/mcp"),
        StdioTransport(command, env=dict(server.environ)),
    ):
        async with Client(transport, mode=mode) as client:
            assert client.protocol_version == version
            found = await client.call_tool("obsidian_read_note", {"name": "Plain"})
            assert found.content[0].text.endswith("one\ntwo\n")
            assert "obsidian_search" in [tool.name for tool in (await client.list_tools()).tools]
            (resource,) = (await client.list_resources()).resources
            assert (await client.read_resource(resource.uri)).contents[0].text == "one\ntwo\n"
            assert (await client.list_prompts()).prompts


async def test_a_crash_of_the_server_is_survived_by_the_official_client(server: Served, vault: Path) -> None:
    """The server keeps port and token, the transport the session: the client only sees one failed call."""
    transport = WebSocketTransport.from_lock(
        str(server.home / ".claude" / "ide"), str(vault), reconnect_attempts=500, reconnect_delay=0.1,
        reconnect_longest=0.1,
    )  # fmt: skip
    states: list[str] = []
    transport.on_state = lambda state: states.append(state.value)
    async with Client(transport, mode="legacy") as client:
        await client.call_tool("obsidian_read_note", {"name": "Plain"})
        await server.kill()
        await server.start(vault, port=None)
        result = await client.call_tool("obsidian_read_note", {"name": "Plain"})
        assert result.content[0].text.endswith("one\ntwo\n")
        assert states.count("connected") == 2


async def test_a_subscription_outlives_a_crash_of_the_server(server: Served, vault: Path) -> None:
    transport = WebSocketTransport.from_lock(
        str(server.home / ".claude" / "ide"), str(vault), reconnect_attempts=500, reconnect_delay=0.1,
        reconnect_longest=0.1,
    )  # fmt: skip
    updated: asyncio.Queue[str] = asyncio.Queue()
    states: asyncio.Queue[str] = asyncio.Queue()

    def hear(message: dict[str, Any]) -> None:
        if message["method"] == "notifications/resources/updated":
            updated.put_nowait(message["params"]["uri"])

    async with Session(transport, version="2025-11-25", on_notification=hear) as session:
        transport.on_state = lambda state: states.put_nowait(state.value)
        (resource,) = (await session.list_resources())["resources"]
        await session.listen((resource["uri"],))
        await server.kill()
        await server.start(vault, port=None)
        async with asyncio.timeout(BOUND):
            while await states.get() != "connected":
                pass
            # The transport alone has asked again; each try is a change of its own.
            for number in itertools.count():
                (vault / "Plain.md").write_text(f"changed {number}\n", "utf-8")
                with contextlib.suppress(TimeoutError):
                    assert await asyncio.wait_for(updated.get(), 2) == resource["uri"]
                    break
