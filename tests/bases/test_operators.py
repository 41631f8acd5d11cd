from __future__ import annotations

import math
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.bases import BOOK, evaluate, make_context
from vaultbridge.bases.operators import are_equal, identity_key, read_number, sort_key
from vaultbridge.bases.values import Date, Duration, FormulaError, LinkValue, Value


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1 == 1", True),
        ("1 == '1'", True),
        ("'a' == 'A'", False),
        ("true == 1", False),
        ("true == true", True),
        ("null == null", True),
        ("empty == null", True),
        ("null == ''", False),
        ("null == 0", False),
        ("[1, 'a'] == [1, 'a']", True),
        ("[1] == [1, 2]", False),
        ("{a: [1]} == {a: [1]}", True),
        ("{a: 1} == {b: 1}", False),
        ("due == '2025-06-01'", True),
        ("'2025-06-01' == due", True),
        ("due == date('2025-06-01')", True),
        ("due == 'soon'", False),
        ("duration('1d') == 86400000", True),
        ("author == link('Frank Herbert')", True),
        ("author == link('People/Frank Herbert.md', 'other words')", True),
        ("author == file('People/Frank Herbert.md')", True),
        ("author != file", True),
        ("author == '[[Frank Herbert]]'", True),
        ("author == 'Frank Herbert'", True),
        ("author == 'Frank'", False),
        ("link('Nobody') == link('Nobody', 'x')", True),
        ("link('Nobody') == link('Nowhere')", False),
        ("link('https://e.org') == link('https://e.org')", True),
        ("file == 'Books/Dune.md'", True),
        ("file == 'Dune'", True),
        ("file == 'Dun'", False),
        ("authors.contains(link('Frank Herbert'))", True),
    ],
)
def test_equality_compares_values(source: str, expected: bool) -> None:
    assert evaluate(source) is expected
    flipped = source.replace("==", "!=") if "==" in source else source.replace("!=", "==")
    if flipped != source:
        assert evaluate(flipped) is not expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("2 > 1", True),
        ("2 >= 2", True),
        ("2 < 2", False),
        ("'b' > 'a'", True),
        ("'10' > 9", True),
        ("price > 2.1", True),
        ("missing > 2", False),
        ("missing < 2", False),
        ("missing <= missing", False),
        ("due > now()", True),
        ("due < '2025-06-02'", True),
        ("due < 'soon'", False),
        ("file.mtime > now() - '1 week'", True),
        ("now() - file.mtime > duration('2d')", True),
        ("now() - file.mtime > 86400000", True),
        ("true > 0", True),
        ("[1] > 0", False),
        ("0/0 > 1", False),
        ("0/0 <= 1", False),
    ],
)
def test_order_compares_values(source: str, expected: bool) -> None:
    assert evaluate(source) is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1 + 2 * 3", 7.0),
        ("7 % 3", 1.0),
        ("-7 % 3", -1.0),
        ("1 / 0", math.inf),
        ("-1 / 0", -math.inf),
        ("'a' + 1", "a1"),
        ("1 + 'a'", "1a"),
        ("'a' + missing", "a"),
        ("missing + 'a'", "a"),
        ("price + missing", None),
        ("missing * 2", None),
        ("'4' * '2'", 8.0),
        ("true + 1", 2.0),
        ("[1] + [2]", (1.0, 2.0)),
        ("[1] + 2", (1.0, 2.0)),
        ("[1] + missing", (1.0,)),
        ("due + ' is late'", "2025-06-01 is late"),
        ("'on ' + due", "on 2025-06-01"),
        ("duration('1d') * 2", Duration(0, 172_800_000)),
        ("duration('1M') * 2", Duration(2)),
        ("duration('1d') / 2", 43_200_000.0),
        ("duration('1d') + duration('1M')", Duration(1, 86_400_000)),
        ("duration('1d') - duration('1d')", Duration()),
        ("duration('1d') - 1000", 86_399_000.0),
        ("-duration('1d')", Duration(0, -86_400_000)),
        ("(now() - file.ctime) / 86400000 + 0", 7.2293431712962965),
        ("-price", -12.5),
        ("-missing", None),
        ("+price", 12.5),
    ],
)
def test_arithmetic_computes_values(source: str, expected: Value) -> None:
    assert evaluate(source) == expected


def test_zero_by_zero_is_not_a_number() -> None:
    for source in ("0 / 0", "1 % 0", "(1/0) % 2"):
        value = evaluate(source)
        assert isinstance(value, float)
        assert math.isnan(value)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("date('2024-12-01') + '1M' + '4h' + '3m'", Date(datetime(2025, 1, 1, 4, 3))),
        ("today() + '7d'", Date(datetime(2025, 6, 3), has_time=False)),
        ("now() - '2h'", Date(datetime(2025, 5, 27, 12, 30, 15, 250_000))),
        ("now() + (duration('1d') * 2)", Date(datetime(2025, 5, 29, 14, 30, 15, 250_000))),
        ("due - 86400000", Date(datetime(2025, 5, 31), has_time=False)),
        ("(now() + '1d') - now()", Duration(0, 86_400_000)),
    ],
)
def test_dates_are_moved_by_durations(source: str, expected: Value) -> None:
    assert evaluate(source) == expected


@pytest.mark.parametrize(
    "source",
    ["'a' - 1", "[1] * 2", "file / 2", "now() * 2", "-'a'", "-true", "2 - now()", "2 * duration('1h')"],
)
def test_what_cannot_be_calculated_is_a_formula_error(source: str) -> None:
    with pytest.raises(FormulaError, match="Cannot"):
        evaluate(source)


@pytest.mark.parametrize("text", ["", "a", "1a", "0x10", "1_000", "Infinity", "nan", "--1"])
def test_what_is_not_a_number_gives_none(text: str) -> None:
    assert read_number(text) is None


def test_numbers_are_read_with_blanks_around_them() -> None:
    assert read_number(" -1.5e2 ") == -150


def test_text_sorts_by_letters_and_numbers_in_it_by_size() -> None:
    names = ["Log 10", "log 9", "Éclair", "eclipse", "Zebra", "Äpfel", "10", "9"]
    by_name = sorted(names, key=sort_key)
    assert by_name == [
        "9",
        "10",
        "Äpfel",
        "Éclair",
        "eclipse",
        "log 9",
        "Log 10",
        "Zebra",
    ]


VALUES: st.SearchStrategy[Value] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.floats(),
        st.text(max_size=5),
        st.datetimes().map(Date),
        st.integers(-99, 99).map(lambda n: Duration(n)),
        st.sampled_from(["Index", "Nobody", "Dune"]).map(LinkValue),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple), st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=5,
)


@settings(deadline=None)
@given(st.lists(VALUES, max_size=6))
def test_any_values_can_be_sorted_together(values: list[Value]) -> None:
    assert len(sorted(values, key=sort_key)) == len(values)


@settings(deadline=None)
@given(VALUES, VALUES)
def test_equality_is_symmetric(left: Value, right: Value) -> None:
    context = make_context()
    assert are_equal(left, right, context) == are_equal(right, left, context)


@settings(deadline=None)
@given(VALUES)
def test_identity_can_be_a_key_and_equal_files_share_it(value: Value) -> None:
    context = make_context()
    assert {identity_key(value, context): 1}
    assert identity_key(LinkValue("Dune"), context) == identity_key(
        LinkValue(BOOK.path, display="x"), context
    )
