"""Ranks the notes and sections of a vault for a question in plain words.

`concepts` finds the words of the vault that match the question, `candidates` chooses notes by them,
`features` reads the best of these, and `views` combines the scores into one rank. This module finds the lines
to show.
"""

from __future__ import annotations

import sqlite3
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from vaultbridge.index.fold import NEIGHBOURS, FoldedText, fold_text, separate_words, stands_apart
from vaultbridge.index.listing import check_bound
from vaultbridge.index.query.hits import HitMatch, shorten_line
from vaultbridge.index.ranking.candidates import find_candidates
from vaultbridge.index.ranking.concepts import choose_concepts, shorten_question
from vaultbridge.index.ranking.features import (
    ConceptCounts,
    NoteFeatures,
    PassageReader,
    SectionFeatures,
    add_counts,
    find_word,
    join_headings,
    read_cards,
)
from vaultbridge.index.ranking.function_words import MARKERS
from vaultbridge.index.ranking.question import list_names, read_question
from vaultbridge.index.ranking.views import ExtraView, Scored, Views
from vaultbridge.index.ranking.vocabulary import CHINESE, Concept, Vocabulary, count_notes
from vaultbridge.index.store.database import Index, read_status
from vaultbridge.links.resolve import name_key
from vaultbridge.markdown.edits.change import split_lines
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.vault.paths import VaultPath

READ_NOTES: Final = 30
"""How many of the candidates are read and ranked by their texts: each takes about 0.1 ms, and
with 150 the judged questions are answered no better."""

LINKED_NOTES: Final = 10
"""How many more notes are read because the first ones describe them where they link to them."""

RANKED_NOTES: Final = 1000
"""The most notes ranked for one question. Nobody reads further than that."""

PAGE_NOTES: Final = 500
"""The most notes on one page."""

SECTIONS_PER_NOTE: Final = 50
"""The most sections of one note."""


class RankedSection(Struct, frozen=True):
    """A section from one heading to the next. `heading` is the titles that lead to it, joined by ` > `; it is
    empty before the first heading. `matches` are its best lines."""

    heading: str
    line: int
    end_line: int
    score: float
    matches: tuple[HitMatch, ...]


class RankedNote(Struct, frozen=True):
    """A note with its best sections first. `missing` are the words of the question that the note lacks,
    except pieces of a script without spaces. `views` has each view's share of the score, if requested."""

    path: VaultPath
    score: float
    modified_ns: int
    sections: tuple[RankedSection, ...]
    missing: tuple[str, ...]
    views: dict[str, float] = {}


class RankedPage(Struct, frozen=True):
    """One page of notes. `total` counts all pages: the notes with a word of the question, at most
    RANKED_NOTES; `more` is True if there are more than that. `with_all_words` counts those that have all its
    words. During a first build `complete` is False, and `indexed` of `searchable` notes were searched.
    `left_out` counts the words of a very long question that were not looked up. `translated` is the language
    that the words of a question in English were translated to, by a dictionary if there is one."""

    notes: tuple[RankedNote, ...]
    total: int
    with_all_words: int
    complete: bool
    indexed: int
    searchable: int
    left_out: int = 0
    more: bool = False
    translated: str = ""
    by_dictionary: bool = False


def rank(
    index: Index,
    question: str,
    *,
    limit: int = 20,
    offset: int = 0,
    sections_per_note: int = 1,
    explain: bool = False,
    extra_views: Sequence[ExtraView] = (),
    dictionaries: tuple[Path, ...] = (),
) -> RankedPage:
    """Returns one page of notes by rank. `dictionaries` are the folders of those that an English question may
    use. It blocks for milliseconds, or for a second while a large dictionary is read for the first time."""
    check_bound("limit", limit, PAGE_NOTES)
    check_bound("offset", offset, None)
    check_bound("sections_per_note", sections_per_note, SECTIONS_PER_NOTE)
    with index.reading() as db:
        ranking = _Ranking(index, db, question, extra_views, dictionaries)
        scored, rest = ranking.order()
        page = scored[offset : offset + limit]
        if len(page) < limit:
            # Notes that were not read follow. There are up to a thousand, so only those shown are scored.
            first = max(0, offset - len(scored))
            lowest = scored[-1].score if scored else 0.0
            shown = range(first, min(len(rest), first + limit - len(page)))
            page += [Scored(rest[place], lowest / (place + 2)) for place in shown]
        notes = tuple(ranking.describe(note, sections_per_note, explain=explain) for note in page)
        status = read_status(db)
        ranked = [*(note.id for note in scored), *rest]
        return RankedPage(
            notes,
            len(ranked),
            ranking.count_complete(ranked),
            status.complete,
            status.done,
            status.total,
            ranking.left_out,
            ranking.more,
            ranking.translated,
            ranking.by_dictionary,
        )


