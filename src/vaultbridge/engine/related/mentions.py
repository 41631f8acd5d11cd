"""Finds where a text mentions a note by its name or an alias without linking it, in every script. No I/O.

A mention begins and ends where a word does. In a script without spaces each character counts as a word, as it
does in the index. Of names that overlap, the longest counts. Text in properties, headings, links, tags,
comments and addresses is not a mention. Whether the rest is text or code is decided by the parser: it reads
the note with every mention turned into a link, and finds only those that are not in code.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from vaultbridge.index.fold import stands_apart
from vaultbridge.links.resolve import name_key
from vaultbridge.links.syntax import fits_wiki
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.text import Positions

NAME_UNITS: Final = 16
"""The longest name that is looked for, in words: sixteen Chinese characters are a long title too."""

NAME_CHARS: Final = 120
"""The longest name that is looked for, in characters."""

TEXT_UNITS: Final = 20_000
"""How many words of a text are looked at: 100 KB, or 20,000 Chinese characters."""

TEXT_CHARS: Final = 400_000
"""How many characters of a text are looked at, in case it has no spaces: twenty for each word."""

MENTIONS_EACH: Final = 8
"""How many mentions of one note are kept: one is enough to link it, some may not be linkable."""

_SEPARATOR, _LETTER, _APART, _MARK = range(4)

_COMMENT: Final = re.compile(r"%%.*?(?:%%|\Z)", re.DOTALL)
_ADDRESS: Final = re.compile(
    r"[a-z][a-z0-9+.-]{1,20}://[^\s<>\"]+|\bwww\.[^\s<>\"]+|[^\s<>\"@]{1,64}@[^\s<>\"@]+\.[a-z]{2,}",
    re.IGNORECASE,
)
_FOOTNOTE: Final = re.compile(r"\[\^[^\[\]\s]+\]")
_EXTERNAL: Final = re.compile(
    r"!?\[(?:[^\[\]\r\n]|\[[^\[\]\r\n]*\]){0,500}\](?:\([^()\r\n]{0,2000}(?:\([^()\r\n]*\)[^()\r\n]*)*\)|\[[^\]\r\n]*\])"
    r"|^[ ]{0,3}\[[^\]\r\n]+\]:[^\r\n]*",
    re.MULTILINE,
)
"""A Markdown link with its text, whatever it leads to, or the definition of one."""

Lookup = Callable[[str], Sequence[str]]
"""The paths of the notes that have a name or alias with this key (`links.resolve.name_key`)."""


class UnlinkedMention(Struct, frozen=True):
    start: int
    end: int
    line: int


class _Kinds(dict[str, int]):
    """What each character is; filled on first use, bounded by Unicode itself."""

    def __missing__(self, char: str) -> int:
        category = unicodedata.category(char)
        if "\u1160" <= char <= "\u11ff":
            # A vowel or final consonant of a Hangul syllable in its decomposed form.
            kind = _MARK
        elif stands_apart(char):
            kind = _APART
        elif category[0] == "M" or char in "\u200c\u200d":
            kind = _MARK
        else:
            kind = _LETTER if category[0] in "LN" or category == "Co" else _SEPARATOR
        self[char] = kind
        return kind


_KINDS: Final = _Kinds()


_LINE: Final = re.compile(r"[^\r\n]+")
_ASCII_WORD: Final = re.compile(r"[A-Za-z0-9]+")


def split_units(text: str) -> list[list[tuple[int, int]]]:
    """Return the words of each line that has any, as offsets: runs of letters, and single characters of
    scripts without spaces, with the marks that belong to them."""
    lines = (_split_line(text, *match.span()) for match in _LINE.finditer(text))
    return [line for line in lines if line]


def _split_line(text: str, floor: int, ceiling: int) -> list[tuple[int, int]]:
    row = text[floor:ceiling]
    if row.isascii():
        return [match.span() for match in _ASCII_WORD.finditer(text, floor, ceiling)]
    line: list[tuple[int, int]] = []
    begun = -1
    for at, char in enumerate(row, floor):
        kind = _KINDS[char]
        if kind == _LETTER:
            if begun < 0:
                begun = at
            continue
        if kind == _MARK:
            if begun < 0 and line and line[-1][1] == at:
                line[-1] = (line[-1][0], at + 1)
            elif begun < 0:
                begun = at
            continue
        if begun >= 0:
            line.append((begun, at))
            begun = -1
        if kind == _APART:
            line.append((at, at + 1))
    if begun >= 0:
        line.append((begun, ceiling))
    return line


BEGINNING: Final = 3
"""By how many of its first characters a name is recognized: at nearly all words of a text no name begins, and
then none is looked up."""


class Beginnings:
    """How names begin, to look up no others. `keys` are those of all names."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._longest: dict[str, int] = {}
        for key in keys:
            beginning = key[:BEGINNING]
            if len(key) > self._longest.get(beginning, 0):
                self._longest[beginning] = len(key)

    def measure(self, text: str, at: int) -> int:
        """The length of the longest name that may begin here; 0 if none does."""
        longest = self._longest.get(text[at : at + BEGINNING], 0)
        if longest:
            return longest
        # A name may be shorter than what others are recognized by.
        return max(size if text[at : at + size] in self._longest else 0 for size in range(1, BEGINNING))


