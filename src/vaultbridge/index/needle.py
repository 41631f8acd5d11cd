"""One word or phrase of a search: how the index finds candidates, and how a text is checked.

A search is for substrings of the folded text (`fold.plain`). The full-text table answers that exactly for a
string within one word; for a string over several words it gives candidates, which are then checked against
the text. With `match-case:` every candidate is checked, by the letters as written.
"""

from __future__ import annotations

import unicodedata
from typing import Final, Literal

from msgspec import Struct

from vaultbridge.index.fold import WORD, FoldedText, composed, plain, spaced, stands_apart
from vaultbridge.index.terms import Terms

Column = Literal["body", "path", "any"]

SPANS_PER_LINE: Final = 16
"""The most places marked in one line."""


class Needle(Struct, frozen=True):
    """`folded` is what is looked for unless `sensitive`, then it is `text` itself."""

    text: str
    sensitive: bool
    folded: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str, *, sensitive: bool = False) -> Needle:
        text = unicodedata.normalize("NFC", text)
        return cls(text, sensitive, plain(text), tuple(WORD.findall(spaced(text))))

    @property
    def one_word(self) -> bool:
        """Whether the string lies within one word, so that the word table decides."""
        return len(self.words) == 1 and self.words[0] == self.folded and not self.sensitive

    def occurs_in(self, text: str) -> bool:
        if self.sensitive:
            return self.text in composed(text)
        # Most texts that hold it hold it as written, which spares the folding.
        return self.text in text or self.folded in plain(text)

    def spans_in(self, line: str) -> list[tuple[int, int]]:
        """Where it stands in a line, as offsets of the line as written."""
        spans: list[tuple[int, int]] = []
        fold, wanted = (composed, self.text) if self.sensitive else (plain, self.folded)
        if not wanted or wanted not in fold(line):
            return spans
        folded = FoldedText(line, fold)
        at = folded.plain.find(wanted)
        while at >= 0 and len(spans) < SPANS_PER_LINE:
            end = at + len(wanted)
            spans.append(folded.span(at, end))
            at = folded.plain.find(wanted, end)
        return spans

    def rank_match(self) -> str:
        """What the full-text table ranks by: the words themselves, the last one also as a beginning."""
        if not self.words:
            return ""
        phrase = _quoted(" ".join(self.words))
        return phrase if _is_whole(self.words[-1]) else phrase + " *"


def _is_whole(word: str) -> bool:
    """Whether no longer word can hold this one: a character that stands apart is always a word by itself."""
    return len(word) == 1 and stands_apart(word)


def _quoted(words: str) -> str:
    # Words hold letters and digits only, so there is nothing to escape.
    return f'"{words}"'


class Lookup(Struct, frozen=True):
    """A full-text query for candidates. When not `exact`, each candidate must be checked; without `match`,
    every note is one."""

    match: str
    exact: bool


def lookup(needle: Needle, terms: Terms | None, column: Column) -> Lookup:
    """How to find what may hold the needle. `terms` must be fresh; None while a first build has not gathered
    them yet."""
    if not needle.words:
        return Lookup("", exact=False)
    match = _one_word(needle, terms) if needle.one_word else _several_words(needle, terms)
    if match is None:
        return Lookup("", exact=False)
    if not match:
        return Lookup(_NOTHING, exact=True)
    return Lookup(_in_column(match, column), exact=needle.one_word)


def beginning(needle: Needle, column: Column) -> str:
    """A full-text query for words that begin with a needle of one word: part of what holds it."""
    return _in_column(_quoted(needle.words[0]) + " *", column)


def _in_column(match: str, column: Column) -> str:
    columns = "{path body}" if column == "any" else column
    return f"{columns} : ({match})"


_NOTHING: Final = '"\x80"'
"""A word that no text has: control characters separate words."""


def _one_word(needle: Needle, terms: Terms | None) -> str | None:
    word = needle.words[0]
    if _is_whole(word):
        return _quoted(word)
    found = terms.containing(word) if terms else None
    if found is None:
        return None
    # Words that begin with it need not be named one by one.
    inside = [term for term in found if not term.startswith(word)]
    beginning = [_quoted(word) + " *"] if len(inside) < len(found) else []
    return " OR ".join(beginning + [_quoted(term) for term in inside])


def _several_words(needle: Needle, terms: Terms | None) -> str | None:
    """A phrase, whose first word may be the end of a longer one and whose last may be the beginning of
    one."""
    words = list(needle.words)
    open_start = needle.folded.startswith(words[0]) and not _is_whole(words[0])
    open_end = needle.folded.endswith(words[-1]) and not _is_whole(words[-1])
    tail = " *" if open_end else ""
    if not open_start:
        return _quoted(" ".join(words)) + tail
    if len(words) == 1:
        if terms is None:
            return None
        endings = terms.containing(words[0]) if open_end else terms.ending(words[0])
        return None if endings is None else " OR ".join(map(_quoted, endings))
    endings = terms.ending(words[0]) if terms else None
    if endings is None:
        return _quoted(" ".join(words[1:])) + tail
    rest = " ".join(words[1:])
    return " OR ".join(_quoted(f"{ending} {rest}") + tail for ending in endings)
