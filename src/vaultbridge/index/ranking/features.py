"""Reads the notes that `candidates` chose, and counts the question's concepts in their fields and sections.

This is the second of two stages. A text is searched in the same form as in the word table
(`fold.separate_words`), so that a word is found as a whole word in every script. The text around a link
counts for the note or the section that it leads to, because people describe it where they link to it."""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from vaultbridge.index.fold import WORD, separate_words, split_words
from vaultbridge.index.ranking.boilerplate import Span, find_boilerplate, leave_out
from vaultbridge.index.ranking.function_words import detect_language
from vaultbridge.index.ranking.vocabulary import Concept, WeightedTerm
from vaultbridge.markdown.sections import heading_key
from vaultbridge.markdown.text import LINE_END

OCCURRENCES: Final = 32
"""How often one word is counted in one note. Counting more would change no rank."""

LEAD_CHARS: Final = 400
"""The beginning of a note, which usually says what it is about."""

LANGUAGE_CHARS: Final = 2000
"""The beginning of a note, from which its language is detected."""

SUMMARIES: Final = ("description", "summary", "abstract")
"""Properties that usually say what a note is about."""

LINK_CONTEXT_CHARS: Final = 100
"""How many characters on either side of a link count as a description of its target."""

LINKS_READ: Final = 400
"""The most links of one note that are read: a long index names everything and describes nothing."""

_CANVAS_SYNTAX: Final = re.compile(
    r'"(?:id|type|color|backgroundStyle|(?:from|to)(?:Node|Side|End))"\s*:\s*"[^"\r\n]*"'
    r'|"(?:nodes|edges|x|y|width|height|text|file|subpath|url|label|background)"\s*:'
)

CARD_TEXTS: Final = ("text", "label", "file", "url")
"""The members of a card or an edge that a person wrote or chose."""

_FIELD_END: Final = "\x00"
"""Separates the fields of a note. Separating words leaves it unchanged, and it is not part of a word."""


_Heading = tuple[int, str, int, int, int]
"""Level, text, line, start and end."""

_decode_head = msgspec.msgpack.Decoder(
    tuple[
        tuple[dict[str, Any], int, int, int, int, bool] | None,
        list[str],
        list[_Heading],
        list[tuple[str, int, int, int, bool]],
        msgspec.Raw,
        msgspec.Raw,
        msgspec.Raw,
        msgspec.Raw,
        msgspec.Raw,
        msgspec.Raw,
        msgspec.Raw,
    ]
).decode
"""Decodes the parts of a stored note (`rows.encode_note`) that ranking needs: properties, aliases, headings
and tags."""


_NO_HEAD: Final[tuple[None, list[str], list[_Heading], list[tuple[str]]]] = (None, [], [], [])


class ConceptCount:
    """How often a concept occurs in some text: `words` counts the word itself, `forms` all forms and
    synonyms. `own` is False if there are only synonyms."""

    __slots__ = ("forms", "own", "words")

    def __init__(self) -> None:
        self.words = 0.0
        self.forms = 0.0
        self.own = False


ConceptCounts = dict[int, ConceptCount]
"""Counts by the concept's position in the question."""


class SectionFeatures:
    """A section, from one heading to the next, with its counts. Before the first heading `title` is empty.
    `line` and `end_line` are its first and last line, `start` its first character. `headed` has the counts of
    the heading alone, and `linked` those of the text around links that lead to this heading."""

    __slots__ = ("counts", "end_line", "headed", "length", "level", "line", "linked", "start", "title")

    def __init__(self, title: str, level: int, line: int, start: int) -> None:
        self.title = title
        self.level = level
        self.line = line
        self.start = start
        self.end_line = line
        self.length = 0
        self.counts: ConceptCounts = {}
        self.headed: ConceptCounts = {}
        self.linked: ConceptCounts = {}


