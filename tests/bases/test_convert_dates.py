from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.bases.convert import (
    describe_relative,
    epoch_milliseconds,
    read_date,
    read_duration,
    scale_duration,
    shift_date,
)
from vaultbridge.bases.values import Date, Duration, FormulaError, format_date

DAY = 86_400_000.0


@pytest.mark.parametrize(
    ("text", "when", "has_time"),
    [
        ("2025-05-27", datetime(2025, 5, 27), False),
        ("2025-05-27T10:20", datetime(2025, 5, 27, 10, 20), True),
        ("2025-05-27 10:20:30", datetime(2025, 5, 27, 10, 20, 30), True),
        (" 2025-05-27T10:20:30.25 ", datetime(2025, 5, 27, 10, 20, 30, 250_000), True),
        ("2025-05-27T10:20:30Z", datetime(2025, 5, 27, 12, 20, 30), True),
        ("2025-05-27T10:20:30-05:00", datetime(2025, 5, 27, 17, 20, 30), True),
        ("2025-05-27T10:20:30+0200", datetime(2025, 5, 27, 10, 20, 30), True),
    ],
)
def test_dates_are_read_into_the_wall_clock(text: str, when: datetime, has_time: bool) -> None:
    assert read_date(text, timezone(timedelta(hours=2))) == Date(when, has_time)


@pytest.mark.parametrize(
    "text",
    ["", "2025", "2025-13-01", "2025-02-30", "27.05.2025", "2025-05-27 25:00", "x2025-05-27", "2025-5-7"],
)
def test_what_is_not_a_date_gives_none(text: str) -> None:
    assert read_date(text, UTC) is None


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("1y", Duration(12)),
        ("2 years", Duration(24)),
        ("1M", Duration(1)),
        ("3 Months", Duration(3)),
        ("1w", Duration(0, 7 * DAY)),
        ("2 weeks", Duration(0, 14 * DAY)),
        ("1d", Duration(0, DAY)),
        ("-1 day", Duration(0, -DAY)),
        ("5h", Duration(0, 18_000_000)),
        ("1m", Duration(0, 60_000)),
        ("30 seconds", Duration(0, 30_000)),
        ("1.5h", Duration(0, 5_400_000)),
        ("1d 2h", Duration(0, DAY + 7_200_000)),
        ("1y, 6M", Duration(18)),
    ],
)
def test_durations_in_the_units_of_the_help_pages(text: str, duration: Duration) -> None:
    assert read_duration(text) == duration


@pytest.mark.parametrize("text", ["", " ", "1", "d", "1 fortnight", "1d x", "1D 2", "1d " * 21])
def test_what_is_not_a_duration_gives_none(text: str) -> None:
    assert read_duration(text) is None


def test_a_fraction_of_a_month_becomes_exact_time() -> None:
    half = read_duration("0.5M")
    assert half == Duration(0, 30.436875 * DAY / 2)


def test_months_are_clipped_to_the_end_of_the_month() -> None:
    last = Date(datetime(2024, 1, 31), has_time=False)
    assert shift_date(last, Duration(1), 1) == Date(datetime(2024, 2, 29), has_time=False)
    assert shift_date(last, Duration(13), 1) == Date(datetime(2025, 2, 28), has_time=False)
    assert shift_date(last, Duration(2), -1) == Date(datetime(2023, 11, 30), has_time=False)


def test_whole_days_keep_a_date_a_date_and_hours_give_it_a_time() -> None:
    date = Date(datetime(2024, 12, 1), has_time=False)
    assert not shift_date(date, Duration(0, DAY), 1).has_time
    assert shift_date(date, Duration(0, 3_600_000), 1).has_time


@pytest.mark.parametrize(
    "duration", [Duration(200_000), Duration(0, 1e300), Duration(0, -1e16), Duration(-(10**30))]
)
def test_a_date_out_of_range_is_a_formula_error(duration: Duration) -> None:
    with pytest.raises(FormulaError, match="out of range"):
        shift_date(Date(datetime(2025, 1, 1)), duration, 1)


def test_an_endless_duration_is_a_formula_error() -> None:
    with pytest.raises(FormulaError, match="out of range"):
        scale_duration(Duration(), Duration(1), float("inf"))


def test_milliseconds_since_the_epoch_follow_the_zone() -> None:
    assert epoch_milliseconds(Date(datetime(1970, 1, 2)), UTC) == DAY
    assert epoch_milliseconds(Date(datetime(1970, 1, 2)), timezone(timedelta(hours=1))) == DAY - 3_600_000


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "a few seconds ago"),
        (-44, "a few seconds ago"),
        (-45, "a minute ago"),
        (-89, "a minute ago"),
        (-90, "2 minutes ago"),
        (-44 * 60, "44 minutes ago"),
        (-45 * 60, "an hour ago"),
        (-2 * 3600, "2 hours ago"),
        (-21 * 3600, "21 hours ago"),
        (-22 * 3600, "a day ago"),
        (-3 * 86400, "3 days ago"),
        (-25 * 86400, "25 days ago"),
        (-26 * 86400, "a month ago"),
        (-90 * 86400, "3 months ago"),
        (-320 * 86400, "a year ago"),
        (-800 * 86400, "2 years ago"),
        (50, "in a minute"),
        (3 * 86400, "in 3 days"),
    ],
)
def test_relative_times_in_words(seconds: float, words: str) -> None:
    now = datetime(2025, 5, 27, 12)
    assert describe_relative(Date(now + timedelta(seconds=seconds)), now) == words


@settings(deadline=None)
@given(st.datetimes(min_value=datetime(1, 1, 1)).map(lambda when: when.replace(microsecond=0)), st.booleans())
def test_the_text_of_a_date_reads_back(when: datetime, has_time: bool) -> None:
    date = Date(when if has_time else when.replace(hour=0, minute=0, second=0), has_time)
    assert read_date(format_date(date), UTC) == date
