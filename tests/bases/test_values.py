from __future__ import annotations

import math
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.bases import BOOK
from vaultbridge.bases.regex_compile import compile_regex
from vaultbridge.bases.values import (
    MAX_LIST_ITEMS,
    MAX_TEXT_CHARS,
    MAX_VALUE_DEPTH,
    Date,
    Duration,
    ErrorValue,
    File,
    FormulaError,
    HtmlValue,
    IconValue,
    ImageValue,
    LinkValue,
    TypeName,
    Value,
    check_text,
    count_values,
    format_number,
    is_empty,
    to_text,
    truthy,
    type_name,
)

SAMPLES: list[tuple[Value, TypeName, bool, str]] = [
    (None, "null", False, ""),
    (True, "boolean", True, "true"),
    (False, "boolean", False, "false"),
    (0.0, "number", False, "0"),
    (math.nan, "number", False, "NaN"),
    (2.5, "number", True, "2.5"),
    ("", "string", False, ""),
    ("a", "string", True, "a"),
    (Date(datetime(2025, 1, 2), has_time=False), "date", True, "2025-01-02"),
    (Date(datetime(2025, 1, 2, 3, 4, 5)), "date", True, "2025-01-02T03:04:05"),
    (Duration(0, 86_400_000), "duration", True, "a day"),
    (Duration(), "duration", False, "a few seconds"),
    ((), "list", False, ""),
    ((1.0, "b"), "list", True, "1, b"),
    ({}, "object", False, ""),
    ({"a": 1.0}, "object", True, "a: 1"),
    (LinkValue("A#B"), "link", True, "[[A#B]]"),
    (LinkValue("A", display="x"), "link", True, "[[A|x]]"),
    (LinkValue("https://e.org", external=True), "link", True, "https://e.org"),
    (LinkValue("https://e.org", display="e", external=True), "link", True, "[e](https://e.org)"),
    (File(BOOK), "file", True, "Books/Dune.md"),
    (compile_regex("a", "g"), "regexp", True, "/a/g"),
    (HtmlValue("<b>"), "html", True, "<b>"),
    (IconValue("plus"), "icon", True, "plus"),
    (ImageValue("a.png"), "image", True, "![](a.png)"),
    (ErrorValue("no"), "error", False, "no"),
]


@pytest.mark.parametrize(("value", "name", "truth", "text"), SAMPLES)
def test_each_kind_of_value_has_a_name_a_truth_and_a_text(
    value: Value, name: TypeName, truth: bool, text: str
) -> None:
    assert (type_name(value), truthy(value), to_text(value)) == (name, truth, text)


def test_empty_is_what_is_absent_or_holds_nothing() -> None:
    assert [is_empty(value) for value in (None, "", (), {})] == [True] * 4
    assert [is_empty(value) for value in (0.0, False, "a", (None,), Duration())] == [False] * 5


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (3.0, "3"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e21, "1e+21"),
        (123456789012345680000.0, "123456789012345680000"),
        (1e-7, "1e-7"),
        (1.5e-7, "1.5e-7"),
        (0.00001, "0.00001"),
        (-0.0000012, "-0.0000012"),
        (1.25e30, "1.25e+30"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_numbers_are_written_as_javascript_writes_them(number: float, text: str) -> None:
    assert format_number(number) == text


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_number_is_that_number(number: float) -> None:
    assert float(format_number(number)) == number


def test_counting_values_includes_nested_ones() -> None:
    assert count_values("text") == 1
    assert count_values((1.0, (2.0, {"a": 3.0}))) == 6


def test_a_list_that_shares_its_parts_is_refused_before_it_is_walked() -> None:
    value: Value = 1.0
    for _ in range(40):
        value = (value, value)
    with pytest.raises(FormulaError, match=f"more than {MAX_LIST_ITEMS}"):
        count_values(value)


def test_the_nesting_of_lists_is_bounded() -> None:
    value: Value = 1.0
    for _ in range(MAX_VALUE_DEPTH + 2):
        value = (value,)
    with pytest.raises(FormulaError, match="nested deeper"):
        count_values(value)


def test_the_length_of_a_text_is_bounded() -> None:
    assert len(check_text("a" * MAX_TEXT_CHARS)) == MAX_TEXT_CHARS
    with pytest.raises(FormulaError, match="characters"):
        check_text("a" * (MAX_TEXT_CHARS + 1))
