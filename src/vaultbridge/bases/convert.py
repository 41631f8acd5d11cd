"""Values as YAML gives them -> values of the language, and those -> plain values for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

from vaultbridge.bases.context import Surroundings
from vaultbridge.bases.dates import read_date
from vaultbridge.bases.links import written_link
from vaultbridge.bases.values import (
    MAX_VALUE_DEPTH,
    Date,
    Duration,
    ErrorValue,
    Value,
    milliseconds,
    to_text,
)

_TEXT_TYPES: Final = frozenset({"text", "multitext", "aliases", "tags"})
"""Types under which a text that looks like a date stays a text."""


def property_value(value: Any, name: str, source: str, world: Surroundings) -> Value:
    """A property's value. A text that is wholly a link becomes a link; one that is wholly a date becomes a
    date, unless the vault says that the property holds text."""
    dates = world.types.get(name.lower(), "") not in _TEXT_TYPES
    return _converted(value, source, world, dates=dates, depth=0)


def property_values(properties: Mapping[str, Any], source: str, world: Surroundings) -> Value:
    """All properties of a note as an object."""
    return {str(key): property_value(value, str(key), source, world) for key, value in properties.items()}


def _converted(value: Any, source: str, world: Surroundings, *, dates: bool, depth: int) -> Value:
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str):
        return written_link(value, source) or (dates and read_date(value, world.zone)) or value
    if isinstance(value, datetime):
        return Date(world.local(value))
    if isinstance(value, date):
        return Date(datetime(value.year, value.month, value.day), has_time=False)
    if depth >= MAX_VALUE_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return {
            str(key): _converted(item, source, world, dates=dates, depth=depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return tuple(_converted(item, source, world, dates=dates, depth=depth + 1) for item in value)
    return str(value)


def plain(value: Value) -> Any:
    """What JSON can hold: numbers, texts, lists and objects stay; a date, link or file becomes its text; an
    error becomes `{"error": message}`; a whole number is an integer."""
    match value:
        case None | bool() | str():
            return value
        case Duration():
            return plain(milliseconds(value))
        case float():
            if not math.isfinite(value):
                return to_text(value)
            return int(value) if value == int(value) and abs(value) < 2**53 else value
        case tuple():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case ErrorValue():
            return {"error": value.message}
        case _:
            return to_text(value)
