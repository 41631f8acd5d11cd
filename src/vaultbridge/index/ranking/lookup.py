"""Looks the units of a question up in the word table, and chooses the notes worth reading.

The first of two stages. It knows only how often a word occurs in a note's path, headings and body, which the
table answers without reading any text. Rare words come first. When a word is so common that a note with
nothing else could not be among the best, only its presence is looked up, for notes that were found already.

A word is looked up with its other forms (`arrangement` and `arranged` for `arrangements`), with everyday
synonyms, and in the language of the notes if it is of another.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from heapq import nlargest
from itertools import islice
from math import log
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.index.fold import stands_apart
from vaultbridge.index.ranking.forms import (
    ALL_COMPARED_WORDS,
    CACHED_FORMS,
    COMPARED_WORDS,
    FORMS,
    LAST,
    STEM_CHARS,
    find_forms,
    stem_word,
    stem_word_of,
)
from vaultbridge.index.ranking.question import UNITS, Question, Unit
from vaultbridge.index.ranking.synonyms import find_irregular_forms, find_synonyms, respell
from vaultbridge.index.ranking.translations import translate, translate_unspaced
from vaultbridge.index.store.database import Index, read_meta

COLUMN_WEIGHTS: Final = {"path": 6.0, "heads": 2.0, "body": 1.0}
"""How much a word counts in each column of the table: in the path as much as several times in the body."""

FORM_WEIGHT: Final = 0.6
"""How much another form of a word counts against the word itself."""

SYNONYM_WEIGHT: Final = 0.15
ONLY_SYNONYM_WEIGHT: Final = 0.4
SYNONYMS: Final = 12
"""How much another word for the same thing counts beside the word itself, and where no note has that; and the
most of them, with their forms."""

TRANSLATION_WEIGHT: Final = 0.8
"""How much a word counts that stands for one of another language."""

SURE_CHARS: Final = 4
LONGEST_ENDING: Final = 3
"""How much of a word that has a translation another form of it must begin with, besides an ending."""

GRAM_WEIGHT: Final = 0.7
"""How much a piece of a script without spaces counts against a word as rare: the pieces of one word overlap,
so its characters count more than once."""

LIGHT_WEIGHT: Final = 0.5
"""How much a word that says something of every subject counts against others as rare."""

SATURATION: Final = 1.5
LENGTH_SHARE: Final = 0.6
"""The two constants of BM25: how soon more of the same word adds little, and how much a long note is held
against it."""

STAND_INS: Final = 40
"""The most longer words that may replace a word that no note contains."""

BEGINNING_WEIGHT: Final = 0.4
INSIDE_WEIGHT: Final = 0.2
"""How much a longer word counts that begins with the word in question, or contains it."""

MISTYPED_WEIGHT: Final = 0.5
MISTYPED_CHARS: Final = 5
"""How much a word counts that differs from the one in question by one typing error, and how long the latter
must be: a short word has too many neighbours that mean something else."""

FEW_NOTES: Final = 300
"""A word in no more notes than this is always looked up in full: it costs less than thinking about it."""

ENOUGH_NOTES: Final = 80
LIKELY_SHARE: Final = 0.6
"""So many notes must be better than what common words by themselves are likely to give, this share of the
most they could, before those are only looked up for presence. With the whole of it, judged questions are
answered no better, and take half as long again."""


MANY_NOTES: Final = 5000
"""A word in more notes than this is only looked up for presence. A question that consists only of such words
is answered from this many notes."""


class Term(Struct, frozen=True):
    """A word of the table that answers a unit. `weight` is 1 for the word itself and less for others. `form`
    marks another form of the word, as opposed to the word itself and its replacements; `synonym` marks
    another word."""

    word: str
    weight: float
    form: bool = False
    synonym: bool = False


class Concept(Struct, frozen=True):
    """A unit with the words that answer it, none if nothing does. `notes` is how many notes have one of them,
    synonyms apart; `idf` how much that says: the rarer, the more."""

    unit: Unit
    terms: tuple[Term, ...]
    notes: int
    idf: float

    @property
    def match(self) -> str:
        """The full-text query for the notes that have it. Words have letters and digits only, so nothing
        needs escaping."""
        if self.unit.is_gram:
            return self.unit.match
        return " OR ".join(f'"{term.word}"' for term in self.own_terms)

    @property
    def own_terms(self) -> Sequence[Term]:
        """The terms that are more than synonyms; if there are none, those that stand for the word."""
        own = [term for term in self.terms if not term.synonym]
        return own or [term for term in self.terms if term.weight > SYNONYM_WEIGHT] or self.terms


class Found(Struct):
    """`scores` has the first rank of each note; `holding` the notes of each concept, by its place, complete
    only for the notes in `scores`. `having` says of some words, as they stand in separated text, which notes
    may have them: no others do."""

    scores: dict[int, float]
    holding: list[set[int]]
    having: dict[str, set[int]]


class Vocabulary:
    """The words of the notes that a caller may see: of all, or of those that `sees` accepts. A word that only
    hidden notes have must not keep another from replacing it, or a caller could find out what they
    contain."""

    def __init__(
        self, index: Index, db: sqlite3.Connection, sees: Callable[[int], bool] | None = None
    ) -> None:
        self.index = index
        self.db = db
        self.sees = sees
        self._notes: dict[str, int] = {}
        generation = read_meta(db, "generation")
        if index.forms is None or index.forms[0] != generation:
            index.forms = (generation, {})
        self._forms = index.forms[1]

    def holds(self, word: str) -> bool:
        return self.count(f'"{word}"') > 0 if self.sees else self.count_word(word) > 0

    def count_word(self, word: str) -> int:
        """Returns how many notes have a word."""
        notes = self._notes.get(word)
        if notes is None:
            notes = self._notes[word] = count_notes(self.db, word)
        return notes

    def count(self, match: str) -> int:
        """Returns how many notes match, 0 if none of them may be seen."""
        if self.sees is not None:
            rows = self.db.execute("SELECT rowid FROM words WHERE words MATCH ?", (match,))
            if not any(self.sees(id_) for (id_,) in rows):
                return 0
        (notes,) = self.db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (match,)).fetchone()
        return int(notes)

    def find_forms(self, word: str, written: str, language: str) -> list[str]:
        """Returns the words of the notes that may be seen with the same stem, without the word itself, at
        most FORMS. `written` is the word with its accents."""
        # Words of hidden notes must not take the places of others.
        compared = COMPARED_WORDS if self.sees is None else ALL_COMPARED_WORDS
        key = (language, word, written, compared)
        forms = self._forms.get(key)
        if forms is None:
            forms = find_forms(self.db, word, written, language, compared)
            if len(self._forms) < CACHED_FORMS:
                self._forms[key] = forms
        return list(islice(filter(self.holds, forms), FORMS))


def shorten(vocabulary: Vocabulary, question: Question) -> tuple[Question, int]:
    """Returns a long question with no more than UNITS units that mean something, and how many words that
    notes have were left out: the more common ones. Pieces of a script without spaces take longer to look up,
    so of those the first are taken."""
    content = [unit for unit in question.units if not unit.function]
    if len(content) <= UNITS:
        return question, 0
    held = [unit for unit in content if not unit.is_gram and vocabulary.holds(unit.words[0])]
    held.sort(key=lambda unit: vocabulary.count_word(unit.words[0]))
    grams = [unit for unit in content if unit.is_gram]
    chosen = [*held[:UNITS], *grams[: max(0, UNITS - len(held))]] or content[:UNITS]
    kept = {unit.words for unit in chosen}
    units = tuple(unit for unit in question.units if unit.function or unit.words in kept)
    return replace(question, units=units), len(held) + len(grams) - len(chosen) if held or grams else 0


def choose_concepts(vocabulary: Vocabulary, question: Question, count: int) -> list[Concept]:
    """Returns what the question asks for. Function words count only if no note contains any of the others."""
    content = [unit for unit in question.units if not unit.function]
    concepts = _make_concepts(vocabulary, content, question, count)
    concepts += _translate_unspaced(vocabulary, concepts, question, count)
    if any(concept.notes for concept in concepts):
        return concepts
    return _make_concepts(vocabulary, question.units[:UNITS], question, count)


def _make_concepts(
    vocabulary: Vocabulary, units: Iterable[Unit], question: Question, count: int
) -> list[Concept]:
    concepts: list[Concept] = []
    forms: set[str] = set()
    for unit in units:
        if unit.words[0] in forms:
            # "note" after "notes": one thing, asked for once.
            continue
        concept = _make_concept(vocabulary, unit, question, count)
        forms.update(term.word for term in concept.terms if term.form)
        concepts.append(concept)
    known = [concept.idf for concept in concepts if concept.unit.looked_up and concept.terms]
    usual = sum(known) / max(1, len(known))
    return [one if one.unit.looked_up else replace(one, idf=usual) for one in concepts]


def _translate_unspaced(
    vocabulary: Vocabulary, concepts: list[Concept], question: Question, count: int
) -> list[Concept]:
    """Returns what a question in Chinese, Japanese or Korean asks for in the language of the notes, if hardly
    any note has a piece of it."""
    grams = [concept for concept in concepts if concept.unit.is_gram or stands_apart(concept.unit.shown[0])]
    if not grams or not question.usual or 2 * sum(bool(one.notes) for one in grams) > len(grams):
        return []
    found: list[Concept] = []
    for word, others in translate_unspaced(question.text, question.usual).items():
        terms = _find_forms_of_all(vocabulary, others, question.usual)
        if terms:
            concept = Concept(Unit(word, (word,)), tuple(terms), 0, 0.0)
            notes = vocabulary.count(concept.match)
            found.append(replace(concept, notes=notes, idf=compute_idf(notes, count)))
    return found


def _translate(vocabulary: Vocabulary, word: str, question: Question) -> list[Term]:
    """Returns words of the notes' language for one that no note has."""
    if not question.usual or not word.isalpha() or len(word) < STEM_CHARS:
        return []
    language = question.language if question.language != question.usual else ""
    if not language and len(word) < SURE_CHARS:
        return []
    return _find_forms_of_all(
        vocabulary, translate(word, language, question.usual, stem_word_of), question.usual
    )


