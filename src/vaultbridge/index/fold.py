"""The form in which text is compared in a search, for every script.

Two forms are made here, and one rule ties them together. `plain` is the text with case, accents, width and
invisible characters folded away: a search for `resume` and one for `résumé` find the same. `spaced` is
`plain` as the full-text table gets it: characters of scripts that write no spaces (Chinese, Japanese, Thai,
…), Hangul syllables and symbols such as emoji stand apart as words of one character, other words stay whole,
and whatever separates words is a blank. The rule: a string without separators that occurs in `plain` lies
within one word of `spaced`, or is a run of neighbouring ones. So the word table can answer what `plain` asks.

Measured on 10,000 notes of 3 KB: SQLite's trigram tokenizer makes an index of 114 MB in 6.4 s against 20 MB
in 0.6 s for this, is twice as slow to ask, and cannot find a word of two characters at all. `unicode61` would
break Hindi words at their vowel signs and leave Chinese and Thai sentences whole; folding here and letting
SQLite's plain `ascii` tokenizer cut at the blanks leaves the rule with one owner.
Pure: no I/O.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Final

WORD: Final = re.compile(r"[0-9a-z\x80-\U0010ffff]+")
"""A word of `spaced` text: just what SQLite's `ascii` tokenizer takes for one."""

_NON_ASCII: Final = re.compile(r"[^\x00-\x7f]+")

_ASCII_STRETCH: Final = re.compile(r"[\x00-\x7f]+(?![^\x00-\x7f])")
"""Without the last character before another one, with which that may compose."""

_RUN_CACHE: Final = 8192
"""Runs of non-ASCII characters kept folded. In most notes they are a few letters and dashes that recur."""

_RUN_CACHE_CHARS: Final = 12
"""Longer runs (whole Chinese sentences) hardly recur and would only fill the cache."""

_FOLDED_MARKS: Final = (
    (0x0300, 0x036F), (0x0483, 0x0489), (0x0591, 0x05BD), (0x05BF, 0x05BF), (0x05C1, 0x05C2),
    (0x05C4, 0x05C5), (0x0610, 0x061A), (0x064B, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06DC),
    (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F),
    (0xE0100, 0xE01EF),
)  # fmt: skip
"""Marks a reader may leave out: accents of alphabets, Hebrew and Arabic vowel points, variation selectors.
Vowel signs of Indic and Thai scripts are letters to a reader and stay."""

_APART: Final = (
    (0x0E00, 0x0EFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF),
    (0x1950, 0x19FF), (0x1A20, 0x1AAF), (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x302F),
    (0x3031, 0x3035), (0x3038, 0x303C), (0x3040, 0x30FA), (0x30FC, 0x31FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xA000, 0xA4CF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F), (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF), (0x1B000, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
"""Scripts written without spaces between words, and Hangul, whose words carry endings."""

_APART_STARTS: Final = [start for start, _ in _APART]
_MARK_STARTS: Final = [start for start, _ in _FOLDED_MARKS]


def _within(code: int, starts: list[int], ranges: tuple[tuple[int, int], ...]) -> bool:
    place = bisect_right(starts, code) - 1
    return place >= 0 and code <= ranges[place][1]


def stands_apart(char: str) -> bool:
    """Whether a character of `plain` text is a word by itself in `spaced` text."""
    if char < "\x80":
        return False
    if _within(ord(char), _APART_STARTS, _APART):
        return unicodedata.category(char)[0] in "LNMS"
    return unicodedata.category(char) == "So"


class _Plain(dict[int, str]):
    """Code point to its folded form, filled as characters are met: Unicode is its bound."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if _within(code, _APART_STARTS, _APART):
            folded = char
        else:
            parts = unicodedata.normalize("NFD", char)
            folded = "".join(part for part in parts if not _within(ord(part), _MARK_STARTS, _FOLDED_MARKS))
            if unicodedata.category(char) == "Cf":
                folded = ""
        self[code] = folded
        return folded


class _Spaced(dict[int, str]):
    """Code point of `plain` text to what the full-text table gets."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if code < 0x80:
            spaced = char
        elif stands_apart(char):
            spaced = f" {char} "
        else:
            category = unicodedata.category(char)
            spaced = char if category[0] in "LNM" or category == "Co" else " "
        self[code] = spaced
        return spaced


_PLAIN: Final = _Plain()
_SPACED: Final = _Spaced()


def _fold_run(run: str) -> str:
    return unicodedata.normalize("NFKC", run).casefold().translate(_PLAIN)


_fold_short = lru_cache(_RUN_CACHE)(_fold_run)


@lru_cache(_RUN_CACHE)
def _space_short(run: str) -> str:
    return _fold_run(run).translate(_SPACED)


def _plain_run(match: re.Match[str]) -> str:
    run = match[0]
    return _fold_short(run) if len(run) <= _RUN_CACHE_CHARS else _fold_run(run)


def _spaced_run(match: re.Match[str]) -> str:
    run = match[0]
    return _space_short(run) if len(run) <= _RUN_CACHE_CHARS else _fold_run(run).translate(_SPACED)


def plain(text: str) -> str:
    """The text as searches compare it. It may be shorter or longer than the text: see `FoldedText`."""
    if text.isascii():
        return text.lower()
    return _NON_ASCII.sub(_plain_run, text).lower()


def spaced(text: str) -> str:
    """The text as the full-text table gets it, from the text as written."""
    if text.isascii():
        return text.lower()
    return _NON_ASCII.sub(_spaced_run, text).lower()


def words(text: str) -> list[str]:
    """The words of `text` (as written) in the full-text table, in order."""
    return WORD.findall(spaced(text))


def _composes(piece: str, char: str) -> bool:
    """Whether NFKC must see both at once. Marks are, and so are vowel signs, parts of Hangul syllables and
    the voicing of halfwidth kana, which Unicode does not count as combining."""
    if unicodedata.combining(char):
        return True
    if unicodedata.category(char)[0] not in "LM":
        return False
    apart = unicodedata.normalize("NFKC", piece) + unicodedata.normalize("NFKC", char)
    return unicodedata.normalize("NFKC", piece + char) != apart


def composed(text: str) -> str:
    """The text with its case and accents, in the one form that files of every system are compared in."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


class FoldedText:
    """A text with its `plain` form, or the form that `fold` gives it, and the way back from offsets in that
    form.

    Made for the lines that are shown, not for whole vaults: what is not ASCII is folded one by one."""

    __slots__ = ("_starts", "plain", "text")

    def __init__(self, text: str, fold: Callable[[str], str] = plain) -> None:
        self.text = text
        self._starts: list[int] | None = None
        if text.isascii():
            self.plain = fold(text)
            return
        pieces: list[str] = []
        starts: list[int] = []
        at = 0
        while at < len(text):
            if plainly := _ASCII_STRETCH.match(text, at):
                # In one go: every form has as many characters here as the text.
                end = plainly.end()
                pieces.append(fold(plainly[0]))
                starts.extend(range(at, end))
                at = end
                continue
            end = at + 1
            while end < len(text) and text[end] >= "\x80" and _composes(text[at:end], text[end]):
                end += 1
            piece = fold(text[at:end])
            pieces.append(piece)
            starts.extend([at] * len(piece))
            at = end
        self.plain = "".join(pieces)
        self._starts = [*starts, len(text)]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span of the text that the non-empty span of `plain` came from."""
        if self._starts is None:
            return start, end
        first = self._starts[start]
        last = self._starts[end - 1]
        # All of the last character, with the marks that were folded away from behind it.
        after = bisect_right(self._starts, last)
        return first, self._starts[after] if after < len(self._starts) else len(self.text)
