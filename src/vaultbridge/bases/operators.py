"""Implements the operators: one rule per operator, for every pair of types.

It handles only values; `bases.evaluate` handles names and calls.
"""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Final, TypeAlias

from vaultbridge.bases.context import EvaluationContext
from vaultbridge.bases.convert import read_date, read_duration, scale_duration, shift_date
from vaultbridge.bases.values import (
    Date,
    Duration,
    File,
    FormulaError,
    LinkValue,
    Value,
    check_text,
    count_values,
    milliseconds,
    parse_link,
    to_text,
    type_name,
)

OrderKey: TypeAlias = tuple[object, ...]

_DIGITS: Final = re.compile(r"(\d{1,15})")
_NUMERIC: Final = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?\s*")


def read_number(text: str) -> float | None:
    """Read the whole of `text` as a number."""
    return float(text) if _NUMERIC.fullmatch(text) else None


def are_equal(left: Value, right: Value, context: EvaluationContext) -> bool:
    """Compare two values. Links and files are equal if they lead to the same file; a text is read as a
    number, date or link to compare it with one; lists and objects are compared element by element."""
    match left, right:
        case (LinkValue() | File(), LinkValue() | File()):
            return _same_destination(left, right, context)
        case (str(), LinkValue() | File()):
            return _text_names(left, right, context)
        case (LinkValue() | File(), str()):
            return _text_names(right, left, context)
        case (Date(), Date()):
            return left.when == right.when
        case (Date(), str()) | (str(), Date()):
            return _order(left, right, context) == 0
        case (bool(), _) | (_, bool()):
            return left is right
        case (float() | Duration(), float() | Duration() | str()) | (str(), float() | Duration()):
            return _order(left, right, context) == 0
        case (tuple(), tuple()):
            same_size = len(left) == len(right)
            return same_size and all(are_equal(a, b, context) for a, b in zip(left, right, strict=True))
        case (dict(), dict()):
            return left.keys() == right.keys() and all(are_equal(left[k], right[k], context) for k in left)
        case _:
            return left == right


def _same_destination(left: LinkValue | File, right: LinkValue | File, context: EvaluationContext) -> bool:
    here, there = _destination(left, context), _destination(right, context)
    if here is None and there is None and isinstance(left, LinkValue) and isinstance(right, LinkValue):
        return left.target == right.target
    return here is not None and here == there


def _destination(value: LinkValue | File, context: EvaluationContext) -> str | None:
    return value.row.path if isinstance(value, File) else context.find_linked_path(value)


def _text_names(text: str, value: LinkValue | File, context: EvaluationContext) -> bool:
    if isinstance(value, File):
        return text in (value.row.path, value.row.name, value.row.basename)
    written = parse_link(text, value.source)
    if written is not None:
        return _same_destination(written, value, context)
    return text in (value.target, to_text(value))


def compare(operator: str, left: Value, right: Value, context: EvaluationContext) -> bool:
    """Evaluate `<`, `>`, `<=` or `>=`; false if the two cannot be ordered, so a missing property never
    matches."""
    order = _order(left, right, context)
    if order is None:
        return False
    match operator:
        case "<":
            return order < 0
        case ">":
            return order > 0
        case "<=":
            return order <= 0
        case _:
            return order >= 0


def _order(left: Value, right: Value, context: EvaluationContext) -> float | None:
    """Return a negative, zero or positive number; None if there is no order between the two."""
    if isinstance(left, Date) or isinstance(right, Date):
        a, b = _as_date(left, context), _as_date(right, context)
        return (a.when - b.when).total_seconds() if a and b else None
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    x, y = _as_number(left), _as_number(right)
    if x is None or y is None or math.isnan(x) or math.isnan(y):
        return None
    return (x > y) - (x < y)


def _as_date(value: Value, context: EvaluationContext) -> Date | None:
    if isinstance(value, str):
        return read_date(value, context.zone)
    return value if isinstance(value, Date) else None


def _as_number(value: Value) -> float | None:
    match value:
        case bool():
            return float(value)
        case float():
            return value
        case Duration():
            return milliseconds(value)
        case str():
            return read_number(value)
        case _:
            return None