class _Ranking:
    """One question within one reading transaction."""

    def __init__(
        self,
        index: Index,
        db: sqlite3.Connection,
        text: str,
        extra_views: Sequence[ExtraView],
        dictionaries: tuple[Path, ...],
    ) -> None:
        self.index = index
        self.db = db
        self.text = replace_surrogates(text).strip()
        self.paths = index.paths(db)
        self.searchable = index.searchable(db)
        sizes, average = index.sizes(db)
        count = max(1, len(self.searchable))
        usual, foreign = find_languages(index, db)
        question = read_question(self.text, usual)
        vocabulary = Vocabulary(index, db, count)
        vocabulary.choose_foreign(question, foreign, dictionaries)
        if vocabulary.surely_english:
            question = read_question(self.text, usual, "english")
        self.translated = vocabulary.foreign if vocabulary.translates else ""
        self.by_dictionary = vocabulary.has_dictionary
        short, self.left_out = shorten_question(vocabulary, question)
        self.shortened = short is not question
        self.names = list_names(question)
        self.concepts = choose_concepts(vocabulary, short)
        self.candidates = find_candidates(vocabulary.table, self.concepts, sizes=sizes, average=average)
        self.more = False
        self.extra_views = extra_views
        sure = any(unit.function and not unit.is_gram for unit in question.units)
        # Who asks in English about notes in another language does not want those in English first.
        prefers = sure and question.language != usual and not vocabulary.translates
        self.reader = PassageReader(
            db, self.concepts, self.paths, self.candidates.by_word, question.language if prefers else ""
        )
        self.views = Views(self.concepts, average)

    def order(self) -> tuple[list[Scored], list[int]]:
        """Returns the notes that were read, best first, and those that follow them."""
        exact = self._find_exact_names()
        extra = self._place_extra_views()
        first = {**dict.fromkeys((*extra, *exact), 0.0), **self.candidates.scores}
        chosen = self._choose(first, sure={*exact, *extra})
        read = {id_: self.reader.read(id_) for id_ in chosen[: READ_NOTES + len(exact) + len(extra)]}
        self._read_linked(read)
        scored = self.views.fuse(read, exact, extra)
        scored.sort(key=lambda note: (-note.score, self.paths[note.id]))
        rest = [id_ for id_ in chosen if id_ not in read]
        self.more = len(scored) + len(rest) > RANKED_NOTES
        return scored, rest[: RANKED_NOTES - len(scored)]

    def _choose(self, first: dict[int, float], sure: set[int]) -> list[int]:
        """Returns the best notes by their preliminary score, those that are `sure` first, and one
        more than are ranked if there is one."""
        seen = [id_ for id_ in first if id_ in self.searchable]
        if len(seen) > RANKED_NOTES + 1:
            least = sorted(map(first.__getitem__, seen), reverse=True)[RANKED_NOTES]
            seen = [id_ for id_ in seen if first[id_] >= least or id_ in sure]
        # By path, so that of notes with the same score the same are chosen in every index of the vault.
        seen.sort(key=self.paths.__getitem__)
        seen.sort(key=first.__getitem__, reverse=True)
        if sure:
            seen.sort(key=lambda id_: id_ not in sure)
        return seen[: RANKED_NOTES + 1]

    def _read_linked(self, read: dict[int, NoteFeatures]) -> None:
        """Count the text around the links of the notes that were read for the notes and sections that they
        lead to, and read the best of those notes too."""
        linked: dict[int, float] = {}
        sections: dict[tuple[int, str], ConceptCounts] = {}
        for note in list(read.values()):
            for target, heading, counts in self.reader.count_link_contexts(note):
                if target not in self.searchable:
                    continue
                if heading:
                    add_counts(sections.setdefault((target, heading), {}), counts)
                if target == note.id:
                    continue
                self.views.add_link_context(target, counts)
                if target not in read:
                    gain = sum(self.concepts[place].idf * count.forms for place, count in counts.items())
                    linked[target] = linked.get(target, 0.0) + gain
        for id_ in sorted(linked, key=lambda id_: (-linked[id_], self.paths[id_]))[:LINKED_NOTES]:
            read[id_] = self.reader.read(id_)
        for (id_, heading), counts in sections.items():
            if id_ in read and (section := read[id_].find_section(heading)) is not None:
                section.linked = counts

    def _find_exact_names(self) -> dict[int, str]:
        """Returns the notes whose name or alias is the question itself, or what it asks about."""
        keys = list(dict.fromkeys(form(name) for name in self.names for form in (name_key, fold_text)))
        found: dict[int, str] = {}
        for key in keys:
            for (id_,) in self.db.execute("SELECT file FROM aliases WHERE key = ?", (key,)):
                found[id_] = "alias"
        for key in keys:
            for (id_,) in self.db.execute("SELECT id FROM files WHERE key IN (?, ?)", (key, key + ".md")):
                found[id_] = "name"
        return {id_: how for id_, how in found.items() if id_ in self.searchable}

    def _place_extra_views(self) -> dict[int, dict[str, tuple[float, int]]]:
        """Returns, for each note and each view computed elsewhere, the best score, at most 1, and its
        line."""
        given: dict[int, dict[str, tuple[float, int]]] = {}
        for view in self.extra_views:
            best: dict[int, tuple[float, int]] = {}
            for path, line, score in view.places:
                row = self.db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
                if row is not None and row[0] in self.searchable and score > 0:
                    best[row[0]] = max(best.get(row[0], (0.0, 0)), (score, line))
            highest = max((score for score, _ in best.values()), default=1.0)
            for id_, (score, line) in best.items():
                given.setdefault(id_, {})[view.name] = (score / highest, line)
        return given

    def count_complete(self, ranked: list[int]) -> int:
        """Counts the notes that have every word of the question. In a script without spaces the words are
        unknown; there a note counts if it has at least half of the pairs of characters."""
        if self.shortened:
            return 0
        looked_up = [
            (concept.unit, notes)
            for concept, notes in zip(self.concepts, self.candidates.by_concept, strict=True)
            if concept.unit.looked_up and not concept.unit.faint
        ]
        held = set(ranked) if looked_up else set()
        for unit, notes in looked_up:
            if not unit.is_gram:
                held &= notes
        grams = [notes for unit, notes in looked_up if unit.is_gram]
        return sum(1 for id_ in held if 2 * sum(id_ in notes for notes in grams) >= len(grams))

    def describe(self, scored: Scored, sections: int, *, explain: bool) -> RankedNote:
        note = scored.note or self.reader.read(scored.id)
        lines = split_lines(note.text)
        if self.paths[scored.id].endswith(".canvas"):
            lines = [read_cards(line) for line in lines]
        scores = [self.views.weigh_section(note, section) for section in note.sections]
        for line, gain in scored.lines:
            for place, section in enumerate(note.sections):
                if section.line <= line <= section.end_line:
                    scores[place] += gain
        order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
        shown = [place for place in order if scores[place] > 0] or order[:1]
        ranked = tuple(
            RankedSection(
                join_headings(note.sections, place),
                note.sections[place].line,
                note.sections[place].end_line,
                scores[place],
                find_lines(self.concepts, note, note.sections[place], lines),
            )
            for place in shown[:sections]
        )
        missing = tuple(
            concept.unit.shown
            for place, concept in enumerate(self.concepts)
            if note.lacks(place) and not concept.unit.is_gram and not concept.unit.faint
        )
        (modified,) = self.db.execute("SELECT mtime_ns FROM files WHERE id = ?", (scored.id,)).fetchone()
        parts = (scored.parts or {}) if explain else {}
        return RankedNote(VaultPath(self.paths[scored.id]), scored.score, modified, ranked, missing, parts)


