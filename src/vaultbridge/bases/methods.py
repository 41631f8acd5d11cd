"""Implements the methods and fields of texts, regular expressions, numbers, dates, durations, lists and
objects.

A duration also has the methods of numbers, for its milliseconds. The methods of lists that evaluate an
expression for each element are in `bases.evaluate`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Final

from vaultbridge.bases.context import (
    ANY_NUMBER,
    ArgumentValues,
    EvaluationContext,
    Method,
    index_argument,
    number_argument,
    text_argument,
)
from vaultbridge.bases.convert import describe_relative
from vaultbridge.bases.operators import are_equal, identity_key, sort_key
from vaultbridge.bases.regex_match import CompiledRegex, RegexMatch
from vaultbridge.bases.values import (
    MAX_LIST_ITEMS,
    MAX_TEXT_CHARS,
    Date,
    Duration,
    FormulaError,
    LinkValue,
    Tag,
    Value,
    check_text,
    format_number,
    is_empty,
    milliseconds,
    plain_text,
    to_text,
)
from vaultbridge.links.resolve import name_key

MAX_DIGITS: Final = 100
"""The most decimals of toFixed() in JavaScript."""

_EXACT_DIGITS: Final = 150
"""Enough for 21 digits before the point and MAX_DIGITS after it."""


def _number_method(function: Callable[[float], float]) -> Method:
    def call(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
        number = number_argument((target,), 0, "A number function")
        return float(function(number)) if math.isfinite(number) else number

    return Method(call)


def _digits(arguments: ArgumentValues, name: str) -> int:
    digits = index_argument(arguments, 0, name) if arguments else 0
    if not 0 <= digits <= MAX_DIGITS:
        raise FormulaError(f"{name}() takes 0 to {MAX_DIGITS} digits, got {digits}.")
    return digits


def _round(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    number, digits = number_argument((target,), 0, "round"), _digits(arguments, "round")
    if not math.isfinite(number) or abs(number) >= 1e15 or digits > 15:
        return number  # already as round as a double can be
    scale = 10.0**digits
    return math.floor(number * scale + 0.5) / scale


def _to_fixed(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    number, digits = number_argument((target,), 0, "toFixed"), _digits(arguments, "toFixed")
    if not math.isfinite(number) or abs(number) >= 1e21:
        return format_number(number)
    # As in JavaScript the double's exact value is rounded: (1.005).toFixed(2) is "1.00".
    with localcontext(prec=_EXACT_DIGITS):
        rounded = Decimal(number).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return f"{abs(rounded) if number == 0 else rounded:f}"


NUMBER: Final = {
    "abs": _number_method(abs),
    "ceil": _number_method(math.ceil),
    "floor": _number_method(math.floor),
    "round": Method(_round, 0, 1),
    "toFixed": Method(_to_fixed, 0, 1),
}


def _as_date(value: Value) -> Date:
    assert isinstance(value, Date)
    return value


def _date(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    when = _as_date(target).when.replace(hour=0, minute=0, second=0, microsecond=0)
    return Date(when, has_time=False)


def _time(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return _as_date(target).when.strftime("%H:%M:%S")


def _format(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return check_text(context.format_moment(_as_date(target).when, text_argument(arguments, 0)))


def _relative(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return describe_relative(_as_date(target), context.now)


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


def as_list(value: Value) -> tuple[Value, ...]:
    assert isinstance(value, tuple)
    return value


def _holds(context: EvaluationContext, items: tuple[Value, ...], wanted: Value) -> bool:
    return any(are_equal(item, wanted, context) or _is_tag_below(item, wanted) for item in items)


def _is_tag_below(item: Value, wanted: Value) -> bool:
    """Return whether a tag is the wanted one or nested in it; `file.tags` have a `#`, but people leave it
    out."""
    if not isinstance(item, Tag) or not isinstance(wanted, str):
        return False
    tag, above = name_key(item.removeprefix("#")), name_key(wanted.removeprefix("#"))
    return tag == above or tag.startswith(f"{above}/")


def _contains(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return _holds(context, as_list(target), arguments[0])


def _contains_all(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return all(_holds(context, as_list(target), wanted) for wanted in arguments)


def _contains_any(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return any(_holds(context, as_list(target), wanted) for wanted in arguments)


def _flat(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    flat: list[Value] = []
    waiting = [target]
    while waiting:
        value = waiting.pop()
        if isinstance(value, tuple):
            waiting.extend(reversed(value))
        else:
            flat.append(value)
    return tuple(flat)


def _join(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    separator = text_argument(arguments, 0) if arguments else ","
    parts = [to_text(item) for item in as_list(target)]
    total = sum(map(len, parts)) + len(separator) * max(0, len(parts) - 1)
    context.charge(total // 64)
    return check_text(separator.join(parts))


def _reverse(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return as_list(target)[::-1]


def _slice(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    start = index_argument(arguments, 0, "slice")
    end = index_argument(arguments, 1, "slice") if len(arguments) > 1 else None
    return as_list(target)[start:end]


def _sort(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    filled = [item for item in as_list(target) if item is not None]
    absent = len(as_list(target)) - len(filled)
    return (*sorted(filled, key=sort_key), *([None] * absent))


def _unique(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    seen: dict[object, Value] = {}
    for item in as_list(target):
        # As in the app, two links to one note are the same here only if they read the same.
        key = ("link", to_text(item)) if isinstance(item, LinkValue) else identity_key(item, context)
        seen.setdefault(key, item)
    return tuple(seen.values())


def numbers_in(items: tuple[Value, ...]) -> list[float]:
    """Return the numbers among the elements, with durations in milliseconds; everything else is ignored."""
    numbers: list[float] = []
    for item in items:
        if isinstance(item, Duration):
            numbers.append(milliseconds(item))
        elif isinstance(item, float):
            numbers.append(item)
    return numbers


def _mean(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    numbers = numbers_in(as_list(target))
    return sum(numbers) / len(numbers) if numbers else None


def _keys(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    assert isinstance(target, dict)
    return tuple(target)


def _values(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    assert isinstance(target, dict)
    return tuple(target.values())


def _is_empty(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
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

_WORD_START: Final = re.compile(r"(?:^|(?<=\s))\w")
_REFERENCE: Final = re.compile(r"\$(\$|&|\d{1,2}|<[^>]*>)")


def _text_contains(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return arguments[0] is not None and text_argument(arguments, 0) in plain_text(target)


def _text_contains_all(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return all(_text_contains(context, target, (value,)) for value in arguments)


def _text_contains_any(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return any(_text_contains(context, target, (value,)) for value in arguments)


def _starts_with(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return plain_text(target).startswith(text_argument(arguments, 0))


def _ends_with(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return plain_text(target).endswith(text_argument(arguments, 0))


def _lower(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return plain_text(target).lower()


def _title(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return _WORD_START.sub(lambda match: match.group().upper(), plain_text(target))


def _trim(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return plain_text(target).strip()


def _reverse_text(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return plain_text(target)[::-1]


def _repeat(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    text, count = plain_text(target), index_argument(arguments, 0, "repeat")
    if count < 0:
        raise FormulaError("repeat() needs a count of 0 or more.")
    if len(text) * count > MAX_TEXT_CHARS:
        raise FormulaError(f"A text of more than {MAX_TEXT_CHARS} characters.")
    return text * count


def _slice_text(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    start = index_argument(arguments, 0, "slice")
    end = index_argument(arguments, 1, "slice") if len(arguments) > 1 else None
    return plain_text(target)[start:end]


def _find_matches(
    context: EvaluationContext, regex: CompiledRegex, text: str, *, every: bool
) -> Iterator[RegexMatch]:
    """Yield the matches from left to right; after an empty one the search continues one character later."""
    at = 0
    while at <= len(text):
        match = context.search(regex, text, at)
        if match is None:
            return
        yield match
        if not every:
            return
        at = match.end if match.end > match.start else match.end + 1


def _replace(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    text, pattern, new = plain_text(target), arguments[0], text_argument(arguments, 1)
    if not isinstance(pattern, CompiledRegex):
        old = plain_text(pattern)
        if len(text) + text.count(old) * max(0, len(new) - len(old)) > MAX_TEXT_CHARS:
            raise FormulaError(f"A text of more than {MAX_TEXT_CHARS} characters.")
        return text.replace(old, new)
    parts: list[str] = []
    size = done = 0
    for match in _find_matches(context, pattern, text, every="g" in pattern.flags):
        piece = text[done : match.start] + _expand(new, match, pattern)
        parts.append(piece)
        size += len(piece)
        done = match.end
        if size > MAX_TEXT_CHARS:
            break
    return check_text("".join(parts) + text[done:])


def _expand(template: str, match: RegexMatch, regex: CompiledRegex) -> str:
    """Expand `$1`, `$&`, `$<name>` and `$$` in a replacement; a reference to no group stays as written."""

    def group(reference: re.Match[str]) -> str:
        key = reference[1]
        if key == "$":
            return "$"
        if key == "&":
            return match.groups[0] or ""
        number = regex.names.get(key[1:-1], -1) if key.startswith("<") else int(key)
        if 1 <= number < len(match.groups):
            return match.groups[number] or ""
        if len(key) == 2 and key.isdigit() and 1 <= int(key[0]) < len(match.groups):
            return (match.groups[int(key[0])] or "") + key[1]
        return reference.group()

    return _REFERENCE.sub(group, template)


def _split(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    text, separator = plain_text(target), arguments[0]
    most = index_argument(arguments, 1, "split") if len(arguments) > 1 else MAX_LIST_ITEMS
    if isinstance(separator, CompiledRegex):
        pieces = _split_by(context, text, separator)
    else:
        mark = plain_text(separator)
        pieces = list(text) if mark == "" else text.split(mark)
    if len(pieces) > MAX_LIST_ITEMS:
        raise FormulaError(f"A list of more than {MAX_LIST_ITEMS} elements.")
    return tuple(pieces[: max(0, most)])


def _split_by(context: EvaluationContext, text: str, separator: CompiledRegex) -> list[str]:
    pieces: list[str] = []
    done = 0
    for match in _find_matches(context, separator, text, every=True):
        if match.end == match.start and match.start in (0, len(text)):
            continue  # an empty match does not split at the start or the end
        pieces.append(text[done : match.start])
        pieces.extend(group or "" for group in match.groups[1:])
        done = match.end
    pieces.append(text[done:])
    return pieces


def _regexp_matches(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    assert isinstance(target, CompiledRegex)
    return context.search(target, text_argument(arguments, 0)) is not None


STRING: Final = {
    "contains": Method(_text_contains, 1, 1),
    "containsAll": Method(_text_contains_all, 1, ANY_NUMBER),
    "containsAny": Method(_text_contains_any, 1, ANY_NUMBER),
    "endsWith": Method(_ends_with, 1, 1),
    "lower": Method(_lower),
    "repeat": Method(_repeat, 1, 1),
    "replace": Method(_replace, 2, 2),
    "reverse": Method(_reverse_text),
    "slice": Method(_slice_text, 1, 2),
    "split": Method(_split, 1, 2),
    "startsWith": Method(_starts_with, 1, 1),
    "title": Method(_title),
    "trim": Method(_trim),
}

REGEXP: Final = {"matches": Method(_regexp_matches, 1, 1)}
