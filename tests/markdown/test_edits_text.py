"""Editing text by position or by its content."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.markdown.edits.change import apply_changes
from vaultbridge.markdown.edits.text import append, describe_near_miss, insert_at_line, prepend, replace_text
from vaultbridge.markdown.parse import parse


def apply_append(text: str, addition: str) -> str:
    return apply_changes(text, append(text, parse(text), addition))


def apply_prepend(text: str, addition: str) -> str:
    return apply_changes(text, prepend(text, parse(text), addition))


@pytest.mark.parametrize(
    ("text", "addition", "expected"),
    [
        ("", "x", "x"),
        ("", "x\n", "x\n"),
        ("a\n", "x", "a\nx\n"),
        ("a", "x", "a\nx"),
        ("a", "x\n", "a\nx\n"),
        ("a\r\n", "x\ny", "a\r\nx\r\ny\r\n"),
        ("a\n\n", "x", "a\n\nx\n"),
        ("- a\n", "- b", "- a\n- b\n"),
        ("- a\n", "text", "- a\n\ntext\n"),
        ("a ^id\n", "b", "a ^id\n\nb\n"),
        ("---\nk: v\n---\n", "x", "---\nk: v\n---\nx\n"),
        ("---\nk: v\n---", "x", "---\nk: v\n---\nx"),
        ("a\n", "", "a\n"),
        ("a\n", "---", "a\n\n---\n"),
    ],
)
def test_appending_adds_lines_and_keeps_the_notes_ending(text: str, addition: str, expected: str) -> None:
    assert apply_append(text, addition) == expected


@pytest.mark.parametrize(
    ("text", "addition", "expected"),
    [
        ("", "x", "x"),
        ("a", "x", "x\na"),
        ("a\r\n", "x", "x\r\na\r\n"),
        ("---\nk: v\n---\na\n", "x", "---\nk: v\n---\nx\na\n"),
        ("---\nk: v\n---\n\n\na\n", "x\n", "---\nk: v\n---\n\n\nx\na\n"),
        ("---\nk: v\n---", "x", "---\nk: v\n---\nx"),
        ("# H\n", "x", "x\n\n# H\n"),
        ("text\n===\n", "x", "x\n\ntext\n===\n"),
        ("text", "- item", "- item\n\ntext"),
        ("---\nbad: [\n---\na", "x", "---\nbad: [\n---\nx\na"),
    ],
)
def test_prepending_goes_after_the_properties(text: str, addition: str, expected: str) -> None:
    assert apply_prepend(text, addition) == expected


def test_prepended_text_cannot_become_properties() -> None:
    with pytest.raises(EditRefused, match="would become its properties"):
        apply_prepend("a\n", "---\nk: v\n---\n")
    assert apply_prepend("---\nk: v\n---\na", "---\n").startswith("---\nk: v\n---\n---\n")


@pytest.mark.parametrize(
    ("text", "line", "addition", "expected"),
    [
        ("a\nb\n", 1, "x", "x\na\nb\n"),
        ("a\nb\n", 2, "x\n", "a\nx\nb\n"),
        ("a\nb\n", 3, "x", "a\nb\nx\n"),
        ("a\nb", 3, "x", "a\nb\nx"),
        ("a\r\nb", 2, "x\ny", "a\r\nx\r\ny\r\nb"),
        ("", 1, "x", "x"),
        ("a", 1, "", "a"),
    ],
)
def test_inserting_puts_lines_before_the_named_one(
    text: str, line: int, addition: str, expected: str
) -> None:
    assert apply_changes(text, insert_at_line(text, line, addition)) == expected


@pytest.mark.parametrize(
    ("text", "first"), [("---\nk: v\n---\nbody\n", 4), ("---\r\n---\r\n", 3), ("---\na: [\n---", 4)]
)
def test_nothing_is_inserted_above_the_properties(text: str, first: int) -> None:
    """They would no longer be properties."""
    with pytest.raises(EditRefused, match=f"Give line {first} for the start of the body"):
        insert_at_line(text, 1, "x")
    assert insert_at_line(text, first, "x")
    assert insert_at_line(text, 2, "x: 1")


def test_a_horizontal_rule_at_the_top_of_a_note_is_not_a_block_of_properties() -> None:
    assert apply_changes("---\ntext\n", insert_at_line("---\ntext\n", 1, "x")) == "x\n---\ntext\n"


@pytest.mark.parametrize("line", [0, -1, 4])
def test_inserting_at_a_line_that_does_not_exist_is_refused(line: int) -> None:
    with pytest.raises(EditRefused, match=r"the note has 2\. Give a line from 1 to 3"):
        insert_at_line("a\nb\n", line, "x")


def test_text_that_occurs_once_is_replaced() -> None:
    assert apply_changes("one two", replace_text("one two", "two", "2")) == "one 2"


def test_text_with_lf_finds_a_note_with_crlf_and_takes_its_line_ends() -> None:
    text = "a\r\nb\r\nc"
    assert apply_changes(text, replace_text(text, "a\nb", "x\ny\nz")) == "x\r\ny\r\nz\r\nc"


def test_text_that_occurs_more_than_once_is_refused_with_its_lines() -> None:
    with pytest.raises(EditRefused, match=r"occurs 2 times, at lines 1, 3"):
        replace_text("x\ny\nx", "x", "z")
    with pytest.raises(EditRefused, match="occurs 2 times, at lines 1, 1"):
        replace_text("aaa", "aa", "b")
    with pytest.raises(EditRefused, match="and 4 more"):
        replace_text("x\n" * 12, "x", "y")


def test_all_places_are_replaced_when_asked_for() -> None:
    assert apply_changes("aaa a", replace_text("aaa a", "aa", "b", every=True)) == "ba a"


OTHER = "It occurs with other characters (quotes, dashes, spaces or accents) at line"


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("two  three", "It occurs with different spacing at line 2: two three"),
        ("TWO three", "It occurs in a different case at line 2: two three"),
        ('said "it\'s fine" - then', f"{OTHER} 3: said “it’s fine” — then"),
        ("Caf\u00e9 at 9", f"{OTHER} 4: Cafe\u0301 at\u00a09"),
        ("at 9\nand soft", f"{OTHER} 4: at\u00a09\nand so\u00adft"),
        ("two three\nHe said", "The closest is line 2: two three"),
        ("the roses in a garden", "The closest is line 6: About the roses in her garden."),
        ("four", ""),
        ("four five six", ""),
    ],
)
def test_the_error_for_missing_text_shows_the_closest_passage(old: str, hint: str) -> None:
    text = (
        "one\ntwo three\nShe said “it’s fine” — then left\nCafe\u0301 at\u00a09\nand so\u00adft\n"
        "  About the roses in her garden.\n"
    )
    with pytest.raises(EditRefused) as refused:
        replace_text(text, old, "x")
    assert str(refused.value) == f"The text to replace does not occur in the note. {hint}".rstrip()


def test_a_passage_ends_with_its_accent_and_is_not_shown_without_end() -> None:
    with pytest.raises(EditRefused, match="at line 1: a cafe\u0301"):
        replace_text("a cafe\u0301\n", "a caf\u00e9", "x")
    with pytest.raises(EditRefused) as refused:
        replace_text("a  b " * 300, "a b " * 300, "x")
    assert len(refused.value.hint) < 500 and refused.value.hint.endswith("…")


@given(st.text(max_size=40), st.text(min_size=1, max_size=20))
def test_the_closest_passage_is_part_of_the_note(text: str, old: str) -> None:
    assert isinstance(describe_near_miss(text, old), str)
    upper = text.upper()
    found = describe_near_miss(text, upper) if upper.strip() else ""
    if found.startswith("It occurs"):
        assert found.partition(": ")[2].rstrip("…") in text


def test_empty_text_cannot_be_replaced() -> None:
    with pytest.raises(InvalidArgument):
        replace_text("a", "", "b")


@given(
    st.text(st.sampled_from("ab#- >|\r\n"), max_size=20),
    st.text(st.sampled_from("xy#- \n"), min_size=1, max_size=8),
)
def test_added_text_leaves_every_old_character_in_place(text: str, addition: str) -> None:
    """After appending, the note begins as before; after prepending, its body ends as before; except line
    ends."""
    assert apply_append(text, addition).startswith(text)
    note = parse(text)
    floor = note.properties.end if note.properties else 0
    if not (floor == 0 and addition.startswith("---")):
        body = text[floor:].lstrip(" \r\n") if text[floor:].strip() else ""
        assert apply_prepend(text, addition).endswith(body)