LINES_PER_SECTION: Final = 3
"""The most lines shown of one section."""

SHARE_OF_BEST: Final = 0.35
"""A line that scores less than this share of the best line's score is not shown."""

LINES_READ: Final = 2000
"""The most lines of one section with a word of the question that are scored."""


def find_lines(
    concepts: list[Concept], note: NoteFeatures, section: SectionFeatures, lines: list[str]
) -> tuple[HitMatch, ...]:
    """Returns the best lines of a section in order; none if only the note's name matches. A sentence is
    preferred to a property with the same score."""
    held = [concepts[place] for place in section.counts]
    weights: dict[int, float] = {}
    last = min(section.end_line, len(lines))
    for number in sorted(number for number in note.lines if section.line <= number <= last)[:LINES_READ]:
        separated = separate_words(lines[number - 1])
        weight = sum(concept.idf * _weigh(concept, separated) for concept in held)
        if weight:
            weights[number] = weight
    body = {number: weight for number, weight in weights.items() if number > note.properties_end}
    if body and max(body.values()) >= max(weights.values()):
        weights = body
    least = SHARE_OF_BEST * max(weights.values(), default=0.0)
    best = sorted(weights, key=lambda number: (-weights[number], number))[:LINES_PER_SECTION]
    words = [term.word for concept in held if not concept.unit.faint for term in concept.terms]
    return tuple(
        _mark(number, lines[number - 1], words) for number in sorted(best) if weights[number] >= least
    )


