"""Processes of `vaultbridge stdio` are seen by the `vaultbridge serve` of the same vault, whichever starts
first; real processes and the official client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from mcp import Client, StdioServerParameters

from support.page_api import PageApi
from support.serve import Served
from support.web_app import make_certificate
from vaultbridge.errors import EngineFailure
from vaultbridge.protocols.bridge_v1.http_client import parse_address, send_request

VAULT_NAME = "Notes"
VAULT = {"Plan.md": "# Plan\n", "Other.md": "text\n", "Private/Diary.md": "dear diary\n"}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Served]:
    server = Served(tmp_path / "home")
    try:
        yield server
    finally:
        await server.kill()


@asynccontextmanager
async def page(server: Served) -> AsyncIterator[PageApi]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(60)) as http:
        yield PageApi(http, f"http://127.0.0.1:{server.port}", server.token)


@asynccontextmanager
async def stdio(server: Served, *arguments: str | Path, mode: str = "legacy") -> AsyncIterator[Client]:
    """The official client with a stdio server of its own."""
    args = ["-m", "vaultbridge", "stdio", *map(str, arguments)]
    parameters = StdioServerParameters(command=sys.executable, args=args, env=dict(server.environ))
    async with Client(parameters, mode=mode) as client:
        yield client


async def read(client: Client, path: str) -> Any:
    return await client.call_tool("obsidian_read_note", {"path": path})


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_client_over_stdio_is_seen_and_paused(server: Served, vault: Path, mode: str) -> None:
    await server.start(vault)
    async with page(server) as api, stdio(server, vault, mode=mode) as client:
        await read(client, "Plan.md")
        await client.call_tool("obsidian_create_note", {"name": "New", "content": "x\n"})
        (seen,) = await api.until(lambda: api.assistants(kind="stdio", calls=2))
        assert (seen["client"], seen["summary"], seen["vaults"]) == (
            "mcp",
            "read Plan.md, changed New.md",
            ["Notes"],
        )
        assert seen["connected"] and seen["process"]["parent"]["pid"] == os.getpid()
        entries = (await api.get("/activity", assistant=seen["id"], kind="change"))["entries"]
        assert [(entry["text"], entry["change"], entry["canUndo"]) for entry in entries] == [
            ("created New.md", 1, True)
        ]
        await api.post(f"/assistants/{seen['id']}/pause")
        refused = await client.call_tool("obsidian_read_note", {"path": "Other.md"})
        assert refused.is_error and "A person has paused this assistant." in refused.content[0].text
        (seen,) = await api.until(lambda: api.assistants(kind="stdio", failed=1))
        assert seen["paused"]
        await api.post(f"/assistants/{seen['id']}/resume")
        assert not (await read(client, "Other.md")).is_error
    async with page(server) as api:
        await api.until(lambda: api.assistants(kind="stdio", connected=False, calls=4))


async def test_a_server_that_starts_later_learns_what_was_done_before(server: Served, vault: Path) -> None:
    async with stdio(server, vault) as client:
        await read(client, "Plan.md")
        await read(client, "Other.md")
        await server.start(vault)
        async with page(server) as api:
            (seen,) = await api.until(lambda: api.assistants(kind="stdio", calls=2))
            assert seen["summary"] == "read 2 notes"
        await server.kill()
        assert not (await read(client, "Plan.md")).is_error
        await server.start(vault)
        async with page(server) as api:
            (seen,) = await api.until(lambda: api.assistants(kind="stdio", calls=3))
            assert (seen["summary"], seen["connected"]) == ("read 2 notes", True)


async def open_session(server: Served, vault: Path, name: str) -> asyncio.subprocess.Process:
    """A process of which a client has only asked who it is."""
    process = await server.open_command("stdio", vault)
    assert process.stdin is not None and process.stdout is not None
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": name, "title": "A lonely client", "version": "1.5"},
    }
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    process.stdin.write(json.dumps(hello).encode() + b"\n")
    assert await asyncio.wait_for(process.stdout.readline(), 60)
    return process


async def test_cutting_off_ends_the_process_and_it_comes_back_paused(server: Served, vault: Path) -> None:
    await server.start(vault)
    process = await open_session(server, vault, "mcp")
    async with page(server) as api:
        (seen,) = await api.until(lambda: api.assistants(kind="stdio"))
        await api.post(f"/assistants/{seen['id']}/disconnect")
        assert await asyncio.wait_for(process.wait(), 60) == 0
        await process.communicate()
        await api.until(lambda: api.assistants(kind="stdio", connected=False))
        async with stdio(server, vault) as client:
            # The first call of a new process: it has received nothing yet.
            refused = await read(client, "Plan.md")
            assert refused.is_error and "paused" in refused.content[0].text
        await server.kill()
        async with stdio(server, vault) as client:
            assert (await read(client, "Plan.md")).is_error, "the server need not run for a pause to hold"


async def test_a_process_that_is_killed_is_gone(server: Served, vault: Path) -> None:
    await server.start(vault)
    process = await open_session(server, vault, "lonely")
    async with page(server) as api:
        (seen,) = await api.until(lambda: api.assistants(client="lonely"))
        assert (seen["name"], seen["version"], seen["calls"], seen["summary"]) == (
            "A lonely client",
            "1.5",
            0,
            "",
        )
        assert seen["process"]["pid"] == process.pid
        process.kill()
        await process.wait()
        await api.until(lambda: api.assistants(client="lonely", connected=False))
    await process.communicate()


async def test_a_server_learns_of_its_own_vaults_and_shows_only_its_scope(
    tmp_path: Path, server: Served, vault: Path
) -> None:
    other = tmp_path / "Second"
    other.mkdir()
    (other / "Only here.md").write_text("x\n")
    await server.start(vault, "--deny", "Private/")
    async with page(server) as api, stdio(server, vault, other) as client:
        for name, place in (("Notes", "Plan.md"), ("Second", "Only here.md"), ("Notes", "Private/Diary.md")):
            result = await client.call_tool("obsidian_read_note", {"path": place, "vault": name})
            assert not result.is_error
        (seen,) = await api.until(lambda: api.assistants(kind="stdio", calls=3))
        assert (seen["vaults"], seen["summary"], seen["reads"]) == (["Notes"], "read Plan.md", 1)
        entries = str((await api.get("/activity"))["entries"])
        assert "Plan.md" in entries and "Only here" not in entries and "Diary" not in entries


async def test_a_process_reports_over_tls_only_to_the_known_certificate(
    server: Served, vault: Path, tmp_path: Path
) -> None:
    own, key = make_certificate(tmp_path, "own")
    await server.start(vault, "--tls-certificate", own, "--tls-key", key)
    (known,) = server.home.glob("cache/*/bridge.json")
    endpoint = json.loads(known.read_text())
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=False)) as http,
        stdio(server, vault) as client,
    ):
        api = PageApi(http, f"https://127.0.0.1:{server.port}", endpoint["token"])
        await read(client, "Plan.md")
        (seen,) = await api.until(lambda: api.assistants(kind="stdio", calls=1))
        assert seen["summary"] == "read Plan.md"
    address = parse_address(f"https://127.0.0.1:{server.port}")
    with pytest.raises(EngineFailure, match="the expected certificate"):
        await send_request(
            address, "POST", "/page/api/clients", headers={}, seconds=60, certificate="ab" * 32
        )
