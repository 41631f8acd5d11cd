"""Finds where each property is in the text of its block: key, colon, value, items.

Gives positions only; `markdown.frontmatter` reads the values. Offsets are those of the whole note. Only edits
need this, and only of a block that was read without a problem.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct

from vaultbridge.errors import EditRefused
from vaultbridge.markdown.edits.change import end_of_line, start_of_line, start_of_next_line
from vaultbridge.markdown.model import Properties
from vaultbridge.markdown.text import replace_surrogates

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
    root = yaml.compose(body, Loader=yaml.SafeLoader)
    if root is None or not isinstance(root, yaml.MappingNode):
        return ()
    if root.flow_style:
        raise EditRefused(
            "The properties are written inside one {…}.", hint="Write them as lines of 'key: value' first."
        )
    return tuple(_entries(text, properties.body_start, root))


def _entries(text: str, offset: int, root: MappingNode) -> list[PropertyEntry]:
    entries: list[PropertyEntry] = []
    for key_node, node in root.value:
        key_start, key_end = key_node.start_mark.index + offset, key_node.end_mark.index + offset
        colon = key_end
        while text[colon] in " \t":
            colon += 1
        if text[colon] != ":" or start_of_line(text, key_start) != key_start - key_node.start_mark.column:
            raise EditRefused(f"The property {key_node.value!r} is written in a form that cannot be edited.")
        entries.append(_entry(text, offset, str(key_node.value), (key_start, key_end), colon + 1, node))
    return entries


def _entry(
    text: str, offset: int, key: str, span: tuple[int, int], after_colon: int, node: Node
) -> PropertyEntry:
    import yaml

    start = node.start_mark.index + offset
    quote = ""
    items: tuple[Item, ...] = ()
    line_start = start_of_line(text, span[0])
    if start < after_colon:
        # An alias: the node is where its anchor is. The alias ends with its name.
        start = after_colon + len(text[after_colon:]) - len(text[after_colon:].lstrip(" \t"))
        end = start + len(text[start : end_of_line(text, start)].split(" ")[0])
        shape: Shape = "scalar"
    elif isinstance(node, yaml.ScalarNode):
        end = _content_end(text, offset, node)
        shape = "empty" if start == end else "block-scalar" if node.style in ("|", ">") else "scalar"
        quote = node.style if node.style in ("'", '"') and text[start : start + 1] == node.style else ""
    else:
        end = _content_end(text, offset, node)
        kind = "sequence" if isinstance(node, yaml.SequenceNode) else "mapping"
        shape = _SHAPES[kind, bool(getattr(node, "flow_style", False))]
        if isinstance(node, yaml.SequenceNode):
            items = tuple(_items(text, offset, node))
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


def _content_end(text: str, offset: int, node: Node) -> int:
    """Return where a node's content ends. PyYAML's end mark of a block collection is after the comments and
    blank lines that follow it, that of a block scalar after the blank lines."""
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
    return _content_end(text, offset, child)


def _line_end_length(text: str, at: int) -> int:
    if text[:at].endswith("\r\n"):
        return 2
    return 1 if at and text[at - 1] in "\r\n" else 0


def _items(text: str, offset: int, node: Node) -> list[Item]:
    items: list[Item] = []
    at = node.start_mark.index + offset
    for child in node.value:
        start = child.start_mark.index + offset
        if start < node.start_mark.index + offset:
            raise EditRefused("The property uses a YAML alias (*name).", hint="Edit it in the note's text.")
        end = _content_end(text, offset, child)
        if getattr(node, "flow_style", False):
            items.append(Item(start, end))
            continue
        dash = _dash(text, at)
        items.append(Item(start, end, start_of_line(text, dash), dash))
        at = start_of_next_line(text, end)
    return items


def _dash(text: str, at: int) -> int:
    """Return the offset of the next item's `-`, after comments and blank lines."""
    while at < len(text):
        end = end_of_line(text, at)
        bare = text[at:end].lstrip(" \t")
        if bare.startswith("-"):
            return end - len(bare)
        at = start_of_next_line(text, at)
    return at
