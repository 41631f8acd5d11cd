"""Turns edits of a canvas into changes of its text, and finds a place for new cards.

Only the entries that an edit names are touched: unknown keys, the order of entries and the layout of the file
do not change. New entries are written as the app writes them, one per line and without blanks. A new card
without a position gets a free place on the app's grid. All functions raise EditRefused for a file that is not
a canvas and InvalidArgument for an id that does not exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from vaultbridge.canvas.parse import Canvas, Card, Edge, GroupCard, Rectangle, TextCard, read_canvas
from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.json_text import (
    FieldValue,
    JsonArray,
    JsonObject,
    delete_entries,
    encode_json,
    update_members,
)
from vaultbridge.markdown.edits.change import Change
from vaultbridge.markdown.edits.tags import rename_tag
from vaultbridge.markdown.embedded import decode_embedded
from vaultbridge.markdown.parse import parse

GRID: Final = 20
"""The app snaps cards to multiples of this."""

GAP: Final = 40
"""The space between a new card and its neighbours: two steps of the grid, so that arrows have room."""

TEXT_SIZE: Final = (260, 60)
FILE_SIZE: Final = (400, 400)
LINK_SIZE: Final = (400, 300)
GROUP_SIZE: Final = (600, 400)

MAX_TEXT_HEIGHT: Final = 600
"""The card of a longer text scrolls."""

_CHARS_PER_LINE: Final = 30
_LINE_HEIGHT: Final = 24


def estimate_text_size(text: str) -> tuple[int, int]:
    """Return a size for a text card in which about all of the text is visible."""
    width = 400 if len(text) > 200 else TEXT_SIZE[0]
    per_line = _CHARS_PER_LINE * width // TEXT_SIZE[0]
    lines = sum(max(1, math.ceil(len(line) / per_line)) for line in text.splitlines() or [""])
    height = math.ceil((lines * _LINE_HEIGHT + 36) / GRID) * GRID
    return width, max(TEXT_SIZE[1], min(MAX_TEXT_HEIGHT, height))


COMPARED_BOXES: Final = 1_000_000
"""How many pairs of boxes are compared to find a place, about a second of work. If a group is fuller than
that, the card goes below the others."""


def find_free_place(
    width: float, height: float, taken: Iterable[Rectangle], near: Rectangle | None = None
) -> Rectangle:
    """Return a box of that size that overlaps none of `taken`: to the right of `near` (or of the last box) if
    that is free, else below it, else below everything."""
    boxes = list(taken)
    if not boxes:
        return Rectangle(0, 0, width, height)
    anchor = near or boxes[-1]
    beside = Rectangle(_snap(anchor.right + GAP), anchor.y, width, height)
    under = Rectangle(anchor.x, _snap(anchor.bottom + GAP), width, height)
    for candidate in (beside, under):
        if not any(_crowds(candidate, box) for box in boxes):
            return candidate
    lowest = max(box.bottom for box in boxes)
    return Rectangle(anchor.x, _snap(lowest + GAP), width, height)


def find_place_in(group: Rectangle, width: float, height: float, taken: Iterable[Rectangle]) -> Rectangle:
    """Return a free place inside `group`, row by row; if there is none, a place below its other cards, which
    may extend beyond the group: the caller then enlarges it."""
    inside = [box for box in taken if _overlaps(group, box)]
    y = _snap(group.y + GRID)
    edges = sorted({_snap(box.bottom + GRID) for box in inside} | {y})
    columns = sorted({_snap(box.right + GRID) for box in inside} | {_snap(group.x + GRID)})
    fitting = [left for left in columns if left + width <= group.right]
    compared = 0
    for top in edges:
        row = [box for box in inside if box.y < top + height and top < box.bottom]
        compared += len(inside) + len(fitting) * len(row)
        if compared > COMPARED_BOXES:
            break
        for left in fitting:
            candidate = Rectangle(left, top, width, height)
            if not any(_overlaps(candidate, box) for box in row):
                return candidate
    return Rectangle(columns[0], edges[-1], width, height)


def surrounding_box(boxes: Iterable[Rectangle]) -> Rectangle:
    """Return the box of a group that contains all of `boxes`, with room for its label."""
    held = list(boxes)
    left, top = min(box.x for box in held) - GRID, min(box.y for box in held) - GRID
    right, bottom = max(box.right for box in held) + GRID, max(box.bottom for box in held) + GRID
    return Rectangle(left, top, right - left, bottom - top)


def facing_sides(begin: Rectangle, end: Rectangle) -> tuple[str, str]:
    """Return the sides where an edge between two cards starts and ends: those that face each other."""
    across = (end.x + end.right) / 2 - (begin.x + begin.right) / 2
    down = (end.y + end.bottom) / 2 - (begin.y + begin.bottom) / 2
    if abs(across) >= abs(down):
        return ("right", "left") if across >= 0 else ("left", "right")
    return ("bottom", "top") if down >= 0 else ("top", "bottom")


def _snap(value: float) -> int:
    return math.ceil(value / GRID) * GRID


def _overlaps(a: Rectangle, b: Rectangle) -> bool:
    return a.x < b.right and b.x < a.right and a.y < b.bottom and b.y < a.bottom


def _crowds(a: Rectangle, b: Rectangle) -> bool:
    """Return whether two boxes overlap or are closer than a step of the grid."""
    return _overlaps(Rectangle(a.x - GRID, a.y - GRID, a.width + 2 * GRID, a.height + 2 * GRID), b)


ID_BYTES: Final = 8
"""The app's ids are 16 hexadecimal digits."""

