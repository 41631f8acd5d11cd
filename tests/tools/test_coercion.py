"""A value of the wrong type is coerced if it has one reading, and else stays unchanged."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from msgspec import UNSET, Meta, Struct, UnsetType

from vaultbridge.tools.base.arguments import coerce


class Inner(Struct, frozen=True):
    size: int = 0


class Wanted(Struct, frozen=True, kw_only=True):
    number: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    flag: bool = False
    text: str | None = None
    word: Literal["a", "1"] = "a"
    names: tuple[str, ...] = ()
    items: list[dict[str, Any]] = []
    inner: Inner | UnsetType = UNSET
    value: Any = UNSET
    either: int | str = 0


@pytest.mark.parametrize(
    ("field", "came", "read"),
    [
        ("number", "5", 5),
        ("number", " -5 ", -5),
        ("number", 5.0, 5),
        ("flag", "true", True),
        ("flag", " False", False),
        ("text", 2026, "2026"),
        ("text", -1, "-1"),
        ("names", '["a", "b"]', ["a", "b"]),
        ("names", [1, "b"], ["1", "b"]),
        ("items", '[{"op": "x"}]', [{"op": "x"}]),
        ("items", ['{"op": "x"}'], [{"op": "x"}]),
        ("inner", '{"size": 1}', {"size": 1}),
    ],
)
def test_a_value_with_one_reading_is_coerced(field: str, came: Any, read: Any) -> None:
    found = coerce({field: came}, Wanted)[field]
    assert found == read
    assert type(found) is type(read)


@pytest.mark.parametrize(
    ("field", "came"),
    [
        ("number", "5.5"),
        ("number", 5.5),
        ("number", "five"),
        ("number", "1" * 16),
        ("number", "\u0665"),
        ("number", ""),
        ("number", float("inf")),
        ("number", True),
        ("flag", "yes"),
        ("flag", 1),
        ("flag", ""),
        ("text", 1.5),
        ("text", True),
        ("text", ["a"]),
        ("word", 1),
        ("names", "a"),
        ("names", '{"a": 1}'),
        ("names", "[" * 100_000),
        ("items", "[1"),
        ("inner", "[]"),
        ("inner", '"\\ud800"'),
        ("value", "5"),
        ("value", "true"),
        ("value", "[]"),
        ("either", "5"),
        ("unknown", "5"),
    ],
)
def test_a_value_with_no_or_several_readings_stays_unchanged(field: str, came: Any) -> None:
    found = coerce({field: came}, Wanted)[field]
    assert found == came
    assert type(found) is type(came)
