from __future__ import annotations

import pytest

from support.bases import evaluate
from vaultbridge.bases.values import FormulaError, Value


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("(-2.5).round()", -2.0),
        ("(2.449).round(1)", 2.4),
        ("(1e20).round(3)", 1e20),
        ("(1.005).toFixed(2)", "1.00"),
        ("(2.5).toFixed(0)", "3"),
        ("(-2.5).toFixed()", "-3"),
        ("(0.5).toFixed(0)", "1"),
        ("(-0.001).toFixed(1)", "-0.0"),
        ("(-0).toFixed(1)", "0.0"),
        ("(1e21).toFixed(2)", "1e+21"),
        ("(1/0).toFixed(2)", "Infinity"),
        ("(1/0).floor()", float("inf")),
        ("(-1.5).ceil()", -1.0),
        ("duration('36h').round()", 129_600_000.0),
        ("(now() - file.mtime).abs() > 0", True),
    ],
)
def test_number_functions_compute(source: str, expected: Value) -> None:
    assert evaluate(source) == expected


@pytest.mark.parametrize("source", ["(1).toFixed(101)", "(1).round(-1)", "(1).round('a')", "'a'.round()"])
def test_a_wrong_argument_is_a_formula_error(source: str) -> None:
    with pytest.raises(FormulaError):
        evaluate(source)
