"""Implements the methods and fields of files and links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from vaultbridge.bases.context import ANY_NUMBER, Arguments, EvaluationContext, Method, text_argument
from vaultbridge.bases.convert import convert_properties, convert_property
from vaultbridge.bases.values import Date, File, FileRow, FormulaError, LinkValue, Value, make_link, type_name
from vaultbridge.links.resolve import name_key


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


def _links(paths: tuple[str, ...], row: FileRow) -> Value:
    return tuple(LinkValue(path, row.path) for path in paths)


Field = Callable[[EvaluationContext, FileRow], Value]

FILE_FIELDS: Final[dict[str, Field]] = {
    "aliases": lambda context, row: row.aliases,
    "backlinks": lambda context, row: _links(row.backlinks(), row),
    "basename": lambda context, row: row.basename,
    "ctime": lambda context, row: Date(context.local(row.ctime)),
    "embeds": lambda context, row: _links(row.embeds, row),
    "ext": lambda context, row: row.ext,
    "file": lambda context, row: File(row),
    "folder": lambda context, row: row.folder or "/",
    "fullname": lambda context, row: row.name,
    "links": lambda context, row: _links(row.links, row),
    "mtime": lambda context, row: Date(context.local(row.mtime)),
    "name": lambda context, row: row.name,
    "path": lambda context, row: row.path,
    "properties": lambda context, row: convert_properties(row.properties, row.path, context),
    "size": lambda context, row: float(row.size),
    "tags": lambda context, row: tuple(f"#{tag}" for tag in row.tags),
}


def find_path(context: EvaluationContext, value: Value, source: str) -> str | None:
    """Return the path of the file that a value names: a file, a link, or a text that is a path or a link."""
    match value:
        case File():
            return value.row.path
        case LinkValue():
            return context.linked_path(value)
        case str():
            if context.row_of(value) is not None:
                return value
            return context.linked_path(make_link(value, source))
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


def _as_link(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    row = as_row(target)
    return LinkValue(row.path, row.path, arguments[0] if arguments else None)


def _links_to(context: EvaluationContext, row: FileRow, other: Value) -> bool:
    path = find_path(context, other, row.path)
    if path is None:
        # A link to a note that does not exist yet is found by its text.
        wanted = other.target if isinstance(other, LinkValue) else other
        return isinstance(wanted, str) and (wanted in row.links or wanted in row.embeds)
    return path in row.links or path in row.embeds


def _has_link(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return _links_to(context, as_row(target), arguments[0])


def _has_property(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    return find_property(as_row(target).properties, text_argument(arguments, 0))[0]


def _has_tag(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    tags = [name_key(tag) for tag in as_row(target).tags]
    for number in range(len(arguments)):
        wanted = name_key(text_argument(arguments, number)).removeprefix("#").rstrip("/")
        if any(tag == wanted or tag.startswith(f"{wanted}/") for tag in tags):
            return True
    return False


def _in_folder(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    folder = name_key(text_argument(arguments, 0)).strip("/")
    own = name_key(as_row(target).folder).strip("/")
    return folder == "" or own == folder or own.startswith(f"{folder}/")


def _as_file(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
    assert isinstance(target, LinkValue)
    return find_file(context, target, target.source)


def _link_links_to(context: EvaluationContext, target: Value, arguments: Arguments) -> Value:
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
