"""Splits a question into units, and separates function words from the others. Pure: no I/O.

A *unit* is looked up as a whole: a word, or two or four adjacent characters of a script that is written
without spaces between words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.errors import InvalidQuery
from vaultbridge.index.fold import NEIGHBOURS, WORD, fold_text, separate_words, split_words, stands_apart
from vaultbridge.index.query.parse import QUERY_CHARS, And, Term, parse_query
from vaultbridge.index.ranking.function_words import GRAMS, LIGHT, WORDS, choose_language

UNITS: Final = 48
"""The most units of one question that are looked up. A question has about ten. A whole paragraph may be
passed too; then its rarest words show what it is about: see `concepts.shorten_question`."""

READ_UNITS: Final = 6000
"""The most units from which those are chosen: finding out how rare a word is takes 20 µs."""

GRAM: Final = 2
LONG_GRAM: Final = 4
"""How many adjacent characters form a unit: two in Chinese, Japanese and Korean, four in scripts whose
characters are letters, such as Thai."""

LONGEST_GRAM: Final = max(map(len, GRAMS))

LONG_GRAMS: Final = 8
"""The most units of such letters that are looked up, spread over the question. Every note has every letter,
so each takes 20 ms on 10,000 notes. The other units count only in the notes that these find."""

_WIDE_LETTERS: Final = 0x1100
"""From this code point on, separated characters are syllables and ideographs, not letters."""

_IDEOGRAPH: Final = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")

_KANA: Final = re.compile("[\u3040-\u30ff]")

_WRITTEN: Final = re.compile(r"\w+")

_TOKEN: Final = re.compile(r"\S+")

_ENDS: Final = "?!.;؟？！。 "
"""What a question may end with that is not part of a name."""

FUNCTION_WORDS_LEFT_OUT: Final = 8
"""The most function words before a name: "what can you tell me about the"."""

_NEGATED: Final = re.compile(r"\b(\w+n)['’]t\b")
"""A contracted auxiliary verb of English: the "won" of "won't" is not a victory."""

_TAG_LIKE: Final = re.compile(r"#[^\W\d]")


class Unit(Struct, frozen=True):
    """The smallest part of a question. `shown` is the unit as it was asked, in lower case; `words` are its
    words in the full-text table. A `function` unit is a function word and says little about the subject; a
    `light` one fits any subject. A `faint` one is a single ideograph of a pair that is a unit too. One that
    is not `looked_up` counts only in notes that other units find."""

    shown: str
    words: tuple[str, ...]
    function: bool = False
    light: bool = False
    faint: bool = False
    looked_up: bool = True

    @property
    def is_gram(self) -> bool:
        """Whether it is a piece of a run of characters in which the word boundaries are unknown."""
        return len(self.words) > 1

    @property
    def written(self) -> str:
        """Its form in separated text."""
        return NEIGHBOURS.join(self.words)

    @property
    def match(self) -> str:
        """The full-text query for it. Words consist of letters and digits, so nothing needs escaping."""
        return f'"{" ".join(self.words)}"'


def is_plain(query: str) -> bool:
    """Whether a query consists only of words: no operator, quotes, pattern, group, `-`, tag, link or
    property. A text that is too long for the query language is a question too."""
    if is_long(query):
        return True
    if "(" in query or ")" in query:
        return False
    try:
        tree = parse_query(query)
    except InvalidQuery:
        return False
    parts = tree.parts if isinstance(tree, And) else (tree,)
    return all(isinstance(part, Term) and not part.quoted and _is_word(part.text) for part in parts)


def is_long(query: str) -> bool:
    """Whether a query is too long for the query language."""
    return len(query) > QUERY_CHARS


def _is_word(text: str) -> bool:
    return not text.startswith("[[") and not _TAG_LIKE.match(text)


class Question(Struct, frozen=True):
    """The units of a question. `language` is the name of its stemmer or list of function words, "" when
    unknown; `usual` is the language of the vault."""

    units: tuple[Unit, ...]
    language: str
    text: str = ""
    usual: str = ""


def read_question(text: str, usual: str = "", language: str = "") -> Question:
    """Splits a question into its units, each once, in order. `usual` is the language of the vault. Without
    a `language`, that of the question is detected."""
    pieces: dict[tuple[str, ...], bool] = {}
    for words, crossing in _split(text):
        pieces[words] = crossing and pieces.get(words, True)
    language = language or choose_language([words[0] for words in pieces if len(words) == 1], usual)
    known = WORDS.get(language, frozenset())
    light = LIGHT if language == "english" else frozenset()
    lowered = text.lower()
    if language == "english":
        known |= {fold_text(verb) for verb in _NEGATED.findall(lowered)}
    written = {fold_text(word): word for word in _WRITTEN.findall(lowered)}
    units = [
        Unit(
            written.get("".join(words), "".join(words)),
            words,
            function=crossing or _is_function_unit(words, known),
            light=words[0] in light,
        )
        for words, crossing in pieces.items()
    ]
    units = _limit_long_grams(units)
    units += _list_faint(units)
    if len(units) > READ_UNITS:
        # Units that are not function words come first, so that a long text is not filled up with those.
        chosen = {unit.words for unit in sorted(units, key=lambda unit: unit.function)[:READ_UNITS]}
        units = [unit for unit in units if unit.words in chosen]
    return Question(tuple(units), language, text, usual)


def list_names(question: Question) -> list[str]:
    """Returns what may be the name of a note: the question itself, and what is left of it without the
    function words that it begins with, as in "what is in The Matrix?"."""
    whole = question.text.strip()
    names = [whole]
    end = len(whole.rstrip(_ENDS))
    function = {unit.words[0] for unit in question.units if unit.function and not unit.is_gram}
    for place, found in enumerate(_TOKEN.finditer(whole, 0, end)):
        names.append(whole[found.start() : end])
        if place == FUNCTION_WORDS_LEFT_OUT or not function.issuperset(split_words(found[0])):
            break
    return list(dict.fromkeys(names))


def _is_function_unit(words: tuple[str, ...], known: frozenset[str]) -> bool:
    return "".join(words) in (GRAMS if stands_apart(words[0][0]) else known)


def _split(text: str) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Returns the words and grams of a text, each with whether it is a gram that crosses the border of a
    function word."""
    separated = separate_words(text)
    run: list[str] = []
    end = 0
    for match in WORD.finditer(separated):
        word = match[0]
        apart = stands_apart(word[0])
        if run and not (apart and separated[end : match.start()] == NEIGHBOURS):
            yield from _split_run(run)
            run = []
        end = match.end()
        if apart:
            run.append(word)
        else:
            yield (word,), False
    yield from _split_run(run)


