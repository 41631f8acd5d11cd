"""Measures the engine against the least work that the same task needs, on the same files in the same run.

    python benchmarks/engine_bench.py                     # 10,000 and 100,000 notes
    python benchmarks/engine_bench.py --large 0 --json -  # only 10,000, as JSON
    python benchmarks/engine_bench.py --before CHECKOUT   # the index and the start of another version, too

Every figure is a ratio (or a limit in ms or MB), so that it means the same on a slow machine. Times are the
best of several rounds in which our work and the bare work alternate, so that a busy machine disturbs both.
`generate.py` makes the vaults, and `--folder` keeps them for the next run. With `--before`, a folder with
another version (`git worktree add`), the first build, the index file and the start of `stdio` are compared
with that version's, by processor time and in turns, and nothing else is measured. The exit code is 1 when a
figure exceeds its limit.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "src")]

from generate import COMMON_WORD, HUB, HUB_BACKLINKS, RARE_WORD, generate

from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import Append, Move
from vaultbridge.index.graph import LinkGraph
from vaultbridge.index.names import NameLookup
from vaultbridge.index.query.search import search
from vaultbridge.index.store.database import Index
from vaultbridge.index.sync import Synchronizer
from vaultbridge.limits import SWITCH_SECONDS
from vaultbridge.vault.paths import VaultFolder, VaultPath
from vaultbridge.vault.write.trash import Trash

MEMORY_FOLDER = Path("/dev/shm")


class Report:
    """The figures of one run, each with its limit."""

    def __init__(self, *, quiet: bool) -> None:
        self.figures: list[dict[str, Any]] = []
        self.quiet = quiet

    def add(self, name: str, value: float, bound: float, unit: str, **parts: float) -> None:
        figure = {
            "name": name,
            "value": round(value, 4),
            "bound": bound,
            "unit": unit,
            "pass": value <= bound,
        }
        self.figures.append({**figure, **{key: round(part, 6) for key, part in parts.items()}})
        if not self.quiet:
            shown = ", ".join(f"{key} {part:.4g}" for key, part in parts.items())
            verdict = "ok  " if value <= bound else "MISS"
            print(f"{verdict} {name:44} {value:9.3f} {unit:3} (at most {bound:g}; {shown})", flush=True)


def time_work(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def find_best(rounds: int, *works: Callable[[], object]) -> list[float]:
    """Returns the best time of each, over rounds in which they alternate."""
    times = [[time_work(work) for work in works] for _ in range(rounds)]
    return [min(column) for column in zip(*times, strict=True)]


def index_barely(vault: Path, file: Path) -> None:
    """Read every note and canvas and insert it into one FTS5 table: the least that an index must do."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    db = sqlite3.connect(file)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("CREATE VIRTUAL TABLE notes USING fts5(path, body)")
    for folder, _, names in os.walk(vault):
        for name in names:
            if name.endswith((".md", ".canvas")):
                path = f"{folder}/{name}"
                with open(path, encoding="utf-8") as note:
                    db.execute("INSERT INTO notes VALUES (?, ?)", (path, note.read()))
    db.commit()
    db.close()


def walk_barely(vault: Path) -> int:
    count = 0
    waiting = [str(vault)]
    while waiting:
        with os.scandir(waiting.pop()) as listing:
            for item in listing:
                if item.is_dir(follow_symlinks=False):
                    waiting.append(item.path)
                else:
                    item.stat(follow_symlinks=False)
                    count += 1
    return count


def index_cold(vault: Path, cache: Path) -> None:
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    index = Index.open(cache)
    Synchronizer(VaultFolder(vault), index).sync_all()
    index.close()


def start_and_search(vault: Path, cache: Path) -> None:
    index = Index.open(cache)
    Synchronizer(VaultFolder(vault), index).sync_all()
    assert search(index, RARE_WORD).total
    index.close()


MEMORY_PROGRAM = """
import sys, threading
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from vaultbridge.index.store.database import Index
from vaultbridge.index.sync import Synchronizer
from vaultbridge.vault.paths import VaultFolder
peak, finished = 0, threading.Event()
def resident(process):
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    except (OSError, IndexError):
        return 0
def watch():
    global peak
    while not finished.wait(0.05):
        children = " ".join(each.read_text() for each in Path("/proc/self/task").glob("*/children")).split()
        peak = max(peak, sum(map(resident, ["self", *children])))
watcher = threading.Thread(target=watch)
watcher.start()
index = Index.open(Path(sys.argv[2]))
Synchronizer(VaultFolder(sys.argv[1]), index).sync_all()
finished.set()
watcher.join()
print(peak / 1024)
"""
"""Peak memory of a first build: this process and its children together, sampled twenty times a second.
(The system's own figure for children includes this process's memory at the moment it started them.)"""

