"""Splits a note for `line:`, `block:` and `section:`, and evaluates a query on such pieces.

Pure except for patterns, which run in a separate process. Blank lines and headings separate blocks; a section
goes from one heading to the next, whatever their levels, as in the app."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from vaultbridge.index.query.needle import Needle
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
from vaultbridge.index.query.regex import PatternMatcher, compile_pattern
from vaultbridge.links.resolve import name_key
from vaultbridge.markdown.inline.scan import TAG_NAME
from vaultbridge.markdown.model import Note

_LINE_END: Final = re.compile(r"\r\n?|\n")
_BLANK_LINES: Final = re.compile(r"(?:\r\n?|\n)[ \t]*(?=\r|\n)")

_TAG: Final = re.compile(rf"#({TAG_NAME})")

Span = tuple[int, int]


def split_lines(text: str) -> list[str]:
    """Returns the lines of a text without their line ends; line numbers start at 1."""
    return _LINE_END.split(text)


def split_blocks(text: str, note: Note) -> list[str]:
    return [text[start:end] for start, end in find_block_spans(text, note)]


def split_sections(text: str, note: Note) -> list[str]:
    return [text[start:end] for start, end in find_section_spans(text, note)]


def find_block_spans(text: str, note: Note) -> list[Span]:
    edges = {0, len(text), *(match.start() for match in _BLANK_LINES.finditer(text))}
    for heading in note.headings:
        edges |= {heading.start, heading.end}
    return _pieces(text, edges)


def find_section_spans(text: str, note: Note) -> list[Span]:
    return _pieces(text, {0, len(text), *(heading.start for heading in note.headings)})


def _pieces(text: str, edges: set[int]) -> list[Span]:
    return [(start, end) for start, end in pairwise(sorted(edges)) if text[start:end].strip()]


def match_texts(
    query: Query, texts: Sequence[str], patterns: PatternMatcher, *, sensitive: bool
) -> list[bool]:
    """Says for each text whether the query matches it. A tag must be written in the text; tests on a whole
    file never match."""
    match query:
        case Term(text):
            needle = Needle.of(text, sensitive=sensitive)
            return [needle.occurs_in(one) for one in texts]
        case RegexTerm(written):
            pattern = compile_pattern(written, ignore_case=not sensitive)
            return [bool(spans) for spans in patterns.spans(pattern, texts)]
        case Anything():
            return [bool(one.strip()) for one in texts]
        case HasTag(name):
            return [_has_tag(one, name_key(name)) for one in texts]
        case Not(part):
            return [not held for held in match_texts(part, texts, patterns, sensitive=sensitive)]
        case And(parts):
            each = [match_texts(part, texts, patterns, sensitive=sensitive) for part in parts]
            return [all(held) for held in zip(*each, strict=True)]
        case Or(parts):
            each = [match_texts(part, texts, patterns, sensitive=sensitive) for part in parts]
            return [any(held) for held in zip(*each, strict=True)]
        case Cased(case_sensitive, part):
            return match_texts(part, texts, patterns, sensitive=case_sensitive)
        case Within(place, part) if place in ("content", "line", "block", "section"):
            return match_texts(part, texts, patterns, sensitive=sensitive)
        case Within() | HasProperty() | Compared() | IsNull():
            return [False] * len(texts)


def _has_tag(text: str, key: str) -> bool:
    """Whether a tag with this key, or one nested under it, is written in the text."""
    found = (name_key(tag[1]) for tag in _TAG.finditer(text))
    return any(one == key or one.startswith(key + "/") for one in found)
