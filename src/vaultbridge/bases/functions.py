"""Implements the global functions, the methods that every value has, and the methods and fields of files and
links. `bases.methods` has those of other values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from vaultbridge.bases.context import (
    ANY_NUMBER,
    ArgumentValues,
    EvaluationContext,
    Method,
    number_argument,
    text_argument,
)
from vaultbridge.bases.convert import (
    convert_properties,
    convert_property,
    epoch_milliseconds,
    read_date,
    read_duration,
)
from vaultbridge.bases.operators import read_number
from vaultbridge.bases.values import (
    Date,
    Duration,
    File,
    FileRow,
    FormulaError,
    HtmlValue,
    IconValue,
    ImageValue,
    LinkValue,
    RowLink,
    Tag,
    Value,
    default_display,
    is_empty,
    make_link_value,
    milliseconds,
    plain_text,
    to_text,
    truthy,
    type_name,
)
from vaultbridge.links.resolve import file_name, name_key


def find_property(properties: Mapping[str, Any], name: str) -> tuple[bool, Any]:
    """Return whether there is such a property, and its value; the exact spelling wins over other cases."""
    if name in properties:
        return True, properties[name]
    wanted = name_key(name)
    for key, value in properties.items():
        if isinstance(key, str) and name_key(key) == wanted:
            return True, value
    return False, None


def note_property(context: EvaluationContext, row: FileRow, name: str) -> Value:
    """Return a property of the note as a value of the language; null if there is none of that name."""
    return convert_property(find_property(row.properties, name)[1], name, row.path, context)


def as_row(value: Value) -> FileRow:
    assert isinstance(value, File)
    return value.row


def _links(links: tuple[RowLink, ...], row: FileRow) -> Value:
    return tuple(LinkValue(link.target, row.path, link.display) for link in links)


def _backlinks(row: FileRow) -> Value:
    return tuple(LinkValue(path, row.path, default_display(file_name(path))) for path in row.backlinks())


def _shown_name(row: FileRow) -> str:
    """Return `file.name`: the app leaves out the extension of a note, and only of a note."""
    return row.basename if row.ext == "md" else row.name


Field = Callable[[EvaluationContext, FileRow], Value]

FILE_FIELDS: Final[dict[str, Field]] = {
    "aliases": lambda context, row: row.aliases,
    "backlinks": lambda context, row: _backlinks(row),
    "basename": lambda context, row: row.basename,
    "ctime": lambda context, row: Date(context.local(row.ctime)),
    "embeds": lambda context, row: _links(row.embeds, row),
    "ext": lambda context, row: row.ext,
    "file": lambda context, row: File(row),
    "folder": lambda context, row: row.folder or "/",
    "fullname": lambda context, row: row.name,
    "links": lambda context, row: _links(row.links, row),
    "mtime": lambda context, row: Date(context.local(row.mtime)),
    "name": lambda context, row: _shown_name(row),
    "path": lambda context, row: row.path,
    "properties": lambda context, row: convert_properties(row.properties, row.path, context),
    "size": lambda context, row: float(row.size),
    "tags": lambda context, row: tuple(Tag(f"#{tag}") for tag in row.tags),
}


def find_path(context: EvaluationContext, value: Value, source: str) -> str | None:
    """Return the path of the file that a value names: a file, a link, or a text that is a path or a link."""
    match value:
        case File():
            return value.row.path
        case LinkValue():
            return context.find_linked_path(value)
        case str():
            if context.row_of(value) is not None:
                return value
            return context.find_linked_path(make_link_value(value, source))
        case None:
            return None
        case _:
            raise FormulaError(f"A file, link or path is needed, got {type_name(value)}.")


def find_file(context: EvaluationContext, value: Value, source: str) -> Value:
    """Return the file that a value names, or null."""
    if isinstance(value, File):
        return File(value.row)
    path = find_path(context, value, source)
    row = context.row_of(path) if path is not None else None
    return File(row) if row is not None else None


def _as_link(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    row = as_row(target)
    return LinkValue(row.path, row.path, arguments[0] if arguments else None)


def _links_to(context: EvaluationContext, row: FileRow, other: Value) -> bool:
    path = find_path(context, other, row.path)
    if path is not None:
        return any(link.path == path for link in row.links)
    # A link to a note that does not exist yet is found by its text.
    wanted = plain_text(other).partition("#")[0]
    return any(link.path is None and link.target.partition("#")[0] == wanted for link in row.links)


def _has_link(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return _links_to(context, as_row(target), arguments[0])


def _has_property(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return find_property(as_row(target).properties, text_argument(arguments, 0))[0]


def _has_tag(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    tags = [name_key(tag) for tag in as_row(target).tags]
    for number in range(len(arguments)):
        wanted = name_key(text_argument(arguments, number)).removeprefix("#").rstrip("/")
        if any(tag == wanted or tag.startswith(f"{wanted}/") for tag in tags):
            return True
    return False


def _in_folder(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    folder = name_key(text_argument(arguments, 0)).strip("/")
    own = name_key(as_row(target).folder).strip("/")
    return folder == "" or own == folder or own.startswith(f"{folder}/")


def _as_file(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    assert isinstance(target, LinkValue)
    return find_file(context, target, target.source)


def _link_links_to(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    file = _as_file(context, target, ())
    return isinstance(file, File) and _links_to(context, file.row, arguments[0])


FILE: Final = {
    "asLink": Method(_as_link, 0, 1),
    "hasLink": Method(_has_link, 1, 1),
    "hasProperty": Method(_has_property, 1, 1),
    "hasTag": Method(_has_tag, 1, ANY_NUMBER),
    "inFolder": Method(_in_folder, 1, 1),
}

LINK: Final = {"asFile": Method(_as_file), "linksTo": Method(_link_links_to, 1, 1)}


def _quote(value: Value) -> str:
    return f'"{to_text(value)[:50]}"'


def _escape_html(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    text = text_argument(arguments, 0)
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        text = text.replace(char, entity)
    return text


def _date(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
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


def _duration(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
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


def _file(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return find_file(context, arguments[0], _source(target))


def _source(target: Value) -> str:
    """Return the note from which links are resolved: global functions get the row's file as their target."""
    return target.row.path if isinstance(target, File) else ""


