from __future__ import annotations

import pytest

from vaultbridge.bases.evaluate import check_expression, formula_names, formula_order
from vaultbridge.bases.expression import parse_expression
from vaultbridge.errors import InvalidQuery


@pytest.mark.parametrize(
    ("source", "position", "message", "hint"),
    [
        ("1 + foo(2)", 4, "Unknown function foo()", ""),
        ("file.hastag('x')", 5, "Unknown function hastag()", "hasTag()"),
        ("a.b.c.wat()", 6, "Unknown function wat()", ""),
        ("lower(x)", 0, "Unknown function lower()", "value.lower()"),
        ("x.if(1)", 2, "Unknown function if()", "if(…)"),
        ("Today()", 0, "Unknown function Today()", "today()"),
        ("file.nme", 5, "Unknown file property file.nme", "file.name"),
        ("[formula.b]", 9, "Unknown formula formula.b", "Choose one of: price."),
        ("not(x)", 0, "Unknown function not()", "Write !value."),
        ("empty(x)", 0, "Unknown function empty()", "Write value.isEmpty()."),
        ("formula['price x']", 7, "Unknown formula formula.price x", "formula.price"),
        ("if(1)", 0, "if() takes 2 to 3 arguments, got 1", ""),
        ("now(1)", 0, "now() takes 0 arguments, got 1", ""),
        ("max()", 0, "max() takes at least 1 argument, got 0", ""),
        ("x.map()", 2, "map() takes 1 argument, got 0", ""),
        ("x.reduce(1, 2, 3)", 2, "reduce() takes 1 to 2 arguments, got 3", ""),
        ("x.trim(1)", 2, "trim() takes 0 arguments, got 1", ""),
        ("/a(/.matches(x)", 3, "unclosed group", ""),
    ],
)
def test_what_does_not_exist_is_reported_with_its_position(
    source: str, position: int, message: str, hint: str
) -> None:
    with pytest.raises(InvalidQuery) as refused:
        check_expression(parse_expression(source), {"price": 1})
    assert message in refused.value.message
    assert hint in refused.value.hint
    assert refused.value.position == position


@pytest.mark.parametrize(
    "source",
    ["formula.price + formula['price']", "file.name", "anything.at.all", "x.reverse()", "this.file.nme"],
)
def test_names_that_may_exist_pass_the_check(source: str) -> None:
    check_expression(parse_expression(source), {"price"})


def test_formulas_are_found_wherever_they_are_named() -> None:
    tree = parse_expression("[formula.a].map(formula['b c'] + formula[x])")
    assert [name for name, _ in formula_names(tree)] == ["a", "b c"]


def test_formulas_are_ordered_after_what_they_need() -> None:
    sources = {"a": "formula.b + formula.c", "b": "formula.c", "c": "1", "d": "formula.a"}
    trees = {name: parse_expression(source) for name, source in sources.items()}
    order = formula_order(trees, "a")
    assert set(order) == {"a", "b", "c"}
    assert order.index("c") < order.index("b") < order.index("a")


def test_a_long_chain_of_formulas_is_ordered() -> None:
    trees = {f"f{n}": parse_expression(f"formula.f{n + 1}") for n in range(5_000)}
    trees["f5000"] = parse_expression("1")
    assert formula_order(trees, "f0")[0] == "f5000"


@pytest.mark.parametrize(
    ("sources", "circle"),
    [
        ({"a": "formula.a"}, "formula.a -> formula.a"),
        ({"a": "formula.b", "b": "1 + formula.c", "c": "formula.b"}, "formula.b -> formula.c -> formula.b"),
    ],
)
def test_a_circle_of_formulas_is_named(sources: dict[str, str], circle: str) -> None:
    trees = {name: parse_expression(source) for name, source in sources.items()}
    with pytest.raises(InvalidQuery) as refused:
        formula_order(trees, "a")
    assert circle in refused.value.message
