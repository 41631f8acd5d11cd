"""Folds text into the two forms that a search compares, for every script. Pure: no I/O.

`fold_text` removes case, accents, width and invisible characters, so that `resume` and `résumé` find the same
notes. `separate_words` gives the folded text in the form the full-text table indexes: each character of a
script without spaces (Chinese, Japanese, Thai, …), each Hangul syllable and each symbol such as an emoji
becomes a separate word, other words stay whole, and every separator becomes a blank.

One rule ties the two together: a string without separators that occurs in the folded text is within one
word of the separated text, or is a run of neighbouring words. So the word table can answer substring
searches.

Measured on 10,000 notes of 3 KB: SQLite's trigram tokenizer builds an index of 114 MB in 6.4 s, against 20 MB
in 0.6 s for this; it answers half as fast and cannot find a word of two characters at all. `unicode61` would
split Hindi words at their vowel signs and leave Chinese and Thai sentences whole. Folding here and letting
SQLite's plain `ascii` tokenizer split at the blanks keeps the rule in one place.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Final

WORD: Final = re.compile(r"[0-9a-z\x80-\U0010ffff]+")
"""A word of separated text: exactly what SQLite's `ascii` tokenizer takes for a word."""

LAST: Final = "\U0010ffff"
"""Appended to the beginning of words, it sorts after all of them."""

_NON_ASCII: Final = re.compile(r"[^\x00-\x7f]+")

_ASCII_STRETCH: Final = re.compile(r"[\x00-\x7f]+(?![^\x00-\x7f])")
"""Leaves out the last character before a non-ASCII one, because the two may compose."""

_RUN_CACHE: Final = 8192
"""Folded runs of non-ASCII characters in the cache. Most notes repeat a few letters and dashes."""

_RUN_CACHE_CHARS: Final = 12
"""Longer runs (whole Chinese sentences) hardly ever repeat and would only fill the cache."""

_FOLDED_MARKS: Final = (
    (0x0300, 0x036F), (0x0483, 0x0489), (0x0591, 0x05BD), (0x05BF, 0x05BF), (0x05C1, 0x05C2),
    (0x05C4, 0x05C5), (0x0610, 0x061A), (0x064B, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06DC),
    (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F),
    (0xE0100, 0xE01EF),
)  # fmt: skip
"""Marks that people leave out when they type: accents, Hebrew and Arabic vowel points, variation selectors.
The vowel signs of Indic scripts and Thai count as letters and stay."""

