"""The built-in summaries of a column, by their names in the app."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from vaultbridge.bases.context import Surroundings
from vaultbridge.bases.functions_list import numbers_in
from vaultbridge.bases.operators import identity
from vaultbridge.bases.values import Date, Duration, ErrorValue, Value, is_empty

Summarize: TypeAlias = Callable[[Surroundings, tuple[Value, ...]], Value]


def _over_numbers(function: Callable[[Sequence[float]], float]) -> Summarize:
    def summarize(world: Surroundings, values: tuple[Value, ...]) -> Value:
        numbers = numbers_in(values)
        return float(function(numbers)) if numbers else None

    return summarize


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _median(numbers: Sequence[float]) -> float:
    ordered, middle = sorted(numbers), len(numbers) // 2
    return ordered[middle] if len(numbers) % 2 else _mean(ordered[middle - 1 : middle + 1])


def _deviation(numbers: Sequence[float]) -> float:
    """Of the whole population: the rows are all there are, not a sample."""
    mean = _mean(numbers)
    return math.sqrt(_mean([(number - mean) * (number - mean) for number in numbers]))


def _dates(values: tuple[Value, ...]) -> list[Date]:
    return sorted((value for value in values if isinstance(value, Date)), key=lambda date: date.when)


def _earliest(world: Surroundings, values: tuple[Value, ...]) -> Value:
    dates = _dates(values)
    return dates[0] if dates else None


def _latest(world: Surroundings, values: tuple[Value, ...]) -> Value:
    dates = _dates(values)
    return dates[-1] if dates else None


def _range(world: Surroundings, values: tuple[Value, ...]) -> Value:
    """Of dates where there are any, else of numbers: the two share their name in the app."""
    dates = _dates(values)
    if dates:
        return Duration(0, (dates[-1].when - dates[0].when).total_seconds() * 1_000)
    numbers = numbers_in(values)
    return max(numbers) - min(numbers) if numbers else None


def _absent(value: Value) -> bool:
    return is_empty(value) or isinstance(value, ErrorValue)


def _count(counts: Callable[[Value], bool]) -> Summarize:
    return lambda world, values: float(sum(counts(value) for value in values))


def _unique(world: Surroundings, values: tuple[Value, ...]) -> Value:
    return float(len({identity(value, world) for value in values if not _absent(value)}))


BUILT_IN: Final[dict[str, Summarize]] = {
    "Average": _over_numbers(_mean),
    "Min": _over_numbers(min),
    "Max": _over_numbers(max),
    "Sum": _over_numbers(sum),
    "Range": _range,
    "Median": _over_numbers(_median),
    "Stddev": _over_numbers(_deviation),
    "Earliest": _earliest,
    "Latest": _latest,
    "Checked": _count(lambda value: value is True),
    "Unchecked": _count(lambda value: value is False),
    "Empty": _count(_absent),
    "Filled": _count(lambda value: not _absent(value)),
    "Unique": _unique,
}


def built_in_summary(name: str) -> Summarize | None:
    """By its name, in whatever case."""
    return BUILT_IN.get(name) or BUILT_IN.get(name.capitalize())
