"""A note in which only targets of links changed is derived from what the index knows: as the parser reads
it."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.index import Vault
from vaultbridge.index.store.relink import Known, relink
from vaultbridge.index.store.rows import Rows, build_rows, parse_rows
from vaultbridge.markdown.parse import parse

FRONTMATTER = (
    "",
    "---\ntags: [a, b]\nrelated: '[[Hub]]'\naliases: [x]\nn: 123456789012345678901234567890\n---\n",
    "---\nbad: [\n---\n",
    "---\nunclosed: x\n",
)
TARGETS = (
    "Hub",
    "Hub renamed",
    "a/Hub",
    "été 🎈",
    "x y",
    "it's (b), c",
    "*a*",
    "`c",
    "a<b",
    "x:: y",
    "a\\",
    "1",
)
LINES = (
    "text LINK and LINK more #tag ^id",
    "LINK",
    "- item LINK",
    "  - nested 🎈 LINK\n    more LINK",
    "1. LINK\n\n   > quoted in it LINK",
    "- [ ] task LINK 📅 2024-01-01",
    "> [!note] Title LINK\n> body LINK",
    "> lazy\nLINK",
    "| a | b |\n| --- | --- |\n| LINK | 𝒳 LINK |",
    "| LINK\n| ---",
    "# Heading LINK",
    "LINK\n---",
    "Under LINK\n===",
    "```\nLINK\n```",
    "    LINK",
    "`LINK` and LINK",
    "$x LINK$ and $$ LINK $$",
    "%% LINK %% LINK",
    "%%\nLINK\n%%",
    "a [^1] LINK\n\n[^1]: note LINK\n    more LINK",
    "see ^[inline LINK\n and LINK] LINK",
    "key:: LINK",
    "LINK key:: value",
    "[key:: LINK] (other:: LINK)",
    "[text](LINK) LINK",
    '[text](dest "LINK") LINK',
    "[text](dest '\nLINK') LINK",
    "[LINK](dest) [a LINK b](c)",
    "<a b=LINK> LINK",
    "<a b='LINK> LINK'>",
    "<div>\nLINK\n</div>",
    "<!-- LINK\n-->",
    "LINK: x",
    "[a LINK]: x",
    "\\LINK !LINK \\!LINK #LINK ^LINK",
    "[LINK] LINK]] [[LINK",
    "LINK^id2",
    "^id2",
    "#tag",
    "",
)


@st.composite
def _drafts(draw: st.DrawFn) -> tuple[str, str]:
    """A note, and the same note with other targets in some of its links."""
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    lines = draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=6))
    between = draw(st.sampled_from(["\n", "\n\n", "\n \n"]))
    pattern = draw(st.sampled_from(FRONTMATTER)) + between.join(lines) + draw(st.sampled_from(["", "\n"]))
    form = st.sampled_from(
        ["[[{}]]", "![[{}]]", "[[{}#Part]]", "[[{}|shown 🎈]]", "[[{}\\|shown]]", "[[{} ]]"]
    )
    before: list[str] = []
    after: list[str] = []
    for piece in re.split("(LINK)", pattern):
        if piece != "LINK":
            before.append(piece)
            after.append(piece)
            continue
        written, old = draw(form), draw(st.sampled_from(TARGETS))
        new = draw(st.sampled_from((old, *TARGETS)))
        before.append(written.format(old))
        after.append(written.format(new))
    return "".join(before).replace("\n", end), "".join(after).replace("\n", end)


def rows_of(text: str) -> Rows:
    return build_rows(parse(text), text, "hash")


@settings(max_examples=800, deadline=None)
@given(_drafts())
@example(("[x]([[a b]])", "[x]([[ab]])"))
@example(("<a b=[[x y]]>", "<a b=[[xy]]>"))
@example(("[[Hub]] k:: v", "[[Hub 2]] k:: v"))
@example(("[![[Hub]]](x) [[Hub]]", "[![[Hub]]](x) [[Hub 2]]"))
def test_what_is_derived_equals_what_is_parsed(drafts: tuple[str, str]) -> None:
    before, after = drafts
    derived = relink(Known(rows_of(before).note, before), after)
    if derived is not None:
        assert build_rows(derived, after, "hash") == rows_of(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "See [[Hub]], and [[Hub#Part|it]].\n\n# After\n",
            "See [[Hub 2]], and [[Hub 2#Part|it]].\n\n# After\n",
        ),
        (
            "---\ntags: [x]\n---\n- [[Hub]]\n  - 🎈 ![[Hub]] ^id\n",
            "---\ntags: [x]\n---\n- [[é]]\n  - 🎈 ![[é]] ^id\n",
        ),
        ("> [!note] T\r\n> [[Hub]]\r\n\r\n#tag", "> [!note] T\r\n> [[a/Hub]]\r\n\r\n#tag"),
        ("| a |\n| - |\n| [[Hub\\|x]] |\n\n- [ ] task", "| a |\n| - |\n| [[H\\|x]] |\n\n- [ ] task"),
        ("[a](b.md)\n\n[[Hub]] [c](d.md)", "[a](b.md)\n\n[[Hub 2]] [c](d.md)"),
    ],
)
def test_a_renamed_link_is_derived(before: str, after: str) -> None:
    derived = relink(Known(rows_of(before).note, before), after)
    assert derived is not None
    assert build_rows(derived, after, "hash") == rows_of(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[[Hub]]", "[[Hub]] more"),
        ("[[Hub]] a", "[[Hub]]"),
        ("[[Hub]]", "![[Hub]]"),
        ("[[Hub|a]]", "[[Hub|b]]"),
        ("[[Hub]]", "[[Hub|b]]"),
        ("[[Hub]]", "[[`Hub]]"),
        ("# [[Hub]]", "# [[Hub 2]]"),
        ("- [ ] [[Hub]]", "- [ ] [[Hub 2]]"),
        ("[a](Hub.md)", "[a](Hub2.md)"),
        ("---\na: '[[Hub]]'\n---", "---\na: '[[Hub 2]]'\n---"),
        ("text", "other"),
    ],
)
def test_anything_else_is_parsed(before: str, after: str) -> None:
    assert relink(Known(rows_of(before).note, before), after) is None


def test_a_text_that_cannot_be_decoded_is_parsed() -> None:
    known = Known(rows_of("[[Hub]] a").note, "[[Hub]] a")
    data = b"[[Hub 2]] a"
    assert parse_rows("note", data, "hash", lambda text: relink(known, text)) == parse_rows(
        "note", data, "hash"
    )
    broken = b"[[Hub 2]] \xff"
    assert parse_rows("note", broken, "hash", lambda _: pytest.fail("asked")).problems


def test_an_index_in_which_links_were_renamed_equals_a_rebuilt_one(empty_vault: Vault) -> None:
    texts = {f"n{n}.md": line.replace("LINK", "[[Hub]]") for n, line in enumerate(LINES)}
    empty_vault.write({"Hub.md": "", "Hub 2.md": "", **texts})
    empty_vault.sync_all()
    for old, new in (("[[Hub]]", "[[Hub 2]]"), ("[[Hub 2]]", "[[a/Hub]]"), ("[[a/Hub]]", "[[Hub]]")):
        texts = {path: text.replace(old, new) for path, text in texts.items()}
        empty_vault.write(dict(texts))
        empty_vault.sync_paths(*texts)
        assert empty_vault.dump() == empty_vault.rebuilt()
