"""`[name:value]`, as Obsidian's help describes it: words anywhere, quotes for the whole value."""

from __future__ import annotations

from typing import Any

import pytest

from vaultbridge.index.query.match import flatten_values, name_matches, value_matches
from vaultbridge.index.query.parse import HasProperty, Query, parse_query
from vaultbridge.index.query.regex import PatternMatcher


def parse_condition(written: str) -> HasProperty:
    tree = parse_query(written)
    assert isinstance(tree, HasProperty)
    return tree


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (None, []),
        ("", []),
        ([], []),
        ([1, ["a", None], {"k": True}], ["1", "a", "true"]),
        (2.0, ["2"]),
        (2.5, ["2.5"]),
    ],
)
def test_values_are_compared_as_texts(value: Any, texts: list[str]) -> None:
    assert flatten_values(value) == texts


@pytest.mark.parametrize(
    ("written", "value", "expected"),
    [
        ("[p:act]", "Active", True),
        ('[p:"act"]', "Active", False),
        ('[p:"active"]', ["x", "Active"], True),
        ("[p:resume]", "Résumé", True),
        ("[p:a b]", "b a", True),
        ("[p:a OR c]", "c", True),
        ("[p:-a]", "b", True),
        ("[p:null]", None, True),
        ("[p:null]", "", True),
        ("[p:null]", "x", False),
        ("[p:a OR null]", None, True),
        ("[p:>5]", 6, True),
        ("[p:>5]", "6", True),
        ("[p:>5]", 5, False),
        ("[p:>=5]", 5, True),
        ("[p:<5]", "soon", False),
        ("[p:<2024-02-01]", "2024-01-31", True),
        ("[p:<2024-02-01]", "2024-02-01T10:00", False),
        ("[p:<2024-02-01]", "someday", False),
        ("[p:<m]", "a", True),
        ("[p:>1 <4]", 3, True),
        ("[p:/^a.c$/]", "ABC", True),
        ("[p:true]", True, True),
    ],
)
def test_a_value_matches_or_not(written: str, value: Any, expected: bool) -> None:
    with PatternMatcher() as patterns:
        assert value_matches(parse_condition(written).value, value, patterns, sensitive=False) == expected


@pytest.mark.parametrize(
    ("written", "name", "expected"),
    [
        ("[Status]", "status", True),
        ("[stat]", "status", False),
        ("[a OR b]", "b", True),
        ("[/^st/]", "Status", True),
        ("[due date]", "Due Date", True),
    ],
)
def test_a_property_name_must_match_as_a_whole(written: str, name: str, expected: bool) -> None:
    asked: Query = parse_condition(written).name
    with PatternMatcher() as patterns:
        assert name_matches(asked, name, patterns) == expected