OPEN_PROGRAM = """
import sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
import asyncio
from vaultbridge.index.store.database import Index
from vaultbridge.index.sync import Synchronizer
from vaultbridge.index.query.search import search
from vaultbridge.index.graph import LinkGraph
from vaultbridge.index.names import NameLookup
from vaultbridge.index import listing
from vaultbridge.vault.paths import VaultFolder, VaultPath
index = Index.open(Path(sys.argv[2]))
Synchronizer(VaultFolder(sys.argv[1]), index).sync_all()
for query in ("window", "zyzzyvaphone", "the", "tag:#project", "[status:active]", "line:(window water)"):
    search(index, query)
graph = LinkGraph(index)
graph.backlinks(VaultPath("Hub.md")); graph.unresolved(); graph.orphans()
NameLookup(index).find("no such note"); listing.list_tags(index); listing.list_tasks(index); index.table()
for line in open("/proc/self/status"):
    if line.startswith("VmRSS"):
        print(int(line.split()[1]) / 1024)
"""
"""Resident memory after a vault was opened and every kind of query ran once."""


BUILD_PROGRAM = """
import resource, sys
from pathlib import Path
sys.path[:0] = sys.argv[3:]
from vaultbridge.index.store.database import Index
from vaultbridge.index.sync import Synchronizer
from vaultbridge.vault.paths import VaultFolder
index = Index.open(Path(sys.argv[2]))
Synchronizer(VaultFolder(sys.argv[1]), index).sync_all()
index.close()
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(sum(one.ru_utime + one.ru_stime for one in used))
"""
"""Processor time of a first build, with the processes that parse."""

START_PROGRAM = """
import resource, subprocess, sys
program = "import sys; sys.path[:0] = sys.argv[3:]; sys.argv[1:] = ['stdio', sys.argv[1]]; " \\
    "from vaultbridge.__main__ import main; sys.exit(main())"
asked = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",' \\
    b'"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}\\n'
server = subprocess.Popen([sys.executable, "-c", program, *sys.argv[1:]], stdin=subprocess.PIPE,
    stdout=subprocess.PIPE, env={"VAULTBRIDGE_CACHE": sys.argv[2], "HOME": sys.argv[2]})
server.stdin.write(asked)
server.stdin.flush()
assert b'"result"' in server.stdout.readline()
server.kill()
server.wait()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
"""
"""Processor time of `vaultbridge stdio` from its start to its answer to `initialize`."""


def compare_versions(report: Report, folder: Path, notes: int, before: Path, rounds: int) -> None:
    vault = folder / f"vault-{notes}"
    generate(vault, notes)
    small = folder / "vault-10"
    generate(small, 10)
    sources = {"now": Path(__file__).resolve().parent.parent / "src", "before": before / "src"}
    built: dict[str, list[float]] = {name: [] for name in sources}
    begun: dict[str, list[float]] = {name: [] for name in sources}
    size = dict.fromkeys(sources, 0)
    for _ in range(rounds):
        for name, source in sources.items():
            cache = folder / f"index-{name}"
            shutil.rmtree(cache, ignore_errors=True)
            cache.mkdir()
            built[name].append(run_in_process(BUILD_PROGRAM, vault, cache, source))
            size[name] = (cache / "index.sqlite3").stat().st_size
    for _ in range(rounds * 7):
        for name, source in sources.items():
            begun[name].append(run_in_process(START_PROGRAM, small, folder / f"start-{name}", source))
    for what, times, bound in (("first build", built, 1.4), ("start of stdio", begun, 1.1)):
        now, then = min(times["now"]), min(times["before"])
        report.add(f"{what} / the other version's", now / then, bound, "x", before=then, now=now)
    ratio = size["now"] / size["before"]
    report.add("index file / the other version's", ratio, 2, "x", before=size["before"], now=size["now"])


def run_in_process(program: str, vault: Path, cache: Path, source: Path | None = None) -> float:
    paths = sys.path[:2] if source is None else [str(source)]
    arguments = [sys.executable, "-c", program, str(vault), str(cache), *paths]
    done = subprocess.run(arguments, check=True, capture_output=True, text=True)
    return float(done.stdout)


