"""Measures how fast the page of a large vault is, in Chromium, beside a plain text.

    python benchmarks/page_bench.py [--quick] [--json]

A vault of 10,000 generated notes (1,000 with --quick) is served on loopback. In each round a fresh tab opens
a plain text of the same server, and then the vault's home: until the first paint, until the files are listed,
and until a search shows hits after a key was pressed. The best round of each counts, because other load can
only slow a round down. Times are printed as milliseconds, and as a multiple of the plain text's first paint.
The weight is what the whole page, every view included, takes on the wire.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "benchmarks")]

from generate import generate

from browser.chromium import Chromium, Page
from browser.serving import CONNECTED, Serving

STATIC = ROOT / "src" / "vaultbridge" / "web" / "static"

PAINT = """new Promise((done) => {
  const seen = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
  if (seen()) done(seen());
  new PerformanceObserver(() => seen() && done(seen())).observe({ type: 'paint', buffered: true });
})"""

LISTED = """new Promise((done) => {
  const look = () => document.querySelector('.row') ? done(performance.now()) : requestAnimationFrame(look);
  look();
})"""

TYPED = """new Promise((done) => {
  const field = document.querySelector('.search-field input');
  const setter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set;
  const start = performance.now();
  setter.call(field, field.value + %s);
  field.dispatchEvent(new Event('input', { bubbles: true }));
  const wanted = field.value;
  const look = () => {
    const shown = document.querySelector('.found-count');
    // The count of the letters before stays until the next is there: it says of what it is.
    const isThere = /^([0-9]|Nothing)/.test(shown?.textContent) && shown.dataset.of === wanted;
    if (isThere) done(performance.now() - start);
    else setTimeout(look, 0);
  };
  look();
})"""
"""From a letter in the field to the count of its hits; the field is set as a key does."""

KEYS = ("g", "a", "r", "d", "e", "n", " p", "l", "a", "n")
"""A space alone asks for nothing new."""


async def measure(chromium: Chromium, serving: Serving) -> dict[str, float]:
    async with chromium.page(serving.url + "/page/icon.svg") as plain:
        await plain.go(serving.url + "/page/THIRD_PARTY.txt")
        figures = {"plain text: first paint": float(await plain.run(PAINT))}
    async with chromium.page(serving.link()) as page:
        await page.until(CONNECTED)
        figures["first paint"] = float(await page.run(PAINT))
        figures["files listed"] = await reload_until_listed(page)
        keys = [float(await page.run(TYPED % json.dumps(letter))) for letter in KEYS]
        figures["keystroke to hits, median"] = sorted(keys)[len(keys) // 2]
        figures["keystroke to hits, slowest"] = max(keys)
    return figures


async def reload_until_listed(page: Page) -> float:
    await page.reload()
    return float(await page.run(LISTED))


async def run(notes: int, rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="vaultbridge-page-") as folder:
        home = Path(folder)
        vault = home / "Large"
        await asyncio.to_thread(generate, vault, notes)
        serving = Serving(vault, home)
        await asyncio.to_thread(serving.index)
        best: dict[str, float] = {}
        with serving.running(), Chromium.started(home / "chromium") as chromium:
            for _ in range(rounds):
                for name, figure in (await measure(chromium, serving)).items():
                    best[name] = min(figure, best.get(name, figure))
        return best


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1,000 notes and one round")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    best = asyncio.run(run(1000 if args.quick else 10_000, 1 if args.quick else 3))
    base = best["plain text: first paint"]
    weight = sum(len(gzip.compress(file.read_bytes())) for file in STATIC.iterdir() if file.suffix != ".txt")
    if args.json:
        print(json.dumps({"milliseconds": best, "compressed_bytes": weight}))
        return
    for name, figure in best.items():
        print(f"{name:30} {figure:8.1f} ms  {figure / base:5.1f} x the plain text")
    print(f"{'the whole page, compressed':30} {weight / 1000:8.1f} kB")


if __name__ == "__main__":
    main()
