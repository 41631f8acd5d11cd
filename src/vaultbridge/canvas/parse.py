"""Parses a canvas (JSON Canvas 1.0) into cards and edges, and into a `Note` with its links and tags.

Never raises: a file that is not a canvas gives an empty one with a problem, and an invalid card is left out
with a problem. `canvas.edit` edits the text, so it preserves what this module does not understand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from msgspec import Struct

from vaultbridge.json_text import (
    BadJson,
    JsonArray,
    JsonObject,
    JsonScalar,
    JsonValue,
    scan_json,
)
from vaultbridge.markdown.model import Link, Note, Problem, Tag
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.text import Positions

MAX_PROBLEMS: Final = 20
"""The most problems reported for one canvas: a file of another kind would give one per entry."""


FARTHEST: Final = 1e15
"""The largest coordinate of a card: as far as whole numbers are exact, and sums of them stay finite."""


class Rectangle(Struct, frozen=True, gc=False):
    """The position and size of a card; y grows downwards."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def contains(self, other: Rectangle) -> bool:
        return (
            self.x <= other.x
            and self.y <= other.y
            and other.right <= self.right
            and other.bottom <= self.bottom
        )


class TextCard(Struct, frozen=True, gc=False):
    """`json` is the card's object with its positions in the text; it includes the keys we do not know."""

    id: str
    box: Rectangle
    color: str
    json: JsonObject
    text: str


class FileCard(Struct, frozen=True, gc=False):
    id: str
    box: Rectangle
    color: str
    json: JsonObject
    file: str
    subpath: str


class LinkCard(Struct, frozen=True, gc=False):
    id: str
    box: Rectangle
    color: str
    json: JsonObject
    url: str


class GroupCard(Struct, frozen=True, gc=False):
    id: str
    box: Rectangle
    color: str
    json: JsonObject
    label: str
    background: str


class OtherCard(Struct, frozen=True, gc=False):
    """A card of a type that we do not know, such as a plugin's."""

    id: str
    box: Rectangle
    color: str
    json: JsonObject
    type: str


Card: TypeAlias = TextCard | FileCard | LinkCard | GroupCard | OtherCard


class Edge(Struct, frozen=True, gc=False):
    """A connection. `from_end` and `to_end` are "none" or "arrow"; sides may be empty."""

    id: str
    from_node: str
    to_node: str
    from_side: str
    to_side: str
    from_end: str
    to_end: str
    color: str
    label: str
    json: JsonObject


class Canvas(Struct, frozen=True):
    """Cards and edges in the order of the file, which is the order in which they are drawn. `root` is None if
    the text is empty or not a JSON object; `readable` is False in the latter case."""

    cards: tuple[Card, ...] = ()
    edges: tuple[Edge, ...] = ()
    problems: tuple[Problem, ...] = ()
    root: JsonObject | None = None
    readable: bool = True


def read_canvas(text: str) -> Canvas:
    """Parse the text of a canvas."""
    return _CanvasReader(text).canvas()


def parse_canvas(text: str) -> Note:
    """Parse a canvas as a note: the links of its cards, the tags of its text cards, and problems."""
    canvas = read_canvas(text)
    positions = Positions(text)
    links: list[Link] = []
    tags: list[Tag] = []
    for card in canvas.cards:
        if isinstance(card, FileCard):
            links.append(_file_link(card, "file", card.file, card.subpath, text, positions))
        elif isinstance(card, GroupCard) and card.background:
            links.append(_file_link(card, "background", card.background, "", text, positions))
        elif isinstance(card, TextCard):
            token = card.json.get("text")
            assert token is not None, "a text card has a text"
            line = positions.line_of(token.start)
            inner = parse(card.text)
            links.extend(_relocate_link(link, line, token, card.id) for link in inner.links)
            tags.extend(Tag(tag.name, line, token.start, token.end) for tag in inner.tags)
    return Note(links=tuple(links), tags=tuple(tags), problems=canvas.problems)


def card_target(file: str) -> str:
    """Return the file of a card as the target of a link. A card has a whole path, and in the app it shows
    nothing when no file is there, whatever other files have the name: as with a link that begins with `/`."""
    return file if file.startswith("/") else f"/{file}"


def _file_link(
    card: FileCard | GroupCard, key: str, file: str, subpath: str, text: str, positions: Positions
) -> Link:
    """Return the link to the file of a file card or of a group's background image."""
    token = card.json.get(key)
    assert token is not None, "what was read from it is there"
    return Link(
        raw=text[token.start : token.end],
        target=card_target(file),
        subpath=subpath,
        display=None,
        embed=True,  # the card shows the file
        kind="canvas",
        line=positions.line_of(token.start),
        start=token.start,
        end=token.end,
        card=card.id,
    )


