from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.canvas.edit import (
    GRID,
    MAX_TEXT_HEIGHT,
    TEXT_SIZE,
    estimate_text_size,
    facing_sides,
    find_free_place,
    find_place_in,
    surrounding_box,
)
from vaultbridge.canvas.parse import Rectangle

BOXES = st.builds(
    Rectangle, st.integers(-2000, 2000), st.integers(-2000, 2000), st.integers(1, 600), st.integers(1, 600)
)


def are_apart(a: Rectangle, b: Rectangle) -> bool:
    return a.right <= b.x or b.right <= a.x or a.bottom <= b.y or b.bottom <= a.y


@settings(deadline=None)
@given(st.lists(BOXES, max_size=12), st.one_of(st.none(), BOXES))
def test_a_free_box_overlaps_nothing(taken: list[Rectangle], near: Rectangle | None) -> None:
    box = find_free_place(250, 60, taken, near)
    assert all(are_apart(box, rectangle) for rectangle in taken)


def test_a_free_box_lies_to_the_right_of_its_neighbour_then_below() -> None:
    first = Rectangle(0, 0, 260, 60)
    assert find_free_place(100, 60, []) == Rectangle(0, 0, 100, 60)
    assert find_free_place(100, 60, [first]) == Rectangle(300, 0, 100, 60)
    assert find_free_place(100, 60, [Rectangle(300, 0, 100, 60)], first) == Rectangle(0, 100, 100, 60)
    assert find_free_place(
        100, 60, [first, Rectangle(300, 0, 100, 60), Rectangle(0, 100, 100, 60)], first
    ) == Rectangle(0, 200, 100, 60)


@settings(deadline=None)
@given(st.lists(BOXES, max_size=8), BOXES)
def test_a_place_in_a_group_overlaps_nothing(taken: list[Rectangle], group: Rectangle) -> None:
    box = find_place_in(group, 100, 60, taken)
    assert all(are_apart(box, rectangle) for rectangle in taken if not are_apart(group, rectangle))
    assert box.x >= group.x
    assert box.y >= group.y


def test_a_place_in_a_group_is_the_first_free_one() -> None:
    group = Rectangle(0, 0, 400, 300)
    assert find_place_in(group, 100, 60, []) == Rectangle(20, 20, 100, 60)
    assert find_place_in(group, 100, 60, [Rectangle(20, 20, 100, 60)]) == Rectangle(140, 20, 100, 60)
    assert find_place_in(group, 300, 60, [Rectangle(20, 20, 300, 60)]) == Rectangle(20, 100, 300, 60)


def test_a_group_too_full_to_search_gets_the_card_below_the_others() -> None:
    """Among so many boxes the search would compare a hundred million pairs before the gap."""
    group = Rectangle(0, 0, 100_000, 100_000)
    rows = [Rectangle(0, 7 * n, 99_990, 61) for n in range(10_000) if not 5000 < n < 5100]
    taken = rows + [Rectangle(0, 0, 20 * n, 10) for n in range(1, 1000)]
    assert find_place_in(group, 100, 60, taken) == Rectangle(20, 70_080, 100, 60)
    assert find_place_in(group, 100, 60, rows[:100] + rows[-100:]) == Rectangle(20, 760, 100, 60)


@settings(deadline=None)
@given(st.lists(BOXES, min_size=1, max_size=6))
def test_a_group_around_cards_contains_them(boxes: list[Rectangle]) -> None:
    outer = surrounding_box(boxes)
    assert all(outer.contains(box) for box in boxes)


def test_edges_join_the_sides_that_face_each_other() -> None:
    middle = Rectangle(0, 0, 100, 100)
    assert facing_sides(middle, Rectangle(300, 20, 100, 100)) == ("right", "left")
    assert facing_sides(middle, Rectangle(-300, 20, 100, 100)) == ("left", "right")
    assert facing_sides(middle, Rectangle(20, 300, 100, 100)) == ("bottom", "top")
    assert facing_sides(middle, Rectangle(20, -300, 100, 100)) == ("top", "bottom")


@settings(deadline=None)
@given(st.text(max_size=3_000))
def test_a_text_card_is_on_the_grid_and_within_bounds(text: str) -> None:
    width, height = estimate_text_size(text)
    assert width == (TEXT_SIZE[0] if len(text) <= 200 else 400)
    assert TEXT_SIZE[1] <= height <= MAX_TEXT_HEIGHT
    assert height % GRID == 0


def test_more_text_needs_more_room() -> None:
    assert (
        estimate_text_size("a")[1]
        < estimate_text_size("a\nb\nc\nd")[1]
        < estimate_text_size("word " * 200)[1]
    )
