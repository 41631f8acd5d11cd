"""Looks over the whole vault: the best missing links, orphans and where they could be linked from, and notes
that say the same.

One look covers a limited number of notes, the latest changes first, takes a limited time, and says where the
next look continues, so that every note has its turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.engine.related.edits import link_at_end
from vaultbridge.engine.related.find import Evidence, RelatedSearch, Subject, explain
from vaultbridge.index.fold import split_words
from vaultbridge.index.store.rows import decode_note
from vaultbridge.links.syntax import note_name
from vaultbridge.vault.paths import VaultPath

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine

NOTES_LOOKED: Final = 200
"""How many notes one look covers: each takes some milliseconds."""

LOOK_SECONDS: Final = 4.0
"""A look ends after this time, however many notes it has seen: well below the time that a call may take."""

ORPHANS_LOOKED: Final = 40
"""For how many orphans one look seeks a note to link them from."""

SHINGLE: Final = 4
"""How many neighbouring words are compared as one: notes that say different things share single words."""

SHINGLES: Final = 2000
"""How many shingles of one note are compared."""

ALIKE: Final = 0.7
"""Two notes say the same if the longer one has at least this share of the shorter one's shingles."""

COMPARED: Final = 3
"""How many notes each note is compared with: those that share the most words with it."""

LEAST_SHARED: Final = 0.5
"""Two notes are compared if they share at least this part of their rare words."""

FEW_WORDS: Final = 8
"""A note with fewer words is not a duplicate of anything: empty notes are all alike."""

LEAST_SCORE: Final = 0.5
"""A missing link of the vault is offered from this score on: a list of guesses helps nobody."""


class MissingLink(Struct, frozen=True):
    source: VaultPath
    target: VaultPath
    score: float
    reasons: tuple[str, ...]
    edit: dict[str, Any] | None


class Duplicate(Struct, frozen=True):
    """`alike` is the share of the shorter note's text that the longer one has."""

    path: VaultPath
    other: VaultPath
    alike: float


class VaultLook(Struct, frozen=True):
    """`looked` notes were looked at, from `offset` on, of `total`. `orphans` have a link from another note as
    their edit; `homeless` are orphans for which nothing was found."""

    links: tuple[MissingLink, ...]
    orphans: tuple[MissingLink, ...]
    homeless: tuple[VaultPath, ...]
    duplicates: tuple[Duplicate, ...]
    looked: int
    offset: int
    total: int


def look_over_vault(engine: Engine, *, limit: int = 10, offset: int = 0) -> VaultLook:
    """Look at the notes from `offset` on, changed last first; each list has at most `limit` entries."""
    notes = engine.queries.files_page(kind="note", order="modified", limit=NOTES_LOOKED, offset=offset)
    links: dict[tuple[str, str], tuple[str, str, Evidence, Subject]] = {}
    alike: dict[tuple[str, str], Duplicate] = {}
    looked = 0
    with RelatedSearch.open(engine) as search:
        # From now on: comparing a large vault with the disk may have taken a while.
        ends = time.monotonic() + LOOK_SECONDS
        for file in notes.rows:
            if time.monotonic() > ends:
                break
            looked += 1
            if not search.sees(file.path):
                continue
            subject = _load_subject(search, file.path)
            if subject is None:
                continue
            for other, evidence in search.rank(subject)[:limit]:
                pair = (min(file.path, other), max(file.path, other))
                if evidence.score >= LEAST_SCORE and pair not in links:
                    links[pair] = (file.path, other, evidence, subject)
            for duplicate in _find_alike(search, subject):
                alike.setdefault((duplicate.path, duplicate.other), duplicate)
        orphans, homeless = _place_orphans(engine, search, limit=limit, offset=offset, ends=ends)
    best = sorted(links.values(), key=lambda link: (-link[2].score, link[0], link[1]))
    return VaultLook(
        tuple(_offers(search, best, limit)),
        orphans,
        homeless,
        tuple(
            sorted(alike.values(), key=lambda duplicate: (-duplicate.alike, duplicate.path, duplicate.other))[
                :limit
            ]
        ),
        looked,
        offset,
        notes.total,
    )


def _load_subject(search: RelatedSearch, path: str) -> Subject | None:
    row = search.db.execute(
        "SELECT text, note FROM texts JOIN notes USING (id) WHERE id = ?", (search.find_id(path),)
    ).fetchone()
    if row is None:
        return None
    note = decode_note(row[1])
    return Subject(path, note_name(path), (note_name(path), *note.aliases), row[0], note)


def _offers(
    search: RelatedSearch, found: list[tuple[str, str, Evidence, Subject]], limit: int
) -> Iterator[MissingLink]:
    """The best links that have an edit. A link whose note has changed on disk since makes room for the
    next."""
    left = limit
    for source, target, evidence, subject in found:
        if not left:
            return
        place = search.read(source)
        if place is None or place.text != subject.text:
            continue
        offer = search.offer(place, subject, target, evidence)
        if offer.edit is not None:
            left -= 1
            # If only the other note mentions this one, the link is written there.
            here = offer.edit["name"] == source
            ends = (VaultPath(source), offer.path) if here else (offer.path, VaultPath(source))
            yield MissingLink(*ends, offer.score, offer.reasons, offer.edit)


def _place_orphans(
    engine: Engine, search: RelatedSearch, *, limit: int, offset: int, ends: float
) -> tuple[tuple[MissingLink, ...], tuple[VaultPath, ...]]:
    """For each orphan, the note that could link to it, with the edit of that note."""
    settings = engine.settings.links
    placed: list[MissingLink] = []
    homeless: list[VaultPath] = []
    rows = engine.queries.orphans(limit=ORPHANS_LOOKED, offset=offset).rows
    for path in rows:
        if len(placed) == limit or time.monotonic() > ends:
            break
        subject = _load_subject(search, path) if path.lower().endswith(".md") else None
        if subject is None:
            continue
        for other, evidence in search.rank(subject)[:COMPARED]:
            there = search.read(other)
            if there is None:
                continue
            edit = search.offer_there(subject, there) if evidence.mentioned else None
            edit = edit or link_at_end(there, path, search.table, settings)
            if edit is not None:
                reasons = tuple(explain(subject, other, evidence))
                placed.append(MissingLink(VaultPath(other), path, round(evidence.score, 3), reasons, edit))
                break
        else:
            homeless.append(path)
    return tuple(placed), tuple(homeless[:limit])


def _find_alike(search: RelatedSearch, subject: Subject) -> Iterator[Duplicate]:
    """Notes that say the same as this one, among those that share most of its words; linked ones too."""
    own = _shingles(subject.text)
    if not own:
        return
    for other in search.list_by_shared_words(subject, LEAST_SHARED)[:COMPARED]:
        row = search.db.execute("SELECT text FROM texts WHERE id = ?", (search.find_id(other),)).fetchone()
        theirs = _shingles(row[0]) if row is not None else frozenset()
        if theirs:
            share = len(own & theirs) / min(len(own), len(theirs))
            longer = max(len(own), len(theirs)) / min(len(own), len(theirs))
            if share >= ALIKE and longer <= 2:
                first, second = sorted((subject.path, other))
                yield Duplicate(VaultPath(first), VaultPath(second), round(share, 2))


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = split_words(text)[: SHINGLES + SHINGLE]
    if len(words) < FEW_WORDS:
        return frozenset()
    return frozenset(tuple(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1))
