"""Turns the units of a question into concepts: the words of the vault that match each.

A word is looked up together with its other forms (`arrangement` and `arranged` for `arrangements`), with
everyday synonyms and, if the notes are in another language, with translations.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.index.fold import LAST, NEIGHBOURS, fold_text, stands_apart
from vaultbridge.index.query.relevance import compute_idf
from vaultbridge.index.ranking.dictd import Dictionary, open_dictionary
from vaultbridge.index.ranking.dictionary import PHRASE_WORDS, find_chinese, load_meanings, look_up
from vaultbridge.index.ranking.forms import (
    FORMS,
    STEM_CHARS,
    find_forms,
    stem_word,
    stem_word_of,
)
from vaultbridge.index.ranking.function_words import count_function_words
from vaultbridge.index.ranking.question import GRAM, UNITS, Question, Unit, split_grams
from vaultbridge.index.ranking.synonyms import find_irregular_forms, find_synonyms, respell
from vaultbridge.index.ranking.translations import translate, translate_unspaced
from vaultbridge.index.store.database import EXPANSION, Index
from vaultbridge.index.word_table import WordTable

FORM_WEIGHT: Final = 0.6
"""How much another form of a word counts, relative to the word itself."""

SYNONYM_WEIGHT: Final = 0.15
ONLY_SYNONYM_WEIGHT: Final = 0.4
SYNONYMS: Final = 12
"""How much a synonym counts next to the word itself, and if no note has the word; and the most synonyms, with
their forms."""

TRANSLATION_WEIGHT: Final = 0.8
"""How much the translation of a word counts."""

TRANSLATIONS: Final = 12
TRIED_TRANSLATIONS: Final = 40
"""The most words of a dictionary for an English one, of those in notes, and the most that are looked for
there."""

CHINESE_WORD: Final = "的"
CHINESE_SHARE: Final = 0.2
"""A vault has notes in Chinese if at least this share of them has the commonest word of the language."""

SURE_CHARS: Final = 4
LONGEST_ENDING: Final = 3
"""A form of a word that has a translation must begin like the word, up to an ending of at most this many
characters, and for at least SURE_CHARS."""

GRAM_WEIGHT: Final = 0.7
"""How much a piece of a script without spaces counts, relative to a word that is as rare. The pieces of one
word overlap, so its characters count more than once."""

FAINT_WEIGHT: Final = 0.5
"""How much a single ideograph counts, relative to a word that is as rare: it is part of a pair, and most
ideographs have many meanings."""

FAINT_SHARE: Final = 0.25
"""An ideograph in more than this share of the notes is not looked up: it says next to nothing, and costs most
time."""

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


class WeightedTerm(Struct, frozen=True):
    """A word of the table that matches a unit. `weight` is 1 for the word itself and less for others. `form`
    marks another form of the word, as opposed to the word itself and its replacements; `synonym` marks
    another word with the same meaning."""

    word: str
    weight: float
    form: bool = False
    synonym: bool = False


class Concept(Struct, frozen=True):
    """A unit with the words of the table that match it, if any. `notes` is how many notes have one of them,
    not counting synonyms. `idf` is higher the rarer they are."""

    unit: Unit
    terms: tuple[WeightedTerm, ...]
    notes: int
    idf: float

    @property
    def match(self) -> str:
        """The full-text query for the notes that have it. Words consist of letters and digits, so nothing
        needs escaping."""
        if self.unit.is_gram:
            return self.unit.match
        return " OR ".join(f'"{term.word}"' for term in self.own_terms)

    @property
    def own_terms(self) -> Sequence[WeightedTerm]:
        """The terms that are not synonyms; if there are none, those that replace the word."""
        own = [term for term in self.terms if not term.synonym]
        return own or [term for term in self.terms if term.weight > SYNONYM_WEIGHT] or self.terms


class Vocabulary:
    """The words of the notes."""

    def __init__(self, index: Index, db: sqlite3.Connection) -> None:
        self.index = index
        self.db = db
        self.chinese = False
        self.dictionary: Dictionary | None = None
        self.surely_english = False
        self.table = WordTable(db)

    def holds(self, word: str) -> bool:
        return self.table.holds(f'"{word}"')

    def count_word(self, word: str) -> int:
        """Returns how many notes have a word."""
        return count_notes(self.db, word)

    @property
    def translates(self) -> bool:
        """Whether every word of the question is looked up in a dictionary."""
        return self.chinese or (self.dictionary is not None and self.surely_english)

    def open_dictionary(
        self, question: Question, count: int, language: str, folders: tuple[Path, ...]
    ) -> None:
        """Use a dictionary, if there is one, for an English question to `count` notes of which many are in
        Chinese, or in this `language`. A question without function words may be in English: of that, only
        words that no note has are looked up."""
        if not all(unit.shown.isascii() for unit in question.units):
            return
        if self.count_word(CHINESE_WORD) >= CHINESE_SHARE * count:
            self.chinese = bool(load_meanings())
        elif language:
            words = [unit.words[0] for unit in question.units]
            english = count_function_words(words, "english")
            others = count_function_words(words, language)
            self.surely_english = english > others
            if self.surely_english or not others:
                self.dictionary = open_dictionary(language, folders)

    def count(self, match: str) -> int:
        """Returns how many notes match. They are remembered, because `candidates` needs most of them."""
        return len(self.table.find(match))

    def find_forms(self, word: str, written: str, language: str) -> list[str]:
        """Returns at most FORMS other words with the same stem. `written` is the word with its accents."""
        forms = find_forms(self.db, word, written, language)
        return list(islice(filter(self.holds, forms), FORMS))


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


def choose_concepts(vocabulary: Vocabulary, question: Question, count: int) -> list[Concept]:
    """Returns the concepts of a question. Function words count only if no note contains any other word of
    it, and single ideographs only if no note contains two together as asked."""
    sure = [unit for unit in question.units if not unit.faint]
    content = [unit for unit in question.units if not unit.function]
    concepts = _make_concepts(vocabulary, content, question, count)
    concepts += _translate_unspaced(vocabulary, concepts, question, count)
    concepts += _translate_phrases(vocabulary, question, count)
    if any(concept.notes for concept in concepts if not concept.unit.faint):
        return concepts
    concepts = _make_concepts(vocabulary, sure[:UNITS], question, count)
    if any(concept.notes for concept in concepts):
        return concepts
    return concepts + _make_concepts(vocabulary, split_grams(sure)[:UNITS], question, count)


def _make_concepts(
    vocabulary: Vocabulary, units: Iterable[Unit], question: Question, count: int
) -> list[Concept]:
    concepts: list[Concept] = []
    forms: set[str] = set()
    for unit in units:
        if unit.words[0] in forms:
            # "note" after "notes" is the same concept, which counts once.
            continue
        concept = _make_concept(vocabulary, unit, question, count)
        forms.update(term.word for term in concept.terms if term.form)
        concepts.append(concept)
    known = [concept.idf for concept in concepts if concept.unit.looked_up and concept.terms]
    usual = sum(known) / max(1, len(known))
    return [concept if concept.unit.looked_up else replace(concept, idf=usual) for concept in concepts]


def _translate_unspaced(
    vocabulary: Vocabulary, concepts: list[Concept], question: Question, count: int
) -> list[Concept]:
    """Translates a question in Chinese, Japanese or Korean into concepts in the language of the notes, if
    hardly any note contains a piece of it."""
    units = [concept for concept in concepts if not concept.unit.faint]
    grams = [concept for concept in units if concept.unit.is_gram or stands_apart(concept.unit.shown[0])]
    if not grams or not question.usual or 2 * sum(bool(gram.notes) for gram in grams) > len(grams):
        return []
    found: list[Concept] = []
    for word, others in translate_unspaced(question.text, question.usual).items():
        terms = _find_forms_of_all(vocabulary, others, question.usual)
        if terms:
            concept = Concept(Unit(word, (word,)), tuple(terms), 0, 0.0)
            notes = vocabulary.count(concept.match)
            found.append(replace(concept, notes=notes, idf=compute_idf(notes, count)))
    return found


def _translate_phrases(vocabulary: Vocabulary, question: Question, count: int) -> list[Concept]:
    """Translates words that have a meaning together, such as "white noise", with a dictionary."""
    found: list[Concept] = []
    shown = [unit.shown for unit in question.units] if vocabulary.translates else []
    for size in range(PHRASE_WORDS, 1, -1):
        for start in range(len(shown) - size + 1):
            phrase = " ".join(shown[start : start + size])
            terms = _look_up(vocabulary, phrase, count)
            if terms:
                concept = Concept(Unit(phrase, (phrase,)), tuple(terms), 0, 0.0)
                notes = vocabulary.count(concept.match)
                found.append(replace(concept, notes=notes, idf=compute_idf(notes, count)))
    return found


def _look_up(vocabulary: Vocabulary, word: str, count: int) -> list[WeightedTerm]:
    """Returns the words of a dictionary for an English word that occur in notes."""
    if vocabulary.chinese:
        return _find_chinese(vocabulary, word, count)
    dictionary = vocabulary.dictionary
    if dictionary is None or not word.isascii():
        return []
    words: list[str] = []
    for spelling in (word, *sorted(respell(word))):
        words += look_up(dictionary.find, spelling)
    words = list(dict.fromkeys(words))[:TRIED_TRANSLATIONS]
    return _find_forms_of_all(vocabulary, words, dictionary.language)[:TRANSLATIONS]


def _find_chinese(vocabulary: Vocabulary, word: str, count: int) -> list[WeightedTerm]:
    """Returns the Chinese words for an English one that occur in notes, those of more than one character
    first, because a single one means many things."""
    words = look_up(find_chinese, word)
    words.sort(key=lambda word: len(word) < GRAM)
    found: list[WeightedTerm] = []
    for chinese in words[:TRIED_TRANSLATIONS]:
        single = len(chinese) < GRAM
        if single and found:
            break
        written = NEIGHBOURS.join(fold_text(chinese))
        if vocabulary.holds(written) and not (
            single and vocabulary.count_word(written) > FAINT_SHARE * count
        ):
            found.append(
                WeightedTerm(written, TRANSLATION_WEIGHT * (FAINT_WEIGHT if single else 1), synonym=True)
            )
        if len(found) == TRANSLATIONS:
            break
    return found


def _translate(vocabulary: Vocabulary, word: str, question: Question) -> list[WeightedTerm]:
    """Translates a word that no note has into words of the notes' language."""
    if not question.usual or not word.isalpha() or len(word) < STEM_CHARS:
        return []
    language = question.language if question.language != question.usual else ""
    if not language and len(word) < SURE_CHARS:
        return []
    return _find_forms_of_all(
        vocabulary, translate(word, language, question.usual, stem_word_of), question.usual
    )


