"""Defines the values of the language and what all parts share: type names, truth, text, emptiness, links.

A number is a float, as in JavaScript, so that no product can grow without bound. Lists are tuples, and
objects are dicts that are never changed. `FileRow` is a file of the vault as a base sees it; the engine fills
one per file. `bases.operators` compares and combines values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field

from vaultbridge.bases.regex_match import CompiledRegex

MAX_TEXT_CHARS: Final = 1_000_000
"""The longest text an expression may build: far above any cell, far below what exhausts memory."""

MAX_LIST_ITEMS: Final = 100_000
"""The longest list an expression may build: a list of every file of a large vault still fits."""

MAX_VALUE_DEPTH: Final = 50
"""The deepest nesting of lists and objects: walks over them recurse."""


class FormulaError(Exception):
    """This expression has no value for this row; the cell shows the message. Never leaves `bases`."""


class Date(Struct, frozen=True):
    """A moment of the wall clock; `has_time` is false for a date without a time."""

    when: datetime
    has_time: bool = True


class Duration(Struct, frozen=True):
    """A calendar part and an exact part. In arithmetic with numbers it counts as its milliseconds, because
    in the help pages the difference of two dates is in milliseconds."""

    months: int = 0
    milliseconds: float = 0.0


class Tag(str):
    """A tag, as written: a text whose list also contains the tags above it."""

    __slots__ = ()


class LinkValue(Struct, frozen=True):
    """`target` is as written, with its subpath; `source` is the note from which it is resolved."""

    target: str
    source: str = ""
    display: Value = None
    external: bool = False


class File(Struct, frozen=True):
    """A file of the vault. `as_note` is true for `this`, whose members are the note's properties."""

    row: FileRow
    as_note: bool = False


class HtmlValue(Struct, frozen=True):
    text: str


class IconValue(Struct, frozen=True):
    name: str


class ImageValue(Struct, frozen=True):
    """`source` is a URL or a path of the vault."""

    source: str


class ErrorValue(Struct, frozen=True):
    """The value of a cell whose formula failed for that row."""

    message: str


Value: TypeAlias = (
    "bool | float | str | Date | Duration | LinkValue | File | CompiledRegex | HtmlValue | IconValue"
    " | ImageValue | ErrorValue | tuple[Value, ...] | dict[str, Value] | None"
)

TypeName = Literal[
    "null",
    "boolean",
    "number",
    "string",
    "date",
    "duration",
    "list",
    "object",
    "link",
    "file",
    "regexp",
    "html",
    "icon",
    "image",
    "error",
]

_TYPE_NAMES: Final[dict[type, TypeName]] = {
    type(None): "null",
    bool: "boolean",
    float: "number",
    str: "string",
    Tag: "string",
    Date: "date",
    Duration: "duration",
    tuple: "list",
    dict: "object",
    LinkValue: "link",
    File: "file",
    CompiledRegex: "regexp",
    HtmlValue: "html",
    IconValue: "icon",
    ImageValue: "image",
    ErrorValue: "error",
}

_DAY: Final = 86_400_000.0
MONTH_MILLISECONDS: Final = 30.436875 * _DAY
"""The mean month of the calendar, to convert months to milliseconds."""


def type_name(value: Value) -> TypeName:
    return _TYPE_NAMES[type(value)]


def truthy(value: Value) -> bool:
    """JavaScript's truth, except that an empty list or object is false: the filter `tags` means "has
    tags"."""
    match value:
        case None | ErrorValue():
            return False
        case bool():
            return value
        case float():
            return value != 0 and not math.isnan(value)
        case str() | tuple() | dict():
            return len(value) > 0
        case Duration():
            return milliseconds(value) != 0
        case _:
            return True


def is_empty(value: Value) -> bool:
    """Return whether a value is empty for `isEmpty()` and the Empty summary: missing, or without characters,
    elements or keys."""
    return value is None or (isinstance(value, str | tuple | dict) and not value)


def milliseconds(duration: Duration) -> float:
    return duration.months * MONTH_MILLISECONDS + duration.milliseconds


def format_number(number: float) -> str:
    """Format a number as JavaScript does: `3`, not `3.0`; `1e+21`, `Infinity`, `NaN`."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    if 1e-6 <= abs(number) < 1e21:
        return f"{Decimal(repr(number)):f}".removesuffix(".0")
    mantissa, _, exponent = repr(number).partition("e")
    power = int(exponent)
    return f"{mantissa}e{'+' if power > 0 else '-'}{abs(power)}"


def format_date(date: Date) -> str:
    """Format a date in the form that `date()` reads."""
    text = date.when.isoformat("T", "seconds")
    return text if date.has_time else text[:10]


_AMOUNTS: Final = (
    # unit in seconds, highest count in this unit, singular, plural
    (60.0, 44, "a minute", "minutes"),
    (3_600.0, 21, "an hour", "hours"),
    (86_400.0, 25, "a day", "days"),
    (86_400.0 * 30.436875, 10, "a month", "months"),
    (86_400.0 * 365.2425, 10**9, "a year", "years"),
)


def describe_amount(seconds: float) -> str:
    """Describe a length of time as `3 days` or `an hour`, with the words and thresholds of moment.js."""
    if seconds < 44.5:
        return "a few seconds"
    for unit, last, singular, plural in _AMOUNTS:
        count = int(seconds / unit + 0.5)
        if count <= 1:
            return singular
        if count <= last:
            return f"{count} {plural}"
    return "a very long time"


def to_text(value: Value) -> str:
    """Return the text of any value, for `toString()`, `+` with a text, `join()` and rendered cells."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float():
            return format_number(value)
        case str():
            return value
        case Date():
            return format_date(value)
        case Duration():
            return describe_amount(abs(milliseconds(value)) / 1_000)
        case tuple():
            return ", ".join(to_text(item) for item in value)
        case dict():
            return ", ".join(f"{key}: {to_text(item)}" for key, item in value.items())
        case LinkValue():
            return format_link(value)
        case File():
            return value.row.path
        case CompiledRegex():
            return f"/{value.source}/{value.flags}"
        case HtmlValue():
            return value.text
        case IconValue():
            return value.name
        case ImageValue():
            return f"![]({value.source})"
        case ErrorValue():
            return value.message