_APART: Final = (
    (0x0E00, 0x0EFF), (0x0F00, 0x0FFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1780, 0x17FF),
    (0x1950, 0x19FF), (0x1A20, 0x1AAF), (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3021, 0x302F),
    (0x3031, 0x3035), (0x3038, 0x303C), (0x3040, 0x30FA), (0x30FC, 0x31FF), (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF), (0xA000, 0xA4CF), (0xA9E0, 0xA9FF), (0xAA60, 0xAA7F), (0xAC00, 0xD7FF),
    (0xF900, 0xFAFF), (0x1B000, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
"""Scripts written without spaces between words, and Hangul, whose words take endings."""

_APART_STARTS: Final = [start for start, _ in _APART]
_MARK_STARTS: Final = [start for start, _ in _FOLDED_MARKS]


def _within(code: int, starts: list[int], ranges: tuple[tuple[int, int], ...]) -> bool:
    place = bisect_right(starts, code) - 1
    return place >= 0 and code <= ranges[place][1]


def stands_apart(char: str) -> bool:
    """Whether a character of folded text becomes a separate word in separated text."""
    if char < "\x80":
        return False
    if _within(ord(char), _APART_STARTS, _APART):
        return unicodedata.category(char)[0] in "LNMS"
    return unicodedata.category(char) == "So"


_DOTLESS: Final = "ı"
"""Its capital is I, whose small letter is i: without regard to case all three are the same letter."""


class _FoldTable(dict[int, str]):
    """Maps a code point to its folded form; filled on first use, bounded by Unicode itself."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if _within(code, _APART_STARTS, _APART):
            folded = char
        else:
            parts = unicodedata.normalize("NFD", char)
            folded = "".join(part for part in parts if not _within(ord(part), _MARK_STARTS, _FOLDED_MARKS))
            if unicodedata.category(char) == "Cf":
                folded = ""
            elif char == _DOTLESS:
                folded = "i"
        self[code] = folded
        return folded


class _SeparationTable(dict[int, str]):
    """Maps a code point of folded text to its separated form."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if code < 0x80:
            separated = char
        elif stands_apart(char):
            separated = f" {char} "
        else:
            category = unicodedata.category(char)
            separated = char if category[0] in "LNM" or category == "Co" else " "
        self[code] = separated
        return separated


NEIGHBOURS: Final = "  "
"""What is between two words of separated text that have nothing between them in the text."""

_FOLDED: Final = _FoldTable()
_SEPARATED: Final = _SeparationTable()


def _fold_run(run: str) -> str:
    return unicodedata.normalize("NFKC", run).casefold().translate(_FOLDED)


_fold_short = lru_cache(_RUN_CACHE)(_fold_run)


@lru_cache(_RUN_CACHE)
def _separate_short(run: str) -> str:
    # Case folding makes capitals of Cherokee letters.
    return _fold_run(run).translate(_SEPARATED).lower()


def _replace_with_folded(match: re.Match[str]) -> str:
    run = match[0]
    return _fold_short(run) if len(run) <= _RUN_CACHE_CHARS else _fold_run(run)


def _replace_with_separated(match: re.Match[str]) -> str:
    run = match[0]
    return _separate_short(run) if len(run) <= _RUN_CACHE_CHARS else _fold_run(run).translate(_SEPARATED)


def fold_text(text: str) -> str:
    """Returns the form that searches compare. Its length may differ from the text's: see `FoldedText`."""
    if text.isascii():
        return text.lower()
    return _NON_ASCII.sub(_replace_with_folded, text).lower()


def occurs_folded(wanted: str, text: str) -> bool:
    """Whether a folded string occurs in the folded form of a text."""
    if text.isascii() or not wanted.isascii():
        return wanted in fold_text(text)
    return search_encoded(wanted)(text.encode("utf-8", "surrogatepass"))


class _EncodedSearch:
    """Whether a string in ASCII occurs in the folded form of a text in UTF-8, as the index stores it.

    Most texts need no folding. Dashes, quotation marks and letters of other scripts do not fold to ASCII, and
    what an accented letter folds to is usually not in the wanted string. The characters that do matter are
    replaced one at a time, which is safe because their neighbours do not affect how they fold."""

    __slots__ = ("_harmless", "_letters", "_wanted")

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted.encode("ascii")
        self._letters = frozenset(wanted)
        self._harmless: set[str] = set()
        """Characters already found to be irrelevant: a text that has no others needs no further work. Bounded
        by the size of Unicode."""

    def __call__(self, text: bytes) -> bool:
        text = text.lower()
        if self._wanted in text:
            return True
        if text.isascii() or all(map(self._harmless.__contains__, others := _non_ascii(text))):
            return False
        forms = {char: _fold_char(char) for char in set(others) - self._harmless}
        # A character that folds to nothing matters too: the characters around it become adjacent.
        parts = {char: form for char, form in forms.items() if not form or not self._letters.isdisjoint(form)}
        self._harmless.update(forms.keys() - parts.keys())
        if len(parts) > REPLACED_CHARS:
            return self._wanted.decode() in fold_text(text.decode("utf-8", "surrogatepass"))
        for char, form in parts.items():
            text = text.replace(char.encode("utf-8", "surrogatepass"), form.encode("utf-8", "surrogatepass"))
        return bool(parts) and self._wanted in text


search_encoded = lru_cache(16)(_EncodedSearch)
"""Cached with what it has learned about characters, because one page of results searches for the same string
many times. Without it, a phrase of two common words takes 270 ms of processor time in 10,000 notes instead of
78, and one where every note has other letters 60 instead of 12."""

REPLACED_CHARS: Final = 16
"""With more different characters to replace, folding the whole text is cheaper."""


@lru_cache(_RUN_CACHE)
def _fold_char(char: str) -> str:
    return fold_text(char)


_ASCII_BYTES: Final = bytes(range(128))


def _non_ascii(encoded: bytes) -> str:
    return encoded.translate(None, _ASCII_BYTES).decode("utf-8", "surrogatepass")


_TOKEN_BYTES: Final = 32_768
"""SQLite cuts a longer word here, if need be in the middle of a character: then no statement that reads the
word succeeds any more."""

_LONG_WORD: Final = _TOKEN_BYTES // 4
"""A word of more characters than this may be too long in UTF-8; if it is, it becomes several of this size."""


def separate_words(text: str) -> str:
    """Folds a text and separates its words for the full-text table."""
    if text.isascii():
        return text.lower()
    separated = _NON_ASCII.sub(_replace_with_separated, text).lower()
    return separated if len(separated) <= _LONG_WORD else _cut_long_words(separated)


def _cut_long_words(separated: str) -> str:
    """Nobody writes such words, but a damaged or hostile file has them. One that is too long has a character
    at a multiple of _LONG_WORD, so nearly all of a text is passed over."""
    pieces: list[str] = []
    done = passed = 0
    for at in range(_LONG_WORD, len(separated), _LONG_WORD):
        word = WORD.match(separated, at) if at >= passed else None
        if word is None:
            continue
        before = WORD.match(separated[max(passed, at - _LONG_WORD) : at][::-1])
        start, passed = at - (before.end() if before else 0), word.end()
        if len(separated[start:passed].encode("utf-8", "surrogatepass")) > _TOKEN_BYTES:
            cuts = [separated[cut : cut + _LONG_WORD] for cut in range(start, passed, _LONG_WORD)]
            cuts[-1] = cuts[-1][: (passed - start - 1) % _LONG_WORD + 1]
            pieces += separated[done:start], NEIGHBOURS.join(cuts)
            done = passed
    return "".join([*pieces, separated[done:]])


def split_words(text: str) -> list[str]:
    """Splits a text into words as the full-text table does, in order."""
    return WORD.findall(separate_words(text))


def _composes(piece: str, char: str) -> bool:
    """Whether NFKC combines the two. It does so with marks, and also with vowel signs, parts of Hangul
    syllables and the voicing marks of halfwidth kana, which Unicode does not count as combining."""
    if unicodedata.combining(char):
        return True
    if unicodedata.category(char)[0] not in "LM":
        return False
    apart = unicodedata.normalize("NFKC", piece) + unicodedata.normalize("NFKC", char)
    return unicodedata.normalize("NFKC", piece + char) != apart


def compose(text: str) -> str:
    """Normalizes the text but keeps its case and accents, because systems store the same letters in different
    forms."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


class FoldedText:
    """A text and its folded form (by `fold_text` unless `fold` is given); `span` maps offsets back.

    Meant for the lines of a result, not for whole vaults: non-ASCII characters are folded one by one."""

    __slots__ = ("_starts", "folded", "text")

    def __init__(self, text: str, fold: Callable[[str], str] = fold_text) -> None:
        self.text = text
        self._starts: list[int] | None = None
        if text.isascii():
            self.folded = fold(text)
            return
        pieces: list[str] = []
        starts: list[int] = []
        at = 0
        while at < len(text):
            if stretch := _ASCII_STRETCH.match(text, at):
                # All at once: folding ASCII never changes the number of characters.
                end = stretch.end()
                pieces.append(fold(stretch[0]))
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
        self.folded = "".join(pieces)
        self._starts = [*starts, len(text)]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Returns the span of the text that a non-empty span of the folded form came from."""
        if self._starts is None:
            return start, end
        first = self._starts[start]
        last = self._starts[end - 1]
        # Include the whole last character, with the marks after it that were folded away.
        after = bisect_right(self._starts, last)
        return first, self._starts[after] if after < len(self._starts) else len(self.text)
