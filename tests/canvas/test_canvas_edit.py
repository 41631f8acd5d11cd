from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.canvas.edit import (
    CanvasEdit,
    NewCard,
    NewFile,
    NewGroup,
    NewLink,
    NewText,
    Placement,
    add_card,
    connect,
    remove_card,
    remove_edge,
    update_card,
    update_edge,
)
from vaultbridge.canvas.parse import read_canvas
from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.markdown.edits.change import apply_changes

CANVAS = """{
\t"nodes":[
\t\t{"id":"a","type":"text","text":"one","x":0,"y":0,"width":260,"height":60,"plugin":{"k":1}},
\t\t{"id":"g","type":"group","x":400,"y":0,"width":400,"height":300,"label":"Box"},
\t\t{"id":"b","type":"file","file":"N/b.md","x":420,"y":20,"width":200,"height":100}
\t],
\t"edges":[
\t\t{"id":"e","fromNode":"a","fromSide":"right","toNode":"b","toSide":"left"}
\t],
\t"metadata":{"version":"1.0"}
}"""


def make_random_bytes() -> Callable[[int], bytes]:
    """A source of "random" bytes that a test can predict."""
    state = 0

    def draw(count: int) -> bytes:
        nonlocal state
        state += 1
        return state.to_bytes(count, "big")

    return draw


def apply_edit(text: str, edit: CanvasEdit) -> str:
    after = apply_changes(text, edit.changes)
    assert read_canvas(after).problems == ()
    return after


def read_nodes(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)["nodes"]
    return found


ONE = "0000000000000001"


def test_a_card_is_added_as_the_app_writes_it_and_nothing_else_changes() -> None:
    edit = add_card(CANVAS, NewText('a "new"\nline é'), random_bytes=make_random_bytes())
    assert edit.id == ONE
    anchor = '"width":200,"height":100}'
    added = (
        f',\n\t\t{{"id":"{ONE}","type":"text","text":"a \\"new\\"\\nline é",'
        '"x":420,"y":340,"width":260,"height":100}'
    )
    assert apply_edit(CANVAS, edit) == CANVAS.replace(anchor, anchor + added)


@pytest.mark.parametrize(
    ("card", "keys"),
    [
        (NewText("t"), {"type": "text", "text": "t"}),
        (NewFile("N/x.md", "#H"), {"type": "file", "file": "N/x.md", "subpath": "#H"}),
        (NewFile("N/x.md"), {"type": "file", "file": "N/x.md"}),
        (NewLink("https://example.org"), {"type": "link", "url": "https://example.org"}),
        (NewGroup("G"), {"type": "group", "label": "G"}),
    ],
)
def test_each_kind_of_card_can_be_added(card: NewCard, keys: dict[str, str]) -> None:
    edit = add_card(CANVAS, card, random_bytes=make_random_bytes(), color="3")
    (added,) = [node for node in read_nodes(apply_edit(CANVAS, edit)) if node["id"] == edit.id]
    assert {key: added[key] for key in added if key not in ("id", "x", "y", "width", "height")} == {
        **keys,
        "color": "3",
    }


def test_a_group_is_drawn_below_and_can_surround_cards() -> None:
    edit = add_card(CANVAS, NewGroup("All", around=("a", "b")), random_bytes=make_random_bytes())
    first = read_nodes(apply_edit(CANVAS, edit))[0]
    assert (first["id"], first["x"], first["y"], first["width"], first["height"]) == (ONE, -20, -20, 660, 160)


def test_a_given_position_and_size_are_used() -> None:
    place = Placement(x=-5, y=7, width=11, height=13)
    edit = add_card(CANVAS, NewText("t"), random_bytes=make_random_bytes(), placement=place)
    added = read_nodes(apply_edit(CANVAS, edit))[-1]
    assert (added["x"], added["y"], added["width"], added["height"]) == (-5, 7, 11, 13)


def test_a_card_is_put_beside_another() -> None:
    edit = add_card(CANVAS, NewText("t"), random_bytes=make_random_bytes(), placement=Placement(near="a"))
    added = read_nodes(apply_edit(CANVAS, edit))[-1]
    assert (added["x"], added["y"]) == (0, 100)  # the right is taken by the group