def plain_text(value: Value) -> str:
    """Return the text on which the functions of texts work: of a link its target, of a picture its source."""
    match value:
        case LinkValue():
            return value.target
        case ImageValue():
            return value.source
        case _:
            return to_text(value)


def format_link(link: LinkValue) -> str:
    """Format a link as a wikilink, or as a Markdown link for a URL."""
    display = to_text(link.display)
    if link.external:
        return f"[{display}]({link.target})" if display else link.target
    return f"[[{link.target}|{display}]]" if display else f"[[{link.target}]]"


def count_values(value: Value, depth: int = 0) -> int:
    """Count the values in `value`, including itself: the cost of walking it.

    Raises FormulaError past the caps. Lists share their elements, so a short formula can build one that would
    take forever to walk; the walk stops as soon as it exceeds the cap.
    """
    if not isinstance(value, tuple | dict):
        return 1
    if depth > MAX_VALUE_DEPTH:
        raise FormulaError(f"Lists nested deeper than {MAX_VALUE_DEPTH} levels.")
    total = 1
    for item in value.values() if isinstance(value, dict) else value:
        total += count_values(item, depth + 1)
        if total > MAX_LIST_ITEMS:
            raise FormulaError(f"A list of more than {MAX_LIST_ITEMS} elements.")
    return total


def check_text(text: str) -> str:
    """Return `text`; raises FormulaError if it is longer than a formula may build."""
    if len(text) > MAX_TEXT_CHARS:
        raise FormulaError(f"A text of more than {MAX_TEXT_CHARS} characters.")
    return text


_WIKILINK: Final = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")
_MARKDOWN: Final = re.compile(r"!?\[([^\[\]\n]*)\]\(<?([^()<>\n]+)>?\)")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?\S+")


def is_url(text: str) -> bool:
    return _URL.fullmatch(text) is not None


def parse_wikilink(text: str, source: str) -> LinkValue | None:
    """Parse a text that is a wikilink, `[[target|display]]`; else None."""
    match = _WIKILINK.fullmatch(text.strip())
    if match is None:
        return None
    # A `|` as the first character belongs to the target, as everywhere in the app.
    bar = match[1].find("|", 1)
    target, display = (match[1][:bar], match[1][bar + 1 :]) if bar > 0 else (match[1], "")
    return LinkValue(target.strip(), source, display or None)


def parse_link(text: str, source: str) -> LinkValue | None:
    """Parse a text that is a link, `[[target|display]]` or `[display](target)`; else None."""
    text = text.strip()
    if link := parse_wikilink(text, source):
        return link
    if match := _MARKDOWN.fullmatch(text):
        target = match[2].strip()
        if is_url(target):
            return LinkValue(target, source, match[1] or None, external=True)
        return LinkValue(target.replace("%20", " "), source, match[1] or None)
    return None


def make_link_value(text: str, source: str) -> LinkValue:
    """Make the value of `link(text)`: from a written link, a URL, or else a name or path."""
    written = parse_link(text, source)
    if written is not None:
        return written
    return LinkValue(text.strip(), source, external=is_url(text.strip()))


class RowLink(Struct, frozen=True):
    """A link of a file: `target` as written with its subpath, `path` where it leads, None if nowhere. A link
    always has a `display`; the app makes it from the target if none is written."""

    target: str
    display: str
    path: str | None = None


def default_display(target: str) -> str:
    """Return the text that the app shows for a link without one: `Note`, `folder/Note`, `Note > Heading`."""
    name, _, subpath = target.partition("#")
    shown = name if "/" in name else name.removesuffix(".md")
    return f"{shown} > {subpath}" if subpath else shown


def _no_backlinks() -> tuple[str, ...]:
    return ()


class FileRow(Struct, frozen=True):
    """`path`, `name` (with its extension), `basename`, `folder` ("" for the root), `ext` without a dot.

    `tags` have no `#` and begin with those of the properties; `links` are all links in the app's order (those
    of the properties, of the text, and the embeds), `embeds` those that embed; `backlinks` returns the paths
    of the notes that link here.
    `properties` are the values that YAML gave. Times are wall-clock times; an aware one is converted to the
    zone of the `now` of the view's run.
    """

    path: str
    name: str
    basename: str
    folder: str
    ext: str
    size: int
    ctime: datetime
    mtime: datetime
    tags: tuple[str, ...] = ()
    links: tuple[RowLink, ...] = ()
    embeds: tuple[RowLink, ...] = ()
    backlinks: Callable[[], tuple[str, ...]] = _no_backlinks
    properties: Mapping[str, Any] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
