"""Parsing the text of a link, and encoding a path as a Markdown destination."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import EngineFailure
from vaultbridge.links.syntax import encode_destination, fits_markdown, fits_wiki, parse_written_link
from vaultbridge.markdown.inline.links import internal_target


@pytest.mark.parametrize(
    ("raw", "target", "subpath", "display"),
    [
        ("[[a]]", "a", "", None),
        ("![[a.png|100]]", "a.png", "", "100"),
        ("[[a#b#c|d|e]]", "a", "#b#c", "d|e"),
        ("[[a||b]]", "a", "", "|b"),
        ("[[|x]]", "|x", "", None),
        ("[[#h]]", "", "#h", None),
        ("[[ a ]]", "a", "", None),
        ("[[a\\|b]]", "a", "", "b"),
        ("[[a|b#c]]", "a", "", "b#c"),
        ("[[a]b]]", "a]b", "", None),
        ("[t](a%20b.md)", "a%20b.md", "", "t"),
        ("[t](<a b.md#h> 'x')", "a b.md", "#h", "t"),
        ('[t]( a.md "x](y)" )', "a.md", "", "t"),
        ("![](p(1).png)", "p(1).png", "", None),
        ("[![i](p.png)](a.md)", "a.md", "", "![i](p.png)"),
        ("[`](x)`](a.md)", "a.md", "", "`](x)`"),
        ("[t](#h)", "", "#h", "t"),
    ],
)
def test_a_link_is_split_into_its_parts(raw: str, target: str, subpath: str, display: str | None) -> None:
    written = parse_written_link(raw)
    shown = written.raw[slice(*written.display)] if written.display else None
    assert (written.target, written.subpath, shown) == (target, subpath, display)
    assert written.embed == raw.startswith("!")
    assert written.markdown == ("](" in raw)


def test_a_backslash_before_the_bar_belongs_to_the_name_if_the_parser_said_so() -> None:
    assert parse_written_link("[[a\\|b]]", target="a\\").target == "a\\"


@pytest.mark.parametrize("raw", ["", "x", "[[a]", "[a]", "[a](b", "[a](b c)"])
def test_what_is_not_a_link_is_an_engine_failure(raw: str) -> None:
    with pytest.raises(EngineFailure):
        parse_written_link(raw)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda t: "&" not in t))
def test_an_encoded_destination_is_read_back_as_the_same_path(path: str) -> None:
    """Except for what no destination can contain: `#`, or a colon without a dot segment before it."""
    if "#" in path or (":" in path and not path.startswith(("./", "../"))):
        assert not fits_markdown(path)
    else:
        assert fits_markdown(path)
        assert internal_target(encode_destination(path)) == (path, "")
        raw = f"[t]({encode_destination(path)})"
        assert parse_written_link(raw).target == encode_destination(path)
        angle = f"[t](<{encode_destination(path, angle=True)}>)"
        assert internal_target(parse_written_link(angle).target) == (path, "")


@pytest.mark.parametrize("name", ["a#b", "a|b", "a]]b", "a[[b", "a]", " a", "a ", "", "a\nb"])
def test_names_that_no_wikilink_can_contain_are_recognised(name: str) -> None:
    assert not fits_wiki(name)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_a_name_that_fits_a_wikilink_is_read_back(name: str) -> None:
    if fits_wiki(name):
        assert parse_written_link(f"[[{name}]]", target=name).target == name
        assert parse_written_link(f"[[{name}#h|d]]", target=name).target == name
