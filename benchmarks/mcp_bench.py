"""Measures how fast the MCP core starts and answers, as ratios within one run.

    python benchmarks/mcp_bench.py [--quick] [--json]

It is compared to `python -c 'import asyncio, msgspec'` (the least that our start can take), to a minimal
server of the official TypeScript SDK (skipped without npm), and to a server of the official Python SDK with
the same echo tool. Absolute times depend on the machine and its load, so the limits are on ratios. The rounds
of all competitors are interleaved, so that a passing load slows all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from support.node import NotInstallable, find_node, install_packages

OURS = """
import sys
from vaultbridge.protocols.mcp.dialect import mcp_dialect
from vaultbridge.protocols.mcp.provider import EmptyProvider, Offer
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.values import TextContent, ToolInfo, ToolResult
from vaultbridge.protocols.mcp.stdio import serve_stdio
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
class Echo(EmptyProvider):
    async def list_tools(self):
        return [ToolInfo(name="echo", description="Echo", input_schema=SCHEMA)]
    async def call_tool(self, name, arguments, context):
        return ToolResult((TextContent(text=arguments["text"]),))
async def make():
    return Echo()
server = McpServer(Offer(), make)
if sys.argv[1:] == ["http"]:
    import asyncio
    from aiohttp import web
    from vaultbridge.protocols.http.guard import HostGuard
    from vaultbridge.protocols.mcp.http.endpoint import add_mcp_routes
    async def bare(request):
        return web.json_response({"text": (await request.json())["params"]["arguments"]["text"]})
    async def main():
        app = web.Application()
        app.router.add_post("/bare", bare)
        add_mcp_routes(app, server, guard=HostGuard())
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()
    asyncio.run(main())
else:
    sys.exit(serve_stdio(mcp_dialect(server, honours_exit=True)))
"""

PYTHON_SDK = """
import sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("echo")
@server.tool()
async def echo(text: str) -> str:
    return text
if sys.argv[1:] == ["http"]:
    import socket, uvicorn
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])
else:
    server.run(transport="stdio")
