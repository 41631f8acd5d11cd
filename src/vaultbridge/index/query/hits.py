"""Where in a note a query holds: the lines that are shown of a hit, with the places to mark.

Made for the few notes of one page of results. Which notes match is decided elsewhere, exactly; here a line is
chosen when something that the query asks for stands in it.
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
from vaultbridge.index.query.needle import Needle
from vaultbridge.index.query.parse import And, Cased, HasProperty, HasTag, Or, Query, RegexTerm, Term, Within
from vaultbridge.index.query.properties import name_matches
from vaultbridge.index.query.regex import PatternMatcher, compile_pattern
from vaultbridge.index.query.units import Span, find_block_spans, find_section_spans, match_texts, split_lines
from vaultbridge.index.store.rows import decode_note
from vaultbridge.links.resolve import name_key
from vaultbridge.markdown.model import Note

SNIPPET_CHARS: Final = 240
"""The longest line shown: a paragraph on one line is cut around the first place found."""

MAX_LINES: Final = 500
"""The most lines of one note that are gathered before the best are chosen."""

_KEY_LINE: Final = re.compile(r"[\"']?([^\s\"':#\-][^:\"']{0,200}?)[\"']?\s*:(?:\s|$)")


class HitMatch(Struct, frozen=True):
    """One line of a hit. `text` is the line, cut when long; `spans` are places in `text`. `before` and
    `after` are the lines around it, when context was asked for."""

    line: int
    text: str
    spans: tuple[Span, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


class SearchTerms(Struct):
    """What a query asks for, taken apart: everything that is not negated. What is asked for within a line,
    block or section stands in `units` alone, because elsewhere in the note it is no find."""

    needles: list[Needle]
    patterns: list[re.Pattern[str]]
    tags: list[str]
    properties: list[Query]
    tasks: list[tuple[str, Query, bool]]
    names: list[Needle]
    units: list[tuple[str, Query, bool, SearchTerms]]

    @classmethod
    def by(cls, query: Query, *, sensitive: bool = False) -> SearchTerms:
        asked = cls([], [], [], [], [], [], [])
        asked._take(query, sensitive=sensitive, named=False)
        return asked

    def words(self) -> list[Needle]:
        """All words asked for, wherever: what a note is ranked by."""
        inside = (needle for *_, asked in self.units for needle in asked.words())
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
                self.units.append((place, part, sensitive, SearchTerms.by(part, sensitive=sensitive)))
            case Within(place, part):
                self._take(part, sensitive=sensitive, named=place in ("file", "path"))
            case And(parts) | Or(parts):
                for part in parts:
                    self._take(part, sensitive=sensitive, named=named)
            case _:
                pass


Places: TypeAlias = "Needle | list[Span]"
"""What stands in a line: places, or a needle, whose places are looked up for the lines that are shown."""


class NoteText:
    """The text of one note and its lines, folded once for all the words that are looked for in it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = split_lines(text)
        self._folded: dict[bool, tuple[str, list[str]]] = {}

    def lines_with(self, needle: Needle) -> Iterator[tuple[int, Places]]:
        """The lines in which the needle stands, by number."""
        if not needle.wanted:
            return
        if needle.sensitive not in self._folded:
            # No folding makes or takes away the end of a line, so lines keep their numbers.
            folded = needle.fold(self.text)
            self._folded[needle.sensitive] = (folded, split_lines(folded))
        whole, lines = self._folded[needle.sensitive]
        if needle.wanted in whole:
            for number, line in enumerate(lines, 1):
                if needle.wanted in line:
                    yield number, needle


