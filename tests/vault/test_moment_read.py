"""`vaultbridge.vault.dates`: a date out of a name, strictly."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.vault.dates import Week, format_moment, parse_moment


@pytest.mark.parametrize(
    ("text", "fmt", "day"),
    [
        ("2024-03-05", "YYYY-MM-DD", date(2024, 3, 5)),
        ("2024-3-5", "YYYY-M-D", date(2024, 3, 5)),
        ("24.03.05", "YY.MM.DD", date(2024, 3, 5)),
        ("69-01-01", "YY-MM-DD", date(1969, 1, 1)),
        ("Tuesday, March 5th 2024", "dddd, MMMM Do YYYY", date(2024, 3, 5)),
        ("tuesday, march 5th 2024", "dddd, MMMM Do YYYY", date(2024, 3, 5)),
        ("2024/03-March/2024-03-05", "YYYY/MM-MMMM/YYYY-MM-DD", date(2024, 3, 5)),
        ("2025-W01", "gggg-[W]ww", date(2024, 12, 29)),
        ("2025-W01", "GGGG-[W]WW", date(2024, 12, 30)),
        ("2024-W10 Tue", "GGGG-[W]WW ddd", date(2024, 3, 5)),
        ("2024-W10-2", "GGGG-[W]WW-E", date(2024, 3, 5)),
        ("2024-03", "YYYY-MM", date(2024, 3, 1)),
        ("2024-Q4", "YYYY-[Q]Q", date(2024, 10, 1)),
        ("2024", "YYYY", date(2024, 1, 1)),
        ("2024-065", "YYYY-DDDD", date(2024, 3, 5)),
        ("2024-03-05 1407", "YYYY-MM-DD HHmm", date(2024, 3, 5)),
        ("2024-03-05 2:07 pm", "YYYY-MM-DD h:mm a", date(2024, 3, 5)),
    ],
)
def test_a_name_in_the_format_gives_its_day(text: str, fmt: str, day: date) -> None:
    assert parse_moment(text, fmt) == day


@pytest.mark.parametrize(
    ("text", "fmt"),
    [
        ("2024-02-31", "YYYY-MM-DD"),
        ("2024-3-5", "YYYY-MM-DD"),
        ("2024-03-05 notes", "YYYY-MM-DD"),
        ("x2024-03-05", "YYYY-MM-DD"),
        ("Monday, March 5th 2024", "dddd, MMMM Do YYYY"),
        ("March 5rd 2024", "MMMM Do YYYY"),
        ("2024/04/2024-03-05", "YYYY/MM/YYYY-MM-DD"),
        ("2024-W54", "gggg-[W]ww"),
        ("2024-W00", "gggg-[W]ww"),
        ("2024-W53", "GGGG-[W]WW"),
        ("0000-01-01", "YYYY-MM-DD"),
        ("03-05", "MM-DD"),
        ("Note", "[Note]"),
        ("", "YYYY"),
    ],
)
def test_anything_else_gives_none(text: str, fmt: str) -> None:
    assert parse_moment(text, fmt) is None


FORMATS = [
    "YYYY-MM-DD",
    "dddd, MMMM Do YYYY",
    "YYYY/MM/DD ddd",
    "gggg-[W]ww-e",
    "GGGG-[W]WW dddd",
    "YYYY DDDo",
    "[on] D MMM YYYY",
    "YYYYMMDD",
    "D.M.YYYY [Q]Q",
]


@given(st.dates(date(1970, 1, 1), date(2099, 12, 31)), st.sampled_from(FORMATS), st.integers(0, 6))
def test_reading_is_the_inverse_of_printing(day: date, fmt: str, start: int) -> None:
    week = Week(start, 4)
    assert parse_moment(format_moment(day, fmt, week=week), fmt, week=week) == day


def test_a_timestamp_gives_its_local_day() -> None:
    when = datetime(2024, 3, 5, 12)
    assert parse_moment(format_moment(when, "X"), "X") == date(2024, 3, 5)
    assert parse_moment(format_moment(when, "x"), "x") == date(2024, 3, 5)


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_and_format_is_answered(text: str, fmt: str) -> None:
    found = parse_moment(text, fmt)
    assert found is None or isinstance(found, date)
