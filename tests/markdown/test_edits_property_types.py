"""Coercing values to the types of `types.json`."""

from __future__ import annotations

from typing import Any

import pytest

from vaultbridge.errors import InvalidArgument
from vaultbridge.markdown.edits.property_types import coerce_value, property_type


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("x", "text", "x"),
        (5, "text", "5"),
        ("3.5", "number", 3.5),
        (" 010 ", "number", 10),
        (7, "number", 7),
        (True, "checkbox", True),
        ("False", "checkbox", False),
        ("2024-02-29", "date", "2024-02-29"),
        ("2024-02-29T01:02", "datetime", "2024-02-29T01:02:00"),
        ("2024-02-29 01:02:03", "datetime", "2024-02-29T01:02:03"),
        ("one", "multitext", ["one"]),
        (["a", 1], "aliases", ["a", "1"]),
        ("#a", "tags", ["a"]),
        (("a", "b/c"), "tags", ["a", "b/c"]),
        ({"any": 1}, "a-plugins-type", {"any": 1}),
    ],
)
def test_a_suitable_value_is_converted_to_the_type(value: Any, kind: str, expected: Any) -> None:
    assert repr(coerce_value(value, kind)) == repr(expected)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "text"),
        (["x"], "text"),
        ("x", "number"),
        ("", "number"),
        (True, "number"),
        ("yes", "checkbox"),
        (1, "checkbox"),
        ("2023-02-29", "date"),
        ("2024-1-1", "date"),
        ("2024-01-01T25:00", "datetime"),
        ("2024-01-01", "datetime"),
        (5, "multitext"),
        ({"a": 1}, "aliases"),
        ("a b", "tags"),
        ([True], "tags"),
    ],
)
def test_an_unsuitable_value_is_refused_with_a_hint(value: Any, kind: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        coerce_value(value, kind)
    assert refused.value.hint


def test_the_refusal_says_where_the_type_comes_from() -> None:
    """An error that only said "not a number" did not say why a number was needed."""
    with pytest.raises(InvalidArgument, match="'high' is not a number, which is this property's type"):
        coerce_value("high", "number")


@pytest.mark.parametrize(
    "kind", ["text", "multitext", "number", "checkbox", "date", "datetime", "tags", "aliases"]
)
def test_null_is_valid_for_every_type(kind: str) -> None:
    assert coerce_value(None, kind) is None


def test_a_vault_cannot_change_the_types_of_the_apps_own_properties() -> None:
    assert property_type("Tags", {}) == property_type("tags", {"tags": "text"}) == "tags"
    assert (property_type("aliases", {}), property_type("cssclasses", {})) == ("aliases", "multitext")
    assert (property_type("Due", {"due": "date"}), property_type("other", {})) == ("date", "")
