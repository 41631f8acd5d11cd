"""Finding candidates for a word and checking them. `test_search` shows that both agree on every text."""

from __future__ import annotations

import sqlite3

import pytest

from vaultbridge.index.fold import FoldedText
from vaultbridge.index.query.needle import (
    SPANS_PER_LINE,
    CandidateQuery,
    Needle,
    match_prefix,
    plan_candidates,
)
from vaultbridge.index.store.database import Terms

FOO_BAR = '{path body} : ("foo bar" OR "foo barn" OR "snafoo bar" OR "snafoo barn")'


@pytest.fixture
def terms() -> Terms:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE terms (id INTEGER PRIMARY KEY, term TEXT)")
    db.execute("CREATE TABLE meta AS SELECT 'identity' AS name, 1 AS value")
    words = ["bridge", "bridges", "abridged", "foo", "snafoo", "bar", "barn", "c"]
    db.executemany("INSERT INTO terms (term) VALUES (?)", [(word,) for word in words])
    found = Terms()
    found.refresh(db)
    db.close()
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bridge", CandidateQuery('{path body} : ("bridge" * OR "abridged")', exact=True)),
        ("Bridges", CandidateQuery('{path body} : ("bridges" *)', exact=True)),
        ("nowhere", CandidateQuery('"\x80"', exact=True)),
        ("京", CandidateQuery('{path body} : ("京")', exact=True)),
        ("北京", CandidateQuery('{path body} : ("北 京")', exact=False)),
        ("foo-bar", CandidateQuery(FOO_BAR, exact=False)),
        ("foo-bar.", CandidateQuery('{path body} : ("foo bar" OR "snafoo bar")', exact=False)),
        ("-foo", CandidateQuery('{path body} : ("foo" *)', exact=False)),
        ("c++", CandidateQuery('{path body} : ("c")', exact=False)),
        ("++", CandidateQuery("", exact=False)),
    ],
)
def test_candidates_come_from_whole_words_prefixes_and_the_dictionary(
    terms: Terms, text: str, expected: CandidateQuery
) -> None:
    assert plan_candidates(Needle.of(text), terms, "any") == expected


def test_case_is_always_checked_in_the_text(terms: Terms) -> None:
    assert not plan_candidates(Needle.of("Bridge", sensitive=True), terms, "body").exact


def test_without_a_dictionary_all_texts_are_candidates_for_parts_of_words() -> None:
    assert plan_candidates(Needle.of("bridge"), None, "any") == CandidateQuery("", exact=False)
    assert plan_candidates(Needle.of("foo-bar"), None, "any").match == '{path body} : ("bar" *)'
    assert match_prefix(Needle.of("bridge"), "body") == 'body : ("bridge" *)'


def find_spans(line: str, needle: Needle) -> list[tuple[int, int]]:
    return needle.spans_of(FoldedText(line, needle.fold))


@pytest.mark.parametrize(
    ("text", "sensitive", "line", "spans"),
    [
        ("an", False, "Banana", [(1, 3), (3, 5)]),
        ("resume", False, "a Résumé", [(2, 8)]),
        ("resume", False, "a Re\u0301sume\u0301!", [(2, 10)]),
        ("ss", False, "Straße", [(4, 5)]),
        ("An", True, "Banana An", [(7, 9)]),
        ("x", False, "none", []),
    ],
)
def test_spans_are_offsets_in_the_line_as_written(
    text: str, sensitive: bool, line: str, spans: list[tuple[int, int]]
) -> None:
    assert find_spans(line, Needle.of(text, sensitive=sensitive)) == spans


def test_the_number_of_spans_in_one_line_is_limited() -> None:
    assert len(find_spans("a" * 1000, Needle.of("a"))) == SPANS_PER_LINE


def test_match_case_compares_composed_letters() -> None:
    assert Needle.of("É", sensitive=True).occurs_in("E\u0301")
    assert not Needle.of("É", sensitive=True).occurs_in("é")
