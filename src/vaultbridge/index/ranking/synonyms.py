"""What the stemmer does not know of English: everyday synonyms, irregular forms, British and American
spelling.

People ask for a picture where the note says image. Synonyms replace each other at a small weight. The lists
(`words/synonyms.txt`) contain only common words, because technical terms are used exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final

from vaultbridge.index.ranking.word_lists import SHARED_LETTERS, load_word_lists

_SPELLINGS: Final = (("our", "or"), ("is", "iz"), ("ys", "yz"), ("tre", "ter"), ("ogue", "og"), ("ll", "l"))
"""British and American spellings."""

Stem = Callable[[str], str]


@lru_cache(1)
def _load_synonyms() -> dict[str, dict[str, tuple[str, ...]]]:
    """Returns the synonyms of each word, grouped by the word's first letters."""
    leads: dict[str, list[str]] = {}
    for group in _list_groups("groups"):
        for word in group:
            leads.setdefault(word, []).extend(other for other in group if other != word)
    for line in load_word_lists("synonyms")["narrower"].split(","):
        narrow, _, wide = line.partition(">")
        for word in narrow.split():
            leads.setdefault(word, []).extend(wide.split())
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for word, others in leads.items():
        found.setdefault(word[:SHARED_LETTERS], {})[word] = tuple(dict.fromkeys(others))
    return found


@lru_cache(1)
def _load_irregular() -> dict[str, tuple[str, ...]]:
    return {
        word: tuple(other for other in group if other != word)
        for group in _list_groups("irregular")
        for word in group
    }


def _list_groups(section: str) -> Iterator[list[str]]:
    return (group.split() for group in load_word_lists("synonyms")[section].split(","))


def find_synonyms(words: set[str], stem: Stem) -> tuple[str, ...]:
    """Returns the synonyms of a word, given some of its forms, whichever form the lists have."""
    known = _load_synonyms()
    stems = {stem(word) for word in words}
    found = [
        other
        for beginning in sorted({word[:SHARED_LETTERS] for word in words})
        for word, others in known.get(beginning, {}).items()
        if word in words or stem(word) in stems
        for other in others
    ]
    return tuple(other for other in dict.fromkeys(found) if stem(other) not in stems)


def find_irregular_forms(words: set[str]) -> tuple[str, ...]:
    """Returns the irregular forms of the word that has these regular forms: wrote and written for write."""
    known = _load_irregular()
    return tuple(dict.fromkeys(other for word in sorted(words) for other in known.get(word, ())))


def respell(word: str) -> set[str]:
    """Returns spellings that the word may have in British or American English; most of them are not words."""
    return {
        word.replace(old, new)
        for pair in _SPELLINGS
        for old, new in (pair, pair[::-1])
        if old in word and len(word) > len(old) + 2
    } - {word}
