"""Finds the files that a query matches: candidates from the tables, then a check where tables cannot decide.

It works on sets of file ids within one reading transaction. The parts of an AND are evaluated cheapest first,
each among the files that are left, so that a check reads only texts that passed everything else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from vaultbridge.cancellation import current_cancellation
from vaultbridge.index.query.match import (
    match_texts,
    name_matches,
    split_blocks,
    split_sections,
    value_matches,
)
from vaultbridge.index.query.needle import (
    Needle,
    SearchColumn,
    count_longer_words,
    match_prefix,
    match_whole_word,
    plan_candidates,
)
from vaultbridge.index.query.parse import (
    And,
    Anything,
    Cased,
    Compared,
    HasProperty,
    HasTag,
    IsNull,
    Not,
    Or,
    Query,
    RegexTerm,
    Term,
    Within,
)
from vaultbridge.index.query.regex import PatternMatcher, compile_pattern, split_batches
from vaultbridge.index.store.database import Index, read_status
from vaultbridge.index.store.rows import decode_note
from vaultbridge.index.store.schema import split_for_sql
from vaultbridge.index.word_table import find_notes
from vaultbridge.links.resolve import file_name, name_key
from vaultbridge.markdown.edits.change import split_lines

CHECKED_DIRECTLY: Final = 256
"""Up to this many notes are checked without a query for candidates: reading their texts takes 2 ms, as long
as the word table takes for one common word."""

LONGER_WORDS: Final = 8
"""Up to this many longer words are queried together with the word itself. A long word is part of few
others."""

CHECKED_PER_WORD: Final = 8
"""How many notes can be checked in the time that the table takes for one more word (measured on notes of
3 KB)."""

KNOWN_PER_CHECKED: Final = 8
"""In a query for all words with a prefix, how many notes the table goes through in the time that it takes to
check one note: 8 ms for a word in 10,000 notes."""

_decode_json = msgspec.json.Decoder().decode


class Evaluation:
    """Evaluates one query within one reading transaction, among the files in `paths`: those that the app does
    not ignore."""

    def __init__(self, index: Index, db: sqlite3.Connection, patterns: PatternMatcher) -> None:
        self.db = db
        self.patterns = patterns
        self._cancellation = current_cancellation()
        self.paths, self._notes = index.view_paths(db), index.searchable(db)
        # A first build collects the dictionary only at its end; until then the texts are searched.
        self.terms = index.terms if read_status(db).complete else None
        if self.terms is not None:
            self.terms.refresh(db)

    def find(self, query: Query) -> set[int]:
        return self.ids(query, None, sensitive=False)

    def searchable(self, within: set[int] | None) -> set[int]:
        """Returns all notes and canvases, or those in `within`."""
        return self._notes if within is None else self._notes & within

    def ids(self, query: Query, within: set[int] | None, *, sensitive: bool) -> set[int]:
        """Returns the files in `within` that match (None means all files)."""
        match query:
            case Term(text):
                return self._find_text(Needle.of(text, sensitive=sensitive), "any", within)
            case RegexTerm(written):
                return self._find_pattern(written, within, names=True, sensitive=sensitive)
            case Anything():
                return self.searchable(within)
            case And(parts):
                for part in sorted(parts, key=_order):
                    within = self.ids(part, within, sensitive=sensitive)
                    if not within:
                        break
                return within or set()
            case Or(parts):
                return set().union(*(self.ids(part, within, sensitive=sensitive) for part in parts))
            case Not(part):
                universe = self.searchable(None) if within is None else within
                return universe - self.ids(part, universe, sensitive=sensitive)
            case Cased(case_sensitive, part):
                return self.ids(part, within, sensitive=case_sensitive)
            case HasTag(name):
                return _restrict(self._find_tagged(name), within)
            case HasProperty(name, value):
                return self._find_by_property(name, value, within, sensitive=sensitive)
            case Within("file", part):
                return self._find_by_name(part, within, file_name, sensitive=sensitive)
            case Within("path", part):
                return self._find_by_name(part, within, str, sensitive=sensitive)
            case Within("content", part):
                return self._find_in_content(part, within, sensitive=sensitive)
            case Within("task" | "task-todo" | "task-done", part):
                return self._find_by_task(query.place, part, within, sensitive=sensitive)
            case Within(place, part):
                return self._find_by_unit(place, part, within, sensitive=sensitive)
            case Compared() | IsNull():
                return set()

    def candidates(self, query: Query, within: set[int] | None, *, sensitive: bool) -> set[int] | None:
        """Returns the files whose content may match, or None when all must be checked."""
        match query:
            case Term(text):
                found = self._lookup(Needle.of(text, sensitive=sensitive), "body")[0]
                return found if found is None else _restrict(found, within)
            case And(parts):
                for part in parts:
                    narrower = self.candidates(part, within, sensitive=sensitive)
                    within = within if narrower is None else narrower
                return within
            case Or(parts):
                each = [self.candidates(part, within, sensitive=sensitive) for part in parts]
                return None if any(ids is None for ids in each) else set().union(*(ids or () for ids in each))
            case Cased(case_sensitive, part):
                return self.candidates(part, within, sensitive=case_sensitive)
            case HasTag(name):
                return _restrict(self._find_tagged(name), within)
            case _:
                return within

    def texts(self, ids: Iterable[int]) -> Iterator[tuple[int, str]]:
        for marks, part in split_for_sql(ids):
            self._cancellation.check()
            yield from self.db.execute(f"SELECT id, text FROM texts WHERE id IN ({marks})", part)

    def _read_encoded_texts(self, ids: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """Yields texts in UTF-8, as they are stored: decoding thousands of texts takes longer than searching
        them."""
        for marks, part in split_for_sql(ids):
            self._cancellation.check()
            yield from self.db.execute(
                f"SELECT id, CAST(text AS BLOB) FROM texts WHERE id IN ({marks})", part
            )

    def _lookup(self, needle: Needle, column: SearchColumn) -> tuple[set[int] | None, bool]:
        """Returns candidates from the word table, and whether they need no check."""
        how = plan_candidates(needle, self.terms, column)
        if not how.match:
            return None, False
        return self._match(how.match), how.exact

    def _find_text(self, needle: Needle, column: SearchColumn, within: set[int] | None) -> set[int]:
        if within is not None and len(within) <= CHECKED_DIRECTLY:
            return self._check(needle, column, self.searchable(within))
        if needle.one_word:
            return self._find_word(needle, column, within)
        found, exact = self._lookup(needle, column)
        pool = self.searchable(within) if found is None else _restrict(found, within)
        return pool if exact else self._check(needle, column, pool)

    def _find_word(self, needle: Needle, column: SearchColumn, within: set[int] | None) -> set[int]:
        longer = count_longer_words(needle, self.terms)
        if longer is not None and longer <= LONGER_WORDS:
            return _restrict(self._lookup(needle, column)[0] or set(), within)
        # The word itself is one list in the table. A short word is common and leaves few notes; checking
        # those is cheaper than uniting the lists of all words that contain it.
        known = _restrict(self._match(match_whole_word(needle, column)), within)
        pool = self.searchable(within) - known
        if longer is None:
            if len(pool) > max(CHECKED_DIRECTLY, len(known) // KNOWN_PER_CHECKED):
                # Too many words contain it; those that begin with it save reading most of the texts.
                known |= _restrict(self._match(match_prefix(needle, column)), within)
        elif len(pool) > longer * CHECKED_PER_WORD:
            return known | _restrict(self._lookup(needle, column)[0] or set(), within)
        return known | self._check(needle, column, pool - known)

    def _check(self, needle: Needle, column: SearchColumn, pool: set[int]) -> set[int]:
        """Returns the files in the pool whose text contains the needle, or whose path does if the column is
        "any"."""
        named: set[int] = set()
        if column == "any":
            named = {id_ for id_ in pool if needle.occurs_in(self.paths[id_])}
        pool = pool - named
        if (occurs_in := needle.search_encoded) is not None:
            return named | {id_ for id_, text in self._read_encoded_texts(pool) if occurs_in(text)}
        return named | {id_ for id_, text in self.texts(pool) if needle.occurs_in(text)}

    def _match(self, match: str) -> set[int]:
        return find_notes(self.db, match)

    def _find_pattern(
        self, written: str, within: set[int] | None, *, names: bool, sensitive: bool
    ) -> set[int]:
        pattern = compile_pattern(written, ignore_case=not sensitive)
        pool = sorted(self.searchable(within))
        found: set[int] = set()
        if names:
            spans = self.patterns.spans(pattern, [self.paths[id_] for id_ in pool])
            found = {id_ for id_, where in zip(pool, spans, strict=True) if where}
        for rows in split_batches(self.texts(set(pool) - found), lambda row: len(row[1])):
            spans = self.patterns.spans(pattern, [text for _, text in rows])
            found |= {id_ for (id_, _), where in zip(rows, spans, strict=True) if where}
        return found

    def _find_in_content(self, query: Query, within: set[int] | None, *, sensitive: bool) -> set[int]:
        """Like `ids`, but words and patterns match only in the content."""
        match query:
            case Term(text):
                return self._find_text(Needle.of(text, sensitive=sensitive), "body", within)
            case RegexTerm(written):
                return self._find_pattern(written, within, names=False, sensitive=sensitive)
            case And(parts):
                for part in sorted(parts, key=_order):
                    within = self._find_in_content(part, within, sensitive=sensitive)
                return within or set()
            case Or(parts):
                return set().union(
                    *(self._find_in_content(part, within, sensitive=sensitive) for part in parts)
                )
            case Not(part):
                universe = self.searchable(within)
                return universe - self._find_in_content(part, universe, sensitive=sensitive)
            case Cased(case_sensitive, part):
                return self._find_in_content(part, within, sensitive=case_sensitive)
            case _:
                return self.ids(query, within, sensitive=sensitive)

    def _find_by_name(
        self, query: Query, within: set[int] | None, get_name: Callable[[str], str], *, sensitive: bool
    ) -> set[int]:
        """Returns files of every kind that match by their name or path."""
        pool = list(self.paths) if within is None else sorted(within)
        held = match_texts(
            query, [get_name(self.paths[id_]) for id_ in pool], self.patterns, sensitive=sensitive
        )
        return {id_ for id_, holds in zip(pool, held, strict=True) if holds}

    def _find_tagged(self, name: str) -> set[int]:
        key = name_key(name)
        rows = self.db.execute(
            "SELECT file FROM tags WHERE key = ? OR (key > ? AND key < ?)", (key, key + "/", key + "0")
        )
        return {id_ for (id_,) in rows}

    def _find_by_property(
        self, name: Query, value: Query, within: set[int] | None, *, sensitive: bool
    ) -> set[int]:
        names = self.db.execute("SELECT DISTINCT key FROM properties").fetchall()
        keys = [key for (key,) in names if name_matches(name, key, self.patterns)]
        found: set[int] = set()
        results: dict[str, bool] = {}
        for key in keys:
            for id_, written in self.db.execute("SELECT file, value FROM properties WHERE key = ?", (key,)):
                if id_ not in (self.paths if within is None else within):
                    continue
                if written not in results:
                    results[written] = value_matches(
                        value, _decode_json(written), self.patterns, sensitive=sensitive
                    )
                if results[written]:
                    found.add(id_)
        return found

    def _find_by_task(
        self, place: str, query: Query, within: set[int] | None, *, sensitive: bool
    ) -> set[int]:
        condition = {"task": "", "task-todo": " WHERE status = ' '", "task-done": " WHERE status != ' '"}[
            place
        ]
        pool = self.candidates(query, within, sensitive=sensitive)
        rows = [
            (id_, text)
            for id_, text in self.db.execute(f"SELECT file, text FROM tasks{condition}")
            if id_ in (self.paths if pool is None else pool)
        ]
        if isinstance(query, Anything):
            return {id_ for id_, _ in rows}
        held = match_texts(query, [text for _, text in rows], self.patterns, sensitive=sensitive)
        return {id_ for (id_, _), holds in zip(rows, held, strict=True) if holds}

    def _find_by_unit(
        self, place: str, query: Query, within: set[int] | None, *, sensitive: bool
    ) -> set[int]:
        pool = self.candidates(query, within, sensitive=sensitive)
        found: set[int] = set()
        for id_, text in self.texts(self.searchable(pool)):
            if any(match_texts(query, self.units(place, id_, text), self.patterns, sensitive=sensitive)):
                found.add(id_)
        return found

    def units(self, place: str, id_: int, text: str) -> list[str]:
        """Splits a text into the lines, blocks or sections that a place names."""
        if place == "line":
            return split_lines(text)
        note: Any = decode_note(self.db.execute("SELECT note FROM notes WHERE id = ?", (id_,)).fetchone()[0])
        return split_sections(text, note) if place == "section" else split_blocks(text, note)


def _restrict(found: set[int], within: set[int] | None) -> set[int]:
    return found if within is None else found & within


def _order(query: Query) -> tuple[int, int]:
    """Sorts the cheapest part first, and of equal parts the longest text, because long words are rarer."""
    return _cost(query), -len(query.text) if isinstance(query, Term) else 0


def _cost(query: Query) -> int:
    """Ranks roughly: look-ups, then what reads some texts, then what reads many or starts a process."""
    match query:
        case Term() | HasTag():
            return 0
        case HasProperty():
            return 1
        case Within("file" | "path"):
            return 2
        case Cased(_, part) | Within("content", part):
            return 1 + _cost(part)
        case And(parts) | Or(parts):
            return 1 + max(map(_cost, parts))
        case Within():
            return 5
        case Not(part):
            return 6 + _cost(part)
        case RegexTerm():
            return 20
        case _:
            return 3
