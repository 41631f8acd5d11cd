"""The search language of docs/obsidian.md 8; the choices where it is silent are in the module's docstring."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import InvalidQuery
from vaultbridge.index.query.parse import (
    QUERY_CHARS,
    QUERY_DEPTH,
    QUERY_PARTS,
    And,
    Anything,
    Cased,
    Compared,
    HasProperty,
    HasTag,
    IsNull,
    Not,
    Or,
    Query,
    RegexTerm,
    Term,
    Within,
    parse_query,
)

A, B, C = Term("a"), Term("b"), Term("c")


@pytest.mark.parametrize(
    ("written", "tree"),
    [
        ("a", A),
        ("a b", And((A, B))),
        ("a OR b", Or((A, B))),
        ("a b OR c", Or((And((A, B)), C))),
        ("a (b OR c)", And((A, Or((B, C))))),
        ("-a", Not(A)),
        ("a -(b c)", And((A, Not(And((B, C)))))),
        ('"a b"', Term("a b", quoted=True)),
        (r'"say \"a\" \\ b"', Term('say "a" \\ b', quoted=True)),
        (r"/a\/b[/]c/", RegexTerm(r"a\/b[/]c")),
        ("/usr/bin", And((RegexTerm("usr"), Term("bin")))),
        ("/usr", Term("/usr")),
        ("file:a", Within("file", A)),
        ("path:(a OR b)", Within("path", Or((A, B)))),
        ("content:a", Within("content", A)),
        ("line:(a b)", Within("line", And((A, B)))),
        ("block:(a b)", Within("block", And((A, B)))),
        ("section:(a -b)", Within("section", And((A, Not(B))))),
        ("task:a", Within("task", A)),
        ("task-todo:a", Within("task-todo", A)),
        ('task-done:""', Within("task-done", Anything())),
        ("task-todo:", Within("task-todo", Anything())),
        ("FILE:a", Within("file", A)),
        ("match-case:a", Cased(True, A)),
        ("ignore-case:(a b)", Cased(False, And((A, B)))),
        ("tag:#x/y", HasTag("x/y")),
        ("tag:x", HasTag("x")),
        ("-tag:#x a", And((Not(HasTag("x")), A))),
        ("tag:(#x OR #y)", Or((HasTag("x"), HasTag("y")))),
        ("[p]", HasProperty(Term("p"), Anything())),
        ("[p:a]", HasProperty(Term("p"), A)),
        ('["due date":a]', HasProperty(Term("due date", quoted=True), A)),
        ("[due date:a]", HasProperty(Term("due date"), A)),
        ("[p:null]", HasProperty(Term("p"), IsNull())),
        ('[p:"null"]', HasProperty(Term("p"), Term("null", quoted=True))),
        ("[p:>5]", HasProperty(Term("p"), Compared(">", "5"))),
        ("[p:<=2024-01-01]", HasProperty(Term("p"), Compared("<=", "2024-01-01"))),
        ("[p:10:30]", HasProperty(Term("p"), Term("10:30"))),
        ("[p:a OR b]", HasProperty(Term("p"), Or((A, B)))),
        ("[p:/re]x/]", HasProperty(Term("p"), RegexTerm("re]x"))),
        ("[p:-a]", HasProperty(Term("p"), Not(A))),
        ("[p:]", HasProperty(Term("p"), Anything())),
        ("https://a.b/c", Term("https://a.b/c")),
        ("10:30", Term("10:30")),
        ("note: a", And((Term("note:"), A))),
        ("[[My note]]", Term("[[My note]]")),
        ("#tag", Term("#tag")),
        ("a - b", And((A, Term("-"), B))),
        ("ORDER", Term("ORDER")),
        ('"OR"', Term("OR", quoted=True)),
        ("()", Anything()),
        ("a\u3000b", And((A, B))),
    ],
)
def test_queries_are_parsed_as_in_the_app(written: str, tree: Query) -> None:
    assert parse_query(written) == tree


@pytest.mark.parametrize(
    ("written", "position", "says"),
    [
        ("", 0, "empty"),
        ("   ", 3, "empty"),
        ("a (b", 2, "never closed"),
        ("a)", 1, "closes no group"),
        (")", 0, "closes no group"),
        ('say "a', 4, "never closed"),
        ("OR a", 0, "nothing before"),
        ("a OR", 2, "nothing after"),
        ("status:done", 0, "not an operator"),
        ("tag:", 0, "name of a tag"),
        ("tag:/x/", 0, "name of a tag"),
        ("[", 0, "needs a name"),
        ("[p:a", 0, "never closed"),
        ("[p:>]", 3, "needs a value"),
        ("a" * (QUERY_CHARS + 1), 0, "characters"),
        ("(" * (QUERY_DEPTH + 1) + "a" + ")" * (QUERY_DEPTH + 1), QUERY_DEPTH, "deep"),
        ("line:" * (QUERY_DEPTH + 1) + "a", 5 * QUERY_DEPTH, "deep"),
        ("a " * (QUERY_PARTS + 1), 2 * QUERY_PARTS, "parts"),
    ],
)
def test_an_invalid_query_is_refused_with_the_place_of_the_mistake(
    written: str, position: int, says: str
) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse_query(written)
    assert says in str(caught.value)
    assert caught.value.position == position


@given(st.text(alphabet='ab -"()[]:/\\#<>ORtagline', max_size=60))
def test_any_text_gives_a_tree_or_an_invalid_query(written: str) -> None:
    try:
        parse_query(written)
    except InvalidQuery as error:
        assert 0 <= error.position <= len(written)
