"""Block structure: CommonMark, the app's additions, and where the app differs (docs/obsidian.md 7)."""

import pytest

from vaultbridge.markdown.parse import parse


def list_headings(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in parse(text).headings]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# a", [(1, "a")]),
        ("###### a", [(6, "a")]),
        ("####### a", []),
        ("#a", []),
        ("#\ta", [(1, "a")]),
        ("   # a", [(1, "a")]),
        ("    # a", []),
        ("\t# a", []),
        ("# a #", [(1, "a")]),
        ("# a ##  ", [(1, "a")]),
        ("# a#", [(1, "a#")]),
        ("# a \\#", [(1, "a \\#")]),
        ("# #", [(1, "")]),
        ("#", [(1, "")]),
        ("##", [(2, "")]),
        ("# a\xa0", [(1, "a")]),
        ("# **b** [[c]] `d`", [(1, "**b** [[c]] `d`")]),
        ("\\# a", []),
        ("text\n# a\ntext", [(1, "a")]),
        ("a\n===", [(1, "a")]),
        ("a\n-", [(2, "a")]),
        ("  a  \n---", [(2, "a")]),
        ("a\n   ---", [(2, "a")]),
        ("a\n    ---", []),
        ("a\n= =", []),
        ("\n---", []),
        ("---\n---", []),
        ("> a\n---", []),
        ("> a\n===", []),
        ("- a\n---", []),
        ("- a\n===", []),
        ("# a\n---", [(1, "a")]),
        ("[x]: y\n===", []),
        ("[x]: y\na\n===", []),
        ("> # a", []),
        ("> [!note]\n> # a", []),
        ("- # a", []),
        ("- a\n  # b", []),
        ("- a\n# b", [(1, "b")]),
        ("> a\n# b", [(1, "b")]),
        ("1. a\n\n   # b\n\n# c", [(1, "c")]),
        ("[^1]: a\n\n    # b\n\n# c", [(1, "c")]),
        ("# a\r\n## b\r# c", [(1, "a"), (2, "b"), (1, "c")]),
    ],
)
def test_headings_are_top_level_only(text: str, expected: list[tuple[int, str]]) -> None:
    assert list_headings(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Best,\nAda\n---\n# x", [(1, "x")]),
        ("a\nb\n===\n", []),
        ("a\n-- \nb", []),
        ("a\n--- \n# b", [(1, "b")]),
        ("a\n\xa0\n---", [(2, "")]),
    ],
    ids=["two lines", "two lines, equals", "blank after", "break", "no-break space"],
)
def test_a_setext_heading_has_one_line_in_the_app(text: str, expected: list[tuple[int, str]]) -> None:
    """Captures of the app: below two lines `---` is a break; an underline has no blanks behind it; a line of
    no-break spaces ends the paragraph and is a heading without text."""
    assert list_headings(text) == expected


@pytest.mark.parametrize(
    "hidden",
    [
        "```\n# h\n```",
        "~~~\n# h\n```\n~~~",
        "````\n# h\n```\n# h\n````",
        "``` info ~ x\n# h\n```",
        "   ```\n# h\n  ```",
        "> ```\n> # h\n> ```",
        "- ```\n  # h\n  ```",
        "```\n# h\n   ````  ",
        "$$\n# h\n$$",
        "$$ x\n# h\ny $$",
        "> $$\n> # h\n> $$",
        "%%\n# h\n%%",
        "%% a\n\n# h\n\nb %%",
        "<div>\n# h\n</div>\n",
        "<!--\n# h\n\n# h\n-->",
        "<!-- a --> b\n",
        "<pre>\n\n# h\n</pre>",
        "<script>\n\n# h\n</script>x",
        "<?php\n\n# h\n?>",
        "<![CDATA[\n\n# h\n]]>",
        "<!X\n# h\n>",
        "<custom a='b'>\n# h\n",
        "</custom>\n# h\n",
    ],
)
def test_nothing_is_a_heading_inside_code_math_comments_or_html(hidden: str) -> None:
    assert list_headings(f"# before\n\n{hidden}\n\n# after\n") == [(1, "before"), (1, "after")]


