"""Finds notes that share neighbours: what two notes both link to, or what links to both. A neighbour with few
links tells more than a hub."""

from __future__ import annotations

from math import log
from typing import Final

from msgspec import Struct

from vaultbridge.links.graph import Neighbours

NEIGHBOURS: Final = 60
"""How many neighbours of a note are followed: a map of content has hundreds, and tells less with each."""

HUB_LINKS: Final = 300
"""A neighbour with more links than this connects everything with everything."""


class SharedNeighbours(Struct, frozen=True):
    """`score` grows with the number of shared neighbours and falls with their links, from 0 to 1."""

    score: float
    notes: tuple[str, ...]


def find_by_neighbours(path: str, around: Neighbours) -> dict[str, SharedNeighbours]:
    """Return the notes two steps away, with the notes between. `around` gives what a note is linked with,
    either way."""
    near = list(around(path))[:NEIGHBOURS]
    known = {path, *near}
    parts: dict[str, list[tuple[float, str]]] = {}
    for between in near:
        others = list(around(between))
        if len(others) > HUB_LINKS:
            continue
        weight = 1 / log(1 + len(others)) if len(others) > 1 else 0.0
        for other in others:
            if other not in known:
                parts.setdefault(other, []).append((weight, between))
    found = {}
    for other, shared in parts.items():
        total = sum(weight for weight, _ in shared)
        names = tuple(name for _, name in sorted(shared, key=lambda one: (-one[0], one[1])))
        found[other] = SharedNeighbours(total / (total + 1.5), names)
    return found
