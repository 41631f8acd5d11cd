"""The global functions, and those that every value has."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from vaultbridge.bases.context import (
    ANY_NUMBER,
    Arguments,
    EvaluationContext,
    Method,
    number_argument,
    text_argument,
)
from vaultbridge.bases.convert import epoch_milliseconds, read_date, read_duration
from vaultbridge.bases.functions.files import find_file
from vaultbridge.bases.operators import read_number
from vaultbridge.bases.values import (
    Date,
    Duration,
    File,
    FormulaError,
    HtmlValue,
    IconValue,
    ImageValue,
    LinkValue,
    Value,
    is_empty,
    make_link,
    milliseconds,
    to_text,
    truthy,
    type_name,
)


def _quoted(value: Value) -> str:
    return f'"{to_text(value)[:50]}"'


def _escape_html(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    text = text_argument(arguments, 0)
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        text = text.replace(char, entity)
    return text


def _date(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    match arguments[0]:
        case None | Date() as value:
            return value
        case float() as number:
            try:
                return Date(datetime.fromtimestamp(number / 1_000, world.zone).replace(tzinfo=None))
            except (ValueError, OverflowError, OSError):
                raise FormulaError("date(): the number is out of range.") from None
        case value:
            date = read_date(to_text(value), world.zone)
            if date is None:
                raise FormulaError(
                    f'date(): "{to_text(value)[:50]}" is not YYYY-MM-DD or YYYY-MM-DD HH:mm:ss.'
                )
            return date


def _duration(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    value = arguments[0]
    if value is None or isinstance(value, Duration):
        return value
    if isinstance(value, float):
        return Duration(0, value)
    duration = read_duration(to_text(value))
    if duration is None:
        raise FormulaError(
            f'duration(): "{to_text(value)[:50]}" is not a duration such as "1d" or "2 weeks".'
        )
    return duration


def _file(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return find_file(world, arguments[0], _source(target))


def _source(target: Value) -> str:
    """The note that links are resolved from: global functions get the row's file as their target."""
    return target.row.path if isinstance(target, File) else ""


def _html(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return HtmlValue(text_argument(arguments, 0))


def _icon(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return IconValue(text_argument(arguments, 0))


def _image(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    match arguments[0]:
        case None:
            return None
        case File() as file:
            return ImageValue(file.row.path)
        case LinkValue() as link:
            return ImageValue(world.linked_path(link) or link.target)
        case value:
            return ImageValue(to_text(value))


def _link(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    display = arguments[1] if len(arguments) > 1 else None
    match arguments[0]:
        case None:
            return None
        case File() as file:
            return LinkValue(file.row.path, file.row.path, display)
        case LinkValue() as link:
            return LinkValue(link.target, link.source, display or link.display, link.external)
        case value:
            made = make_link(to_text(value), _source(target))
            return LinkValue(made.target, made.source, display or made.display, made.external)


def _list(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    value = arguments[0]
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _max(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return max(number_argument(arguments, n, "max") for n in range(len(arguments)))


def _min(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return min(number_argument(arguments, n, "min") for n in range(len(arguments)))


def _now(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return Date(world.now)


def _today(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return Date(world.now.replace(hour=0, minute=0, second=0, microsecond=0), has_time=False)


def _number(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    match arguments[0]:
        case None:
            return None
        case bool() as value:
            return float(value)
        case float() as value:
            return value
        case Date() as date:
            return epoch_milliseconds(date, world.zone)
        case Duration() as duration:
            return milliseconds(duration)
        case str() as text if (number := read_number(text)) is not None:
            return number
        case other:
            raise FormulaError(f"number(): {_quoted(other)} is not a number.")


def _random(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return world.random()


GLOBAL: Final = {
    "date": Method(_date, 1, 1),
    "duration": Method(_duration, 1, 1),
    "escapeHTML": Method(_escape_html, 1, 1),
    "file": Method(_file, 1, 1),
    "html": Method(_html, 1, 1),
    "icon": Method(_icon, 1, 1),
    "image": Method(_image, 1, 1),
    "link": Method(_link, 1, 2),
    "list": Method(_list, 1, 1),
    "max": Method(_max, 1, ANY_NUMBER),
    "min": Method(_min, 1, ANY_NUMBER),
    "now": Method(_now),
    "number": Method(_number, 1, 1),
    "random": Method(_random),
    "today": Method(_today),
}


def _is_truthy(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return truthy(target)


def _is_type(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return type_name(target) == text_argument(arguments, 0).lower()


def _to_string(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return to_text(target)


def _is_empty(world: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return is_empty(target)


ANY: Final = {
    "isEmpty": Method(_is_empty),
    "isTruthy": Method(_is_truthy),
    "isType": Method(_is_type, 1, 1),
    "toString": Method(_to_string),
}
