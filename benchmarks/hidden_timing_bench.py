"""Measures how well a limited caller can tell from the time of one call whether a hidden file exists.

    python benchmarks/hidden_timing_bench.py [--rounds 400]

Each kind of call names a hidden file that exists and one that does not, in turn. From the first half of the
times, the best threshold is learned; the second half says how often it is right. 50 % is guessing, and the
last digits depend on the machine. Prints one line per kind: the share of right answers and both medians.
"""

from __future__ import annotations

import argparse
import base64
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.files import write_vault
from support.tools import ToolHarness, open_harness
from vaultbridge.errors import VaultbridgeError
from vaultbridge.vault.scope import Scope

NOTES = 400
HIDDEN = 30
NUMBERS = range(10, 10 + 2 * HIDDEN)
THERE = frozenset(random.Random(3).sample(NUMBERS, HIDDEN))
"""The numbers of the hidden files that exist. The names of both kinds have the same form: looking for names
like them must take equally long."""

DATA = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()

Call = Callable[[ToolHarness, str], Any]
CALLS: dict[str, Call] = {
    "create_note": lambda vault, name: vault.call("create_note", name=name, content="x"),
    "read_note": lambda vault, name: vault.call("read_note", name=name),
    "append": lambda vault, name: vault.call("edit_note", op="append", name=name, content="x"),
    "move target": lambda vault, name: vault.call("move_note", name="Open 1.md", to=name),
    "delete_note": lambda vault, name: vault.call("delete_note", name=name),
    "add_attachment": lambda vault, name: vault.call("add_attachment", name=f"{name[:-3]}.png", data=DATA),
    "attachment": lambda vault, name: vault.call("attachment", name=f"{name[:-3]}.png"),
    "list_files": lambda vault, name: vault.call("list_files", folder=f"{name[:-3]} folder"),
    "template": lambda vault, name: vault.call("template", template=name),
    "absolute path": lambda vault, name: vault.call("read_note", name=str(vault.folder / name)),
    "a link to it": lambda vault, name: vault.call("read_note", name=f"Link {name.rpartition('/')[2]}"),
}


def write_files(folder: Path) -> Path:
    rng = random.Random(1)
    words = [f"w{number}" for number in range(500)]
    files = {f"Open {n}.md": " ".join(rng.choices(words, k=80)) for n in range(NOTES)}
    for number in THERE:
        files[f"Private/hidden {number}.md"] = " ".join(rng.choices(words, k=80))
        files[f"Private/hidden {number}.png"] = "x"
        files[f"Private/hidden {number} folder/one.md"] = "x"
    write_vault(folder, files)
    for number in NUMBERS:
        (folder / f"Link hidden {number}.md").symlink_to(f"Private/hidden {number}.md")
    return folder


def measure(vault: ToolHarness, call: Call, rounds: int) -> list[tuple[float, bool]]:
    times: list[tuple[float, bool]] = []
    rng = random.Random(2)
    for _ in range(rounds * 2 + 20):
        number = rng.choice(NUMBERS)
        exists = number in THERE
        name = f"Private/hidden {number}.md"
        begun = time.perf_counter()
        try:
            call(vault, name)
        except VaultbridgeError:
            pass
        else:
            raise AssertionError(f"{name} is not hidden")
        times.append((time.perf_counter() - begun, exists))
    return times[20:]


def rate(times: list[tuple[float, bool]]) -> float:
    """The share of the second half that the best threshold of the first half judges correctly."""
    half = len(times) // 2
    learned, judged = times[:half], times[half:]

    def right(rule: tuple[float, bool], among: list[tuple[float, bool]]) -> float:
        threshold, slower = rule
        return sum(((took > threshold) is slower) is exists for took, exists in among) / len(among)

    rules: Iterator[tuple[float, bool]] = ((took, slower) for took, _ in learned for slower in (True, False))
    best = max(rules, key=lambda rule: right(rule, learned))
    return right(best, judged)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=400)
    given = parser.parse_args()
    with TemporaryDirectory() as base:
        folder = write_files(Path(base) / "Notes")
        vault = open_harness(Path(base), folder, scope=Scope(deny=("Private/",)))
        vault.engine.queries.index()
        vault.engine.index_sync.wait_complete()
        for kind, call in CALLS.items():
            times = measure(vault, call, given.rounds)
            there, gone = (
                statistics.median(took for took, exists in times if exists is wanted) * 1000
                for wanted in (True, False)
            )
            print(f"{kind:16} {rate(times):4.0%} right   there {there:.3f} ms   not there {gone:.3f} ms")
        vault.engine.close()


if __name__ == "__main__":
    main()
