from __future__ import annotations

import math
from datetime import datetime

import pytest

from support.bases import make_context
from vaultbridge.bases.run import BUILT_IN, find_summary
from vaultbridge.bases.values import Date, Duration, ErrorValue, LinkValue, Value

NUMBERS: tuple[Value, ...] = (4.0, 2.0, None, "x", 9.0, True, ErrorValue("no"))
DATES: tuple[Value, ...] = (Date(datetime(2025, 1, 3)), None, Date(datetime(2025, 1, 1)))
MIXED: tuple[Value, ...] = (
    True,
    False,
    True,
    None,
    "",
    (),
    "a",
    LinkValue("Dune"),
    LinkValue("Books/Dune"),
    ErrorValue("no"),
)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("Average", NUMBERS, 5.0),
        ("Min", NUMBERS, 2.0),
        ("Max", NUMBERS, 9.0),
        ("Sum", NUMBERS, 15.0),
        ("Range", NUMBERS, 7.0),
        ("Median", NUMBERS, 4.0),
        ("Stddev", (2.0, 4.0), 1.0),
        ("Earliest", DATES, Date(datetime(2025, 1, 1))),
        ("Latest", DATES, Date(datetime(2025, 1, 3))),
        ("Range", DATES, Duration(0, 172_800_000.0)),
        ("Checked", MIXED, 2.0),
        ("Unchecked", MIXED, 1.0),
        ("Empty", MIXED, 4.0),
        ("Filled", MIXED, 6.0),
        ("Unique", MIXED, 4.0),
        ("Average", (), None),
        ("Range", ("a",), None),
        ("Earliest", (), None),
        ("Sum", (Duration(0, 5.0), 1.0), 6.0),
    ],
)
def test_the_summaries_of_the_help_pages(name: str, values: tuple[Value, ...], expected: Value) -> None:
    assert BUILT_IN[name](make_context(), values) == expected


def test_names_are_found_in_any_case() -> None:
    assert find_summary("average") is BUILT_IN["Average"]
    assert find_summary("nonsense") is None


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_summary_fails_on_odd_numbers(name: str) -> None:
    BUILT_IN[name](make_context(), (math.inf, -math.inf, math.nan, 1e308, 1e308))
