"""The official TypeScript client and the Inspector's command line against the fixture server."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from support.http import http_server
from support.node import find_node, install_clients
from support.process import FIXTURE, make_process_environ, run_to_end
from support.waiting import BOUND

pytestmark = [pytest.mark.node, pytest.mark.timeout(400)]
SCRIPT = Path(__file__).parent / "session.mjs"


@pytest.fixture(scope="module")
def clients() -> Path:
    return install_clients(SCRIPT)


async def run(folder: Path, *args: str) -> tuple[int, str, str]:
    env = make_process_environ(HOME=str(folder), PATH=os.environ["PATH"])
    return await run_to_end(find_node(folder), *args, cwd=folder, env=env, seconds=BOUND)


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
async def test_the_typescript_client_does_a_whole_session(clients: Path, transport: str) -> None:
    async with http_server() as server:
        where = {"stdio": FIXTURE, "http": [f"{server.url}/mcp"], "sse": [f"{server.url}/sse"]}[transport]
        code, out, err = await run(clients, SCRIPT.name, transport, *where)
    assert code == 0, err
    seen = json.loads(out)
    assert seen.pop("tools") + 1 == seen.pop("toolsAfterChange")
    assert seen == {
        "server": {
            "name": "fixture",
            "title": "Fixture",
            "version": "1.0.0",
            "description": "The conformance fixture",
        },
        "text": "This is a simple text response for testing.",
        "structured": {"n": 3},
        "failed": True,
        "failedWithSchema": True,
        "progress": [0, 50, 100],
        "logs": 3,
        "elicited": "User response: action=accept, content={'response': 'yes'}",
        "sampled": "LLM response: Paris",
        "read": "This is the content of the static text resource.",
        "prompt": "This is a simple prompt for testing.",
        "completed": ["paris", "park", "party"],
        "updated": "test://watched-resource",
        "cancelled": "cancelled",
        "unknown": -32602,
        "errors": [],
    }


async def inspect(folder: Path, target: list[str], *args: str) -> Any:
    entry = (
        folder
        / "node_modules"
        / "@modelcontextprotocol"
        / "inspector"
        / "clients"
        / "launcher"
        / "build"
        / "index.js"
    )
    code, out, err = await run(folder, str(entry), "--cli", *target, *args)
    assert code == 0, err
    return json.loads(out)


@pytest.mark.long
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_inspector_lists_calls_and_reads(clients: Path, transport: str) -> None:
    async with http_server() as server:
        source = Path(__file__).parents[2] / "src"
        target = ["-e", f"PYTHONPATH={source}", *FIXTURE] if transport == "stdio" else [f"{server.url}/mcp"]
        tools = await inspect(clients, target, "--method", "tools/list")
        assert "test_simple_text" in {tool["name"] for tool in tools["tools"]}
        called = await inspect(clients, target, "--method", "tools/call", "--tool-name", "test_simple_text")
        assert called["content"][0]["text"].startswith("This is")
        read = await inspect(clients, target, "--method", "resources/read", "--uri", "test://static-text")
        assert read["contents"][0]["mimeType"] == "text/plain"
        prompts = await inspect(clients, target, "--method", "prompts/list")
        assert len(prompts["prompts"]) == 5


@pytest.mark.long
async def test_the_conformance_suite_passes_at_both_versions() -> None:
    """All checks of the official suite; the same as `make conformance`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).parent / "run.py"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=make_process_environ(),
    )
    out, err = await asyncio.wait_for(process.communicate(), 380)
    if process.returncode == 2:
        pytest.skip(err.decode())
    assert process.returncode == 0, out.decode() + err.decode()
