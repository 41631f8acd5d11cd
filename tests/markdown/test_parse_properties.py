"""The properties block: where it is, its tags, aliases and links (docs/obsidian.md 5, and 2 for links)."""

import pytest

from vaultbridge.markdown.parse import Frontmatter, read_frontmatter
from vaultbridge.markdown.text import split_with_starts


def read(text: str) -> Frontmatter:
    return read_frontmatter(text, split_with_starts(text)[1])


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("---\na: 1\n---\nbody", 13),
        ("---\na: 1\n---", 12),
        ("---\na: 1\n--- \t\nbody", 15),
        ("---\r\na: 1\r\n---\r\nbody", 16),
        ("---\ra: 1\r---\rbody", 13),
        ("---\n---\nbody", 8),
        ("---\n\n---\n", 9),
        ("---\n# only a comment\n---\n", 25),
    ],
)
def test_a_block_runs_from_offset_0_to_the_next_line_of_three_dashes(text: str, end: int) -> None:
    front = read(text)
    assert front.end == end
    assert front.properties is not None and front.properties.valid
    assert text[front.properties.body_start - 1] in "\r\n"
    assert text[front.properties.body_end :].startswith("---")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: 1\n---\n",
        " ---\na: 1\n---\n",
        "\n---\na: 1\n---\n",
        "--- \na: 1\n---\n",
        "----\na: 1\n----\n",
        "---x\na: 1\n---\n",
        "\ufeff---\na: 1\n---\n",
        "---\n\nSome text after a break, which never closes\n",
    ],
)
def test_no_other_text_is_a_block_of_properties(text: str) -> None:
    front = read(text)
    assert (front.properties, front.end, front.problems) == (None, 0, ())


@pytest.mark.parametrize("text", ["---\na: 1\nbody\n", "---\n\ntags: [x]\n ---\n", "---\ntitle:\n---- \n"])
def test_a_block_that_is_begun_but_never_closed_is_reported(text: str) -> None:
    front = read(text)
    assert front.properties is None
    assert [problem.code for problem in front.problems] == ["unclosed-properties"]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("---\na: 1\nb: [\n---\n# H\n", "bad-yaml", 4),
        ("---\na: 1\nA: 2\na: 3\n---\n", "duplicate-key", 4),
        ("---\njust words\n---\n", "bad-yaml", 2),
        ("---\n- a\n- b\n---\n", "bad-yaml", 2),
        ("---\na: {{date}\n---\n", "bad-yaml", 3),
    ],
)
def test_an_unreadable_block_is_not_body_text_but_has_no_values(text: str, code: str, line: int) -> None:
    """docs/obsidian.md 5: report it, never rewrite it."""
    front = read(text)
    (problem,) = front.problems
    assert (problem.code, problem.line) == (code, line)
    assert problem.message.startswith(f"Line {line}: ")
    assert front.properties is not None
    assert not front.properties.valid and front.properties.values == {}
    assert front.end == text.index("---\n", 4) + 4


@pytest.mark.parametrize(
    ("yaml", "tags"),
    [
        ("tags: one", ["one"]),
        ("tags: [one, two/three]", ["one", "two/three"]),
        ("tags:\n  - one\n  - '#two'\n  - \"three\"", ["one", "two", "three"]),
        ("TAGS: one", ["one"]),
        ("Tags: '#one'", ["one"]),
        ("tags: a, b", []),
        ("tags: a b", []),
        ("tags: [a b, c]", ["c"]),
        ("tags: ['  padded  ', '']", ["padded"]),
        ("tags: [2024, true, null, 1.5, x]", ["x"]),
        ("tags: ['2024']", ["2024"]),
        ("tags: 2024", []),
        ("tags: #one", []),
        ("tags: '#'", []),
        ("tags:", []),
        ("tags: {a: b}", []),
        ("tags: [[a]]", []),
        ("tag: one", []),
        ("tags: &t [a]\nother: *t", ["a"]),
        ("tags: [*x]", []),
        ("tags: [naïve, 日本, 🎉]", ["naïve", "日本", "🎉"]),
    ],
)
def test_tags_are_strings_without_blanks(yaml: str, tags: list[str]) -> None:
    assert [tag.name for tag in read(f"---\n{yaml}\n---\n").tags] == tags


@pytest.mark.parametrize(
    ("yaml", "aliases"),
    [
        ("aliases: One thing", ("One thing",)),
        ("aliases: [One, Two words]", ("One", "Two words")),
        ("Aliases:\n- ' padded '\n- ''\n- 7", ("padded",)),
        ("aliases: a, b", ("a, b",)),
        ("alias: One", ()),
        ("aliases:", ()),
    ],
)
def test_aliases_are_strings_with_blanks_allowed(yaml: str, aliases: tuple[str, ...]) -> None:
    assert read(f"---\n{yaml}\n---\n").aliases == aliases


@pytest.mark.parametrize(
    "text",
    [
        "---\nx: é\ntags:\n  - '#one'\n  - two\n---\n",
        "---\r\nx: 😀\r\ntags: [\"#one\", two]\r\n---\r\n",
        "---\nx: {a: [b]}\ntags: [ '#one' ,two ]\n---\n",
    ],
)  # fmt: skip
def test_a_tags_span_covers_the_value_without_quotes(text: str) -> None:
    tags = read(text).tags
    assert [text[tag.start : tag.end] for tag in tags] == ["#one", "two"]
    assert all(tag.in_properties for tag in tags)
    lines = split_with_starts(text)[0]
    assert all(tag.name in lines[tag.line - 1] for tag in tags)


