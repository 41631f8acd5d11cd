from __future__ import annotations

from datetime import datetime

import pytest

from support.bases import evaluate
from vaultbridge.bases.values import Date, Duration, FormulaError, ImageValue, LinkValue, Value

SOURCE = "Books/Dune.md"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("""escapeHTML("<a href='x'>&\\"")""", "&lt;a href=&#39;x&#39;&gt;&amp;&quot;"),
        ("date('2025-05-27')", Date(datetime(2025, 5, 27), has_time=False)),
        ("date(due) == due", True),
        ("date(missing)", None),
        ("date(0)", Date(datetime(1970, 1, 1))),
        ("duration('2 weeks')", Duration(0, 14 * 86_400_000)),
        ("duration(duration('1d'))", Duration(0, 86_400_000)),
        ("duration(1000)", Duration(0, 1000)),
        ("duration(missing)", None),
        ("if(missing, 1)", None),
        ("if('', 1, 2)", 2.0),
        ("if(true, 1, missing.contains('x'))", 1.0),
        ("image(missing)", None),
        ("image(file('Images/cover.png'))", ImageValue("Images/cover.png")),
        ("image(link('cover.png'))", ImageValue("Images/cover.png")),
        ("image(link('https://e.org/a.png'))", ImageValue("https://e.org/a.png")),
        ("link(missing)", None),
        ("link(file, 'x')", LinkValue(SOURCE, SOURCE, "x")),
        ("link(author)", LinkValue("Frank Herbert", SOURCE, "Frank")),
        ("link(author, 'x')", LinkValue("Frank Herbert", SOURCE, "x")),
        ("link('https://obsidian.md')", LinkValue("https://obsidian.md", SOURCE, external=True)),
        ("list(missing)", ()),
        ("list([1])", (1.0,)),
        ("max(1, 3, 2)", 3.0),
        ("min(1, -3)", -3.0),
        ("max(duration('1s'), 5)", 1000.0),
        ("now()", Date(datetime(2025, 5, 27, 14, 30, 15, 250_000))),
        ("today()", Date(datetime(2025, 5, 27), has_time=False)),
        ("number(true)", 1.0),
        ("number(7)", 7.0),
        ("number(missing)", None),
        ("number(date('1970-01-02'))", 86_400_000.0),
        ("number(duration('1s'))", 1000.0),
        ("random()", 0.25),
        ("missing.isEmpty()", True),
        ("missing.isTruthy()", False),
        ("missing.toString()", ""),
        ("missing.isType('null')", True),
        ("[1].isType('LIST')", True),
        ("true.isEmpty()", False),
        ("due.toString()", "2025-06-01"),
        ("author.toString()", "[[Frank Herbert|Frank]]"),
    ],
)
def test_global_functions_and_those_of_every_value(source: str, expected: Value) -> None:
    assert evaluate(source) == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("date('soon')", '"soon" is not YYYY-MM-DD'),
        ("date(1/0)", "out of range"),
        ("duration('soon')", '"soon" is not a duration'),
        ("number('x1')", '"x1" is not a number'),
        ("number([1])", "is not a number"),
        ("max('a', 1)", r"max\(\) needs a number, got string"),
        ("min(true)", r"min\(\) needs a number, got boolean"),
    ],
)
def test_a_wrong_argument_is_a_formula_error_with_a_reason(source: str, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        evaluate(source)
