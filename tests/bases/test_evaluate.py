from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.bases import BOOK, evaluate, make_context
from vaultbridge.bases.evaluate import Evaluator, check_expression
from vaultbridge.bases.expression import MAX_TREE_DEPTH, parse_expression
from vaultbridge.bases.values import ErrorValue, FormulaError, LinkValue, Value, to_text
from vaultbridge.errors import InvalidQuery


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("price", 12.5),
        ("note.price", 12.5),
        ('note["price"]', 12.5),
        ('note["rating scale"].max', 5.0),
        ('note["rating scale"]["Steps"][1]', 2.0),
        ('note["rating scale"].steps.length', 2.0),
        ("PRICE", 12.5),
        ("case", "kept"),
        ("note.isEmpty()", False),
        ("author", LinkValue("Frank Herbert", BOOK.path, "Frank")),
        ("authors[1]", LinkValue("Nobody", BOOK.path)),
        ("authors[2]", None),
        ("authors[-1]", None),
        ("authors[0.5]", None),
        ("status[0]", "r"),
        ("price[0]", None),
        ("missing.deeper.still", None),
        ("missing[0][1]", None),
        ("image-property", "cover.png"),
        ("price-age", 8.5),
        ("site", "https://example.org/"),
        ("!done", True),
        ("done || price", True),
        ("done && missing.contains('never evaluated')", False),
        ("price || missing.contains('never evaluated')", True),
        ("values", None),
        ("value", None),
        ("title.length + index", None),
        ("[title].map(value.length + index)", (4.0,)),
        ("note.title", "Dune"),
        ("file['name']", "Dune"),
    ],
)
def test_names_members_and_operators(source: str, expected: Value) -> None:
    assert evaluate(source) == expected


def test_local_names_hide_the_notes_properties_only_inside_the_call() -> None:
    assert evaluate("[1].map(value)[0]") == 1
    assert evaluate("[{name: 'x'}].map(value.name)") == ("x",)
    assert evaluate("[[1, 2]].map(value.filter(value > 1))") == ((2.0,),)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("price.contains('x')", r"Cannot call contains\(\) on a value of type number"),
        ("now().nonsense", "Cannot find nonsense on a value of type date"),
        ("authors['x']", "Cannot find x on a value of type list"),
        ("status.filter(value)", r"Cannot call filter\(\) on a value of type string"),
        ("status.isEmpty('x')", r"isEmpty\(\) takes 0 arguments, got 1"),
    ],
)
def test_what_the_row_s_value_cannot_do_is_a_formula_error(source: str, message: str) -> None:
    with pytest.raises(FormulaError, match=message):
        tree = parse_expression(source)
        Evaluator(make_context(), BOOK, lambda name: None).value(tree)


def test_values_are_those_of_the_summary() -> None:
    tree = parse_expression("values.mean().round(1)")
    assert Evaluator(make_context(), None, lambda name: None, (1.0, 2.0, 2.0)).value(tree) == 1.7


def test_a_failed_formula_fails_what_uses_it() -> None:
    def evaluate_formula(name: str) -> Value:
        return ErrorValue(f"{name} failed")

    evaluator = Evaluator(make_context(), BOOK, evaluate_formula)
    with pytest.raises(FormulaError, match="x failed"):
        evaluator.value(parse_expression("1 + formula.x"))
    with pytest.raises(FormulaError, match="a b failed"):
        evaluator.value(parse_expression("formula['a b']"))


def test_the_deepest_tree_can_be_evaluated() -> None:
    assert evaluate("!" * (MAX_TREE_DEPTH - 1) + "true") is False
    assert evaluate("list(" * (MAX_TREE_DEPTH - 2) + "1" + ")" * (MAX_TREE_DEPTH - 2)) == (1.0,)
    assert evaluate("true" + ".isTruthy()" * (MAX_TREE_DEPTH - 1)) is True


def test_work_is_bounded() -> None:
    list_of = "'x'.repeat(1000).split('')"
    with pytest.raises(FormulaError, match="too many steps"):
        evaluate(f"{list_of}.map({list_of}.map({list_of}.length)).length")


PIECES = st.sampled_from(
    """
    price age status author authors due missing file file.tags note this now() today() 1 2.5 'a' '1d' true
    null [1,2] {a:1} /a/
    .length .contains('a') .isEmpty() .map(value) .filter(value) .reduce(acc+value,0) .sort()
    .unique() .flat() .join() .toString() .round() .date() .year .asFile() .hasTag('book') .keys() .title()
    + - * / % == != < > <= >= && || ! ( ) [0] if( , list( link( number( date(
    """.split()  # noqa: SIM905 - a table of words reads better so
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=12).map(" ".join))
def test_any_expression_gives_a_value_or_a_documented_error(source: str) -> None:
    try:
        tree = parse_expression(source)
        check_expression(tree, ())
    except InvalidQuery:
        return
    try:
        value = Evaluator(make_context(this=BOOK), BOOK, lambda name: None).value(tree)
    except FormulaError as error:
        assert str(error)
    else:
        to_text(value)