def find_mentions(
    text: str,
    note: Note,
    lookup: Lookup,
    *,
    beginnings: Beginnings | None = None,
    only: Collection[str] = (),
) -> dict[str, list[UnlinkedMention]]:
    """Return the mentions of each note, in the order of the text. A name that several notes have mentions
    none of them. `beginnings` are those of the names that `lookup` knows. Only lines that contain one of the
    keys in `only` are looked at; all, if it is empty."""
    text = text[:TEXT_CHARS]
    positions = Positions(text)
    found: list[tuple[str, UnlinkedMention]] = []
    lines: list[tuple[int, int]] = []
    looked = 0
    for match in _LINE.finditer(text):
        if only:
            row = name_key(match[0])
            if not any(key in row for key in only):
                continue
        units = _split_line(text, *match.span())
        if not units:
            continue
        looked += len(units)
        if looked > TEXT_UNITS:
            break
        places = [*_MentionLine(text, *match.span(), units).find(lookup, beginnings)]
        if places:
            number = positions.line_of(match.start())
            found += [(path, UnlinkedMention(start, end, number)) for path, start, end in places]
            lines.append(match.span())
    if not found:
        return {}
    blocked = _Blocked(text, note, lines)
    free = [
        (path, mention) for path, mention in found if path and not blocked.touches(mention.start, mention.end)
    ]
    good = set(_keep_linkable(text, [mention for _, mention in free]))
    mentions: dict[str, list[UnlinkedMention]] = {}
    for path, mention in free:
        if mention in good and len(kept := mentions.setdefault(path, [])) < MENTIONS_EACH:
            kept.append(mention)
    return {path: kept for path, kept in mentions.items() if kept}


