"""Walks the links of a vault as a graph: the neighbourhood of a note, and the path between two notes.

It is independent of the index: a callable returns the neighbours of a note. Every walk is limited to a number
of notes, because in a vault with hubs everything is within three steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from msgspec import Struct

from vaultbridge.errors import InvalidArgument

Neighbours: TypeAlias = Callable[[str], Iterable[str]]

NEIGHBOURHOOD_DEPTH: Final = 10
"""The most steps from a note: by then all of a connected vault has been visited."""

NEIGHBOURHOOD_NOTES: Final = 500
"""The most notes in one neighbourhood unless the caller wants fewer: as many as a reader can use."""

PATH_NOTES: Final = 200_000
"""The most notes visited in search of a path: more than the largest vaults have, and it bounds memory."""


class Neighbourhood(Struct, frozen=True):
    """`distances` has every note found with its distance from the start, sorted by distance and then by path.
    `edges` are the pairs (from, to) among them, in the order of the walk. `truncated` is true if the limit
    cut the walk short."""

    start: str
    distances: dict[str, int]
    edges: tuple[tuple[str, str], ...]
    truncated: bool = False


class LinkPath(Struct, frozen=True):
    """The notes from start to goal, both included."""

    notes: tuple[str, ...]

    @property
    def steps(self) -> int:
        return len(self.notes) - 1


class NoPath(Struct, frozen=True):
    """There is no path; or, if `exhausted`, none was found within the limit."""

    exhausted: bool = False


def both_ways(outgoing: Neighbours, incoming: Neighbours) -> Neighbours:
    """Return undirected neighbours: what a note links to and what links to it."""

    def neighbours(path: str) -> Iterable[str]:
        return {**dict.fromkeys(outgoing(path)), **dict.fromkeys(incoming(path))}

    return neighbours


def neighbourhood(
    start: str, neighbours: Neighbours, depth: int, *, limit: int = NEIGHBOURHOOD_NOTES
) -> Neighbourhood:
    """Find every note at most `depth` steps from `start`, at most `limit` of them including the start."""
    if not 0 <= depth <= NEIGHBOURHOOD_DEPTH:
        raise InvalidArgument(
            f"The depth must be between 0 and {NEIGHBOURHOOD_DEPTH}, got {depth}.", argument="depth"
        )
    if limit < 1:
        raise InvalidArgument(f"The limit must be at least 1, got {limit}.", argument="limit")
    distances = {start: 0}
    edges: dict[tuple[str, str], None] = {}
    ring = [start]
    truncated = False
    for distance in range(1, depth + 1):
        reached: list[str] = []
        for path in ring:
            for other in sorted(set(neighbours(path))):
                if other == path:
                    continue
                if other not in distances:
                    if len(distances) >= limit:
                        truncated = True
                        continue
                    distances[other] = distance
                    reached.append(other)
                edges[(path, other)] = None
        ring = sorted(reached)
        if not ring:
            break
    ordered = dict(sorted(distances.items(), key=lambda item: (item[1], item[0])))
    return Neighbourhood(start, ordered, tuple(edges), truncated)


def shortest_path(
    start: str, goal: str, neighbours: Neighbours, *, limit: int = PATH_NOTES
) -> LinkPath | NoPath:
    """Find a shortest path from `start` to `goal`. `neighbours` must be undirected: if a note is among those
    of another, the other is among its own.

    Searches from both ends and always expands the smaller side, which visits far less of a vault than one
    search would. Of several shortest paths the same one is returned each time."""
    if start == goal:
        return LinkPath((start,))
    came: tuple[dict[str, str | None], dict[str, str | None]] = ({start: None}, {goal: None})
    rings = ([start], [goal])
    while rings[0] and rings[1]:
        side = 0 if len(rings[0]) <= len(rings[1]) else 1
        meeting, ring = _widen(rings[side], neighbours, came[side], came[1 - side])
        if meeting is not None:
            return LinkPath(_join_paths(meeting, *came))
        rings = (ring, rings[1]) if side == 0 else (rings[0], ring)
        if len(came[0]) + len(came[1]) > limit:
            return NoPath(exhausted=True)
    return NoPath()


def _widen(
    ring: list[str], step: Neighbours, came: dict[str, str | None], other: dict[str, str | None]
) -> tuple[str | None, list[str]]:
    """Take one more step on one side. All of the ring is one step farther, so any meeting point is on a
    shortest path."""
    reached: list[str] = []
    for path in ring:
        for neighbour in sorted(set(step(path))):
            if neighbour in came:
                continue
            came[neighbour] = path
            if neighbour in other:
                return neighbour, []
            reached.append(neighbour)
    return None, reached


def _join_paths(
    meeting: str, from_start: dict[str, str | None], from_goal: dict[str, str | None]
) -> tuple[str, ...]:
    way: list[str] = []
    at: str | None = meeting
    while at is not None:
        way.append(at)
        at = from_start[at]
    way.reverse()
    at = from_goal[meeting]
    while at is not None:
        way.append(at)
        at = from_goal[at]
    return tuple(way)
