"""Measures how well questions in plain words find the notes that answer them, and how long that takes.

    python benchmarks/retrieval_bench.py                                    # the sample vault, a few seconds
    python benchmarks/retrieval_bench.py --vault FOLDER --questions FILE    # your own
    python benchmarks/retrieval_bench.py --vault FOLDER --links 200         # questions made from its links
    python benchmarks/retrieval_bench.py --vault FOLDER --sections 200      # from links to sections
    python benchmarks/retrieval_bench.py --views                            # what each view is worth
    python benchmarks/retrieval_bench.py --sets FOLDER --half report        # public vaults, cloned there
    python benchmarks/retrieval_bench.py --sets FOLDER --peers mcpvault obsidian-mcp-rs

Questions over the manual of Obsidian are in `manual_questions.tsv`, for its folder `en`, and in
`manual_questions_by_language.tsv`, for the whole of it. docs/search.md says where to get it.

A file of questions has one question a line, a tab, and the notes that answer it, each with a grade:
`Path.md=2` for one that answers, `=1` for one that helps, separated by `|`. After another tab the heading of
the section that answers may follow, which is judged with `--sets`. Questions from links: one
link of a note is replaced by its text, in a copy of the vault, and its target is asked for by its title,
by the text of the link where that differs, and by the passage around it; the note that had the link does
not count as an answer. Questions for sections: links to headings are replaced by their texts, all in one
copy, and each section is asked for by the text of its link, where it says more than the heading, and by
the line around it.

For every set: nDCG@5, how often an answer is among the first five (hit@5), the mean reciprocal rank of the
first answer (MRR), how many questions got no answer at all, and processor time. Beside the rank stand two
baselines from the same index: all words must occur, as in the app (`all`), and any word may (`any`); and two
from the textbook, over the same notes: BM25 of any word (`bm25`), and the sum of BM25 by field, the cosine of
tf-idf and BM25 of the best section, each divided by its best score (`sum`); and SQLite's own ranking of the
words that our index has (`sqlite`). None knows forms of words, synonyms or languages. For sections: how often
the section is the first or among the first four of its note, and in the passages of `context`. `--half` takes
every second question: weights are chosen on `tune` and figures given for `report`. `--by-folder` gives the
figures of each top folder, which in some vaults is a language. `--peers` asks the search of other servers the
same (benchmarks/peers); their time is that of waiting for the answer.

`--sets` asks about the public vaults that `questions/sets.toml` names. `context` is judged there by how often
the answering section, or note if no section is named, is in its passages, and by the share of their
characters that nobody wrote to be read: comments, badges and pictures. `--translation-of` takes the questions
for those about another vault, whose notes have the same `permalink`: Obsidian's manual in other languages.

The exit code is 1 when the built-in questions are answered worse than the limits below.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(HERE / "peers"), str(ROOT / "src")]

from judged_questions import SHOWN, Answer, Asked, Figures, measure, read_questions, take_half
from question_sets import Pack, combine, combine_packs, judge_packs, read_sets, show_missed
from questions import open_answers
from rankers import Textbook, find_by_all_words, find_by_any_word, find_by_rank, make_sqlite_answer
from servers import OURS, TABLE, Server, load_servers

from vaultbridge.engine import DirectEngine
from vaultbridge.engine.context import gather
from vaultbridge.index.fold import split_words
from vaultbridge.index.ranking import views
from vaultbridge.markdown.edits.change import Change, apply_changes
from vaultbridge.markdown.model import Link
from vaultbridge.markdown.sections import heading_key
from vaultbridge.markdown.text import decode
from vaultbridge.vault.folders import find_dictionary_folders
from vaultbridge.vault.write.trash import Trash

SAMPLE_VAULT = ROOT / "examples" / "sample-vault"
SAMPLE_QUESTIONS = HERE / "sample_questions.tsv"

LEAST = {"nDCG@5": 0.88, "hit@5": 0.95, "MRR": 0.88}
"""What the built-in questions must reach."""

PASSAGE_CHARS = 150
"""How much text on each side of a hidden link asks for its target."""

SEED = 20240501

WAY_WIDTH = 19

BESIDES: set[str] = set()
"""The ways that are other servers: for those, the time is that of waiting."""


def list_ways(vault: Path) -> dict[str, Answer]:
    textbook = Textbook(vault)
    return {
        "all": find_by_all_words,
        "any": find_by_any_word,
        "bm25": textbook.by_bm25,
        "sum": textbook.by_sum,
        "sqlite": make_sqlite_answer(vault),
        "rank": find_by_rank,
    }


class Opened:
    """An engine on a vault with a cache of its own."""

    def __init__(self, vault: Path, *, dictionaries: bool = True) -> None:
        self._cache = tempfile.TemporaryDirectory()
        self.engine = DirectEngine(
            vault,
            cache=Path(self._cache.name),
            trash=Trash({}),
            dictionaries=find_dictionary_folders(os.environ) if dictionaries else (),
        )
        self.engine.index_sync.refresh()
        # As in a server: changes are watched, and no call compares the vault with the disk.
        self.engine.index_sync.start()
        while not self.engine.index_sync.watching:
            time.sleep(0.05)

    def __enter__(self) -> DirectEngine:
        return self.engine

    def __exit__(self, *_: object) -> None:
        self.engine.close()
        self._cache.cleanup()


def hide_links(vault: Path, copy: Path, most: int) -> dict[str, list[Asked]]:
    """Copies a vault, hides one link of some of its notes, and returns the questions for their targets by
    kind."""
    shutil.copytree(vault, copy, ignore=shutil.ignore_patterns(".git", "node_modules"))
    asked: dict[str, list[Asked]] = {"title": [], "anchor": [], "passage": []}
    with Opened(vault) as engine:
        notes = [note for note in engine.queries.notes() if note.file.kind == "note"]
    rng = random.Random(SEED)
    rng.shuffle(notes)
    for indexed in notes:
        source = str(indexed.file.path)
        text = (vault / source).read_bytes().decode("utf-8", "replace")
        linked = [
            (link, str(target))
            for link, target in zip(indexed.note.links, indexed.resolved, strict=True)
            if target is not None and target != source and target.endswith(".md") and not link.embed
            if link.kind in ("wiki", "markdown") and text.count(link.raw) == 1
        ]
        if not linked:
            continue
        link, target = rng.choice(linked)
        title = target.rpartition("/")[2].removesuffix(".md")
        shown = link.display or title
        before, _, after = text.partition(link.raw)
        (copy / source).write_bytes((before + shown + after).encode())
        grades = {target: 2}
        asked["title"].append(Asked(title, grades, source))
        if shown.lower() != title.lower():
            asked["anchor"].append(Asked(shown, grades, source))
        around = before[-PASSAGE_CHARS:].rpartition("\n")[2] + " " + after[:PASSAGE_CHARS].partition("\n")[0]
        if len(split_words(around)) > 3:
            asked["passage"].append(Asked(_without_markup(around), grades, source))
        if len(asked["title"]) == most:
            break
    return {kind: questions for kind, questions in asked.items() if questions}


class Section(NamedTuple):
    """A question for the section of a note that begins at `line`."""

    question: str
    path: str
    line: int
    last: int


def hide_links_to_sections(vault: Path, copy: Path, most: int) -> dict[str, list[Section]]:
    """Copies a vault, hides links to headings, and returns the questions for these sections by kind."""
    shutil.copytree(vault, copy, ignore=shutil.ignore_patterns(".git", "node_modules"))
    with Opened(vault) as engine:
        notes = {str(note.file.path): note for note in engine.queries.notes() if note.file.kind == "note"}
    found: list[tuple[str, Link, str, tuple[int, int], str]] = []
    for source, indexed in notes.items():
        for link, target in zip(indexed.note.links, indexed.resolved, strict=True):
            to = source if not link.target else str(target)
            last = link.subpath.rpartition("#")[2]
            if link.embed or link.kind not in ("wiki", "markdown") or not last or to not in notes:
                continue
            headings = notes[to].note.headings
            for place, heading in enumerate(headings):
                if heading_key(heading.text) == heading_key(last):
                    end = headings[place + 1].line - 1 if place + 1 < len(headings) else sys.maxsize
                    found.append((source, link, to, (heading.line, end), heading.text))
                    break
    random.Random(SEED).shuffle(found)
    asked: dict[str, list[Section]] = {"anchor": [], "passage": []}
    changes: dict[str, set[Change]] = {}
    for source, link, to, (line, end), title in found[:most]:
        text = decode((vault / source).read_bytes()).text
        shown = link.display or link.subpath.rpartition("#")[2]
        changes.setdefault(source, set()).add(Change(link.start, link.end, shown))
        if heading_key(shown) != heading_key(title):
            asked["anchor"].append(Section(shown, to, line, end))
        before, after = text[: link.start].rpartition("\n")[2], text[link.end :].partition("\n")[0]
        if len(split_words(before + after)) > 3:
            around = f"{before[-PASSAGE_CHARS:]}{shown}{after[:PASSAGE_CHARS]}"
            asked["passage"].append(Section(_without_markup(around), to, line, end))
    for source, hidden in changes.items():
        text = decode((vault / source).read_bytes()).text
        (copy / source).write_text(apply_changes(text, sorted(hidden, key=lambda c: c.start)), "utf-8")
    return asked


def report_sections(engine: DirectEngine, kind: str, asked: list[Section]) -> None:
    first = four = shown = 0
    for question, path, line, last in asked:
        page = engine.queries.rank(question, limit=SHOWN, sections_per_note=4)
        lines = [part.line for note in page.notes if note.path == path for part in note.sections]
        first += lines[:1] == [line]
        four += line in lines
        passages = [passage for passage in gather(engine, question).passages if passage.path == path]
        shown += any(passage.line <= last and passage.end_line >= line for passage in passages)
    count = max(1, len(asked))
    print(
        f"sections by {kind}: {len(asked)} questions\n  first {first / count:.3f}  of four {four / count:.3f}"
        f"  in context {shown / count:.3f}"
    )


def _without_markup(text: str) -> str:
    return re.sub(r"[\[\]|*_`#>!]+", " ", text).strip()


def without_each_view(engine: DirectEngine, asked: list[Asked]) -> Iterator[tuple[str, Figures]]:
    weights = dict(views.VIEW_WEIGHTS)
    for view, weight in weights.items():
        views.VIEW_WEIGHTS[view] = 0.0
        yield view, measure(engine, asked, find_by_rank)
        views.VIEW_WEIGHTS[view] = weight
    fields = dict(views.FIELD_WEIGHTS)
    for field, weight in fields.items():
        views.FIELD_WEIGHTS[field] = 0.0
        yield f"field {field}", measure(engine, asked, find_by_rank)
        views.FIELD_WEIGHTS[field] = weight


def group_by_top_folder(asked: list[Asked]) -> dict[str, list[Asked]]:
    groups: dict[str, list[Asked]] = {}
    for question in asked:
        groups.setdefault(next(iter(question.grades)).partition("/")[0], []).append(question)
    return groups


def report(
    engine: DirectEngine, ways: dict[str, Answer], name: str, asked: list[Asked], *, each_view: bool = False
) -> dict[str, Figures]:
    print(f"{name}: {len(asked)} questions")
    figures: dict[str, Figures] = {}
    for way, answer in ways.items():
        # Once before, so that what a first search loads is not part of the figures.
        answer(engine, asked[0].question)
        figures[way] = measure(engine, asked, answer, waiting=way in BESIDES)
        print(f"  {way:{WAY_WIDTH}s} {figures[way]}", flush=True)
    if each_view:
        for view, found in without_each_view(engine, asked):
            change = found.ndcg - figures["rank"].ndcg
            print(f"  without {view:16s} nDCG@5 {found.ndcg:.3f} ({change:+.3f})")
    return figures


def report_sets(folder: Path, half: str, servers: list[Server], *, dictionaries: bool, missed: bool) -> None:
    """Report on the sets of questions about public vaults, whose clones are in a folder."""
    totals: dict[tuple[str, str], list[tuple[int, Figures]]] = {}
    packs: list[tuple[int, Pack]] = []
    for found in read_sets(folder, half):
        with ExitStack() as stack:
            ways = list_ways(found.vault) | stack.enter_context(open_answers(servers, found.vault))
            engine = stack.enter_context(Opened(found.vault, dictionaries=dictionaries))
            for way, figures in report(engine, ways, found.name, found.asked).items():
                for group in ("all", found.language):
                    totals.setdefault((group, way), []).append((len(found.asked), figures))
            packs.append((len(found.asked), judge_packs(engine, found.asked)))
            print(f"  {'context':{WAY_WIDTH}s} {packs[-1][1]}")
            if missed:
                show_missed(engine, found.asked)
    names = {"all": "all", "own": "in the notes' language", "other": "in another language"}
    for group, name in names.items():
        print(f"{name}:")
        for (of, way), figures_of_way in totals.items():
            if of == group:
                print(f"  {way:{WAY_WIDTH}s} {combine(figures_of_way)}")
    print(f"context of all: {combine_packs(packs)}")


def translate_answers(asked: list[Asked], original: Path, vault: Path) -> list[Asked]:
    """Returns the questions about one vault as questions about its translation: a note and its translation
    have the same `permalink`."""
    permalinks = read_permalinks(original)
    paths = {permalink: path for path, permalink in read_permalinks(vault).items()}
    translated: list[Asked] = []
    for question in asked:
        grades = {
            paths[permalinks[path]]: grade
            for path, grade in question.grades.items()
            if permalinks.get(path) in paths
        }
        if grades:
            translated.append(question._replace(grades=grades, section=""))
    return translated


def read_permalinks(vault: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for file in vault.rglob("*.md"):
        if permalink := re.search(r"^permalink: *(\S+)", file.read_text("utf-8", "replace"), re.MULTILINE):
            found[file.relative_to(vault).as_posix()] = permalink[1]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--vault", type=Path, default=SAMPLE_VAULT, help="folder of the vault")
    parser.add_argument("--questions", type=Path, help="file of judged questions")
    parser.add_argument("--translation-of", type=Path, metavar="FOLDER", help="which the questions are about")
    parser.add_argument("--links", type=int, metavar="N", help="make questions from up to N hidden links")
    parser.add_argument("--sections", type=int, metavar="N", help="and from up to N hidden links to sections")
    parser.add_argument("--sets", type=Path, metavar="FOLDER", help="instead of a vault: its clones")
    parser.add_argument("--missed", action="store_true", help="show what of the sets is answered badly")
    parser.add_argument(
        "--peers", nargs="+", default=[], metavar="PEER", help="of benchmarks/peers/peers.toml"
    )
    parser.add_argument("--half", choices=("both", "tune", "report"), default="both")
    parser.add_argument("--by-folder", action="store_true", help="also give the figures of each top folder")
    parser.add_argument("--views", action="store_true", help="measure without each view")
    parser.add_argument("--without-dictionaries", action="store_true", help="without those of the system")
    options = parser.parse_args()
    if options.missed and options.half != "tune":
        parser.error("--missed is for --half tune: nobody should see what the other half misses.")
    servers: list[Server] = []
    if options.peers:
        found, missing = load_servers(TABLE, options.peers)
        # Ours is measured in this process.
        servers = [server for server in found if server.name != OURS]
        for name, why in missing.items():
            print(f"without {name}: {why}", file=sys.stderr)
    BESIDES.update(server.name for server in servers)
    if options.sets is not None:
        with_them = not options.without_dictionaries
        report_sets(options.sets, options.half, servers, dictionaries=with_them, missed=options.missed)
        return 0
    built_in = options.vault == SAMPLE_VAULT and options.questions is None
    if not options.vault.is_dir():
        parser.error(f"{options.vault} is not a folder.")
    if not built_in and options.questions is None and options.links is None and options.sections is None:
        parser.error("Give --questions FILE, --links N or --sections N for a vault of your own.")
    missed: list[str] = []
    file = SAMPLE_QUESTIONS if built_in else options.questions
    if file is not None:
        asked = take_half(read_questions(file), options.half)
        if options.translation_of is not None:
            asked = translate_answers(asked, options.translation_of, options.vault)
        with ExitStack() as stack:
            ways = list_ways(options.vault) | stack.enter_context(open_answers(servers, options.vault))
            opened = Opened(options.vault, dictionaries=not options.without_dictionaries)
            engine = stack.enter_context(opened)
            figures = report(engine, ways, file.name, asked, each_view=options.views)["rank"]
            for folder, group in group_by_top_folder(asked).items() if options.by_folder else ():
                report(engine, ways, folder, group)
        if built_in:
            reached = {"nDCG@5": figures.ndcg, "hit@5": figures.hit, "MRR": figures.mrr}
            missed = [
                f"{name} {reached[name]:.3f} < {least}"
                for name, least in LEAST.items()
                if reached[name] < least
            ]
    links = 200 if built_in and options.links is None else options.links
    if links:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "vault")
            hidden = hide_links(options.vault, copy, links)
            ways = list_ways(copy)
            with Opened(copy) as engine:
                for kind, asked in hidden.items():
                    report(engine, ways, f"links by {kind}", take_half(asked, options.half))
    if options.sections:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "vault")
            sections = hide_links_to_sections(options.vault, copy, options.sections)
            with Opened(copy) as engine:
                for kind, wanted in sections.items():
                    report_sections(engine, kind, take_half(wanted, options.half))
    for question in missed:
        print(f"below its limit: {question}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