def test_a_card_is_put_into_a_group_which_grows_if_necessary() -> None:
    small = add_card(
        CANVAS, NewText("t"), random_bytes=make_random_bytes(), placement=Placement(group="g", width=100)
    )
    after = apply_edit(CANVAS, small)
    assert (read_nodes(after)[-1]["x"], read_nodes(after)[-1]["y"]) == (640, 20)
    assert read_nodes(after)[1] == read_nodes(CANVAS)[1]
    tall = add_card(CANVAS, NewFile("x.md"), random_bytes=make_random_bytes(), placement=Placement(group="g"))
    after = apply_edit(CANVAS, tall)
    canvas = read_canvas(after)
    assert canvas.cards[1].box.contains(canvas.cards[-1].box)
    assert read_nodes(after)[1]["label"] == "Box"


def test_a_card_can_only_be_put_into_a_group() -> None:
    with pytest.raises(InvalidArgument, match="'a' is not a group"):
        add_card(CANVAS, NewText("t"), random_bytes=make_random_bytes(), placement=Placement(group="a"))


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("", '{\n\t"nodes":[\n\t\tCARD\n\t],\n\t"edges":[]\n}'),
        (" \n", '{\n\t"nodes":[\n\t\tCARD\n\t],\n\t"edges":[]\n}'),
        ("{}", '{\n\t"nodes":[\n\t\tCARD\n\t]\n}'),
        ('{"edges":[]}', '{"edges":[],\n\t"nodes":[\n\t\tCARD\n\t]}'),
        (
            '{\r\n\t"nodes":[],\r\n\t"edges":[]\r\n}',
            '{\r\n\t"nodes":[\r\n\t\tCARD\r\n\t],\r\n\t"edges":[]\r\n}',
        ),
        (
            '{"nodes":[{"id":"x","type":"text","text":"","x":0,"y":0,"width":1,"height":1}]}',
            '{"nodes":[{"id":"x","type":"text","text":"","x":0,"y":0,"width":1,"height":1},CARD]}',
        ),
    ],
)
def test_the_layout_of_the_file_is_preserved(text: str, after: str) -> None:
    place = Placement(x=0, y=0)
    edit = add_card(text, NewText("t"), random_bytes=make_random_bytes(), placement=place)
    card = f'{{"id":"{ONE}","type":"text","text":"t","x":0,"y":0,"width":260,"height":60}}'
    assert apply_edit(text, edit) == after.replace("CARD", card)


def test_cards_are_connected_by_the_sides_that_face_each_other() -> None:
    edit = connect(CANVAS, "b", "a", random_bytes=make_random_bytes(), label="back")
    after = apply_edit(CANVAS, edit)
    assert after == CANVAS.replace(
        '"toSide":"left"}\n',
        '"toSide":"left"},\n\t\t{"id":"0000000000000001","fromNode":"b","fromSide":"left","toNode":"a",'
        '"toSide":"right","label":"back"}\n',
    )


def test_a_connection_takes_a_color() -> None:
    edit = connect(CANVAS, "a", "g", random_bytes=make_random_bytes(), color="5")
    assert read_canvas(apply_edit(CANVAS, edit)).edges[-1].color == "5"


def test_a_card_is_updated_in_place() -> None:
    edit = update_card(CANVAS, "a", {"text": "two", "color": "1", "x": 5})
    assert apply_edit(CANVAS, edit) == CANVAS.replace('"one","x":0', '"two","x":5').replace(
        '"plugin":{"k":1}', '"plugin":{"k":1},"color":"1"'
    )
    assert apply_edit(CANVAS, update_card(CANVAS, "g", {"label": None})) == CANVAS.replace(
        ',"label":"Box"', ""
    )


def test_an_edge_is_updated_in_place() -> None:
    edit = update_edge(CANVAS, "e", {"label": "so", "toNode": "g", "fromSide": None})
    edge = read_canvas(apply_edit(CANVAS, edit)).edges[0]
    assert (edge.label, edge.to_node, edge.from_side, edge.to_side) == ("so", "g", "", "left")


def test_removing_a_card_removes_its_edges() -> None:
    after = apply_edit(CANVAS, remove_card(CANVAS, "a"))
    assert [node["id"] for node in read_nodes(after)] == ["g", "b"]
    assert json.loads(after)["edges"] == []
    assert json.loads(after)["metadata"] == {"version": "1.0"}
    assert '\t"nodes":[\n\t\t{"id":"g"' in after