NUMBER_KEYS: Final = frozenset({"x", "y", "width", "height"})
CARD_KEYS: Final = NUMBER_KEYS | frozenset(
    {"text", "file", "subpath", "url", "label", "background", "backgroundStyle", "color"}
)
REQUIRED_KEYS: Final = NUMBER_KEYS | frozenset({"text", "file", "url", "fromNode", "toNode"})
EDGE_KEYS: Final = frozenset(
    {"fromNode", "toNode", "fromSide", "toSide", "fromEnd", "toEnd", "color", "label"}
)
SIDES: Final = frozenset({"top", "right", "bottom", "left"})
ENDS: Final = frozenset({"none", "arrow"})

RandomBytes: TypeAlias = Callable[[int], bytes]


class NewText(Struct, frozen=True):
    text: str


class NewFile(Struct, frozen=True):
    """`subpath` starts with `#` or is empty."""

    file: str
    subpath: str = ""


class NewLink(Struct, frozen=True):
    url: str


class NewGroup(Struct, frozen=True):
    """`around` are the ids of the cards that the group should contain; they determine its position."""

    label: str
    around: tuple[str, ...] = ()


NewCard: TypeAlias = NewText | NewFile | NewLink | NewGroup


class Placement(Struct, frozen=True):
    """Where a card should go; what is not given is chosen. `near` is the id of a card to be placed next to,
    `group` that of a group to be placed in."""

    x: int | None = None
    y: int | None = None
    width: int | None = None
    height: int | None = None
    near: str = ""
    group: str = ""


class CanvasEdit(Struct, frozen=True):
    """`id` is that of the card or edge added, updated or removed."""

    id: str
    changes: tuple[Change, ...]


def add_card(
    text: str,
    card: NewCard,
    *,
    random_bytes: RandomBytes,
    placement: Placement = Placement(),  # noqa: B008 - frozen
    color: str = "",
) -> CanvasEdit:
    """Add a card. A group goes before all other cards, so that it is drawn below them."""
    canvas = _read_editable(text)
    identity = _make_id(canvas, random_bytes)
    box, grown = _choose_place(canvas, card, placement)
    entry: dict[str, object] = {"id": identity, **_make_content(card)}
    entry.update(x=_whole(box.x), y=_whole(box.y), width=_whole(box.width), height=_whole(box.height))
    if color:
        entry["color"] = color
    added = _insert(text, canvas, "nodes", entry, first=isinstance(card, NewGroup))
    return CanvasEdit(identity, (*grown, added))


def connect(
    text: str,
    from_id: str,
    to_id: str,
    *,
    random_bytes: RandomBytes,
    label: str = "",
    color: str = "",
) -> CanvasEdit:
    """Connect two cards with an arrow between the sides that face each other."""
    canvas = _read_editable(text)
    begin, end = _find_card(canvas, from_id), _find_card(canvas, to_id)
    from_side, to_side = facing_sides(begin.box, end.box)
    entry = {
        "id": _make_id(canvas, random_bytes),
        "fromNode": from_id,
        "fromSide": from_side,
        "toNode": to_id,
        "toSide": to_side,
    }
    optional = {"color": color, "label": label}
    entry.update({key: value for key, value in optional.items() if value})
    _check_edge_fields(entry)
    return CanvasEdit(entry["id"], (_insert(text, canvas, "edges", dict(entry), first=False),))


def update_card(text: str, card_id: str, fields: Mapping[str, FieldValue]) -> CanvasEdit:
    """Set keys of a card; None removes one."""
    canvas = _read_editable(text)
    _check_keys(fields, CARD_KEYS, "card")
    return CanvasEdit(card_id, update_members(_find_card(canvas, card_id).json, fields))


