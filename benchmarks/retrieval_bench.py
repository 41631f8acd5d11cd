"""Measures how well questions in plain words find the notes that answer them, and how long that takes.

    python benchmarks/retrieval_bench.py                                    # the sample vault, a few seconds
    python benchmarks/retrieval_bench.py --vault FOLDER --questions FILE    # your own
    python benchmarks/retrieval_bench.py --vault FOLDER --links 200         # questions made from its links
    python benchmarks/retrieval_bench.py --vault FOLDER --sections 200      # from links to sections
    python benchmarks/retrieval_bench.py --views                            # what each view is worth

Questions over the manual of Obsidian are in `manual_questions.tsv`, for its folder `en`, and in
`manual_questions_by_language.tsv`, for the whole of it. docs/search.md says where to get it.

A file of questions has one question a line, a tab, and the notes that answer it, each with a grade:
`Path.md=2` for one that answers, `=1` for one that helps, separated by `|`. After another tab the heading of
the section that answers may follow, which only `question_sets_bench.py` judges. Questions from links: one
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
figures of each top folder, which in some vaults is a language. The exit code is 1 when the built-in questions
are answered worse than the limits below.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from math import log, log2, sqrt
from pathlib import Path
from typing import NamedTuple, TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from vaultbridge.engine import Engine
from vaultbridge.engine.context import gather
from vaultbridge.index.fold import separate_words, split_words
from vaultbridge.index.ranking import views
from vaultbridge.markdown.edits.change import Change, apply_changes
from vaultbridge.markdown.model import Link
from vaultbridge.markdown.sections import heading_key
from vaultbridge.markdown.text import decode
from vaultbridge.vault.folders import find_dictionary_folders
from vaultbridge.vault.write.trash import Trash

SAMPLE_VAULT = ROOT / "examples" / "sample-vault"
SAMPLE_QUESTIONS = Path(__file__).with_name("sample_questions.tsv")

LEAST = {"nDCG@5": 0.88, "hit@5": 0.95, "MRR": 0.88}
"""What the built-in questions must reach."""

SHOWN = 10
"""Notes asked for: the reciprocal rank of a later answer is 0."""

PASSAGE_CHARS = 150
"""How much text on each side of a hidden link asks for its target."""

SEED = 20240501


class Asked(NamedTuple):
    """A question, the grade of each note that answers it, a note that does not count, and the heading of the
    section that answers it, if it is one."""

    question: str
    grades: dict[str, int]
    ignored: str = ""
    section: str = ""


class Figures(NamedTuple):
    ndcg: float
    hit: float
    mrr: float
    empty: int
    median: float
    slow: float

    def __str__(self) -> str:
        return (
            f"nDCG@5 {self.ndcg:.3f}  hit@5 {self.hit:.3f}  MRR {self.mrr:.3f}  empty {self.empty:3d}"
            f"  p50 {self.median * 1000:6.1f} ms  p95 {self.slow * 1000:6.1f} ms"
        )


AskedKind = TypeVar("AskedKind")

Answer = Callable[[Engine, str], list[str]]


def find_by_rank(engine: Engine, question: str) -> list[str]:
    return [str(note.path) for note in engine.queries.rank(question, limit=SHOWN).notes]


def find_by_all_words(engine: Engine, question: str) -> list[str]:
    words = " ".join(dict.fromkeys(split_words(question)))
    return [str(hit.path) for hit in engine.queries.search(words, limit=SHOWN).hits] if words else []


def find_by_any_word(engine: Engine, question: str) -> list[str]:
    words = " OR ".join(f'"{word}"' for word in dict.fromkeys(split_words(question)))
    return [str(hit.path) for hit in engine.queries.search(words, limit=SHOWN).hits] if words else []


class Bm25:
    """Scores texts by BM25 with its usual constants, held in memory."""

    SATURATION = 1.2
    LENGTH_SHARE = 0.75

    def __init__(self) -> None:
        self.counts: dict[str, dict[int, float]] = {}
        self.lengths: list[float] = []

    def add(self, words: Iterable[tuple[str, float]]) -> None:
        place = len(self.lengths)
        self.lengths.append(0.0)
        for word, weight in words:
            held = self.counts.setdefault(word, {})
            held[place] = held.get(place, 0.0) + weight
            self.lengths[place] += weight

    def score(self, words: set[str]) -> dict[int, float]:
        scores: dict[int, float] = {}
        average = sum(self.lengths) / max(1, len(self.lengths))
        for word in words:
            held = self.counts.get(word, {})
            idf = log(1 + (len(self.lengths) - len(held) + 0.5) / (len(held) + 0.5))
            for place, count in held.items():
                share = 1 - self.LENGTH_SHARE + self.LENGTH_SHARE * self.lengths[place] / average
                gain = idf * count * (self.SATURATION + 1) / (count + self.SATURATION * share)
                scores[place] = scores.get(place, 0.0) + gain
        return scores


class Textbook:
    """What a quick ranker of words does, as a reference."""

    NAME, HEADING = 5.0, 2.0

    def __init__(self, vault: Path) -> None:
        self._paths: list[str] = []
        self._plain, self._fields, self._sections = Bm25(), Bm25(), Bm25()
        self._note_of: list[int] = []
        for file in sorted(vault.rglob("*.md")):
            path = file.relative_to(vault).as_posix()
            if path.startswith(".") or "/." in path:
                continue
            text = file.read_bytes().decode("utf-8", "replace")
            name, body = split_words(file.stem), split_words(text)
            headings = split_words(" ".join(re.findall(r"^#{1,6} (.*)", text, re.MULTILINE)))
            self._plain.add((word, 1.0) for word in (*name, *body))
            weighted = ((name, self.NAME), (headings, self.HEADING), (body, 1.0))
            self._fields.add((word, weight) for words, weight in weighted for word in words)
            for section in re.split(r"^(?=#{1,6} )", text, flags=re.MULTILINE):
                self._sections.add((word, 1.0) for word in (*name, *split_words(section)))
                self._note_of.append(len(self._paths))
            self._paths.append(path)
        self._norms = [0.0] * len(self._paths)
        for word, held in self._plain.counts.items():
            for place, count in held.items():
                self._norms[place] += ((1 + log(count)) * self._idf(word)) ** 2

    def _idf(self, word: str) -> float:
        return log(len(self._paths) / len(self._plain.counts[word])) + 1

    def _compute_cosine(self, words: set[str]) -> dict[int, float]:
        scores: dict[int, float] = {}
        for word in words:
            for place, count in self._plain.counts.get(word, {}).items():
                gain = (1 + log(count)) * self._idf(word) ** 2 / sqrt(self._norms[place])
                scores[place] = scores.get(place, 0.0) + gain
        return scores

    def _list_best(self, scores: dict[int, float]) -> list[str]:
        return [self._paths[place] for place in sorted(scores, key=lambda place: (-scores[place], place))][
            :SHOWN
        ]

    def by_bm25(self, _: Engine, question: str) -> list[str]:
        return self._list_best(self._plain.score(set(split_words(question))))

    def by_sum(self, _: Engine, question: str) -> list[str]:
        words = set(split_words(question))
        sections: dict[int, float] = {}
        for place, score in self._sections.score(words).items():
            note = self._note_of[place]
            sections[note] = max(score, sections.get(note, 0.0))
        total: dict[int, float] = {}
        for view in (self._fields.score(words), self._compute_cosine(words), sections):
            highest = max(view.values(), default=1.0)
            for place, score in view.items():
                total[place] = total.get(place, 0.0) + score / highest
        return self._list_best(total)


def make_sqlite_answer(vault: Path) -> Answer:
    """Any of the words, in the order of SQLite's full-text table, over the words that our index has."""
    paths: list[str] = []
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE notes USING fts5(name, body, tokenize=ascii)")
    for file in sorted(vault.rglob("*.md")):
        path = file.relative_to(vault).as_posix()
        if path.startswith(".") or "/." in path:
            continue
        text = file.read_bytes().decode("utf-8", "replace")
        db.execute("INSERT INTO notes VALUES (?, ?)", (separate_words(file.stem), separate_words(text)))
        paths.append(path)

    def answer(_: Engine, question: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(split_words(question)))
        if not words:
            return []
        rows = db.execute(
            "SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?", (words, SHOWN)
        ).fetchall()
        return [paths[row - 1] for (row,) in rows]

    return answer


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


