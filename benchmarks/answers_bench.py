"""Counts what answers cost an assistant: calls, tokens, and how much of what was asked is in them.

    python benchmarks/answers_bench.py                    # the sample vault, and 10,000 generated notes
    python benchmarks/answers_bench.py --notes 0          # only the sample vault
    python benchmarks/answers_bench.py --json -

Four research questions over the sample vault, each with facts that stand in several notes. Each is answered
once by `context` and once as assistants did before: `search`, then `read_note` of the first three notes.
Tokens are characters divided by four, which is what English and Markdown take on average. The sizes of lists
are compared with the same lists with the path in every row, and `context` on a large vault with ranking
alone. The large vault also has long notes with facts planted in them.
The exit code is 1 when a figure exceeds its limit.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "src"), str(ROOT / "tests")]

from generate import generate

from support.tools import ToolHarness, open_harness, ungroup
from vaultbridge.engine.context import gather

QUESTIONS: dict[str, tuple[str, ...]] = {
    "How much brighter has the night sky above the dome become, and when does the council decide?": (
        "21.4 to 20.9",
        "1.6 times as bright",
        "12 May",
        "twelve places",
        "street lamps",
    ),
    "What do we plant for moths, when does it flower, and which lamps stand in the moth garden?": (
        "2200 K",
        "ten-minute timer",
        "May to October",
        "Evening primrose",
        "elephant hawk-moth",
    ),
    "How do I find Messier 81, and what did we see of M81 and M82 in March?": (
        "Phecda through Dubhe",
        "half a\ndegree apart",
        "an oval glow",
        "a dark notch crosses it",
        "easiest one to find",
    ),
    "What is still open about the spectrograph, and what did its first light show?": (
        "Which slit first",
        "neon lamp in the cold",
        "1.4 kg at the focuser",
        "a little soft",
        "600 lines per millimetre",
    ),
}
"""Questions, and facts that an answer should have; each is in the notes word for word."""

PLANTED: dict[str, dict[str, dict[str, str]]] = {
    "When was the Kestrel bridge built, who designed it, how long is it, and why was it closed?": {
        "Kestrel bridge": {
            "Construction": "The bridge was built between 1931 and 1934, with stone from the Orlo quarry.",
            "Dimensions": "From bank to bank it is 412 metres long and carries two lanes.",
        },
        "Ada Lund": {"Works": "Ada Lund designed the Kestrel bridge when she was twenty-six."},
        "Floods of 1987": {
            "Damage": "A barge struck the third pier, and the Kestrel bridge was closed for two winters."
        },
        "Toll houses": {"Fares": "On the Kestrel bridge a cart paid four coppers until 1952."},
    },
    "What should I feed the sourdough starter, how often, and what went wrong with it in summer?": {
        "Sourdough starter": {
            "Feeding": "Feed the starter with equal weights of rye flour and water.",
            "Rhythm": "In the fridge it is fed every ten days, on the table every morning.",
        },
        "Kitchen log": {
            "July": "In the hot week of July the starter smelled of acetone and collapsed.",
            "August": "The sourdough recovered after three feedings with cold water.",
        },
        "Bread for guests": {"Planning": "Take the sourdough starter out of the fridge two days before."},
    },
    "How do we back up the file server, where are the copies kept, and who has the key?": {
        "Backups": {
            "Schedule": "The file server is backed up every night at two, with a full copy on Sundays.",
            "Places": "One copy of the backup is kept in the cellar, another at the bank in Verlo.",
        },
        "Keys and doors": {
            "Cellar": "The key to the backup cabinet is with Tomas and in the sealed envelope."
        },
        "Disk failure in May": {
            "What we learned": "Restoring the file server from the backup took nine hours.",
            "To do": "Test a restore of the backup each quarter.",
        },
    },
    "Which birds nest at the lake, when do they arrive, and what threatens the nests?": {
        "Lake birds": {
            "Nesting": "Great crested grebes and two pairs of bitterns nest in the reeds of the lake.",
            "Arrival": "The first grebes arrive in the last week of February.",
        },
        "Water level": {"Spring": "When the lake rises by more than forty centimetres, nests are flooded."},
        "Mink report": {"Findings": "Mink took eggs from eleven nests in the reeds."},
        "Ringing days": {"2025": "A bittern ringed at the lake was seen in Camargue."},
    },
}
"""Questions over a large vault, and for each the notes, headings and sentences that answer it. Around them
stands as much other text as in long notes."""

SECTIONS = 7
PARAGRAPHS = (2, 5)
"""How many sections a planted note has, and how many paragraphs of other text each."""

READ = 3
"""How many notes an assistant reads after a search."""

TOKENS = 1_200
"""The most tokens that `context` may take for a question."""

FACTS = 0.8
"""The least share of the facts that one call must give."""

CONTEXT_RATIO = 3.0
"""The most that `context` may take of the time of ranking alone, on a large vault: reading and cutting a
dozen notes must not cost more than finding them."""

RANK_MS = (10.0, 30.0)
CONTEXT_MS = 40.0
"""The most that ranking (at the median, and for 95 of 100 questions) and `context` may compute on 10,000
notes: an assistant that asks does not notice it."""

ASKED = 40
WORDS = (3, 8)
"""How many questions are drawn from a large vault, and how long they are."""


def count_tokens(text: str) -> int:
    return round(len(text) / 4)


class Report:
    def __init__(self, *, quiet: bool) -> None:
        self.figures: list[dict[str, Any]] = []
        self.quiet = quiet

    def add(self, name: str, value: float, bound: float | None, unit: str, *, least: bool = False) -> None:
        """`bound` is the most, with `least` the least, that the figure may be; None: it only informs."""
        held = bound is None or (value >= bound if least else value <= bound)
        self.figures.append(
            {"name": name, "value": round(value, 3), "bound": bound, "unit": unit, "pass": held}
        )
        if not self.quiet:
            limit = "" if bound is None else f"  ({'at least' if least else 'at most'} {bound:g})"
            shown = format(value, ",.0f" if value >= 100 else ".3g")
            print(f"{'ok  ' if held else 'FAIL'} {name:<62} {shown:>9} {unit}{limit}")


def measure_research(report: Report, harness: ToolHarness) -> None:
    asked, read, found, needed = [], [], 0, 0
    for question, facts in QUESTIONS.items():
        answer = harness.text("context", question=question)
        held = sum(fact in answer for fact in facts)
        found += held
        needed += len(facts)
        asked.append(count_tokens(answer))
        search = harness.text("search", query=question)
        paths = [note.path for note in harness.engine.queries.rank(question, limit=READ).notes]
        texts = [search, *(harness.text("read_note", name=path) for path in paths)]
        read.append(sum(map(count_tokens, texts)))
        before = sum(any(fact in text for text in texts) for fact in facts)
        short = question if len(question) <= 46 else f"{question[:45]}…"
        report.add(f"{short}: context", asked[-1], TOKENS, f"tokens, 1 call, {held} of {len(facts)} facts")
        report.add(
            f"{short}: search, {len(paths)} notes",
            read[-1],
            None,
            f"tokens, {1 + len(paths)} calls, {before} of {len(facts)} facts",
        )
    report.add("facts that one call gives", found / needed, FACTS, "of all", least=True)
    report.add("tokens of context to those of search and reading", sum(asked) / sum(read), 1.0, "x")


def plant(folder: Path, rng: random.Random) -> None:
    """Write the notes that answer PLANTED, long ones, among those of a large vault."""
    words = "\n".join(
        path.read_text("utf-8") for path in rng.sample(sorted(folder.rglob("*.md")), 50)
    ).split()
    usual = [word for word in words if word.isalpha() and word.islower()]
    for notes in PLANTED.values():
        for name, facts in notes.items():
            headings = [*facts, *(rng.choice(usual).capitalize() for _ in range(SECTIONS - len(facts)))]
            rng.shuffle(headings)
            lines = [f"# {name}", ""]
            for heading in headings:
                paragraphs = [
                    f"{' '.join(rng.choices(usual, k=rng.randint(40, 90))).capitalize()}."
                    for _ in range(rng.randint(*PARAGRAPHS))
                ]
                if heading in facts:
                    paragraphs.insert(rng.randrange(len(paragraphs) + 1), facts[heading])
                lines += [f"## {heading}", "", *(f"{paragraph}\n" for paragraph in paragraphs)]
            (folder / f"{name}.md").write_text("\n".join(lines), "utf-8")


def measure_planted(report: Report, harness: ToolHarness) -> None:
    tokens, read, found, before, needed = 0, 0, 0, 0, 0
    for question, notes in PLANTED.items():
        facts = [fact for sections in notes.values() for fact in sections.values()]
        answer = harness.text("context", question=question)
        paths = [note.path for note in harness.engine.queries.rank(question, limit=READ).notes]
        texts = [harness.text("search", query=question)]
        texts += [harness.text("read_note", name=path) for path in paths]
        held = sum(fact in answer for fact in facts)
        found += held
        before += sum(any(fact in text for text in texts) for fact in facts)
        needed += len(facts)
        tokens += count_tokens(answer)
        read += sum(map(count_tokens, texts))
        report.add(
            f"{question[:45]}…: context",
            count_tokens(answer),
            TOKENS,
            f"tokens, {held} of {len(facts)} facts",
        )
    report.add("long notes: facts that one call gives", found / needed, FACTS, "of all", least=True)
    report.add("long notes: facts that search and reading give", before / needed, None, "of all")
    report.add("long notes: tokens of context to those of search and reading", tokens / read, 0.5, "x")


def measure_lists(report: Report, harness: ToolHarness) -> None:
    """Rows with the path once, to the same rows with it in each; and a search as it is answered unless more
    is asked for, to what it was before: three lines of each of twenty notes, each with its path."""
    lists: dict[str, dict[str, Any]] = {
        "search": {"query": "the", "match": "all", "matches": 5},
        "tasks": {},
        "links": {"name": "Messier 81"},
    }
    for tool, arguments in lists.items():
        rows = harness.rows(tool, **arguments)
        ratio = len("\n".join(rows)) / len("\n".join(ungroup(rows)))
        report.add(f"{tool}: rows grouped by note", ratio, 1.0, "x")
    for query in ("sky", "moth", "project"):
        former = ungroup(harness.rows("search", query=query, match="all", matches=3, limit=20))
        ratio = len(harness.text("search", query=query)) / len("\n".join(former))
        report.add(f"search for {query}: to the former answer", ratio, 1.0, "x")


def measure_speed(report: Report, harness: ToolHarness, notes: Path) -> None:
    engine = harness.engine
    engine.index_sync.refresh()
    # As in a server: changes are watched, and no question compares the vault with the disk.
    engine.index_sync.start()
    while not engine.index_sync.watching:
        time.sleep(0.05)
    rng = random.Random(notes.name)
    questions = []
    for path in rng.sample(sorted(notes.rglob("*.md")), ASKED):
        words = [word for word in path.read_text("utf-8").split() if word.isalpha()]
        questions.append(" ".join(rng.sample(words, min(len(words), rng.randint(*WORDS)))))
    gather(engine, questions[0])
    ranked = [time_work(partial(engine.queries.rank, question)) for question in questions]
    gathered = [time_work(partial(gather, engine, question)) for question in questions]
    report.add(
        "a question on a large vault, median", statistics.median(ranked) * 1000, RANK_MS[0], "ms of CPU"
    )
    slow = statistics.quantiles(ranked, n=20)[-1]
    report.add("a question on a large vault, 95 of 100", slow * 1000, RANK_MS[1], "ms of CPU")
    report.add(
        "context on a large vault, median", statistics.median(gathered) * 1000, CONTEXT_MS, "ms of CPU"
    )
    ratio = statistics.median(gathered) / statistics.median(ranked)
    report.add("context on a large vault to ranking alone", ratio, CONTEXT_RATIO, "x")


def time_work(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=10_000, help="notes of the large vault; 0: none")
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON; - for standard output")
    args = parser.parse_args()
    report = Report(quiet=args.json == "-")
    with tempfile.TemporaryDirectory() as base:
        sample = Path(shutil.copytree(ROOT / "examples" / "sample-vault", Path(base) / "sample-vault"))
        harness = open_harness(Path(base) / "s", sample)
        measure_research(report, harness)
        measure_lists(report, harness)
        harness.engine.close()
        if args.notes:
            large = Path(base) / "large"
            generate(large, args.notes)
            plant(large, random.Random(1))
            harness = open_harness(Path(base) / "l", large)
            measure_planted(report, harness)
            measure_speed(report, harness, large)
            harness.engine.close()
    if args.json:
        text = json.dumps(report.figures, indent=1)
        print(text) if args.json == "-" else Path(args.json).write_text(text, "utf-8")
    return 0 if all(figure["pass"] for figure in report.figures) else 1


if __name__ == "__main__":
    sys.exit(main())