def measure(report: Report, folder: Path, notes: int, large: int, rounds: int) -> None:
    vault = folder / f"vault-{notes}"
    generate(vault, notes)
    cache = folder / f"cache-{notes}"
    bare_file = folder / "bare.sqlite3"

    bare, ours = find_best(rounds, lambda: index_barely(vault, bare_file), lambda: index_cold(vault, cache))
    report.add("cold index / bare read and insert", ours / bare, 3, "x", bare=bare, ours=ours)
    if large:
        measure_large(report, folder, notes, large, ours)

    walk, start = find_best(rounds * 3, lambda: walk_barely(vault), lambda: start_and_search(vault, cache))
    report.add("unchanged start to answer / bare walk", start / walk, 3, "x", walk=walk, start=start)
    measure_questions(report, vault, cache, rounds)
    measure_rename(report, folder, vault, rounds)
    measure_renames_in_a_row(report, folder, vault, rounds)
    measure_append(report, folder, vault, rounds)
    if sys.platform.startswith("linux"):
        report.add("resident with the vault open", run_in_process(OPEN_PROGRAM, vault, cache), 80, "MB")


def measure_large(report: Report, folder: Path, notes: int, large: int, small_time: float) -> None:
    vault = folder / f"vault-{large}"
    generate(vault, large)
    cache = folder / f"cache-{large}"
    # Twice, because the figure of the small vault is the best of several rounds too.
    (large_time,) = find_best(2, lambda: index_cold(vault, cache))
    # 12 times as long for ten times the notes: the same slack again.
    bound = 1.2 * large / notes
    report.add(
        f"cold index of {large} / of {notes}",
        large_time / small_time,
        bound,
        "x",
        large=large_time,
        small=small_time,
    )
    if sys.platform.startswith("linux"):
        shutil.rmtree(cache)
        cache.mkdir()
        report.add(
            f"peak memory of that index, {large}", run_in_process(MEMORY_PROGRAM, vault, cache), 400, "MB"
        )


def measure_questions(report: Report, vault: Path, cache: Path, rounds: int) -> None:
    index = Index.open(cache)
    graph = LinkGraph(index)
    names = NameLookup(index)
    if shutil.which("rg"):
        for word, share in ((RARE_WORD, 1 / 20), (COMMON_WORD, 1 / 2)):
            rg = ["rg", "-l", word, str(vault)]
            bare, ours = find_best(
                rounds * 5,
                partial(subprocess.run, rg, check=True, stdout=subprocess.DEVNULL),
                partial(search, index, word),
            )
            kind = "rare" if word == RARE_WORD else "common"
            report.add(f"search, {kind} word / rg -l", ours / bare, share, "x", rg=bare, ours=ours)
    else:
        print("rg is not installed: searches are not compared.", file=sys.stderr)
    measure_common_words(report, index, rounds)
    hub = VaultPath(HUB)
    assert len(graph.backlinks(hub)) >= min(HUB_BACKLINKS, 250)
    (backlinks,) = find_best(rounds * 5, lambda: graph.backlinks(hub))
    report.add("backlinks of a note with 250", backlinks * 1000, 2, "ms")
    first = time_work(lambda: names.find("a name that nobody has"))
    (lookup,) = find_best(rounds * 5, lambda: names.find("Hubb"))
    report.add("did you mean", lookup * 1000, 20, "ms", first=first * 1000)
    index.close()