def _weigh(concept: Concept, separated: str) -> float:
    return max((term.weight for term in concept.terms if find_word(separated, term.word)), default=0.0)


def _mark(number: int, line: str, words: list[str]) -> HitMatch:
    folded = FoldedText(line)
    found: list[tuple[int, int]] = []
    for word in words:
        wanted = word.replace(NEIGHBOURS, "")
        at = folded.folded.find(wanted)
        while at >= 0:
            end = at + len(wanted)
            if _stands_alone(folded.folded, at, end):
                found.append(folded.span(at, end))
            at = folded.folded.find(wanted, end)
    spans: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    text, inside = shorten_line(line, spans)
    return HitMatch(number, text, tuple(inside))


def _stands_alone(folded: str, start: int, end: int) -> bool:
    """Whether no letter of the same word precedes or follows."""
    if stands_apart(folded[start]):
        return True
    return not (start and _joins(folded[start - 1])) and not (end < len(folded) and _joins(folded[end]))


def _joins(char: str) -> bool:
    if char < "\x80":
        return char.isalnum()
    return unicodedata.category(char)[0] in "LNM" and not stands_apart(char)


COMMON_SHARE: Final = 0.2
"""A language is that of the vault if at least this share of the notes have its commonest words."""

CHINESE_WORD: Final = "的"
"""The commonest word of Chinese, which Japanese has only in rare words."""


def find_foreign_language(index: Index) -> str:
    """Returns the language that English questions are translated to, because many notes are in it; "" when
    none stands out."""
    with index.reading() as db:
        return find_languages(index, db)[1]


def find_languages(index: Index, db: sqlite3.Connection) -> tuple[str, str]:
    """Returns the language of most notes, and the one that English questions are translated to: Chinese if
    it is common, otherwise that of most notes that are not in English. Each is "" when none stands out."""
    count = len(index.searchable(db))
    shares = {
        language: sum(count_notes(db, word) for word in words) / len(words) / max(1, count)
        for language, words in MARKERS.items()
    }
    common = [
        language
        for language in sorted(shares, key=shares.__getitem__, reverse=True)
        if shares[language] >= COMMON_SHARE
    ]
    foreign = next((language for language in common if language != "english"), "")
    if count_notes(db, CHINESE_WORD) >= COMMON_SHARE * max(1, count):
        foreign = CHINESE
    return next(iter(common), ""), foreign
