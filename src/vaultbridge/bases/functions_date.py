"""The functions and fields of dates and durations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from vaultbridge.bases.context import Surroundings
from vaultbridge.bases.dates import relative
from vaultbridge.bases.method import Arguments, Method, text_argument
from vaultbridge.bases.values import Date, Duration, Value, checked_text, milliseconds


def _date_of(value: Value) -> Date:
    assert isinstance(value, Date)
    return value


def _date(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    when = _date_of(target).when.replace(hour=0, minute=0, second=0, microsecond=0)
    return Date(when, has_time=False)


def _time(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return _date_of(target).when.strftime("%H:%M:%S")


def _format(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return checked_text(world.format_moment(_date_of(target).when, text_argument(arguments, 0)))


def _relative(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return relative(_date_of(target), world.now)


DATE: Final = {
    "date": Method(_date),
    "format": Method(_format, 1, 1),
    "relative": Method(_relative),
    "time": Method(_time),
}

DATE_FIELDS: Final[dict[str, Callable[[Date], float]]] = {
    "year": lambda date: float(date.when.year),
    "month": lambda date: float(date.when.month),
    "day": lambda date: float(date.when.day),
    "hour": lambda date: float(date.when.hour),
    "minute": lambda date: float(date.when.minute),
    "second": lambda date: float(date.when.second),
    "millisecond": lambda date: float(date.when.microsecond // 1_000),
}

DURATION_FIELDS: Final[dict[str, Callable[[Duration], float]]] = {
    "years": lambda duration: milliseconds(duration) / 31_556_952_000,
    "months": lambda duration: milliseconds(duration) / 2_629_746_000,
    "weeks": lambda duration: milliseconds(duration) / 604_800_000,
    "days": lambda duration: milliseconds(duration) / 86_400_000,
    "hours": lambda duration: milliseconds(duration) / 3_600_000,
    "minutes": lambda duration: milliseconds(duration) / 60_000,
    "seconds": lambda duration: milliseconds(duration) / 1_000,
    "milliseconds": milliseconds,
}
"""The whole duration in each unit: the app offers these fields though its help pages do not list them."""
