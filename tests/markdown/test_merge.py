"""Hunks, some of them applied, and three texts merged: `markdown/edits/merge.py`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.markdown.edits.change import split_keeping_ends
from vaultbridge.markdown.edits.merge import (
    apply_hunks,
    find_hunks,
    list_changed_lines,
    merge_texts,
    restore_line_ends,
)

LINES = st.lists(
    st.one_of(
        st.sampled_from(["a\n", "b\n", "\n", "- [ ] task\n", "# Head\n", "日本\n", "naïve 🙂\r\n"]),
        st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=6).map(
            lambda text: text + "\n"
        ),
    ),
    max_size=24,
)
TEXTS = st.builds(lambda lines, end: "".join(lines) + end, LINES, st.sampled_from(["", "end"]))


@given(TEXTS, TEXTS)
def test_all_hunks_give_the_new_text_and_none_the_old(old: str, new: str) -> None:
    hunks = find_hunks(old, new)
    assert apply_hunks(old, new, range(len(hunks))) == new
    assert apply_hunks(old, new, ()) == old
    assert bool(hunks) == (old != new)


@given(TEXTS, TEXTS)
def test_hunks_show_the_lines_of_both_texts(old: str, new: str) -> None:
    for hunk in find_hunks(old, new):
        for mark, start, count, text in (
            ("-", hunk.old_start, hunk.old_lines, old),
            ("+", hunk.new_start, hunk.new_lines, new),
        ):
            shown = [line[1:] for line in hunk.lines if line[0] in (" ", mark)]
            lines = [line.rstrip("\r\n") for line in split_keeping_ends(text)]
            assert shown == lines[start - 1 : start - 1 + count] if count else not shown


@given(TEXTS, TEXTS)
def test_one_side_alone_is_taken_whole(base: str, one: str) -> None:
    assert merge_texts(base, one, base) == one
    assert merge_texts(base, base, one) == one
    assert merge_texts(base, one, one) == one


@given(TEXTS, TEXTS, TEXTS)
def test_a_merge_does_not_depend_on_the_order_of_the_sides(base: str, one: str, other: str) -> None:
    assert merge_texts(base, one, other) == merge_texts(base, other, one)


@given(st.data())
def test_changes_of_different_lines_are_both_kept(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 30))
    base = [f"line {number}\n" for number in range(count)]
    owner = data.draw(st.lists(st.sampled_from(["", "one", "other"]), min_size=count, max_size=count))
    kinds = data.draw(st.lists(st.sampled_from(["drop", "change"]), min_size=count, max_size=count))

    def change_lines(*who: str) -> str:
        lines = (
            line if owner[at] not in who else "" if kinds[at] == "drop" else f"{owner[at]} {at}\n"
            for at, line in enumerate(base)
        )
        return "".join(lines)

    assert merge_texts("".join(base), change_lines("one"), change_lines("other")) == change_lines(
        "one", "other"
    )


def test_the_same_line_changed_in_two_ways_is_a_conflict() -> None:
    assert merge_texts("a\nb\nc\n", "a\nB\nc\n", "a\nbb\nc\n") is None


def test_two_texts_inserted_at_one_place_are_a_conflict() -> None:
    assert merge_texts("a\n", "a\none\n", "a\nother\n") is None
    assert merge_texts("", "one\n", "other\n") is None


def test_an_insertion_beside_a_changed_line_is_a_conflict() -> None:
    assert merge_texts("a\nb\n", "a\nnew\nb\n", "A\nb\n") is None


def test_a_line_and_its_neighbour_are_not_the_same_line() -> None:
    assert merge_texts("a\nb\n", "A\nb\n", "a\nB\n") == "A\nB\n"


def test_the_same_change_on_both_sides_is_made_once() -> None:
    assert merge_texts("a\nb\nc\nd\n", "a\nX\nc\nd\n", "a\nX\nc\nD\n") == "a\nX\nc\nD\n"


@given(TEXTS, TEXTS)
def test_what_a_change_says_does_not_depend_on_the_lines_around_it(old: str, new: str) -> None:
    changed = list_changed_lines(old, new)
    assert list_changed_lines("first\n" + old, "first\n" + new) == changed
    assert bool(changed) == (old != new)


@given(TEXTS)
def test_line_ends_come_back(text: str) -> None:
    assert restore_line_ends(text.replace("\r\n", "\n"), like=text) == text


def test_new_lines_get_the_line_end_of_their_surroundings() -> None:
    assert restore_line_ends("a\nnew\nb\n", like="a\r\nb\r\n") == "a\r\nnew\r\nb\r\n"
    assert restore_line_ends("a\nnew\nb", like="a\r\nb\r\n") == "a\r\nnew\r\nb"
    assert restore_line_ends("x\ny\n", like="x\ny\n") == "x\ny\n"