class NoteFeatures:
    """What ranking uses of one note. `terms` are those it may have. `fields` has the counts of each field;
    `places` the concepts with their offsets in the separated text, and `lines` the lines that have one.
    `name_words` is how many words its name has. The body begins after line `properties_end`. `language` is 1
    if the note is in the language of the question: see `PassageReader`."""

    __slots__ = (
        "fields",
        "id",
        "language",
        "length",
        "lines",
        "name_words",
        "places",
        "properties_end",
        "sections",
        "terms",
        "text",
    )

    def __init__(self, id_: int, text: str) -> None:
        self.id = id_
        self.text = text
        self.length = len(text.encode()) if not text.isascii() else len(text)
        self.terms: list[tuple[int, WeightedTerm]] = []
        self.fields: dict[str, ConceptCounts] = {}
        self.language = 0.0
        self.sections: list[SectionFeatures] = []
        self.places: list[tuple[int, int]] = []
        self.lines: set[int] = set()
        self.name_words = 1
        self.properties_end = 0

    def lacks(self, place: int) -> bool:
        return not any(place in counts and counts[place].own for counts in self.fields.values())

    def find_section(self, heading: str) -> SectionFeatures | None:
        """Returns the first section with this heading, as `heading_key` writes it."""
        found = (
            section for section in self.sections if section.level and heading_key(section.title) == heading
        )
        return next(found, None)


_place_of = itemgetter(0)

_ADDRESS: Final = re.compile(r"\]\([^()\s]*\)")
"""Where a link leads to. In a heading that is a link it says nothing of the section: all sections that were
copied from one page have the same."""


