"""Adding, removing and renaming tags (docs/obsidian.md 6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.canvas.edit import rename_canvas_tag
from vaultbridge.canvas.parse import parse_canvas
from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.markdown.edits.change import Change, apply_changes
from vaultbridge.markdown.edits.tags import add_tag, parse_tag_name, remove_tag, rename_tag
from vaultbridge.markdown.parse import parse


def apply_edit(edit: Callable[..., tuple[Change, ...]], text: str, *arguments: Any, **options: Any) -> str:
    return apply_changes(text, edit(text, parse(text), *arguments, **options))


@pytest.mark.parametrize("tag", ["a", "#a/b-c_d", "日本", "2024-01", "é", " #x "])
def test_valid_tags_are_accepted(tag: str) -> None:
    assert [t.name for t in parse(f"#{parse_tag_name(tag)}").tags] == [parse_tag_name(tag)]


@pytest.mark.parametrize("tag", ["", "#", "1984", "a b", "a.b", "a#b", "/a", "a/", "a//b", "a\u2014b", "(x)"])
def test_what_the_app_would_not_read_as_a_tag_is_refused(tag: str) -> None:
    with pytest.raises(InvalidArgument, match="The tag"):
        parse_tag_name(tag)


@given(st.text(min_size=1, max_size=6))
def test_a_name_is_valid_exactly_if_the_parser_reads_all_of_it(text: str) -> None:
    try:
        name = parse_tag_name(text)
    except InvalidArgument:
        return
    assert [tag.name for tag in parse(f"#{name}").tags] == [name]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x\n", "---\ntags:\n  - new\n---\nx\n"),
        ("---\ntags: [a]\n---\n", "---\ntags: [a, new]\n---\n"),
        ("---\nTags:\n- a\n---\n", "---\nTags:\n- a\n- new\n---\n"),
        ("---\ntags: a\n---\n", "---\ntags:\n  - a\n  - new\n---\n"),
        ("---\ntags: ['#NEW']\n---\n", "---\ntags: ['#NEW']\n---\n"),
        ("has #New already", "has #New already"),
    ],
)
def test_a_tag_is_added_to_the_properties_once(text: str, expected: str) -> None:
    assert apply_edit(add_tag, text, "#new") == expected


def test_no_tag_is_added_to_a_tags_property_that_is_no_tag() -> None:
    with pytest.raises(EditRefused, match="does not read as a tag"):
        apply_edit(add_tag, "---\ntags: a, b\n---\n", "new")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a #t b", "a b"),
        ("a #t", "a"),
        ("#t a", "a"),
        ("a\n#t\nb", "a\nb"),
        ("a\n#t #T\nb", "a\nb"),
        ("#t #k #t", "#k"),
        ("#t#k", "#k"),
        ("- #t x", "- x"),
        ("# Head #t\n#t/u stays", "# Head\n#t/u stays"),
        ("`#t` #t", "`#t`"),
        ("---\ntags: [t, k]\n---\n#t x", "---\ntags: [k]\n---\nx"),
        ("---\ntags:\n  - '#T'\n---\n", "---\ntags: []\n---\n"),
        ("a #t.\r\n", "a .\r\n"),
    ],
)
def test_removing_a_tag_removes_one_blank_or_its_line(text: str, expected: str) -> None:
    assert apply_edit(remove_tag, text, "T") == expected


def test_a_tag_that_the_note_does_not_have_cannot_be_removed() -> None:
    text = "---\ntags: [t]\n---\n#t x"
    with pytest.raises(EditRefused, match=r"no tag #z. It has: #t"):
        apply_edit(remove_tag, text, "z")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#a and #A/b, not #ab `#a` [[x#a]]", "#x/y and #x/y/b, not #ab `#a` [[x#a]]"),
        ("#a#b", "#x/y#b"),
        ("---\ntags: [a, 'A/b', \"#a\", c] # k\n---\n", "---\ntags: [x/y, x/y/b, c] # k\n---\n"),
        ("---\ntags:\n  - a # one\n  - x/y\n---\n#a", "---\ntags:\n  - x/y\n---\n#x/y"),
        ("---\ntags: a\n---\n", "---\ntags: x/y\n---\n"),
        ("nothing", "nothing"),
    ],
)
def test_renaming_a_tag_renames_its_subtags(text: str, expected: str) -> None:
    after = apply_edit(rename_tag, text, "#a", "x/y")
    assert after == expected


def test_a_new_name_that_yaml_would_misread_is_quoted() -> None:
    assert apply_edit(rename_tag, "---\ntags: [a]\n---\n#a", "a", "1e5") == '---\ntags: ["1e5"]\n---\n#1e5'
    assert apply_edit(rename_tag, "---\ntags:\n  - a\n---\n", "a", "true") == '---\ntags:\n  - "true"\n---\n'


def test_a_case_only_rename_changes_the_case() -> None:
    assert apply_edit(rename_tag, "---\ntags: [a]\n---\n#A #a", "A", "A") == "---\ntags: [A]\n---\n#A #A"


def test_a_bad_new_name_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        apply_edit(rename_tag, "#a", "a", "1")


def test_a_rename_also_changes_the_tags_of_text_cards() -> None:
    node = {"id": "1", "type": "text", "text": 'é "q"\n#a/b `#a`', "x": 0, "y": 0, "width": 1, "height": 1}
    text = json.dumps({"nodes": [node], "edges": []})
    after = apply_changes(text, rename_canvas_tag(text, "a", "z"))
    assert json.loads(after)["nodes"][0]["text"] == 'é "q"\n#z/b `#a`'
    assert [t.name for t in parse_canvas(after).tags] == ["z/b"]
