"""The markers of blocks, one line at a time (CommonMark 4 and 5)."""

import pytest

from vaultbridge.markdown.blocks import markers as marks


@pytest.mark.parametrize(
    ("line", "pos", "column", "expected"),
    [
        ("  a", 0, 0, (2, 2)),
        ("\ta", 0, 0, (1, 4)),
        (" \ta", 0, 0, (2, 4)),
        ("   \t a", 0, 0, (5, 5)),
        ("-\ta", 1, 1, (2, 4)),
        ("\t\ta", 0, 2, (2, 8)),
        ("  ", 0, 0, (2, 2)),
        ("\xa0a", 0, 0, (0, 0)),
    ],
)
def test_tab_stops_are_multiples_of_four(line: str, pos: int, column: int, expected: tuple[int, int]) -> None:
    assert marks.indentation(line, pos, column) == expected


def test_a_part_of_a_tab_may_be_skipped() -> None:
    assert marks.skip_columns("\ta", 0, 0, 2) == (0, 2)
    assert marks.skip_columns("\ta", 0, 2, 2) == (1, 4)
    assert marks.skip_columns("    a", 0, 0, 3) == (3, 3)


@pytest.mark.parametrize("line", ["***", "---", "___", "- - -", " *  * * *"[1:], "_____", "-\t-\t-"])
def test_thematic_breaks_are_recognized(line: str) -> None:
    assert marks.THEMATIC.match(line)


@pytest.mark.parametrize("line", ["--", "**a*", "-*-", "___a", "+++", "==="])
def test_what_is_not_a_thematic_break(line: str) -> None:
    assert not marks.THEMATIC.match(line)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("<script>", "raw"),
        ("<PRE", "raw"),
        ("<style x>", "raw"),
        ("<!-- a", "comment"),
        ("<?x", "instruction"),
        ("<!D", "declaration"),
        ("<![CDATA[", "cdata"),
        ("<div", "block"),
        ("</DIV>", "block"),
        ("<h1/>", "block"),
        ("<a>", "alone"),
        ("</a> ", "alone"),
        ("<a b='c' d=\"e\" f=g h>", "alone"),
        ("<a> x", None),
        ("<divx y", None),
        ("<pre x", "raw"),
        ("</pre>", "alone"),
        ("<https://x.y>", None),
        ("< div>", None),
    ],
)
def test_the_seven_kinds_of_html_block(line: str, kind: str | None) -> None:
    assert marks.html_start(line, 0, in_paragraph=False) == kind


def test_the_seventh_kind_cannot_interrupt_a_paragraph() -> None:
    assert marks.html_start("<a>", 0, in_paragraph=True) is None
    assert marks.html_start("<div>", 0, in_paragraph=True) == "block"


@pytest.mark.parametrize(
    ("kind", "line", "ends"),
    [
        ("raw", "x </SCRIPT> y", True),
        ("raw", "</scriptx>", False),
        ("comment", "a --> b", True),
        ("comment", "-- >", False),
        ("instruction", "?>", True),
        ("cdata", "]]>", True),
        ("declaration", ">", True),
        ("block", "</div>", False),
    ],
)
def test_how_html_blocks_end(kind: str, line: str, ends: bool) -> None:
    assert marks.html_ends(kind, line, 0) is ends
    assert marks.html_ends_blank(kind) is (kind == "block")


@pytest.mark.parametrize(
    ("header", "delimiter", "expected"),
    [
        ("|a|b|", "|-|-|", True),
        ("a|b", "-|-", True),
        ("a|b", "| :-- | --: |", True),
        ("a\\|b", "|-|", True),
        ("|a|", "-", True),
        ("a", "-", False),
        ("a|b", "-|-|-", False),
        ("a|b", "-|x", False),
        ("a|b", "-||-", False),
        ("a|b", "- -|-", False),
    ],
)
def test_the_head_of_a_table(header: str, delimiter: str, expected: bool) -> None:
    assert marks.is_table_head(header, delimiter) is expected


@pytest.mark.parametrize(
    ("part", "rest"),
    [
        ("[a]: b", ""),
        ("[a]: b\ntext", "text"),
        ("[a]: <b c> 'd'\n[e]:\nf\n\"g\nh\"\nx", "x"),
        ("[a]: b 'c' d", "[a]: b 'c' d"),
        ("[a]: b\n'c' d", "'c' d"),
        ("[a]:", "[a]:"),
        ("[]: b", "[]: b"),
        ("[ ]: b", "[ ]: b"),
        ("[a] : b", "[a] : b"),
        ("[a\\]b]: c", ""),
        ("[^a]: b", "[^a]: b"),
        ("[a]: b c", "[a]: b c"),
    ],
)
def test_link_definitions_are_cut_from_the_start_of_a_paragraph(part: str, rest: str) -> None:
    assert part[marks.read_definitions(part)[1] :] == rest


@pytest.mark.parametrize(
    ("fence", "line", "closes"),
    [
        ("```", "```", True),
        ("```", "`````  ", True),
        ("```", "``", False),
        ("```", "~~~", False),
        ("```", "``` a", False),
        ("~~~~", "~~~~", True),
        ("~~~~", "~~~", False),
    ],
)
def test_a_fence_closes_with_as_many_of_the_same(fence: str, line: str, closes: bool) -> None:
    assert marks.closes_fence(fence, line, 0) is closes
