"""Ranks the notes and sections of a vault for a question in plain words.

`lookup` chooses notes by their words, `passages` reads the best of them; this module fuses the views into one
rank, leaves out what the caller may not see, and finds the lines to show. Words that hold a sentence together
count only when the question has no others."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from vaultbridge.errors import InvalidArgument
from vaultbridge.index.fold import FoldedText, fold_text, separate_words
from vaultbridge.index.query.hits import HitMatch, shorten_line
from vaultbridge.index.query.units import split_lines
from vaultbridge.index.ranking.function_words import MARKERS
from vaultbridge.index.ranking.lookup import (
    RANKED_NOTES,
    Concept,
    choose_best,
    count_notes,
    count_searchable,
    find_candidates,
    make_concepts,
)
from vaultbridge.index.ranking.passages import ReadNote, Section, find_word, heading_path, read_candidate
from vaultbridge.index.ranking.question import Question, read_question
from vaultbridge.index.store.database import Index, read_status
from vaultbridge.links.resolve import name_key
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.vault.paths import VaultPath

Visible = Callable[[str], bool]

READ_NOTES: Final = 100
"""How many of the notes that a lookup found are read and ranked by their texts: each takes about 50 µs."""

PAGE_NOTES: Final = 500
"""The most notes on one page."""

SECTIONS_PER_NOTE: Final = 50
"""The most sections of one note."""

LINES_PER_SECTION: Final = 3
"""The most lines shown of one section."""

FIELD_WEIGHTS: Final = {"name": 8.0, "aliases": 6.0, "headings": 2.0, "tags": 3.0, "folder": 1.0}

_EXACT_NAME: Final = 1000.0
_EXACT_ALIAS: Final = 500.0
"""Above any other score: a note whose name is the question comes first."""

_COMMON_SHARE: Final = 0.2
"""The share of notes with a language's commonest words from which it is the language of the vault."""


class ExtraView(Struct, frozen=True):
    """A view of the question computed elsewhere, such as by a model: places from best to worst, each a path,
    a line and a score."""

    name: str
    places: tuple[tuple[str, int, float], ...]


class RankedSection(Struct, frozen=True):
    """A section from one heading to the next. `heading` holds the titles that lead to it, joined by ` > `; it
    is empty before the first heading. `matches` are its best lines."""

    heading: str
    line: int
    end_line: int
    score: float
    matches: tuple[HitMatch, ...]


class RankedNote(Struct, frozen=True):
    """`sections` are best first. `missing` are words of the question that the note lacks. `views` holds each
    view's part in the rank, if asked for."""

    path: VaultPath
    score: float
    modified_ns: int
    sections: tuple[RankedSection, ...]
    missing: tuple[str, ...]
    views: dict[str, float] = {}


class RankedPage(Struct, frozen=True):
    """`total` counts the notes that one can page through: those with a word of the question, at most
    RANKED_NOTES. `with_all_words` says how many of them have all its words. During a first build `complete`
    is False, and `indexed` of `searchable` notes were searched."""

    notes: tuple[RankedNote, ...]
    total: int
    with_all_words: int
    complete: bool
    indexed: int
    searchable: int


def rank(
    index: Index,
    question: str,
    *,
    limit: int = 20,
    offset: int = 0,
    visible: Visible | None = None,
    sections_per_note: int = 1,
    explain: bool = False,
    extra_views: Sequence[ExtraView] = (),
) -> RankedPage:
    """Returns one page of notes by rank. It blocks for milliseconds. `visible` is called for every note
    before it is counted; how rare a word is follows from all notes."""
    _check("limit", limit, PAGE_NOTES)
    _check("offset", offset, None)
    _check("sections_per_note", sections_per_note, SECTIONS_PER_NOTE)
    with index.reading() as db:
        ranking = _Ranking(index, db, question, extra_views)
        ranked = ranking.order(visible)
        page = ranked[offset : offset + limit]
        notes = tuple(ranking.describe(id_, sections_per_note, explain=explain) for id_ in page)
        status = read_status(db)
        return RankedPage(
            notes, len(ranked), ranking.count_complete(ranked), status.complete, status.done, status.total
        )


def _check(name: str, value: int, most: int | None) -> None:
    if value < 0 or (most is not None and value > most):
        bound = f"between 0 and {most}" if most is not None else "0 or more"
        raise InvalidArgument(f"{name} is {value}; it must be {bound}.", argument=name)


