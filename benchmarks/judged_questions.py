"""Judged questions: how they are written in a file, and how well a way to search answers them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from math import log2
from pathlib import Path
from typing import NamedTuple, TypeVar

from vaultbridge.engine import DirectEngine

SHOWN = 10
"""Notes asked for: the reciprocal rank of a later answer is 0."""


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


Answer = Callable[[DirectEngine, str], list[str]]

AskedKind = TypeVar("AskedKind")


def take_half(asked: list[AskedKind], half: str) -> list[AskedKind]:
    return asked if half == "both" else asked[0 if half == "tune" else 1 :: 2]


def measure(engine: DirectEngine, asked: list[Asked], answer: Answer, *, waiting: bool = False) -> Figures:
    """Measures one way. Its time is that of the processor, or of `waiting` for another process."""
    clock = time.perf_counter if waiting else time.thread_time
    scores: list[tuple[float, float, float]] = []
    times: list[float] = []
    empty = 0
    for question, grades, ignored, _ in asked:
        begin = clock()
        found = answer(engine, question)
        times.append(clock() - begin)
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