def calculate(operator: str, left: Value, right: Value, context: EvaluationContext) -> Value:
    """Evaluate `+ - * / %`. With a missing operand the result is missing, but adding it to a text adds
    nothing."""
    if isinstance(left, Date) and operator in "+-":
        moved = _shift(operator, left, right)
        if moved is not None:
            return moved
    if operator == "+":
        if isinstance(left, str) or isinstance(right, str):
            return check_text(to_text(left) + to_text(right))
        if isinstance(left, tuple) or isinstance(right, tuple):
            joined = _as_list(left) + _as_list(right)
            count_values(joined)
            return joined
    if isinstance(left, Duration) and (result := _duration_result(operator, left, right)) is not None:
        return result
    if left is None or right is None:
        return None
    x, y = _as_number(left), _as_number(right)
    # As in the app a duration can be multiplied and divided, but a number cannot by a duration.
    if x is None or y is None or (isinstance(left, float) and isinstance(right, Duration)):
        verb = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "divide"}[operator]
        expected = "numbers"
        if isinstance(left, Date) and operator in "+-":
            expected = (
                "a date and a duration such as '1d'" if operator == "+" else "two dates, or a date and '1d'"
            )
        elif isinstance(right, Duration):
            expected = "the duration first"
        raise FormulaError(f"Cannot {verb} {type_name(left)} and {type_name(right)}, expected {expected}.")
    return _arithmetic(operator, x, y)


def _shift(operator: str, date: Date, right: Value) -> Value:
    """Add to or subtract from a date; None if `right` is neither a duration nor a date."""
    sign = 1 if operator == "+" else -1
    if isinstance(right, str):
        right = read_duration(right)
    elif isinstance(right, float) and math.isfinite(right):
        right = Duration(0, right)
    if isinstance(right, Duration):
        return shift_date(date, right, sign)
    if isinstance(right, Date) and operator == "-":
        return Duration(0, (date.when - right.when).total_seconds() * 1_000)
    return None


def _duration_result(operator: str, left: Duration, right: Value) -> Value:
    """Add durations, or multiply one by a number. Divided by a number it is milliseconds, as in the app."""
    sign = {"+": 1, "-": -1}.get(operator)
    if isinstance(right, Duration) and sign:
        return Duration(left.months + sign * right.months, left.milliseconds + sign * right.milliseconds)
    if isinstance(right, float) and operator == "*" and math.isfinite(right):
        return scale_duration(Duration(), left, right)
    return None


def _as_list(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _arithmetic(operator: str, x: float, y: float) -> float:
    try:
        match operator:
            case "+":
                return x + y
            case "-":
                return x - y
            case "*":
                return x * y
            case "/":
                return x / y
            case _:
                return math.fmod(x, y)
    except ZeroDivisionError:
        return math.nan if x == 0 or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1, y)
    except ValueError:  # fmod of an infinity or by zero
        return math.nan


def sort_key(value: Value) -> OrderKey:
    """Return a key that orders any values: by kind, then within the kind as people expect. Text is ordered by
    its letters without case and accents, and numbers in it by size: `Log 9` before `Log 10`."""
    match value:
        case bool():
            return (0, value)
        case float():
            return (1, -math.inf if math.isnan(value) else value)
        case Duration():
            return (1, milliseconds(value))
        case Date():
            return (2, value.when)
        case _:
            text = to_text(value)
            return (3, *_natural(text), text)


def _natural(text: str) -> tuple[tuple[tuple[int, int, str], ...], ...]:
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    parts = _DIGITS.split(plain.lower())
    return (
        tuple((0, int(part), "") if n % 2 else (1, 0, part) for n, part in enumerate(parts) if part or n % 2),
    )


def identity_key(value: Value, context: EvaluationContext) -> object:
    """Return a hashable key; values with the same key are the same to `unique()`, grouping and Unique."""
    match value:
        case LinkValue() | File():
            path = _destination(value, context)
            return ("file", path) if path is not None else ("link", to_text(value))
        case tuple():
            return ("list", *(identity_key(item, context) for item in value))
        case dict():
            return ("object", *((key, identity_key(item, context)) for key, item in value.items()))
        case Duration():
            return ("number", milliseconds(value))
        case Date():
            return ("date", value.when)
        case _:
            return (type_name(value), to_text(value))
