"""Searches: turns a query into one page of ranked hits, with exact totals.

`evaluate` finds the files that match; this module sorts them and reads the lines of one page. `relevance`
scores them by the words of the query. A note whose name or alias is exactly what was typed comes first; among
equals the one modified last comes first."""

from __future__ import annotations

import sqlite3
from heapq import nlargest
from typing import Final, Literal, Protocol, TypeVar

from msgspec import Struct

from vaultbridge.errors import VaultbridgeError
from vaultbridge.index.listing import check_bound
from vaultbridge.index.query.evaluate import Evaluation
from vaultbridge.index.query.hits import HitMatch, HitReader, SearchTerms, make_name_keys
from vaultbridge.index.query.parse import Query, parse_query
from vaultbridge.index.query.regex import PatternMatcher
from vaultbridge.index.query.relevance import score_hits
from vaultbridge.index.store.database import Index, read_status
from vaultbridge.index.store.schema import split_for_sql
from vaultbridge.index.word_table import WordTable
from vaultbridge.vault.paths import VaultPath

Sort = Literal["relevance", "modified", "name", "path"]
_Figure = TypeVar("_Figure", int, float)
_Figure_co = TypeVar("_Figure_co", covariant=True)

SINGLE_LOOKUPS: Final = 500
"""Up to this many modification times are looked up one by one; for more hits all are read and cached."""

PAGE_HITS: Final = 1000
"""The most hits on one page: each costs reading a note."""

CONTEXT_LINES: Final = 20
"""The most lines shown around a match."""

MATCHES_PER_NOTE: Final = 100
"""The most lines shown of one note."""

_EXACT_NAME: Final = 1000.0
_EXACT_ALIAS: Final = 500.0
"""Above any other score, so that these come first whatever the bodies say."""


class _ByFile(Protocol[_Figure_co]):
    """A figure for each file id."""

    def __getitem__(self, id_: int, /) -> _Figure_co: ...


class SearchHit(Struct, frozen=True):
    """`score` only compares hits of one search; it is 0 for queries without words to rank by."""

    path: VaultPath
    score: float
    modified_ns: int
    matches: tuple[HitMatch, ...]


class SearchPage(Struct, frozen=True):
    """`total` counts all hits. During a first build `complete` is False, and `indexed` of `notes` notes were
    searched."""

    hits: tuple[SearchHit, ...]
    total: int
    complete: bool
    indexed: int
    notes: int


def search(
    index: Index,
    query: str | Query,
    *,
    limit: int = 20,
    offset: int = 0,
    sort: Sort = "relevance",
    matches_per_note: int = 3,
    context: int = 0,
) -> SearchPage:
    """Returns one page of hits. It blocks: milliseconds for words, longer for patterns. Raises
    `InvalidQuery`, or `TimedOut` for a pattern that takes too long."""
    check_bound("limit", limit, PAGE_HITS)
    check_bound("offset", offset, None)
    check_bound("context", context, CONTEXT_LINES)
    check_bound("matches_per_note", matches_per_note, MATCHES_PER_NOTE)
    tree = parse_query(query) if isinstance(query, str) else query
    terms = SearchTerms.collect(tree)
    try:
        return _answer(index, tree, terms, limit, offset, sort, matches_per_note, context)
    except VaultbridgeError as error:
        # An error may be kept for a while, and its traceback keeps the local variables of its frames alive:
        # here megabytes of text that were being searched.
        raise error.with_traceback(None) from None


def _answer(
    index: Index,
    tree: Query,
    terms: SearchTerms,
    limit: int,
    offset: int,
    sort: Sort,
    matches_per_note: int,
    context: int,
) -> SearchPage:
    with index.reading() as db, PatternMatcher() as patterns:
        evaluation = Evaluation(index, db, patterns)
        found = evaluation.find(tree)
        paths = evaluation.paths
        scores = _compute_scores(index, db, terms, found, evaluation) if sort == "relevance" else {}
        page = _choose_page(index, db, found, scores, paths, sort, limit, offset)
        reader = HitReader(db, terms, patterns, limit=matches_per_note, context=context)
        hits = tuple(
            SearchHit(VaultPath(paths[id_]), scores.get(id_, 0.0), modified, reader.matches(id_))
            for id_, modified in page
        )
        status = read_status(db)
    return SearchPage(hits, len(found), status.complete, status.done, status.total)


