"""Links, tags and footnotes in a note (docs/obsidian.md 2, 6, 7)."""

import pytest

from vaultbridge.markdown.parse import parse


def list_links(text: str) -> list[str]:
    found = parse(text).links
    assert all(text[link.start : link.end] == link.raw for link in found)
    return [link.raw for link in found]


def list_tags(text: str) -> list[str]:
    found = parse(text).tags
    assert all(text[tag.start : tag.end] == f"#{tag.name}" for tag in found)
    return [tag.name for tag in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[a]] and ![[b]]", ["[[a]]", "![[b]]"]),
        ("[[a [[b]] c]]", ["[[b]]"]),
        ("[[a]b]]", ["[[a]b]]"]),
        ("[[a]]]", ["[[a]]"]),
        ("[[[a] b]]", ["[[[a] b]]"]),
        ("[[a\nb]]", []),
        ("[[]]", []),
        ("[[a", []),
        ("\\[[a]]", []),
        ("[\\[a]]", []),
        ("\\![[a]]", ["[[a]]"]),
        ("!![[a]]", ["![[a]]"]),
        ("\\\\[[a]]", ["[[a]]"]),
        ("`[[a]]`", []),
        ("`` ` [[a]] `` [[b]]", ["[[b]]"]),
        ("`[[a]] [[b]]", ["[[a]]", "[[b]]"]),
        ("`a\nb [[c]]` [[d]]", ["[[d]]"]),
        ("$[[a]]$", []),
        ("$5 [[a]] $6", ["[[a]]"]),
        ("$$x [[a]]$$ [[b]]", ["[[b]]"]),
        ("%%[[a]]%% [[b]]", ["[[a]]", "[[b]]"]),
        ("a <!-- [[b]] --> [[c]]", ["[[c]]"]),
        ("a <b>[[c]]</b>", ["[[c]]"]),
        ('a <i title="[[b]]">x</i>', []),
        ("a <https://x/[[b]]>", []),
        ("~~[[a]]~~ ==[[b]]== **[[c]]** _[[d]]_", ["[[a]]", "[[b]]", "[[c]]", "[[d]]"]),
        ("# h [[a]]", ["[[a]]"]),
        ("h [[a]]\n---", ["[[a]]"]),
        ("> [!note] [[a]]\n> [[b]]", ["[[a]]", "[[b]]"]),
        ("[^1]: see [[a]]\n\n    and [[b]]", ["[[a]]", "[[b]]"]),
        ("x^[a note [[a]] here]", ["[[a]]"]),
        ("- [ ] [[a]]", ["[[a]]"]),
        ("|[[a\\|b]]|\n|---|\n|[[c\\|d]] [[e]]|", ["[[a\\|b]]", "[[c\\|d]]", "[[e]]"]),
        ("|a|b|\n|---|---|\n|[[c|d]]|", []),
        ("    [[a]]", []),
        ("```\n[[a]]\n```\n[[b]]", ["[[b]]"]),
        ("<div>[[a]]</div>\n[[b]]\n\n[[c]]", ["[[c]]"]),
        ("%%\n[[a]]\n\n[[b]]\n%%\n[[c]]", ["[[a]]", "[[b]]", "[[c]]"]),
        ("$$\n[[a]]\n$$\n[[b]]", ["[[b]]"]),
        ("text $$\nx\n$$\n[[swallowed]]", []),
        ("[[a]](b.md)", ["[[a]]"]),
    ],
)
def test_wikilinks_count_where_the_app_counts_them(text: str, expected: list[str]) -> None:
    assert list_links(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](b.md)", ["[a](b.md)"]),
        ("![a](b.png)", ["![a](b.png)"]),
        ("![a|100](b.png)", ["![a|100](b.png)"]),
        ('[a](b.md "title")', ['[a](b.md "title")']),
        ("[a](<b c.md>)", ["[a](<b c.md>)"]),
        ("[a](b c.md)", []),
        ("[a](https://x.y)", []),
        ("[a](b(c).md)", ["[a](b(c).md)"]),
        ("[a [b] c](d.md)", ["[a [b] c](d.md)"]),
        ("[a](b.md)[c](d.md)", ["[a](b.md)", "[c](d.md)"]),
        ("[a [b](c.md) d](e.md)", ["[b](c.md)"]),
        ("[![a](b.png)](c.md)", ["[![a](b.png)](c.md)", "![a](b.png)"]),
        ("[![a](b.png)](https://x.y)", ["![a](b.png)"]),
        ("[![[a.png]]](b.md)", ["[![[a.png]]](b.md)", "![[a.png]]"]),
        ("[x [[a]] y](b.md)", ["[[a]]"]),
        ("[a\nb](c.md)", ["[a\nb](c.md)"]),
        ("\\[a](b.md)", []),
        ("[a\\](b.md)", []),
        ("[a] (b.md)", []),
        ("`[a](b.md)`", []),
        ("[`]`](b.md)", ["[`]`](b.md)"]),
        ("[a][ref]\n\n[ref]: b.md", ["[ref]: b.md"]),
        ("[a]: b.md\n[c](d.md)", ["[a]: b.md", "[c](d.md)"]),
        ("[](a.md)", ["[](a.md)"]),
        ("[a]()", []),
        ("[a](#h)", ["[a](#h)"]),
        ("> [a\n> b](c.md)", ["[a\n> b](c.md)"]),
        ("- [a](b.md)\n  [c](d.md)", ["[a](b.md)", "[c](d.md)"]),
        ("]( [a](b.md)", ["[a](b.md)"]),
        ("[a](b.md", []),
        ("![a](b.png", []),
    ],
)
def test_markdown_links_follow_commonmark(text: str, expected: list[str]) -> None:
    assert list_links(text) == expected


