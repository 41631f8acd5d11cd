from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.bases.expression import MAX_EXPRESSION_CHARS, tokenize
from vaultbridge.errors import InvalidQuery


def list_tokens(source: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokenize(source)[:-1]]


def test_tokens_have_their_positions() -> None:
    assert [(t.start, t.end) for t in tokenize('a  == "b"')] == [(0, 1), (3, 5), (6, 9), (9, 9)]


def test_a_slash_divides_after_a_value_and_opens_a_regular_expression_elsewhere() -> None:
    assert list_tokens("a / b") == [("name", "a"), ("sign", "/"), ("name", "b")]
    assert list_tokens("(a) /2") == [
        ("sign", "("),
        ("name", "a"),
        ("sign", ")"),
        ("sign", "/"),
        ("number", "2"),
    ]
    assert list_tokens("f(/a b/)")[2] == ("regexp", "a b")


def test_a_regular_expression_may_contain_a_slash_in_a_class_or_escaped() -> None:
    token = tokenize(r"/a[/]b\/c/gi")[0]
    assert (token.text, token.flags) == (r"a[/]b\/c", "gi")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (r'"a\nb\t\\"', "a\nb\t\\"),
        (r"'it\'s'", "it's"),
        (r'"\u00e9\x41\u{1F600}"', "éA😀"),
        (r'"\q"', "q"),
        (r'"\ud800"', "�"),
        (r'"\u{FFFFFF}"', "�"),
        ('"two\nlines"', "two\nlines"),
    ],
)
def test_escapes_in_text_are_javascript_s(written: str, expected: str) -> None:
    assert tokenize(written)[0].text == expected


@pytest.mark.parametrize("number", ["1", "2.5", ".5", "1e3", "1.5E-2"])
def test_numbers_are_single_tokens(number: str) -> None:
    assert list_tokens(number) == [("number", number)]


def test_a_dot_after_digits_is_member_access_when_a_name_follows() -> None:
    assert list_tokens("1.isTruthy") == [("number", "1"), ("sign", "."), ("name", "isTruthy")]


def test_names_may_be_of_any_script() -> None:
    assert list_tokens("größe _x $y 名前") == [("name", n) for n in ("größe", "_x", "$y", "名前")]


@pytest.mark.parametrize(
    ("source", "position", "hint"),
    [
        ("a = b", 2, "=="),
        ("a === b", 2, "=="),
        ("a !== b", 2, "!="),
        ("a ? b : c", 2, "if("),
        ("a & b", 2, "&&"),
        ("a | b", 2, "||"),
        ("a == “b”", 5, "straight"),
        ("a @ b", 2, ""),
    ],
)
def test_a_sign_of_another_language_is_refused_with_the_right_one(
    source: str, position: int, hint: str
) -> None:
    with pytest.raises(InvalidQuery) as refused:
        tokenize(source)
    assert refused.value.position == position
    assert hint in refused.value.hint


@pytest.mark.parametrize(("source", "position"), [('x == "abc', 5), ("a && /b", 5), ("/a\nb/", 0)])
def test_what_is_not_closed_is_refused_where_it_opened(source: str, position: int) -> None:
    with pytest.raises(InvalidQuery, match="not closed") as refused:
        tokenize(source)
    assert refused.value.position == position


def test_the_length_of_an_expression_is_bounded() -> None:
    assert len(tokenize("a" * MAX_EXPRESSION_CHARS)) == 2
    with pytest.raises(InvalidQuery, match="characters"):
        tokenize("a" * (MAX_EXPRESSION_CHARS + 1))


@settings(deadline=None)
@given(st.text())
def test_any_text_gives_tokens_or_an_invalid_query(source: str) -> None:
    try:
        found = tokenize(source)
    except InvalidQuery as refused:
        assert 0 <= refused.position <= len(source)
    else:
        assert found[-1].kind == "end"
        assert all(a.end <= b.start for a, b in itertools.pairwise(found))
