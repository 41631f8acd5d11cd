"""Turns the units of a question into concepts: the words of the vault that match each.

A word is looked up together with its other forms (`arrangement` and `arranged` for `arrangements`), with
everyday synonyms and, if the notes are in another language, with translations.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from msgspec.structs import replace

from vaultbridge.index.fold import LAST, stands_apart
from vaultbridge.index.query.relevance import compute_idf
from vaultbridge.index.ranking.foreign_words import (
    FAINT_SHARE,
    FAINT_WEIGHT,
    FORM_WEIGHT,
    find_foreign_phrases,
    find_foreign_words,
    find_with_forms,
)
from vaultbridge.index.ranking.forms import STEM_CHARS, stem_word_of
from vaultbridge.index.ranking.question import UNITS, Question, Unit, split_grams
from vaultbridge.index.ranking.synonyms import find_irregular_forms, respell
from vaultbridge.index.ranking.translations import translate, translate_unspaced
from vaultbridge.index.ranking.vocabulary import (
    ONLY_SYNONYM_WEIGHT,
    SYNONYM_WEIGHT,
    Concept,
    Vocabulary,
    WeightedTerm,
)
from vaultbridge.index.store.database import EXPANSION

SURE_CHARS: Final = 4
LONGEST_ENDING: Final = 3
"""A form of a word that has a translation must begin like the word, up to an ending of at most this many
characters, and for at least SURE_CHARS."""

GRAM_WEIGHT: Final = 0.7
"""How much a piece of a script without spaces counts, relative to a word that is as rare. The pieces of one
word overlap, so its characters count more than once."""

LIGHT_WEIGHT: Final = 0.5
"""How much a word that fits any subject counts, relative to others that are as rare."""

STAND_INS: Final = 40
"""The most longer words that may replace a word that no note contains."""

BEGINNING_WEIGHT: Final = 0.4
INSIDE_WEIGHT: Final = 0.2
"""How much a longer word counts that begins with the word of the question, or contains it."""

MISTYPED_WEIGHT: Final = 0.5
MISTYPED_CHARS: Final = 5
"""How much a word counts that differs from the one in the question by one typing error, and how long that one
must be: too many words with another meaning are similar to a short word."""


def shorten_question(vocabulary: Vocabulary, question: Question) -> tuple[Question, int]:
    """Shortens a long question to at most UNITS meaningful units. Returns also how many words that occur in
    notes were left out: the most common ones. Pieces of a script without spaces take longer to look up, so
    the first of those are kept."""
    content = [unit for unit in question.units if not unit.function and not unit.faint]
    if len(content) <= UNITS:
        return question, 0
    notes = {unit.words: vocabulary.count_word(unit.words[0]) for unit in content if not unit.is_gram}
    held = [unit for unit in content if not unit.is_gram and notes[unit.words]]
    held.sort(key=lambda unit: notes[unit.words])
    grams = [unit for unit in content if unit.is_gram]
    chosen = [*held[:UNITS], *grams[: max(0, UNITS - len(held))]] or content[:UNITS]
    kept = {unit.words for unit in chosen}
    units = tuple(unit for unit in question.units if unit.function or unit.words in kept)
    return replace(question, units=units), len(held) + len(grams) - len(chosen) if held or grams else 0


def choose_concepts(vocabulary: Vocabulary, question: Question) -> list[Concept]:
    """Returns the concepts of a question. Function words count only if no note contains any other word of
    it, and single ideographs only if no note contains two together as asked."""
    sure = [unit for unit in question.units if not unit.faint]
    content = [unit for unit in question.units if not unit.function]
    concepts = _make_concepts(vocabulary, content, question)
    concepts += _translate_unspaced(vocabulary, concepts, question)
    concepts += find_foreign_phrases(vocabulary, question)
    if any(concept.notes for concept in concepts if not concept.unit.faint):
        return concepts
    concepts = _make_concepts(vocabulary, sure[:UNITS], question)
    if any(concept.notes for concept in concepts):
        return concepts
    return concepts + _make_concepts(vocabulary, split_grams(sure)[:UNITS], question)


def _make_concepts(vocabulary: Vocabulary, units: Iterable[Unit], question: Question) -> list[Concept]:
    concepts: list[Concept] = []
    forms: set[str] = set()
    for unit in units:
        if unit.words[0] in forms:
            # "note" after "notes" is the same concept, which counts once.
            continue
        concept = _make_concept(vocabulary, unit, question)
        forms.update(term.word for term in concept.terms if term.form)
        concepts.append(concept)
    known = [concept.idf for concept in concepts if concept.unit.looked_up and concept.terms]
    usual = sum(known) / max(1, len(known))
    return [concept if concept.unit.looked_up else replace(concept, idf=usual) for concept in concepts]


def _translate_unspaced(vocabulary: Vocabulary, concepts: list[Concept], question: Question) -> list[Concept]:
    """Translates a question in Chinese, Japanese or Korean into concepts in the language of the notes, if
    hardly any note contains a piece of it."""
    units = [concept for concept in concepts if not concept.unit.faint]
    grams = [concept for concept in units if concept.unit.is_gram or stands_apart(concept.unit.shown[0])]
    if not grams or not question.usual or 2 * sum(bool(gram.notes) for gram in grams) > len(grams):
        return []
    found: list[Concept] = []
    for word, others in translate_unspaced(question.text, question.usual).items():
        if terms := find_with_forms(vocabulary, others, question.usual):
            found.append(vocabulary.make_concept(word, terms))
    return found


def _translate(vocabulary: Vocabulary, word: str, question: Question) -> list[WeightedTerm]:
    """Translates a word that no note has into words of the notes' language."""
    if not question.usual or not word.isalpha() or len(word) < STEM_CHARS:
        return []
    language = question.language if question.language != question.usual else ""
    if not language and len(word) < SURE_CHARS:
        return []
    return find_with_forms(
        vocabulary, translate(word, language, question.usual, stem_word_of), question.usual
    )


