"""Looks over the whole vault: the best missing links, orphans with a place to hang, notes that say the same.

A look takes a bounded number of notes and a bounded time, the notes changed last first, and says where the
next one continues: with as many looks as it takes, every note has its turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.engine.related.edits import link_at_end
from vaultbridge.engine.related.find import Asked, Evidence, RelatedSearch, explain
from vaultbridge.index.fold import split_words
from vaultbridge.index.store.rows import decode_note
from vaultbridge.links.syntax import note_name
from vaultbridge.vault.paths import VaultPath

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine

NOTES_LOOKED: Final = 200
"""Notes of one look: each takes some milliseconds."""

LOOK_SECONDS: Final = 4.0
"""When a look ends, however many notes it has seen: well below the time that a call may take."""

ORPHANS_LOOKED: Final = 40
"""Orphans for which a place is sought in one look."""

SHINGLE: Final = 4
"""Neighbouring words that are compared as one: single words are alike in notes that say different things."""

SHINGLES: Final = 2000
"""How many of them are compared of one note."""

ALIKE: Final = 0.7
"""The share of the shorter note's shingles that the longer one has, from which the two say the same."""

COMPARED: Final = 3
"""Notes that each note is compared with: those that share most words with it."""

LEAST_SHARED: Final = 0.5
"""The share of rare words from which two notes are compared."""

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
    shown = engine.queries.shown()
    links: dict[tuple[str, str], tuple[str, str, Evidence, Asked]] = {}
    alike: dict[tuple[str, str], Duplicate] = {}
    looked = 0
    with RelatedSearch.open(engine) as finding:
        # From now on: comparing a large vault with the disk may have taken a while.
        ends = time.monotonic() + LOOK_SECONDS
        for file in notes.rows:
            if time.monotonic() > ends:
                break
            looked += 1
            if shown is not None and not shown(file.path):
                continue
            asked = _ask(finding, file.path)
            if asked is None:
                continue
            for other, evidence in finding.rank(asked)[:limit]:
                pair = (min(file.path, other), max(file.path, other))
                if evidence.score >= LEAST_SCORE and pair not in links:
                    links[pair] = (file.path, other, evidence, asked)
            for found in _find_alike(finding, asked):
                alike.setdefault((found.path, found.other), found)
        orphans, homeless = _place_orphans(engine, finding, limit=limit, offset=offset, ends=ends)
    best = sorted(links.values(), key=lambda one: (-one[2].score, one[0], one[1]))
    return VaultLook(
        tuple(_offers(finding, best, limit)),
        orphans,
        homeless,
        tuple(sorted(alike.values(), key=lambda one: (-one.alike, one.path, one.other))[:limit]),
        looked,
        offset,
        notes.total,
    )


def _ask(finding: RelatedSearch, path: str) -> Asked | None:
    row = finding.db.execute(
        "SELECT text, note FROM texts JOIN notes USING (id) WHERE id = ?", (finding.ids.get(path, 0),)
    ).fetchone()
    if row is None:
        return None
    note = decode_note(row[1])
    return Asked(path, note_name(path), (note_name(path), *note.aliases), row[0], note)


def _offers(
    finding: RelatedSearch, found: list[tuple[str, str, Evidence, Asked]], limit: int
) -> Iterator[MissingLink]:
    """The best links with an edit. Where the disk has changed since, the next one takes the place."""
    left = limit
    for source, target, evidence, asked in found:
        if not left:
            return
        place = finding.read(source)
        if place is None or place.text != asked.text:
            continue
        offer = finding.offer(place, asked, target, evidence)
        if offer.edit is not None:
            left -= 1
            yield MissingLink(VaultPath(source), offer.path, offer.score, offer.reasons, offer.edit)


def _place_orphans(
    engine: Engine, finding: RelatedSearch, *, limit: int, offset: int, ends: float
) -> tuple[tuple[MissingLink, ...], tuple[VaultPath, ...]]:
    """For each orphan the note that it could hang on, with the edit of that note."""
    settings = engine.settings.links
    placed: list[MissingLink] = []
    homeless: list[VaultPath] = []
    rows = engine.queries.orphans(limit=ORPHANS_LOOKED, offset=offset).rows
    for path in rows:
        if len(placed) == limit or time.monotonic() > ends:
            break
        asked = _ask(finding, path) if path.lower().endswith(".md") else None
        if asked is None:
            continue
        for other, evidence in finding.rank(asked)[:COMPARED]:
            there = finding.read(other)
            if there is None:
                continue
            edit = finding.offer_there(asked, there) if evidence.mentioned else None
            edit = edit or link_at_end(there, path, finding.table, settings)
            if edit is not None:
                reasons = tuple(explain(asked, other, evidence))
                placed.append(MissingLink(VaultPath(other), path, round(evidence.score, 3), reasons, edit))
                break
        else:
            homeless.append(path)
    return tuple(placed), tuple(homeless[:limit])


def _find_alike(finding: RelatedSearch, asked: Asked) -> Iterator[Duplicate]:
    """Notes that say the same as this one, among those that share most of its words; linked ones too."""
    own = _shingles(asked.text)
    if not own:
        return
    for other in finding.sharing_words(asked, LEAST_SHARED)[:COMPARED]:
        row = finding.db.execute("SELECT text FROM texts WHERE id = ?", (finding.ids[other],)).fetchone()
        theirs = _shingles(row[0]) if row is not None else frozenset()
        if theirs:
            share = len(own & theirs) / min(len(own), len(theirs))
            longer = max(len(own), len(theirs)) / min(len(own), len(theirs))
            if share >= ALIKE and longer <= 2:
                first, second = sorted((asked.path, other))
                yield Duplicate(VaultPath(first), VaultPath(second), round(share, 2))


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = split_words(text)[: SHINGLES + SHINGLE]
    if len(words) < FEW_WORDS:
        return frozenset()
    return frozenset(tuple(words[at : at + SHINGLE]) for at in range(len(words) - SHINGLE + 1))
