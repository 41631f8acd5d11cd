"""Function words: articles, pronouns, prepositions, auxiliary verbs, question words.

A question's "how", "do" and "my" are rare in notes that state things, so their frequency in the vault does
not show how little they mean. The lists contain the words that people use in questions, folded as the index
folds them (`fold.fold_text`). They need not be complete: the words of a vault that most notes contain count
little anyway."""

from __future__ import annotations

from typing import Final

from vaultbridge.index.ranking.word_lists import load_word_lists

_LISTS: Final = {name: frozenset(words.split()) for name, words in load_word_lists("function_words").items()}

_UNSPACED: Final = frozenset(("chinese", "japanese", "korean", "thai"))

LIGHT: Final = _LISTS["light"]
"""Common verbs, adverbs and adjectives of English, which fit any subject: sharing one with a question says
little, however rare it is in the vault. Lists for other languages brought no improvement."""

WORDS: Final = {name: words for name, words in _LISTS.items() if name not in _UNSPACED | {"light"}}
"""Function words by language, under the name of its Snowball stemmer if there is one."""

GRAMS: Final = frozenset(gram for language in _UNSPACED for gram in _LISTS[language])
"""The same for scripts without spaces, as the units of `question`: such a unit belongs to only one language,
so the question's language need not be known."""

MARKERS: Final = {
    "english": ("the", "of", "is"),
    "german": ("und", "der", "ist"),
    "french": ("les", "des", "est"),
    "spanish": ("los", "una", "que"),
    "italian": ("che", "della", "sono"),
    "portuguese": ("nao", "uma", "para"),
    "dutch": ("het", "een", "van"),
    "swedish": ("och", "att", "inte"),
    "danish": ("og", "ikke", "jeg"),
    "finnish": ("ja", "ei", "etta"),
    "russian": ("и", "не", "что"),
    "ukrainian": ("і", "та", "що"),
    "polish": ("sie", "jest", "nie"),
    "romanian": ("si", "este", "pentru"),
    "turkish": ("ve", "bir", "icin"),
    "greek": ("και", "το", "ειναι"),
    "arabic": ("في", "من", "على"),
    "hebrew": ("של", "את", "על"),
    "hindi": ("है", "के", "में"),
    "vietnamese": ("cua", "duoc", "nhung"),
    "indonesian": ("yang", "dan", "dengan"),
    "hungarian": ("hogy", "egy", "nem"),
    "czech": ("je", "jsou", "pro"),
}
"""Words that nearly every page of a language contains, from which the language of a vault is detected."""


def choose_language(words: list[str], usual: str) -> str:
    """Returns the language of a question: the one with most of its words in the list. `usual` is the
    vault's language, which one foreign-looking word does not outweigh: "war" is German for "was"."""
    counts = {language: sum(word in known for word in words) for language, known in WORDS.items()}
    best = max(counts, key=lambda language: (counts[language], language == usual))
    # A word in another script cannot be mistaken for one of the vault's language.
    least = 1 if any(word.isascii() for word in words if word in WORDS[best]) else 0
    return best if counts[best] > counts.get(usual, 0) + least or not usual else usual


def count_function_words(words: list[str], language: str) -> int:
    known = WORDS.get(language, frozenset())
    return sum(word in known for word in words)


def detect_language(words: set[str]) -> str:
    """Returns the language with most of the words of a text in its list, "" if none has any."""
    counts = {language: len(words & known) for language, known in WORDS.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] else ""
