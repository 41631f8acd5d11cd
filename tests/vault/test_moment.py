"""`vaultbridge.vault.dates`: docs/obsidian.md 9, the tokens of moment.js's documentation."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.vault.dates import ENGLISH_WEEK, ISO_WEEK, Week, format_moment, ordinal

ZONE = timezone(timedelta(hours=-3, minutes=-30))
WHEN = datetime(2024, 3, 5, 14, 7, 9, 123456, tzinfo=ZONE)
"""A Tuesday."""


@pytest.mark.parametrize(
    ("fmt", "text"),
    [
        ("YYYY-MM-DD", "2024-03-05"),
        ("YY", "24"),
        (r"\YYYY \MM-MM \lll", "YYYY MM-03 lll"),
        ("DD\\", "05"),
        ("Q Qo", "1 1st"),
        ("M Mo MM MMM MMMM", "3 3rd 03 Mar March"),
        ("D Do DD DDD DDDo DDDD", "5 5th 05 65 65th 065"),
        ("d do dd ddd dddd", "2 2nd Tu Tue Tuesday"),
        ("e E", "2 2"),
        ("gggg-[W]ww gg w wo", "2024-W10 24 10 10th"),
        ("GGGG-[W]WW GG W Wo", "2024-W10 24 10 10th"),
        ("H HH h hh k kk", "14 14 2 02 14 14"),
        ("m mm s ss", "7 07 9 09"),
        ("S SS SSS SSSSSS", "1 12 123 123456"),
        ("A a", "PM pm"),
        ("Z ZZ", "-03:30 -0330"),
        ("X", str(int(WHEN.timestamp()))),
        ("x", str(int(WHEN.timestamp() * 1000))),
        ("dddd, MMMM Do YYYY, h:mm:ss a", "Tuesday, March 5th 2024, 2:07:09 pm"),
        ("[Daily] YYYY", "Daily 2024"),
        ("[YYYY] [] [Y [b]", "YYYY  [2024 b"),
        ("[a]b]", "a]b"),
        ("\\D\\a\\y", "Day"),
        ("YYYY/MM-MMMM/YYYY-MM-DD", "2024/03-March/2024-03-05"),
        ("YYYY年M月D日", "2024年3月5日"),
        ("LT", "2:07 PM"),
        ("LL", "March 5, 2024"),
        ("L", "03/05/2024"),
        ("", ""),
        ("[only literal]", "only literal"),
        ("[YYYY", "[2024"),
    ],
)
def test_tokens_print_as_in_moment(fmt: str, text: str) -> None:
    assert format_moment(WHEN, fmt) == text


@pytest.mark.parametrize(
    ("day", "locale", "iso"),
    [
        (date(2024, 12, 29), "2025-01", "2024-52"),
        (date(2024, 12, 28), "2024-52", "2024-52"),
        (date(2023, 1, 1), "2023-01", "2022-52"),
        (date(2022, 12, 31), "2022-53", "2022-52"),
        (date(2021, 1, 1), "2021-01", "2020-53"),
        (date(2020, 12, 31), "2021-01", "2020-53"),
        (date(2026, 1, 1), "2026-01", "2026-01"),
    ],
)
def test_locale_weeks_and_iso_weeks_differ_at_the_turn_of_the_year(day: date, locale: str, iso: str) -> None:
    """English weeks start on Sunday, and week 1 contains January 1st."""
    assert format_moment(day, "gggg-ww") == locale
    assert format_moment(day, "GGGG-WW") == iso


@given(st.dates(date(1900, 1, 1), date(2200, 12, 31)))
def test_the_iso_week_agrees_with_the_standard_library(day: date) -> None:
    assert ISO_WEEK.number(day) == day.isocalendar()[:2]


@given(st.dates(date(1900, 1, 1), date(2200, 12, 31)), st.integers(0, 6), st.integers(1, 7))
def test_every_week_has_seven_days_and_a_number_from_one(day: date, start: int, holds: int) -> None:
    week = Week(start, holds)
    year, number = week.number(day)
    assert 1 <= number <= 53
    assert 0 <= (day - (week.first_day(year) + timedelta(days=7 * (number - 1)))).days < 7


def test_another_week_can_be_given() -> None:
    sunday = date(2024, 3, 10)
    assert format_moment(sunday, "e ww") == "0 11"
    assert format_moment(sunday, "e ww", week=Week(1, 4)) == "6 10"
    assert Week(0, 1) == ENGLISH_WEEK


def test_midnight_and_noon_on_the_twelve_hour_clock() -> None:
    assert format_moment(date(2024, 1, 1), "h A k") == "12 AM 24"
    assert format_moment(datetime(2024, 1, 1, 12), "h A") == "12 PM"


@pytest.mark.parametrize(
    ("number", "text"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (22, "22nd"), (113, "113th")]
)
def test_ordinals_have_english_endings(number: int, text: str) -> None:
    assert ordinal(number) == text


@given(st.text(max_size=40))
def test_any_text_is_a_format(fmt: str) -> None:
    assert isinstance(format_moment(WHEN, fmt), str)
