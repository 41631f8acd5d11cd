"""A plugin's whole life: configure it, connect, use the client, check, disconnect.

python examples/client/plugin.py ws://localhost:8080 TOOL
"""

# ruff: noqa: T201 - a program for a terminal
from __future__ import annotations

import asyncio
import sys

from mcp.client import Client

from vaultbridge.client import WebSocketPlugin
from vaultbridge.errors import VaultbridgeError


async def main(url: str, tool: str) -> None:
    # Create plugin instance
    plugin = WebSocketPlugin()

    # Initialize with configuration
    await plugin.initialize(
        {"url": url, "protocols": ["mcp"], "reconnectAttempts": 3, "reconnectDelay": 1000}
    )

    # Connect and get transport
    transport = await plugin.connect({"url": url})

    # Handle connection close and errors
    transport.on_close = lambda: print("WebSocket connection closed")
    transport.on_error = lambda error: print("WebSocket error:", error)

    # Check connection status, health and the queue
    if plugin.is_connected():
        print("Connected to WebSocket server")
    print("Healthy:", await plugin.is_healthy())
    print("Queue size:", plugin.get_queue_size())

    # Use with MCP Client
    async with Client(transport) as client:
        # Call a tool
        result = await plugin.call_tool(client, tool, {})
        print("Tool failed" if result.is_error else "Tool succeeded")

        # Get all available primitives, and filter by type
        primitives = await plugin.get_primitives(client)
        for kind in ("tool", "resource", "prompt"):
            print(f"{kind}s:", sum(p.type == kind for p in primitives))

    # Disconnect
    await plugin.disconnect()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        asyncio.run(main(*sys.argv[1:3]))
    except VaultbridgeError as error:
        sys.exit(str(error))
