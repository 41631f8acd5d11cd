"""Finds the lines of a section that hold most of what a question asks for, and marks the words in them."""

from __future__ import annotations

import unicodedata
from typing import Final

from vaultbridge.index.fold import FoldedText, separate_words, stands_apart
from vaultbridge.index.query.hits import HitMatch, shorten_line
from vaultbridge.index.ranking.lookup import Concept
from vaultbridge.index.ranking.passages import Section, find_word

LINES_PER_SECTION: Final = 3
"""The most lines shown of one section."""

SHARE_OF_BEST: Final = 0.35
"""A line that tells less than this share of what the best one does is not shown."""

LINES_READ: Final = 2000
"""The most lines of one section that are looked at."""


def find_lines(concepts: list[Concept], section: Section, lines: list[str]) -> tuple[HitMatch, ...]:
    """Returns the best lines of a section in order; none when only the note's name matches."""
    held = [concepts[place] for place in section.counts]
    weights: dict[int, float] = {}
    last = min(section.end_line, section.line + LINES_READ, len(lines))
    for number in range(section.line, last + 1):
        line = lines[number - 1]
        if not line:
            continue
        separated = separate_words(line)
        weight = sum(concept.idf * _weigh(concept, separated) for concept in held)
        if weight:
            weights[number] = weight
    least = SHARE_OF_BEST * max(weights.values(), default=0.0)
    best = sorted(weights, key=lambda number: (-weights[number], number))[:LINES_PER_SECTION]
    words = [term.word for concept in held for term in concept.terms]
    return tuple(
        _mark(number, lines[number - 1], words) for number in sorted(best) if weights[number] >= least
    )


def _weigh(concept: Concept, separated: str) -> float:
    return max((term.weight for term in concept.terms if find_word(separated, term.word)), default=0.0)


def _mark(number: int, line: str, words: list[str]) -> HitMatch:
    folded = FoldedText(line)
    found: list[tuple[int, int]] = []
    for word in words:
        wanted = word.replace(" ", "")
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
    """Whether no letter of the same word comes before or after."""
    if stands_apart(folded[start]):
        return True
    return not (start and _joins(folded[start - 1])) and not (end < len(folded) and _joins(folded[end]))


def _joins(char: str) -> bool:
    if char < "\x80":
        return char.isalnum()
    return unicodedata.category(char)[0] in "LNM" and not stands_apart(char)