def test_a_markdown_link_gives_its_parts() -> None:
    text = "x [the *text*](some%20note.md#A%20b 't') ![100](<i j.png>)"
    first, second = parse(text).links
    assert (first.target, first.subpath, first.display) == ("some note.md", "#A b", "the *text*")
    assert (first.kind, first.markdown, first.embed) == ("markdown", True, False)
    assert (second.target, second.display, second.embed) == ("i j.png", "100", True)


def test_links_come_in_the_order_of_the_text_with_their_lines() -> None:
    note = parse("a [![x](1.png) [[2]]](3.md)\n\n[[4]]\r\n[[5]]\r[[6]]")
    assert [(link.target, link.line) for link in note.links] == [
        ("1.png", 1),
        ("2", 1),
        ("4", 3),
        ("5", 4),
        ("6", 5),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#a #b/c #d-e #f_g", ["a", "b/c", "d-e", "f_g"]),
        ("#1984 #2024-01 #1a #a1", ["2024-01", "1a", "a1"]),
        ("#a/ #b// #/", ["a", "b"]),
        ("#a#b", ["a", "b"]),
        ("a#b", []),
        ('(#a) "#b" .#c \'#d *#e* =#f', []),
        ("\xa0#a\u3000#b\u2003#c", ["a", "b", "c"]),
        ("\\#a", []),
        ("\\*#a", ["a"]),
        ("\\##a", ["a"]),
        ("#日本語 #émoji😀 #🎉 #ünï", ["日本語", "émoji😀", "🎉", "ünï"]),
        ("#a, #b. #c! #d? #e: #f; #g)", ["a", "b", "c", "d", "e", "f", "g"]),
        ("#a\u2019s #b\u2014c #d\u200be", ["a", "b", "d"]),
        ("#a|b #c[d #e{f #g=h #i+j", ["a", "c", "e", "g", "i"]),
        ("#a\\b", ["a"]),
        ("# #a", ["a"]),
        ("## h #a ##", ["a"]),
        ("#", []),
        ("##a", []),
        ("# \n#a", ["a"]),
        ("`#a` $#b$ <!-- #c -->", []),
        ("%%#a #b%%", ["b"]),
        ("[x #a](b.md) #c", ["c"]),
        ("[x #a](https://y.z) #c", ["c"]),
        ("[x #a] #c", ["a", "c"]),
        ("[[a #b]] [[c|#d]]", []),
        ("https://x.y/#frag <https://x.y/ #a>", ["a"]),
        ("[a](b.md#c) [[d#e]]", []),
        ("| #a |\n|---|\n|#b| #c |", ["a", "b", "c"]),
        ("> [!note] #a\n> - #b", ["a", "b"]),
        ("- #a\n- [ ] #b", ["a", "b"]),
        ("    #a", []),
        ("```\n#a\n```", []),
        ("<div>\n#a\n</div>", []),
        ("x^[note #a]", ["a"]),
        ("a\n#b\n #c", ["b", "c"]),
        ("#²", ["²"]),
        ("1. #a\n2. #b", ["a", "b"]),
    ],
)
def test_tags_start_and_end_by_the_apps_rule(text: str, expected: list[str]) -> None:
    assert list_tags(text) == expected


def test_tags_of_the_properties_come_first() -> None:
    note = parse("---\ntags: [p]\n---\n#b #p\n")
    assert [(tag.name, tag.line, tag.in_properties) for tag in note.tags] == [
        ("p", 2, True),
        ("b", 4, False),
        ("p", 4, False),
    ]


def test_footnotes_are_references_definitions_and_inline_notes() -> None:
    text = "a[^1] b^[in *line*] c[^n-2]\n\n[^1]: One [^n-2]\n    more\n\n[^n-2]: Two\n"
    assert [(note.kind, note.id, note.text, note.line) for note in parse(text).footnotes] == [
        ("reference", "1", "", 1),
        ("inline", "", "in *line*", 1),
        ("reference", "n-2", "", 1),
        ("definition", "1", "One [^n-2]", 3),
        ("reference", "n-2", "", 3),
        ("definition", "n-2", "Two", 6),
    ]


def test_a_footnote_definition_spans_its_indented_lines() -> None:
    text = "[^1]: One\n    more\n\n    last\n\nafter\n"
    (definition,) = parse(text).footnotes
    assert text[definition.start : definition.end] == "[^1]: One\n    more\n\n    last"


@pytest.mark.parametrize("text", ["`[^1]`", "\\[^1]", "[^ 1]", "[^]", "    [^1]: x", "%% [^1] %%", "$[^1]$"])
def test_what_is_not_a_footnote(text: str) -> None:
    assert parse(text).footnotes == ()