def _make_concept(vocabulary: Vocabulary, unit: Unit, question: Question) -> Concept:
    language = question.language
    if not unit.looked_up:
        return Concept(unit, (WeightedTerm(unit.written, 1.0),), 0, 0.0)
    if unit.is_gram or unit.faint:
        notes = vocabulary.count_matches(unit.match)
        says_something = notes and not (unit.faint and notes > FAINT_SHARE * vocabulary.count)
        whole = (WeightedTerm(unit.written, 1.0),) if says_something else ()
        weight = FAINT_WEIGHT if unit.faint else GRAM_WEIGHT
        return Concept(unit, whole, notes, compute_idf(notes, vocabulary.count) * weight)
    word = unit.words[0]
    forms = vocabulary.find_forms(word, unit.shown, language)
    if language == "english":
        forms += _find_irregular_forms(vocabulary, {word, *forms})
        forms += filter(vocabulary.holds, sorted(respell(word)))
    own = [WeightedTerm(word, 1.0)] if vocabulary.holds(word) else []
    translated = [] if own or vocabulary.translates else _translate(vocabulary, word, question)
    if translated:
        # A stemmer for another language gives the same stem to unrelated words: données, done.
        forms = [
            form for form in forms if form.startswith(word[: max(SURE_CHARS, len(word) - LONGEST_ENDING)])
        ]
    if vocabulary.translates or not (own or forms):
        known = {term.word for term in translated}
        translated += [term for term in find_foreign_words(vocabulary, word) if term.word not in known]
    held = [*own, *(WeightedTerm(form, FORM_WEIGHT, form=True) for form in forms), *translated]
    held = held or _find_stand_ins(vocabulary, word)
    weight = SYNONYM_WEIGHT if held else ONLY_SYNONYM_WEIGHT
    synonyms = vocabulary.find_synonyms({word, *forms}, language, weight)
    concept = Concept(unit, tuple(held), 0, 0.0)
    if held:
        notes = vocabulary.count_matches(concept.match)
    else:
        notes = sum(vocabulary.count_word(term.word) for term in synonyms)
    idf = compute_idf(notes, vocabulary.count) * (LIGHT_WEIGHT if unit.light else 1.0)
    return replace(concept, terms=(*concept.terms, *synonyms), notes=notes, idf=idf)


def _find_irregular_forms(vocabulary: Vocabulary, words: set[str]) -> list[str]:
    found = [
        form
        for other in find_irregular_forms(words)
        for form in (other, *vocabulary.find_forms(other, other, "english"))
        if form not in words
    ]
    return list(filter(vocabulary.holds, dict.fromkeys(found)))


def _find_stand_ins(vocabulary: Vocabulary, word: str) -> list[WeightedTerm]:
    """Finds replacements for a word that no note has: longer words that begin with it, otherwise words that
    it may be a misspelling of, otherwise words that contain it. They never count as the word itself."""
    rows = vocabulary.db.execute(
        "SELECT term FROM vocabulary WHERE term > ? AND term < ?", (word, word + LAST)
    )
    if longer := _take_held(vocabulary, (term for (term,) in rows)):
        return [WeightedTerm(term, BEGINNING_WEIGHT) for term in longer]
    terms = vocabulary.index.terms
    terms.refresh(vocabulary.db)
    if near := _take_held(vocabulary, _find_near(vocabulary, word)):
        return [WeightedTerm(term, MISTYPED_WEIGHT, synonym=True) for term in near]
    inside = _take_held(vocabulary, sorted(terms.find_containing(word, EXPANSION) or []))
    return [WeightedTerm(term, INSIDE_WEIGHT) for term in inside]


def _take_held(vocabulary: Vocabulary, words: Iterable[str]) -> list[str]:
    return list(islice(filter(vocabulary.holds, words), STAND_INS))


def _find_near(vocabulary: Vocabulary, word: str) -> list[str]:
    """Returns words that differ by one typing error from a word that no note has: a letter added, missing,
    replaced or swapped with the next. The first letter must be the same, because people rarely mistype it."""
    size = len(word)
    if size < MISTYPED_CHARS or not word.isalpha():
        return []
    half = size // 2
    # The error is in one half of the word, so the other half is right.
    begin = word[:half]
    rows = vocabulary.db.execute(
        "SELECT term FROM terms WHERE term > ? AND term < ? AND length(term) BETWEEN ? AND ?",
        (begin, begin + LAST, size - 1, size + 1),
    ).fetchall()
    alike = [term for (term,) in rows]
    alike += vocabulary.index.terms.find_ending(word[half + 1 :], EXPANSION) or []
    return [term for term in sorted(set(alike)) if is_near(word, term)]


def is_near(word: str, other: str) -> bool:
    """Whether one typing error turns one word into the other."""
    if word[:1] != other[:1] or word == other:
        return False
    same = 0
    for letter, other_letter in zip(word, other, strict=False):
        if letter != other_letter:
            break
        same += 1
    left, right = word[same:], other[same:]
    if left[1:] == right[1:] or left[1:] == right or left == right[1:]:
        return True
    return left[:2] == right[1::-1] and left[2:] == right[2:]
