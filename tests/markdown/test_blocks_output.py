"""Block ids, callouts and the problems of blocks (docs/obsidian.md 7)."""

import pytest

from vaultbridge.markdown.parse import parse


def list_blocks(text: str) -> list[tuple[str, int, str]]:
    found = parse(text).blocks
    assert all(text[block.id_start : block.id_start + 1 + len(block.id)] == f"^{block.id}" for block in found)
    return [(block.id, block.line, text[block.start : block.end]) for block in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("para ^a1", [("a1", 1, "para ^a1")]),
        ("one\ntwo ^a\n\nthree", [("a", 2, "one\ntwo ^a")]),
        ("one ^a  \n", [("a", 1, "one ^a")]),
        ("one ^a\ntwo", []),
        ("one^a", []),
        ("one ^a_b", []),
        ("one ^a b", []),
        ("one ^", []),
        ("- x ^a\n- y", [("a", 1, "- x ^a")]),
        ("- x ^a\n  - child\n- y", [("a", 1, "- x ^a\n  - child")]),
        ("- x\n  - y ^b\n    more", []),
        ("- x\n  - y ^b\n- z ^c", [("b", 2, "- y ^b"), ("c", 3, "- z ^c")]),
        ("- [ ] task ^t", [("t", 1, "- [ ] task ^t")]),
        ("- x\n  y\n  ^a", [("a", 3, "- x\n  y\n  ^a")]),
        ("- x\n- y\n\n^l", [("l", 4, "- x\n- y\n\n^l")]),
        ("- x\n- y\n^l", [("l", 3, "- x\n- y\n^l")]),
        ("1. x\n2. y\n\n^l\n", [("l", 4, "1. x\n2. y\n\n^l")]),
        ("- x\n\n1. y\n\n^l", [("l", 5, "1. y\n\n^l")]),
        ("> q\n\n^q", [("q", 3, "> q\n\n^q")]),
        ("> q\n^q", [("q", 2, "> q\n^q")]),
        ("> q ^q", [("q", 1, "> q ^q")]),
        ("> > q ^q\n>\n> r", [("q", 1, "> > q ^q\n>\n> r")]),
        ("> > q ^q\n> lazy", []),
        ("> [!note] t\n> text\n\n^c", [("c", 4, "> [!note] t\n> text\n\n^c")]),
        ("> [!note] t\n> text ^c\n\nx", [("c", 2, "> [!note] t\n> text ^c")]),
        ("> - x ^i\n> - y", [("i", 1, "- x ^i")]),
        ("|a|b|\n|-|-|\n|c|d|\n\n^t", [("t", 5, "|a|b|\n|-|-|\n|c|d|\n\n^t")]),
        ("|a|b|\n|-|-|\n|c|d|\n^t", [("t", 4, "|a|b|\n|-|-|\n|c|d|\n^t")]),
        ("```\nx\n```\n\n^c", [("c", 5, "```\nx\n```\n\n^c")]),
        ("$$\nx\n$$\n^m", [("m", 4, "$$\nx\n$$\n^m")]),
        ("para\n\n^p", [("p", 3, "^p")]),
        ("# h ^a", []),
        ("`x ^a`", []),
        ("```\nx ^a\n```", []),
        ("%%\nx ^a\n%%", []),
        ("one ^a\r\n\r\ntwo ^b\r\n", [("a", 1, "one ^a"), ("b", 3, "two ^b")]),
    ],
)
def test_a_block_id_names_the_block_it_ends_or_follows(
    text: str, expected: list[tuple[str, int, str]]
) -> None:
    assert list_blocks(text) == expected


def test_a_duplicate_id_is_reported_ignoring_case() -> None:
    note = parse("a ^x\n\nb ^X\n\nc ^y\n")
    assert [block.id for block in note.blocks] == ["x", "X", "y"]
    (problem,) = note.problems
    assert (problem.code, problem.line) == ("duplicate-block-id", 3)


def test_problems_are_capped() -> None:
    assert len(parse("a ^x\n\n" * 500).problems) == 100


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("> [!note]", [("note", "", "", 1, 1)]),
        ("> [!NOTE] Title *x*", [("note", "Title *x*", "", 1, 1)]),
        ("> [!tip]+ Open\n> x", [("tip", "Open", "+", 1, 1)]),
        ("> [!tip]- Closed", [("tip", "Closed", "-", 1, 1)]),
        (">[!tip] x", [("tip", "x", "", 1, 1)]),
        ("> [!my type|meta] x", [("my type", "x", "", 1, 1)]),
        (
            "> [!a] x\n> > [!b]- y\n> > > [!c] z",
            [("a", "x", "", 1, 1), ("b", "y", "-", 2, 2), ("c", "z", "", 3, 3)],
        ),
        ("- > [!a] x", [("a", "x", "", 1, 1)]),
        ("> text\n> [!a] x", []),
        ("> [!a]x", []),
        ("> [! a", []),
        ("[!a] x", []),
        ("> \\[!a] x", []),
    ],
)
def test_callouts_are_parsed(text: str, expected: list[tuple[str, str, str, int, int]]) -> None:
    found = parse(text).callouts
    assert [(c.type, c.title, c.fold, c.line, c.depth) for c in found] == expected


def test_a_callout_spans_its_quote() -> None:
    text = "x\n\n> [!a] t\n> b\nlazy\n\nafter\n"
    (callout,) = parse(text).callouts
    assert text[callout.start : callout.end] == "> [!a] t\n> b\nlazy"


def test_nesting_beyond_the_cap_is_reported_once_and_read_as_text() -> None:
    note = parse("> " * 10_000 + "[[deep]]\n" + "- " * 10_000 + "x\n\n# after\n")
    assert [problem.code for problem in note.problems] == ["too-deep"]
    assert [link.target for link in note.links] == ["deep"]
    assert [heading.text for heading in note.headings] == ["after"]