class HitReader:
    """Gives the lines of hits for one query, within one reading transaction."""

    def __init__(
        self,
        db: sqlite3.Connection,
        asked: SearchTerms,
        patterns: PatternMatcher,
        *,
        limit: int,
        context: int,
    ) -> None:
        self.db = db
        self.asked = asked
        self.patterns = patterns
        self.limit = limit
        self.context = context

    def matches(self, id_: int) -> tuple[HitMatch, ...]:
        """The best lines of a note, in order; none when it matches by its name alone."""
        row = self.db.execute("SELECT text FROM texts WHERE id = ?", (id_,)).fetchone()
        if row is None or not self.limit:
            return ()
        text = NoteText(row[0])
        found: dict[int, list[Places]] = {}
        self._find(found, self.asked, id_, text, None)
        best = sorted(found, key=lambda line: (-len(found[line]), line))[: self.limit]
        return tuple(self._match(text.lines, line, found[line]) for line in sorted(best))

    def _find(
        self,
        found: dict[int, list[Places]],
        asked: SearchTerms,
        id_: int,
        text: NoteText,
        within: set[int] | None,
    ) -> None:
        """Gathers by line number, for each thing asked for that stands there, its places; only of the lines
        `within`, when that is given."""
        for needle in asked.needles:
            _gather(found, text.lines_with(needle), within)
        for pattern in asked.patterns:
            _gather(found, self._pattern_lines(pattern, text.text), within)
        if asked.tags or asked.tasks:
            _gather(found, self._note_lines(asked, id_), within)
        if asked.properties:
            _gather(found, self._property_lines(asked, text.lines), within)
        for place, query, sensitive, inner in asked.units:
            held = self._unit_lines(place, query, id_, text.text, sensitive=sensitive)
            self._find(found, inner, id_, text, held if within is None else held & within)

    def _unit_lines(self, place: str, query: Query, id_: int, text: str, *, sensitive: bool) -> set[int]:
        """The numbers of the lines that lie in a line, block or section in which the query holds."""
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
                # A block begins with the blank lines before it, the first with the end of another's line.
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

    def _note_lines(self, asked: SearchTerms, id_: int) -> Iterator[tuple[int, Places]]:
        note = self._note(id_)
        for tag in note.tags:
            key = name_key(tag.name)
            if any(key == wanted or key.startswith(wanted + "/") for wanted in asked.tags):
                yield tag.line, []
        for place, query, sensitive in asked.tasks:
            tasks = [task for task in note.tasks if place == "task" or task.done == (place == "task-done")]
            held = match_texts(
                query, [task.text or " " for task in tasks], self.patterns, sensitive=sensitive
            )
            for task, holds in zip(tasks, held, strict=True):
                if holds or not task.text:
                    # Twice, so that the task itself is chosen before other lines with its words.
                    yield task.line, []
                    yield task.line, []

    def _property_lines(self, asked: SearchTerms, lines: list[str]) -> Iterator[tuple[int, Places]]:
        if not lines or lines[0].rstrip() != "---":
            return
        for number, line in enumerate(lines[1:MAX_LINES], 2):
            if line.rstrip() == "---":
                return
            key = _KEY_LINE.match(line)
            if key and any(name_matches(name, key[1].strip(), self.patterns) for name in asked.properties):
                yield number, [key.span(1)]

    def _match(self, lines: list[str], number: int, found: list[Places]) -> HitMatch:
        line = lines[number - 1]
        folds = {one.sensitive: one.fold for one in found if isinstance(one, Needle)}
        folded = {sensitive: FoldedText(line, fold) for sensitive, fold in folds.items()}
        each = (one.spans_of(folded[one.sensitive]) if isinstance(one, Needle) else one for one in found)
        text, spans = shorten_line(line, _merge(span for spans in each for span in spans))
        first = max(0, number - 1 - self.context)
        before = tuple(shorten_line(one, [])[0] for one in lines[first : number - 1])
        after = tuple(shorten_line(one, [])[0] for one in lines[number : number + self.context])
        return HitMatch(number, text, tuple(spans), before, after)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer(r"\r\n?|\n", text))]


def _gather(
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
    """A line of at most SNIPPET_CHARS characters around its first span, "…" where something is left out."""
    spans = [(start, min(end, len(line))) for start, end in spans if start <= len(line)]
    if len(line) <= SNIPPET_CHARS:
        return line, spans
    room = SNIPPET_CHARS - 2
    first = max(0, min(spans[0][0] - room // 4, len(line) - room)) if spans else 0
    last = min(len(line), first + room)
    head = "…" if first else ""
    tail = "…" if last < len(line) else ""
    shift = len(head) - first
    kept = [(start + shift, min(end, last) + shift) for start, end in spans if start < last and end > first]
    return head + line[first:last] + tail, kept


def make_name_keys(asked: SearchTerms) -> tuple[str, ...]:
    """Keys of names that are just what was typed: such notes come first."""
    words = " ".join(needle.text for needle in asked.words())
    return (name_key(words), fold_text(words)) if words else ()
