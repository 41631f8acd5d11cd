"""Values written as YAML are read back by the reader of properties."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import InvalidArgument
from vaultbridge.markdown.edits.yaml import check_value, write_block, write_flow, write_key, write_string
from vaultbridge.markdown.yaml import parse_yaml, resolve_plain

STRINGS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.text(st.sampled_from("ab:#-[]{},'\"\\&*!|>%@`?~= \n\t0123.e"), max_size=8),
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**62), 2**62), st.floats(allow_nan=False), STRINGS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_a_value_on_one_line_is_read_back(value: Any) -> None:
    written = write_flow(value)
    assert "\n" not in written
    read = parse_yaml(f"[{written}]")
    assert read.problem is None, (written, read.problem)
    assert repr(read.value) == repr([value])


@given(st.lists(VALUES, min_size=1, max_size=3) | st.dictionaries(STRINGS, VALUES, min_size=1, max_size=3))
def test_a_list_or_map_under_its_key_is_read_back(value: Any) -> None:
    text = "k:\n" + "\n".join(write_block(value, "  ")) + "\n"
    assert repr(parse_yaml(text).value) == repr({"k": value})


@given(STRINGS)
def test_a_key_is_read_back(name: str) -> None:
    assert parse_yaml(f"{write_key(name)}: 1\n").value == {name: 1}


@pytest.mark.parametrize("name", ["null", "~", "true", "0x1F", "1.5", "2024", "<<", "="])
def test_a_key_that_another_reader_would_take_for_something_else_is_quoted(name: str) -> None:
    assert write_key(name) == f'"{name}"'


@given(STRINGS, st.sampled_from(["'", '"']))
def test_a_string_gets_the_requested_quotes_if_they_can_hold_it(text: str, quote: str) -> None:
    written = write_string(text, inside=False, quote=quote)
    assert parse_yaml(f"- {written}").value == [text]
    if text.isprintable():
        assert written[0] == written[-1] == quote


@pytest.mark.parametrize(
    "text",
    ["yes", "no", "on", "plain", "two words", "2024-05-06", "2024-05-06T07:08:09", "12:30", "é", "🌍",
     "1_000", "a-b", "a/b", "it's", "a'b\"c", "C#", "v1.2.3", "http://x.y/z"],
)  # fmt: skip
def test_strings_that_are_read_as_strings_are_not_quoted(text: str) -> None:
    assert write_string(text, inside=False) == text


@pytest.mark.parametrize(
    "text",
    ["", "01234", "1", "1e5", "0x1F", "0o17", ".inf", ".nan", "true", "False", "null", "~", "a: b", "a #b",
     "#a", "[a", "{a", "*a", "&a", "!a", "@a", "`a", "%a", "- a", "-a", "? a", "| a", "> a", "[[link]]",
     " a", "a ", "a\nb", "a:", "'a", "\"a", ", a", "=", "<<"],
)  # fmt: skip
def test_strings_that_would_be_misread_are_quoted(text: str) -> None:
    written = write_string(text, inside=False)
    assert written[0] in "\"'" and parse_yaml(f"k: {written}").value == {"k": text}


def test_inside_brackets_commas_need_quotes_too() -> None:
    assert write_string("a, b", inside=False) == "a, b"
    assert write_string("a, b") == '"a, b"'
    assert write_string('say "a, b"') == "'say \"a, b\"'"


def test_special_numbers_have_their_yaml_names() -> None:
    assert [write_flow(v) for v in (math.inf, -math.inf, math.nan, 1.5, 1e300)] == [
        ".inf", "-.inf", ".nan", "1.5", "1e+300",
    ]  # fmt: skip


@pytest.mark.parametrize("value", [{1: 2}, object(), b"x", {"a"}, [[object()]]])
def test_what_a_property_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(InvalidArgument, match="cannot hold"):
        check_value(value)


@pytest.mark.parametrize("number", [2**63, -(2**63), 10**30, 10**400, 2**63 - 1])
def test_an_integer_of_any_size_is_read_as_it_was_set(number: int) -> None:
    checked = check_value({"n": [number]})["n"][0]
    assert repr(resolve_plain(str(number))) == repr(resolve_plain(write_flow(checked))) == repr(checked)


def test_a_value_nested_without_end_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(InvalidArgument, match="nested deeper"):
        check_value(value)
    assert check_value((1, ("a",))) == [1, ["a"]]
