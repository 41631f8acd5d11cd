"""The outline, and finding a section or block by name (docs/obsidian.md 3, the heading-match rule)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import EditRefused
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.sections import Section, find_block, find_section, heading_key, outline

TEXT = """\
intro

# Alpha
a

## Log
first

### Deep: one & two

# Beta

## Log
second

Setext
------
last
"""


def section(heading: str | list[str], *, unique: bool = False, text: str = TEXT) -> Section:
    return find_section(text, parse(text), heading, unique=unique)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Deep: one & two", "deep one   two"),
        ("A.B/C", "a b c"),
        ("**bold** `code`", "bold code"),
        ("[[Link]] text", "link text"),
        ("a\nb", "A B"),
        ("a#b|c^d", "a b c d"),
        ("Straße", "straße"),
        ("  x  ", "X"),
    ],
)
def test_headings_match_without_regard_to_punctuation_and_case(one: str, other: str) -> None:
    assert heading_key(one) == heading_key(other)


@pytest.mark.parametrize(("one", "other"), [("a-b", "a b"), ("a_b", "a b"), ("it's", "it s"), ("ab", "a b")])
def test_hyphen_underscore_and_apostrophe_are_literal(one: str, other: str) -> None:
    assert heading_key(one) != heading_key(other)


def test_the_outline_gives_paths_and_spans() -> None:
    found = outline(parse(TEXT), TEXT)
    assert [(item.level, item.path, item.line, item.end_line) for item in found] == [
        (1, ("Alpha",), 3, 10),
        (2, ("Alpha", "Log"), 6, 10),
        (3, ("Alpha", "Log", "Deep: one & two"), 9, 10),
        (1, ("Beta",), 11, 18),
        (2, ("Beta", "Log"), 13, 15),
        (2, ("Beta", "Setext"), 16, 18),
    ]
    for index, item in enumerate(found):
        assert item.heading == index
        assert item.start <= item.body_start <= item.end
        assert item.start < item.content_end <= item.end


def test_a_section_ends_where_the_next_of_its_level_begins_and_keeps_its_blank_lines() -> None:
    alpha = section("Alpha")
    assert TEXT[alpha.start : alpha.end].startswith("# Alpha\na\n")
    assert TEXT[alpha.end :].startswith("# Beta")
    assert TEXT[alpha.body_start :].startswith("a\n")
    assert TEXT[: alpha.content_end].endswith("one & two")


def test_a_setext_headings_body_starts_below_the_underline() -> None:
    found = section("Setext")
    assert TEXT[found.body_start : found.end] == "last\n"


@pytest.mark.parametrize(
    ("text", "body"),
    [("# a", ""), ("# a\n", ""), ("# a\r\nb\r\n", "b\r\n"), ("# a\n\n\n", "\n\n"), ("# a\n# b", "")],
)
def test_bodies_at_the_edges(text: str, body: str) -> None:
    found = section("a", text=text)
    assert text[found.body_start : found.end] == body
    assert text[found.start : found.content_end].rstrip() == text[found.start : found.end].rstrip()


def test_an_indented_heading_belongs_whole_to_its_section() -> None:
    text = "# a\nx\n  # b\ny\n"
    assert section("b", text=text).start == 6
    assert section("a", text=text).end == 6


@pytest.mark.parametrize(
    ("heading", "line"),
    [
        ("Alpha", 3),
        ("log", 6),
        ("Alpha#Log", 6),
        ("Beta#Log", 13),
        (["Beta", "Log"], 13),
        ("#Beta#Log", 13),
        ("Alpha#Deep one two", 9),
        (["Alpha", "Deep: one & two"], 9),
        ("Alpha#Log#Deep one & two", 9),
        ("setext", 16),
    ],
)
def test_a_path_walks_downward_and_the_first_match_wins(heading: str | list[str], line: int) -> None:
    assert section(heading).line == line


def test_a_heading_that_contains_a_hash_is_found_by_its_text() -> None:
    text = "# C# notes\n\n# Other\n"
    assert section("C# notes", text=text).line == 1
    assert section(["C# notes"], text=text).line == 1


def test_an_edit_refuses_to_choose_between_two() -> None:
    with pytest.raises(EditRefused) as refusal:
        section("Log", unique=True)
    assert "Alpha#Log (line 6)" in str(refusal.value)
    assert "Beta#Log (line 13)" in str(refusal.value)
    assert section("Beta#Log", unique=True).line == 13


def test_the_exact_text_decides_between_headings_with_one_key() -> None:
    text = "# Q: a\n\n# q a\n"
    assert section("q a", unique=True, text=text).line == 3
    with pytest.raises(EditRefused):
        section("Q a", unique=True, text=text)


@pytest.mark.parametrize(
    "heading", ["Nothing", "Beta#Deep one two", "Log#Alpha", "", "#", [], ["Beta", "Nothing"]]
)
def test_the_error_for_a_missing_heading_lists_the_headings(heading: str | list[str]) -> None:
    with pytest.raises(EditRefused) as refusal:
        section(heading)
    assert "Alpha#Log#Deep: one & two" in str(refusal.value)


def test_a_note_without_headings_says_so() -> None:
    with pytest.raises(EditRefused, match="no headings"):
        section("x", text="just text\n")


def test_long_lists_are_cut() -> None:
    text = "".join(f"# h{number}\n" for number in range(100))
    with pytest.raises(EditRefused, match="and 60 more"):
        section("x", text=text)


def test_a_block_is_found_by_its_id_without_regard_to_case() -> None:
    note = parse("one ^Ab-1\n\n- two ^c\n")
    assert find_block(note, "ab-1").line == 1
    assert find_block(note, "^AB-1").line == 1
    assert find_block(note, "#^c").line == 3


def test_a_missing_or_repeated_block_id_is_refused() -> None:
    note = parse("one ^a\n\ntwo ^a\n")
    with pytest.raises(EditRefused, match=r"\^a"):
        find_block(note, "b")
    assert find_block(note, "a").line == 1
    with pytest.raises(EditRefused, match="lines 1, 3"):
        find_block(note, "a", unique=True)
    with pytest.raises(EditRefused, match="no block ids"):
        find_block(parse("x"), "a")


@given(
    st.lists(
        st.sampled_from(["# a\n", "## b\n", "### c\n", "x\n", "\n", "d\n---\n", "- e\n", "\r\n"]), max_size=14
    )
)
def test_sections_nest_and_cover_everything_after_the_first_heading(pieces: list[str]) -> None:
    text = "".join(pieces)
    note = parse(text)
    found = outline(note, text)
    assert len(found) == len(note.headings)
    for first, second in pairwise(found):
        assert first.start < second.start
        assert second.start >= first.end or second.end <= first.end
        assert first.body_start <= second.start
    if found:
        assert found[-1].end == len(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("# A\n## Log\n# B\n## Log\n", "Include the headings above it"),
        ("# A\n## Log\n## Log\n", "only line numbers tell them apart"),
    ],
)
def test_the_hint_for_several_matching_headings_says_what_helps(text: str, hint: str) -> None:
    """The old hint, to name the headings above, cannot help with equal headings under one heading."""
    with pytest.raises(EditRefused) as refused:
        find_section(text, parse(text), "Log", unique=True)
    assert hint in refused.value.hint