def measure(engine: Engine, asked: list[Asked], answer: Answer) -> Figures:
    scores: list[tuple[float, float, float]] = []
    times: list[float] = []
    empty = 0
    for question, grades, ignored, _ in asked:
        begin = time.thread_time()
        found = answer(engine, question)
        times.append(time.thread_time() - begin)
        empty += not found
        scores.append(judge([path for path in found if path != ignored], grades))
    times.sort()
    ndcg, hit, mrr = (sum(column) / len(scores) for column in zip(*scores, strict=True))
    return Figures(ndcg, hit, mrr, empty, times[len(times) // 2], times[int(len(times) * 0.95)])


def judge(found: list[str], grades: dict[str, int]) -> tuple[float, float, float]:
    """Returns nDCG@5, whether an answer is among the first five, and the reciprocal rank of the first."""
    gained = sum((2 ** grades.get(path, 0) - 1) / log2(place + 2) for place, path in enumerate(found[:5]))
    best = sorted(grades.values(), reverse=True)[:5]
    possible = sum((2**grade - 1) / log2(place + 2) for place, grade in enumerate(best))
    first = next((place for place, path in enumerate(found, 1) if grades.get(path)), 0)
    return gained / possible, float(0 < first <= 5), 1 / first if first else 0.0


def read_questions(file: Path) -> list[Asked]:
    asked = []
    for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        question, tab, rest = line.partition("\t")
        answers, _, besides = rest.partition("\t")
        grades = dict(_read_grade(answer, file, number) for answer in answers.split("|")) if tab else {}
        if not any(grades.values()):
            sys.exit(
                f"{file.name}, line {number}: write a question, a tab, and Path.md=2 for what answers it."
            )
        asked.append(Asked(question, grades, section=besides.partition("\t")[0]))
    return asked


def _read_grade(written: str, file: Path, number: int) -> tuple[str, int]:
    path, equals, grade = written.rpartition("=")
    if not equals or not grade.isdigit():
        sys.exit(f"{file.name}, line {number}: {written!r} has no grade; write Path.md=2.")
    return path, int(grade)


class Opened:
    """An engine on a vault with a cache of its own."""

    def __init__(self, vault: Path) -> None:
        self._cache = tempfile.TemporaryDirectory()
        self.engine = Engine(
            vault,
            cache=Path(self._cache.name),
            trash=Trash({}),
            dictionaries=find_dictionary_folders(os.environ),
        )
        self.engine.index_sync.refresh()
        # As in a server: changes are watched, and no call compares the vault with the disk.
        self.engine.index_sync.start()
        while not self.engine.index_sync.watching:
            time.sleep(0.05)

    def __enter__(self) -> Engine:
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


def report_sections(engine: Engine, kind: str, asked: list[Section]) -> None:
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


def take_half(asked: list[AskedKind], half: str) -> list[AskedKind]:
    return asked if half == "both" else asked[0 if half == "tune" else 1 :: 2]


def without_each_view(engine: Engine, asked: list[Asked]) -> Iterator[tuple[str, Figures]]:
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
    engine: Engine, ways: dict[str, Answer], name: str, asked: list[Asked], *, each_view: bool
) -> Figures:
    print(f"{name}: {len(asked)} questions")
    ranked = None
    for way, answer in ways.items():
        # Once before, so that what a first search loads is not part of the figures.
        answer(engine, asked[0].question)
        ranked = measure(engine, asked, answer)
        print(f"  {way:6s} {ranked}")
    assert ranked is not None
    if each_view:
        for view, figures in without_each_view(engine, asked):
            print(f"  without {view:16s} nDCG@5 {figures.ndcg:.3f} ({figures.ndcg - ranked.ndcg:+.3f})")
    return ranked


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--vault", type=Path, default=SAMPLE_VAULT, help="folder of the vault")
    parser.add_argument("--questions", type=Path, help="file of judged questions")
    parser.add_argument("--links", type=int, metavar="N", help="make questions from up to N hidden links")
    parser.add_argument("--sections", type=int, metavar="N", help="and from up to N hidden links to sections")
    parser.add_argument("--half", choices=("both", "tune", "report"), default="both")
    parser.add_argument("--by-folder", action="store_true", help="also give the figures of each top folder")
    parser.add_argument("--views", action="store_true", help="measure without each view")
    options = parser.parse_args()
    built_in = options.vault == SAMPLE_VAULT and options.questions is None
    if not options.vault.is_dir():
        parser.error(f"{options.vault} is not a folder.")
    if not built_in and options.questions is None and options.links is None and options.sections is None:
        parser.error("Give --questions FILE, --links N or --sections N for a vault of your own.")
    missed: list[str] = []
    file = SAMPLE_QUESTIONS if built_in else options.questions
    if file is not None:
        asked = take_half(read_questions(file), options.half)
        ways = list_ways(options.vault)
        with Opened(options.vault) as engine:
            figures = report(engine, ways, file.name, asked, each_view=options.views)
            for folder, group in group_by_top_folder(asked).items() if options.by_folder else ():
                report(engine, ways, folder, group, each_view=False)
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
                    report(engine, ways, f"links by {kind}", take_half(asked, options.half), each_view=False)
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
