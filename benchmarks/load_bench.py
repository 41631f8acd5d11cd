"""Measures whether short calls wait behind long ones: reads and edits over HTTP while others search.

    python benchmarks/load_bench.py [--notes 2000] [--seconds 6] [--callers 50] [--json]

A real `vaultbridge serve` on a generated vault is called over loopback with Bridge v1: first each kind of
call from one caller alone, then from some callers who read and edit, then from these and many more who search
for a common word, while another program saves notes. The limit is on the time of a short call in the crowd,
as a multiple of the time without those who search: the processor is shared with searches, but no short call
may queue behind them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
from generate import COMMON_WORD, generate
from http_bench import ROOT, Call, Server, post

EDIT_SHARE, READ_SHARE = 0.1, 0.3
"""How many of the callers edit and how many read; the others search."""

HELD = {"read": 4.0, "edit": 4.0}
"""The longest median of a short call in the crowd, as a multiple of that among short calls. Two threads
search, so a fair share of the interpreter would be a third of it."""

BUILD_SECONDS = 300.0


def make_call(called: str, **arguments: Any) -> Call:
    return post(f"/bridge/v1/tools/{called}/call", {"arguments": arguments})


class Load:
    """Makes calls of each kind and records how long they took."""

    def __init__(self, port: int, session: aiohttp.ClientSession) -> None:
        self.port = port
        self.session = session
        self.number = 0
        self.took: dict[str, list[float]] = {"read": [], "edit": [], "search": []}

    def _next(self, kind: str) -> Call:
        self.number += 1
        if kind == "read":
            return make_call("read_note", name="Hub")
        if kind == "edit":
            return make_call(
                "edit_note", name=f"Load {self.number % 20}", op="append", content="One more line."
            )
        return make_call("search", query=f"{COMMON_WORD} the", offset=self.number % 200)

    async def call(self, kind: str) -> None:
        call = self._next(kind)
        begin = time.perf_counter()
        async with self.session.request(
            call.method, f"http://127.0.0.1:{self.port}{call.path}", data=call.body, headers=call.headers
        ) as response:
            body = await response.read()
            assert response.status == 200, body[:500]
        self.took[kind].append(time.perf_counter() - begin)

    async def keep_calling(self, kind: str, until: float) -> None:
        while time.perf_counter() < until:
            await self.call(kind)


async def measure_load(
    port: int, callers: int, seconds: float, save: Callable[[int], None]
) -> dict[str, Any]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        load = Load(port, session)
        begin = time.perf_counter()
        while True:
            async with session.post(
                f"http://127.0.0.1:{port}/bridge/v1/tools/search/call", json={"arguments": {"query": "hub"}}
            ) as response:
                if "still being built" not in await response.text():
                    break
            assert time.perf_counter() - begin < BUILD_SECONDS
            await asyncio.sleep(0.2)
        for kind in load.took:
            for _ in range(20):
                await load.call(kind)
        alone = {kind: statistics.median(took[5:]) for kind, took in load.took.items()}
        load.took = {kind: [] for kind in load.took}
        edits, reads = max(1, round(callers * EDIT_SHARE)), max(1, round(callers * READ_SHARE))
        kinds = ["edit"] * edits + ["read"] * reads
        until = time.perf_counter() + seconds
        await asyncio.gather(*(load.keep_calling(kind, until) for kind in kinds))
        short, load.took = load.took, {kind: [] for kind in load.took}
        kinds += ["search"] * max(1, callers - edits - reads)
        until = time.perf_counter() + seconds

        async def save_outside() -> None:
            number = 0
            while time.perf_counter() < until:
                save(number)
                number += 1
                await asyncio.sleep(0.2)

        await asyncio.gather(save_outside(), *(load.keep_calling(kind, until) for kind in kinds))
    return {
        "alone": alone,
        "short": summarize(short),
        "crowd": summarize(load.took),
    }


def summarize(times: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {
        kind: {
            "calls": len(took),
            "median": statistics.median(took),
            "p99": statistics.quantiles(took, n=100)[98] if len(took) > 1 else took[0],
        }
        for kind, took in times.items()
        if took
    }


def run(notes: int, callers: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="load-bench-") as folder:
        vault = Path(folder) / "vault"
        generate(vault, notes)
        for number in range(20):
            (vault / f"Load {number}.md").write_text("A note that is appended to.\n")

        def save(number: int) -> None:
            (vault / f"Outside {number % 10}.md").write_text(f"Saved {number} times.\n")

        server = Server(
            [sys.executable, "-m", "vaultbridge", "serve", str(vault), "--port", "0", "--json", "--no-ide"],
            HOME=folder,
            VAULTBRIDGE_CACHE=f"{folder}/cache",
            XDG_CONFIG_HOME=f"{folder}/config",
            VAULTBRIDGE_LOG_LEVEL="error",
            PYTHONPATH=str(ROOT / "src"),
        )
        try:
            return asyncio.run(measure_load(server.port, callers, seconds, save))
        finally:
            server.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--notes", type=int, default=2000, help="notes in the vault (default: %(default)s)")
    parser.add_argument(
        "--seconds", type=float, default=6.0, help="length of each phase (default: %(default)s)"
    )
    parser.add_argument("--callers", type=int, default=50, help="callers at once (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    found = run(options.notes, options.callers, options.seconds)
    ratios = {kind: found["crowd"][kind]["median"] / found["short"][kind]["median"] for kind in HELD}
    if options.json:
        print(json.dumps({**found, "ratios": ratios, "held": HELD}))
        return 0
    for phase, where in (("short", "short calls"), ("crowd", "the crowd")):
        for kind, took in found[phase].items():
            print(
                f"  {kind:<8} alone {found['alone'][kind] * 1e3:8.1f} ms; {took['calls']:6} calls in {where}:"
                f" median {took['median'] * 1e3:8.1f} ms, p99 {took['p99'] * 1e3:8.1f} ms"
            )
    print("held: the median in the crowd / the same without those who search")
    for kind, bound in HELD.items():
        print(f"  {kind:<8} {ratios[kind]:9.2f}  <= {bound:g}  {'ok' if ratios[kind] <= bound else 'MISSED'}")
    return 0 if all(ratios[kind] <= bound for kind, bound in HELD.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