def update_edge(text: str, edge_id: str, fields: Mapping[str, FieldValue]) -> CanvasEdit:
    """Set keys of an edge; None removes one."""
    canvas = _read_editable(text)
    _check_keys(fields, EDGE_KEYS, "edge")
    _check_edge_fields(fields)
    for key in ("fromNode", "toNode"):
        if key in fields:
            _find_card(canvas, str(fields[key]))
    return CanvasEdit(edge_id, update_members(_find_edge(canvas, edge_id).json, fields))


def remove_card(text: str, card_id: str) -> CanvasEdit:
    """Remove a card and its edges; the cards in a removed group stay."""
    canvas = _read_editable(text)
    card = _find_card(canvas, card_id)
    edges = [edge.json for edge in canvas.edges if card_id in (edge.from_node, edge.to_node)]
    changes = _delete(canvas, "nodes", [card.json]) + _delete(canvas, "edges", edges)
    return CanvasEdit(card_id, changes)


def remove_edge(text: str, edge_id: str) -> CanvasEdit:
    canvas = _read_editable(text)
    return CanvasEdit(edge_id, _delete(canvas, "edges", [_find_edge(canvas, edge_id).json]))


def _read_editable(text: str) -> Canvas:
    canvas = read_canvas(text)
    if not canvas.readable:
        raise EditRefused(canvas.problems[0].message, hint="Repair the file before editing it.")
    for key in ("nodes", "edges"):
        array = canvas.root.get(key) if canvas.root else None
        if array is not None and not isinstance(array, JsonArray):
            raise EditRefused(f"The {key} of the canvas are not an array.")
    return canvas


def _find_card(canvas: Canvas, identity: str) -> Card:
    for card in canvas.cards:
        if card.id == identity:
            return card
    raise _unknown_id_error("card", identity, [card.id for card in canvas.cards])


def _find_edge(canvas: Canvas, identity: str) -> Edge:
    for edge in canvas.edges:
        if edge.id == identity:
            return edge
    raise _unknown_id_error("edge", identity, [edge.id for edge in canvas.edges])


def _unknown_id_error(what: str, identity: str, known: list[str]) -> InvalidArgument:
    shown = ", ".join(known[:10]) + (", …" if len(known) > 10 else "")
    hint = f"It has: {shown}." if known else f"It has no {what}s."
    return InvalidArgument(f"The canvas has no {what} with the id {identity!r}.", argument="id", hint=hint)


def _check_keys(fields: Mapping[str, FieldValue], known: Collection[str], what: str) -> None:
    for key, value in fields.items():
        wanted = "a number" if key in NUMBER_KEYS else "a string"
        fits = isinstance(value, int | float) if key in NUMBER_KEYS else isinstance(value, str)
        if value is not None and (not fits or isinstance(value, bool)):
            raise InvalidArgument(f"{key} should be {wanted}, got {value!r}.", argument=key)
        if value is None and key in REQUIRED_KEYS:
            raise InvalidArgument(f"A canvas {what} must have {key}.", argument=key)
        if key not in known:
            raise InvalidArgument(
                f"A canvas {what} has no key {key!r}.",
                argument=key,
                hint=f"Its keys are: {', '.join(sorted(known))}.",
            )


def _check_edge_fields(fields: Mapping[str, FieldValue]) -> None:
    for keys, allowed in ((("fromSide", "toSide"), SIDES), (("fromEnd", "toEnd"), ENDS)):
        for key in keys:
            value = fields.get(key)
            if value is not None and value not in allowed:
                raise InvalidArgument(
                    f"{key} cannot be {value!r}.",
                    argument=key,
                    hint=f"Give one of {', '.join(sorted(allowed))}.",
                )


def _make_id(canvas: Canvas, random_bytes: RandomBytes) -> str:
    taken = {card.id for card in canvas.cards} | {edge.id for edge in canvas.edges}
    for _ in range(8):  # one draw in 2^64 collides; eight in a row mean that the source is not random
        identity = random_bytes(ID_BYTES).hex()
        if identity not in taken:
            return identity
    raise EditRefused("No free id was found for the new entry.")


def _make_content(card: NewCard) -> dict[str, object]:
    match card:
        case NewText():
            return {"type": "text", "text": card.text}
        case NewFile():
            subpath = {"subpath": card.subpath} if card.subpath else {}
            return {"type": "file", "file": card.file, **subpath}
        case NewLink():
            return {"type": "link", "url": card.url}
        case NewGroup():
            return {"type": "group", "label": card.label}


