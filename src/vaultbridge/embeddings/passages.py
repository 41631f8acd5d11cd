"""Cuts a note into the passages that are embedded: a section, or a part of a long one. Pure: no I/O.

A passage begins with the note's title and the headings above it, because most sections do not repeat what
they are about. Properties are left out. A text without a letter or digit is not a passage: an endpoint
refuses an empty text, and a line of dashes is similar to everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from vaultbridge.markdown.edits.change import end_of_line
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.sections import outline
from vaultbridge.markdown.text import Positions

VERSION: Final = 1
"""Raise it when notes are cut or written differently: stored vectors are then made again."""

PASSAGE_CHARS: Final = 1600
"""The length of a passage, about 400 tokens: small models read 512, and a longer passage has more than one
subject."""

SMALL_CHARS: Final = 200
"""A section shorter than this is joined with the next one, because by itself it says little."""

NOTE_PASSAGES: Final = 64
"""The most passages of one note, so that a book in one file does not take as much as the rest of the
vault."""


class EmbeddedPassage(Struct, frozen=True):
    """`text` is what is embedded, without a prompt; `line` is where it begins, counted from 1."""

    line: int
    text: str

    @property
    def hash(self) -> bytes:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).digest()[:16]


def cut_passages(text: str, note: Note, title: str) -> tuple[EmbeddedPassage, ...]:
    """Cut a note's text, which `note` is parsed from."""
    positions = Positions(text)
    found: list[EmbeddedPassage] = []
    for start, end, path in _join_small(text, note):
        head = " > ".join(dict.fromkeys((title, *path)))
        for first, last in _cut(text, start, end):
            body = text[first:last].strip()
            if not is_wordless(body):
                at = first + len(text[first:last]) - len(text[first:last].lstrip())
                found.append(EmbeddedPassage(positions.line_of(at), f"{head}\n\n{body}"))
                if len(found) == NOTE_PASSAGES:
                    return tuple(found)
    return tuple(found)


def is_wordless(text: str) -> bool:
    """Whether a text contains no letter and no digit."""
    return not any(character.isalnum() for character in text)


def _join_small(text: str, note: Note) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield the spans between headings, each with its heading path; small neighbours are joined."""
    start = note.properties.end if note.properties is not None else 0
    path: tuple[str, ...] = ()
    begun = start
    for section in outline(note, text):
        if section.start - begun >= SMALL_CHARS or is_wordless(text[begun : section.start]):
            yield begun, section.start, path
            begun, path = section.start, section.path
        elif not path:
            path = section.path[:-1]
    yield begun, len(text), path


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a long span at a blank line, else at a line end, else anywhere."""
    while end - start > PASSAGE_CHARS:
        limit = start + PASSAGE_CHARS
        at = text.rfind("\n\n", start + PASSAGE_CHARS // 2, limit)
        if at < 0:
            at = text.rfind("\n", start + PASSAGE_CHARS // 2, limit)
        if at < 0:
            line = end_of_line(text, start)
            blank = text.rfind(" ", start + PASSAGE_CHARS // 2, limit)
            at = line if start < line < limit else blank if blank > 0 else limit
        yield start, at
        start = at
    yield start, end
