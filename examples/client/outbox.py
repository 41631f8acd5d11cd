"""Messages that survive the process: written while offline, sent by the next run that finds the server.

python examples/client/outbox.py ws://localhost:8080 queue.sqlite "a note to send"
"""

# ruff: noqa: T201 - a program for a terminal
from __future__ import annotations

import asyncio
import sys

from vaultbridge.client import ConnectFailed, WebSocketTransport
from vaultbridge.errors import VaultbridgeError


async def main(url: str, queue_file: str, text: str) -> None:
    transport = WebSocketTransport(url, queue_file=queue_file)
    transport.on_error = lambda error: print("Told:", error)
    if transport.queue_size:
        print("From an earlier run:", transport.queue_size)
    await transport.send({"jsonrpc": "2.0", "method": "notifications/note", "params": {"text": text}})
    try:
        await transport.start()
    except ConnectFailed:
        print("Offline; kept for the next run:", transport.queue_size)
        await transport.close(keep_queue=True)
        return
    await transport.flush()
    # A ping that comes back proves that everything before it has arrived.
    print("Delivered:", await transport.is_alive())
    await transport.close()


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    try:
        asyncio.run(main(*sys.argv[1:4]))
    except VaultbridgeError as error:
        sys.exit(str(error))
