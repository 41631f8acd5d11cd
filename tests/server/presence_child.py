"""A bridge as a process of its own, so that it can be killed. Prints its port when it is ready.

python presence_child.py VAULT CACHE HOME [PROCESS]

PROCESS is another bridge that runs.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from aiohttp import web

from vaultbridge.protocols.dialect import Call, Dialect, MethodTable, Peer
from vaultbridge.server.ide import BridgeSockets
from vaultbridge.server.presence import Presence


async def _ping(call: Call) -> dict[str, str]:
    return {}


def _make_dialect(name: str, **options: object) -> object:
    def make(peer: Peer) -> Dialect:
        return MethodTable({"ping": _ping})

    return make


async def main(vault: Path, cache: Path, home: Path, others: list[int]) -> None:
    presence = Presence.claim(cache, [vault], environ={}, home=home, others=others, port=0)
    server = BridgeSockets(presence.token, _make_dialect, _make_dialect)  # type: ignore[arg-type]
    app = web.Application()
    server.add_routes(app)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    await web.SockSite(runner, presence.socket).start()
    server.start()
    presence.announce([vault])
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    print(presence.port, flush=True)
    await ended.wait()
    presence.withdraw()
    await server.stop()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(main(*(Path(argument) for argument in sys.argv[1:4]), [*map(int, sys.argv[4:])]))
