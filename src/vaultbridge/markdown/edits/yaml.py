"""Finds where each property is in the text (key, colon, value, items), and writes values as YAML.

The block must have been read without a problem, and offsets are those of the whole note. `markdown.parse`
reads the values.

A string is quoted exactly when it would otherwise be read as something else. `parse_yaml` decides that, so
writing cannot deviate from reading. Strings are quoted with `"` as in the app, or with `'` where that avoids
escapes. `markdown.edits.properties` decides where in a note the text goes.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from msgspec import Struct

from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.markdown.edits.change import end_of_line, start_of_line, start_of_next_line
from vaultbridge.markdown.model import Properties
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.markdown.yaml import (
    Prepared,
    fit_integer,
    parse_yaml,
    prepare_yaml,
    resolve_plain,
    yaml_loader,
)

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node


Shape: TypeAlias = Literal[
    "empty", "scalar", "block-scalar", "flow-list", "block-list", "flow-map", "block-map"
]

_SHAPES: Final[dict[tuple[str, bool], Shape]] = {
    ("sequence", True): "flow-list",
    ("sequence", False): "block-list",
    ("mapping", True): "flow-map",
    ("mapping", False): "block-map",
}


class Item(Struct, frozen=True):
    """An item of a list. `start` and `end` cover its value as written; `line_start` is the start of its line
    and `dash` the offset of its `-` (block lists only)."""

    start: int
    end: int
    line_start: int = 0
    dash: int = 0


class PropertyEntry(Struct, frozen=True):
    """One property. `after_colon` is the offset after the colon; `start` and `end` cover the value as
    written, including quotes, anchor and tag, and are equal if it is empty. `next_line` is where the line
    after the value begins. `column` is the key's indentation."""

    key: str
    key_start: int
    key_end: int
    after_colon: int
    start: int
    end: int
    line_start: int
    next_line: int
    column: int
    shape: Shape
    quote: str = ""
    items: tuple[Item, ...] = ()

    @property
    def on_key_line(self) -> bool:
        """Whether the value begins on the key's line."""
        return self.shape not in ("block-list", "block-map")


def find_entries(text: str, properties: Properties) -> tuple[PropertyEntry, ...]:
    """Find every property of a valid block, in the order of the text. Raises EditRefused for a form that
    cannot be edited by line: `{…}` around the whole block, or `? key`."""
    # PyYAML is slow to import, and only edits of properties need it.
    import yaml

    body = replace_surrogates(text[properties.body_start : properties.body_end])
    prepared = prepare_yaml(body)
    try:
        root = yaml.compose(prepared.text, Loader=yaml_loader())
    except yaml.YAMLError as error:
        # `parse_yaml` accepts an anchor that is defined twice, as YAML 1.2 does; PyYAML cannot build nodes of
        # it.
        raise EditRefused(
            "The properties are written in a form that cannot be edited.",
            hint="Edit them in the note's text.",
        ) from error
    if root is None or not isinstance(root, yaml.MappingNode):
        return ()
    if root.flow_style:
        raise EditRefused(
            "The properties are written inside one {…}.", hint="Write them as lines of 'key: value' first."
        )
    return tuple(_read_entries(text, properties.body_start + prepared.skipped, root, prepared))


def _read_entries(text: str, offset: int, root: MappingNode, prepared: Prepared) -> list[PropertyEntry]:
    entries: list[PropertyEntry] = []
    for key_node, node in root.value:
        key_start, key_end = key_node.start_mark.index + offset, key_node.end_mark.index + offset
        colon = key_end
        while text[colon] in " \t":
            colon += 1
        if text[colon] != ":" or start_of_line(text, key_start) != key_start - key_node.start_mark.column:
            raise EditRefused(f"The property {key_node.value!r} is written in a form that cannot be edited.")
        entries.append(
            _read_entry(
                text, offset, prepared.restore(str(key_node.value)), (key_start, key_end), colon + 1, node
            )
        )
    return entries


def _read_entry(
    text: str, offset: int, key: str, span: tuple[int, int], after_colon: int, node: Node
) -> PropertyEntry:
    import yaml

    start = node.start_mark.index + offset
    quote = ""
    items: tuple[Item, ...] = ()
    line_start = start_of_line(text, span[0])
    if start < after_colon:
        # The value is an alias, so the node is where its anchor is. The alias ends with its name.
        start = after_colon + len(text[after_colon:]) - len(text[after_colon:].lstrip(" \t"))
        end = start + len(text[start : end_of_line(text, start)].split(" ")[0])
        shape: Shape = "scalar"
    elif isinstance(node, yaml.ScalarNode):
        end = _find_content_end(text, offset, node)
        shape = "empty" if start == end else "block-scalar" if node.style in ("|", ">") else "scalar"
        quote = node.style if node.style in ("'", '"') and text[start : start + 1] == node.style else ""
    else:
        end = _find_content_end(text, offset, node)
        kind = "sequence" if isinstance(node, yaml.SequenceNode) else "mapping"
        shape = _SHAPES[kind, bool(getattr(node, "flow_style", False))]
        if isinstance(node, yaml.SequenceNode):
            items = tuple(_read_items(text, offset, node))
    return PropertyEntry(
        key=key,
        key_start=span[0],
        key_end=span[1],
        after_colon=after_colon,
        start=start,
        end=end,
        line_start=line_start,
        next_line=start_of_next_line(text, end),
        column=span[0] - line_start,
        shape=shape,
        quote=quote,
        items=items,
    )


