from __future__ import annotations

import math

import pytest

from vaultbridge.bases.context import ANY_NUMBER, Method, index_argument, number_argument, text_argument
from vaultbridge.bases.values import Duration, FormulaError


@pytest.mark.parametrize(
    ("least", "most", "count", "refusal"),
    [
        (0, 0, 0, ""),
        (0, 0, 1, "f() takes 0 arguments, got 1."),
        (1, 1, 0, "f() takes 1 argument, got 0."),
        (1, 2, 2, ""),
        (1, 2, 3, "f() takes 1 to 2 arguments, got 3."),
        (1, ANY_NUMBER, 99, ""),
        (2, ANY_NUMBER, 1, "f() takes at least 2 arguments, got 1."),
    ],
)
def test_a_wrong_number_of_arguments_is_reported(least: int, most: int, count: int, refusal: str) -> None:
    assert Method(lambda context, target, arguments: None, least, most).refusal("f", count) == refusal


def test_arguments_are_converted_to_what_a_function_needs() -> None:
    assert number_argument((Duration(0, 5),), 0, "f") == 5
    assert index_argument((2.9,), 0, "f") == 2
    assert index_argument((math.nan,), 0, "f") == 0
    assert index_argument((-math.inf,), 0, "f") == -1_000_000_000
    assert text_argument((None,), 0) == ""


def test_a_boolean_is_not_a_number() -> None:
    with pytest.raises(FormulaError, match=r"f\(\) needs a number, got boolean"):
        number_argument((True,), 0, "f")
