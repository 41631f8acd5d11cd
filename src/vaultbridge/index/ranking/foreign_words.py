"""Finds the words of the notes' language for those of a question: in our own lists (`translations`) and, for
a question in English, in a dictionary if one is installed (`dictionary`, `dictd`).

Several translations of a word form one concept with it, so a word with many does not outweigh the others."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import islice, pairwise
from typing import Final

from msgspec.structs import replace

from vaultbridge.index.fold import NEIGHBOURS, fold_text, split_words
from vaultbridge.index.ranking.dictionary import PHRASE_WORDS, find_chinese, look_up
from vaultbridge.index.ranking.forms import stem_word, stem_word_of
from vaultbridge.index.ranking.question import GRAM, Question
from vaultbridge.index.ranking.synonyms import find_synonyms, respell
from vaultbridge.index.ranking.translations import translate
from vaultbridge.index.ranking.vocabulary import (
    CHINESE,
    ONLY_SYNONYM_WEIGHT,
    SYNONYM_WEIGHT,
    Concept,
    Vocabulary,
    WeightedTerm,
)

FORM_WEIGHT: Final = 0.6
"""How much another form of a word counts, relative to the word itself."""

TRANSLATION_WEIGHT: Final = 0.8
"""How much the translation of a word counts."""

TRIED: Final = 40
"""The most translations of a word that are looked for in the notes."""

TRANSLATIONS: Final = 6
FORMS_OF_EACH: Final = 8
TERMS: Final = 24
"""The most of them that are used: words, forms of each word, and all together."""

CHINESE_TRANSLATIONS: Final = 12
SINGLES: Final = 3
"""The most in Chinese, which has no forms, and the most of a single ideograph: these mean many things."""

FAINT_WEIGHT: Final = 0.5
"""How much a single ideograph counts, relative to a word that is as rare: it is part of a pair, and most
ideographs have many meanings."""

FAINT_SHARE: Final = 0.25
"""An ideograph in more than this share of the notes is not looked up: it says next to nothing, and costs most
time."""

JOINED_PAIRS: Final = 6
JOINED_WORDS: Final = 5
JOINED_SINGLES: Final = 3
"""The most pairs of words of a question whose Chinese translations are joined, and of how many translations
of each: of those with several ideographs, and of those with one. Looking for one word takes up to 70 µs."""


def find_foreign_words(vocabulary: Vocabulary, word: str) -> list[WeightedTerm]:
    """Returns the words in notes that an English word means in the language of the notes; if there are none,
    those of its synonyms, which count less."""
    found = _look_up(vocabulary, word)
    if found or not vocabulary.translates:
        return found
    others: dict[str, WeightedTerm] = {}
    for synonym in find_synonyms({word}, partial(stem_word, "english")):
        for term in _look_up(vocabulary, synonym):
            others.setdefault(term.word, replace(term, weight=term.weight * ONLY_SYNONYM_WEIGHT))
    return list(others.values())[:CHINESE_TRANSLATIONS]


def find_foreign_phrases(vocabulary: Vocabulary, question: Question) -> list[Concept]:
    """Translates words that have a meaning together, such as "white noise"."""
    if not vocabulary.translates:
        return []
    asked = {unit.shown for unit in question.units}
    function = {unit.shown for unit in question.units if unit.function}
    words = split_words(question.text)
    phrases: dict[str, list[WeightedTerm]] = {}
    for size in range(PHRASE_WORDS, 1, -1):
        for start in range(len(words) - size + 1):
            together = words[start : start + size]
            phrase = " ".join(together)
            if asked.issuperset(together) and not function.issuperset(together) and phrase not in phrases:
                phrases[phrase] = _look_up(vocabulary, phrase)
    if vocabulary.foreign == CHINESE:
        content = asked - function
        pairs = (pair for pair in pairwise(words) if content.issuperset(pair))
        for first, second in islice(dict.fromkeys(pairs), JOINED_PAIRS):
            terms = phrases.setdefault(f"{first} {second}", [])
            known = {term.word for term in terms}
            terms += [term for term in _join_chinese(vocabulary, first, second) if term.word not in known]
    return [vocabulary.make_concept(phrase, terms) for phrase, terms in phrases.items() if terms]


def find_with_forms(vocabulary: Vocabulary, words: Iterable[str], language: str) -> list[WeightedTerm]:
    """Returns those of the translations, and of their forms and synonyms, that occur in notes."""
    found: dict[str, WeightedTerm] = {}
    for word in words:
        for term in _find_forms_of(vocabulary, word, language):
            found.setdefault(term.word, term)
    for term in vocabulary.find_synonyms({*words, *found}, language, SYNONYM_WEIGHT):
        found.setdefault(term.word, term)
    return list(found.values())


def _find_forms_of(vocabulary: Vocabulary, word: str, language: str) -> list[WeightedTerm]:
    weight = FORM_WEIGHT * TRANSLATION_WEIGHT
    forms = vocabulary.find_forms(word, word, language)
    found = [WeightedTerm(word, TRANSLATION_WEIGHT, synonym=True)] if vocabulary.holds(word) else []
    return [*found, *(WeightedTerm(form, weight, form=True, synonym=True) for form in forms)]


def _look_up(vocabulary: Vocabulary, word: str) -> list[WeightedTerm]:
    """Returns the words in notes that an English word or phrase means."""
    if vocabulary.foreign == CHINESE:
        return _weigh_chinese(vocabulary, _list_chinese(word))
    if not vocabulary.foreign or not word.isascii():
        return []
    words = list(translate(word, "english", vocabulary.foreign, stem_word_of))
    if vocabulary.dictionary is not None:
        for spelling in (word, *sorted(respell(word))):
            words += look_up(vocabulary.dictionary.find, spelling)
    found: dict[str, WeightedTerm] = {}
    held = 0
    for other in list(dict.fromkeys(words))[:TRIED]:
        terms = _find_forms_of(vocabulary, other, vocabulary.foreign)[:FORMS_OF_EACH]
        for term in terms:
            found.setdefault(term.word, term)
        held += bool(terms)
        if held == TRANSLATIONS:
            break
    return list(found.values())[:TERMS]


def _list_chinese(word: str) -> list[str]:
    """Returns the Chinese words for an English one in the form that the notes have, those of more than one
    character first."""
    words = [*translate(word, "english", CHINESE, stem_word_of), *look_up(find_chinese, word)]
    words.sort(key=lambda word: len(word) < GRAM)
    return [NEIGHBOURS.join(fold_text(word)) for word in dict.fromkeys(words)][:TRIED]


def _weigh_chinese(vocabulary: Vocabulary, words: list[str]) -> list[WeightedTerm]:
    found: list[WeightedTerm] = []
    singles = 0
    for word in words:
        single = NEIGHBOURS not in word
        if single and (singles == SINGLES or vocabulary.count_word(word) > FAINT_SHARE * vocabulary.count):
            continue
        if vocabulary.holds(word):
            singles += single
            weight = TRANSLATION_WEIGHT * (FAINT_WEIGHT if single else 1)
            found.append(WeightedTerm(word, weight, synonym=True))
        if len(found) == CHINESE_TRANSLATIONS:
            break
    return found


def _join_chinese(vocabulary: Vocabulary, first: str, second: str) -> list[WeightedTerm]:
    """Joins the Chinese words for two adjacent ones, of which at least one is a single ideograph: 葱 and 油
    for "scallion oil". Longer ones are found by how near they are."""
    found = []
    for before in _choose_joined(vocabulary, first):
        for after in _choose_joined(vocabulary, second):
            joined = before + NEIGHBOURS + after
            if (NEIGHBOURS not in before or NEIGHBOURS not in after) and vocabulary.holds(joined):
                found.append(WeightedTerm(joined, TRANSLATION_WEIGHT, synonym=True))
    return found[:CHINESE_TRANSLATIONS]


def _choose_joined(vocabulary: Vocabulary, word: str) -> list[str]:
    words = _list_chinese(word)
    longer = filter(vocabulary.holds, (word for word in words if NEIGHBOURS in word))
    single = filter(vocabulary.holds, (word for word in words if NEIGHBOURS not in word))
    return [*islice(longer, JOINED_WORDS), *islice(single, JOINED_SINGLES)]
