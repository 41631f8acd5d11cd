from __future__ import annotations

import math
from datetime import date, datetime

import pytest

from support.bases import make_context
from vaultbridge.bases.convert import convert_properties, convert_property
from vaultbridge.bases.values import (
    MAX_VALUE_DEPTH,
    Date,
    LinkValue,
    Value,
    count_values,
)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (None, None),
        (True, True),
        (3, 3.0),
        (10**400, math.inf),
        (-(10**400), -math.inf),
        ("text", "text"),
        ("2025-05-27", Date(datetime(2025, 5, 27), has_time=False)),
        ("2025-05-27T10:00:00", Date(datetime(2025, 5, 27, 10))),
        ("[[A|b]]", LinkValue("A", "s.md", "b")),
        (
            ["[[A]]", "2025-05-27", 1],
            (LinkValue("A", "s.md"), Date(datetime(2025, 5, 27), has_time=False), 1.0),
        ),
        ({"k": {1: "v"}}, {"k": {"1": "v"}}),
        (date(2025, 5, 27), Date(datetime(2025, 5, 27), has_time=False)),
        (datetime(2025, 5, 27, 1), Date(datetime(2025, 5, 27, 1))),
    ],
)
def test_a_property_becomes_a_value(given: object, value: Value) -> None:
    assert convert_property(given, "p", "s.md", make_context()) == value


def test_a_property_that_the_vault_types_as_text_holds_no_dates() -> None:
    context = make_context(types={"p": "text"})
    assert convert_property("2025-05-27", "P", "s.md", context) == "2025-05-27"
    assert convert_properties({"P": "2025-05-27", "q": "2025-05-27"}, "s.md", context) == {
        "P": "2025-05-27",
        "q": Date(datetime(2025, 5, 27), has_time=False),
    }


def test_a_deep_property_is_cut_where_values_may_not_nest_deeper() -> None:
    given: object = 1
    for _ in range(200):
        given = [given]
    value = convert_property(given, "p", "s.md", make_context())
    assert count_values(value) == MAX_VALUE_DEPTH + 1
