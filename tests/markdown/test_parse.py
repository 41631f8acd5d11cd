"""The whole parser: it never fails, its spans hold, it stays linear, and it agrees with CommonMark."""

import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from vaultbridge.limits import NOTE_PARSE_BYTES
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.sections import outline
from vaultbridge.markdown.text import Positions, decode

_FRAGMENTS = [
    "[[a]]", "![[b|c]]", "[[d#e|f]]", "[[", "]]", "[", "]", "[x](y.md)", "![", "](", "(", ")", "<z w.md>",
    '"t"', "#tag", "#", "##", "# ", "## h", "`", "``", "```", "~~~", "$", "$$", "%%", "%", "\\", "\\[",
    "\\#", "<", ">", "<b>", "</b>", "<!--", "-->", "<div>", "<a href='", "https://x.y/#z", "> ", ">",
    "> [!note]- t", "- ", "* ", "+ ", "1. ", "12) ", "[ ] ", "[x] ", "- [ ] ", "^id", " ^id-1", "[^1]",
    "[^1]: ", "^[in]", "k:: v", "[k:: ", "(k:: v)", "::", "|", "|-|-|", "a|b", "-|-", "---", "===", "-",
    "=", "***", "_", "*", "~", " ", "  ", "    ", "\t", "\n", "\n", "\n", "\n\n", "\r\n", "\r", "\xa0",
    "\u2028", "word", "é", "日本", "😀", "📅 2024-01-01", "🔼", "---\n", "tags: [a]\n", "a: b\n", "[r]: u",
    "{", "}", "!", "\ufeff", "\udcff", "\x00", "1984",
]  # fmt: skip
markdown = st.lists(st.sampled_from(_FRAGMENTS), max_size=24).map("".join)


def check(text: str, note: Note) -> None:
    """Check what must be true for every note."""
    positions = Positions(text)

    def check_spans(values: tuple[Any, ...]) -> None:
        for value in values:
            assert 0 <= value.start <= value.end <= len(text)

    for values in (note.headings, note.tags, note.links, note.tasks, note.blocks, note.callouts):
        check_spans(values)
    check_spans(note.footnotes)
    check_spans(note.fields)
    check_spans(note.problems)
    for link in note.links:
        assert text[link.start : link.end] == link.raw
        assert link.target or link.subpath
        assert positions.line_of(link.start) == link.line
    for tag in note.tags:
        written = text[tag.start : tag.end]
        assert written == f"#{tag.name}" if not tag.in_properties else written.removeprefix("#") == tag.name
        assert positions.line_of(tag.start) == tag.line
    for values in (note.headings, note.links, note.tasks, note.fields, note.footnotes, note.callouts):
        starts = [value.start for value in values]
        assert starts == sorted(starts)
    for heading in note.headings:
        assert 1 <= heading.level <= 6
        assert positions.line_of(heading.start) == heading.line
        assert "\n" not in heading.text
    for task in note.tasks:
        assert text[task.start : task.end] == task.status
        assert text[task.start - 1] == "[" and text[task.end] == "]"
        assert -1 <= task.heading < len(note.headings)
    for block in note.blocks:
        assert text[block.id_start : block.id_start + len(block.id) + 1] == f"^{block.id}"
        assert block.start <= block.id_start < block.end
        assert positions.line_of(block.id_start) == block.line
    for field in note.fields:
        assert positions.line_of(field.start) == field.line
    outline(note, text)


@settings(max_examples=800, deadline=None)
@given(markdown)
@example("")
@example("\n")
@example("---\n---")
@example("> - [ ] [[a]] ^x\n^y")
def test_any_markdown_gives_a_note_with_valid_spans(text: str) -> None:
    check(text, parse(text))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80))
def test_any_text_gives_a_note_with_valid_spans(text: str) -> None:
    check(text, parse(text))


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes_give_a_note_with_valid_spans(data: bytes) -> None:
    decoded = decode(data)
    check(decoded.text, parse(decoded.text))


