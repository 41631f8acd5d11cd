"""Finds the lines of a note to show for a query, and the places to highlight in them.

Meant for the few notes on one page of results. `evaluate` decides which notes match; here a line is chosen
when it contains something that the query looks for.
"""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, TypeAlias

from msgspec import Struct

from vaultbridge.index.fold import FoldedText, fold_text
from vaultbridge.index.query.match import (
    Span,
    find_block_spans,
    find_section_spans,
    match_texts,
    name_matches,
)
from vaultbridge.index.query.needle import Needle
from vaultbridge.index.query.parse import And, Cased, HasProperty, HasTag, Or, Query, RegexTerm, Term, Within
from vaultbridge.index.query.regex import PatternMatcher, compile_pattern
from vaultbridge.index.store.rows import decode_note
from vaultbridge.links.resolve import name_key
from vaultbridge.markdown.edits.change import split_lines
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.text import LINE_END

SNIPPET_CHARS: Final = 240
"""The longest line shown: a paragraph on one line is shortened around the first match."""

MAX_LINES: Final = 500
"""The most lines of one note that are collected before the best are chosen."""

_KEY_LINE: Final = re.compile(r"[\"']?([^\s\"':#\-][^:\"']{0,200}?)[\"']?\s*:(?:\s|$)")


class HitMatch(Struct, frozen=True):
    """One line of a hit. `text` is the line, shortened when long; `spans` are the matches in `text`. `before`
    and `after` are the lines around it, if context was requested."""

    line: int
    text: str
    spans: tuple[Span, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class SearchTerms(Struct):
    """Everything that a query looks for, except what it negates. Terms that must be within a line, block or
    section are in `units` only, because elsewhere in the note they are not a match."""

    needles: list[Needle]
    patterns: list[re.Pattern[str]]
    tags: list[str]
    properties: list[Query]
    tasks: list[tuple[str, Query, bool]]
    names: list[Needle]
    units: list[tuple[str, Query, bool, SearchTerms]]

    @classmethod
    def collect(cls, query: Query, *, sensitive: bool = False) -> SearchTerms:
        terms = cls([], [], [], [], [], [], [])
        terms._take(query, sensitive=sensitive, named=False)
        return terms

    def words(self) -> list[Needle]:
        """Returns all words of the query, wherever they have to be. Notes are ranked by them."""
        inside = (needle for *_, terms in self.units for needle in terms.words())
        return [*self.needles, *inside, *self.names]

    def _take(self, query: Query, *, sensitive: bool, named: bool) -> None:
        match query:
            case Term(text):
                (self.names if named else self.needles).append(Needle.of(text, sensitive=sensitive))
            case RegexTerm(written) if not named:
                self.patterns.append(compile_pattern(written, ignore_case=not sensitive))
            case HasTag(name):
                self.tags.append(name_key(name))
            case HasProperty(name, _):
                self.properties.append(name)
            case Cased(case_sensitive, part):
                self._take(part, sensitive=case_sensitive, named=named)
            case Within("task" | "task-todo" | "task-done" as place, part):
                self.tasks.append((place, part, sensitive))
                self._take(part, sensitive=sensitive, named=named)
            case Within("line" | "block" | "section" as place, part) if not named:
                self.units.append((place, part, sensitive, SearchTerms.collect(part, sensitive=sensitive)))
            case Within(place, part):
                self._take(part, sensitive=sensitive, named=place in ("file", "path"))
            case And(parts) | Or(parts):
                for part in parts:
                    self._take(part, sensitive=sensitive, named=named)
            case _:
                pass


Places: TypeAlias = "Needle | list[Span]"
"""Matches in a line: spans, or a needle, whose spans are computed only for the lines that are shown."""


class NoteText:
    """The text of one note and its lines, folded once for all words that are searched for in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = split_lines(text)
        self._folded: dict[bool, tuple[str, list[str]]] = {}

    def lines_with(self, needle: Needle) -> Iterator[tuple[int, Places]]:
        """Yields the lines that contain the needle, by number."""
        if not needle.wanted:
            return
        if needle.sensitive not in self._folded:
            # Folding never adds or removes a line end, so line numbers stay right.
            folded = needle.fold(self.text)
            self._folded[needle.sensitive] = (folded, split_lines(folded))
        whole, lines = self._folded[needle.sensitive]
        if needle.wanted in whole:
            for number, line in enumerate(lines, 1):
                if needle.wanted in line:
                    yield number, needle


class HitReader:
    """Reads the lines of hits for one query, within one reading transaction."""

    def __init__(
        self,
        db: sqlite3.Connection,
        terms: SearchTerms,
        patterns: PatternMatcher,
        *,
        limit: int,
        context: int,
    ) -> None:
        self.db = db
        self.terms = terms
        self.patterns = patterns
        self.limit = limit
        self.context = context

    def matches(self, id_: int) -> tuple[HitMatch, ...]:
        """Returns the best lines of a note in order; none when only its name matches."""
        row = self.db.execute("SELECT text FROM texts WHERE id = ?", (id_,)).fetchone()
        if row is None or not self.limit:
            return ()
        text = NoteText(row[0])
        found: dict[int, list[Places]] = {}
        self._find(found, self.terms, id_, text, None)
        best = sorted(found, key=lambda line: (-len(found[line]), line))[: self.limit]
        return tuple(self._match(text.lines, line, found[line]) for line in sorted(best))

    def _find(
        self,
        found: dict[int, list[Places]],
        terms: SearchTerms,
        id_: int,
        text: NoteText,
        within: set[int] | None,
    ) -> None:
        """Collect by line number where each search term occurs, only in the lines `within` if given."""
        for needle in terms.needles:
            _collect(found, text.lines_with(needle), within)
        for pattern in terms.patterns:
            _collect(found, self._pattern_lines(pattern, text.text), within)
        if terms.tags or terms.tasks:
            _collect(found, self._note_lines(terms, id_), within)
        if terms.properties:
            _collect(found, self._property_lines(terms, text.lines), within)
        for place, query, sensitive, inner in terms.units:
            held = self._unit_lines(place, query, id_, text.text, sensitive=sensitive)
            self._find(found, inner, id_, text, held if within is None else held & within)

    def _unit_lines(self, place: str, query: Query, id_: int, text: str, *, sensitive: bool) -> set[int]:
        """Returns the numbers of all lines in those lines, blocks or sections that match the query."""
        starts = _line_starts(text)
        if place == "line":
            spans = list(pairwise([*starts, len(text)]))
        else:
            spans = (find_section_spans if place == "section" else find_block_spans)(text, self._note(id_))
        held = match_texts(
            query, [text[start:end] for start, end in spans], self.patterns, sensitive=sensitive
        )
        numbers: set[int] = set()
        for (start, end), holds in zip(spans, held, strict=True):
            if holds:
                # A block's span begins with the blank lines before it, and with the end of the line above.
                first = end - len(text[start:end].lstrip())
                numbers.update(range(bisect_right(starts, first), bisect_right(starts, end - 1) + 1))
        return numbers

    def _pattern_lines(self, pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, Places]]:
        starts = _line_starts(text)
        by_line: dict[int, list[Span]] = {}
        for start, end in self.patterns.spans(pattern, [text])[0]:
            number = bisect_right(starts, start)
            by_line.setdefault(number, []).append((start - starts[number - 1], end - starts[number - 1]))
        yield from by_line.items()

    def _note(self, id_: int) -> Note:
        row = self.db.execute("SELECT note FROM notes WHERE id = ?", (id_,)).fetchone()
        return decode_note(row[0])

    def _note_lines(self, terms: SearchTerms, id_: int) -> Iterator[tuple[int, Places]]:
        note = self._note(id_)
        for tag in note.tags:
            key = name_key(tag.name)
            if any(key == wanted or key.startswith(wanted + "/") for wanted in terms.tags):
                yield tag.line, []
        for place, query, sensitive in terms.tasks:
            tasks = [task for task in note.tasks if place == "task" or task.done == (place == "task-done")]
            held = match_texts(
                query, [task.text or " " for task in tasks], self.patterns, sensitive=sensitive
            )
            for task, holds in zip(tasks, held, strict=True):
                if holds or not task.text:
                    # Yielded twice, so that the task itself ranks before other lines with its words.
                    yield task.line, []
                    yield task.line, []

    def _property_lines(self, terms: SearchTerms, lines: list[str]) -> Iterator[tuple[int, Places]]:
        if not lines or lines[0].rstrip() != "---":
            return
        for number, line in enumerate(lines[1:MAX_LINES], 2):
            if line.rstrip() == "---":
                return
            key = _KEY_LINE.match(line)
            if key and any(name_matches(name, key[1].strip(), self.patterns) for name in terms.properties):
                yield number, [key.span(1)]

    def _match(self, lines: list[str], number: int, found: list[Places]) -> HitMatch:
        line = lines[number - 1]
        folds = {places.sensitive: places.fold for places in found if isinstance(places, Needle)}
        folded = {sensitive: FoldedText(line, fold) for sensitive, fold in folds.items()}
        each = (
            places.spans_of(folded[places.sensitive]) if isinstance(places, Needle) else places
            for places in found
        )
        text, spans = shorten_line(line, _merge(span for spans in each for span in spans))
        first = max(0, number - 1 - self.context)
        before = tuple(shorten_line(line, [])[0] for line in lines[first : number - 1])
        after = tuple(shorten_line(line, [])[0] for line in lines[number : number + self.context])
        return HitMatch(number, text, tuple(spans), before, after)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in LINE_END.finditer(text))]


def _collect(
    found: dict[int, list[Places]], lines: Iterator[tuple[int, Places]], within: set[int] | None
) -> None:
    for number, spans in lines:
        if within is not None and number not in within:
            continue
        if number not in found and len(found) >= MAX_LINES:
            return
        found.setdefault(number, []).append(spans)


def _merge(spans: Iterator[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def shorten_line(line: str, spans: list[Span]) -> tuple[str, list[Span]]:
    """Shortens a line to SNIPPET_CHARS characters around its first span, with "…" for what is left out."""
    spans = [(start, min(end, len(line))) for start, end in spans if start <= len(line)]
    if len(line) <= SNIPPET_CHARS:
        return line, spans
    room = SNIPPET_CHARS - 2
    first = max(0, min(spans[0][0] - room // 4, len(line) - room)) if spans else 0
    last = min(len(line), first + room)
    head = "…" if first else ""
    tail = "…" if last < len(line) else ""
    shift = len(head) - first
    inside = [(start + shift, min(end, last) + shift) for start, end in spans if start < last and end > first]
    return head + line[first:last] + tail, inside


def make_name_keys(terms: SearchTerms) -> tuple[str, ...]:
    """Returns the keys of names that equal what was typed: such notes come first."""
    words = " ".join(needle.text for needle in terms.words())
    return (name_key(words), fold_text(words)) if words else ()
