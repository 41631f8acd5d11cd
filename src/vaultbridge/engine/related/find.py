"""Finds what belongs to a note or a text and is not linked with it yet.

Several kinds of evidence are weighed together: a name that is mentioned but not linked, in either note; rare
words that both have; neighbours that both have; for a short text, what a search for it finds; and, if the
user runs a model, a similar meaning. One common word is no evidence. What does
not exist for the caller neither appears nor counts. The text and the hash of an offered edit come from the
disk, so that the edit is refused if the note has changed since.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from heapq import nsmallest
from itertools import chain
from math import log
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.engine.related.edits import EditableNote, link_at_end, link_mention
from vaultbridge.engine.related.mentions import Beginnings, UnlinkedMention, find_mentions
from vaultbridge.engine.related.shared import (
    COMMON_NOTES,
    SharedNeighbours,
    SharedWords,
    find_by_neighbours,
    find_by_words,
    find_notes_with,
)
from vaultbridge.errors import VaultbridgeError
from vaultbridge.index.fold import split_words
from vaultbridge.index.store.rows import decode_note
from vaultbridge.index.word_table import find_notes
from vaultbridge.links.graph import Neighbours
from vaultbridge.links.resolve import FileTable, name_key
from vaultbridge.links.syntax import note_name
from vaultbridge.markdown.edits.change import end_of_line, start_of_line
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.parse import parse
from vaultbridge.vault.paths import VaultPath

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine
    from vaultbridge.engine.queries import Snapshot
    from vaultbridge.index.query.hits import HitMatch

MENTION_WEIGHT: Final = 1.6
MENTIONED_WEIGHT: Final = 0.8
WORDS_WEIGHT: Final = 1.2
NEIGHBOURS_WEIGHT: Final = 1.6
MEANING_WEIGHT: Final = 1.0
SEARCH_WEIGHT: Final = 1.6
"""How much each kind of evidence counts. Chosen on half of the links hidden in a public manual; the other
half confirmed them (benchmarks/related_bench.py)."""

MENTIONING: Final = 60
"""How many notes that contain a name, by the word table, are read to see whether they mention it: some have
it only in code."""

CANDIDATES: Final = 60
"""How many notes may be offered: the best by all the evidence."""

SHOWN_REASONS: Final = 4
"""How many words or neighbours are named as a reason."""

SEARCHED_CHARS: Final = 200
"""The longest text that is also searched for, as a question of one or two sentences. A longer one has rare
words of its own."""

SNIPPET_CHARS: Final = 60
"""How much of a line is shown on either side of a mention."""

MEANING_FLOOR: Final = 0.5
"""With most models, two passages below this cosine have nothing in common."""


class Related(Struct, frozen=True):
    """A note that is related to the subject. `reasons` are for people. `edit` has the arguments of
    `edit_note` that make the link, from either note; None if no edit is certain."""

    path: VaultPath
    score: float
    reasons: tuple[str, ...]
    edit: dict[str, Any] | None


class Evidence(Struct):
    """The evidence that one note is related. `mentions` are mentions of it in the subject, `mentioned` are
    mentions of the subject in it, and `match` a line that search finds for a short text."""

    score: float = 0.0
    mentions: list[UnlinkedMention] = []
    mentioned: list[UnlinkedMention] = []
    words: tuple[str, ...] = ()
    telling: bool = True
    neighbours: tuple[str, ...] = ()
    meaning: float = 0.0
    match: HitMatch | None = None

    @property
    def suffices(self) -> bool:
        """Whether it is more than one common word."""
        others = self.mentions or self.mentioned or self.neighbours or self.meaning or self.match
        return self.score > 0 and bool(others or self.telling)


class Subject(Struct, frozen=True):
    """What related notes are sought for: a note, or a text that is in no note (then `path` is empty)."""

    path: str
    title: str
    names: tuple[str, ...]
    text: str
    note: Note


class RelatedPage(Struct, frozen=True):
    """Some of `total` notes."""

    rows: tuple[Related, ...]
    total: int


def find_related(engine: Engine, path: VaultPath, *, limit: int = 10, offset: int = 0) -> RelatedPage:
    """Return what belongs to a note and is not linked with it in either direction, best first. Raises
    NoteNotFound."""
    view = engine.view(path)
    subject = Subject(path, note_name(path), (note_name(path), *view.note.aliases), view.text, view.note)
    with RelatedSearch.open(engine) as search:
        ranked = search.rank(subject)
    place = EditableNote(path, view.text, view.note, view.hash)
    page = ranked[offset : offset + limit]
    rows = tuple(search.offer(place, subject, other, evidence) for other, evidence in page)
    return RelatedPage(rows, len(ranked))


def find_related_to_text(engine: Engine, text: str, *, limit: int = 10, offset: int = 0) -> RelatedPage:
    """Return the notes related to a text. There is no note to edit: a mention's edit names the text to
    replace and nothing else."""
    note = parse(text)
    subject = Subject("", "", (), text, note)
    with RelatedSearch.open(engine) as search:
        ranked = search.rank(subject)
    page = ranked[offset : offset + limit]
    rows = tuple(search.offer_for_text(subject, other, evidence) for other, evidence in page)
    return RelatedPage(rows, len(ranked))


class RelatedSearch:
    """One look at the vault, within one reading transaction of the index."""

    def __init__(self, engine: Engine, at: Snapshot) -> None:
        self.engine = engine
        self.db = at.db
        index, db = at.index, at.db
        self._ignored = index.ignored(db)
        self.table: FileTable = index.table(db)
        self.paths = index.paths(db)
        self._ignored_paths = {self.paths[id_] for id_ in index.ignored(db)}
        self.count = len(index.searchable(db))
        self.around: Neighbours = engine.queries.neighbours(at)
        self._sizes = index.sizes(db)[0]
        self._alias_keys = self._load_alias_keys()
        self._beginnings = Beginnings(chain(self.table.list_keys(".md"), self._alias_keys))
        self._shared: tuple[Subject, dict[int, SharedWords]] | None = None

    @classmethod
    @contextlib.contextmanager
    def open(cls, engine: Engine) -> Iterator[RelatedSearch]:
        with engine.queries.snapshot() as at:
            yield cls(engine, at)

    def find_id(self, path: str) -> int:
        """The id of a file, 0 if there is none."""
        row = self.db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
        return 0 if row is None else int(row[0])

    def _load_alias_keys(self) -> set[str]:
        """The keys of all aliases as one text: few of the words in a note are aliases. No
        line of a note can mention an alias of several lines, so that it does not matter that such a key is
        split here."""
        (joined,) = self.db.execute("SELECT group_concat(key, char(10)) FROM aliases").fetchone()
        return set((joined or "").split("\n"))

    def _find_aliased(self, key: str) -> list[str]:
        if key not in self._alias_keys:
            return []
        rows = self.db.execute("SELECT file FROM aliases WHERE key = ? ORDER BY file", (key,))
        return [self.paths[id_] for (id_,) in rows if id_ not in self._ignored]

    def sees(self, path: str) -> bool:
        """Whether a file belongs in views."""
        return path not in self._ignored_paths

    def _knows(self, path: str) -> bool:
        return path in self.table and self.sees(path)

    def lookup(self, key: str) -> Sequence[str]:
        """The notes that have a name or alias with this key."""
        named = self.table.paths_named(f"{key}.md")
        aliased = self._find_aliased(key)
        if not named and not aliased:
            return ()
        if len(key) < 2 or key.isdigit():
            return ()
        # As in a link, a name comes before an alias.
        return [path for path in named if self.sees(path)] or aliased

    def rank(self, subject: Subject) -> list[tuple[str, Evidence]]:
        """All notes for which there is evidence and that are not linked with the subject, best first."""
        found: dict[str, Evidence] = {}
        linked = {subject.path, *self.around(subject.path)} if subject.path else set()
        self._add_mentions(subject, found, linked)
        self._add_words(subject, found, linked)
        if subject.path:
            self._add_neighbours(subject, found, linked)
            self._add_mentioned(subject, found, linked)
            self._add_meaning(subject, found, linked)
        else:
            self._add_search(subject, found)
        scored = ((path, evidence) for path, evidence in found.items() if evidence.suffices)
        return nsmallest(CANDIDATES, scored, key=lambda row: (-row[1].score, row[0]))

    def _add(self, found: dict[str, Evidence], path: str) -> Evidence:
        return found.setdefault(path, Evidence(mentions=[], mentioned=[]))

    def _add_mentions(self, subject: Subject, found: dict[str, Evidence], linked: set[str]) -> None:
        mentioned = find_mentions(subject.text, subject.note, self.lookup, beginnings=self._beginnings)
        for path, mentions in mentioned.items():
            if path not in linked:
                evidence = self._add(found, path)
                evidence.mentions = mentions
                name = subject.text[mentions[0].start : mentions[0].end]
                evidence.score += MENTION_WEIGHT * self._rarity(name)

    def _add_words(self, subject: Subject, found: dict[str, Evidence], linked: set[str]) -> None:
        for id_, words in self._find_shared_words(subject).items():
            path = self.paths.get(id_, "")
            if path.lower().endswith(".md") and path not in linked:
                evidence = self._add(found, path)
                evidence.words, evidence.telling = words.words[:SHOWN_REASONS], words.telling
                evidence.score += WORDS_WEIGHT * self._weigh_words(id_, words)

    def _add_search(self, subject: Subject, found: dict[str, Evidence]) -> None:
        """A short text is what people would search for, and may have only common words."""
        if len(subject.text) > SEARCHED_CHARS:
            return
        page = self.engine.queries.rank(subject.text, limit=CANDIDATES)
        best = max((note.score for note in page.notes), default=0.0) or 1.0
        for note in page.notes:
            if note.path.lower().endswith(".md"):
                evidence = self._add(found, note.path)
                evidence.score += SEARCH_WEIGHT * note.score / best
                evidence.match = next((match for part in note.sections for match in part.matches), None)

    def _find_shared_words(self, subject: Subject) -> dict[int, SharedWords]:
        if self._shared is None or self._shared[0] is not subject:
            start = subject.note.properties.end if subject.note.properties is not None else 0
            found = find_by_words(
                self.db,
                subject.text[start:],
                subject.title,
                own=self.find_id(subject.path),
                count=self.count,
            )
            self._shared = (subject, found)
        return self._shared[1]

    def list_by_shared_words(self, subject: Subject, least: float) -> list[str]:
        """Notes that share at least this part of the rare words, linked or not, those that share most
        first."""
        found = [(-shared.score, self.paths[id_]) for id_, shared in self._find_shared_words(subject).items()]
        return [path for score, path in sorted(found) if -score >= least and path.lower().endswith(".md")]

    def _weigh_words(self, id_: int, words: SharedWords) -> float:
        """A long note shares words by chance."""
        return words.score / (1 + log(1 + self._sizes[id_] / 4000) / 4)

    def _add_neighbours(self, subject: Subject, found: dict[str, Evidence], linked: set[str]) -> None:
        shared: dict[str, SharedNeighbours] = find_by_neighbours(subject.path, self._notes_around)
        for path, neighbours in shared.items():
            if path.lower().endswith(".md") and path not in linked and self.sees(path):
                evidence = self._add(found, path)
                evidence.neighbours = neighbours.notes
                evidence.score += NEIGHBOURS_WEIGHT * neighbours.score

    def _notes_around(self, path: str) -> list[str]:
        """An icon that two notes share says nothing about them."""
        return [other for other in self.around(path) if other.lower().endswith((".md", ".canvas"))]

    def _add_mentioned(self, subject: Subject, found: dict[str, Evidence], linked: set[str]) -> None:
        """Notes that mention the subject. The word table suggests them; their text decides whether they
        do."""
        keys = {key for name in subject.names if [*self.lookup(key := name_key(name))] == [subject.path]}
        for name in subject.names:
            words = split_words(name)
            if name_key(name) not in keys or not words:
                continue
            rarity = self._rarity(name)
            for path in self._find_notes_with(f'body : "{" ".join(words)}"', found, linked):
                evidence = self._add(found, path)
                if not evidence.mentioned:
                    evidence.mentioned = self._mentions_of(subject.path, keys, path)
                    evidence.score += MENTIONED_WEIGHT * rarity if evidence.mentioned else 0.0

    def find_mentioning(self, names: Collection[str]) -> list[str]:
        """The notes that contain one of these names, by the word table: some have it only in code or in a
        longer name."""
        found: set[int] = set()
        for words in filter(None, map(split_words, names)):
            found |= find_notes(self.db, f'body : "{" ".join(words)}"')
        paths = (self.paths.get(id_, "") for id_ in found)
        return sorted(path for path in paths if path.lower().endswith(".md"))

    def _find_notes_with(self, phrase: str, found: dict[str, Evidence], linked: set[str]) -> list[str]:
        """The notes that contain a phrase, those with the most evidence first."""
        paths = [self.paths.get(id_, "") for id_ in find_notes(self.db, phrase)]
        notes = [path for path in paths if path.lower().endswith(".md") and path not in linked]
        notes.sort(key=lambda path: (-found[path].score if path in found else 0.0, path))
        return notes[:MENTIONING]

    def _mentions_of(self, wanted: str, keys: Collection[str], path: str) -> list[UnlinkedMention]:
        text, blob = self.db.execute(
            "SELECT text, note FROM texts JOIN notes USING (id) WHERE id = ?", (self.find_id(path),)
        ).fetchone()
        return _find_names(text, decode_note(blob), wanted, keys)

    def _add_meaning(self, subject: Subject, found: dict[str, Evidence], linked: set[str]) -> None:
        embeddings = self.engine.embeddings
        if embeddings is None:
            return
        for near in embeddings.rank_by_note(subject.path, limit=CANDIDATES, visible=self._knows):
            if near.path not in linked and self.find_id(near.path) and near.score > MEANING_FLOOR:
                evidence = self._add(found, near.path)
                evidence.meaning = near.score
                evidence.score += MEANING_WEIGHT * (near.score - MEANING_FLOOR) / (1 - MEANING_FLOOR)

    def _rarity(self, name: str) -> float:
        """From 0 for a name that every note contains to 1 for one that a single note does. Notes are counted
        only as far as the count matters."""
        words = split_words(name)
        if not words:
            return 0.2
        notes = min(COMMON_NOTES + 1, len(find_notes_with(self.db, " ".join(words))))
        rarity = log((self.count + 1) / max(1, notes)) / log(self.count + 1) if self.count else 1.0
        return max(0.05, min(1.0, 0.25 + 0.75 * rarity))

    # What is offered.

    def offer(self, place: EditableNote, subject: Subject, path: str, evidence: Evidence) -> Related:
        settings = self.engine.settings.links
        edit: dict[str, Any] | None = None
        for mention in evidence.mentions:
            edit = edit or link_mention(place, path, mention, self.table, settings)
        if edit is None and evidence.mentioned:
            there = self.read(path)
            edit = None if there is None else self.offer_there(subject, there)
        if edit is None:
            edit = link_at_end(place, path, self.table, settings)
        return Related(
            VaultPath(path), round(evidence.score, 3), tuple(explain(subject, path, evidence)), edit
        )

    def offer_there(self, subject: Subject, there: EditableNote) -> dict[str, Any] | None:
        """The edit of another note, where it mentions the subject."""
        keys = {name_key(name) for name in subject.names}
        for mention in _find_names(there.text, there.note, subject.path, keys):
            edit = link_mention(there, subject.path, mention, self.table, self.engine.settings.links)
            if edit is not None:
                return edit
        return None

    def offer_for_text(self, subject: Subject, path: str, evidence: Evidence) -> Related:
        place = EditableNote("", subject.text, subject.note, "")
        edit: dict[str, Any] | None = None
        for mention in evidence.mentions:
            made = edit or link_mention(place, path, mention, self.table, self.engine.settings.links)
            edit = made and {"old": made["old"], "new": made["new"]}
        return Related(
            VaultPath(path), round(evidence.score, 3), tuple(explain(subject, path, evidence)), edit
        )

    def read(self, path: str) -> EditableNote | None:
        try:
            view = self.engine.view(path)
        except VaultbridgeError:
            return None
        return EditableNote(view.path, view.text, view.note, view.hash) if view.path == path else None


def _find_names(text: str, note: Note, path: str, keys: Collection[str]) -> list[UnlinkedMention]:
    """The mentions of one note, whose names have these keys."""
    named = (path,)
    mentions = find_mentions(
        text, note, lambda key: named if key in keys else (), beginnings=Beginnings(keys), only=keys
    )
    return mentions.get(path, [])


def explain(subject: Subject, path: str, evidence: Evidence) -> Iterator[str]:
    """The reasons, the strongest first."""
    if evidence.mentions:
        first = evidence.mentions[0]
        yield f"mentioned at line {first.line}: {_snippet(subject.text, first)}"
    if evidence.mentioned:
        yield f"mentions this at {path}:{evidence.mentioned[0].line}"
    if evidence.neighbours:
        names = ", ".join(note_name(neighbour) for neighbour in evidence.neighbours[:SHOWN_REASONS])
        more = len(evidence.neighbours) - SHOWN_REASONS
        yield f"shared neighbours: {names}{f' and {more} more' if more > 0 else ''}"
    if evidence.match is not None:
        yield f"found at line {evidence.match.line}: {_cut_match(evidence.match)}"
    if evidence.words:
        yield f"shared words: {', '.join(evidence.words)}"
    if evidence.meaning:
        yield f"similar meaning: {evidence.meaning:.2f}"


def _cut_match(match: HitMatch) -> str:
    """The line around its first matching word."""
    start = max(0, (match.spans[0][0] if match.spans else 0) - SNIPPET_CHARS)
    return match.text[start : start + 2 * SNIPPET_CHARS].strip()


def _snippet(text: str, mention: UnlinkedMention) -> str:
    """The mention within its line."""
    first = max(start_of_line(text, mention.start), mention.start - SNIPPET_CHARS)
    last = min(end_of_line(text, mention.end), mention.end + SNIPPET_CHARS)
    return text[first:last].strip()
