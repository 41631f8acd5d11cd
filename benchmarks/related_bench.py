"""How many of the links that people made does `related` find again?

    python benchmarks/related_bench.py [VAULT] [--notes 200] [--seed 1]

A copy of the vault loses one link of each note, chosen by the seed, with every other link between the same
two notes. Then `related` is asked about each of these notes, and the hidden target should be among the first.
Once the words of the link stay where they were (so that most are mentions), once they are removed too. Half
of the notes may be used to choose weights (`--half tuned`); the other half is for reporting.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from vaultbridge.engine import DirectEngine
from vaultbridge.engine.related.find import find_related
from vaultbridge.links.resolve import FileTable, Resolved, resolve
from vaultbridge.markdown.edits.change import Change, apply_changes
from vaultbridge.markdown.model import Link
from vaultbridge.markdown.parse import parse
from vaultbridge.vault.write.trash import Trash

TOP = (1, 5, 10)
SAMPLE = Path(__file__).resolve().parent.parent / "examples" / "sample-vault"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vault", type=Path, nargs="?", default=SAMPLE, help="default: the sample vault")
    parser.add_argument("--notes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--half", choices=("tuned", "reported", "all"), default="all")
    args = parser.parse_args()
    print(
        f"{'':14}{'notes':>7}"
        + "".join(f"{f'top {n}':>9}" for n in TOP)
        + f"{'MRR':>8}{'CPU p50':>9}{'CPU p95':>9}"
    )
    for name, keep in (("words stay", True), ("words removed", False)):
        with tempfile.TemporaryDirectory() as place:
            show(name, *ask(hide(args, Path(place), keep=keep), Path(place)))
    return 0


def hide(args: argparse.Namespace, place: Path, *, keep: bool) -> dict[str, str]:
    """Copy the vault and hide links. Returns the hidden target of each note."""
    rng = random.Random(args.seed)
    shutil.copytree(
        args.vault, place / "vault", ignore=shutil.ignore_patterns(".git", "*.png", "*.jpg", "*.mp4")
    )
    folder = place / "vault"
    with open_engine(place) as engine:
        engine.index_sync.refresh()
        table = engine.queries.table()
    notes = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))
    texts = {path: (folder / path).read_bytes().decode("utf-8", "replace") for path in notes}
    leads = {path: list_links(path, texts[path], table) for path in notes}
    hidden: dict[str, str] = {}
    for number, path in enumerate(rng.sample(notes, len(notes))):
        mine = {to for _, to in leads[path] if to != path and to.endswith(".md")}
        half = "tuned" if number % 2 else "reported"
        if mine and len(hidden) < args.notes and args.half in ("all", half) and path not in hidden.values():
            hidden[path] = rng.choice(sorted(mine))
    for path, target in hidden.items():
        for source, destination in ((path, target), (target, path)):
            (folder / source).write_text(
                without(texts, source, destination, table, keep=keep), "utf-8", newline=""
            )
            texts[source] = (folder / source).read_bytes().decode("utf-8")
    return hidden


def list_links(path: str, text: str, table: FileTable) -> list[tuple[Link, str]]:
    found = []
    for link in parse(text).links:
        to = resolve(link.target, path, table)
        if isinstance(to, Resolved):
            found.append((link, to.path))
    return found


def without(texts: dict[str, str], path: str, target: str, table: FileTable, *, keep: bool) -> str:
    """The note's text without its links to the target; their words stay or go."""
    changes = []
    for link, to in list_links(path, texts[path], table):
        if to == target and link.kind != "property":
            shown = link.display or link.target.rpartition("/")[2].removesuffix(".md")
            changes.append(Change(link.start, link.end, shown if keep else ""))
    return apply_changes(texts[path], changes)


def ask(hidden: dict[str, str], place: Path) -> tuple[list[int], list[float]]:
    """The place of each hidden target among what `related` offers (0: not among them), and the times."""
    places, times = [], []
    with open_engine(place) as engine:
        engine.index_sync.refresh()
        for path, target in hidden.items():
            started = time.process_time()
            offered = [str(row.path) for row in find_related(engine, engine.find(path), limit=max(TOP)).rows]
            times.append((time.process_time() - started) * 1000)
            places.append(offered.index(target) + 1 if target in offered else 0)
    return places, times


def open_engine(place: Path) -> DirectEngine:
    return DirectEngine(place / "vault", cache=place / "cache", trash=Trash({"HOME": str(place)}))


def show(name: str, places: list[int], times: list[float]) -> None:
    shares = "".join(f"{sum(0 < place <= n for place in places) / len(places):>9.2f}" for n in TOP)
    rank = sum(1 / place for place in places if place) / len(places)
    slow = statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
    print(f"{name:14}{len(places):>7}{shares}{rank:>8.2f}{statistics.median(times):>7.1f}ms{slow:>7.1f}ms")


if __name__ == "__main__":
    sys.exit(main())
