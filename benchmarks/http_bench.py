"""Measures how fast the HTTP server answers, as ratios within one run.

    python benchmarks/http_bench.py [--quick] [--json]

A real `vaultbridge serve` on a copy of the sample vault is compared to a bare aiohttp route that answers JSON
and to a server of the official Python SDK, each with 16 callers of the aiohttp client. Rounds are interleaved
and the best round of each counts, because other load on the machine can only slow a round down. The rate
includes the client's time, so the server's own time per request is printed beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

ROOT = Path(__file__).parents[1]

BARE = """
import asyncio, json
from aiohttp import web
LONG = [{"name": f"tool_{n}", "description": "x" * 300, "inputSchema": {"type": "object"}} for n in range(30)]
async def long(request):
    return web.json_response({"tools": LONG, "hash": "0" * 64})
async def called(request):
    path = (await request.json())["arguments"]["path"]
    return web.json_response({"success": True, "content": [{"type": "text", "text": path + "x" * 1200}]})
async def main():
    app = web.Application()
    app.router.add_get("/long", long)
    app.router.add_post("/call", called)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""

SDK = """
import json, socket, uvicorn
from mcp.server.mcpserver import MCPServer
server = MCPServer("read")
@server.tool()
async def obsidian_read_note(path: str) -> str:
    return path + "x" * 1200
listener = socket.create_server(("127.0.0.1", 0))
print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
config = uvicorn.Config(server.streamable_http_app(), log_level="error", access_log=False)
uvicorn.Server(config).run(sockets=[listener])
"""

NOTE = "Targets/Algol.md"
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
MCP_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "obsidian_read_note",
}
CALLERS = 16
PARALLEL = 200
WARM = 20


class Server:
    def __init__(self, command: list[str], **environ: str) -> None:
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **environ},
        )
        assert self.process.stdout is not None
        self.port = int(json.loads(self.process.stdout.readline())["port"])

    def cpu_seconds(self) -> float:
        """Returns the processor time of all its threads so far; 0 where the system does not report it."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        spent = [int((task / "schedstat").read_text().split()[0]) for task in tasks.glob("*")]
        return sum(spent) / 1e9

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate()


class Call(NamedTuple):
    method: str
    path: str
    body: bytes | None
    headers: dict[str, str]


def get(path: str) -> Call:
    return Call("GET", path, None, {})


def post(path: str, body: Any, headers: dict[str, str] | None = None) -> Call:
    kind = {"Content-Type": "application/json"}
    return Call("POST", path, json.dumps(body).encode(), {**kind, **(headers or {})})


def read_note(path: str) -> Call:
    return post(path, {"arguments": {"path": NOTE}})


def make_mcp_call() -> Call:
    params = {"name": "obsidian_read_note", "arguments": {"path": NOTE}, "_meta": META}
    return post("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, MCP_HEADERS)


async def measure_rate(port: int, next_call: Callable[[], Call], count: int, callers: int = CALLERS) -> float:
    """Returns answers per second. Every answer must be a success."""
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def keep_calling(times: int) -> None:
            for _ in range(times):
                call = next_call()
                async with session.request(
                    call.method, f"http://127.0.0.1:{port}{call.path}", data=call.body, headers=call.headers
                ) as response:
                    body = await response.read()
                    assert response.status == 200, body[:500]
                    assert b'"isError":true' not in body, body[:500]

        await keep_calling(WARM)
        begin = time.perf_counter()
        await asyncio.gather(*(keep_calling(count // callers) for _ in range(callers)))
        return count // callers * callers / (time.perf_counter() - begin)


def measure_tasks(
    tasks: dict[str, tuple[Server, Callable[[], Call], int]], rounds: int, count: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Returns the best rate of each task, and its server's shortest time for one answer."""
    rates: dict[str, float] = dict.fromkeys(tasks, 0.0)
    spent: dict[str, float] = dict.fromkeys(tasks, float("inf"))
    for _ in range(rounds):
        for name, (server, next_call, slower) in tasks.items():
            before = server.cpu_seconds()
            rates[name] = max(rates[name], asyncio.run(measure_rate(server.port, next_call, count // slower)))
            spent[name] = min(spent[name], (server.cpu_seconds() - before) / (count // slower + WARM))
    return rates, spent


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first impression")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args(args)
    quick = options.quick
    rounds, count = (7, 800) if quick else (15, 3200)
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        shutil.copytree(ROOT / "examples" / "sample-vault", vault)
        ours = Server(
            [sys.executable, "-m", "vaultbridge", "serve", str(vault), "--port", "0", "--json", "--no-ide"],
            HOME=folder,
            VAULTBRIDGE_CACHE=f"{folder}/cache",
            XDG_CONFIG_HOME=f"{folder}/config",
            VAULTBRIDGE_LOG_LEVEL="error",
            PYTHONPATH=str(ROOT / "src"),
        )
        bare = Server([sys.executable, "-c", BARE])
        sdk = Server([sys.executable, "-c", SDK])
        tool = "/bridge/v1/tools/read_note/call"
        read, mcp = read_note(tool), make_mcp_call()
        listed, bare_listed, bare_read = get("/bridge/v1/tools"), get("/long"), read_note("/call")
        tasks = {
            "GET /tools, bare aiohttp": (bare, lambda: bare_listed, 1),
            "GET /tools": (ours, lambda: listed, 1),
            "POST, bare aiohttp": (bare, lambda: bare_read, 1),
            "read_note over Bridge v1": (ours, lambda: read, 1),
            "tools/call over /mcp": (ours, lambda: mcp, 1),
            "tools/call, official SDK": (sdk, lambda: mcp, 4),
        }
        try:
            rates, spent = measure_tasks(tasks, rounds, count)
            # Raises when one of them does not succeed.
            crowd = asyncio.run(
                measure_rate(ours.port, lambda: read, PARALLEL * (5 if quick else 20), PARALLEL)
            )
        finally:
            for server in (ours, bare, sdk):
                server.close()
    held = [
        ("GET /tools / bare aiohttp", rates["GET /tools"] / rates["GET /tools, bare aiohttp"], 0.5),
        ("read_note / bare aiohttp", rates["read_note over Bridge v1"] / rates["POST, bare aiohttp"], 0.2),
        ("/mcp / official SDK", rates["tools/call over /mcp"] / rates["tools/call, official SDK"], 2.0),
    ]
    if options.json:
        print(json.dumps({"rates": rates, "spent": spent, "crowd": crowd, "held": held}))
        return 0
    for name, value in rates.items():
        print(f"  {name:<28} {value:9.0f} /s {spent[name] * 1e6:9.0f} us of the server each")
    print(f"  {PARALLEL} callers of read_note     {crowd:9.0f} /s, without an error")
    print("limits")
    for name, value, bound in held:
        print(f"  {name:<28} {value:9.2f}  >= {bound:g}  {'ok' if value >= bound else 'MISSED'}")
    return 0 if all(value >= bound for _, value, bound in held) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
