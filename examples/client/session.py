"""Without the official SDK: our own light session, over any transport, and the transport's metrics.

python examples/client/session.py ws://localhost:8080   (a URL, or the folder of a served vault)
"""

# ruff: noqa: T201 - a program for a terminal
from __future__ import annotations

import asyncio
import sys

from vaultbridge.client import Session, WebSocketTransport
from vaultbridge.errors import VaultbridgeError


async def main(where: str) -> None:
    transport = WebSocketTransport(where) if "://" in where else WebSocketTransport.from_lock(workspace=where)
    async with Session(transport) as session:
        print(session.server_info.get("name"), "at MCP", session.protocol_version)
        listing = await session.list_tools()
        print("Tools:", len(listing["tools"]))
        snapshot = transport.metrics()
        print("Messages sent:", snapshot.messages_sent)
        print("Answers timed:", snapshot.latency.count)
    print(transport.prometheus().splitlines()[0])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        asyncio.run(main(sys.argv[1]))
    except VaultbridgeError as error:
        sys.exit(str(error))
