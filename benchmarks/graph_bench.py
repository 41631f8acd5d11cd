"""Measures the graph in a real Chromium: how soon it can be moved, and how long its frames take then.

    python benchmarks/graph_bench.py [--notes 10000] [--json]

A generated vault of N notes is compared to one of a tenth of them, in the same browser and without a graphics
card, as on any build machine. "interactive" is from the address to the first picture that answers to the
pointer, with the answer of the server and the first steps of the layout in it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]

from generate import generate

from browser.chromium import Chromium, Page
from browser.serving import CONNECTED, Serving

MOVES = 60
"""Steps of the pointer that drags the graph: about a second of a hand's motion."""

FRAMES = """(() => {
  const times = window.frameTimes = [];
  let last = performance.now();
  const note = (now) => { times.push(now - last); last = now; requestAnimationFrame(note); };
  requestAnimationFrame(note);
})()"""

OPEN = """new Promise((done) => {
  const begun = performance.now();
  const look = () => document.getElementById('graph-canvas')?.dataset.links
    ? done(performance.now() - begun) : requestAnimationFrame(look);
  location.hash = '#/graph';
  look();
})"""


async def drag(page: Page) -> list[float]:
    box = await page.run(
        "(({x, y, width, height}) => [x + width / 2, y + height / 2])"
        "(document.getElementById('graph-canvas').getBoundingClientRect())"
    )
    await page.run(FRAMES)
    mouse = {"button": "left", "buttons": 1, "clickCount": 1}
    await page.ask("Input.dispatchMouseEvent", type="mousePressed", x=box[0], y=box[1], **mouse)
    for step in range(MOVES):
        await page.ask("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + 3 * step, y=box[1], **mouse)
    await page.ask("Input.dispatchMouseEvent", type="mouseReleased", x=box[0], y=box[1], **mouse)
    times: list[float] = await page.run("window.frameTimes.slice(1)")
    return times


async def measure(chromium: Chromium, folder: Path, notes: int) -> dict[str, Any]:
    vault = folder / f"Vault {notes}"
    generate(vault, notes)
    serving = Serving(vault, folder / "home")
    serving.index()
    with serving.running():
        async with chromium.page(serving.link()) as page:
            await page.until(CONNECTED)
            interactive = await page.run(OPEN)
            moving = await drag(page)
            await page.until("document.getElementById('graph-canvas').dataset.state === 'placed'")
            still = await drag(page)
    return {
        "notes": notes,
        "interactive_ms": round(interactive),
        "frame_ms_while_placing": round(statistics.median(moving), 1),
        "frame_ms_when_placed": round(statistics.median(still), 1),
    }


async def main(notes: int, *, as_json: bool) -> None:
    with tempfile.TemporaryDirectory() as name, Chromium.started(Path(name) / "chromium") as chromium:
        few, many = [await measure(chromium, Path(name), count) for count in (notes // 10, notes)]
    ratios = {key: round(many[key] / few[key], 1) for key in many if key != "notes"}
    if as_json:
        print(json.dumps({"few": few, "many": many, "ratios": ratios}))
        return
    for row in (few, many):
        print("  ".join(f"{key} {value}" for key, value in row.items()))
    print("ratio  " + "  ".join(f"{key} {value}" for key, value in ratios.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    asyncio.run(main(given.notes, as_json=given.json))
