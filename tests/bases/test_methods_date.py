from __future__ import annotations

from datetime import datetime

import pytest

from support.bases import evaluate
from vaultbridge.bases.values import Date, FormulaError, Value


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("now().year", 2025.0),
        ("now().month", 5.0),
        ("now().day", 27.0),
        ("now().hour", 14.0),
        ("now().minute", 30.0),
        ("now().second", 15.0),
        ("now().millisecond", 250.0),
        ("seen.date()", Date(datetime(2025, 5, 26), has_time=False)),
        ("seen.time()", "23:30:00"),
        ("due.relative()", "in 4 days"),
        ("today().format('YYYY-MM-DD')", "2025-05-27"),
        ("(due - today()).days", 5.0),
        ("(due - today()).weeks.round(2)", 0.71),
        ("duration('90m').hours", 1.5),
        ("duration('1y').months.round()", 12.0),
        ("duration('1y').years.round(3)", 1.0),
        ("duration('2s').milliseconds", 2000.0),
        ("duration('2m').seconds", 120.0),
        ("duration('2h').minutes", 120.0),
        ("due.isType('date')", True),
    ],
)
def test_date_functions_and_fields(source: str, expected: Value) -> None:
    assert evaluate(source) == expected


def test_a_text_has_no_date_functions() -> None:
    with pytest.raises(FormulaError, match=r"Cannot call format\(\) on a value of type string"):
        evaluate("status.format('YYYY')")
