"""Measures whether memory stops rising: a server and a stdio process under a steady mixed load, for an hour.

    python benchmarks/memory_soak.py [--minutes 60] [--notes 3000] [--share 0.15] [--json]

A real `vaultbridge serve` and a real `vaultbridge stdio` work on a generated vault: they search, read, edit
and undo; sessions and event streams are opened and closed, or abandoned; the page asks for its views; and
another program changes, makes and deletes files. The vault stays as large as it was, so memory has nothing to
grow with. `--share` is how much of one core the two processes may use, which sets the pace.

Every 30 seconds the memory of each is read: what it shares with nobody, and its part of what it shares (PSS,
with its child processes), and what is resident (RSS). At the end a table for each ten minutes is printed, and
the slope of a line through the last half of the run, of the server and of the stdio process, with a limit on
it. A run of a few minutes says nothing: caches are still being filled. What fills them is calls, not time:
some 15,000 actions, as docs/benchmarks.md explains ("Memory over many calls"). Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
from generate import COMMON_WORD, HUB, RARE_WORD, generate
from http_bench import ROOT, Server

SAMPLE_SECONDS = 30.0
"""How far two samples are apart: an hour gives 120, which one fresh buffer does not tilt."""

LEAST_MINUTES = 3.0

TABLE_MINUTES = 10
"""How much time one row of the table is about."""

HELD_SLOPE = 6.0
"""The steepest line through the last half of a run, in MB per hour. Arenas of the allocator come and go by a
few MB; what leaks with each call, session or saved file of this load would be above it."""

BUILD_SECONDS = 300.0
"""How long the first build of the index may take before the run is aborted."""

ABANDONED_SHARE = 0.3
"""How many of the sessions are left open by their client, so that the server has to end them."""

OUTSIDE_NAMES, EDITED_NAMES = 60, 40
"""How many notes the other program saves, and how many are edited: enough that no cache holds them all."""

LONGEST_NOTE = 20_000
"""An edited note is written anew once it is longer, so that the vault does not grow."""

PAGE = (
    "/home",
    "/files",
    "/graph",
    "/activity",
    "/assistants",
    "/stats",
    "/settings",
    "/trace",
    "/search?kind=ranked&q=",
    "/search?kind=exact&q=",
    "/note?path=",
    "/links?path=",
)
WORDS = ("window", "people", "little", "water", "résumé", "work long", "other place", RARE_WORD, "Zürich")
MCP_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
    "MCP-Protocol-Version": "2025-06-18",
}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "soak", "version": "1"},
    },
}

MB = 1024 * 1024


class Memory(NamedTuple):
    """Bytes."""

    rss: int
    pss: int


class Sample(NamedTuple):
    minute: float
    serve: Memory
    stdio: Memory
    actions: int


def read_memory(pid: int) -> Memory:
    """Returns that of a process and its children."""
    rss = pss = 0
    children = Path(f"/proc/{pid}/task/{pid}/children")
    for process in (pid, *map(int, children.read_text().split())):
        # A child may have ended since it was listed.
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
                if line.startswith(("Rss:", "Pss:")):
                    size = int(line.split()[1]) * 1024
                    rss += size if line[0] == "R" else 0
                    pss += size if line[0] == "P" else 0
    return Memory(rss, pss)


def read_cpu_seconds(pid: int) -> float:
    """Returns the processor time of all its threads, also of those that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Stdio:
    """One session with `vaultbridge stdio`: a request, then its answer."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._id = 0

    async def ask(self, method: str, **params: Any) -> Any:
        self._id += 1
        await self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        assert self.process.stdout is not None
        while True:
            message = json.loads(await self.process.stdout.readline())
            if message.get("id") == self._id:
                return message

    async def start(self) -> None:
        await self.ask("initialize", **INITIALIZE["params"])  # type: ignore[arg-type]
        await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def _send(self, message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        await self.process.stdin.drain()


class Soak:
    """Draws what is done next, and counts it."""

    def __init__(
        self, vault: Path, http: aiohttp.ClientSession, stdio: Stdio, port: int, token: str, seed: int
    ) -> None:
        self._vault = vault
        self._http = http
        self._stdio = stdio
        self._url = f"http://127.0.0.1:{port}"
        self._token = token
        self._rng = random.Random(seed)
        self._notes = sorted(str(file.relative_to(vault)) for file in vault.rglob("*.md"))
        self.actions = 0
        self.failed = 0

    async def act(self) -> None:
        kinds = {
            self._search: 5,
            self._read: 6,
            self._edit: 4,
            self._ask_page: 3,
            self._hold_session: 2,
            self._follow_events: 1,
            self._save_outside: 3,
        }
        (action,) = self._rng.choices(list(kinds), list(kinds.values()))
        await action()
        self.actions += 1

    async def _call(self, tool: str, **arguments: Any) -> None:
        """Over stdio or Bridge v1, by chance."""
        if self._rng.random() < 0.5:
            answer = await self._stdio.ask("tools/call", name=f"obsidian_{tool}", arguments=arguments)
            failed = "error" in answer or answer["result"].get("isError")
        else:
            url = f"{self._url}/bridge/v1/tools/{tool}/call"
            async with self._http.post(url, json={"arguments": arguments}) as response:
                failed = not (await response.json())["success"]
        self.failed += bool(failed)

    async def _search(self) -> None:
        word = self._rng.choice(WORDS)
        kind = self._rng.randrange(6)
        if kind == 0:
            await self._call("context", question=f"what is there about {word}")
        elif kind == 1:
            await self._call("search", query=f'"{word}" -path:x', limit=50)
        elif kind == 2:
            await self._call("related", name=self._rng.choice(self._notes))
        elif kind == 3:
            await self._call("search", query=f"/{word[:3]}\\w+/", limit=5)
        else:
            await self._call("search", query=word, offset=self._rng.randrange(100))

    async def _read(self) -> None:
        name = self._rng.choice(self._notes)
        kind = self._rng.randrange(6)
        if kind == 0:
            await self._call("links", name=name)
        elif kind == 1:
            await self._call("tags")
        elif kind == 2:
            await self._call("list_files", limit=500)
        elif kind == 3:
            await self._call("tasks")
        else:
            await self._call("read_note", name=name, max_chars=90_000)

    async def _edit(self) -> None:
        name = f"Soaked {self._rng.randrange(EDITED_NAMES)}.md"
        file = self._vault / name
        if not file.exists() or file.stat().st_size > LONGEST_NOTE:
            await self._call("create_note", name=name, content=self._draw_text(), overwrite=True)
        kind = self._rng.randrange(4)
        if kind == 0:
            await self._call("edit_note", name=name, op="append", content=self._draw_text())
        elif kind == 1:
            await self._call("edit_note", name=name, op="set_property", property="n", value=self.actions)
        elif kind == 2:
            moved = f"Moved {name}"
            if not (self._vault / moved).exists():
                await self._call("move_note", name=name, to=moved)
            await self._call("move_note", name=moved, to=name)
        else:
            await self._call("delete_note", name=name)
        if self._rng.random() < 0.5:
            await self._call("undo")

    async def _ask_page(self) -> None:
        path = self._rng.choice(PAGE)
        if path.endswith("q="):
            path += self._rng.choice(WORDS)
        elif path.endswith("path="):
            path += self._rng.choice(self._notes)
        headers = {"Authorization": f"Bearer {self._token}"}
        async with self._http.get(f"{self._url}/page/api{path}", headers=headers) as response:
            self.failed += response.status != 200
            await response.read()

    async def _hold_session(self) -> None:
        async with self._http.post(f"{self._url}/mcp", json=INITIALIZE, headers=MCP_HEADERS) as response:
            await response.read()
            session = {**MCP_HEADERS, "Mcp-Session-Id": response.headers["Mcp-Session-Id"]}
        for number in range(self._rng.randrange(1, 5)):
            call = {"name": "obsidian_read_note", "arguments": {"name": self._rng.choice(self._notes)}}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
            async with self._http.post(f"{self._url}/mcp", json=message, headers=session) as response:
                await response.read()
        if self._rng.random() > ABANDONED_SHARE:
            async with self._http.delete(f"{self._url}/mcp", headers=session) as response:
                await response.read()

    async def _follow_events(self) -> None:
        """As an older client does, and as the page does; both are cut off."""
        if self._rng.random() < 0.5:
            async with self._http.get(f"{self._url}/sse") as response:
                await response.content.readline()
        else:
            headers = {"Authorization": f"Bearer {self._token}"}
            async with self._http.ws_connect(f"{self._url}/editor", headers=headers) as socket:
                await socket.send_json({"jsonrpc": "2.0", "id": 1, "method": "ping"})
                await socket.receive()

    async def _save_outside(self) -> None:
        file = self._vault / f"Outside {self._rng.randrange(OUTSIDE_NAMES)}.md"
        kind = self._rng.randrange(4)
        if kind == 0 and file.exists():
            file.unlink()
        elif kind == 1 and file.exists():
            file.replace(file.with_name(f"Outside {self._rng.randrange(OUTSIDE_NAMES)}.md"))
        else:
            file.write_text(self._draw_text(), "utf-8")

    def _draw_text(self) -> str:
        words = self._rng.choices([*WORDS, COMMON_WORD, "the", "and", f"n{self.actions}"], k=120)
        links = " ".join(f"[[{Path(note).stem}]]" for note in self._rng.choices(self._notes, k=3))
        return f"# Part {self.actions}\n\n{' '.join(words)}\n\n{links} #soaked\n"


async def start_stdio(vault: Path, environ: dict[str, str]) -> Stdio:
    stdio = Stdio(
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "vaultbridge", "stdio", str(vault), "--log-level", "error"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environ},
            limit=64 * MB,
        )
    )
    await stdio.start()
    return stdio


async def wait_for_index(http: aiohttp.ClientSession, port: int) -> None:
    begin = time.perf_counter()
    url = f"http://127.0.0.1:{port}/bridge/v1/tools/search/call"
    while True:
        async with http.post(url, json={"arguments": {"query": Path(HUB).stem}}) as response:
            if "still being built" not in await response.text():
                return
        assert time.perf_counter() - begin < BUILD_SECONDS
        await asyncio.sleep(0.5)


async def measure(vault: Path, server: Server, environ: dict[str, str], options: Any) -> list[Sample]:
    stdio = await start_stdio(vault, environ)
    lock = next((vault.parent / ".claude" / "ide").glob("*.lock"))
    token = json.loads(lock.read_text())["authToken"]
    pids = (server.process.pid, stdio.process.pid)
    samples: list[Sample] = []
    try:
        async with aiohttp.ClientSession() as http:
            await wait_for_index(http, server.port)
            soak = Soak(vault, http, stdio, server.port, token, options.seed)
            begin = time.perf_counter()
            spent = sum(map(read_cpu_seconds, pids))
            while (elapsed := time.perf_counter() - begin) < options.minutes * 60:
                if elapsed >= len(samples) * SAMPLE_SECONDS:
                    serve, other = map(read_memory, pids)
                    samples.append(Sample(elapsed / 60, serve, other, soak.actions))
                    show_progress(samples[-1], soak)
                await soak.act()
                used = sum(map(read_cpu_seconds, pids)) - spent
                ahead = used / options.share - (time.perf_counter() - begin)
                await asyncio.sleep(min(max(ahead, 0.0), SAMPLE_SECONDS))
    finally:
        stdio.process.terminate()
        await stdio.process.wait()
    return samples


def show_progress(sample: Sample, soak: Soak) -> None:
    print(
        f"  {sample.minute:6.1f} min"
        f"  serve {sample.serve.pss / MB:6.1f} MB  stdio {sample.stdio.pss / MB:6.1f} MB"
        f"  {soak.actions} actions, {soak.failed} refused",
        file=sys.stderr,
        flush=True,
    )


def run(options: Any) -> list[Sample]:
    with tempfile.TemporaryDirectory(prefix="memory-soak-") as folder:
        vault = Path(folder) / "vault"
        generate(vault, options.notes)
        environ = {
            "HOME": folder,
            "VAULTBRIDGE_CACHE": f"{folder}/cache",
            "XDG_CONFIG_HOME": f"{folder}/config",
            "VAULTBRIDGE_LOG_LEVEL": "error",
            "PYTHONPATH": str(ROOT / "src"),
        }
        command = [sys.executable, "-m", "vaultbridge", "serve", str(vault), "--port", "0", "--json"]
        server = Server(command, **environ)
        try:
            return asyncio.run(measure(vault, server, environ, options))
        finally:
            server.close()


def find_slopes(samples: list[Sample]) -> dict[str, float]:
    """Returns MB per hour of PSS, over the last half."""
    half = samples[len(samples) // 2 :]
    hours = [sample.minute / 60 for sample in half]
    return {
        name: statistics.linear_regression(hours, [getattr(sample, name).pss / MB for sample in half]).slope
        for name in ("serve", "stdio")
    }


def print_table(samples: list[Sample]) -> None:
    print("  minutes   actions   serve PSS, RSS (MB)   stdio PSS, RSS (MB): the median of the samples")
    for start in range(0, int(samples[-1].minute) + 1, TABLE_MINUTES):
        rows = [sample for sample in samples if start <= sample.minute < start + TABLE_MINUTES]
        if rows:
            figures = [
                statistics.median(getattr(getattr(row, name), kind) / MB for row in rows)
                for name in ("serve", "stdio")
                for kind in ("pss", "rss")
            ]
            serve_pss, serve_rss, stdio_pss, stdio_rss = figures
            print(
                f"  {start:3}-{start + TABLE_MINUTES:<3}  {rows[-1].actions:8}"
                f"   {serve_pss:9.1f} {serve_rss:9.1f}   {stdio_pss:9.1f} {stdio_rss:9.1f}"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0, help="(default: %(default)s)")
    parser.add_argument("--notes", type=int, default=3000, help="notes in the vault (default: %(default)s)")
    parser.add_argument(
        "--share", type=float, default=0.15, help="of one core, for both processes (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the samples as JSON")
    options = parser.parse_args()
    if options.minutes < LEAST_MINUTES:
        parser.error(f"--minutes: at least {LEAST_MINUTES:g}, for a line through the samples of its half")
    samples = run(options)
    slopes = find_slopes(samples)
    if options.json:
        print(json.dumps({"samples": samples, "slopes": slopes, "held": HELD_SLOPE}))
        return 0
    print_table(samples)
    print("held: the slope of PSS over the last half, MB per hour")
    for name, slope in slopes.items():
        verdict = "ok" if slope <= HELD_SLOPE else "MISSED: it still rises"
        print(f"  {name:<8} {slope:9.2f}  <= {HELD_SLOPE:g}  {verdict}")
    return 0 if all(slope <= HELD_SLOPE for slope in slopes.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
