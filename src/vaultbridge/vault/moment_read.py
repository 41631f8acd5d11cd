"""A date out of a text written in a moment format: how a note's name tells which day's note it is.

Strict: what is found must print again as the very same text, so `2024-02-31` is no date and a look-alike
name is no daily note. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final

from vaultbridge.vault.moment import (
    DAYS,
    ENGLISH_WEEK,
    ISO_WEEK,
    MONTHS,
    Token,
    Week,
    format_moment,
    moment_parts,
)

_ORDINAL: Final = r"(\d{1,3}(?:st|nd|rd|th))"

_PATTERNS: Final[dict[str, str]] = {
    **dict.fromkeys(("YYYY", "gggg", "GGGG"), r"(\d{4})"),
    **dict.fromkeys(("YY", "gg", "GG", "MM", "DD", "ww", "WW", "HH", "hh", "kk", "mm", "ss"), r"(\d\d)"),
    **dict.fromkeys(("M", "D", "w", "W", "H", "h", "k", "m", "s"), r"(\d\d?)"),
    **dict.fromkeys(("Mo", "Do", "DDDo", "wo", "Wo", "Qo", "do"), _ORDINAL),
    "Y": r"(\d{1,4})",
    "Q": r"([1-4])",
    "DDD": r"(\d{1,3})",
    "DDDD": r"(\d{3})",
    "d": r"([0-6])",
    "e": r"([0-6])",
    "E": r"([1-7])",
    "MMMM": f"({'|'.join(MONTHS)})",
    "MMM": f"({'|'.join(name[:3] for name in MONTHS)})",
    "dddd": f"({'|'.join(DAYS)})",
    "ddd": f"({'|'.join(name[:3] for name in DAYS)})",
    "dd": f"({'|'.join(name[:2] for name in DAYS)})",
    "A": r"(AM|PM)",
    "a": r"(am|pm)",
    "X": r"(\d{1,11})",
    "x": r"(\d{1,14})",
    "Z": r"([+-]\d\d:\d\d)",
    "ZZ": r"([+-]\d{4})",
    **{"S" * digits: rf"(\d{{{digits}}})" for digits in range(1, 10)},
}
_CLOCK_NAMES: Final = frozenset(
    ("H", "HH", "h", "hh", "k", "kk", "m", "mm", "s", "ss", "A", "a", "Z", "ZZ", "X", "x")
)
_CLOCK: Final = _CLOCK_NAMES | {"S" * digits for digits in range(1, 10)}


@lru_cache(maxsize=256)
def _expression(fmt: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    pieces: list[str] = []
    names: list[str] = []
    for part in moment_parts(fmt):
        if isinstance(part, Token):
            pieces.append(_PATTERNS[part.name])
            names.append(part.name)
        else:
            pieces.append(re.escape(part))
    return re.compile("".join(pieces), re.IGNORECASE), tuple(names)


def parse_moment(text: str, fmt: str, *, week: Week = ENGLISH_WEEK) -> date | None:
    """The day that `text` names in this format; the first day of the week, month, quarter or year when the
    format tells no more. None when it names none, or when the format holds no year."""
    pattern, names = _expression(fmt)
    found = pattern.fullmatch(text)
    if found is None:
        return None
    pairs = list(zip(names, found.groups(), strict=True))
    try:
        day = _day(dict(pairs), week)
    except (ValueError, OverflowError):
        return None
    if day is None:
        return None
    for name, value in pairs:
        # The clock says nothing about the day; every other token must agree with the day found, also one
        # that occurs twice.
        if name not in _CLOCK and format_moment(day, name, week=week).lower() != value.lower():
            return None
    return day


def _day(values: Mapping[str, str], week: Week) -> date | None:
    if "X" in values:
        return datetime.fromtimestamp(int(values["X"])).date()
    if "x" in values:
        return datetime.fromtimestamp(int(values["x"]) / 1000).date()
    for year_names, week_names, rule in (
        (("GGGG", "GG"), ("WW", "W", "Wo"), ISO_WEEK),
        (("gggg", "gg"), ("ww", "w", "wo"), week),
    ):
        year = _first(values, *year_names)
        number = _first(values, *week_names)
        if year is not None and number is not None:
            return rule.first_day(_century(year)) + timedelta(days=7 * (number - 1) + _in_week(values, rule))
    year = _first(values, "YYYY", "YY", "Y")
    if year is None:
        return None
    year = _century(year) if "YYYY" not in values and "YY" in values else year
    day_of_year = _first(values, "DDD", "DDDD", "DDDo")
    if day_of_year is not None:
        return date(year, 1, 1) + timedelta(days=day_of_year - 1)
    quarter = _first(values, "Q", "Qo")
    month = _month(values) or (3 * quarter - 2 if quarter else 1)
    return date(year, month, _first(values, "D", "DD", "Do") or 1)


def _in_week(values: Mapping[str, str], rule: Week) -> int:
    """Days from the week's start, when the format tells the day of the week."""
    if "E" in values:
        return (int(values["E"]) - rule.start) % 7
    if "e" in values:
        return int(values["e"])
    if "d" in values:
        return (int(values["d"]) - rule.start) % 7
    for name, length in (("dddd", 0), ("ddd", 3), ("dd", 2)):
        if name in values:
            days = [(day[:length] if length else day).lower() for day in DAYS]
            return (days.index(values[name].lower()) - rule.start) % 7
    return 0


def _month(values: Mapping[str, str]) -> int | None:
    for name, length in (("MMMM", 0), ("MMM", 3)):
        if name in values:
            months = [(month[:length] if length else month).lower() for month in MONTHS]
            return months.index(values[name].lower()) + 1
    return _first(values, "MM", "M", "Mo")


def _first(values: Mapping[str, str], *names: str) -> int | None:
    for name in names:
        if name in values:
            return int(values[name].rstrip("stndrh").rstrip("STNDRH"))
    return None


def _century(year: int) -> int:
    """Moment's rule for two digits: up to 68 is this century, above it the last."""
    if year >= 100:
        return year
    return year + (2000 if year <= 68 else 1900)
