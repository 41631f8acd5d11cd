"""Cuts passages out of notes: the part of a section that says most, within a size. Pure: text in, spans out.

A passage is always part of the note exactly as written, so that a reader can quote it and an edit can find
it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from vaultbridge.index.fold import fold_text, split_words

SENTENCE_LINE: Final = 200
"""A longer line is a paragraph: a passage may begin or end at one of its sentences."""

PIECES: Final = 4_000
"""The most pieces of a section that are weighed: 200 pages of text. What follows is not looked at."""

SHINGLE: Final = 4
"""How many neighbouring words are compared to find what was said before."""

REPEATED: Final = 0.6
"""A passage says nothing new if earlier ones contain this share of its word sequences."""

_SENTENCE: Final = re.compile(r".+?(?:[.!?…]+[)\"'”’»\]]*(?=\s)|[。！？؟।]+|\Z)\s*", re.DOTALL)
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_BLANKS: Final = " \t\r\n"

Span = tuple[int, int]


def find_body(text: str, starts: Sequence[int], first: int, last: int, *, headed: bool) -> Span:
    """The span of the lines `first` to `last` without the heading that they begin with, the note's
    properties, and the blank lines around. `starts` are the offsets of all lines."""
    lines = len(starts)
    start = starts[min(first, lines) - 1] if first <= lines else len(text)
    end = starts[last] if last < lines else len(text)
    if headed:
        start = starts[first] if first < lines else len(text)
    elif first == 1:
        start = max(start, find_properties_end(text))
    return trim(text, start, max(start, end))


def find_properties_end(text: str) -> int:
    """Where the text below the properties begins."""
    if not text.startswith("---"):
        return 0
    lines = _LINE.finditer(text)
    if next(lines)[0].rstrip() != "---":
        return 0
    for line in lines:
        if line[0].rstrip() == "---":
            return line.end()
        if line.end() == len(text):
            break
    return 0


def trim(text: str, start: int, end: int) -> Span:
    """The span without blank lines before and blanks after."""
    end = start + len(text[start:end].rstrip(_BLANKS))
    blank = len(text[start:end]) - len(text[start:end].lstrip(_BLANKS))
    # The indentation of the first line belongs to it.
    line = max(text.rfind("\n", start, start + blank), text.rfind("\r", start, start + blank))
    return (line + 1 if line >= 0 else start + (blank if start + blank >= end else 0)), end


def cut_passage(text: str, span: Span, words: Mapping[str, float], max_chars: int) -> Span:
    """The stretch of at most `max_chars` characters that contains the most of the folded `words`, by weight.
    It begins at a line if possible, otherwise at a sentence, and takes in as much as fits around it."""
    start, end = span
    if end - start <= max_chars:
        return span
    pieces = _split(text, start, end, max_chars)
    held = [{word for word in words if word in folded} for folded in map(fold_text, _texts(text, pieces))]
    blanks = [not text[begin:stop].strip(_BLANKS) for begin, stop in pieces]
    first = _find_best(pieces, blanks, held, words, max_chars)
    first = _step_back(pieces, blanks, first, max_chars)
    last = first
    while last + 1 < len(pieces) and pieces[last + 1][1] - pieces[first][0] <= max_chars:
        last += 1
    while first and pieces[last][1] - pieces[first - 1][0] <= max_chars:
        first -= 1
    return trim(text, pieces[first][0], pieces[last][1])


def _texts(text: str, pieces: Iterable[Span]) -> list[str]:
    return [text[start:end] for start, end in pieces]


def _split(text: str, start: int, end: int, max_chars: int) -> list[Span]:
    """Lines, the sentences of long ones, and parts of what is still too long."""
    pieces: list[Span] = []
    for line in _LINE.finditer(text, start, end):
        if line.start() == line.end():
            continue
        parts = [line.span()]
        if line.end() - line.start() > min(SENTENCE_LINE, max_chars):
            parts = [part.span() for part in _SENTENCE.finditer(text, line.start(), line.end())]
        for first, last in parts:
            while last - first > max_chars:
                blank = text.rfind(" ", first + 1, first + max_chars)
                stop = blank + 1 if blank > first else first + max_chars
                pieces.append((first, stop))
                first = stop
            pieces.append((first, last))
        if len(pieces) >= PIECES:
            break
    return pieces


def _find_best(
    pieces: list[Span], blanks: list[bool], held: list[set[str]], words: Mapping[str, float], max_chars: int
) -> int:
    """The first piece with a word in the best stretch that fits; if no piece has a word, the first that is
    not blank."""
    counts: dict[str, int] = {}
    best, score = next((place for place, blank in enumerate(blanks) if not blank), 0), 0.0
    first = 0
    now = 0.0
    for last, (_, end) in enumerate(pieces):
        for word in held[last]:
            counts[word] = counts.get(word, 0) + 1
            now += words[word] if counts[word] == 1 else 0.0
        while end - pieces[first][0] > max_chars:
            for word in held[first]:
                counts[word] -= 1
                now -= words[word] if not counts[word] else 0.0
            first += 1
        if now > score + 1e-9:
            best = next(place for place in range(first, last + 1) if held[place])
            score = now
    return best


def _step_back(pieces: list[Span], blanks: list[bool], first: int, max_chars: int) -> int:
    """Moves the start to the beginning of the paragraph, if that takes no more than a third of the room."""
    found = pieces[first][0]
    while first and found - pieces[first - 1][0] <= max_chars // 3:
        if blanks[first - 1]:
            break
        first -= 1
    return first


def share_room(needs: Sequence[int], weights: Sequence[float], room: int) -> list[int]:
    """How much of `room` each one gets: never more than it needs. What the short ones leave goes to the
    others, by weight."""
    if sum(needs) <= room:
        return list(needs)
    shares = [0] * len(needs)
    waiting = list(range(len(needs)))
    while waiting:
        total = sum(weights[place] for place in waiting)
        fitting = [place for place in waiting if needs[place] <= room * weights[place] / total]
        if not fitting:
            for place in waiting:
                shares[place] = int(room * weights[place] / total)
            break
        for place in fitting:
            shares[place] = needs[place]
        room -= sum(needs[place] for place in fitting)
        waiting = [place for place in waiting if place not in fitting]
    return shares


class EarlierPassages:
    """The word sequences of earlier passages, to recognize a passage that says hardly anything new. Works in
    every script: words are those of the index."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, ...]] = set()

    def repeats(self, text: str) -> bool:
        """Whether earlier passages contain most of this one; if not, it is added to them."""
        words = split_words(text)
        size = min(SHINGLE, len(words))
        if not size:
            return True
        sequences = {tuple(words[at : at + size]) for at in range(len(words) - size + 1)}
        if len(sequences & self._seen) >= REPEATED * len(sequences):
            return True
        self._seen |= sequences
        return False


def line_of(starts: Sequence[int], offset: int) -> int:
    """The line, from 1, that contains an offset."""
    return bisect_right(starts, offset)
