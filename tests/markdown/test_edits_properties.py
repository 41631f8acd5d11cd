"""Editing properties by line: everything else stays, byte for byte (docs/obsidian.md 5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.markdown.edits.change import Change, apply_changes
from vaultbridge.markdown.edits.properties import (
    add_to_list,
    find_key,
    remove_from_list,
    remove_property,
    rename_property,
    replace_in_list,
    set_property,
)
from vaultbridge.markdown.parse import parse

Edit = Callable[..., tuple[Change, ...]]


def apply_edit(edit: Edit, text: str, *arguments: Any, **options: Any) -> str:
    return apply_changes(text, edit(text, parse(text), *arguments, **options))


def wrap_properties(body: str) -> str:
    return f"---\n{body}---\ntext\n"


@pytest.mark.parametrize(
    ("body", "key", "value", "expected"),
    [
        ("a: 1 # c\nzip: 01234\n", "a", 2, "a: 2 # c\nzip: 01234\n"),
        ("a:   old\n", "a", "new", "a: new\n"),
        ("a: 'o'\n", "a", "it's", "a: 'it''s'\n"),
        ('a: "o"\n', "a", "x", 'a: "x"\n'),
        ("a: o\n", "a", "[[n]]", 'a: "[[n]]"\n'),
        ("a:\nb: 1\n", "a", "x", "a: x\nb: 1\n"),
        ("a: # c\n", "a", True, "a: true # c\n"),
        ("a: x # c\n", "a", None, "a: # c\n"),
        ("A B: 1\n", "a b", 2, "A B: 2\n"),
        ("'q': 1\n", "q", 2, "'q': 2\n"),
        ("a: |\n  x\n  y\n\nb: 1\n", "a", "z", "a: z\n\nb: 1\n"),
        ("a: >-\n  x\n  y\n", "a", ["z"], "a:\n  - z\n"),
        ("a: two\n  lines\nb: 1\n", "a", "z", "a: z\nb: 1\n"),
        ("a: [x, y] # c\n", "a", "z", "a: z # c\n"),
        ("a: # c\n  - x\n  - y\nb: 1\n", "a", "z", "a: z # c\nb: 1\n"),
        ("a: # c\n  - x\n", "a", None, "a: # c\n"),
        ("a: # c\n  - x\n", "a", {"k": 1}, "a: # c\n  k: 1\n"),
        ("a: x # c\n", "a", ["y", 1], "a: # c\n  - y\n  - 1\n"),
        ("a: {k: 1} # c\n", "a", {"k": 2, "l": "a, b"}, 'a: {k: 2, l: "a, b"} # c\n'),
        ("a:\n  k: 1\nb: 2\n", "a", {"k": 1, "l": [1]}, "a:\n  k: 1\n  l: [1]\nb: 2\n"),
        ("a: [x, y]\n", "a", [], "a: []\n"),
        ("a:\n- x\n- y\n", "a", [], "a: []\n"),
        ("a: []\n", "a", ["x"], "a: [x]\n"),
        ("a:\n    -   x # one\n    # mid\n    -   y\n", "a", ["x", "z", "y"],
         "a:\n    -   x # one\n    -   z\n    # mid\n    -   y\n"),
        ("a: [ x,  'y' , z ]\n", "a", ["n", "x", "z", "m"], "a: [ n, x , z, m ]\n"),
        ("a: &n x\nb: 1\n", "a", "y", "a: y\nb: 1\n"),
        ("b: 1\n", "new", "v", "b: 1\nnew: v\n"),
        ("b: 1\n", "new", ["v"], "b: 1\nnew:\n  - v\n"),
        ("b: 1\n", "new", None, "b: 1\nnew:\n"),
        ("b: 1\n", "a: b", 1, 'b: 1\n"a: b": 1\n'),
        ("  b: 1\n  c: 2\n", "new", {"k": "v"}, "  b: 1\n  c: 2\n  new:\n    k: v\n"),
        ("", "new", 1, "new: 1\n"),
        ("# only\n", "new", 1, "# only\nnew: 1\n"),
        ("a: 1\n", "a", 1.0, "a: 1.0\n"),
        ("a: 2024-01-01\n", "a", "2025-12-31", "a: 2025-12-31\n"),
    ],
)  # fmt: skip
def test_setting_a_property_changes_only_its_own_lines(
    body: str, key: str, value: Any, expected: str
) -> None:
    assert apply_edit(set_property, wrap_properties(body), key, value) == wrap_properties(expected)


@pytest.mark.parametrize("body", ["a: 'x' # c\n", "a: x\n", "A: 'x'\n"])
def test_setting_the_current_value_changes_nothing(body: str) -> None:
    assert apply_edit(set_property, wrap_properties(body), "a", "x") == wrap_properties(body)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "---\nk: v\n---\n"),
        ("text", "---\nk: v\n---\ntext"),
        ("# H\r\n", "---\r\nk: v\r\n---\r\n# H\r\n"),
        ("--- not closed", "---\nk: v\n---\n--- not closed"),
    ],
)
def test_the_block_is_created_if_there_is_none(text: str, expected: str) -> None:
    assert apply_edit(set_property, text, "k", "v") == expected


def test_crlf_is_preserved() -> None:
    text = "---\r\na: 1\r\nl:\r\n  - x\r\n---\r\n"
    assert apply_edit(set_property, text, "b", [1]) == text.replace("x\r\n", "x\r\nb:\r\n  - 1\r\n")
    assert apply_edit(add_to_list, text, "l", "y") == text.replace("x\r\n", "x\r\n  - y\r\n")


@pytest.mark.parametrize(
    ("body", "key", "expected"),
    [
        (
            "a: 1\n# about b\nb: # c\n  - x\n  - y\n\n# about d\nd: 1\n",
            "B",
            "a: 1\n# about b\n\n# about d\nd: 1\n",
        ),
        ("a: |\n  x\n\n  y\nb: 1\n", "a", "b: 1\n"),
        ("a: 1\nb: 2\n", "b", "a: 1\n"),
        ("# c\na: 1\n", "a", "# c\n"),
    ],
)
def test_removing_a_property_removes_its_lines(body: str, key: str, expected: str) -> None:
    assert apply_edit(remove_property, wrap_properties(body), key) == wrap_properties(expected)


def test_the_block_is_removed_with_its_last_property() -> None:
    assert apply_edit(remove_property, "---\na: 1\n\n---\ntext\n", "a") == "text\n"
    # Unless what follows would then be read as properties.
    assert (
        apply_edit(remove_property, "---\na: 1\n---\n---\nb: 2\n---\n", "a") == "---\n---\n---\nb: 2\n---\n"
    )


def test_renaming_a_property_changes_only_the_key() -> None:
    text = wrap_properties("a : 1 # c\nb: 2\n")
    assert apply_edit(rename_property, text, "A", "new key") == wrap_properties("new key : 1 # c\nb: 2\n")
    assert apply_edit(rename_property, text, "a", "A") == wrap_properties("A : 1 # c\nb: 2\n")
    assert apply_edit(rename_property, text, "a", "x: y") == wrap_properties('"x: y" : 1 # c\nb: 2\n')
    assert apply_edit(rename_property, text, "a", "a") == text
    with pytest.raises(EditRefused, match="already has a property 'b'"):
        apply_edit(rename_property, text, "a", "B")
    with pytest.raises(InvalidArgument):
        apply_edit(rename_property, text, "a", " ")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("l:\n  - x # c\n\nb: 1\n", "l:\n  - x # c\n  - new\n\nb: 1\n"),
        ("l:\n- x\n", "l:\n- x\n- new\n"),
        ("l: [x, y]\n", "l: [x, y, new]\n"),
        ("l: [\n  x,\n  y,\n]\n", "l: [\n  x,\n  y, new,\n]\n"),
        ("l: []\n", "l: [new]\n"),
        ("l:\n", "l:\n  - new\n"),
        ("l: x # c\n", "l: # c\n  - x\n  - new\n"),
        ("b: 1\n", "b: 1\nl:\n  - new\n"),
        ("l: [NEW, new]\n", "l: [NEW, new]\n"),
        ("l:\n  - - x\n    - y\n", "l:\n  - - x\n    - y\n  - new\n"),
    ],
)
def test_adding_to_a_list_adds_one_item_in_its_style(body: str, expected: str) -> None:
    assert apply_edit(add_to_list, wrap_properties(body), "l", "new") == wrap_properties(expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("l:\n  - x # c\n  - old\n  - y\n", "l:\n  - x # c\n  - y\n"),
        ("l:\n  - old\n", "l: []\n"),
        ("l: # c\n  - old\nb: 1\n", "l: [] # c\nb: 1\n"),
        ("l: [old, y]\n", "l: [y]\n"),
        ("l: [x, old, 'old', y]\n", "l: [x, y]\n"),
        ("l: [ x , old ]\n", "l: [ x ]\n"),
        ("l: [old]\n", "l: []\n"),
        ("l: old\n", "l: []\n"),
        ("l: [old, old, x, old]\n", "l: [x]\n"),
    ],
)
def test_removing_from_a_list_removes_the_item_with_its_line_or_comma(body: str, expected: str) -> None:
    assert apply_edit(remove_from_list, wrap_properties(body), "l", "old") == wrap_properties(expected)


def test_what_is_not_in_a_list_cannot_be_removed_from_it() -> None:
    with pytest.raises(EditRefused, match="does not contain 'z'"):
        apply_edit(remove_from_list, wrap_properties("l: [x]\n"), "l", "z")
    with pytest.raises(EditRefused, match=r"no property 'm'. It has: l"):
        apply_edit(remove_from_list, wrap_properties("l: [x]\n"), "m", "z")
    with pytest.raises(EditRefused, match="is a map"):
        apply_edit(add_to_list, wrap_properties("l: {a: 1}\n"), "l", "z")


def test_items_are_replaced_in_place_without_duplicates() -> None:
    text = wrap_properties("l:\n  - a # one\n  - b\n  - c\n")
    assert apply_edit(
        replace_in_list, text, "l", lambda item: "x" if item == "b" else item
    ) == wrap_properties("l:\n  - a # one\n  - x\n  - c\n")
    assert apply_edit(
        replace_in_list, text, "l", lambda item: "a" if item == "b" else item
    ) == wrap_properties("l:\n  - a # one\n  - c\n")
    assert apply_edit(replace_in_list, wrap_properties("l: a\n"), "l", lambda _: "z") == wrap_properties(
        "l: z\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "---\na: 1\na: 2\n---\n",
        "---\na: [\n---\n",
        "---\n- list\n---\n",
        "---\na: 1\nnever closed",
        "---\n{a: 1}\n---\n",
        "---\n? a\n: 1\n---\n",
        "---\na: &n 1\nb: &n 2\n---\n",
        "---\n\ufeffa: 1\n---\n",
    ],
)
def test_a_block_that_cannot_be_edited_safely_is_never_rewritten(text: str) -> None:
    for edit, arguments in ((set_property, ("a", 5)), (remove_property, ("a",)), (add_to_list, ("a", 5))):
        with pytest.raises(EditRefused):
            apply_edit(edit, text, *arguments)


def test_an_anchor_that_others_use_is_not_removed() -> None:
    with pytest.raises(EditRefused, match="would damage"):
        apply_edit(set_property, wrap_properties("a: &n x\nb: *n\n"), "a", "y")
    assert apply_edit(set_property, wrap_properties("a: &n x\nb: *n # c\n"), "b", "y") == wrap_properties(
        "a: &n x\nb: y # c\n"
    )


def test_an_exact_key_wins_over_one_in_another_case() -> None:
    properties = parse(wrap_properties("Tags: 1\ntags: 2\n")).properties
    assert find_key(properties, "tags") == "tags"
    assert find_key(properties, "TAGS") == "Tags"
    assert find_key(None, "x") is None


PIECES = [
    "title: Some title # c\n", "n: 01234\n", "b: true\n", "e:\n", "q: \"a: b\"\n", "s: 'it''s'\n",
    "l:\n  - one # c\n  # mid\n  - two words\n  - \"[[x]]\"\n", "f: [a, 'b, c', 3]\n", "z:\n- 1\n- 2\n",
    "t: |\n  line\n   more\n\n", "p: two\n  lines\n", "m:\n  k: v\n  w: [1]\n", "# a comment\n", "\n",
    "d: 2024-01-01\n", "g: {k: v}\n", "x: [\n  a,\n  b ]\n", "é ü: 🌍\n", "h: >+\n  folded\n\n", "v: ~\n",
    "u: [[1, 2], {a: b}]\n", "i:\tafter a tab\n", "j: \t[a,\tb]\t# c\n", "k:\t\n  - a\t# c\n  - b\n",
    "r: one\u2028two\n", "w: \x07 # c\n",
]  # fmt: skip
KEYS = ["title", *"nbeqslftpmdgxhvuzijkrw", "é ü", "new", "L"]
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-999, 999),
    st.text(st.sampled_from("ab :#-[]'\"\n,é1"), max_size=8),
    st.lists(st.sampled_from(["one", "two words", "[[x]]", "a", 1, 2, 3, None, "b, c", "n: m"]), max_size=4),
    st.dictionaries(st.sampled_from(["k", "w", "a b"]), st.sampled_from(["v", 1, [1], None]), max_size=2),
)  # fmt: skip


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(PIECES), unique=True, max_size=8),
    st.sampled_from(KEYS),
    VALUES,
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_edit_changes_exactly_the_named_property_and_its_lines(
    pieces: list[str], key: str, value: Any, line_end: str
) -> None:
    text = wrap_properties("".join(pieces)).replace("\n", line_end)
    note = parse(text)
    assert note.properties is not None and note.properties.valid
    before = note.properties.values
    actual = find_key(note.properties, key) or key
    changes = set_property(text, note, key, value)
    after = apply_changes(text, changes)
    read = parse(after).properties
    assert read is not None and read.valid
    assert repr(read.values[actual]) == repr(value)
    assert {k: repr(v) for k, v in read.values.items() if k != actual} == {
        k: repr(v) for k, v in before.items() if k != actual
    }
    # Every line outside the property's own piece is still there, in order.
    others = [piece for piece in pieces if not piece.lower().startswith(f"{key.lower()}:")]
    rest = after
    for line in "".join(others).replace("\n", line_end).split(line_end):
        assert line in rest
        rest = rest[rest.index(line) + len(line) :]
    if actual in before:
        removed = apply_changes(text, remove_property(text, note, key))
        gone = parse(removed).properties
        left = {k: repr(v) for k, v in gone.values.items()} if gone else {}
        assert left == {k: repr(v) for k, v in before.items() if k != actual}


ODD_PIECES = [
    *PIECES, "\t\n", "a: &i x\n", "b2: &i y\n", "c: *i\n", "r2: [&i x, *i]\n", "? o\n: 1\n", "\ufeff\n",
    "\ufeffy: 1\n", "w2: !x v\n", "k:\t|\n  x\n", "# \u2028\n", "x2: \x85\n", "...\n", "%YAML 1.2\n",
    "  in: 1\n", "\tin: 1\n", "<<: {k: 1}\n", "y2: \udcff\n", "up: \"[[x]]\"\n",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(ODD_PIECES), unique=True, max_size=6),
    st.sampled_from([*KEYS, "a", "b2", "c", "r2", "o", "y", "w2", "<<", "in"]),
    VALUES,
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_any_edit_of_odd_yaml_is_made_or_refused(
    pieces: list[str], key: str, value: Any, line_end: str
) -> None:
    text = wrap_properties("".join(pieces)).replace("\n", line_end)
    note = parse(text)
    for link in note.links:
        assert link.raw == text[link.start : link.end]
    for edit, arguments in (
        (set_property, (key, value)),
        (remove_property, (key,)),
        (rename_property, (key, "renamed")),
        (add_to_list, (key, "added")),
    ):
        try:
            after = apply_edit(edit, text, *arguments)
        except EditRefused:
            continue
        read = parse(after).properties
        assert after[read.end if read else 0 :] == f"text{line_end}"


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "c d", "1", "[[e]]", "f, g", "#h"]), max_size=5),
    st.sampled_from(["flow", "block", "spaced", "many lines"]),
    st.sampled_from(["a", "c d", "[[e]]", "f, g", "new"]),
)
def test_adding_then_removing_an_item_gives_back_the_text(items: list[str], style: str, item: str) -> None:
    from vaultbridge.markdown.edits.yaml import write_string

    if style == "block" and items:
        body = "l:\n" + "".join(f"- {write_string(i, inside=False)}\n" for i in items)
    else:
        lead, comma, tail = {"spaced": ("[ ", " ,  ", " ]"), "many lines": ("[\n  ", ",\n  ", "\n  ]")}.get(
            style, ("[", ", ", "]")
        )
        body = (
            f"l: {lead if items else '['}{comma.join(map(write_string, items))}{tail if items else ']'} # c\n"
        )
    text = wrap_properties(f"x: 1\n{body}y: 2\n")
    added = apply_edit(add_to_list, text, "l", item)
    properties = parse(added).properties
    assert properties is not None
    assert properties.values["l"] == (items if item in items else [*items, item])
    if item not in items:
        assert apply_edit(remove_from_list, added, "l", item) == text