def _find_forms_of_all(vocabulary: Vocabulary, words: Iterable[str], language: str) -> list[Term]:
    """Returns translations and their forms and synonyms, as far as notes have them."""
    found: dict[str, Term] = {}
    for word in words:
        if vocabulary.holds(word):
            found[word] = Term(word, TRANSLATION_WEIGHT, synonym=True)
        for form in vocabulary.find_forms(word, word, language):
            weight = FORM_WEIGHT * TRANSLATION_WEIGHT
            found.setdefault(form, Term(form, weight, form=True, synonym=True))
    for term in _find_synonyms(vocabulary, {*words, *found}, language, SYNONYM_WEIGHT):
        found.setdefault(term.word, term)
    return list(found.values())


def _make_concept(vocabulary: Vocabulary, unit: Unit, question: Question, count: int) -> Concept:
    language = question.language
    if not unit.looked_up:
        return Concept(unit, (Term(unit.written, 1.0),), 0, 0.0)
    db = vocabulary.db
    if unit.is_gram:
        notes = vocabulary.count(unit.match)
        whole = (Term(unit.written, 1.0),) if notes else ()
        return Concept(unit, whole, notes, compute_idf(notes, count) * GRAM_WEIGHT)
    word = unit.words[0]
    forms = vocabulary.find_forms(word, unit.shown, language)
    if language == "english":
        forms += _find_irregular_forms(vocabulary, {word, *forms})
        forms += filter(vocabulary.holds, sorted(respell(word)))
    own = [Term(word, 1.0)] if vocabulary.holds(word) else []
    translated = [] if own else _translate(vocabulary, word, question)
    if translated:
        # A stemmer for another language makes the wrong words alike: données, done.
        forms = [
            form for form in forms if form.startswith(word[: max(SURE_CHARS, len(word) - LONGEST_ENDING)])
        ]
    held = [*own, *(Term(form, FORM_WEIGHT, form=True) for form in forms), *translated]
    held = held or _find_stand_ins(vocabulary, word)
    weight = SYNONYM_WEIGHT if held else ONLY_SYNONYM_WEIGHT
    synonyms = _find_synonyms(vocabulary, {word, *forms}, language, weight)
    concept = Concept(unit, tuple(held), 0, 0.0)
    if len(held) == 1:
        notes = vocabulary.count_word(held[0].word)
    elif held:
        (notes,) = db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (concept.match,)).fetchone()
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