@settings(max_examples=400, deadline=None)
@given(markdown)
def test_line_ends_do_not_change_what_a_note_says(text: str) -> None:
    unix = re.sub(r"\r\n?", "\n", text)
    plain, windows = parse(unix), parse(unix.replace("\n", "\r\n"))
    assert [(h.level, h.text, h.line) for h in plain.headings] == [
        (h.level, h.text, h.line) for h in windows.headings
    ]
    assert [(t.name, t.line) for t in plain.tags] == [(t.name, t.line) for t in windows.tags]
    assert [(x.target, x.subpath, x.line) for x in plain.links] == [
        (x.target, x.subpath, x.line) for x in windows.links
    ]
    assert [(t.status, t.text, t.line) for t in plain.tasks] == [
        (t.status, t.text, t.line) for t in windows.tasks
    ]
    assert [(b.id, b.line) for b in plain.blocks] == [(b.id, b.line) for b in windows.blocks]


# CommonMark's own words only: the app's additions and departures have their tests in test_scan.
_COMMON = [
    "# a", "## b", "#", "#c", "### d ###", "x", "y z", "- ", "* ", "+ ", "1. ", "2) ", "> ", ">", "```",
    "````", "~~~", "``` info", "`", "    ", "  ", "   ", " ", "\t", "\n", "\n", "\n", "\n\n", "***", "___",
    "- - -", "<div>", "</div>", "<!--", "-->", "<pre>", "</pre>", "<b>", "<?", "?>", "\\# e", "word",
    "a *b*", "1", "10. ",
]  # fmt: skip
_commonmark = MarkdownIt("commonmark")