def _find_forms_of_all(vocabulary: Vocabulary, words: Iterable[str], language: str) -> list[WeightedTerm]:
    """Returns those of the translations, and of their forms and synonyms, that occur in notes."""
    found: dict[str, WeightedTerm] = {}
    for word in words:
        if vocabulary.holds(word):
            found[word] = WeightedTerm(word, TRANSLATION_WEIGHT, synonym=True)
        for form in vocabulary.find_forms(word, word, language):
            weight = FORM_WEIGHT * TRANSLATION_WEIGHT
            found.setdefault(form, WeightedTerm(form, weight, form=True, synonym=True))
    for term in _find_synonyms(vocabulary, {*words, *found}, language, SYNONYM_WEIGHT):
        found.setdefault(term.word, term)
    return list(found.values())


def _make_concept(vocabulary: Vocabulary, unit: Unit, question: Question, count: int) -> Concept:
    language = question.language
    if not unit.looked_up:
        return Concept(unit, (WeightedTerm(unit.written, 1.0),), 0, 0.0)
    if unit.is_gram or unit.faint:
        notes = vocabulary.count(unit.match)
        says_something = notes and not (unit.faint and notes > FAINT_SHARE * count)
        whole = (WeightedTerm(unit.written, 1.0),) if says_something else ()
        weight = FAINT_WEIGHT if unit.faint else GRAM_WEIGHT
        return Concept(unit, whole, notes, compute_idf(notes, count) * weight)
    word = unit.words[0]
    forms = vocabulary.find_forms(word, unit.shown, language)
    if language == "english":
        forms += _find_irregular_forms(vocabulary, {word, *forms})
        forms += filter(vocabulary.holds, sorted(respell(word)))
    own = [WeightedTerm(word, 1.0)] if vocabulary.holds(word) else []
    translated = [] if own else _translate(vocabulary, word, question)
    if translated:
        # A stemmer for another language gives the same stem to unrelated words: données, done.
        forms = [
            form for form in forms if form.startswith(word[: max(SURE_CHARS, len(word) - LONGEST_ENDING)])
        ]
    if vocabulary.translates or not (own or forms):
        translated += _look_up(vocabulary, word, count)
    held = [*own, *(WeightedTerm(form, FORM_WEIGHT, form=True) for form in forms), *translated]
    held = held or _find_stand_ins(vocabulary, word)
    weight = SYNONYM_WEIGHT if held else ONLY_SYNONYM_WEIGHT
    synonyms = _find_synonyms(vocabulary, {word, *forms}, language, weight)
    concept = Concept(unit, tuple(held), 0, 0.0)
    if held:
        notes = vocabulary.count(concept.match)
    else:
        notes = sum(vocabulary.count_word(term.word) for term in synonyms)
    idf = compute_idf(notes, count) * (LIGHT_WEIGHT if unit.light else 1.0)
    return replace(concept, terms=(*concept.terms, *synonyms), notes=notes, idf=idf)


def _find_irregular_forms(vocabulary: Vocabulary, words: set[str]) -> list[str]:
    found = [
        form
        for other in find_irregular_forms(words)
        for form in (other, *vocabulary.find_forms(other, other, "english"))
        if form not in words
    ]
    return list(filter(vocabulary.holds, dict.fromkeys(found)))


def _find_synonyms(
    vocabulary: Vocabulary, words: set[str], language: str, weight: float
) -> list[WeightedTerm]:
    if language != "english":
        return []
    found: dict[str, WeightedTerm] = {}
    for synonym in find_synonyms(words, partial(stem_word, language)):
        for form in (synonym, *vocabulary.find_forms(synonym, synonym, language)):
            if form not in words and form not in found and vocabulary.holds(form):
                found[form] = WeightedTerm(form, weight, form=True, synonym=True)
        if len(found) >= SYNONYMS:
            break
    return list(found.values())[:SYNONYMS]


def count_notes(db: sqlite3.Connection, word: str) -> int:
    row = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,)).fetchone()
    return 0 if row is None else int(row[0])


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