def _find_synonyms(vocabulary: Vocabulary, words: set[str], language: str, weight: float) -> list[Term]:
    if language != "english":
        return []
    found: dict[str, Term] = {}
    for synonym in find_synonyms(words, partial(stem_word, language)):
        for form in (synonym, *vocabulary.find_forms(synonym, synonym, language)):
            if form not in words and form not in found and vocabulary.holds(form):
                found[form] = Term(form, weight, form=True, synonym=True)
        if len(found) >= SYNONYMS:
            break
    return list(found.values())[:SYNONYMS]


def count_notes(db: sqlite3.Connection, word: str) -> int:
    row = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (word,)).fetchone()
    return 0 if row is None else int(row[0])


def compute_idf(notes: int, count: int) -> float:
    return log(1 + (max(count, notes) - notes + 0.5) / (notes + 0.5))


def _find_stand_ins(vocabulary: Vocabulary, word: str) -> list[Term]:
    """Words for one that no note has: longer ones that begin with it, or else words that it may have been
    meant for, or else that contain it. A note with a word that is only near does not have the word."""
    rows = vocabulary.db.execute(
        "SELECT term FROM vocabulary WHERE term > ? AND term < ?", (word, word + LAST)
    )
    if longer := _take_held(vocabulary, (found for (found,) in rows)):
        return [Term(found, BEGINNING_WEIGHT) for found in longer]
    terms = vocabulary.index.terms
    terms.refresh(vocabulary.db)
    if near := _take_held(vocabulary, _find_near(vocabulary, word)):
        return [Term(found, MISTYPED_WEIGHT, synonym=True) for found in near]
    inside = _take_held(vocabulary, terms.containing(word) or [])
    return [Term(found, INSIDE_WEIGHT) for found in inside]


