from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.bases.expression import (
    MAX_LITERAL_ITEMS,
    MAX_TREE_DEPTH,
    Binary,
    FunctionCall,
    Hyphenated,
    ListLiteral,
    Member,
    MethodCall,
    Name,
    Node,
    ObjectLiteral,
    Pattern,
    ScalarLiteral,
    Subscript,
    Unary,
    children,
    parse_expression,
)
from vaultbridge.errors import InvalidQuery


def render_tree(node: Node) -> str:
    """The tree with every operation in parentheses."""
    match node:
        case ScalarLiteral(value):
            return repr(value)
        case Pattern():
            return f"/{node.source}/{node.flags}"
        case Name() | Hyphenated():
            return node.name
        case Member():
            return f"{render_tree(node.target)}.{node.name}"
        case Subscript():
            return f"{render_tree(node.target)}[{render_tree(node.key)}]"
        case FunctionCall():
            return f"{node.name}({', '.join(map(render_tree, node.arguments))})"
        case MethodCall():
            return f"{render_tree(node.target)}.{node.name}({', '.join(map(render_tree, node.arguments))})"
        case Unary():
            return f"({node.operator}{render_tree(node.operand)})"
        case Binary():
            return f"({render_tree(node.left)} {node.operator} {render_tree(node.right)})"
        case ListLiteral():
            return f"[{', '.join(map(render_tree, node.items))}]"
        case ObjectLiteral():
            return "{" + ", ".join(f"{key}: {render_tree(value)}" for key, value in node.items) + "}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a + b * c", "(a + (b * c))"),
        ("a * b + c", "((a * b) + c)"),
        ("a - b - c", "((a - b) - c)"),
        ("(a + b) * c", "((a + b) * c)"),
        ("a % b / c", "((a % b) / c)"),
        ("a || b && c", "(a || (b && c))"),
        ("a == b && c != d", "((a == b) && (c != d))"),
        ("a < b == c >= d", "((a < b) == (c >= d))"),
        ("!a && b", "((!a) && b)"),
        ("!a.b()", "(!a.b())"),
        ("-a * b", "((-a) * b)"),
        ("a - -b", "(a - (-b))"),
        ("!!a", "(!(!a))"),
        ("a.b[0].c(d)[e]", "a.b[0.0].c(d)[e]"),
        ("note['my prop'].length", "note['my prop'].length"),
        ("if(a, b)", "if(a, b)"),
        ("[1, [2, ], ]", "[1.0, [2.0]]"),
        ("{a: 1, 'b c': 2, 3: null,}", "{a: 1.0, b c: 2.0, 3: None}"),
        ("{}.isEmpty()", "{}.isEmpty()"),
        ("/x/g.matches('y')", "/x/g.matches('y')"),
        ("1.isTruthy()", "1.0.isTruthy()"),
        ("true || false", "(True || False)"),
        ("now() - file.ctime > '1d'", "((now() - file.ctime) > '1d')"),
        ("image(image-property)", "image(image-property)"),
        ("a-b-c", "a-b-c"),
        ("a -b", "(a - b)"),
        ("2*a-b", "((2.0 * a) - b)"),
    ],
)
def test_the_grammar(source: str, expected: str) -> None:
    assert render_tree(parse_expression(source)) == expected


def test_a_hyphenated_name_may_also_be_a_difference() -> None:
    node = parse_expression("a-b")
    assert isinstance(node, Hyphenated)
    assert node.difference == Binary("-", Name("a", 0), Name("b", 2), 1)


@pytest.mark.parametrize(
    ("source", "position"),
    [
        ("", 0),
        ("  ", 0),
        ("a b", 2),
        ("a +", 3),
        ("f(a", 3),
        ("f(a b)", 4),
        ("[1, 2", 5),
        ("a[1", 3),
        ("a.", 2),
        ("a.1", 2),
        (")", 0),
        ("{1+2: 3}", 2),
        ("{a 1}", 3),
        ("a and b", 2),
    ],
)
def test_a_mistake_is_reported_with_its_position(source: str, position: int) -> None:
    with pytest.raises(InvalidQuery) as refused:
        parse_expression(source)
    assert refused.value.position == position


def test_words_for_operators_are_refused_with_the_right_sign() -> None:
    with pytest.raises(InvalidQuery, match=r"Write \|\|"):
        parse_expression("a or b")


@pytest.mark.parametrize(
    "source",
    [
        "(" * 500 + "a" + ")" * 500,
        "[" * 500 + "]" * 500,
        "+".join("a" * 500),
        "!" * 500 + "a",
        "a" + ".b()" * 500,
        "a" + "[0]" * 500,
        "f(" * 500 + ")" * 500,
        "-".join("a" * 500),
    ],
)
def test_what_nests_too_deeply_is_refused(source: str) -> None:
    with pytest.raises(InvalidQuery, match="deeper"):
        parse_expression(source)


def test_an_expression_nested_to_the_limit_is_read() -> None:
    parse_expression(" && ".join("a" * MAX_TREE_DEPTH))


def test_the_number_of_arguments_is_bounded() -> None:
    with pytest.raises(InvalidQuery, match="elements"):
        parse_expression(f"[{','.join('1' * (MAX_LITERAL_ITEMS + 1))}]")


PIECES = st.sampled_from(
    ["a", "1", "'t'", "(", ")", "[", "]", "{", "}", ",", ".", ":", "+", "-", "/", "!", "==", "&&", " ", "f"]
)


@settings(deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_mixture_gives_a_tree_or_an_invalid_query(source: str) -> None:
    try:
        tree = parse_expression(source)
    except InvalidQuery as refused:
        assert 0 <= refused.position <= len(source)
    else:
        waiting: list[Node] = [tree]
        while waiting:
            node = waiting.pop()
            assert 0 <= node.start < len(source)
            waiting.extend(children(node))
