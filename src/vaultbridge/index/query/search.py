"""Searching: from a query to one page of ranked hits, with exact totals.

`evaluate` says which files match; this module leaves out what the caller may not see, ranks the rest and
reads the lines of one page. The rank is bm25 over the words asked for, a word in the name weighing eight
times and in a heading, tag or alias three times one in the body; a note whose name or alias is just what
was typed comes first, and among equals the one changed last."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final, Literal, TypeVar

from msgspec import Struct
from msgspec.json import encode

from vaultbridge.errors import InvalidArgument, VaultbridgeError
from vaultbridge.index.query.evaluate import Evaluation, split_for_sql
from vaultbridge.index.query.hits import HitMatch, HitReader, SearchTerms, make_name_keys
from vaultbridge.index.query.parse import Query, parse_query
from vaultbridge.index.query.regex import PatternMatcher
from vaultbridge.index.store.database import Index, read_status
from vaultbridge.vault.paths import VaultPath

Sort = Literal["relevance", "modified", "name", "path"]
Visible = Callable[[str], bool]
_Figure = TypeVar("_Figure", int, float)

SINGLE_LOOKUPS: Final = 500
"""Times of change that are looked up one by one; of more hits all are read at once and kept."""

PAGE_HITS: Final = 1000
"""The most hits of one page: each costs reading a note."""

CONTEXT_LINES: Final = 20
"""The most lines shown around a match."""

MATCHES_PER_NOTE: Final = 100
"""The most lines shown of one note."""

_EXACT_NAME: Final = 1000.0
_EXACT_ALIAS: Final = 500.0
"""Above any bm25 figure, so that these come first whatever the bodies say."""

_RANK: Final = "SELECT rowid, round(-bm25(words, 8.0, 3.0, 1.0), 6) FROM words WHERE words MATCH ?"
"""Rounded, because the last digits depend on how the table's segments happen to lie."""

_RANK_SOME: Final = f"{_RANK} AND +rowid IN (SELECT value FROM json_each(?))"
"""The same of some notes alone. `+` keeps the ids out of the table's hands, which would look up each anew."""

_RANKED_APART: Final = 2
"""Below one in so many notes it pays to rank the hits alone: a search for several common words finds each in
most notes and all of them together in few."""


class SearchHit(Struct, frozen=True):
    """`score` is only for comparing hits of one search; 0 for queries that rank nothing."""

    path: VaultPath
    score: float
    modified_ns: int
    matches: tuple[HitMatch, ...]


class SearchPage(Struct, frozen=True):
    """`total` counts all hits. While the index is being built `complete` is False, and `indexed` of `notes`
    notes have been searched."""

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
    visible: Visible | None = None,
    matches_per_note: int = 3,
    context: int = 0,
) -> SearchPage:
    """One page of what the query finds. Blocking: milliseconds for words, longer for patterns.

    `visible` is asked for every match before it is counted: a scope, and the vault's ignore filters, which
    hide files from search alone. Raises `InvalidQuery`, or `TimedOut` for a pattern that does not end."""
    _check("limit", limit, PAGE_HITS)
    _check("offset", offset, None)
    _check("context", context, CONTEXT_LINES)
    _check("matches_per_note", matches_per_note, MATCHES_PER_NOTE)
    tree = parse_query(query) if isinstance(query, str) else query
    asked = SearchTerms.by(tree)
    try:
        return _answer(index, tree, asked, limit, offset, sort, visible, matches_per_note, context)
    except VaultbridgeError as error:
        # An error is remembered for a while, and through its traceback whatever stood in the frames it came
        # through: here the texts that were being looked through, megabytes each time.
        raise error.with_traceback(None) from None


def _answer(
    index: Index,
    tree: Query,
    asked: SearchTerms,
    limit: int,
    offset: int,
    sort: Sort,
    visible: Visible | None,
    matches_per_note: int,
    context: int,
) -> SearchPage:
    with index.reading() as db, PatternMatcher() as patterns:
        evaluation = Evaluation(index, db, patterns)
        found = evaluation.matching(tree)
        paths = evaluation.paths
        if visible is not None:
            found = {id_ for id_ in found if visible(paths[id_])}
        scores = _compute_scores(db, asked, found, paths) if sort == "relevance" else {}
        page = _choose_page(index, db, found, scores, paths, sort, limit, offset)
        reader = HitReader(db, asked, patterns, limit=matches_per_note, context=context)
        hits = tuple(
            SearchHit(VaultPath(paths[id_]), scores.get(id_, 0.0), modified, reader.matches(id_))
            for id_, modified in page
        )
        status = read_status(db)
    return SearchPage(hits, len(found), status.complete, status.done, status.total)


def _check(name: str, value: int, most: int | None) -> None:
    if value < 0 or (most is not None and value > most):
        bound = f"between 0 and {most}" if most is not None else "0 or more"
        raise InvalidArgument(f"{name} is {value}; it must be {bound}.", argument=name)


def _compute_scores(
    db: sqlite3.Connection, asked: SearchTerms, found: set[int], paths: dict[int, str]
) -> dict[int, float]:
    """The rank of each hit, greater is better; perhaps of others too."""
    matches = [match for needle in asked.words() if (match := needle.rank_match())]
    if not matches:
        return {}
    match = " OR ".join(matches)
    if len(found) * _RANKED_APART < len(paths):
        scores = dict(db.execute(_RANK_SOME, (match, encode(list(found)).decode())))
    else:
        scores = dict(db.execute(_RANK, (match,)))
    for key in make_name_keys(asked):
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
    """The ids of one page in order, each with its time of change."""
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
    """By score, then time, then path. What cannot reach the page is left out first, since a common word finds
    thousands of notes, most of them with the same score."""
    rank = {id_: scores.get(id_, 0.0) for id_ in found} if scores else {}
    sure: list[int] = []
    rest = list(found)
    if scores and 0 < wanted < len(rest):
        sure, rest = _split_at_rank(rest, rank, wanted)
    modified = _read_times(index, db, [*sure, *rest])
    if 0 < wanted - len(sure) < len(rest):
        newest, same = _split_at_rank(rest, modified, wanted - len(sure))
        rest = [*newest, *same]
    ordered = sorted([*sure, *rest], key=lambda id_: (-rank.get(id_, 0.0), -modified[id_], paths[id_]))
    return [(id_, modified[id_]) for id_ in ordered[offset:wanted]]


def _split_at_rank(ids: list[int], by: dict[int, _Figure], wanted: int) -> tuple[list[int], list[int]]:
    """Of the `wanted` ids with the greatest figures those above the last one's, and all that share that."""
    last = sorted(map(by.__getitem__, ids), reverse=True)[wanted - 1]
    return [id_ for id_ in ids if by[id_] > last], [id_ for id_ in ids if by[id_] == last]


def _read_times(index: Index, db: sqlite3.Connection, ids: list[int]) -> dict[int, int]:
    if len(ids) > SINGLE_LOOKUPS:
        return index.times(db)
    times: dict[int, int] = {}
    for marks, part in split_for_sql(ids):
        times.update(db.execute(f"SELECT id, mtime_ns FROM files WHERE id IN ({marks})", part))
    return times
