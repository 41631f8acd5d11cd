"""Renders a canvas as a compact Markdown outline: groups with their cards, then the connections.

A card belongs to the smallest group that contains all of it. Cards come in reading order, from top to bottom
and left to right; each line shows the card's id, because edits refer to cards by id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vaultbridge.canvas.parse import Canvas, Card, Edge, FileCard, GroupCard, LinkCard, OtherCard, TextCard

MAX_GROUP_DEPTH: Final = 20
"""The deepest nesting of groups that is shown; deeper ones appear at this level."""

NO_GROUP: Final = -1

COMPARED_BOXES: Final = 4_000_000
"""How many pairs of a card and a group are compared, a few seconds of work. A larger canvas is shown without
the nesting of its groups."""

_NAME_CHARS: Final = 60
"""The length of a card's name in a connection: enough to recognize it, since its text is shown above."""


def render_outline(canvas: Canvas) -> str:
    lines = [f"{_count(canvas.cards, 'card')}, {_count(canvas.edges, 'connection')}", ""]
    for card, depth in _sort_for_reading(canvas):
        indent = "  " * min(depth, MAX_GROUP_DEPTH)
        first, *rest = _render_card(card).splitlines()
        lines.append(f"{indent}- {first}")
        lines.extend(f"{indent}  {line}".rstrip() for line in rest)
    if canvas.edges:
        names = {card.id: _name_card(card) for card in canvas.cards}
        lines.extend(["", "Connections:"])
        lines.extend(_render_connection(edge, names) for edge in canvas.edges)
    return "\n".join(lines).rstrip() + "\n"


def _count(entries: tuple[object, ...], name: str) -> str:
    return f"{len(entries)} {name}{'' if len(entries) == 1 else 's'}"


def _sort_for_reading(canvas: Canvas) -> Iterator[tuple[Card, int]]:
    """Yield each card with its depth; a group comes directly before its cards."""
    owners = _find_owners(canvas.cards)
    members: dict[int, list[int]] = {}
    for place in sorted(
        range(len(canvas.cards)), key=lambda n: (canvas.cards[n].box.y, canvas.cards[n].box.x)
    ):
        members.setdefault(owners[place], []).append(place)
    waiting = [(place, 0) for place in reversed(members.get(NO_GROUP, []))]
    while waiting:
        place, depth = waiting.pop()
        yield canvas.cards[place], depth
        waiting.extend((inner, depth + 1) for inner in reversed(members.get(place, [])))


def _find_owners(cards: tuple[Card, ...]) -> list[int]:
    """Return the index of each card's group among the cards, or NO_GROUP.

    Groups are tried from small to large, so the first that contains a card is its group. A group can only
    belong to one that comes later in that order, so that two equal groups never own each other."""
    groups = [place for place, card in enumerate(cards) if isinstance(card, GroupCard)]
    if len(groups) * len(cards) > COMPARED_BOXES:
        return [NO_GROUP] * len(cards)
    groups.sort(key=lambda place: cards[place].box.width * cards[place].box.height)
    rank = {place: order for order, place in enumerate(groups)}
    return [
        next(
            (group for group in groups[rank.get(place, -1) + 1 :] if cards[group].box.contains(card.box)),
            NO_GROUP,
        )
        for place, card in enumerate(cards)
    ]


def _render_card(card: Card) -> str:
    color = f" color {card.color}" if card.color else ""
    mark = f"`{card.id}`{color}"
    match card:
        case GroupCard():
            return f"{mark} group: {card.label or '(no label)'}"
        case TextCard():
            return f"{mark} text: {card.text}"
        case FileCard():
            return f"{mark} file: [[{card.file}{card.subpath}]]"
        case LinkCard():
            return f"{mark} link: {card.url}"
        case OtherCard():
            return f"{mark} {card.type}"


def _name_card(card: Card) -> str:
    match card:
        case GroupCard():
            name = card.label or "group"
        case TextCard():
            stripped = card.text.strip()
            name = stripped.splitlines()[0].lstrip("# ") if stripped else "(empty)"
        case FileCard():
            name = card.file.rpartition("/")[2].removesuffix(".md") + card.subpath
        case LinkCard():
            name = card.url
        case OtherCard():
            name = card.type
    return name if len(name) <= _NAME_CHARS else name[: _NAME_CHARS - 1] + "…"


def _render_connection(edge: Edge, names: dict[str, str]) -> str:
    ends = {"none none": "—", "none arrow": "→", "arrow none": "←", "arrow arrow": "↔"}
    arrow = ends.get(f"{edge.from_end} {edge.to_end}", "→")
    begin = names.get(edge.from_node, f"(no card {edge.from_node})")
    end = names.get(edge.to_node, f"(no card {edge.to_node})")
    label = f" : {edge.label}" if edge.label else ""
    return f"- `{edge.id}` {begin} {arrow} {end}{label}"
