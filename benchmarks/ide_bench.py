"""Measures the IDE socket against a bare aiohttp WebSocket echo in the same process and run.

    python benchmarks/ide_bench.py

Prints JSON: requests per second of both and their ratio, the time that a selection change takes to reach ten
clients after its debounce, and how much memory grows in a thousand idle minutes (health checks in fast
motion).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import sys
import time
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
from aiohttp import web

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.vault_view import VaultView
from vaultbridge.editor.hub import EditorHub
from vaultbridge.editor.model import Point, Selection
from vaultbridge.protocols.claude_ide.dialect import ClaudeIde
from vaultbridge.protocols.editor.server import EditorServer
from vaultbridge.protocols.http.listen import open_socket
from vaultbridge.server.ide import BridgeSockets
from vaultbridge.vault.paths import VaultPath

REQUESTS = 4000
ROUNDS = 5
IDLE_MINUTES = 1000
TOKEN = str(uuid.uuid4())
PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})


async def echo_barely(request: web.Request) -> web.StreamResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        await socket.send_str(message.data)
    return socket


async def measure_rate(client: aiohttp.ClientWebSocketResponse) -> float:
    """Returns round trips per second, one after the other."""
    begin = time.perf_counter()
    for _ in range(REQUESTS):
        await client.send_str(PING)
        await client.receive()
    return REQUESTS / (time.perf_counter() - begin)


async def greet(client: aiohttp.ClientWebSocketResponse) -> None:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }
    await client.send_json({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    await client.receive()
    await client.send_json({"jsonrpc": "2.0", "method": "notifications/initialized"})


async def measure_selection_delay(session: aiohttp.ClientSession, url: str, hub: EditorHub) -> float:
    """Returns the median of the milliseconds from the end of the debounce until the tenth client has the
    change."""
    clients = [await connect(session, url) for _ in range(10)]
    for client in clients:
        await greet(client)
    delays = []
    hub.state.join("bench", "bench")
    await asyncio.sleep(0.7)
    for line in range(1, 11):
        here = Point(line, 0)
        begin = time.perf_counter()
        hub.state.focus_on("bench", VaultPath("Note.md"), Selection(here, Point(line, 4), "text"))
        await asyncio.gather(*(client.receive() for client in clients))
        delays.append((time.perf_counter() - begin - 0.15) * 1000)
    for client in clients:
        await client.close()
    return statistics.median(delays)


async def measure_idle_growth(
    session: aiohttp.ClientSession, url: str, server: BridgeSockets
) -> dict[str, int]:
    """Returns the objects and bytes left after 2,000 health checks (one every 30 s) of ten idle clients."""
    clients = [await connect(session, url) for _ in range(10)]
    readers = [asyncio.ensure_future(client.receive()) for client in clients]

    async def beat(count: int) -> None:
        for _ in range(count):
            await server.ide.check_health(overslept=False)
            while not all(socket.is_answering for socket in server.ide.sockets):  # noqa: ASYNC110 - no event
                await asyncio.sleep(0)

    await beat(50)
    gc.collect()
    before, memory = len(gc.get_objects()), read_resident()
    await beat(IDLE_MINUTES * 2)
    gc.collect()
    growth = {"objects": len(gc.get_objects()) - before, "bytes": read_resident() - memory}
    alive = len(server.ide.sockets)
    for reader, client in zip(readers, clients, strict=True):
        reader.cancel()
        await client.close()
    return {**growth, "still_connected": alive}


def read_resident() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


async def connect(session: aiohttp.ClientSession, url: str) -> aiohttp.ClientWebSocketResponse:
    return await session.ws_connect(
        url, protocols=("mcp",), headers={"X-Claude-Code-Ide-Authorization": TOKEN}, compress=0
    )


def open_view(vault: Path) -> VaultView:
    vault.mkdir()
    (vault / "Note.md").write_text("text\n" * 20)
    return VaultView(vault)


async def main() -> None:
    with TemporaryDirectory() as folder:
        view = open_view(Path(folder, "vault"))
        hub = EditorHub(view.visible)
        ide = ClaudeIde(view, hub)
        editor = EditorServer(view, hub, ide, TOKEN)
        server = BridgeSockets(TOKEN, ide.dialect, editor.dialect)
        app = web.Application()
        server.add_routes(app)
        app.router.add_get("/bare", echo_barely)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        sock = open_socket("127.0.0.1", [0])
        url = f"http://127.0.0.1:{sock.getsockname()[1]}"
        await web.SockSite(runner, sock).start()
        ratios = []
        async with aiohttp.ClientSession() as session:
            ours, bare = await connect(session, url + "/"), await session.ws_connect(url + "/bare")
            await greet(ours)
            for _ in range(ROUNDS):
                bare_rate, our_rate = await measure_rate(bare), await measure_rate(ours)
                ratios.append((our_rate / bare_rate, our_rate, bare_rate))
            await ours.close()
            await bare.close()
            ratio, our_rate, bare_rate = sorted(ratios)[len(ratios) // 2]
            delay = await measure_selection_delay(session, url + "/", hub)
            growth = await measure_idle_growth(session, url + "/", server)
        await server.stop()
        await runner.cleanup()
        view.close()
    result = {
        "requests_per_second": round(our_rate),
        "bare_echo_per_second": round(bare_rate),
        "ratio": round(ratio, 3),
        "selection_to_ten_clients_ms": round(delay, 2),
        f"growth_after_{IDLE_MINUTES}_idle_minutes": growth,
    }
    print(json.dumps(result, indent=2))
    if ratio < 0.6 or delay > 5.0:
        sys.exit("a figure exceeds its limit")


if __name__ == "__main__":
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    asyncio.run(main())
