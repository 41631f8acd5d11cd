"""Converts properties to values of the language, and those to plain values for JSON; calculates with dates.

Reads dates and durations from text, adds them by the calendar, and describes them relative to now.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta, tzinfo
from typing import Any, Final

from vaultbridge.bases.context import EvaluationContext
from vaultbridge.bases.values import (
    MAX_VALUE_DEPTH,
    Date,
    Duration,
    FormulaError,
    Tag,
    Value,
    describe_amount,
    milliseconds,
    parse_wikilink,
)

_DATE: Final = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})"
    r"(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
)
_DURATION: Final = re.compile(r"\s*([+-]?\s*\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*,?")

_SECOND: Final = 1_000.0
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR

_MONTHS: Final = {"y": 12, "year": 12, "years": 12, "M": 1, "month": 1, "months": 1}
_EXACT: Final = {
    "w": 7 * _DAY,
    "week": 7 * _DAY,
    "weeks": 7 * _DAY,
    "d": _DAY,
    "day": _DAY,
    "days": _DAY,
    "h": _HOUR,
    "hour": _HOUR,
    "hours": _HOUR,
    "m": _MINUTE,
    "minute": _MINUTE,
    "minutes": _MINUTE,
    "s": _SECOND,
    "second": _SECOND,
    "seconds": _SECOND,
}
"""The units of the help pages. `m` and `M` differ only in case; the case of the long names does not
matter."""

MAX_DURATION_TERMS: Final = 20
"""The most terms of one duration such as `1d 2h`: there are only seven units."""


def read_date(text: str, zone: tzinfo) -> Date | None:
    """Read the whole of `text` as a date, converted to the wall clock of `zone` if it has an offset."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    hour, minute, second = int(match[4] or 0), int(match[5] or 0), int(match[6] or 0)
    micro = int((match[7] or "0").ljust(6, "0")[:6])
    try:
        when = datetime(year, month, day, hour, minute, second, micro)
        if match[8]:
            offset = match[8].replace("Z", "+00:00")
            moment = datetime.strptime(offset.replace(":", ""), "%z").tzinfo
            when = when.replace(tzinfo=moment).astimezone(zone).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return Date(when, has_time=match[4] is not None)


def read_duration(text: str) -> Duration | None:
    """Read the whole of `text` as a duration: `1d`, `2 weeks`, `-3 h`, `1y 6M`."""
    at, terms, months, exact = 0, 0, 0.0, 0.0
    while at < len(text):
        match = _DURATION.match(text, at)
        if match is None or terms == MAX_DURATION_TERMS:
            return None
        amount = float(match[1].replace(" ", ""))
        unit = match[2] if len(match[2]) == 1 else match[2].lower()
        if unit in _MONTHS:
            months += amount * _MONTHS[unit]
        elif unit in _EXACT:
            exact += amount * _EXACT[unit]
        else:
            return None
        at, terms = match.end(), terms + 1
    if not terms:
        return None
    return scale_duration(Duration(0, exact), Duration(1, 0), months)


def scale_duration(base: Duration, unit: Duration, factor: float) -> Duration:
    """Return `base + unit * factor`; a fraction of a month becomes milliseconds, since calendars have
    none."""
    months = unit.months * factor
    try:
        whole = int(months)
    except (ValueError, OverflowError):
        raise FormulaError("The duration is out of range.") from None
    rest = milliseconds(Duration(1, 0)) * (months - whole)
    return Duration(base.months + whole, base.milliseconds + unit.milliseconds * factor + rest)


def shift_date(date: Date, duration: Duration, sign: int) -> Date:
    """Move `date` by the duration: first the months, clipped to the month's last day, then the exact part."""
    when = date.when
    try:
        if duration.months:
            when = _add_months(when, sign * duration.months)
        when += timedelta(milliseconds=sign * duration.milliseconds)
    except (ValueError, OverflowError):
        raise FormulaError("The date is out of range.") from None
    # Adding whole days keeps a date a date; anything finer gives it a time.
    return Date(when, has_time=date.has_time or duration.milliseconds % _DAY != 0)


def _add_months(when: datetime, months: int) -> datetime:
    count = when.year * 12 + when.month - 1 + months
    year, month = divmod(count, 12)
    for day in range(when.day, 27, -1):
        try:
            return when.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    return when.replace(year=year, month=month + 1)


def epoch_milliseconds(date: Date, zone: tzinfo) -> float:
    return date.when.replace(tzinfo=zone).timestamp() * 1_000


def describe_relative(date: Date, now: datetime) -> str:
    """Return `3 days ago` or `in an hour`, with the words and thresholds of moment.js."""
    seconds = (date.when - now).total_seconds()
    words = describe_amount(abs(seconds))
    return f"in {words}" if seconds > 0 else f"{words} ago"


_TEXT_TYPES: Final = frozenset({"text", "multitext", "aliases", "tags"})
"""Property types whose texts stay texts even if they look like dates."""


def convert_property(value: Any, name: str, source: str, context: EvaluationContext) -> Value:
    """Convert a property's value. A text that is a wikilink becomes a link (a Markdown link stays text); one
    that is a date becomes a date, unless the vault gives the property a text type. `tags` are tags."""
    if name.lower() == "tags":
        items = value if isinstance(value, list | tuple) else (value,)
        if all(isinstance(item, str) for item in items):
            tags = tuple(Tag(item) for item in items)
            return tags if isinstance(value, list | tuple) else tags[0]
    dates = context.types.get(name.lower(), "") not in _TEXT_TYPES
    return _convert(value, source, context, dates=dates, depth=0)


def convert_properties(properties: Mapping[str, Any], source: str, context: EvaluationContext) -> Value:
    """Convert all properties of a note to an object."""
    return {str(key): convert_property(value, str(key), source, context) for key, value in properties.items()}


def _convert(value: Any, source: str, context: EvaluationContext, *, dates: bool, depth: int) -> Value:
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str):
        return parse_wikilink(value, source) or (dates and read_date(value, context.zone)) or value
    if isinstance(value, datetime):
        return Date(context.local(value))
    if isinstance(value, date):
        return Date(datetime(value.year, value.month, value.day), has_time=False)
    if depth >= MAX_VALUE_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return {
            str(key): _convert(item, source, context, dates=dates, depth=depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return tuple(_convert(item, source, context, dates=dates, depth=depth + 1) for item in value)
    return str(value)