class _Ranking:
    """One question within one reading transaction."""

    def __init__(
        self, index: Index, db: sqlite3.Connection, text: str, extra_views: Sequence[ExtraView]
    ) -> None:
        self.index = index
        self.db = db
        self.text = replace_surrogates(text).strip()
        self.paths = index.paths(db)
        self.count = count_searchable(db)
        self.question = read_question(self.text, find_language(index, db))
        self.concepts = self._choose_concepts(self.question)
        self.found = find_candidates(index, db, self.concepts, self.count)
        self.extra_views = extra_views
        self.scores: dict[int, float] = {}
        self.views: dict[int, dict[str, float]] = {}
        self._read: dict[int, ReadNote] = {}

    def _choose_concepts(self, question: Question) -> list[Concept]:
        content = [unit for unit in question.units if not unit.function]
        concepts = make_concepts(self.index, self.db, content, self.count)
        if any(concept.terms for concept in concepts):
            return concepts
        return make_concepts(self.index, self.db, question.units, self.count)

    def order(self, visible: Visible | None) -> list[int]:
        """Returns the notes that may be shown, best first."""
        first = dict(self.found.scores)
        exact = self._exact_names()
        for id_ in exact:
            first.setdefault(id_, 0.0)
        chosen: list[int] = []
        for id_ in choose_best(
            {id_: score + exact.get(id_, 0.0) for id_, score in first.items()}, len(first)
        ):
            if visible is None or visible(self.paths[id_]):
                chosen.append(id_)
                if len(chosen) == RANKED_NOTES:
                    break
        best, rest = chosen[:READ_NOTES], chosen[READ_NOTES:]
        for id_ in best:
            self.views[id_] = self._compute_views(self._note(id_))
            if id_ in exact:
                self.views[id_]["exact"] = exact[id_]
            self.scores[id_] = sum(self.views[id_].values())
        best.sort(key=lambda id_: (-self.scores[id_], self.paths[id_]))
        lowest = min(self.scores.values(), default=0.0)
        for place, id_ in enumerate(rest, 1):
            self.scores[id_] = lowest / (1 + place)
        return [*best, *rest]

    def _exact_names(self) -> dict[int, float]:
        """Returns the notes whose name or alias is the question itself."""
        found: dict[int, float] = {}
        for key in {name_key(self.text), fold_text(self.text)}:
            for (id_,) in self.db.execute("SELECT file FROM aliases WHERE key = ?", (key,)):
                found[id_] = _EXACT_ALIAS
        for key in {name_key(self.text), fold_text(self.text)}:
            for (id_,) in self.db.execute("SELECT id FROM files WHERE key IN (?, ?)", (key, key + ".md")):
                if id_ in self.index.searchable(self.db):
                    found[id_] = _EXACT_NAME
        return found

    def _note(self, id_: int) -> ReadNote:
        if id_ not in self._read:
            self._read[id_] = read_candidate(self.db, id_, self.paths[id_], self.concepts)
        return self._read[id_]

    def _compute_views(self, note: ReadNote) -> dict[str, float]:
        average = max(1.0, sum(self.index.sizes(self.db)) / self.count)
        fields = 0.0
        for place, concept in enumerate(self.concepts):
            weight = note.body.get(place, 0.0)
            for field, count in note.fields.get(place, {}).items():
                weight += FIELD_WEIGHTS[field] * count
            if weight:
                length = 0.5 + 0.5 * note.length / average
                fields += concept.idf * weight * 2.2 / (weight + 1.2 * length)
        return {"fields": fields, "section": max(map(self._score_section, note.sections), default=0.0)}

    def _score_section(self, section: Section) -> float:
        score = 0.0
        for place, weight in section.counts.items():
            length = 0.5 + 0.5 * section.length / 1000
            score += self.concepts[place].idf * weight * 2.2 / (weight + 1.2 * length)
        return score

    def count_complete(self, ranked: list[int]) -> int:
        """Counts the notes that have every word of the question."""
        if not self.concepts:
            return 0
        held = set(ranked)
        for holding in self.found.holding:
            held &= holding
        return len(held)

    def describe(self, id_: int, sections: int, *, explain: bool) -> RankedNote:
        note = self._note(id_)
        order = sorted(
            range(len(note.sections)),
            key=lambda place: (-self._score_section(note.sections[place]), place),
        )
        shown = [place for place in order if note.sections[place].counts] or order[:1]
        lines = split_lines(note.text)
        ranked = tuple(self._describe_section(note, place, lines) for place in shown[:sections])
        missing = tuple(
            concept.unit.shown
            for place, concept in enumerate(self.concepts)
            if place not in note.body and place not in note.fields
        )
        (modified,) = self.db.execute("SELECT mtime_ns FROM files WHERE id = ?", (id_,)).fetchone()
        views = self.views.get(id_, {}) if explain else {}
        return RankedNote(VaultPath(self.paths[id_]), self.scores[id_], modified, ranked, missing, views)

    def _describe_section(self, note: ReadNote, place: int, lines: list[str]) -> RankedSection:
        section = note.sections[place]
        return RankedSection(
            heading_path(note.sections, place),
            section.line,
            section.end_line,
            self._score_section(section),
            self._find_lines(section, lines),
        )

    def _find_lines(self, section: Section, lines: list[str]) -> tuple[HitMatch, ...]:
        """Returns the lines that hold most of what the question asks for, in order."""
        weights: dict[int, float] = {}
        for number in range(section.line, section.end_line + 1):
            separated = separate_words(lines[number - 1])
            for concept in self.concepts:
                if any(find_word(separated, term.word) for term in concept.terms):
                    weights[number] = weights.get(number, 0.0) + concept.idf
        best = sorted(weights, key=lambda number: (-weights[number], number))[:LINES_PER_SECTION]
        return tuple(self._mark(number, lines[number - 1]) for number in sorted(best))

    def _mark(self, number: int, line: str) -> HitMatch:
        folded = FoldedText(line)
        spans: set[tuple[int, int]] = set()
        for concept in self.concepts:
            for term in concept.terms:
                wanted = term.word.replace(" ", "")
                for at in find_word(folded.folded, wanted):
                    spans.add(folded.span(at, at + len(wanted)))
        text, inside = shorten_line(line, sorted(spans))
        return HitMatch(number, text, tuple(inside))


def find_language(index: Index, db: sqlite3.Connection) -> str:
    """Returns the language of most notes of a vault, "" when none stands out."""
    count = count_searchable(db)
    shares = {
        language: sum(count_notes(db, word) for word in words) / len(words) / count
        for language, words in MARKERS.items()
    }
    best = max(shares, key=lambda language: shares[language])
    return best if shares[best] >= _COMMON_SHARE else ""
