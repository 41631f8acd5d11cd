"""A formula's error says what was expected where it went wrong."""

from __future__ import annotations

import pytest

from support.bases import BOOK, evaluate
from vaultbridge.bases.expression import parse_expression
from vaultbridge.bases.values import FormulaError
from vaultbridge.errors import InvalidQuery

VALUE = 'expected a value, such as a property, a number or "text".'
OPERATOR = "expected an operator, such as == or &&, or the end."


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("price >", f"Unexpected end of the expression at 7, {VALUE}"),
        ("|| price", f"Unexpected '||' at 0, {VALUE}"),
        ("@price", f"Unexpected '@' at 0, {VALUE}"),
        ("price @", f"Unexpected '@' at 6, {OPERATOR}"),
        ("a b", f"Unexpected 'b' at 2, {OPERATOR}"),
        ("price)", f"Unexpected ')' at 5, {OPERATOR}"),
        ("(price", "Unexpected end of the expression at 6, expected ')'."),
        ("max(1", "Unexpected end of the expression at 5, expected ',' or ')'."),
        ("[1 2]", "Unexpected '2' at 3, expected ',' or ']'."),
        ("{a: 1 b}", "Unexpected 'b' at 6, expected ',' or '}'."),
        ("{(", "Unexpected '(' at 1, expected a key or '}'."),
        ("authors[1", "Unexpected end of the expression at 9, expected ']'."),
        ("price.", "Unexpected end of the expression at 6, expected a name."),
    ],
)
def test_an_expression_that_cannot_be_read(source: str, message: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        parse_expression(source)
    assert refused.value.message == message


def test_an_arrow_is_explained() -> None:
    with pytest.raises(InvalidQuery) as refused:
        parse_expression("authors.filter(x => x)")
    assert "filter(value > 2)" in refused.value.hint


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("price.contains(1)", "Cannot call contains() on a value of type number, expected string or list."),
        ("status.filter(value)", "Cannot call filter() on a value of type string, expected list."),
        ("status.format('YYYY')", "Cannot call format() on a value of type string, expected date."),
        ("authors.contains", "Cannot find contains on a value of type list. Write contains() to call it."),
        ("status * 2", "Cannot multiply string and number, expected numbers."),
        ("due - 'x'", "Cannot subtract date and string, expected two dates, or a date and '1d'."),
        ("2 * duration('1h')", "Cannot multiply number and duration, expected the duration first."),
        ("-status", "Cannot negate a value of type string, expected a number."),
        ("price.toFixed(500)", "toFixed() takes 0 to 100 digits, got 500."),
        ("number('x')", 'number(): "x" is not a number such as 3.5.'),
    ],
)
def test_a_value_that_does_not_fit(source: str, message: str) -> None:
    with pytest.raises(FormulaError) as refused:
        evaluate(source, BOOK)
    assert str(refused.value) == message