def _default_size(card: NewCard) -> tuple[int, int]:
    match card:
        case NewText():
            return estimate_text_size(card.text)
        case NewFile():
            return FILE_SIZE
        case NewLink():
            return LINK_SIZE
        case NewGroup():
            return GROUP_SIZE


def _choose_place(canvas: Canvas, card: NewCard, wanted: Placement) -> tuple[Rectangle, tuple[Change, ...]]:
    """Return the card's box, and the changes that enlarge its group if necessary."""
    if isinstance(card, NewGroup) and card.around:
        box = surrounding_box(_find_card(canvas, identity).box for identity in card.around)
    else:
        width, height = _default_size(card)
        box = Rectangle(0, 0, wanted.width or width, wanted.height or height)
    if wanted.x is not None and wanted.y is not None:
        return Rectangle(wanted.x, wanted.y, box.width, box.height), ()
    if isinstance(card, NewGroup) and card.around:
        return box, ()
    if wanted.group:
        return _place_in_group(canvas, wanted.group, box)
    near = _find_card(canvas, wanted.near).box if wanted.near else None
    return find_free_place(box.width, box.height, (other.box for other in canvas.cards), near), ()


def _place_in_group(canvas: Canvas, identity: str, box: Rectangle) -> tuple[Rectangle, tuple[Change, ...]]:
    group = _find_card(canvas, identity)
    if not isinstance(group, GroupCard):
        raise InvalidArgument(f"The card {identity!r} is not a group.", argument="group")
    # The group itself, and groups that contain it, do not count as obstacles.
    others = [card.box for card in canvas.cards if card is not group and not card.box.contains(group.box)]
    placed = find_place_in(group.box, box.width, box.height, others)
    grown: dict[str, FieldValue] = {}
    if placed.bottom + GRID > group.box.bottom:
        grown["height"] = _whole(placed.bottom + GRID - group.box.y)
    if placed.right + GRID > group.box.right:
        grown["width"] = _whole(placed.right + GRID - group.box.x)
    return placed, update_members(group.json, grown)


def _whole(number: float) -> int | float:
    return int(number) if number == int(number) else number


def _insert(text: str, canvas: Canvas, key: str, entry: Mapping[str, object], *, first: bool) -> Change:
    """Return the change that adds `entry` to the array `key`, formatted like its other entries."""
    written = encode_json(entry)
    newline = "\r\n" if "\r\n" in text else "\n"
    if canvas.root is None:
        other = "edges" if key == "nodes" else "nodes"
        arrays = {key: f"[{newline}\t\t{written}{newline}\t]", other: "[]"}
        body = f",{newline}".join(f'\t"{name}":{arrays[name]}' for name in ("nodes", "edges"))
        return Change(0, len(text), f"{{{newline}{body}{newline}}}")
    array = canvas.root.get(key)
    if not isinstance(array, JsonArray):
        block = f'"{key}":[{newline}\t\t{written}{newline}\t]'
        at = canvas.root.members[-1].value.end if canvas.root.members else canvas.root.start + 1
        if canvas.root.members:
            return Change(at, at, f",{newline}\t{block}")
        return Change(at, canvas.root.end - 1, f"{newline}\t{block}{newline}")
    if not array.items:
        return Change(array.start + 1, array.end - 1, f"{newline}\t\t{written}{newline}\t")
    if first:
        head = array.items[0].start
        return Change(head, head, f"{written},{text[array.start + 1 : head]}")
    last = array.items[-1]
    before = array.items[-2].end if len(array.items) > 1 else array.start
    gap = text[before : last.start].lstrip("[,")
    return Change(last.end, last.end, f",{gap}{written}")


def _delete(canvas: Canvas, key: str, entries: Iterable[JsonObject]) -> tuple[Change, ...]:
    array = canvas.root.get(key) if canvas.root else None
    if not isinstance(array, JsonArray):
        return ()
    gone = {id(entry) for entry in entries}
    places = [place for place, item in enumerate(array.items) if id(item) in gone]
    return delete_entries([(item.start, item.end) for item in array.items], places, array)


def rename_canvas_tag(text: str, old: str, new: str) -> tuple[Change, ...]:
    """Rename a tag in every text card of a canvas."""
    changes: list[Change] = []
    for card in read_canvas(text).cards:
        token = card.json.get("text") if isinstance(card, TextCard) else None
        if token is not None:
            layer = decode_embedded(text, token.start + 1, token.end - 1, "json")
            changes += layer.to_outer(rename_tag(layer.text, parse(layer.text), old, new))
    return tuple(changes)