def rewrite_barely(places: list[Path]) -> None:
    """Read and replace every file, atomically and durably: the least that rewriting links costs."""
    for place in places:
        data = place.read_bytes()
        passing = place.with_name(f".{place.name}.bench")
        with open(passing, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        passing.replace(place)


def measure_common_words(report: Report, index: Index, rounds: int) -> None:
    """Words that occur in nearly every note: how much longer a search takes than the table needs to rank
    one."""

    def rank() -> None:
        with index.reading() as db:
            db.execute("SELECT rowid, bm25(words) FROM words WHERE words MATCH '\"the\" *'").fetchall()

    for what, query, bound in (
        ("a common word", "the", 1.5),
        ("a phrase of common words", '"the water of"', 1.0),
        ("two words that most notes have, in quotes", '"in is"', 8.0),
        ("seven common words", "the of and in to water window", 3.5),
    ):
        bare, ours = find_best(rounds * 5, rank, partial(search, index, query))
        report.add(f"search, {what} / ranking one", ours / bare, bound, "x", ranking=bare, ours=ours)


def measure_rename(report: Report, folder: Path, vault: Path, rounds: int) -> None:
    turn = itertools.cycle([("Hub", "Hub renamed"), ("Hub renamed", "Hub")])
    with DirectEngine(vault, cache=folder / "engine-cache", trash=Trash({})) as engine:
        engine.index_sync.refresh()
        hub = VaultPath(HUB)
        places = sorted({engine.root.locate(link.source) for link in engine.queries.backlinks(hub)})
        turns = rounds * 2  # An even number, so that the vault ends as it started.
        bare, ours = find_best(
            turns,
            lambda: rewrite_barely(places),
            lambda: rename(engine, next(turn)),
        )
    report.add(
        f"rename with {len(places)} backlinks / bare rewrite", ours / bare, 4, "x", bare=bare, ours=ours
    )


def measure_renames_in_a_row(report: Report, folder: Path, vault: Path, rounds: int) -> None:
    """Each rename starts while the index is still busy with the one before."""
    turn = itertools.cycle([("Hub", "Hub renamed"), ("Hub renamed", "Hub")])
    with DirectEngine(vault, cache=folder / "engine-cache", trash=Trash({})) as engine:
        engine.index_sync.refresh()
        places = sorted(
            {engine.root.locate(link.source) for link in engine.queries.backlinks(VaultPath(HUB))}
        )
        rename(engine, next(turn))
        ours = sorted(time_work(lambda: rename(engine, next(turn))) for _ in range(rounds * 2 + 1))
        bare = sorted(time_work(lambda: rewrite_barely(places)) for _ in range(rounds * 2 + 1))
    report.add("renames in a row / bare rewrite", ours[rounds] / bare[rounds], 4, "x", bare=bare[rounds])


def measure_append(report: Report, folder: Path, vault: Path, rounds: int) -> None:
    """The median of many appends, each followed by a bare durable write of the same note; and the longest, in
    memory where the system has such a folder: a disk that stalls for 100 ms says nothing about us."""
    bare, ours = time_appends(folder, vault, rounds)
    middle = len(ours) // 2
    report.add(
        "append / bare durable write",
        ours[middle] / bare[middle],
        6,
        "x",
        bare=bare[middle],
        ours=ours[middle],
    )
    stalls = bare[-1]
    if MEMORY_FOLDER.is_dir():
        with tempfile.TemporaryDirectory(dir=MEMORY_FOLDER) as place:
            copied = Path(place) / "vault"
            shutil.copytree(vault, copied)
            bare, ours = time_appends(Path(place), copied, rounds)
    report.add("the longest append", ours[-1] * 1000, 30, "ms", disk=stalls * 1000)


def time_appends(folder: Path, vault: Path, rounds: int) -> tuple[list[float], list[float]]:
    """Sorted times of bare durable writes and of appends, as a server does them."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    with DirectEngine(vault, cache=folder / "engine-cache", trash=Trash({})) as engine:
        engine.index_sync.start()
        engine.index_sync.wait_complete()
        paths = [file.path for file in engine.queries.files() if file.path.endswith(".md")][:200]
        # A first build compacts the index at its end, and what is written meanwhile waits for that.
        engine.apply([Append(note=paths[0], content="line")])
        engine.index_sync.ensure_fresh()
        bare, ours = [], []
        for turn in range(rounds * len(paths)):
            path = paths[turn % len(paths)]
            ours.append(time_work(partial(engine.apply, [Append(note=path, content="line")])))
            bare.append(time_work(partial(rewrite_barely, [vault / path])))
    sys.setswitchinterval(usual)
    return sorted(bare), sorted(ours)


def rename(engine: DirectEngine, names: tuple[str, str]) -> None:
    old, new = names
    assert len(engine.apply([Move(note=old, to=new)]).files) > HUB_BACKLINKS


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--notes", type=int, default=10_000, help="notes in the small vault (default: %(default)s)"
    )
    parser.add_argument(
        "--large",
        type=int,
        default=100_000,
        help="notes in the large vault, or 0 to skip it (default: %(default)s)",
    )
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds of each measurement (default: %(default)s)"
    )
    parser.add_argument("--folder", type=Path, help="keep the vaults and caches there for the next run")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="compare with the version there, only")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE; - means standard output")
    options = parser.parse_args()
    report = Report(quiet=options.json == "-")
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="engine-bench-"))
        )
        folder.mkdir(parents=True, exist_ok=True)
        if options.before:
            compare_versions(report, folder, options.notes, options.before, options.rounds)
        else:
            measure(report, folder, options.notes, options.large, options.rounds)
    passed = all(figure["pass"] for figure in report.figures)
    if options.json:
        text = json.dumps({"notes": options.notes, "pass": passed, "figures": report.figures}, indent=2)
        if options.json == "-":
            print(text)
        else:
            Path(options.json).write_text(text + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
