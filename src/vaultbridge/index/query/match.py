"""Tests pieces of a note against a query: its lines, blocks and sections, and its properties.

Pure, except that patterns run in a separate process. For `line:`, `block:` and `section:` a note is split:
blank lines and headings separate blocks; a section goes from one heading to the next, whatever their levels,
as in the app.

In `[name:value]` a bare word may be anywhere in the value, a quoted one must be the whole value; the items of
a list are tested one by one. `<` and `>` compare numbers with numbers, dates with dates and other text with
text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

from vaultbridge.index.fold import compose, fold_text
from vaultbridge.index.query.needle import Needle
from vaultbridge.index.query.parse import (
    And,
    Anything,
    Cased,
    Compared,
    Comparison,
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
from vaultbridge.markdown.text import DATE

_BLANK_LINES: Final = re.compile(r"(?:\r\n?|\n)[ \t]*(?=\r|\n)")

_TAG: Final = re.compile(rf"#({TAG_NAME})")

Span = tuple[int, int]

_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


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
    """Returns for each text whether the query matches it. A tag must be written in the text; tests of a whole
    file never match."""
    match query:
        case Term(text):
            needle = Needle.of(text, sensitive=sensitive)
            return [needle.occurs_in(text) for text in texts]
        case RegexTerm(written):
            pattern = compile_pattern(written, ignore_case=not sensitive)
            return [bool(spans) for spans in patterns.spans(pattern, texts)]
        case Anything():
            return [bool(text.strip()) for text in texts]
        case HasTag(name):
            return [_has_tag(text, name_key(name)) for text in texts]
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
    return any(tag == key or tag.startswith(key + "/") for tag in found)


def flatten_values(value: Any) -> list[str]:
    """Returns the value as texts: one per list item, numbers and checkboxes as in YAML, none if empty."""
    if value is None or value == "":
        return []
    if isinstance(value, list):
        return [text for item in value for text in flatten_values(item)]
    if isinstance(value, dict):
        return [text for item in value.values() for text in flatten_values(item)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    return [str(value)]


def value_matches(test: Query, value: Any, patterns: PatternMatcher, *, sensitive: bool) -> bool:
    """Whether a property's value, as parsed from the note, matches the test."""
    texts = flatten_values(value)
    match test:
        case Anything():
            return True
        case IsNull():
            return not texts
        case Term(text, quoted):
            if text.lower() == "null" and not quoted and not texts:
                return True
            folded = compose if sensitive else fold_text
            wanted = folded(text)
            found = [folded(text) for text in texts]
            return wanted in found if quoted else any(wanted in text for text in found)
        case RegexTerm(written):
            pattern = compile_pattern(written, ignore_case=not sensitive)
            return any(patterns.spans(pattern, texts))
        case Compared(comparison, bound):
            return any(_compare(text, comparison, bound) for text in texts)
        case Not(part):
            return not value_matches(part, value, patterns, sensitive=sensitive)
        case And(parts):
            return all(value_matches(part, value, patterns, sensitive=sensitive) for part in parts)
        case Or(parts):
            return any(value_matches(part, value, patterns, sensitive=sensitive) for part in parts)
        case Cased(case_sensitive, part):
            return value_matches(part, value, patterns, sensitive=case_sensitive)
        case HasTag() | HasProperty() | Within():
            return False


def name_matches(test: Query, name: str, patterns: PatternMatcher) -> bool:
    """Whether a property's name matches the test; whole names are compared, ignoring case."""
    match test:
        case Term(text):
            return fold_text(text) == fold_text(name)
        case RegexTerm(written):
            return any(patterns.spans(compile_pattern(written, ignore_case=True), [name]))
        case Not(part):
            return not name_matches(part, name, patterns)
        case And(parts):
            return all(name_matches(part, name, patterns) for part in parts)
        case Or(parts):
            return any(name_matches(part, name, patterns) for part in parts)
        case _:
            return False


def _compare(text: str, comparison: Comparison, bound: str) -> bool:
    if _NUMBER.fullmatch(text) and _NUMBER.fullmatch(bound):
        return _compare_values(float(text), comparison, float(bound))
    if _NUMBER.fullmatch(text) or _NUMBER.fullmatch(bound):
        return False
    if bool(DATE.match(text)) != bool(DATE.match(bound)):
        return False
    return _compare_values(fold_text(text), comparison, fold_text(bound))


def _compare_values(left: Any, comparison: Comparison, right: Any) -> bool:
    match comparison:
        case "<":
            return bool(left < right)
        case ">":
            return bool(left > right)
        case "<=":
            return bool(left <= right)
        case ">=":
            return bool(left >= right)
