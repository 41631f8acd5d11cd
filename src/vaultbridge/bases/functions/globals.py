"""Implements the global functions, and the methods that every value has."""

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


def _quote(value: Value) -> str:
    return f'"{to_text(value)[:50]}"'


def _escape_html(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    text = text_argument(arguments, 0)
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        text = text.replace(char, entity)
    return text


def _date(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    match arguments[0]:
        case None | Date() as value:
            return value
        case float() as number:
            try:
                return Date(datetime.fromtimestamp(number / 1_000, context.zone).replace(tzinfo=None))
            except (ValueError, OverflowError, OSError):
                raise FormulaError("date(): the number is out of range.") from None
        case value:
            date = read_date(to_text(value), context.zone)
            if date is None:
                raise FormulaError(
                    f'date(): "{to_text(value)[:50]}" is not YYYY-MM-DD or YYYY-MM-DD HH:mm:ss.'
                )
            return date


def _duration(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
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


def _file(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return find_file(context, arguments[0], _source(target))


def _source(target: Value) -> str:
    """Return the note from which links are resolved: global functions get the row's file as their target."""
    return target.row.path if isinstance(target, File) else ""


def _html(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return HtmlValue(text_argument(arguments, 0))


def _icon(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return IconValue(text_argument(arguments, 0))


def _image(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    match arguments[0]:
        case None:
            return None
        case File() as file:
            return ImageValue(file.row.path)
        case LinkValue() as link:
            return ImageValue(context.linked_path(link) or link.target)
        case value:
            return ImageValue(to_text(value))


def _link(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
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


def _list(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    value = arguments[0]
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _max(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return max(number_argument(arguments, n, "max") for n in range(len(arguments)))


def _min(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return min(number_argument(arguments, n, "min") for n in range(len(arguments)))


def _now(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return Date(context.now)


def _today(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return Date(context.now.replace(hour=0, minute=0, second=0, microsecond=0), has_time=False)


def _number(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    match arguments[0]:
        case None:
            return None
        case bool() as value:
            return float(value)
        case float() as value:
            return value
        case Date() as date:
            return epoch_milliseconds(date, context.zone)
        case Duration() as duration:
            return milliseconds(duration)
        case str() as text if (number := read_number(text)) is not None:
            return number
        case other:
            raise FormulaError(f"number(): {_quote(other)} is not a number.")


def _random(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return context.random()


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


def _is_truthy(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return truthy(target)


def _is_type(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return type_name(target) == text_argument(arguments, 0).lower()


def _to_string(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return to_text(target)


def _is_empty(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return is_empty(target)


ANY: Final = {
    "isEmpty": Method(_is_empty),
    "isTruthy": Method(_is_truthy),
    "isType": Method(_is_type, 1, 1),
    "toString": Method(_to_string),
}
