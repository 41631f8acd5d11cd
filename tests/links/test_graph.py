"""Walks over a graph, compared with a plain breadth-first search."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import InvalidArgument
from vaultbridge.links.graph import (
    NEIGHBOURHOOD_DEPTH,
    LinkPath,
    NoPath,
    both_ways,
    neighbourhood,
    shortest_path,
)

NODES = "abcdefgh"
EDGES = st.sets(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)), max_size=20)


def list_outgoing(edges: set[tuple[str, str]], node: str) -> list[str]:
    return [b for a, b in edges if a == node]


def list_incoming(edges: set[tuple[str, str]], node: str) -> list[str]:
    return [a for a, b in edges if b == node]


def measure_distances(edges: set[tuple[str, str]], start: str) -> dict[str, int]:
    found = {start: 0}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for other in list_outgoing(edges, node):
            if other not in found:
                found[other] = found[node] + 1
                queue.append(other)
    return found


@given(EDGES, st.integers(0, 4))
def test_a_neighbourhood_has_exactly_the_notes_within_its_depth(
    edges: set[tuple[str, str]], depth: int
) -> None:
    around = neighbourhood("a", lambda node: list_outgoing(edges, node), depth)
    assert around.distances == {n: d for n, d in measure_distances(edges, "a").items() if d <= depth}
    assert not around.truncated
    assert set(around.edges) <= edges


@given(EDGES)
def test_a_path_is_as_short_as_a_plain_search_finds_it(edges: set[tuple[str, str]]) -> None:
    edges |= {(b, a) for a, b in edges}
    way = shortest_path("a", "h", lambda n: list_outgoing(edges, n))
    reach = measure_distances(edges, "a")
    if isinstance(way, LinkPath):
        assert way.steps == reach["h"]
        assert way.notes[0] == "a" and way.notes[-1] == "h"
        assert all(pair in edges for pair in zip(way.notes, way.notes[1:], strict=False))
    else:
        assert "h" not in reach


def test_both_ways_ignores_the_direction() -> None:
    edges = {("b", "a"), ("b", "c")}
    either = both_ways(lambda n: list_outgoing(edges, n), lambda n: list_incoming(edges, n))
    assert shortest_path("a", "c", either) == LinkPath(("a", "b", "c"))


def test_a_note_is_at_no_distance_from_itself() -> None:
    assert shortest_path("a", "a", lambda _: []) == LinkPath(("a",))


def test_a_limit_cuts_a_neighbourhood_short_and_says_so() -> None:
    around = neighbourhood("a", lambda _: NODES, 1, limit=3)
    assert list(around.distances) == ["a", "b", "c"] and around.truncated


def test_a_search_stops_at_its_limit() -> None:
    def list_next(node: str) -> list[str]:
        return [str(int(node) - 1), str(int(node) + 1)]

    assert shortest_path("0", "100", list_next, limit=10) == NoPath(exhausted=True)


def test_a_depth_out_of_bounds_is_refused() -> None:
    for depth in (-1, NEIGHBOURHOOD_DEPTH + 1):
        with pytest.raises(InvalidArgument, match="depth"):
            neighbourhood("a", lambda _: [], depth)
    with pytest.raises(InvalidArgument, match="limit"):
        neighbourhood("a", lambda _: [], 1, limit=0)
