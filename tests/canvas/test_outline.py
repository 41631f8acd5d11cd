from __future__ import annotations

import json

from vaultbridge.canvas.outline import render_outline
from vaultbridge.canvas.parse import read_canvas


def make_card(identity: str, kind: str, box: tuple[int, int, int, int], **more: str) -> dict[str, object]:
    x, y, width, height = box
    return {"id": identity, "type": kind, "x": x, "y": y, "width": width, "height": height, **more}


def outline_canvas(nodes: list[dict[str, object]], edges: list[dict[str, object]] | None = None) -> str:
    return render_outline(read_canvas(json.dumps({"nodes": nodes, "edges": edges or []})))


NODES = [
    make_card("t1", "text", (20, 20, 100, 50), text="# First\nsecond line\n\nlast"),
    make_card("g1", "group", (0, 0, 500, 500), label="Outer", color="1"),
    make_card("g2", "group", (200, 200, 200, 200), label="Inner"),
    make_card("f1", "file", (220, 220, 50, 50), file="Notes/A.md", subpath="#H"),
    make_card("l1", "link", (600, 0, 50, 50), url="https://example.org/"),
    make_card("t2", "text", (-50, 0, 100, 50), text="half outside"),
    make_card("s1", "shape", (600, 100, 5, 5)),
    make_card("g3", "group", (600, 200, 50, 50)),
]
EDGES: list[dict[str, object]] = [
    {"id": "e1", "fromNode": "t1", "toNode": "f1", "label": "leads to"},
    {"id": "e2", "fromNode": "g1", "toNode": "l1", "toEnd": "none"},
    {"id": "e3", "fromNode": "l1", "toNode": "gone", "fromEnd": "arrow"},
    {"id": "e4", "fromNode": "s1", "toNode": "t2", "fromEnd": "arrow", "toEnd": "none"},
]


def test_groups_contain_their_cards_and_connections_follow() -> None:
    assert outline_canvas(NODES, EDGES).splitlines() == [
        "8 cards, 4 connections",
        "",
        "- `t2` text: half outside",
        "- `g1` color 1 group: Outer",
        "  - `t1` text: # First",
        "    second line",
        "",
        "    last",
        "  - `g2` group: Inner",
        "    - `f1` file: [[Notes/A.md#H]]",
        "- `l1` link: https://example.org/",
        "- `s1` shape",
        "- `g3` group: (no label)",
        "",
        "Connections:",
        "- `e1` First → A#H : leads to",
        "- `e2` Outer — https://example.org/",
        "- `e3` https://example.org/ ↔ (no card gone)",
        "- `e4` shape ← half outside",
    ]


def test_an_empty_card_and_an_empty_canvas_are_shown() -> None:
    assert (
        outline_canvas([make_card("a", "text", (0, 0, 1, 1), text="")])
        == "1 card, 0 connections\n\n- `a` text:\n"
    )
    assert outline_canvas([]) == "0 cards, 0 connections\n"


def test_equal_and_concentric_groups_are_each_shown_once() -> None:
    equal = [make_card(f"g{n}", "group", (0, 0, 9, 9), label=str(n)) for n in range(3)]
    assert outline_canvas(equal).count("group:") == 3
    same_id = [make_card("g", "group", (0, 0, 9, 9)), make_card("g", "group", (1, 1, 5, 5))]
    assert outline_canvas(same_id).count("group:") == 2
    deep = [make_card(f"g{n}", "group", (n, n, 5000 - 2 * n, 5000 - 2 * n)) for n in range(1200)]
    assert outline_canvas(deep).count("group:") == 1200


def test_too_many_groups_are_shown_without_nesting() -> None:
    """Looking for the group of each card would compare every card with every group."""
    nodes = [make_card(str(n), "group", (0, 0, 9000 - n, 9000 - n), label="g") for n in range(3000)]
    lines = outline_canvas(nodes).splitlines()
    assert lines[0] == "3000 cards, 0 connections"
    assert all(line.startswith("- `") for line in lines[2:])
