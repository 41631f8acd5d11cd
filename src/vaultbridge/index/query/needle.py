"""Finds one word or phrase of a search: plans the query for candidates, and checks a text for it.

A search is for substrings of the folded text (`fold.fold_text`). The full-text table answers that exactly for
a string within one word; for a string over several words it gives candidates, which are then checked against
the text. With `match-case:` every candidate is checked against the letters as written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Final, Literal

from msgspec import Struct

from vaultbridge.index.fold import (
    WORD,
    FoldedText,
    compose,
    fold_text,
    occurs_folded,
    search_encoded,
    separate_words,
    stands_apart,
)
from vaultbridge.index.store.database import Terms

SearchColumn = Literal["body", "path", "any"]

SPANS_PER_LINE: Final = 16
"""The most matches highlighted in one line."""


class Needle(Struct, frozen=True):
    """A string to search for: its `folded` form, or `text` itself if `sensitive`."""

    text: str
    sensitive: bool
    folded: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str, *, sensitive: bool = False) -> Needle:
        text = unicodedata.normalize("NFC", text)
        # Accents alone fold to the empty string, which every text contains, so they are not folded.
        return cls(text, sensitive, fold_text(text) or text, tuple(WORD.findall(separate_words(text))))

    @property
    def one_word(self) -> bool:
        """Whether the string is within one word, so that the word table answers exactly."""
        return len(self.words) == 1 and self.words[0] == self.folded and not self.sensitive

    @property
    def fold(self) -> Callable[[str], str]:
        """The function that a text goes through before `wanted` is searched for in it."""
        return compose if self.sensitive else fold_text

    @property
    def wanted(self) -> str:
        return self.text if self.sensitive else self.folded

    def occurs_in(self, text: str) -> bool:
        # Most texts that contain it contain it as written, which saves the folding. A case-sensitive search
        # must compose first: a plain letter does not match one with a combining accent.
        if self.sensitive:
            return self.text in compose(text)
        return self.text in text or occurs_folded(self.folded, text)

    @property
    def search_encoded(self) -> Callable[[bytes], bool] | None:
        """Returns a function like `occurs_in` for a text in UTF-8, or None if texts must be decoded first."""
        return search_encoded(self.folded) if self.folded.isascii() and not self.sensitive else None

    def spans_of(self, folded: FoldedText) -> list[tuple[int, int]]:
        """Returns the matches in a line folded by `fold`, as offsets into the line as written."""
        spans: list[tuple[int, int]] = []
        wanted = self.wanted
        if not wanted:
            return spans
        at = folded.folded.find(wanted)
        while at >= 0 and len(spans) < SPANS_PER_LINE:
            end = at + len(wanted)
            spans.append(folded.span(at, end))
            at = folded.folded.find(wanted, end)
        return spans

    def match_words(self, *, prefix: bool) -> str:
        """Returns the full-text query for the words themselves, the last as a prefix if `prefix`."""
        phrase = _quote(" ".join(self.words))
        return phrase + " *" if prefix and not _is_whole(self.words[-1]) else phrase


def _is_whole(word: str) -> bool:
    """Whether no longer word can contain this one, because its characters are always separate words."""
    return len(word) == 1 and stands_apart(word)


def _quote(words: str) -> str:
    # Words consist of letters and digits only, so there is nothing to escape.
    return f'"{words}"'


class CandidateQuery(Struct, frozen=True):
    """A full-text query for candidates. Unless `exact`, each candidate must be checked; an empty `match`
    means that every note is a candidate."""

    match: str
    exact: bool


def plan_candidates(needle: Needle, terms: Terms | None, column: SearchColumn) -> CandidateQuery:
    """Returns the query for notes that may contain the needle. `terms` must be refreshed; it is None during a
    first build, which collects them at its end."""
    if not needle.words:
        return CandidateQuery("", exact=False)
    match = (
        _match_one_word(needle.words[0], terms) if needle.one_word else _match_several_words(needle, terms)
    )
    if match is None:
        return CandidateQuery("", exact=False)
    if not match:
        return CandidateQuery(_NOTHING, exact=True)
    return CandidateQuery(_in_column(match, column), exact=needle.one_word)


def match_whole_word(needle: Needle, column: SearchColumn) -> str:
    """Returns a full-text query for exactly the word of a one-word needle. It finds some of the notes that
    contain the needle."""
    return _in_column(_quote(needle.words[0]), column)


def count_longer_words(needle: Needle, terms: Terms | None) -> int | None:
    """Counts the other words that contain a one-word needle; None if there are too many, or while the
    dictionary is not collected yet."""
    if _is_whole(needle.words[0]):
        return 0
    found = terms.find_containing(needle.words[0]) if terms else None
    return None if found is None else sum(word != needle.words[0] for word in found)


def match_prefix(needle: Needle, column: SearchColumn) -> str:
    """Returns a full-text query for words that begin with a one-word needle. It finds some of the notes that
    contain the needle."""
    return _in_column(_quote(needle.words[0]) + " *", column)


def _in_column(match: str, column: SearchColumn) -> str:
    columns = "{path body}" if column == "any" else column
    return f"{columns} : ({match})"


_NOTHING: Final = '"\x80"'
"""A word that no text contains, because control characters separate words."""


EACH_WORD: Final = 8
"""The most words that `match_each_word` looks up: more hardly leave out another note."""


def match_each_word(words: Iterable[str], terms: Terms) -> str:
    """Returns the full-text query for notes that contain each of these words, whole or as part of a longer
    one, in any order. It is empty if that does not narrow the notes down. It is looser than that of
    `plan_candidates` and takes less time, because the table need not compare positions."""
    longest = sorted(dict.fromkeys(words), key=len, reverse=True)[:EACH_WORD]
    parts = [part for word in longest if (part := _match_one_word(word, terms)) is not None]
    if not all(parts):
        return _NOTHING
    return _in_column(" AND ".join(f"({part})" for part in parts), "body") if parts else ""


def _match_one_word(word: str, terms: Terms | None) -> str | None:
    if _is_whole(word):
        return _quote(word)
    found = terms.find_containing(word) if terms else None
    if found is None:
        return None
    # Words that begin with it need not be listed one by one.
    inside = [term for term in found if not term.startswith(word)]
    prefix = [_quote(word) + " *"] if len(inside) < len(found) else []
    return " OR ".join(prefix + [_quote(term) for term in inside])


PHRASES: Final = 32
"""The most phrases that a phrase is expanded to: each costs the table at least one pass over its rarest
word."""

SHORT_WORD: Final = 5
"""Words up to this length may be common. A longer one is rare enough to check every note that contains it,
when the only other word of the phrase is a prefix."""


def _match_several_words(needle: Needle, terms: Terms | None) -> str | None:
    """Returns the query for a phrase. Its first word may be the end of a longer word, its last the beginning.

    A prefix (`of*`) costs the table a pass over all words with that prefix, once for each phrase that has it.
    So the words at both ends are listed one by one while that makes few phrases. Otherwise the query is the
    phrase itself plus a looser one for longer first words: every candidate is checked anyway."""
    words = list(needle.words)
    open_start = needle.folded.startswith(words[0]) and not _is_whole(words[0])
    open_end = needle.folded.endswith(words[-1]) and not _is_whole(words[-1])
    if len(words) == 1:
        return _match_part_of_word(words[0], terms, open_start=open_start, open_end=open_end)
    between = words[1:-1]
    tail = " *" if open_end else ""
    firsts = (terms.find_ending(words[0]) if terms else None) if open_start else words[:1]
    lasts = (terms.find_starting(words[-1]) if terms else None) if open_end else words[-1:]
    if firsts is None:
        return _quote(" ".join(words[1:])) + tail
    if lasts is not None and len(firsts) * len(lasts) <= PHRASES:
        return _match_any_phrase([first, *between, last] for first in firsts for last in lasts)
    if lasts is not None and len(lasts) <= PHRASES:
        found = [_match_any_phrase([*words[:-1], last] for last in lasts)]
    else:
        found = [_quote(" ".join(words)) + tail]
    others = [first for first in firsts if first != words[0]]
    if between:
        found += [_quote(" ".join((first, *between))) for first in others]
    else:
        found += [f'"{first} {words[-1]}"{tail}' for first in others if len(first) <= SHORT_WORD]
        found += [_quote(first) for first in others if len(first) > SHORT_WORD]
    return " OR ".join(found)


def _match_any_phrase(phrases: Iterable[list[str]]) -> str:
    return " OR ".join(_quote(" ".join(words)) for words in phrases)


def _match_part_of_word(word: str, terms: Terms | None, *, open_start: bool, open_end: bool) -> str | None:
    """Returns the query for a word with a separator around it, such as `-foo`."""
    if not open_start:
        return _quote(word) + (" *" if open_end else "")
    if terms is None:
        return None
    found = terms.find_containing(word) if open_end else terms.find_ending(word)
    return None if found is None else _match_any_phrase([term] for term in found)