@pytest.mark.parametrize(
    ("yaml", "links"),
    [
        ('up: "[[Home]]"', [("up", "Home", "", None, "[[Home]]")]),
        ("up: '[[Home#A|b]]'", [("up", "Home", "#A", "b", "[[Home#A|b]]")]),
        ('up:\n  - "[[A]]"\n  - "[[B]]"', [("up", "A", "", None, "[[A]]"), ("up", "B", "", None, "[[B]]")]),
        ('up: {deep: ["[[A]]"]}', [("up", "A", "", None, "[[A]]")]),
        ('up: "[text](some%20note.md)"', [("up", "some note.md", "", "text", "[text](some%20note.md)")]),
        ('up: "[text](https://example.org)"', []),
        ('up: "see [[Home]]"', []),
        ('up: "[[Home]] and more"', []),
        ('up: "[[A]] [[B]]"', []),
        ("up: [[Home]]", []),
        ('up: "![[image.png]]"', []),
        ('up: "[[]]"', []),
        ('up: "[a](b) (c)"', []),
        ('up: " [[Home]] "', [("up", "Home", "", None, "[[Home]]")]),
        ("up: |\n  [[Home]]", [("up", "Home", "", None, "[[Home]]")]),
        ("'[[not]]': x", []),
    ],
)
def test_a_property_is_a_link_when_its_whole_value_is_one(
    yaml: str, links: list[tuple[str, str, str, str | None, str]]
) -> None:
    """docs/obsidian.md 2: `[[…]]`, and `[t](dest)` since 1.11."""
    text = f"---\nfirst: é😀\n{yaml}\n---\n"
    found = read(text).links
    assert [
        (link.property_name, link.target, link.subpath, link.display, link.raw) for link in found
    ] == links
    for link in found:
        assert link.kind == "property" and not link.embed
        assert text[link.start : link.end] == link.raw
        assert link.raw in split_with_starts(text)[0][link.line - 1]


def test_a_link_with_escapes_keeps_its_written_form() -> None:
    text = '---\nup: "[[a \\"b\\"]]"\n---\n'
    (link,) = read(text).links
    assert link.target == 'a "b"'
    assert text[link.start : link.end] == link.raw == '[[a \\"b\\"]]'


def test_invalid_bytes_in_properties_do_not_stop_the_reading() -> None:
    front = read("---\na: x\udcffy\ntags: [t]\nc: {d: e}\n---\n")
    assert front.properties is not None
    assert front.properties.values == {"a": "x\ufffdy", "tags": ["t"], "c": {"d": "e"}}


@pytest.mark.parametrize("mark", ["\ufeff", "\ufeff\n", "\ufeff\ufeff"])
def test_a_byte_order_mark_inside_the_block_moves_no_position(mark: str) -> None:
    text = f'---\n{mark}up: "[[Home]]"\nlist: ["[[A|b]]"]\ntags: [x/y]\n---\n'
    front = read(text)
    assert [text[link.start : link.end] for link in front.links] == ["[[Home]]", "[[A|b]]"]
    assert [text[tag.start : tag.end] for tag in front.tags] == ["x/y"]
    bad = f"---\n{mark}a: [\n---\n"
    assert bad[read(bad).problems[0].start - 1] == "\n"


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\x07", "\x0c", "\x7f", "\x9f"])
def test_a_character_that_yaml_1_1_stops_at_is_a_character(char: str) -> None:
    text = f'---\npasted: one{char}two\nkey{char}: "a{char}b"\nup: "[[Home{char}]]"\ntags: [x]\n---\nbody'
    front = read(text)
    assert front.properties is not None
    assert front.properties.values == {
        "pasted": f"one{char}two",
        f"key{char}": f"a{char}b",
        "up": f"[[Home{char}]]",
        "tags": ["x"],
    }
    assert [text[link.start : link.end] for link in front.links] == [f"[[Home{char}]]"]
    assert [text[tag.start : tag.end] for tag in front.tags] == ["x"]


@pytest.mark.parametrize("blank", ["\t", " \t ", "\t\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_line_of_blanks_may_have_a_tab(blank: str, line_end: str) -> None:
    text = f"---\n{blank}\na: 1\n{blank}\nlist:\n  - x\n{blank}\n  - y\n{blank}\n---\n".replace(
        "\n", line_end
    )
    front = read(text)
    assert front.properties is not None
    assert front.properties.values == {"a": 1, "list": ["x", "y"]}
    kept = read("---\na: |\n  x\n  \t\n  y\n---\n").properties
    assert kept is not None and kept.values == {"a": "x\n\t\ny\n"}


def test_characters_that_stand_for_hidden_ones_stay_what_they_are() -> None:
    for own in ("\U0010f000", "\U0010f000\u00e9\U0010f100"):
        properties = read(f"---\na: '{own}'\n---\n").properties
        assert properties is not None and properties.values == {"a": own}