def test_an_edge_is_removed_alone() -> None:
    after = apply_edit(CANVAS, remove_edge(CANVAS, "e"))
    assert read_nodes(after) == read_nodes(CANVAS)
    assert '"edges":[]' in after


Edit = Callable[[], CanvasEdit]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda: connect(CANVAS, "a", "zz", random_bytes=make_random_bytes()),
            "no card with the id 'zz'. It has: a, g, b",
        ),
        (lambda: update_card(CANVAS, "zz", {}), "no card"),
        (lambda: remove_card(CANVAS, "zz"), "no card"),
        (lambda: remove_edge(CANVAS, "zz"), "no edge with the id 'zz'. It has: e"),
        (lambda: update_edge("{}", "zz", {}), "It has no edges"),
        (lambda: update_card(CANVAS, "a", {"id": "b"}), "no key 'id'"),
        (lambda: update_card(CANVAS, "a", {"x": "5"}), "x should be a number, got '5'"),
        (lambda: update_card(CANVAS, "a", {"text": 5}), "text should be a string, got 5"),
        (lambda: update_card(CANVAS, "a", {"text": None}), "must have text"),
        (lambda: update_edge(CANVAS, "e", {"toNode": "zz"}), "no card"),
        (lambda: update_edge(CANVAS, "e", {"toSide": "middle"}), "toSide cannot be 'middle'"),
        (lambda: update_edge(CANVAS, "e", {"toEnd": "dot"}), "toEnd cannot be 'dot'"),
        (
            lambda: add_card(CANVAS, NewGroup("x", around=("zz",)), random_bytes=make_random_bytes()),
            "no card",
        ),
    ],
)
def test_a_wrong_argument_is_named(edit: Edit, message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        edit()
    assert message in str(refused.value)


@pytest.mark.parametrize("text", ['{"nodes":[', "[]", '{"nodes":{}}', '{"edges":5}'])
def test_a_file_that_is_not_a_canvas_is_not_edited(text: str) -> None:
    with pytest.raises(EditRefused):
        add_card(text, NewText("t"), random_bytes=make_random_bytes())


def test_an_id_in_use_is_not_used_again() -> None:
    first = apply_changes("", add_card("", NewText("t"), random_bytes=make_random_bytes()).changes)
    assert add_card(first, NewText("u"), random_bytes=make_random_bytes()).id == "0000000000000002"
    with pytest.raises(EditRefused, match="free id"):
        add_card(first, NewText("u"), random_bytes=lambda count: bytes.fromhex(ONE))


ACTIONS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 99), st.integers(0, 99)), max_size=15)


@settings(deadline=None)
@given(ACTIONS)
def test_any_sequence_of_edits_leaves_a_valid_canvas_without_overlaps(
    actions: list[tuple[int, int, int]],
) -> None:
    text, draw = "", make_random_bytes()
    for action, first, second in actions:
        canvas = read_canvas(text)
        ids = [card.id for card in canvas.cards]
        if action <= 1 or not ids:
            edit = add_card(text, NewText("x" * second), random_bytes=draw)
        elif action == 2:
            edit = add_card(
                text, NewFile("f.md"), random_bytes=draw, placement=Placement(near=ids[first % len(ids)])
            )
        elif action == 3:
            edit = connect(text, ids[first % len(ids)], ids[second % len(ids)], random_bytes=draw)
        elif action == 4:
            edit = remove_card(text, ids[first % len(ids)])
        else:
            edit = update_card(text, ids[first % len(ids)], {"color": str(second)})
        text = apply_edit(text, edit)
    canvas = read_canvas(text)
    boxes = [card.box for card in canvas.cards]
    for place, box in enumerate(boxes):
        for other in boxes[place + 1 :]:
            assert (
                box.right <= other.x or other.right <= box.x or box.bottom <= other.y or other.bottom <= box.y
            )
    ids = [card.id for card in canvas.cards]
    assert all(edge.from_node in ids and edge.to_node in ids for edge in canvas.edges)


def test_a_card_farther_away_than_numbers_reach_does_not_stop_others() -> None:
    far = '{"id":"far","type":"text","text":"x","x":0,"y":1e308,"width":5,"height":1e308}'
    text = f'{{"nodes":[{far}],"edges":[]}}'
    after = apply_changes(text, add_card(text, NewText("near"), random_bytes=make_random_bytes()).changes)
    assert far in after
    assert [(node["x"], node["y"]) for node in json.loads(after)["nodes"][1:]] == [(0, 0)]