def _find_content_end(text: str, offset: int, node: Node) -> int:
    """Return where a node's content ends. PyYAML puts the end of a block collection after the comments and
    blank lines that follow it, and the end of a block scalar after the blank lines."""
    import yaml

    end = int(node.end_mark.index) + offset
    if isinstance(node, yaml.ScalarNode):
        if node.style not in ("|", ">"):
            return end
        start = node.start_mark.index + offset
        header = text[start : end_of_line(text, start)].partition("#")[0]
        stop = end if "+" in header else start + len(text[start:end].rstrip())
        return stop - _line_end_length(text, stop)
    if getattr(node, "flow_style", False) or not node.value:
        return end
    last = node.value[-1]
    child = last[1] if isinstance(node, yaml.MappingNode) else last
    if child.start_mark.index < node.start_mark.index:
        raise EditRefused("The property uses a YAML alias (*name).", hint="Edit it in the note's text.")
    return _find_content_end(text, offset, child)


def _line_end_length(text: str, at: int) -> int:
    if text[:at].endswith("\r\n"):
        return 2
    return 1 if at and text[at - 1] in "\r\n" else 0


def _read_items(text: str, offset: int, node: Node) -> list[Item]:
    items: list[Item] = []
    at = node.start_mark.index + offset
    for child in node.value:
        start = child.start_mark.index + offset
        if start < node.start_mark.index + offset:
            raise EditRefused("The property uses a YAML alias (*name).", hint="Edit it in the note's text.")
        end = _find_content_end(text, offset, child)
        if getattr(node, "flow_style", False):
            items.append(Item(start, end))
            continue
        dash = _find_dash(text, at)
        items.append(Item(start, end, start_of_line(text, dash), dash))
        at = start_of_next_line(text, end)
    return items


def _find_dash(text: str, at: int) -> int:
    """Return the offset of the next item's `-`, after comments and blank lines."""
    while at < len(text):
        end = end_of_line(text, at)
        bare = text[at:end].lstrip(" \t")
        if bare.startswith("-"):
            return end - len(bare)
        at = start_of_next_line(text, at)
    return at


VALUE_DEPTH: Final = 16
"""The deepest nesting of a value that we write: the app's own editor offers one level."""

_WORDS: Final = frozenset(("null", "true", "false"))
_OF_YAML_1_1: Final = ("=", "<<")
"""Plain strings in YAML 1.2. A reader of YAML 1.1 fails on them and loses all properties of the note, so they
are quoted."""
_SURELY_PLAIN: Final = re.compile(r"[^\W\d_][\w-]*(?:[ /][\w-]+)*", re.ASCII)
_NEVER_PLAIN: Final = re.compile(
    r"^-|^[\s\-?:,\[\]{}#&*!|>'\"%@`]|\s$|[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
)
_NEVER_SINGLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_ESCAPED: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def check_value(value: Any, *, depth: int = 0) -> Any:
    """Return the value as it will be read again: tuples become lists, integers of more than 64 bits floats.
    Raises InvalidArgument if no property can have it."""
    if depth > VALUE_DEPTH:
        raise InvalidArgument(f"The value is nested deeper than {VALUE_DEPTH} levels.", argument="value")
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, int):
        return fit_integer(value)
    if isinstance(value, list | tuple):
        return [check_value(item, depth=depth + 1) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: check_value(item, depth=depth + 1) for key, item in value.items()}
    raise InvalidArgument(
        f"A property cannot hold a {type(value).__name__}.",
        argument="value",
        hint="Use text, numbers, true or false, null, lists and maps of those.",
    )


def write_flow(value: Any, *, inside: bool = True) -> str:
    """Write the value on one line. `inside` is true within `[ ]` or `{ }`, where commas and brackets end a
    plain string."""
    match value:
        case str():
            return write_string(value, inside=inside)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _write_float(value)
        case list():
            return f"[{', '.join(map(write_flow, value))}]"
        case _:
            pairs = (f"{write_string(key)}: {write_flow(item)}" for key, item in value.items())
            return f"{{{', '.join(pairs)}}}"


def write_string(text: str, *, inside: bool = True, quote: str = "") -> str:
    """Write the string, quoted if necessary. `quote` is the preferred kind of quotes, used if they can
    express the string."""
    if not quote and _reads_plain(text, inside=inside):
        return text
    single = "'" not in text and not _NEVER_SINGLE.search(text)
    if quote == "'":
        single = not _NEVER_SINGLE.search(text)
    elif quote == '"' or not ('"' in text or "\\" in text):
        single = False
    if single:
        return "'" + text.replace("'", "''") + "'"
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(text, ensure_ascii=False))


def write_key(name: str) -> str:
    """Write a key, without its colon. One that looks like a number or null is quoted: the app would read
    `0x1F` as 31 and `null` as no name at all."""
    if name and not isinstance(resolve_plain(name), str):
        return write_string(name, quote='"')
    if _SURELY_PLAIN.fullmatch(name):
        return name
    plain = not _NEVER_PLAIN.search(name) and name not in _OF_YAML_1_1
    if plain and parse_yaml(f"{name}: x").value == {name: "x"}:
        return name
    return write_string(name, quote='"')


def write_block(value: Any, indent: str) -> list[str]:
    """Write a list or map below its key: the lines without their ends. Deeper values are written on one
    line."""
    if isinstance(value, list):
        return [f"{indent}- {write_flow(item, inside=False)}" for item in value]
    return [f"{indent}{write_key(key)}: {write_flow(item, inside=False)}" for key, item in value.items()]


def _reads_plain(text: str, *, inside: bool) -> bool:
    if _SURELY_PLAIN.fullmatch(text):
        return text.lower() not in _WORDS
    if not text or _NEVER_PLAIN.search(text) or text in _OF_YAML_1_1:
        return False
    written = f"[{text}]" if inside else f"- {text}"
    return bool(parse_yaml(written).value == [text])


def _write_float(value: float) -> str:
    if value != value:
        return ".nan"
    if value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    return repr(value)
