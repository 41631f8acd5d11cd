"""Assistants as people have them: the official client over stdio (Claude Desktop) and `/mcp` (Cursor)."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, Implementation

from browser.serving import Serving

ANSWER_SECONDS = 300.0
"""How long a client waits for the person of a test, on a machine that may be busy."""


@asynccontextmanager
async def over_stdio(serving: Serving, name: str = "claude-ai") -> AsyncIterator[Client]:
    command = ["-m", "vaultbridge", "stdio", str(serving.vault)]
    server = StdioServerParameters(command=sys.executable, args=command, env=serving.env)
    async with Client(server, client_info=Implementation(name=name, version="1.0"), mode="legacy") as client:
        yield client


@asynccontextmanager
async def over_http(serving: Serving, name: str = "cursor-vscode") -> AsyncIterator[Client]:
    info = Implementation(name=name, version="2.0")
    async with Client(f"{serving.url}/mcp", client_info=info, mode="legacy") as client:
        yield client


async def replace_text(client: Client, note: str, old: str, new: str) -> CallToolResult:
    arguments = {"path": note, "op": "replace_text", "old": old, "new": new}
    return await client.call_tool("obsidian_edit_note", arguments, read_timeout_seconds=ANSWER_SECONDS)


def read_result_text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if block.type == "text")