def _take_held(vocabulary: Vocabulary, words: Iterable[str]) -> list[str]:
    return list(islice(filter(vocabulary.holds, words), STAND_INS))


def _find_near(vocabulary: Vocabulary, word: str) -> list[str]:
    """Returns words that differ from one that no note has by a letter more, less, other or exchanged with the
    next. The first letter is the same, which people rarely get wrong."""
    size = len(word)
    if size < MISTYPED_CHARS or not word.isalpha():
        return []
    half = size // 2
    # The slip is in one half, so the other is as asked.
    begin = word[:half]
    rows = vocabulary.db.execute(
        "SELECT term FROM terms WHERE term > ? AND term < ? AND length(term) BETWEEN ? AND ?",
        (begin, begin + LAST, size - 1, size + 1),
    ).fetchall()
    alike = [term for (term,) in rows]
    alike += vocabulary.index.terms.ending(word[half + 1 :]) or []
    return [term for term in dict.fromkeys(alike) if is_near(word, term)]


def is_near(word: str, other: str) -> bool:
    """Whether one slip makes one word of the other."""
    if word[:1] != other[:1] or word == other:
        return False
    same = 0
    for one, two in zip(word, other, strict=False):
        if one != two:
            break
        same += 1
    left, right = word[same:], other[same:]
    if left[1:] == right[1:] or left[1:] == right or left == right[1:]:
        return True
    return left[:2] == right[1::-1] and left[2:] == right[2:]