class PassageReader:
    """Reads notes for one question within one reading transaction. `by_word` has the notes that contain each
    word, as far as `candidates` found them; `language` is the question's, or "" if it does not matter."""

    def __init__(
        self,
        db: sqlite3.Connection,
        concepts: list[Concept],
        paths: dict[int, str],
        by_word: dict[str, set[int]],
        language: str = "",
    ) -> None:
        self._db = db
        self._concepts = concepts
        self._paths = paths
        self._language = language
        self._terms = [
            (place, term, by_word.get(term.word))
            for place, concept in enumerate(concepts)
            for term in concept.terms
        ]

    def _list_terms(self, id_: int) -> list[tuple[int, WeightedTerm]]:
        """Returns the terms that a note may have, with the positions of their concepts. Most notes have few,
        and searching their texts for the others would be most of the work."""
        return [(place, term) for place, term, notes in self._terms if notes is None or id_ in notes]

    def read(self, id_: int) -> NoteFeatures:
        row = self._db.execute(
            "SELECT notes.note, texts.text FROM notes LEFT JOIN texts USING (id) WHERE notes.id = ?", (id_,)
        ).fetchone()
        blob, text = row or (None, None)
        note = NoteFeatures(id_, text or "")
        properties, aliases, headings, tags = _decode_head(blob)[:4] if blob is not None else _NO_HEAD
        note.terms = self._list_terms(id_)
        note.sections = _split(note.text, headings)
        written = note.text
        if self._paths[id_].endswith(".canvas"):
            written = _blank_syntax(written)
        boilerplate = find_boilerplate(note.text)
        self._count_body(note, written, boilerplate)
        folder, _, name = self._paths[id_].rpartition("/")
        name = name.removesuffix(".md")
        note.name_words = max(1, len(split_words(name)))
        begin = properties[2] if properties is not None else 0
        note.properties_end = len(LINE_END.findall(note.text, 0, begin))
        read = "".join(written[start:end] for start, end in leave_out((begin, len(written)), boilerplate))
        lead = [read[:LEAD_CHARS]]
        if properties is not None:
            lead += [str(value) for key, value in properties[0].items() if key.lower() in SUMMARIES]
        self._count_fields(
            note,
            {
                "name": name,
                "aliases": "\n".join(aliases),
                "headings": "\n".join([_ADDRESS.sub("]", heading[1]) for heading in headings]),
                "tags": "\n".join([tag[0] for tag in tags]),
                "folder": folder,
                "lead": "\n".join(lead),
            },
        )
        return note

    def _count_body(self, note: NoteFeatures, written: str, boilerplate: list[Span]) -> None:
        """Count in the text, and remember the places that may be shown: those in boilerplate only if there
        are no others."""
        separated = separate_words(written)
        if "\r" in separated:
            separated = separated.replace("\r\n", "\n").replace("\r", "\n")
        if self._language:
            words = set(WORD.findall(separated, 0, LANGUAGE_CHARS))
            note.language = float(detect_language(words) == self._language)
        found = [(at, place, term) for place, term in note.terms for at in find_word(separated, term.word)]
        found.sort(key=_place_of)
        body = note.fields["body"] = {}
        starts = [section.line for section in note.sections]
        lines: list[int] = []
        line, counted = 1, 0
        for at, place, term in found:
            # Separating the words moves characters, but no line ends.
            line += separated.count("\n", counted, at)
            counted = at
            lines.append(line)
            _add(body, place, term)
        skipped = _list_lines(note.text, boilerplate) if found and boilerplate else set()
        if skipped.issuperset(lines):
            skipped = set()
        for line, (at, place, term) in zip(lines, found, strict=True):
            if line in skipped:
                continue
            section = note.sections[bisect_right(starts, line) - 1]
            _add(section.counts, place, term)
            if line == section.line and section.level and _has_in_heading(section, term):
                _add(section.headed, place, term)
            if not self._concepts[place].unit.faint:
                note.places.append((at, place))
                note.lines.add(line)

    def _count_fields(self, note: NoteFeatures, fields: dict[str, str]) -> None:
        """Count in all fields at once, because most words are in none of them, and separating the words of
        one long text is faster than of several short ones."""
        joined = separate_words(
            _FIELD_END.join([written.replace(_FIELD_END, " ") for written in fields.values()])
        )
        names = list(fields)
        ends: list[int] = []
        for place, term in note.terms:
            found = find_word(joined, term.word)
            if found and not ends:
                ends = [end.start() for end in re.finditer(_FIELD_END, joined)]
            for at in found:
                _add(note.fields.setdefault(names[bisect_right(ends, at)], {}), place, term)

    def count_link_contexts(self, note: NoteFeatures) -> Iterator[tuple[int, str, ConceptCounts]]:
        """Counts the concepts around each of the note's links. Yields them with the file that it leads to and
        the heading there, as `heading_key` writes it, or "". A line with many links counts less for
        each."""
        if not note.places:
            return
        rows = self._db.execute(
            "SELECT line, raw, target, subpath, target_id FROM links WHERE source = ? ORDER BY seq LIMIT ?",
            (note.id, LINKS_READ),
        ).fetchall()
        on_line: dict[int, int] = {}
        for line, *_ in rows:
            on_line[line] = on_line.get(line, 0) + 1
        text = note.text
        at = 0
        for line, raw, written, subpath, stored in rows:
            here = text.find(raw, at)
            if here < 0:
                continue
            at = here + len(raw)
            if line not in note.lines or (written and stored is None):
                continue
            target = stored if written else note.id
            last = subpath.rpartition("#")[2]
            heading = "" if last.startswith("^") else heading_key(last)
            # What a note says around a link to itself is already counted, unless it is about one section.
            if target == note.id and not heading:
                continue
            start = max(here - LINK_CONTEXT_CHARS, text.rfind("\n", 0, here) + 1)
            end = text.find("\n", at, at + LINK_CONTEXT_CHARS)
            end = at + LINK_CONTEXT_CHARS if end < 0 else end
            context = separate_words(text[start:end])
            best: dict[int, WeightedTerm] = {}
            for place, term in note.terms:
                # Once per link: a word that is repeated in the line describes the target no better.
                if find_word(context, term.word) and (place not in best or best[place].weight < term.weight):
                    best[place] = term
            counts: ConceptCounts = {}
            for place, term in best.items():
                _add(counts, place, replace(term, weight=term.weight / on_line[line]))
            if counts:
                yield target, heading, counts


