"""How fast the HTTP side answers, as ratios measured side by side in one run.

    python benchmarks/http_bench.py [--quick] [--json]

A real `vaultbridge serve` on a copy of the sample vault, against a bare aiohttp route that answers JSON and
against a server of the official Python SDK. The client is a raw socket, so that what is compared is the
servers. Rounds are interleaved, so that a passing load hits all of them.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

BARE = """
import asyncio, json
from aiohttp import web
LONG = [{"name": f"tool_{n}", "description": "x" * 300, "inputSchema": {"type": "object"}} for n in range(30)]
async def short(request):
    return web.json_response({"success": True, "content": [{"type": "text", "text": "x" * 600}]})
async def long(request):
    return web.json_response({"tools": LONG, "hash": "0" * 64})
async def called(request):
    json.loads(await request.read())
    return await short(request)
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
    return "x" * 600
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
PARALLEL = 200


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

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate()


def http(method: str, path: str, body: Any = None, **headers: str) -> bytes:
    data = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1:1", f"Content-Length: {len(data)}"]
    lines += ["Content-Type: application/json"] if data else []
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def read_note(path: str) -> bytes:
    return http("POST", path, {"arguments": {"path": NOTE}})


def mcp_call() -> bytes:
    params = {"name": "obsidian_read_note", "arguments": {"path": NOTE}, "_meta": META}
    return http(
        "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, **MCP_HEADERS
    )


def rate(port: int, request: bytes, count: int) -> float:
    """Requests a second, one after the other on one connection. Every answer must be a good one."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(20):
            _exchange(connection, request)
        begin = time.perf_counter()
        for _ in range(count):
            _exchange(connection, request)
        return count / (time.perf_counter() - begin)


def _exchange(connection: socket.socket, request: bytes) -> None:
    if hasattr(socket, "TCP_QUICKACK"):
        # A server that writes an answer in several small parts would else wait for us, 40 ms each time.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
    connection.sendall(request)
    data = connection.recv(65536)
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200"), data[:500]
    lower = head.lower()
    if b"content-length:" in lower:
        wanted = int(lower.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        while len(body) < wanted:
            body += connection.recv(65536)
    else:
        while not body.endswith(b"0\r\n\r\n"):
            body += connection.recv(65536)
    assert b'"isError":true' not in body, body[:500]


async def parallel(port: int, request: bytes, each: int) -> tuple[int, float]:
    """PARALLEL callers at once: how many answers were not good, and answers a second."""

    async def caller() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        wrong = 0
        for _ in range(each):
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            body = await reader.readexactly(length)
            wrong += not (head.startswith(b"HTTP/1.1 200") and b'"success":true' in body)
        writer.close()
        return wrong

    begin = time.perf_counter()
    wrong = sum(await asyncio.gather(*(caller() for _ in range(PARALLEL))))
    return wrong, PARALLEL * each / (time.perf_counter() - begin)


def main(args: list[str]) -> int:
    rounds, count = (3, 500) if "--quick" in args else (9, 2000)
    with tempfile.TemporaryDirectory() as folder:
        vault = Path(folder) / "vault"
        shutil.copytree(ROOT / "examples" / "sample-vault", vault)
        ours = Server(
            [sys.executable, "-m", "vaultbridge", "serve", str(vault), "--port", "0", "--json", "--no-ide"],
            HOME=folder,
            VAULTBRIDGE_CACHE=f"{folder}/cache",
            VAULTBRIDGE_CONFIG=f"{folder}/config.toml",
            VAULTBRIDGE_LOG_LEVEL="error",
            PYTHONPATH=str(ROOT / "src"),
        )
        bare = Server([sys.executable, "-c", BARE])
        sdk = Server([sys.executable, "-c", SDK])
        tasks = {
            "GET /tools, bare aiohttp": (bare.port, http("GET", "/long"), 1),
            "GET /tools": (ours.port, http("GET", "/bridge/v1/tools"), 1),
            "POST, bare aiohttp": (bare.port, read_note("/call"), 1),
            "read_note over Bridge v1": (ours.port, read_note("/bridge/v1/tools/read_note/call"), 1),
            "tools/call over /mcp": (ours.port, mcp_call(), 1),
            "tools/call, official SDK": (sdk.port, mcp_call(), 4),
        }
        try:
            time.sleep(1.0)  # The vault's first index is built beside the first requests.
            rates: dict[str, list[float]] = {name: [] for name in tasks}
            for _ in range(rounds):
                for name, (port, request, slower) in tasks.items():
                    rates[name].append(rate(port, request, count // slower))
            call = read_note("/bridge/v1/tools/read_note/call")
            wrong, crowd = asyncio.run(parallel(ours.port, call, 5 if rounds == 3 else 20))
        finally:
            for server in (ours, bare, sdk):
                server.close()
    middle = {name: statistics.median(found) for name, found in rates.items()}
    held = [
        ("GET /tools / bare aiohttp", middle["GET /tools"] / middle["GET /tools, bare aiohttp"], ">=", 0.5),
        (
            "read_note / bare aiohttp",
            middle["read_note over Bridge v1"] / middle["POST, bare aiohttp"],
            ">=",
            0.5,
        ),
        (
            "/mcp / official SDK",
            middle["tools/call over /mcp"] / middle["tools/call, official SDK"],
            ">=",
            2.0,
        ),
        (f"errors of {PARALLEL} callers", float(wrong), "<=", 0.0),
    ]
    if "--json" in args:
        print(json.dumps({"rates": middle, "crowd": crowd, "held": held}))
        return 0
    for name, value in {**middle, f"read_note, {PARALLEL} callers": crowd}.items():
        print(f"  {name:<28} {value:9.0f} /s")
    print("held")
    good = True
    for name, value, relation, bound in held:
        kept = value <= bound if relation == "<=" else value >= bound
        good &= kept
        print(f"  {name:<28} {value:9.2f}  {relation} {bound:g}  {'ok' if kept else 'MISSED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
