"""A transport by itself, with callbacks: every message, error and change of state is told.

python examples/client/callbacks.py ws://localhost:8080   (a URL, or the folder of a served vault)
"""

# ruff: noqa: T201 - a program for a terminal
from __future__ import annotations

import asyncio
import sys

from vaultbridge.client import WebSocketTransport
from vaultbridge.errors import VaultbridgeError


async def main(where: str) -> None:
    transport = WebSocketTransport(where) if "://" in where else WebSocketTransport.from_lock(workspace=where)
    answered = asyncio.Event()

    def on_message(message: dict[str, object]) -> None:
        print("Received message:", message.get("method") or f"answer to {message.get('id')}")
        if message.get("id") == 1:
            answered.set()

    transport.on_message = on_message
    transport.on_error = lambda error: print("WebSocket error:", error)
    transport.on_state = lambda state: print("State:", state)
    transport.on_close = lambda: print("WebSocket connection closed")

    await transport.start()
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "demo", "version": "1"},
    }
    await transport.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    await asyncio.wait_for(answered.wait(), 10)
    print("Queued messages:", transport.queue_size)
    await transport.close()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        asyncio.run(main(sys.argv[1]))
    except VaultbridgeError as error:
        sys.exit(str(error))
