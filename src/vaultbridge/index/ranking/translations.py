"""Translates common words of notes and of programs, so that a question in one language finds notes in
another.

Words are translated by way of English, with the lists in `words/translations.txt`. A word that occurs in the
notes is never translated: see `concepts`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from vaultbridge.index.fold import fold_text
from vaultbridge.index.ranking.word_lists import SHARED_LETTERS, load_word_lists

_UNSPACED: Final = ("chinese", "japanese", "korean")
"""Languages that have no spaces, or whose words have endings attached: their words are searched for in the
whole question, and notes in them are not found by translation."""

_SURE_CHARS: Final = 5
"""How long a word must be to be recognized by its stem when its language is not known."""

_COMPOUNDING: Final = frozenset(("german", "dutch", "swedish"))
"""Languages that write a compound as one word."""

_PART_CHARS: Final = 4
"""The shortest part of a compound."""

_JOINTS: Final = ("", "s", "n", "en", "er", "e")
"""What may stand between the parts of a compound."""

StemInLanguage = Callable[[str, str], str]
"""Returns the stem of a word of a language."""


@lru_cache(1)
def _list_spaced() -> tuple[str, ...]:
    return tuple(language for language in load_word_lists("translations") if language not in _UNSPACED)


@lru_cache
def _load(language: str) -> dict[str, tuple[str, ...]]:
    """Returns the words of a language by the English word."""
    if language == "english":
        return {english: (english,) for table in _list_spaced() for english in _load(table)}
    groups = (group.split() for group in load_word_lists("translations").get(language, "").split(","))
    return {words[0]: tuple(map(fold_text, words[1:])) for words in groups if words}


@lru_cache
def _load_by_beginning(language: str) -> dict[str, list[tuple[str, str]]]:
    """Returns the words of a language, each with the English word, by their first letters."""
    found: dict[str, list[tuple[str, str]]] = {}
    for english, words in _load(language).items():
        for word in words:
            found.setdefault(word[:SHARED_LETTERS], []).append((word, english))
    return found


def translate(word: str, language: str, into: str, stem: StemInLanguage) -> tuple[str, ...]:
    """Translates a word, in any form, into another language; all words are folded. If `language` is empty,
    the word may be of any language."""
    languages = (
        (language,) if language else tuple(other for other in ("english", *_list_spaced()) if other != into)
    )
    known = [english for other in languages for english in _find(word, other, stem, sure=bool(language))]
    if not known:
        compounding = [other for other in languages if other in _COMPOUNDING]
        known = [english for other in compounding for english in _find_parts(word, other, stem)]
    return _list_words(known, into)


def _find(word: str, language: str, stem: StemInLanguage, *, sure: bool = True) -> list[str]:
    """Returns the English words for a word of a language. Unless it is `sure` that the word is of that
    language, a short one must have the form that the list has."""
    alike = _load_by_beginning(language).get(word[:SHARED_LETTERS], ())
    same = [english for other, english in alike if word == other]
    if same or not alike or (not sure and len(word) < _SURE_CHARS):
        return same
    wanted = stem(language, word)
    return [english for other, english in alike if stem(language, other) == wanted]


def _find_parts(word: str, language: str, stem: StemInLanguage) -> list[str]:
    """Returns the English words for the two parts of a compound, if both are known."""
    for at in range(len(word) - _PART_CHARS, _PART_CHARS - 1, -1):
        last = _find(word[at:], language, stem)
        if not last:
            continue
        for joint in _JOINTS:
            first = word[:at].removesuffix(joint)
            if len(first) >= _PART_CHARS and (known := _find(first, language, stem)):
                return known + last
    return []


def _list_words(english: list[str], into: str) -> tuple[str, ...]:
    """Returns the words of a language for some English words."""
    known = _load(into)
    return tuple(dict.fromkeys(word for term in english for word in known.get(term, ())))


@lru_cache(1)
def _load_unspaced() -> tuple[tuple[str, str], ...]:
    """Returns each word with the English word."""
    return tuple(
        (word, english)
        for language in _UNSPACED
        for english, words in _load(language).items()
        for word in words
        if len(word) > 1  # one ideograph is part of many words
    )


def translate_unspaced(text: str, into: str) -> dict[str, tuple[str, ...]]:
    """Returns the words in a text of a language without spaces that have a translation, with the
    translations."""
    folded = fold_text(text)
    found: dict[str, list[str]] = {}
    for word, english in _load_unspaced():
        if word in folded:
            found.setdefault(word, []).append(english)
    # 文件夹 is a folder, not a file.
    whole = [word for word in found if not any(word != other and word in other for other in found)]
    return {word: others for word in whole if (others := _list_words(found[word], into))}
