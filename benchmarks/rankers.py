"""Ways to search that are compared: the rank, and what stands beside it as a reference."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from math import log, sqrt
from pathlib import Path

from judged_questions import SHOWN, Answer

from vaultbridge.engine import DirectEngine
from vaultbridge.index.fold import separate_words, split_words


def find_by_rank(engine: DirectEngine, question: str) -> list[str]:
    return [str(note.path) for note in engine.queries.rank(question, limit=SHOWN).notes]


def find_by_all_words(engine: DirectEngine, question: str) -> list[str]:
    words = " ".join(dict.fromkeys(split_words(question)))
    return [str(hit.path) for hit in engine.queries.search(words, limit=SHOWN).hits] if words else []


def find_by_any_word(engine: DirectEngine, question: str) -> list[str]:
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

    def by_bm25(self, _: DirectEngine, question: str) -> list[str]:
        return self._list_best(self._plain.score(set(split_words(question))))

    def by_sum(self, _: DirectEngine, question: str) -> list[str]:
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

    def answer(_: DirectEngine, question: str) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in dict.fromkeys(split_words(question)))
        if not words:
            return []
        rows = db.execute(
            "SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT ?", (words, SHOWN)
        ).fetchall()
        return [paths[row - 1] for (row,) in rows]

    return answer
