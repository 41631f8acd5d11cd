"""The official SDK's `Client` over WebSocket: pass the transport where the SDK takes one.

python examples/client/with_sdk.py ws://localhost:8080 [TOOL]   (a URL, or the folder of a served vault)

Without TOOL, it calls one that only reads and needs no arguments.
"""

# ruff: noqa: T201 - a program for a terminal
from __future__ import annotations

import asyncio
import sys

from mcp.client import Client
from mcp.types import Tool

from vaultbridge.client import WebSocketTransport
from vaultbridge.errors import VaultbridgeError


async def main(where: str) -> None:
    transport = WebSocketTransport(where) if "://" in where else WebSocketTransport.from_lock(workspace=where)
    async with Client(transport) as client:
        print("MCP", client.protocol_version)
        tools = (await client.list_tools()).tools
        print("Tools:", ", ".join(tool.name for tool in tools[:3]))
        chosen = sys.argv[2] if len(sys.argv) > 2 else choose(tools).name
        result = await client.call_tool(chosen, {})
        print(chosen, "failed" if result.is_error else "succeeded")


def choose(tools: list[Tool]) -> Tool:
    for tool in tools:
        hints = tool.annotations
        if hints is not None and hints.read_only_hint and not tool.input_schema.get("required"):
            return tool
    return tools[0]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        asyncio.run(main(sys.argv[1]))
    except VaultbridgeError as error:
        sys.exit(str(error))
