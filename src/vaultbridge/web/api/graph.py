"""`/graph`: the notes of a vault, or those around one, and their links, as arrays for drawing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import msgspec
from aiohttp import ETag, web

from vaultbridge.index.link_map import LinkMap, read_link_map
from vaultbridge.web.api.routes import PageApi, PageCall
from vaultbridge.web.page import HEADERS

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.engine.queries import Queries


NODES: Final = 20_000
"""The most nodes in one answer: twice as many as must stay smooth in a browser. The best linked ones are
kept."""

EDGES: Final = 150_000
"""The most links in one answer."""

DEPTH: Final = 5
"""The most steps around a note: that reaches most of a vault."""

AROUND: Final = 2_000
"""The most nodes around a note, nearest first."""


class Drawing(msgspec.Struct, frozen=True):
    """Some nodes of a map, renumbered. `cut` says why not all are here."""

    chosen: list[int]
    root: int | None
    cut: str


class GraphRoutes:
    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Engine, dict[tuple[bool, bool], tuple[LinkMap, bytes]]]
        self._known = WeakKeyDictionary()
        """The last map of each vault and its whole drawing, while the index stays the same."""

    async def show(self, call: PageCall) -> web.Response:
        note, depth = call.text("note"), call.number("depth", 1, least=1, most=DEPTH)
        attachments, unresolved = call.flag("attachments"), call.flag("unresolved")

        def read(engine: Engine) -> bytes:
            path = engine.find(note) if note else ""
            map_, whole = self._read(engine, attachments=attachments, unresolved=unresolved)
            return msgspec.json.encode(render(map_, draw_around(map_, path, depth))) if path else whole

        body = await call.on_vault(read)
        tag = hashlib.blake2b(body, digest_size=12).hexdigest()
        tags = call.request.if_none_match or ()
        if any(candidate.value in (tag, "*") for candidate in tags):
            response = web.Response(status=304, headers=HEADERS)
        else:
            response = web.Response(body=body, content_type="application/json", headers=HEADERS)
        response.etag = ETag(tag)
        return response

    def _read(self, engine: Engine, *, attachments: bool, unresolved: bool) -> tuple[LinkMap, bytes]:
        kept = self._known.setdefault(engine, {})
        known = kept.get((attachments, unresolved))
        earlier = None if known is None else known[0]
        map_ = read_links(engine.queries, earlier, attachments=attachments, unresolved=unresolved)
        if known is not None and map_ is known[0]:
            return known
        drawn = kept[attachments, unresolved] = map_, msgspec.json.encode(render(map_, draw_all(map_)))
        return drawn


def draw_all(map_: LinkMap) -> Drawing:
    """All nodes, or the best linked ones."""
    total = len(map_.paths)
    if total <= NODES:
        return Drawing(list(range(total)), None, "")
    degrees = count_degrees(total, map_.edges)
    best = sorted(range(total), key=lambda node: (-degrees[node], node))[:NODES]
    why = f"The {NODES:,} best linked of {total:,} are shown: a browser draws no more at once."
    return Drawing(sorted(best), None, why)


def draw_around(map_: LinkMap, path: str, depth: int) -> Drawing:
    """What is at most `depth` links away from a note, in either direction."""
    try:
        root = map_.paths.index(path)
    except ValueError:
        # An attachment that is not a node here, or a note that the index does not have yet.
        return Drawing([], None, f"{path} is not in the graph.")
    neighbours: dict[int, list[int]] = {}
    for node, neighbour in map_.edges:
        neighbours.setdefault(node, []).append(neighbour)
        neighbours.setdefault(neighbour, []).append(node)
    reached = {root: None}
    ring = [root]
    for _ in range(depth):
        ring = list(
            dict.fromkeys(
                neighbour
                for node in ring
                for neighbour in neighbours.get(node, ())
                if neighbour not in reached
            )
        )
        room = AROUND - len(reached)
        reached.update(dict.fromkeys(ring[:room]))
        if len(ring) > room:
            return Drawing(list(reached), 0, f"The nearest {AROUND:,} are shown: choose a smaller depth.")
    return Drawing(list(reached), 0, "")


def render(map_: LinkMap, drawing: Drawing) -> dict[str, Any]:
    edges: Sequence[tuple[int, int]] = map_.edges
    if len(drawing.chosen) < len(map_.paths):
        positions = {node: position for position, node in enumerate(drawing.chosen)}
        edges = [(positions[a], positions[b]) for a, b in map_.edges if a in positions and b in positions]
    cut = drawing.cut
    if len(edges) > EDGES:
        cut = cut or f"{EDGES:,} of {len(edges):,} links are shown: a browser draws no more at once."
    paths = [map_.paths[node] for node in drawing.chosen]
    folders: dict[str, int] = {}
    used: dict[int, int] = {}
    # A node keeps the degree that it has in the vault, whatever part of it is shown.
    degrees = count_degrees(len(map_.paths), map_.edges)
    return {
        "complete": map_.complete,
        "nodes": {
            "path": paths,
            "kind": [map_.kinds[node] for node in drawing.chosen],
            "folder": [folders.setdefault(path.rpartition("/")[0], len(folders)) for path in paths],
            "tags": [[used.setdefault(tag, len(used)) for tag in map_.tags[node]] for node in drawing.chosen],
            "degree": [degrees[node] for node in drawing.chosen],
        },
        "folders": list(folders),
        "tags": [f"#{map_.tag_names[tag]}" for tag in used],
        "edges": list(chain.from_iterable(edges[:EDGES])),
        "root": drawing.root,
        "totalNodes": len(map_.paths),
        "totalEdges": len(map_.edges),
        "cut": cut,
    }


def count_degrees(nodes: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    degrees = [0] * nodes
    for source, target in edges:
        degrees[source] += 1
        degrees[target] += 1
    return degrees


def add_graph_routes(api: PageApi) -> None:
    api.get("/graph", GraphRoutes().show)


def read_links(
    queries: Queries, known: LinkMap | None, *, attachments: bool = False, unresolved: bool = False
) -> LinkMap:
    """All notes and their links. `known`, an earlier result with the same arguments, is returned as long as
    the index stays the same."""
    index = queries.index()
    status = index.status()
    now = (status.generation, status.complete)
    if known is not None and now == (known.generation, known.complete):
        return known
    return read_link_map(index, attachments=attachments, unresolved=unresolved)