def _compute_scores(
    index: Index, db: sqlite3.Connection, terms: SearchTerms, found: set[int], evaluation: Evaluation
) -> dict[int, float]:
    """Returns a score for each hit that has one, higher is better."""
    needles = terms.words()
    if not needles:
        return {}
    searched = len(evaluation.searchable(None))
    sizes, average = index.sizes(db)
    table = WordTable(db)
    scores = score_hits(table, needles, found, searched=searched, sizes=sizes, average=average)
    for key in make_name_keys(terms):
        for (id_,) in db.execute("SELECT id FROM files WHERE key IN (?, ?)", (key, key + ".md")):
            if id_ in found:
                scores[id_] = scores.get(id_, 0.0) + _EXACT_NAME
        for (id_,) in db.execute("SELECT file FROM aliases WHERE key = ?", (key,)):
            if id_ in found:
                scores[id_] = scores.get(id_, 0.0) + _EXACT_ALIAS
    return scores


def _choose_page(
    index: Index,
    db: sqlite3.Connection,
    found: set[int],
    scores: dict[int, float],
    paths: dict[int, str],
    sort: Sort,
    limit: int,
    offset: int,
) -> list[tuple[int, int]]:
    """Returns the ids of one page in order, each with its modification time."""
    wanted = offset + limit
    if sort == "path":
        chosen = sorted(found, key=lambda id_: paths[id_])[offset:wanted]
    elif sort == "name":
        chosen = sorted(found, key=lambda id_: (paths[id_].rpartition("/")[2].lower(), paths[id_]))[
            offset:wanted
        ]
    else:
        return _sort_page(index, db, found, scores, paths, offset, wanted)
    modified = _read_times(index, db, chosen)
    return [(id_, modified[id_]) for id_ in chosen]


def _sort_page(
    index: Index,
    db: sqlite3.Connection,
    found: set[int],
    scores: dict[int, float],
    paths: dict[int, str],
    offset: int,
    wanted: int,
) -> list[tuple[int, int]]:
    """Sorts by score, then time, then path. Hits that cannot be on the page are dropped first, because a
    common word finds thousands of notes, most of them with the same score."""
    # For a common word, few notes have a score. The others are skipped until their times decide.
    rank = {id_: score for id_, score in scores.items() if score > 0}
    if 0 < wanted < len(rank):
        sure, rest = _split_at_rank(list(rank), rank, wanted)
    else:
        sure, rest = list(rank), list(found - rank.keys())
    modified = _read_times(index, db, [*sure, *rest])
    if 0 < wanted - len(sure) < len(rest):
        newest, same = _split_at_rank(rest, modified, wanted - len(sure))
        rest = [*newest, *same]
    ordered = sorted([*sure, *rest], key=lambda id_: (-rank.get(id_, 0.0), -modified[id_], paths[id_]))
    return [(id_, modified[id_]) for id_ in ordered[offset:wanted]]


def _split_at_rank(ids: list[int], by: _ByFile[_Figure], wanted: int) -> tuple[list[int], list[int]]:
    """Returns the ids with a higher figure than the `wanted`-th one, and all ids with that figure."""
    # Finding the largest few of thousands takes a fifth of the time that sorting all of them does.
    last = nlargest(wanted, map(by.__getitem__, ids))[-1]
    return [id_ for id_ in ids if by[id_] > last], [id_ for id_ in ids if by[id_] == last]


def _read_times(index: Index, db: sqlite3.Connection, ids: list[int]) -> _ByFile[int]:
    if len(ids) > SINGLE_LOOKUPS:
        return index.times(db)
    times: dict[int, int] = {}
    for marks, part in split_for_sql(ids):
        times.update(db.execute(f"SELECT id, mtime_ns FROM files WHERE id IN ({marks})", part))
    return times
