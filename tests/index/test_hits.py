"""Shortening lines and collecting search terms; whole hits are tested in `test_search`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.index.query.hits import SNIPPET_CHARS, SearchTerms, make_name_keys, shorten_line
from vaultbridge.index.query.parse import parse_query


def test_a_short_line_is_shown_whole() -> None:
    assert shorten_line("a line", [(2, 6)]) == ("a line", [(2, 6)])


@given(st.integers(0, 2000), st.integers(1, 400), st.integers(0, 2000))
def test_a_long_line_is_shortened_around_its_first_span(start: int, length: int, rest: int) -> None:
    line = "x" * start + "M" * length + "y" * rest
    text, spans = shorten_line(line, [(start, start + length)])
    assert len(text) <= SNIPPET_CHARS
    ((first, last),) = spans
    assert set(text[first:last]) == {"M"}


def test_negated_parts_are_not_search_terms() -> None:
    asked = SearchTerms.collect(parse_query("a -b (c OR -(d e)) file:f tag:#g [h] task:i /j/"))
    assert [needle.text for needle in asked.needles] == ["a", "c", "i"]
    assert [needle.text for needle in asked.names] == ["f"]
    assert asked.tags == ["g"]
    assert len(asked.properties) == len(asked.patterns) == len(asked.tasks) == 1


def test_the_typed_words_may_be_the_name_of_a_note() -> None:
    assert "my résumé" in make_name_keys(SearchTerms.collect(parse_query("My Résumé")))
    assert make_name_keys(SearchTerms.collect(parse_query("tag:#x"))) == ()