def find_candidates(
    index: Index, db: sqlite3.Connection, concepts: list[Concept], *, most: int = MANY_NOTES
) -> Found:
    """Returns the notes that have any of the concepts, with a first rank. A question that consists only of
    common words is answered from the first `most` notes, or from all if that is negative: a caller who may
    see few notes needs that, because all of the first may be hidden."""
    sizes, average = index.sizes(db)
    scores: dict[int, float] = {}
    holding: list[set[int]] = [set() for _ in concepts]
    having: dict[str, set[int]] = {}
    together: set[int] = set()
    places = sorted(
        (place for place, concept in enumerate(concepts) if concept.terms and concept.unit.looked_up),
        key=lambda place: concepts[place].notes,
    )
    base = SATURATION * (1 - LENGTH_SHARE)
    slope = SATURATION * LENGTH_SHARE / average
    left = sum(concepts[place].idf for place in places) * (SATURATION + 1)
    for place in places:
        concept = concepts[place]
        if concept.notes > MANY_NOTES:
            if not scores:
                # Only common words: notes that have all of them are worth more than any others.
                every = [concepts[one].match for one in places if concepts[one].match]
                together = _match(db, " AND ".join(f"({match})" for match in every), most)
                scores = dict.fromkeys(together, 0.0)
            weights, holding[place] = _weigh_common(db, concept, scores, together, most)
        elif concept.notes > FEW_NOTES and _is_settled(scores, left):
            holding[place] = _match(db, concept.match)
            having |= dict.fromkeys((term.word for term in concept.own_terms), holding[place])
            weights = dict.fromkeys(holding[place] & scores.keys(), 1.0)
        else:
            weights, holding[place] = _weigh_occurrences(db, concept, having)
        gain = concept.idf * (SATURATION + 1)
        for id_, weight in weights.items():
            scores[id_] = scores.get(id_, 0.0) + gain * weight / (weight + base + slope * sizes[id_])
        left -= gain
    return Found(scores, holding, having)


def _weigh_common(
    db: sqlite3.Connection, concept: Concept, scores: dict[int, float], together: set[int], most: int
) -> tuple[dict[int, float], set[int]]:
    """Weighs a concept that a great many notes contain: by its presence in notes that were found already and
    in names and headings, and in some of the others while there are few. `together` are notes that have it
    and all others."""
    heads = _match(db, f"{{path heads}} : ({concept.match})", most)
    if most < 0 or len(scores) + len(heads) < ENOUGH_NOTES:
        held = heads | together | _match(db, concept.match, most)
        weights = dict.fromkeys(held, 1.0)
    else:
        held = _match(db, concept.match)
        weights = dict.fromkeys(held & scores.keys(), 1.0)
    weights |= dict.fromkeys(heads, 1.0 + COLUMN_WEIGHTS["heads"])
    return weights, held


def _is_settled(scores: dict[int, float], left: float) -> bool:
    """Whether enough notes score more already than a note is likely to that has only the concepts left."""
    if len(scores) < ENOUGH_NOTES:
        return False
    return nlargest(ENOUGH_NOTES, scores.values())[-1] > left * LIKELY_SHARE


def _match(db: sqlite3.Connection, match: str, most: int = -1) -> set[int]:
    """Returns the notes that match, the first `most` of them; a negative number means all."""
    if not match:
        return set()
    rows = db.execute("SELECT rowid FROM words WHERE words MATCH ? LIMIT ?", (match, most)).fetchall()
    return {id_ for (id_,) in rows}


def _weigh_occurrences(
    db: sqlite3.Connection, concept: Concept, having: dict[str, set[int]]
) -> tuple[dict[int, float], set[int]]:
    """Returns how often each note has the concept, weighted by where and by which of its words, and the notes
    that have it by more than a synonym; adds to `having` which notes have each word."""
    weights: dict[int, float] = {}
    if concept.unit.is_gram:
        held = having[concept.unit.written] = _match(db, concept.match)
        weights = dict.fromkeys(held, 1.0)
        for (id_,) in db.execute("SELECT rowid FROM words WHERE words MATCH ?", (f"path : {concept.match}",)):
            weights[id_] += COLUMN_WEIGHTS["path"]
        return weights, held
    held = set()
    for term in concept.terms:
        rows = db.execute(
            "SELECT doc, col, count(*) FROM occurrences WHERE term = ? GROUP BY doc, col", (term.word,)
        ).fetchall()
        for id_, column, times in rows:
            weights[id_] = weights.get(id_, 0.0) + term.weight * COLUMN_WEIGHTS[column] * times
        having[term.word] = {id_ for id_, _, _ in rows}
        if not term.synonym:
            held |= having[term.word]
    return weights, held