@pytest.mark.parametrize(
    "open_block", ["```\n# h", "~~~~\n# h\n~~~", "$$\n# h", "%%\n# h", "<!--\n# h", "``` \n\n# h\n\n``` x"]
)
def test_a_block_that_is_never_closed_runs_to_the_end(open_block: str) -> None:
    assert list_headings(f"{open_block}\n\n# x\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "``` a`b\n# h",
        "``\n# h",
        "    ```\n\n# h",
        "> ```\n\n# h",
        "- ```\n\n# h",
        "text <div>\n# h",
        "text\n<custom>\n# h",
        "<custom> text\n# h",
        "<1>\n# h",
        "$$x$$\n# h",
        "$$ x $$ y\n# h",
        "$x$\n# h",
        "%% x %%\n# h",
        "a %% b\n# h",
        "<div>\n\n# h",
        "<a href=x\n# h",
    ],
)
def test_text_that_only_looks_like_a_hidden_block_is_read(text: str) -> None:
    assert list_headings(text) == [(1, "h")]


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("para\n    [[a]]", True),
        ("\n    [[a]]", False),
        ("\n\t[[a]]", False),
        ("# h\n    [[a]]", False),
        ("- x\n\n    [[a]]", True),
        ("- x\n\n      [[a]]", False),
        ("- x\n\n\t[[a]]", True),
        ("- x\n\n\t\t[[a]]", False),
        ("1.  x\n\n        [[a]]", False),
        ("1.  x\n\n    [[a]]", True),
        ("-     [[a]]", False),
        (">     [[a]]", False),
        ("> \t[[a]]", False),
        ("> a\n>     [[a]]", True),
        ("> a\n    [[a]]", True),
        ("- x\n- y\n\n  - z\n\n        [[a]]", False),
        ("- x\n  - y\n    - z\n      - w [[a]]", True),
    ],
)
def test_the_indentation_of_code_depends_on_its_list(text: str, counts: bool) -> None:
    assert bool(parse(text).links) is counts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n- [ ] b", 1),
        ("a\n1. [ ] b", 1),
        ("a\n7. [ ] b", 0),
        ("7. [ ] b", 1),
        ("1234567890. [ ] b", 0),
        ("- a\n7. [ ] b", 1),
        ("* * *\n- [ ] a", 1),
        ("- - [ ] a", 1),
        ("-\n  - [ ] a", 1),
        ("-\n\n  - [ ] a", 1),
    ],
)
def test_list_items_begin_where_commonmark_allows_them(text: str, expected: int) -> None:
    assert len(parse(text).tasks) == expected


def test_a_quote_right_below_an_item_belongs_to_it() -> None:
    """Captures of the app; CommonMark would end the list there. The fence is therefore the item's, ends
    with it, and the closing fence opens a block that runs to the end."""
    assert list_headings("4. a\n  > q\n\n   ```java\nx\n```\n\n# hidden\n") == []


def test_text_after_a_closing_marker_is_read() -> None:
    note = parse("%%\na\n%% [[b]]\n[[c]]\n\n$$\nx\n$$ [[d]]\n")
    assert [link.target for link in note.links] == ["b", "c", "d"]


def test_lazy_lines_continue_a_quote_but_not_its_structure() -> None:
    note = parse("> [[a]]\n[[b]]\n- [ ] c\n> d\n    [[e]]\n")
    assert [link.target for link in note.links] == ["a", "b", "e"]
    assert len(note.tasks) == 1


def test_a_code_span_may_cross_the_lines_of_a_quoted_paragraph() -> None:
    assert [link.target for link in parse("> `a\n> [[b]]` [[c]]").links] == ["c"]


def test_a_heading_span_covers_the_line_without_its_end() -> None:
    text = "x\n\n  ## a ##  \r\nb\n===\n"
    first, second = parse(text).headings
    assert text[first.start : first.end] == "## a ##  "
    assert text[second.start : second.end] == "b\n==="
    assert (first.line, second.line) == (3, 4)


@pytest.mark.parametrize(
    ("text", "is_table"),
    [
        ("|a|b|\n|---|---|\n|[[c\\|d]]|", True),
        ("a|b\n-|-\n[[c\\|d]]|e", True),
        ("a | b\n:-: | --:\n[[c\\|d]]", True),
        ("intro\n|a|b|\n|---|---|\n|[[c\\|d]]|", True),
        ("> |a|b|\n> |-|-|\n> |[[c\\|d]]|", True),
        ("- |a|b|\n  |-|-|\n  |[[c\\|d]]|", True),
    ],
)
def test_tables_are_read_row_by_row(text: str, is_table: bool) -> None:
    (link,) = parse(text).links
    assert (link.target, link.display) == ("c", "d")


@pytest.mark.parametrize("text", ["|a|b|\n|---|\n|[[c|d]]|", "a|b\n\n-|-\n[[c|d]]", "a\n|-|-|\n[[c|d]]"])
def test_without_a_matching_delimiter_row_a_bar_is_a_bar(text: str) -> None:
    assert [link.display for link in parse(text).links] == ["d"]
