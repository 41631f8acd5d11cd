"""Parsing the inside of a link (docs/obsidian.md 2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.links.syntax import parse_written_link
from vaultbridge.markdown.inline.links import (
    decode_uri,
    internal_target,
    read_destination,
    read_wiki_link,
    split_wiki,
)
from vaultbridge.markdown.parse import find_labels, parse


@pytest.mark.parametrize(
    ("inside", "target", "subpath", "display"),
    [
        ("a", "a", "", None),
        ("a|b", "a", "", "b"),
        ("a||b", "a", "", "|b"),
        ("|x", "|x", "", None),
        ("a|", "a", "", ""),
        ("a\\|b", "a", "", "b"),
        ("a#H", "a", "#H", None),
        ("a#H1#H2|d", "a", "#H1#H2", "d"),
        ("a#^block", "a", "#^block", None),
        ("doc.pdf#page=3", "doc.pdf", "#page=3", None),
        ("#H", "", "#H", None),
        ("#H|d", "", "#H", "d"),
        (" a | b ", "a", "", "b"),
        ("a #h", "a ", "#h", None),
        ("https://x.y/z", "https://x.y/z", "", None),
        ("a%20b", "a%20b", "", None),
        ("i.png|100x145", "i.png", "", "100x145"),
        ("a]b", "a]b", "", None),
    ],
)
def test_a_wikilink_splits_at_the_first_bar_and_the_first_hash(
    inside: str, target: str, subpath: str, display: str | None
) -> None:
    assert split_wiki(inside) == (target, subpath, display)


@pytest.mark.parametrize("raw", ["[[ ]]", "![[ ]]", "[[ | ]]"])
def test_a_wikilink_that_names_nothing_is_none(raw: str) -> None:
    assert read_wiki_link(raw, "wiki", 1, 0) is None


def test_an_embed_covers_its_mark() -> None:
    link = read_wiki_link("![[a]]", "wiki", 3, 7)
    assert link is not None
    assert (link.embed, link.line, link.start, link.end, link.raw) == (True, 3, 7, 13, "![[a]]")


@pytest.mark.parametrize(
    ("text", "written", "rest"),
    [
        ("(a)x", "a", "x"),
        ("( a )x", "a", "x"),
        ("()x", "", "x"),
        ('(a "t")x', "a", "x"),
        ("(a 't')", "a", ""),
        ("(a (t))", "a", ""),
        ('(a\n"t")', "a", ""),
        ('(<a b> "t")', "a b", ""),
        ("(<>)", "", ""),
        ("(<a\\>b>)", "a\\>b", ""),
        ("(a(b(c))d)e", "a(b(c))d", "e"),
        ("(a\\)b)", "a\\)b", ""),
        ("(a\\b)", "a\\b", ""),
        ('(a"t")', 'a"t"', ""),
        ("(" + "(" * 8 + ")" * 8 + ")", "(" * 8 + ")" * 8, ""),
    ],
)
def test_a_destination_ends_where_commonmark_says(text: str, written: str, rest: str) -> None:
    read = read_destination(text, 0)
    assert read is not None
    assert (read[0], text[read[1] :]) == (written, rest)


@pytest.mark.parametrize(
    "text",
    [
        "a b",
        "(a b)",
        "(a",
        "(a(b)",
        "(<a)",
        "(<a\nb>)",
        '(a "t)',
        "(a 't\n\nu')",
        "(a\x01)",
        "(" * 30 + ")" * 30,
    ],
)
def test_what_is_not_a_destination_gives_none(text: str) -> None:
    assert read_destination(text, 0) is None


@pytest.mark.parametrize(
    ("written", "leads"),
    [
        ("note.md", ("note.md", "")),
        ("a%20b.md#My%20head", ("a b.md", "#My head")),
        ("a%23b.md", ("a%23b.md", "")),
        ("#only", ("", "#only")),
        ("./a:b.md", ("./a:b.md", "")),
        ("../a.md", ("../a.md", "")),
        ("www.example.org", ("www.example.org", "")),
        ("/root.md", ("/root.md", "")),
        ("a\\_b.md", ("a_b.md", "")),
        ("a&amp;b.md", ("a&b.md", "")),
        ("a&b.md", ("a&b.md", "")),
        ("caf%C3%A9.md", ("café.md", "")),
        ("50%.md", ("50%.md", "")),
        ("%E0%A4%A.md", ("%E0%A4%A.md", "")),
        ("%FF.md", ("%FF.md", "")),
        ("https://example.org", None),
        ("mailto:a@b.c", None),
        ("a:b", None),
        ("", None),
    ],
)
def test_a_destination_is_internal_unless_it_has_a_colon(written: str, leads: tuple[str, str] | None) -> None:
    assert internal_target(written) == leads


def test_reserved_characters_stay_encoded() -> None:
    """ECMAScript's decodeURI keeps `;/?:@&=+$,#`."""
    text = "".join(f"%{ord(character):02X}" for character in ";/?:@&=+$,#")
    assert decode_uri(text) == text
    assert decode_uri("%41%2F%42%5B%5D") == "A%2FB[]"


@given(st.text(max_size=20))
def test_decoding_what_javascript_encodes_gives_it_back(text: str) -> None:
    kept = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.!~*'();/?:@&=+$,#")
    encoded = "".join(c if c in kept else "".join(f"%{b:02X}" for b in c.encode()) for c in text)
    assert decode_uri(encoded) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1]: Notes/Old%20name.md", [("[1]: Notes/Old%20name.md", "Notes/Old name.md", "")]),
        ("   [1]: <Old name.md#Head> 'title'", [("[1]: <Old name.md#Head>", "Old name.md", "#Head")]),
        ("[1]:\n  a.md\n[2]: b\n[a]", [("[1]:\n  a.md", "a.md", ""), ("[2]: b", "b", "")]),
        ("> [1]:\n> a.md", [("[1]:\n> a.md", "a.md", "")]),
        ("- [1]: a.md\n", [("[1]: a.md", "a.md", "")]),
        ("[1]: a_(b).md\nHead\n---\n", [("[1]: a_(b).md", "a_(b).md", "")]),
        ("[1]: #Head\n", [("[1]: #Head", "", "#Head")]),
        ("\\[1]: a.md", []),
        ("[1]: https://example.org", []),
        ("[//]: # (a comment)", []),
        ("[comment]: <> (a comment)", []),
        ("[1]: a.md and more text", []),
        ("[^1]: a.md", []),
        ("[ ]: a.md", []),
        ("text\n[1]: a.md", []),
        ("    [1]: a.md", []),
        ("~~~\n[1]: a.md\n~~~", []),
        ("<div>\n[1]: a.md\n</div>", []),
    ],
)
def test_reference_definitions_are_links(text: str, expected: list[tuple[str, str, str]]) -> None:
    """CommonMark 4.7 says where one may be. Its title is not part of it."""
    links = parse(text).links
    assert [(link.raw, link.target, link.subpath) for link in links] == expected
    assert all(text[link.start : link.end] == link.raw and link.markdown for link in links)
    assert all(parse_written_link(link.raw).raw == link.raw for link in links)


def test_labels_are_those_of_every_definition_but_comments() -> None:
    """A destination on the web is no link to a file, and its label is taken all the same."""
    text = (
        "[ОДИН  two]: a.md\n[Web]: <https://example.org> 't'\n[//]: # (c)\n\n> [q\n> r]: b.md\n\n"
        "~~~\n[no]: a.md\n~~~\n"
    )
    assert find_labels(text) == {"один two", "web", "q r"}
