"""Editing sections and blocks. People complain most about text that goes to the wrong place."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.markdown.edits.change import Change, apply_changes
from vaultbridge.markdown.edits.sections import (
    append_after_block,
    append_section,
    append_under_heading,
    prepend_before_block,
    prepend_under_heading,
    rename_block_id,
    rename_heading,
    replace_block,
    replace_under_heading,
)
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.sections import find_section

Edit = Callable[..., tuple[Change, ...]]


def apply_edit(edit: Edit, text: str, *arguments: object, **options: object) -> str:
    return apply_changes(text, edit(text, parse(text), *arguments, **options))


@pytest.mark.parametrize(
    ("text", "heading", "expected"),
    [
        ("# A\nx\n\n# B\n", "A", "# A\nx\nnew\n\n# B\n"),
        ("# A\nx\n# B\n", "A", "# A\nx\nnew\n\n# B\n"),
        ("# A\n# B\n", "A", "# A\nnew\n\n# B\n"),
        ("# A\n\n\n# B\n", "A", "# A\nnew\n\n\n# B\n"),
        ("# A\nx", "A", "# A\nx\nnew"),
        ("# A", "A", "# A\nnew"),
        ("# A\nx\n\n\n", "A", "# A\nx\nnew\n\n\n"),
        ("# A\nx\n\n## S\ny\n", "A", "# A\nx\nnew\n\n## S\ny\n"),
        ("# A\n## S\ny\n", "A", "# A\nnew\n\n## S\ny\n"),
        ("# A\n## S\ny\n# B\n## S\nz\n", "B#S", "# A\n## S\ny\n# B\n## S\nz\nnew\n"),
        ("# A\nx\n\nB\n===\n", "A", "# A\nx\nnew\n\nB\n===\n"),
        ("# A\n\nB\n===\ny\n", "b", "# A\n\nB\n===\ny\nnew\n"),
        ("# A\n```\n# B\n```\n\n# C\n", "A", "# A\n```\n# B\n```\nnew\n\n# C\n"),
        ("# A\n> # B\n> q\n\n# C\n", "A", "# A\n> # B\n> q\n\nnew\n\n# C\n"),
        ("# A\r\nx\r\n\r\n# B\r\n", "A", "# A\r\nx\r\nnew\r\n\r\n# B\r\n"),
        ("# 🌍 Émoji:  x!  \ny\n", "🌍 émoji x", "# 🌍 Émoji:  x!  \ny\nnew\n"),
        ("# A #\nx\n", "A", "# A #\nx\nnew\n"),
        ("---\nk: v\n---\n# A\n", "A", "---\nk: v\n---\n# A\nnew\n"),
    ],
)  # fmt: skip
def test_text_appended_under_a_heading_goes_to_the_end_of_its_own_text(
    text: str, heading: str, expected: str
) -> None:
    assert apply_edit(append_under_heading, text, heading, "new") == expected


def test_a_new_subsection_goes_to_the_end_of_the_whole_section() -> None:
    text = "# A\nx\n\n## S\ny\n\n# B\n"
    after = apply_edit(append_under_heading, text, "A", "## T\nz\n")
    assert after == "# A\nx\n\n## S\ny\n\n## T\nz\n\n# B\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\nx\n", "# A\nnew\nx\n"),
        ("# A\n\nx\n", "# A\n\nnew\nx\n"),
        ("# A\n\n- x\n", "# A\n\nnew\n- x\n"),
        ("# A\n\n# B\n", "# A\nnew\n\n# B\n"),
        ("# A\n## B\n", "# A\nnew\n\n## B\n"),
        ("# A", "# A\nnew"),
        ("A\n---\nx\n", "A\n---\nnew\nx\n"),
        ("# A\n\nB\n---\n", "# A\nnew\n\nB\n---\n"),
    ],
)
def test_prepending_under_a_heading_keeps_the_blank_lines_after_it(text: str, expected: str) -> None:
    assert apply_edit(prepend_under_heading, text, "A", "new") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A\n\nx\ny\n\n# B\n", "# A\n\nnew\n\n# B\n"),
        ("# A\nx\n## S\ny\n# B\n", "# A\nnew\n\n# B\n"),
        ("# A\n# B\n", "# A\nnew\n\n# B\n"),
        ("# A\nx", "# A\nnew"),
        ("# A\r\nx\r\n", "# A\r\nnew\r\n"),
        ("# A", "# A\nnew"),
        ("# A\nx\n\nB\n===\n", "# A\nnew\n\nB\n===\n"),
    ],
)
def test_replacing_under_a_heading_keeps_the_heading_and_the_blank_lines(text: str, expected: str) -> None:
    assert apply_edit(replace_under_heading, text, "A", "new") == expected


def test_a_section_can_be_emptied() -> None:
    assert apply_edit(replace_under_heading, "# A\nx\n\n# B\n", "A", "") == "# A\n\n# B\n"
    assert apply_edit(replace_under_heading, "# A\n\n# B\n", "A", "") == "# A\n\n# B\n"


def test_a_repeated_or_missing_heading_is_refused_with_a_list_of_headings() -> None:
    text = "# A\n## X\n# B\n## X\n"
    for edit in (append_under_heading, prepend_under_heading, replace_under_heading, rename_heading):
        with pytest.raises(EditRefused, match=r"line 2.*line 4"):
            apply_edit(edit, text, "X", "new")
        with pytest.raises(EditRefused, match="A#X"):
            apply_edit(edit, text, "Y", "new")


def test_lines_around_a_block() -> None:
    text = "a\n\npara ^id\n\n- x\n- y ^li\n  - z\n- w\n"
    assert apply_edit(append_after_block, text, "id", "new") == text.replace("^id\n", "^id\n\nnew\n")
    assert apply_edit(append_after_block, text, "^LI", "- new") == text.replace("  - z\n", "  - z\n- new\n")
    assert apply_edit(prepend_before_block, text, "id", "new") == text.replace("para", "new\n\npara")
    assert apply_edit(prepend_before_block, text, "li", "- new") == text.replace("- y", "- new\n- y")


def test_text_between_the_items_of_a_numbered_list_leaves_the_later_ones_items() -> None:
    """Only an item with the number 1 may follow a paragraph without a blank line (CommonMark 5.3)."""
    text = "1. [ ] a ^id\n2. [ ] b\n"
    after = apply_edit(append_after_block, text, "id", "new")
    assert after == "1. [ ] a ^id\n\nnew\n\n2. [ ] b\n"
    assert len(parse(after).tasks) == 2


@pytest.mark.parametrize(
    ("text", "new", "expected"),
    [
        ("a\n\nold text ^id\n\nb", "new", "a\n\nnew ^id\n\nb"),
        ("old\nlines ^id\n", "new\nones", "new\nones ^id\n"),
        ("- x\n- [ ] old ^id\n- y", "new", "- x\n- [ ] new ^id\n- y"),
        ("- old ^id", "* new ^id", "* new ^id"),
        ("| a |\n| - |\n| b |\n\n^id\n", "| c |\n| - |\n| d |", "| c |\n| - |\n| d |\n\n^id\n"),
        ("old\r\ntext ^id\r\n", "a\nb\n", "a\r\nb ^id\r\n"),
    ],
)
def test_a_replaced_block_keeps_its_id(text: str, new: str, expected: str) -> None:
    assert apply_edit(replace_block, text, "id", new) == expected


def test_a_block_is_not_replaced_by_text_that_would_lose_its_id() -> None:
    with pytest.raises(EditRefused, match="outside any block"):
        apply_edit(replace_block, "text ^id\n", "id", "```\ncode")
    with pytest.raises(EditRefused, match="cannot become empty"):
        apply_edit(replace_block, "text ^id\n", "id", " \n")
    with pytest.raises(EditRefused, match=r"No block with the id"):
        apply_edit(replace_block, "text\n", "id", "x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Old\n", "# New one\n"),
        ("  ##   Old   ##  \nx", "  ##   New one   ##  \nx"),
        ("Old\n---\n", "New one\n---\n"),
        ("x\n\n   Old\r\n===\r\n", "x\n\n   New one\r\n===\r\n"),
        ("# Old [[Old]] #\n# z", "# New one #\n# z"),
    ],
)
def test_a_renamed_heading_keeps_its_marks(text: str, expected: str) -> None:
    heading = parse(text).headings[0].text
    assert apply_edit(rename_heading, text, heading, " New one ") == expected


def test_an_empty_heading_can_be_named() -> None:
    for text in ("#\nx", "# \nx", "## ##\nx"):
        note = parse(text)
        assert note.headings[0].text == ""
        section = find_section(text, note, [""])
        after = apply_changes(text, rename_heading(text, note, section, "N"))
        assert parse(after).headings[0].text == "N" and after.endswith("\nx")


@pytest.mark.parametrize("new", ["", "  ", "a\nb"])
def test_a_heading_is_one_line_of_text(new: str) -> None:
    with pytest.raises(InvalidArgument):
        apply_edit(rename_heading, "# A\n", "A", new)


@pytest.mark.parametrize(("text", "new"), [("# A\n", "B #"), ("A\n---\n", "- x"), ("A\n===\n", "# x")])
def test_a_name_that_would_not_be_the_headings_text_is_refused(text: str, new: str) -> None:
    with pytest.raises(EditRefused, match="would not be read as"):
        apply_edit(rename_heading, text, "A", new)


def test_a_block_id_is_renamed_unless_it_is_taken() -> None:
    text = "a ^x\n\nb ^y\n"
    assert apply_edit(rename_block_id, text, "X", "^z-1") == "a ^z-1\n\nb ^y\n"
    assert apply_edit(rename_block_id, text, "x", "x") == text
    with pytest.raises(EditRefused, match="already has a block"):
        apply_edit(rename_block_id, text, "x", "Y")
    with pytest.raises(InvalidArgument):
        apply_edit(rename_block_id, text, "x", "a b")


LINES = st.lists(
    st.sampled_from(
        ["# A", "## B", "### C", "text", "- item", "> quote", "", "```", "| t |", "S\n===",
         "^id", "    code", "a ^b"]
    ),
    max_size=12,
)  # fmt: skip


@given(LINES, st.sampled_from(["\n", "\r\n"]), st.data())
def test_an_addition_belongs_to_the_heading_it_was_put_under(
    lines: list[str], line_end: str, data: st.DataObject
) -> None:
    """Whatever is around it: the headings stay the same, and the new line is in the named section with no
    other heading between."""
    text = "\n".join(lines).replace("\n", line_end)
    note = parse(text)
    if not note.headings:
        return
    index = data.draw(st.integers(0, len(note.headings) - 1))
    path = [heading.text for heading in note.headings[: index + 1]][-1:]
    try:
        section = find_section(text, note, path, unique=True)
    except EditRefused:
        return
    edit = data.draw(st.sampled_from([append_under_heading, prepend_under_heading]))
    after = apply_changes(text, edit(text, note, path, "zzz"))
    headings = parse(after).headings
    assert [(h.level, h.text) for h in headings] == [(h.level, h.text) for h in note.headings]
    assert after.replace("zzz", "").split() == text.split()
    place = after.index("zzz")
    above = [h for h in headings if h.start < place]
    assert len(above) == section.heading + 1


BLOCKS = [
    "text ^id",
    "two\nlines ^id",
    "- item ^id",
    "- [ ] task ^id",
    "> quote ^id",
    "| a |\n|---|\n| b |\n\n^id",
]
ADDITIONS = [
    "plain", "plain\n", "- item", "2. item", "> quote", "%%aside%%", "%%\nlong\n%%", "$$x$$", "$$\nx\n$$",
    "| a |\n|---|", "```\ncode\n```", "<b>x</b>", "# H", "===", "---", "other ^new",
]  # fmt: skip


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("addition", ADDITIONS)
def test_an_addition_beside_a_block_leaves_the_block_as_it_is(
    block: str, addition: str, line_end: str
) -> None:
    for around in ("{}", "{}\n", "before\n\n{}\n\nafter\n", "# H\n{}\n# I\n"):
        text = around.format(block).replace("\n", line_end)
        for edit in (append_after_block, prepend_before_block):
            after = apply_changes(text, edit(text, parse(text), "id", addition))
            [found] = [found for found in parse(after).blocks if found.id == "id"]
            assert after[found.start : found.end] == block.replace("\n", line_end), after


def test_an_indented_addition_continues_an_item_and_the_id_still_names_it() -> None:
    text = "- item ^id\n"
    after = apply_changes(text, append_after_block(text, parse(text), "id", "\tmore"))
    assert after == "- item ^id\n\n\tmore\n"
    assert [found.id for found in parse(after).blocks] == ["id"]


@pytest.mark.parametrize("open_end", ["```\ncode", "~~~", "%%\naside", "$$\nx", "<!-- aside"])
def test_a_heading_is_not_made_where_it_would_not_be_read_as_one(open_end: str) -> None:
    text = f"text\n\n{open_end}\n"
    with pytest.raises(EditRefused, match="would not be read"):
        append_section(text, parse(text), "Log", "entry")
