"""Where a new card goes when nobody says: a free place that overlaps nothing, on the app's grid."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from vaultbridge.note.canvas import Box

GRID: Final = 20
"""The app snaps cards to multiples of this."""

GAP: Final = 40
"""Between a new card and its neighbours: two steps of the grid, so that arrows have room."""

TEXT_SIZE: Final = (260, 60)
FILE_SIZE: Final = (400, 400)
LINK_SIZE: Final = (400, 300)
GROUP_SIZE: Final = (600, 400)

MAX_TEXT_HEIGHT: Final = 600
"""A longer text scrolls in its card."""

_CHARS_PER_LINE: Final = 30
_LINE_HEIGHT: Final = 24


def text_size(text: str) -> tuple[int, int]:
    """The size of a text card in which about all of the text can be seen."""
    width = 400 if len(text) > 200 else TEXT_SIZE[0]
    per_line = _CHARS_PER_LINE * width // TEXT_SIZE[0]
    lines = sum(max(1, math.ceil(len(line) / per_line)) for line in text.splitlines() or [""])
    height = math.ceil((lines * _LINE_HEIGHT + 36) / GRID) * GRID
    return width, max(TEXT_SIZE[1], min(MAX_TEXT_HEIGHT, height))


def free_box(width: float, height: float, taken: Iterable[Box], near: Box | None = None) -> Box:
    """A box of that size that overlaps none of `taken`: to the right of `near` (or of the last box) where
    that is free, else below it, else below everything."""
    boxes = list(taken)
    if not boxes:
        return Box(0, 0, width, height)
    anchor = near or boxes[-1]
    beside = Box(_snap(anchor.right + GAP), anchor.y, width, height)
    under = Box(anchor.x, _snap(anchor.bottom + GAP), width, height)
    for candidate in (beside, under):
        if not any(_crowds(candidate, box) for box in boxes):
            return candidate
    lowest = max(box.bottom for box in boxes)
    return Box(anchor.x, _snap(lowest + GAP), width, height)


def place_in(group: Box, width: float, height: float, taken: Iterable[Box]) -> Box:
    """A free place inside `group`, row by row; below its other cards when none is free, which may reach out
    of the group: the caller then makes it taller."""
    inside = [box for box in taken if _overlaps(group, box)]
    y = _snap(group.y + GRID)
    edges = sorted({_snap(box.bottom + GRID) for box in inside} | {y})
    columns = sorted({_snap(box.right + GRID) for box in inside} | {_snap(group.x + GRID)})
    for top in edges:
        for left in columns:
            candidate = Box(left, top, width, height)
            if left + width <= group.right and not any(_overlaps(candidate, box) for box in inside):
                return candidate
    return Box(columns[0], edges[-1], width, height)


def around(boxes: Iterable[Box]) -> Box:
    """The box of a group that holds all of `boxes`, with room for its label."""
    held = list(boxes)
    left, top = min(box.x for box in held) - GRID, min(box.y for box in held) - GRID
    right, bottom = max(box.right for box in held) + GRID, max(box.bottom for box in held) + GRID
    return Box(left, top, right - left, bottom - top)


def sides(begin: Box, end: Box) -> tuple[str, str]:
    """The sides that an edge between two cards leaves and enters by: those that face each other."""
    across = (end.x + end.right) / 2 - (begin.x + begin.right) / 2
    down = (end.y + end.bottom) / 2 - (begin.y + begin.bottom) / 2
    if abs(across) >= abs(down):
        return ("right", "left") if across >= 0 else ("left", "right")
    return ("bottom", "top") if down >= 0 else ("top", "bottom")


def _snap(value: float) -> int:
    return math.ceil(value / GRID) * GRID


def _overlaps(a: Box, b: Box) -> bool:
    return a.x < b.right and b.x < a.right and a.y < b.bottom and b.y < a.bottom


def _crowds(a: Box, b: Box) -> bool:
    """Overlap, or closer than a step of the grid."""
    return _overlaps(Box(a.x - GRID, a.y - GRID, a.width + 2 * GRID, a.height + 2 * GRID), b)
