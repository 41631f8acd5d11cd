"""Measures how fast `vaultbridge stdio` starts and answers on a large vault, as ratios within one run.

    python benchmarks/stdio_bench.py [--notes 10000] [--quick] [--json]

It is compared to `python -c 'import asyncio, msgspec'` (the least that our start can take), to a minimal
server of the official TypeScript SDK (skipped without npm), and to a server of the official Python SDK with
an echo tool. Ours is the real command on a real vault with a cold index (deleted before each start) or a warm
one; a plugin adds the echo tool. `vaultbridge bridge` must start as fast. The rounds of all competitors are
interleaved, so that a passing load slows all of them. Absolute times depend on the machine, so the limits are
on ratios.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import mcp_bench
from generate import HUB, generate
from mcp_bench import (
    INITIALIZE,
    NODE_SDK,
    PYTHON_SDK,
    Server,
    all_held,
    interleave,
    make_message,
    run_to_end,
)

from support.node import NotInstallable, find_node, install_packages

ECHO = """\
from vaultbridge.plugins import tool
@tool(effect="reads")
def echo(text: str) -> str:
    "Echo."
    return text
"""

CALM_SECONDS = 3.0
"""How long a server is called before sustained calls are counted: ours first compares its vault with the
index."""

CLOSED_PORT = 1
"""A port that nobody listens on."""

BUILD_SECONDS = 300.0
"""How long the first build of the index may take before the run is aborted."""


class Vault:
    """A generated vault with a home and a cache of its own."""

    def __init__(self, base: Path, notes: int) -> None:
        self.folder = base / "Vault"
        self.cache = base / "cache"
        generate(self.folder, notes)
        self._tools = base / "home" / ".config" / "vaultbridge" / "tools"
        self.note = HUB.removesuffix(".md")
        os.environ["HOME"] = str(base / "home")
        os.environ["VAULTBRIDGE_CACHE"] = str(self.cache)
        self.command = [
            sys.executable,
            "-m",
            "vaultbridge",
            "stdio",
            str(self.folder),
            "--log-level",
            "error",
        ]

    def add_echo(self) -> None:
        """Adds a plugin. With one, the first list of tools waits until all tools are loaded."""
        self._tools.mkdir(parents=True)
        (self._tools / "echo.py").write_text(ECHO)

    def forget(self) -> None:
        shutil.rmtree(self.cache, ignore_errors=True)

    def warm(self) -> float:
        """Builds the index and returns the seconds that took."""
        server = start_server(self.command)
        begin = time.perf_counter()
        while "index is still being built" in call(server, "obsidian_search", query="zyzzyvaphone"):
            assert time.perf_counter() - begin < BUILD_SECONDS
            time.sleep(0.2)
        took = time.perf_counter() - begin
        server.close()
        return took


_ids = iter(range(1, 1 << 30))


def start_server(command: list[str]) -> Server:
    server = Server(command)
    server.ask(INITIALIZE, 0)
    server.write(make_message(None, "notifications/initialized"))
    return server


def call(server: Server, tool: str, **arguments: Any) -> str:
    id_ = next(_ids)
    answer = server.ask(make_message(id_, "tools/call", {"name": tool, "arguments": arguments}), id_)
    return str(answer["result"]["content"][0]["text"])


def kill(server: Server) -> None:
    """Kill a process of ours without waiting for the index it builds."""
    server.process.kill()
    server.process.wait()
    for pipe in (server.process.stdin, server.process.stdout, server.out):
        assert pipe is not None
        pipe.close()


def start(vault: Vault, *, cold: bool) -> tuple[float, float]:
    """Returns the seconds from the spawn to the answer to `initialize`, and from there to the first list of
    tools."""
    if cold:
        vault.forget()
    begin = time.perf_counter()
    server = Server(vault.command)
    server.ask(INITIALIZE, 0)
    initialized = time.perf_counter()
    server.write(make_message(None, "notifications/initialized"))
    server.ask(make_message(1, "tools/list"), 1)
    listed = time.perf_counter()
    kill(server)
    return initialized - begin, listed - initialized


def measure_bridge_starts(vault: Vault, rounds: int) -> dict[str, float]:
    """Returns the milliseconds until `stdio` and `bridge`, whose server is not running, answer `initialize`:
    the best round of each, because the two are nearly equal."""
    bridge = [sys.executable, "-m", "vaultbridge", "bridge", "--url", f"http://127.0.0.1:{CLOSED_PORT}"]
    begun = interleave(
        rounds,
        {
            "stdio": lambda: start(vault, cold=False),
            "bridge": lambda: mcp_bench.spawn_to_initialize(bridge),
        },
    )
    return {f"start at best, {name}, ms": min(found)[0] * 1000 for name, found in begun.items()}


def measure_while_building(vault: Vault) -> dict[str, float]:
    """Returns the milliseconds of a cold process's first calls, one after the other, during the index
    build."""
    vault.forget()
    server = start_server(vault.command)
    found: dict[str, float] = {}
    for name, tool, arguments in (
        ("first read", "obsidian_read_note", {"name": vault.note}),
        ("second read", "obsidian_read_note", {"name": vault.note}),
        ("search, partial", "obsidian_search", {"query": "zyzzyvaphone"}),
    ):
        begin = time.perf_counter()
        text = call(server, tool, **arguments)
        found[name] = (time.perf_counter() - begin) * 1000
        if tool == "obsidian_search":
            found["search said that it was partial"] = float("still being built" in text)
    kill(server)
    return found


def read_round_trip(vault: Vault, calls: int) -> float:
    """Returns the median time of reading a note, in milliseconds."""
    server = start_server(vault.command)
    call(server, "obsidian_read_note", name=vault.note)
    times = []
    calm = time.perf_counter() + CALM_SECONDS
    while time.perf_counter() < calm:
        call(server, "obsidian_read_note", name=vault.note)
    for id_ in range(10_000_000, 10_000_000 + calls):
        data = make_message(
            id_, "tools/call", {"name": "obsidian_read_note", "arguments": {"name": vault.note}}
        )
        begin = time.perf_counter()
        server.ask(data, id_)
        times.append(time.perf_counter() - begin)
    server.close()
    return statistics.median(times) * 1000


def measure_completion(vault: Vault, calls: int) -> float:
    """Returns the median time of completing a note name that is being typed, in milliseconds."""
    server = start_server(vault.command)
    times = []
    for number in range(calls):
        id_ = 20_000_000 + number
        params = {
            "ref": {"type": "ref/prompt", "name": "summarize_note"},
            "argument": {"name": "note", "value": "hub brain stone"[: 1 + number % 15]},
        }
        begin = time.perf_counter()
        server.ask(make_message(id_, "completion/complete", params), id_)
        times.append(time.perf_counter() - begin)
    server.close()
    return statistics.median(times) * 1000


def measure_sustained(command: list[str], calls: int, tool: str, arguments: dict[str, Any]) -> float:
    """Returns calls per second when the client does not wait for the answers."""
    server = start_server(command)
    calm = time.perf_counter() + CALM_SECONDS
    while time.perf_counter() < calm:
        server.ask(make_message(1, "tools/call", {"name": tool, "arguments": arguments}), 1)
    template = make_message(2, "tools/call", {"name": tool, "arguments": arguments}).replace(
        b'"id": 2', b'"id": %d'
    )
    parts = [b"".join(template % id_ for id_ in range(at, at + 32)) for at in range(100, 100 + calls, 32)]
    begin = time.perf_counter()
    Thread(target=lambda: [server.write(part) for part in parts], daemon=True).start()
    for _ in range(len(parts) * 32):
        server.out.readline()
    took = time.perf_counter() - begin
    server.close()
    return len(parts) * 32 / took


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--notes", type=int, default=10_000, help="notes in the vault (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, for a first impression")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    rounds, calls = (5, 1000) if options.quick else (15, 5000)
    node_sdk: list[str] | None = None
    try:
        clients = install_packages("clients")
        (clients / "echo.mjs").write_text(NODE_SDK, "utf-8")
        node_sdk = [find_node(clients), str(clients / "echo.mjs")]
    except NotInstallable as reason:
        print(f"without the TypeScript server: {reason}")
    # As an installer does: otherwise an environment that writes no bytecode compiles at every start.
    compileall.compile_dir(Path(__file__).parents[1] / "src", quiet=1)
    with tempfile.TemporaryDirectory() as base:
        vault = Vault(Path(base), options.notes)
        figures = measure_all(vault, node_sdk, rounds, calls)
    return report(figures, as_json=options.json)


def measure_all(vault: Vault, node_sdk: list[str] | None, rounds: int, calls: int) -> dict[str, float]:
    sdk = [sys.executable, "-c", PYTHON_SDK]
    begun = interleave(rounds, _make_starts(vault, node_sdk, cold=True))
    figures = {f"start cold, {name}, ms": _compute_median(found, 0) for name, found in begun.items()}
    figures["first tools/list cold, ms"] = _compute_median(begun["ours"], 1)
    figures |= {f"cold: {name}, ms": value for name, value in measure_while_building(vault).items()}
    figures["building the index, s"] = vault.warm()
    begun = interleave(rounds, _make_starts(vault, node_sdk, cold=False))
    figures |= {f"start warm, {name}, ms": _compute_median(found, 0) for name, found in begun.items()}
    figures["first tools/list warm, ms"] = _compute_median(begun["ours"], 1)
    figures |= measure_bridge_starts(vault, rounds + 5)
    figures["read_note p50, ms"] = read_round_trip(vault, calls)
    figures["completion p50, ms"] = measure_completion(vault, calls // 10)
    vault.add_echo()
    rates: dict[str, Callable[[], Any]] = {
        "echo": lambda: measure_sustained(vault.command, calls * 4, "echo", {"text": "hello"}),
        "read_note": lambda: measure_sustained(
            vault.command, calls, "obsidian_read_note", {"name": vault.note}
        ),
        "python sdk's echo": lambda: measure_sustained(sdk, calls // 5, "echo", {"text": "hello"}),
    }
    for name, found in interleave(3, rates).items():
        figures[f"sustained {name}, /s"] = statistics.median(found)
    return figures


def _make_starts(vault: Vault, node_sdk: list[str] | None, *, cold: bool) -> dict[str, Callable[[], Any]]:
    starts: dict[str, Callable[[], Any]] = {
        "floor": lambda: (run_to_end([sys.executable, "-c", "import asyncio, msgspec"]), 0.0),
        "ours": lambda: start(vault, cold=cold),
    }
    if node_sdk is not None:
        starts["node sdk"] = lambda: mcp_bench.spawn_to_initialize(node_sdk)
    return starts


def _compute_median(found: list[Any], which: int) -> float:
    return statistics.median(float(times[which]) for times in found) * 1000


def report(figures: dict[str, float], *, as_json: bool) -> int:
    held: list[tuple[str, float, str, float]] = []
    for state in ("cold", "warm"):
        ours = figures[f"start {state}, ours, ms"]
        held.append((f"start {state} / floor", ours / figures[f"start {state}, floor, ms"], "<=", 1.5))
        if f"start {state}, node sdk, ms" in figures:
            held.append(
                (f"start {state} / node sdk", ours / figures[f"start {state}, node sdk, ms"], "<=", 0.5)
            )
        held.append((f"first tools/list {state}, ms", figures[f"first tools/list {state}, ms"], "<=", 5.0))
    bridge = figures["start at best, bridge, ms"] / figures["start at best, stdio, ms"]
    held.append(("start of the bridge / stdio", bridge, "<=", 1.05))
    held.append(("read_note p50, ms", figures["read_note p50, ms"], "<=", 0.5))
    ratio = figures["sustained echo, /s"] / figures["sustained python sdk's echo, /s"]
    held.append(("sustained echo / python sdk", ratio, ">=", 10.0))
    if as_json:
        print(json.dumps({"figures": figures, "held": held}))
        return 0
    for name, value in figures.items():
        print(f"  {name:<46} {value:10.2f}")
    return 0 if all_held(held) else 1


if __name__ == "__main__":
    sys.exit(main())
