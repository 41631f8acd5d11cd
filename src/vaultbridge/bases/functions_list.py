"""The functions of lists and of objects. Those that run an expression per element are `bases.evaluate`'s."""

from __future__ import annotations

from typing import Final

from vaultbridge.bases.context import Surroundings
from vaultbridge.bases.method import ANY_NUMBER, Arguments, Method, index_argument, text_argument
from vaultbridge.bases.operators import equal, identity, sort_key
from vaultbridge.bases.values import Duration, Value, checked_text, is_empty, milliseconds, to_text


def items_of(value: Value) -> tuple[Value, ...]:
    assert isinstance(value, tuple)
    return value


def _holds(world: Surroundings, items: tuple[Value, ...], wanted: Value) -> bool:
    # `file.tags` are shown with their `#`, and people ask for them without.
    tag = f"#{wanted}" if isinstance(wanted, str) else None
    return any(equal(item, wanted, world) or (tag is not None and item == tag) for item in items)


def _contains(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return _holds(world, items_of(target), arguments[0])


def _contains_all(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return all(_holds(world, items_of(target), wanted) for wanted in arguments)


def _contains_any(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return any(_holds(world, items_of(target), wanted) for wanted in arguments)


def _flat(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    flat: list[Value] = []
    waiting = [target]
    while waiting:
        value = waiting.pop()
        if isinstance(value, tuple):
            waiting.extend(reversed(value))
        else:
            flat.append(value)
    return tuple(flat)


def _join(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    separator = text_argument(arguments, 0) if arguments else ","
    parts = [to_text(item) for item in items_of(target)]
    total = sum(map(len, parts)) + len(separator) * max(0, len(parts) - 1)
    world.charge(total // 64)
    return checked_text(separator.join(parts))


def _reverse(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return items_of(target)[::-1]


def _slice(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    start = index_argument(arguments, 0, "slice")
    end = index_argument(arguments, 1, "slice") if len(arguments) > 1 else None
    return items_of(target)[start:end]


def _sort(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    filled = [item for item in items_of(target) if item is not None]
    absent = len(items_of(target)) - len(filled)
    return (*sorted(filled, key=sort_key), *([None] * absent))


def _unique(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    seen: dict[object, Value] = {}
    for item in items_of(target):
        seen.setdefault(identity(item, world), item)
    return tuple(seen.values())


def numbers_in(items: tuple[Value, ...]) -> list[float]:
    """The numbers among the elements, durations as their milliseconds; everything else is passed over."""
    numbers: list[float] = []
    for item in items:
        if isinstance(item, Duration):
            numbers.append(milliseconds(item))
        elif isinstance(item, float):
            numbers.append(item)
    return numbers


def _mean(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    numbers = numbers_in(items_of(target))
    return sum(numbers) / len(numbers) if numbers else None


def _keys(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    assert isinstance(target, dict)
    return tuple(target)


def _values(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    assert isinstance(target, dict)
    return tuple(target.values())


def _is_empty(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return is_empty(target)


LIST: Final = {
    "contains": Method(_contains, 1, 1),
    "containsAll": Method(_contains_all, 1, ANY_NUMBER),
    "containsAny": Method(_contains_any, 1, ANY_NUMBER),
    "flat": Method(_flat),
    "isEmpty": Method(_is_empty),
    "join": Method(_join, 0, 1),
    "mean": Method(_mean),
    "reverse": Method(_reverse),
    "slice": Method(_slice, 1, 2),
    "sort": Method(_sort),
    "unique": Method(_unique),
}

OBJECT: Final = {"isEmpty": Method(_is_empty), "keys": Method(_keys), "values": Method(_values)}