def _relocate_link(link: Link, line: int, token: JsonValue, card: str) -> Link:
    """Return a link of a card's text with the span of the card's whole JSON string (see `Link`)."""
    return Link(
        raw=link.raw,
        target=link.target,
        subpath=link.subpath,
        display=link.display,
        embed=link.embed,
        kind=link.kind,
        line=line,
        start=token.start,
        end=token.end,
        markdown=link.markdown,
        property_name=link.property_name,
        card=card,
    )


class _CanvasReader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._positions = Positions(text)
        self._problems: list[Problem] = []

    def canvas(self) -> Canvas:
        if not self._text.strip():
            return Canvas()  # the app creates an empty file and reads it as an empty canvas
        try:
            root = scan_json(self._text)
        except BadJson as error:
            self._report(f"The canvas is not valid JSON: {error.reason}.", error.offset)
            return Canvas(problems=tuple(self._problems), readable=False)
        if not isinstance(root, JsonObject):
            self._report("The canvas should be a JSON object with nodes and edges.", root.start)
            return Canvas(problems=tuple(self._problems), readable=False)
        cards = tuple(card for entry in self._objects(root, "nodes") if (card := self._card(entry)))
        edges = tuple(edge for entry in self._objects(root, "edges") if (edge := self._edge(entry)))
        return Canvas(cards, edges, tuple(self._problems), root)

    def _report(self, message: str, offset: int) -> None:
        if len(self._problems) < MAX_PROBLEMS:
            line = self._positions.line_of(offset)
            self._problems.append(Problem("bad-canvas", message, line, offset, offset))

    def _objects(self, root: JsonObject, key: str) -> Iterator[JsonObject]:
        array = root.get(key)
        if array is None or (isinstance(array, JsonScalar) and array.value is None):
            return
        if not isinstance(array, JsonArray):
            self._report(f"{key} should be an array.", array.start)
            return
        for item in array.items:
            if isinstance(item, JsonObject):
                yield item
            else:
                self._report(f"An entry of {key} should be an object.", item.start)

    def _card(self, entry: JsonObject) -> Card | None:
        values = _get_values(entry)
        identity, kind, box = _get_text(values, "id"), _get_text(values, "type"), _read_box(values)
        if not identity or not kind or box is None:
            self._report("A card needs an id, a type, x, y, width and height.", entry.start)
            return None
        color = _get_text(values, "color")
        match kind:
            case "text" if isinstance(values.get("text"), str):
                return TextCard(identity, box, color, entry, _get_text(values, "text"))
            case "file" if _get_text(values, "file"):
                return FileCard(
                    identity, box, color, entry, _get_text(values, "file"), _get_text(values, "subpath")
                )
            case "link" if _get_text(values, "url"):
                return LinkCard(identity, box, color, entry, _get_text(values, "url"))
            case "group":
                return GroupCard(
                    identity, box, color, entry, _get_text(values, "label"), _get_text(values, "background")
                )
            case "text" | "file" | "link":
                wanted = {"link": "url"}.get(kind, kind)
                self._report(f"The {kind} card {identity} has no {wanted}.", entry.start)
                return None
            case _:
                return OtherCard(identity, box, color, entry, kind)

    def _edge(self, entry: JsonObject) -> Edge | None:
        values = _get_values(entry)
        identity, begin, end = (_get_text(values, key) for key in ("id", "fromNode", "toNode"))
        if not identity or not begin or not end:
            self._report("An edge needs an id, fromNode and toNode.", entry.start)
            return None
        return Edge(
            identity,
            begin,
            end,
            from_side=_get_text(values, "fromSide"),
            to_side=_get_text(values, "toSide"),
            from_end=_get_text(values, "fromEnd") or "none",
            to_end=_get_text(values, "toEnd") or "arrow",
            color=_get_text(values, "color"),
            label=_get_text(values, "label"),
            json=entry,
        )


def _get_values(entry: JsonObject) -> dict[str, object]:
    """Return the entry's strings, numbers and words by their keys; any other value is None."""
    return {
        member.key: member.value.value if isinstance(member.value, JsonScalar) else None
        for member in entry.members
    }


def _get_text(values: dict[str, object], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


def _read_box(values: dict[str, object]) -> Rectangle | None:
    numbers: list[float] = []
    for key in ("x", "y", "width", "height"):
        value = values.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= FARTHEST:
            return None
        numbers.append(value)
    return Rectangle(*numbers)
