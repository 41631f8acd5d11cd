"""Combines several views of the notes that were read into one rank. Pure: no I/O.

Each view scores every note in its own way: by the words themselves and by all their forms, both weighted by
field (BM25F); by the best section together with the name of its note; by how rare the words are (close to the
cosine of tf-idf); by how close together they are; and, in a vault of several languages, by whether the note
is in the language of the question. Each view's scores are divided by its best score for this question, so
that none outweighs the others by its scale, and the weighted results are added.
`benchmarks/retrieval_bench.py` measures how much each contributes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import log
from typing import Final

from msgspec import Struct

from vaultbridge.index.ranking.features import ConceptCounts, NoteFeatures, SectionFeatures, add_counts
from vaultbridge.index.ranking.vocabulary import Concept

FIELD_WEIGHTS: Final = {
    "name": 5.0,
    "aliases": 6.0,
    "headings": 1.0,
    "tags": 3.0,
    "folder": 1.0,
    "lead": 1.5,
    "links": 2.0,
    "body": 1.0,
}
"""How much a word counts in each field. Headings, tags and the lead are in the body too; `links` is the text
around links in other notes that lead to this one."""

HEADED_WEIGHT: Final = 4.0
"""How much more a word counts in a section's heading when the sections of one note are compared. With this
and the text around links to sections, of 248 sections of a manual that were asked for 0.50 came first in
their note (0.47 without) and 0.67 were in the answer of `context` (0.64):
`retrieval_bench.py --sections 200`."""

VIEW_WEIGHTS: Final = {
    "words": 0.5,
    "forms": 1.0,
    "language": 1.0,
    "section": 1.0,
    "rare words": 0.25,
    "closeness": 0.6,
    "name": 0.3,
}

EXTRA_WEIGHT: Final = 1.0
"""The weight of a view computed elsewhere, such as by a model."""

SATURATION: Final = 1.6
LENGTH_SHARE: Final = 0.7
SECTION_LENGTH_SHARE: Final = 0.5
"""The constants of BM25: see `candidates`."""

RARITY: Final = 1.5
RARITY_LENGTH: Final = 0.4
"""The exponents of a word's rarity and of a note's length in the view of rare words."""

NEAR_CHARS: Final = 100
HALF_NEAR_CHARS: Final = 20
"""Two words are close together when there are no more characters than the first number between their
beginnings, and count half at the second."""

EXACT: Final = {"name": 20.0, "alias": 10.0}
"""More than all views together can give: a note whose name or alias is the question comes first."""


class ExtraView(Struct, frozen=True):
    """A view of the question computed elsewhere: places in notes, each a path, a line and a score above 0."""

    name: str
    places: tuple[tuple[str, int, float], ...]


class Scored(Struct):
    """A note with its score. `note` is None if it was not read; `parts` is each view's share; `lines` are the
    lines that views computed elsewhere point to, with their scores. There are up to a thousand of these, most
    of them not read, so the defaults allocate nothing."""

    id: int
    score: float
    note: NoteFeatures | None = None
    parts: dict[str, float] | None = None
    lines: Sequence[tuple[int, float]] = ()


class Views:
    """The views of one question."""

    def __init__(self, concepts: list[Concept], average_length: float) -> None:
        self._concepts = concepts
        self._average = average_length
        self._section_average = 1.0
        self._links: dict[int, ConceptCounts] = {}
        self._overlaps = [len(concept.unit.written) if concept.unit.is_gram else 0 for concept in concepts]

    def add_link_context(self, id_: int, counts: ConceptCounts) -> None:
        """Add the counts from the text around links to a note."""
        add_counts(self._links.setdefault(id_, {}), counts)

    def fuse(
        self,
        read: dict[int, NoteFeatures],
        exact: dict[int, str],
        extra: dict[int, dict[str, tuple[float, int]]],
    ) -> list[Scored]:
        """Returns the notes that were read with their scores, in no particular order."""
        sections = [section.length for note in read.values() for section in note.sections]
        self._section_average = max(1.0, sum(sections) / max(1, len(sections)))
        raw = {id_: self._compute(note) for id_, note in read.items()}
        highest = {view: max((scores[view] for scores in raw.values()), default=0.0) for view in VIEW_WEIGHTS}
        counted = [view for view in VIEW_WEIGHTS if view != "language" or highest[view]]
        total = sum(VIEW_WEIGHTS[view] for view in counted)
        fused: list[Scored] = []
        for id_, scores in raw.items():
            parts = {
                view: weight * scores[view] / highest[view] / total
                for view, weight in VIEW_WEIGHTS.items()
                if scores[view]
            }
            lines: list[tuple[int, float]] = []
            for name, (score, line) in extra.get(id_, {}).items():
                parts[name] = EXTRA_WEIGHT * score / total
                lines.append((line, score))
            if id_ in exact:
                parts[f"exact {exact[id_]}"] = EXACT[exact[id_]]
            fused.append(Scored(id_, sum(parts.values()), read[id_], parts, lines))
        return fused

    def _compute(self, note: NoteFeatures) -> dict[str, float]:
        fields = {**note.fields, "links": self._links.get(note.id, {})}
        words = [0.0] * len(self._concepts)
        forms = [0.0] * len(self._concepts)
        for field, counts in fields.items():
            weight = FIELD_WEIGHTS[field]
            for place, count in counts.items():
                words[place] += weight * count.words
                forms[place] += weight * count.forms
        length = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * note.length / self._average)
        rare = 0.0
        for concept, weight in zip(self._concepts, forms, strict=True):
            if weight:
                rare += concept.idf**RARITY * (1 + log(max(1.0, weight)))
        return {
            "words": self._saturate(words, length),
            "forms": self._saturate(forms, length),
            "language": note.language,
            "section": max((self.score_section(note, section) for section in note.sections), default=0.0),
            "rare words": rare / (note.length + 200) ** RARITY_LENGTH,
            "closeness": self._measure_closeness(note),
            "name": self._compare_name(note),
        }

    def _saturate(self, weights: list[float], length: float) -> float:
        return sum(
            concept.idf * weight * (SATURATION + 1) / (weight + length)
            for concept, weight in zip(self._concepts, weights, strict=True)
            if weight
        )

    def score_section(self, note: NoteFeatures, section: SectionFeatures) -> float:
        """Returns how well a section matches, by the words and by their forms. The name of the note belongs
        to each of its sections, which rarely repeat it."""
        if not section.counts:
            return 0.0
        counts = section.counts
        if "name" in note.fields:
            counts = {}
            add_counts(counts, section.counts)
            add_counts(counts, note.fields["name"])
        return self._score_counts(section, counts)

    def weigh_section(self, note: NoteFeatures, section: SectionFeatures) -> float:
        """Returns how well a section matches compared with the others of its note: what its heading says, and
        what is said where others link to it, count more than its text."""
        if not section.counts:
            return 0.0
        counts: ConceptCounts = {}
        add_counts(counts, section.counts)
        add_counts(counts, note.fields.get("name", {}))
        add_counts(counts, section.headed, HEADED_WEIGHT)
        add_counts(counts, section.linked, FIELD_WEIGHTS["links"])
        return self._score_counts(section, counts)

    def _score_counts(self, section: SectionFeatures, counts: ConceptCounts) -> float:
        share = SECTION_LENGTH_SHARE
        length = SATURATION * (1 - share + share * section.length / self._section_average)
        score = 0.0
        for place, count in counts.items():
            gain = self._concepts[place].idf * (SATURATION + 1)
            score += gain * (count.words / (count.words + length) + count.forms / (count.forms + length))
        return score

    def _compare_name(self, note: NoteFeatures) -> float:
        """Scores how much of the note's name the question has, by how rare the words are. A short name says
        better what its note is about than a long one that happens to contain a word."""
        named = note.fields.get("name")
        if not named:
            return 0.0
        held = {place: min(1.0, count.forms) for place, count in named.items()}
        rarity = sum(self._concepts[place].idf * share for place, share in held.items())
        return rarity * min(1.0, sum(held.values()) / note.name_words)

    def _measure_closeness(self, note: NoteFeatures) -> float:
        """Scores how many different words of the question are close together in the text or in the name. A
        pair counts as much as the more common of its two words. Overlapping pieces are parts of one word."""
        best: dict[tuple[int, int], float] = {}
        last_at, last = -1, -1
        for at, place in note.places:
            distance = at - last_at
            if last >= 0 and place != last and self._overlaps[last] <= distance <= NEAR_CHARS:
                pair = (min(last, place), max(last, place))
                best[pair] = max(best.get(pair, 0.0), 1 / (1 + distance / HALF_NEAR_CHARS))
            last_at, last = at, place
        if "name" in note.fields:
            best |= dict.fromkeys(combinations(sorted(note.fields["name"]), 2), 1.0)
        return sum(
            near * min(self._concepts[first].idf, self._concepts[second].idf)
            for (first, second), near in best.items()
        )
