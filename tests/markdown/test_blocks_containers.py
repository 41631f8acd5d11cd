"""Which containers a line stays in (CommonMark 5)."""

import pytest

from vaultbridge.markdown.blocks.markers import ITEM, QUOTE, Container, match_containers


def make_containers(*shape: int | str) -> list[Container]:
    return [Container(QUOTE, 0) if part == ">" else Container(ITEM, 0, int(part)) for part in shape]


@pytest.mark.parametrize(
    ("shape", "line", "matched", "rest"),
    [
        ((">",), "> a", 1, "a"),
        ((">",), ">a", 1, "a"),
        ((">",), "   > a", 1, "a"),
        ((">",), "    > a", 0, "    > a"),
        ((">",), "a", 0, "a"),
        ((">",), "", 0, ""),
        ((">", ">"), "> > a", 2, "a"),
        ((">", ">"), ">> a", 2, "a"),
        ((">", ">"), "> a", 1, "a"),
        ((2,), "  a", 1, "a"),
        ((2,), " a", 0, " a"),
        ((2,), "\ta", 1, "\ta"),
        ((4,), "\ta", 1, "a"),
        ((2,), "", 1, ""),
        ((2, 2), "    a", 2, "a"),
        ((2, 2), "   a", 1, " a"),
        ((">", 2), ">   a", 2, "a"),
        ((2, ">"), "  > a", 2, "a"),
        ((2, ">"), "", 1, ""),
    ],
)
def test_a_line_matches_containers_from_the_outside_in(
    shape: tuple[int | str, ...], line: str, matched: int, rest: str
) -> None:
    found, pos, _ = match_containers(make_containers(*shape), line, in_text=False)
    assert (found, line[pos:]) == (matched, rest)


def test_an_item_that_began_with_a_blank_line_ends_at_the_next() -> None:
    (item,) = make_containers(2)
    item.empty = True
    assert match_containers([item], "", in_text=False)[0] == 0
    assert match_containers([item], "  a", in_text=False)[0] == 1


def test_a_quote_mark_below_an_items_text_stays_in_the_item() -> None:
    assert match_containers(make_containers(3), "> a", in_text=True) == (1, 0, 0)
    assert match_containers(make_containers(3), "> a", in_text=False) == (0, 0, 0)
    assert match_containers(make_containers(2, ">"), "> a", in_text=True)[0] == 2
