"""Reads the notes that a lookup chose, and ranks them and their sections by what the texts say.

The second of two stages. A text is searched in the form that the word table has (`fold.separate_words`), so
that a word is found as a whole word in every script."""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from typing import Final

import msgspec
from msgspec import Struct

from vaultbridge.index.fold import WORD, separate_words
from vaultbridge.index.ranking.lookup import Concept
from vaultbridge.links.resolve import file_name

OCCURRENCES: Final = 64
"""How often one word is counted in one note: more changes no rank."""

_LINE_START: Final = re.compile(r"\r\n?|\n")

_decode_heads = msgspec.msgpack.Decoder(
    tuple[msgspec.Raw, list[str], list[tuple[int, str, int, int, int]], list[tuple[str, int, int, int, bool]]]
)


class Section(Struct):
    """A piece of a note from one heading to the next; before the first heading `title` is empty. `line` and
    `end_line` are its first and last line, `start` its first character in separated text. `counts` holds by
    concept how often it occurs here, weighted."""

    title: str
    level: int
    line: int
    start: int
    end_line: int = 0
    length: int = 0
    counts: dict[int, float] = {}


class ReadNote(Struct):
    """What ranking needs of one note. `fields` holds by concept its weighted count in the name, aliases,
    headings and tags; `body` the count in the whole text."""

    id: int
    text: str
    length: int
    sections: list[Section]
    fields: dict[int, dict[str, float]]
    body: dict[int, float]


def read_candidate(db: sqlite3.Connection, id_: int, path: str, concepts: list[Concept]) -> ReadNote:
    row = db.execute(
        "SELECT notes.note, texts.text FROM notes LEFT JOIN texts USING (id) WHERE notes.id = ?", (id_,)
    ).fetchone()
    blob, text = row if row is not None else (None, None)
    text = text or ""
    aliases: list[str] = []
    headings: list[tuple[int, str, int, int, int]] = []
    tags: list[str] = []
    if blob is not None:
        aliases, headings, tags = _decode(blob)
    separated = separate_words(text)
    sections = _split(text, separated, headings)
    body: dict[int, float] = {}
    starts = [section.start for section in sections]
    for place, concept in enumerate(concepts):
        for term in concept.terms:
            for at in find_word(separated, term.word):
                body[place] = body.get(place, 0.0) + term.weight
                counts = sections[bisect_right(starts, at) - 1].counts
                counts[place] = counts.get(place, 0.0) + term.weight
    folder, _, _ = path.rpartition("/")
    name = file_name(path).removesuffix(".md")
    pieces = {
        "name": name,
        "folder": folder,
        "aliases": "\n".join(aliases),
        "headings": "\n".join(heading[1] for heading in headings),
        "tags": "\n".join(tags),
    }
    fields: dict[int, dict[str, float]] = {}
    for field, written in pieces.items():
        if written:
            _count_in_field(fields, field, separate_words(written), concepts)
    return ReadNote(id_, text, len(text), sections, fields, body)


def _decode(blob: bytes) -> tuple[list[str], list[tuple[int, str, int, int, int]], list[str]]:
    values = msgspec.msgpack.decode(blob)
    return values[1], values[2], [tag[0] for tag in values[3]]


def _count_in_field(
    fields: dict[int, dict[str, float]], field: str, separated: str, concepts: list[Concept]
) -> None:
    for place, concept in enumerate(concepts):
        count = sum(term.weight * len(find_word(separated, term.word)) for term in concept.terms)
        if count:
            fields.setdefault(place, {})[field] = count


def find_word(separated: str, word: str) -> list[int]:
    """Returns where a word, or a run of neighbouring ones, stands whole in separated text."""
    found: list[int] = []
    at = separated.find(word)
    size = len(word)
    while at >= 0 and len(found) < OCCURRENCES:
        end = at + size
        if not (at and _in_word(separated[at - 1])) and not _in_word(separated[end : end + 1]):
            found.append(at)
        at = separated.find(word, end)
    return found


def _in_word(char: str) -> bool:
    return WORD.match(char) is not None


def _split(text: str, separated: str, headings: list[tuple[int, str, int, int, int]]) -> list[Section]:
    ends = [match.end() for match in _LINE_START.finditer(separated)]
    lines = len(ends) + 1
    sections: list[Section] = []
    if not headings or headings[0][2] > 1:
        sections.append(Section("", 0, 1, 0, counts={}))
    for level, title, line, *_ in headings:
        start = ends[line - 2] if 1 < line <= lines else 0
        sections.append(Section(title, level, line, start, counts={}))
    for section, following in zip(sections, [*sections[1:], None], strict=True):
        section.end_line = following.line - 1 if following is not None else lines
        section.length = (following.start if following is not None else len(separated)) - section.start
    return sections


def heading_path(sections: list[Section], place: int) -> str:
    """Returns the titles that lead to a section, outermost first, joined by ` > `."""
    section = sections[place]
    titles = [section.title]
    level = section.level
    for above in reversed(sections[:place]):
        if above.level and above.level < level:
            titles.append(above.title)
            level = above.level
    return " > ".join(reversed(titles))