def _html(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return HtmlValue(text_argument(arguments, 0))


def _icon(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return IconValue(text_argument(arguments, 0))


def _image(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    match arguments[0]:
        case None:
            return None
        case File() as file:
            return ImageValue(file.row.path)
        case LinkValue() as link:
            return ImageValue(context.find_linked_path(link) or link.target)
        case value:
            return ImageValue(to_text(value))


def _link(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    display = arguments[1] if len(arguments) > 1 else None
    match arguments[0]:
        case None:
            return None
        case File() as file:
            return LinkValue(file.row.path, file.row.path, display)
        case LinkValue() as link:
            return LinkValue(link.target, link.source, display or link.display, link.external)
        case value:
            made = make_link_value(to_text(value), _source(target))
            return LinkValue(made.target, made.source, display or made.display, made.external)


def _list(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    value = arguments[0]
    return value if isinstance(value, tuple) else () if value is None else (value,)


def _max(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return max(number_argument(arguments, n, "max") for n in range(len(arguments)))


def _min(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return min(number_argument(arguments, n, "min") for n in range(len(arguments)))


def _now(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return Date(context.now)


def _today(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return Date(context.now.replace(hour=0, minute=0, second=0, microsecond=0), has_time=False)


def _number(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
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
            raise FormulaError(f"number(): {_quote(other)} is not a number such as 3.5.")


def _random(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
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


def _is_truthy(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return truthy(target)


def _is_type(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return type_name(target) == text_argument(arguments, 0).lower()


def _to_string(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return to_text(target)


def _is_empty(context: EvaluationContext, target: Value, arguments: ArgumentValues) -> Value:
    return is_empty(target)


ANY: Final = {
    "isEmpty": Method(_is_empty),
    "isTruthy": Method(_is_truthy),
    "isType": Method(_is_type, 1, 1),
    "toString": Method(_to_string),
}
