"""What happens when the server goes away, and when it stays away.

python examples/client/reconnection.py ws://localhost:8080     (then stop the server)
"""

# ruff: noqa: T201 - a program for a terminal
from __future__ import annotations

import asyncio
import sys

from vaultbridge.client import WebSocketTransport
from vaultbridge.errors import VaultbridgeError


async def main(url: str) -> None:
    # Shorter delays for testing
    transport = WebSocketTransport(url, reconnect_attempts=5, reconnect_delay=0.05)
    closed = asyncio.Event()

    def on_close() -> None:
        print("All reconnection attempts exhausted")
        closed.set()

    transport.on_error = lambda error: print("Reconnection error:", error)
    transport.on_close = on_close

    await transport.start()
    print("Connected", flush=True)
    await closed.wait()
    print("Reconnects:", transport.metrics().reconnects)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        asyncio.run(main(sys.argv[1]))
    except VaultbridgeError as error:
        sys.exit(str(error))
