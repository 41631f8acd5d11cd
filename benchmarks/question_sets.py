"""Questions about public vaults, which `questions/sets.toml` names, and how well `context` answers them.

A clone is named after its repository. A set is a file of lines with a question, the notes that answer it with
their grades, the heading of the section that answers it, if it is one section, and the kind of the question.
The notes were drawn at random and the questions written from them before any ranking was run."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from judged_questions import Asked, Figures, judge, read_questions, take_half
from rankers import find_by_rank

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


def combine_packs(packs: list[tuple[int, Pack]]) -> Pack:
    """Returns the mean over all questions, and the noise over all characters."""
    count = sum(number for number, _ in packs)
    answered = sum(number * pack.answered for number, pack in packs) / count
    characters = sum(number * pack.characters for number, pack in packs)
    noise = sum(number * pack.characters * pack.noise for number, pack in packs) / max(1.0, characters)
    return Pack(answered, noise, characters / count)