def _list_top_headings(text: str) -> list[tuple[int, str, int]]:
    tokens = _commonmark.parse(text)
    return [
        (int(token.tag[1]), tokens[index + 1].content.strip(), (token.map or [0])[0] + 1)
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


_DEPARTURES = (
    r"^[ \t>]*(?:[-*+]|\d+[.)])[ \t].*\n(?:.*\S.*\n)*?[ \t]*>",  # a `>` below an item's text is the item's
    r">[ \t]*\t",  # columns start over behind a `>`
    r"^[ \t]*[-=]+[ \t]+$",  # an underline has no blanks behind it
)


def _differs_on_purpose(text: str) -> bool:
    return any(re.search(pattern, text, re.MULTILINE) for pattern in _DEPARTURES)


@settings(max_examples=1200, deadline=None)
@given(st.lists(st.sampled_from(_COMMON), max_size=16).map("".join))
@example("- a\n\n      # x\n# b")
@example("1. x\n\n   ```\n# a\n```\n# b")
@example("> ```\n# a\n")
@example("<div>\n# a\n\n# b")
@example("-\n\n  # a\n# b")
@example("- a\n - b\n  - c\n   - d\n    # e\n# f")
@example("\t# a\n-\t# b\n# c")
def test_headings_agree_with_commonmark(text: str) -> None:
    if _differs_on_purpose(text):
        return
    ours = [(heading.level, heading.text, heading.line) for heading in parse(text).headings]
    assert ours == _list_top_headings(text)


def test_a_note_beyond_the_cap_is_not_read() -> None:
    note = parse("# a\n" + "x" * (50 * 1024 * 1024))
    assert [problem.code for problem in note.problems] == ["too-large"]
    assert note.headings == ()


def test_the_cap_counts_bytes() -> None:
    assert parse("é" * (NOTE_PARSE_BYTES // 2 + 1)).problems[0].code == "too-large"
    assert parse("# a\n" + "é\n" * 1000).problems == ()


_HOSTILE = {
    "quotes": ">" * 10_000,
    "quotes with blanks": "> " * 10_000,
    "items": "- " * 10_000,
    "lines of quotes": "".join(">" * n + " a\n" for n in range(400)),
    "indented items": "".join(" " * (2 * n) + "- a\n" for n in range(300)),
    "brackets": "[" * 40_000 + "](x)",
    "open links": "[a](" * 20_000,
    "open links with titles": '[a](b "' * 10_000,
    "parentheses": "[](" + "(" * 40_000,
    "images": "![a](<b " * 10_000,
    "closed brackets": "]" * 40_000 + "](",
    "wikilinks": "[[a " * 20_000,
    "ticks": "".join("`" * n + " #a " for n in range(300)),
    "dollars": "$a #x " * 10_000,
    "stars": "*a **b " * 10_000 + "#x",
    "tags": "#a" * 30_000,
    "html": '<a b="' * 10_000 + "#x",
    "html comments": "a <!-- #x " * 8_000,
    "fields": "(a:: " * 10_000 + ")" * 10_000,
    "fields in brackets": "[a:: " * 10_000 + "]" * 10_000,
    "colons": "a:" * 30_000 + ":: x",
    "comments": "%% #a " * 10_000,
    "comment lines": "%%\n" * 20_000,
    "math lines": "a $$\n$$\n" * 8_000,
    "table": "|a" * 20_000 + "\n" + "|-" * 20_000 + "\n|#x",
    "delimiter rows": "a|b\n-|- x\n" * 6_000,
    "definitions": "[a]: b\n" * 8_000 + "===",
    "block ids in one quote": "> a ^x\n>\n" * 6_000,
    "footnotes": "[^a]: " * 10_000,
    "inline footnotes": "^[" * 20_000,
    "blanks": " " * 60_000 + "x\n" + "\t" * 60_000 + "x",
    "blanks in a heading": "# a " + " " * 60_000 + "#",
    "escapes": "\\" * 60_000 + "$ #a $",
    "signs in a task": "- [ ] " + "📅 " * 20_000,
    "lists in properties": "---\na: " + "[" * 60_000 + "\n---\n",
    "dashes in properties": "---\n" + "- " * 30_000 + "\n---\n",
    "blanks in properties": "---\na:" + " " * 60_000 + "\n---\n",
    "keys in properties": "---\n" + "".join(f"k{n}: v\n" for n in range(8_000)) + "---\n",
}


@pytest.mark.timeout(100)
@pytest.mark.parametrize("name", _HOSTILE)
def test_hostile_text_is_read_in_bounded_work(name: str) -> None:
    """Each takes a fraction of a second when the work grows with the size; one that grows with its square
    takes minutes, and the test's own bound ends it."""
    check(_HOSTILE[name], parse(_HOSTILE[name]))


def test_a_real_note_is_read_as_a_whole() -> None:
    text = (
        "---\r\ntitle: Day\r\ntags: [daily]\r\nup: '[[2024]]'\r\naliases: [Monday]\r\n---\r\n"
        "# Monday [[2024-01-01]]\r\n\r\nSaw ![[photo.png|200]] #people/ada ^saw\r\n\r\n"
        "## Tasks\r\n- [ ] call [Ada](people/Ada%20L.md) 📅 2024-01-02\r\n- [x] mood:: good\r\n\r\n"
        "> [!quote]+ Said\r\n> It is[^1] `#not a tag`\r\n\r\n[^1]: so\r\n"
    )
    note = parse(text)
    assert note.properties is not None and note.properties.values["title"] == "Day"
    assert note.aliases == ("Monday",)
    assert [(h.level, h.text, h.line) for h in note.headings] == [
        (1, "Monday [[2024-01-01]]", 7),
        (2, "Tasks", 11),
    ]
    assert [tag.name for tag in note.tags] == ["daily", "people/ada"]
    assert [(link.kind, link.target) for link in note.links] == [
        ("property", "2024"),
        ("wiki", "2024-01-01"),
        ("wiki", "photo.png"),
        ("markdown", "people/Ada L.md"),
    ]
    assert [(task.status, task.description, task.heading) for task in note.tasks] == [
        (" ", "call [Ada](people/Ada%20L.md)", 1),
        ("x", "mood:: good", 1),
    ]
    assert [block.id for block in note.blocks] == ["saw"]
    assert [(callout.type, callout.title, callout.fold) for callout in note.callouts] == [
        ("quote", "Said", "+")
    ]
    assert [(f.kind, f.id) for f in note.footnotes] == [("reference", "1"), ("definition", "1")]
    assert [(field.key, field.value) for field in note.fields] == [("mood", "good")]
    assert note.problems == ()