"""

NODE_SDK = """
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";
const server = new McpServer({ name: "echo", version: "1.0.0" });
server.registerTool("echo", { description: "Echo", inputSchema: { text: z.string() } }, async ({ text }) => ({
  content: [{ type: "text", text }],
}));
await server.connect(new StdioServerTransport());
"""

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def make_message(id_: int | None, method: str, params: dict[str, Any] | None = None) -> bytes:
    form: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
    if id_ is not None:
        form["id"] = id_
    return json.dumps(form).encode() + b"\n"


INITIALIZE = make_message(
    0,
    "initialize",
    {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
)


def echo(id_: int) -> bytes:
    return make_message(id_, "tools/call", {"name": "echo", "arguments": {"text": "hello"}})


class Server:
    """A server process on pipes."""

    def __init__(self, command: list[str]) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=env,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.write = self.process.stdin.write
        self.out = os.fdopen(os.dup(self.process.stdout.fileno()), "rb")

    def ask(self, data: bytes, id_: int) -> Any:
        self.write(data)
        while True:
            answer = json.loads(self.out.readline())
            if answer.get("id") == id_:
                return answer

    def close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout, self.out):
            assert pipe is not None
            pipe.close()
        self.process.wait(10)


def spawn_to_initialize(command: list[str]) -> tuple[float, float]:
    """Returns the seconds from the spawn to the answer, and from there to the first list of tools."""
    begin = time.perf_counter()
    server = Server(command)
    server.ask(INITIALIZE, 0)
    initialized = time.perf_counter()
    server.write(make_message(None, "notifications/initialized"))
    server.ask(make_message(1, "tools/list"), 1)
    listed = time.perf_counter()
    server.close()
    return initialized - begin, listed - initialized


def run_to_end(command: list[str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - begin


def measure_one_by_one(command: list[str], calls: int) -> float:
    """Returns the median round trip of a call."""
    server = Server(command)
    server.ask(INITIALIZE, 0)
    server.write(make_message(None, "notifications/initialized"))
    times = []
    for id_ in range(1, calls + 1):
        data = echo(id_)
        begin = time.perf_counter()
        assert "result" in server.ask(data, id_)
        times.append(time.perf_counter() - begin)
    server.close()
    return statistics.median(times[calls // 10 :])


def measure_sustained(command: list[str], calls: int) -> float:
    """Returns calls per second when the client sends up to 32 calls ahead."""
    server = Server(command)
    server.ask(INITIALIZE, 0)
    server.write(make_message(None, "notifications/initialized"))
    data = [b"".join(echo(id_) for id_ in range(start, start + 32)) for start in range(1, calls + 1, 32)]
    begin = time.perf_counter()
    Thread(target=lambda: [server.write(part) for part in data], daemon=True).start()
    for _ in range(len(data) * 32):
        server.out.readline()
    took = time.perf_counter() - begin
    server.close()
    return len(data) * 32 / took


async def measure_http_calls(url: str, calls: int, *, modern: bool) -> float:
    """Returns calls per second over HTTP with 16 callers."""
    import aiohttp

    headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    params: dict[str, Any] = {"name": "echo", "arguments": {"text": "hello"}}
    if modern:
        headers |= {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo"}
        params["_meta"] = META
    async with aiohttp.ClientSession() as session:

        async def keep_calling(count: int) -> None:
            for id_ in range(count):
                async with session.post(
                    url, data=make_message(id_, "tools/call", params), headers=headers
                ) as response:
                    assert response.status == 200, await response.text()
                    await response.read()

        await keep_calling(20)
        begin = time.perf_counter()
        await asyncio.gather(*(keep_calling(calls // 16) for _ in range(16)))
        return calls // 16 * 16 / (time.perf_counter() - begin)


def measure_over_http(command: list[str], path: str, calls: int, *, modern: bool) -> float:
    server = subprocess.Popen(
        [*command, "http"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        wait_for_port(port)
        return asyncio.run(measure_http_calls(f"http://127.0.0.1:{port}{path}", calls, modern=modern))
    finally:
        server.terminate()
        server.communicate()


def wait_for_port(port: int) -> None:
    import socket

    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


def interleave(rounds: int, tasks: dict[str, Callable[[], Any]]) -> dict[str, list[Any]]:
    results: dict[str, list[Any]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            results[name].append(task())
    return results


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first impression")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args(args)
    quick = options.quick
    rounds, calls = (5, 2000) if quick else (15, 10_000)
    python = sys.executable
    ours, sdk = [python, "-c", OURS], [python, "-c", PYTHON_SDK]
    node_sdk: list[str] | None = None
    try:
        folder = install_packages("clients")
        (folder / "echo.mjs").write_text(NODE_SDK, "utf-8")
        node_sdk = [find_node(folder), str(folder / "echo.mjs")]
    except NotInstallable as reason:
        print(f"without the TypeScript server: {reason}")

    starts: dict[str, Callable[[], Any]] = {
        "floor": lambda: (run_to_end([python, "-c", "import asyncio, msgspec"]), 0.0),
        "ours": lambda: spawn_to_initialize(ours),
        "python sdk": lambda: spawn_to_initialize(sdk),
    }
    if node_sdk is not None:
        starts["node sdk"] = lambda: spawn_to_initialize(node_sdk)
    begun = interleave(rounds, starts)
    start = {name: statistics.median(times[0] for times in found) for name, found in begun.items()}
    listed = statistics.median(times[1] for times in begun["ours"])
    stdio: dict[str, list[str]] = {"ours": ours, "python sdk": sdk} | (
        {"node sdk": node_sdk} if node_sdk else {}
    )
    round_trip = {name: measure_one_by_one(command, calls // 4) for name, command in stdio.items()}
    rate = {
        name: measure_sustained(command, calls if name == "ours" else calls // 4)
        for name, command in stdio.items()
    }
    http = {
        "ours, sessionless": measure_over_http(ours, "/mcp", calls // 4, modern=True),
        "python sdk": measure_over_http(sdk, "/mcp", calls // 10, modern=True),
        "bare aiohttp": measure_over_http(ours, "/bare", calls // 4, modern=False),
    }

    held: list[tuple[str, float, str, float]] = [
        ("start / floor", start["ours"] / start["floor"], "<=", 1.5),
        ("first tools/list, ms", listed * 1000, "<=", 5.0),
        ("round trip, ms", round_trip["ours"] * 1000, "<=", 0.5),
        ("sustained / python sdk", rate["ours"] / rate["python sdk"], ">=", 10.0),
        ("http / python sdk", http["ours, sessionless"] / http["python sdk"], ">=", 2.0),
    ]
    if "node sdk" in start:
        held.append(("start / node sdk", start["ours"] / start["node sdk"], "<=", 0.5))
    if options.json:
        print(
            json.dumps({"start": start, "round_trip": round_trip, "rate": rate, "http": http, "held": held})
        )
        return 0
    for title, values, unit, factor in (
        ("spawn to initialize answered", start, "ms", 1000.0),
        ("one call, round trip over stdio", round_trip, "us", 1e6),
        ("sustained calls over stdio", rate, "/s", 1.0),
        ("calls over HTTP, 16 callers", http, "/s", 1.0),
    ):
        print(title)
        for name, value in values.items():
            print(f"  {name:<20} {value * factor:10.1f} {unit}")
    return 0 if all_held(held) else 1


def all_held(held: list[tuple[str, float, str, float]]) -> bool:
    """Prints each figure beside its limit; returns whether all are within."""
    print("limits")
    good = True
    for name, value, relation, bound in held:
        within = value <= bound if relation == "<=" else value >= bound
        good &= within
        print(f"  {name:<32} {value:8.2f}  {relation} {bound:g}  {'ok' if within else 'MISSED'}")
    return good


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