class _MentionLine:
    """One line, its words, and where a name may begin and end: at a word, or at the signs right before and
    after it, as in `C++` or `@home`."""

    __slots__ = ("_base", "_exact", "_key", "_text", "_units")

    def __init__(self, text: str, floor: int, ceiling: int, units: list[tuple[int, int]]) -> None:
        self._base = floor
        self._text = text[floor:ceiling]
        self._units = [(start - floor, end - floor) for start, end in units]
        self._key = name_key(self._text)
        # Whether the key of a part of the line is that part of the line's key. How a sigma is lowered depends
        # on what follows it.
        self._exact = len(self._key) == len(self._text) and (
            self._text.isascii() or ("Σ" not in self._text and unicodedata.is_normalized("NFC", self._text))
        )

    def _list_starts(self, number: int) -> tuple[int, ...]:
        start = first = self._units[number][0]
        before = self._units[number - 1][1] if number else 0
        while first > before and not self._text[first - 1].isspace():
            first -= 1
        return (start,) if first == start else (first, start)

    def _list_ends(self, number: int) -> tuple[int, ...]:
        end = last = self._units[number][1]
        after = self._units[number + 1][0] if number + 1 < len(self._units) else len(self._text)
        while last < after and not self._text[last].isspace():
            last += 1
        return (end,) if last == end else (last, end)

    def find(self, lookup: Lookup, beginnings: Beginnings | None) -> Iterator[tuple[str, int, int]]:
        """Yield (path, start, end) of the longest names from left to right; an empty path for a name that
        several notes have, which hides the shorter names in it."""
        at = 0
        while at < len(self._units):
            step = 1
            starts = self._measure(self._list_starts(at), beginnings)
            if starts:
                reach = max(start + longest for start, longest in starts)
                for last in range(min(at + NAME_UNITS, len(self._units)) - 1, at - 1, -1):
                    if self._units[last][1] > reach:
                        continue
                    found = self._look_up(starts, last, lookup)
                    if found is not None:
                        yield found
                        step = last - at + 1
                        break
            at += step

    def _measure(self, starts: tuple[int, ...], beginnings: Beginnings | None) -> list[tuple[int, int]]:
        """Where a name may begin, and how long it may be there."""
        if beginnings is None or not self._exact:
            return [(start, NAME_CHARS) for start in starts]
        measured = []
        for start in starts:
            if longest := beginnings.measure(self._key, start):
                measured.append((start, min(NAME_CHARS, longest)))
        return measured

    def _look_up(
        self, starts: list[tuple[int, int]], last: int, lookup: Lookup
    ) -> tuple[str, int, int] | None:
        for start, longest in starts:
            for end in self._list_ends(last):
                if end - start > longest:
                    continue
                paths = lookup(self._key[start:end] if self._exact else name_key(self._text[start:end]))
                if paths:
                    return (paths[0] if len(paths) == 1 else ""), self._base + start, self._base + end
        return None


def _keep_linkable(text: str, mentions: Collection[UnlinkedMention]) -> list[UnlinkedMention]:
    """The mentions that would be links if they were written as such: the parser knows what is code."""
    ordered = sorted(mentions, key=lambda mention: mention.start)
    ordered = [mention for mention in ordered if fits_wiki(text[mention.start : mention.end])]
    if not ordered:
        return []
    pieces: list[str] = []
    done = 0
    for mention in ordered:
        pieces += [text[done : mention.start], "[[", text[mention.start : mention.end], "]]"]
        done = mention.end
    linked = parse("".join([*pieces, text[done:]]))
    starts = {link.start for link in linked.links if link.kind == "wiki" and not link.embed}
    return [mention for number, mention in enumerate(ordered) if mention.start + 4 * number in starts]


class _Blocked:
    """The spans of a note in which nothing is a mention. Those that end with their line are sought only in
    `lines`."""

    def __init__(self, text: str, note: Note, lines: Iterable[tuple[int, int]]) -> None:
        self._text = text
        spans = [(link.start, link.end) for link in note.links]
        spans += [(heading.start, heading.end) for heading in note.headings]
        spans += [(tag.start, tag.end) for tag in note.tags]
        spans += [(block.id_start, block.id_start + len(block.id) + 1) for block in note.blocks]
        if note.properties is not None:
            spans.append((note.properties.start, note.properties.end))
        spans += [match.span() for match in _COMMENT.finditer(text)]
        for floor, ceiling in lines:
            for pattern in (_ADDRESS, _FOOTNOTE, _EXTERNAL):
                spans += [match.span() for match in pattern.finditer(text, floor, ceiling)]
        spans.sort()
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in spans:
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._starts.append(start)
                self._ends.append(end)

    def touches(self, start: int, end: int) -> bool:
        """Whether a span overlaps a blocked one or touches a bracket, where another bracket would change the
        meaning of both."""
        if self._text[start - 1 : start] in ("[", "!", "\\") or self._text[end : end + 1] in ("]", "("):
            return True
        at = bisect_right(self._starts, end - 1) - 1
        return at >= 0 and self._ends[at] > start