def add_counts(to: ConceptCounts, counts: ConceptCounts, weight: float = 1.0) -> None:
    for place, count in counts.items():
        total = to.setdefault(place, ConceptCount())
        total.words += weight * count.words
        total.forms += weight * count.forms


def _blank_syntax(text: str) -> str:
    """Blanks out the words of a canvas that belong to its format, such as "file" and "text", which nobody
    wrote. The length stays the same."""
    return _CANVAS_SYNTAX.sub(lambda found: " " * len(found[0]), text)


def read_cards(line: str) -> str:
    """Returns the text of the cards and edges on one line of a canvas, without the JSON around it. The app
    writes each on its own line; other programs write all of them on one. Any other line is returned as it
    is."""
    try:
        value = msgspec.json.decode(line.strip().rstrip(","))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return line
    if not isinstance(value, dict):
        return line
    lists = [found for key in ("nodes", "edges") if isinstance(found := value.get(key), list)]
    cards = [card for cards in lists for card in cards if isinstance(card, dict)] if lists else [value]
    texts = [card[key] for card in cards for key in CARD_TEXTS if isinstance(card.get(key), str)]
    return " ".join(" ".join(texts).split())


def _add(counts: ConceptCounts, place: int, term: WeightedTerm) -> None:
    count = counts.get(place)
    if count is None:
        count = counts[place] = ConceptCount()
    count.forms += term.weight
    if not term.form:
        count.words += term.weight
    if not term.synonym:
        count.own = True


def find_word(separated: str, word: str) -> list[int]:
    """Returns the offsets in separated text where a word, or a run of adjacent words, occurs as a whole."""
    at = separated.find(word)
    if at < 0:
        return []
    found: list[int] = []
    size = len(word)
    while at >= 0 and len(found) < OCCURRENCES:
        end = at + size
        if not (at and _in_word(separated[at - 1])) and not _in_word(separated[end : end + 1]):
            found.append(at)
        at = separated.find(word, end)
    return found


def _in_word(char: str) -> bool:
    """Whether a character of separated text belongs to a word. All that do not are ASCII."""
    return char >= "\x80" or char.isalnum()


def _list_lines(text: str, spans: list[Span]) -> set[int]:
    """Returns the numbers of the lines of some stretches of text."""
    found: set[int] = set()
    for start, end in spans:
        first = 1 + len(LINE_END.findall(text, 0, start))
        found.update(range(first, first + 1 + len(LINE_END.findall(text, start, end))))
    return found


def _has_in_heading(section: SectionFeatures, term: WeightedTerm) -> bool:
    if "](" not in section.title:
        return True
    return bool(find_word(separate_words(_ADDRESS.sub("]", section.title)), term.word))


def _split(text: str, headings: list[_Heading]) -> list[SectionFeatures]:
    lines = text.count("\n") + 1
    if "\r" in text:
        lines += text.count("\r") - text.count("\r\n")
    sections: list[SectionFeatures] = []
    if not headings or headings[0][2] > 1:
        sections.append(SectionFeatures("", 0, 1, 0))
    for level, title, line, start, _ in headings:
        sections.append(SectionFeatures(title, level, line, start))
    for at, section in enumerate(sections):
        last = at + 1 == len(sections)
        section.end_line = lines if last else sections[at + 1].line - 1
        section.length = (len(text) if last else sections[at + 1].start) - section.start
    return sections


def join_headings(sections: list[SectionFeatures], place: int) -> str:
    """Returns the titles that lead to a section, outermost first, joined by ` > `."""
    section = sections[place]
    titles = [section.title]
    level = section.level
    for above in reversed(sections[:place]):
        if above.level and above.level < level:
            titles.append(above.title)
            level = above.level
    return " > ".join(reversed(titles))