def _split_run(run: list[str]) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Splits a run of adjacent characters into overlapping grams; a shorter run is one unit."""
    if not run:
        return
    size = GRAM if _is_wide(run[0]) else LONG_GRAM
    function = _find_function_words(run)
    for start in range(0, max(1, len(run) - size + 1), size // 2):
        yield tuple(run[start : start + size]), any(function[start : start + size])


def _find_function_words(run: list[str]) -> list[bool]:
    """Returns which ideographs of a run belong to a function word, the longest first: a pair of one of them
    and its neighbour, such as 该怎 in 应该怎么, is part of no word, and rare."""
    inside = [False] * len(run)
    for size in range(LONGEST_GRAM, 0, -1):
        for start in range(len(run) - size + 1):
            place = slice(start, start + size)
            if any(inside[place]) or not all(map(_IDEOGRAPH.match, run[place])):
                continue
            if "".join(run[place]) in GRAMS:
                inside[place] = [True] * size
    return inside


def split_grams(units: Iterable[Unit]) -> list[Unit]:
    """Returns the syllables and ideographs of grams, each as a unit. Letters say nothing one by one."""
    words = (word for unit in units if unit.is_gram for word in unit.words if _is_wide(word))
    return [Unit(word, (word,)) for word in dict.fromkeys(words)]


def _list_faint(units: list[Unit]) -> list[Unit]:
    """Returns the ideographs of the pairs of a Chinese question: many are words, and people and notes put
    different ones beside them. Syllables say nothing one by one, and in Japanese words are pairs."""
    if any(_KANA.match(word) for unit in units for word in unit.words):
        return []
    words = (word for unit in units if unit.is_gram for word in unit.words)
    asked = {unit.words for unit in units}
    return [
        Unit(word, (word,), faint=True)
        for word in dict.fromkeys(words)
        if _IDEOGRAPH.match(word) and word not in GRAMS and (word,) not in asked
    ]


def _is_wide(word: str) -> bool:
    return ord(word[0]) >= _WIDE_LETTERS


def _limit_long_grams(units: list[Unit]) -> list[Unit]:
    long = [
        place
        for place, unit in enumerate(units)
        if unit.is_gram and not _is_wide(unit.words[0]) and not unit.function
    ]
    kept = {long[number * len(long) // LONG_GRAMS] for number in range(LONG_GRAMS)} if long else set()
    return [
        replace(unit, looked_up=place in kept) if place in long else unit for place, unit in enumerate(units)
    ]
