"""Measures how well questions about public vaults are answered, by the rank and by the passages of `context`.

    python benchmarks/question_sets_bench.py FOLDER --half report      # FOLDER has a clone of each repository
    python benchmarks/question_sets_bench.py FOLDER --half tune --missed

`questions/sets.toml` says which repositories at which commits; a clone is named after its repository. A set
is a file of lines with a question, the notes that answer it with their grades (as in `retrieval_bench.py`),
the heading of the section that answers it, if it is one section, and the kind of the question. The notes were
drawn at random and the questions written from them before any ranking was run. Every second question is used
to choose what to change (`tune`); figures are given for the others (`report`).

Beside the rank stand four baselines over the same notes: all words must occur (`all`), any may (`any`), BM25
from the textbook (`bm25`), and SQLite's own ranking (`sqlite`), each with the words that vaultbridge's index
has, so that Chinese is searched by its characters. `context` is judged by how often the answering section, or
note if no section is named, is in its passages, and by the share of their characters that nobody wrote to be
read: comments, badges and pictures.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

from retrieval_bench import (
    Answer,
    Asked,
    Figures,
    Opened,
    Textbook,
    find_by_all_words,
    find_by_any_word,
    find_by_rank,
    judge,
    make_sqlite_answer,
    measure,
    read_questions,
    take_half,
)

from vaultbridge.engine import DirectEngine
from vaultbridge.engine.context import ContextPassage, gather

QUESTIONS = Path(__file__).with_name("questions")

NOISE = re.compile(
    r"%%.*?%%|<!--.*?-->|\[!\[[^\]]*\]\([^)]*\)\]\([^)]*\)|!\[[^\]]*\]\([^)]*\)|!\[\[[^\]]*\]\]", re.DOTALL
)


class QuestionSet(NamedTuple):
    name: str
    vault: Path
    language: str
    asked: list[Asked]


class Pack(NamedTuple):
    """How often the answer is in the passages of `context`, and what share of their characters is noise."""

    answered: float
    noise: float
    characters: float

    def __str__(self) -> str:
        return f"answer in it {self.answered:.3f}  noise {self.noise:.3f}  characters {self.characters:5.0f}"


def read_sets(folder: Path, half: str) -> list[QuestionSet]:
    found: list[QuestionSet] = []
    for written in tomllib.loads((QUESTIONS / "sets.toml").read_text("utf-8"))["set"]:
        clone = folder / written["repository"].partition("/")[2]
        if not clone.is_dir():
            address = f"https://github.com/{written['repository']}"
            sys.exit(f"{clone.name} is missing: git clone {address}, and check out {written['commit']}.")
        asked = take_half(read_questions(QUESTIONS / written["questions"]), half)
        found.append(QuestionSet(written["name"], clone / written["folder"], written["language"], asked))
    return found


def judge_packs(engine: DirectEngine, asked: list[Asked]) -> Pack:
    answered = noise = characters = 0
    for question in asked:
        passages = gather(engine, question.question).passages
        best = max(question.grades.values())
        wanted = {path for path, grade in question.grades.items() if grade == best}
        inside = [passage for passage in passages if passage.path in wanted]
        if question.section:
            inside = [passage for passage in inside if _shows(engine, passage, question.section)]
        answered += bool(inside)
        texts = [passage.text for passage in passages]
        characters += sum(map(len, texts))
        noise += sum(len(found[0]) for text in texts for found in NOISE.finditer(text))
    return Pack(answered / len(asked), noise / max(1, characters), characters / len(asked))


def _shows(engine: DirectEngine, passage: ContextPassage, section: str) -> bool:
    """Whether a passage has lines of the section, up to the next heading of the same level."""
    lines = engine.read_bytes(passage.path).decode("utf-8", "replace").splitlines()
    begin, level = 0, 0
    for number, line in enumerate(lines, 1):
        signs = len(line) - len(line.lstrip("#"))
        if not 0 < signs <= 6 or not line[signs:].startswith(" "):
            continue
        if begin and signs <= level:
            return passage.line < number and passage.end_line >= begin
        if not begin and section.lower() in line.lower():
            begin, level = number, signs
    return bool(begin) and passage.end_line >= begin


def list_baselines(vault: Path) -> dict[str, Answer]:
    return {
        "all": find_by_all_words,
        "any": find_by_any_word,
        "bm25": Textbook(vault).by_bm25,
        "sqlite": make_sqlite_answer(vault),
    }


def show_missed(engine: DirectEngine, asked: list[Asked]) -> None:
    for question in asked:
        found = find_by_rank(engine, question.question)
        if judge(found, question.grades)[0] < 0.5:
            print(f"  ? {question.question}\n    wanted {', '.join(question.grades)}")
            print(f"    found  {' | '.join(found[:3])}")


def combine(figures: list[tuple[int, Figures]]) -> Figures:
    """Returns the mean over all questions, and the worst of the times."""
    count = sum(number for number, _ in figures)

    def mean(take: Callable[[Figures], float]) -> float:
        return sum(number * take(figure) for number, figure in figures) / count

    return Figures(
        mean(lambda found: found.ndcg),
        mean(lambda found: found.hit),
        mean(lambda found: found.mrr),
        sum(found.empty for _, found in figures),
        max(found.median for _, found in figures),
        max(found.slow for _, found in figures),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with the clones")
    parser.add_argument("--half", choices=("both", "tune", "report"), default="both")
    parser.add_argument("--missed", action="store_true", help="show the questions that are answered badly")
    parser.add_argument("--only-rank", action="store_true", help="without the baselines")
    options = parser.parse_args()
    if options.missed and options.half != "tune":
        parser.error("--missed is for --half tune: nobody should see what the other half misses.")
    totals: dict[tuple[str, str], list[tuple[int, Figures]]] = {}
    packs: list[tuple[int, Pack]] = []
    for found in read_sets(options.folder, options.half):
        print(f"{found.name}: {len(found.asked)} questions")
        ways = {} if options.only_rank else list_baselines(found.vault)
        with Opened(found.vault) as engine:
            for way, answer in {**ways, "rank": find_by_rank}.items():
                answer(engine, found.asked[0].question)
                figures = measure(engine, found.asked, answer)
                print(f"  {way:7s} {figures}")
                for group in ("all", found.language):
                    totals.setdefault((group, way), []).append((len(found.asked), figures))
            pack = judge_packs(engine, found.asked)
            print(f"  context {pack}")
            packs.append((len(found.asked), pack))
            if options.missed:
                show_missed(engine, found.asked)
    names = {"all": "all", "own": "in the notes' language", "other": "in another language"}
    for group, name in names.items():
        print(f"{name}:")
        for (of, way), figures_of_way in totals.items():
            if of == group:
                print(f"  {way:7s} {combine(figures_of_way)}")
    count = sum(number for number, _ in packs)
    answered = sum(number * pack.answered for number, pack in packs) / count
    characters = sum(number * pack.characters for number, pack in packs)
    noise = sum(number * pack.characters * pack.noise for number, pack in packs) / max(1.0, characters)
    print(f"context of all: {Pack(answered, noise, characters / count)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
