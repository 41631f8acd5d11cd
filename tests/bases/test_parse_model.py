from __future__ import annotations

import pytest

from vaultbridge.bases.expression import Name
from vaultbridge.bases.parse import Expression, PropertyId, property_id
from vaultbridge.errors import InvalidQuery


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("price", PropertyId("note", "price")),
        ("note.price", PropertyId("note", "price")),
        ("file.name", PropertyId("file", "name")),
        ("formula.my formula", PropertyId("formula", "my formula")),
        ("blocked by", PropertyId("note", "blocked by")),
        ("a.b", PropertyId("note", "a.b")),
        ("file.", PropertyId("note", "file.")),
    ],
)
def test_a_property_s_id_tells_where_it_comes_from(text: str, found: PropertyId) -> None:
    assert property_id(text) == found
    assert property_id(str(found)) == found


def test_an_expression_that_cannot_be_read_raises_when_it_is_used() -> None:
    assert Expression("a", 1, Name("a", 0)).usable() == Name("a", 0)
    with pytest.raises(InvalidQuery, match="why"):
        Expression("a b", 1, error=InvalidQuery("why", position=2)).usable()
