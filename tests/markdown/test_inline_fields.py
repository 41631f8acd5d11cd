"""Dataview's inline fields (docs/obsidian.md 7)."""

import pytest

from vaultbridge.markdown.inline.scan import field_key
from vaultbridge.markdown.parse import parse


def list_fields(text: str) -> list[tuple[str, str, str]]:
    found = parse(text).fields
    assert all(0 <= field.start < field.end <= len(text) for field in found)
    return [(field.key, field.value, text[field.start : field.end]) for field in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("key:: value", [("key", "value", "key:: value")]),
        ("My Key::  a b ", [("my-key", "a b", "My Key::  a b")]),
        ("**Bold Key**:: v", [("bold-key", "v", "**Bold Key**:: v")]),
        ("- item:: v", [("item", "v", "item:: v")]),
        ("- [ ] due:: 2024-01-01", [("due", "2024-01-01", "due:: 2024-01-01")]),
        ("> quoted:: v", [("quoted", "v", "quoted:: v")]),
        ("one:: 1\ntwo:: 2", [("one", "1", "one:: 1"), ("two", "2", "two:: 2")]),
        ("empty::", [("empty", "", "empty::")]),
        ("text [key:: v] more", [("key", "v", "[key:: v]")]),
        ("text (key:: v (w)) more", [("key", "v (w)", "(key:: v (w))")]),
        ("a [k:: [[Note]]] b", [("k", "[[Note]]", "[k:: [[Note]]]")]),
        ("[a:: 1][b:: 2]", [("a", "1", "[a:: 1]"), ("b", "2", "[b:: 2]")]),
        ("[out:: (in:: x)]", [("out", "(in:: x)", "[out:: (in:: x)]")]),
        ("день:: x", [("день", "x", "день:: x")]),
        ("🎉 key:: x", [("🎉-key", "x", "🎉 key:: x")]),
        ("`key:: code`", []),
        ("`` [k:: v] ``", []),
        ("    code:: v", []),
        ("```\nkey:: v\n```", []),
        ("$k:: v$", []),
        ("%% k:: v %%", []),
        ("a ::: b", []),
        ("a. b:: c", []),
        ("no field: here", []),
        ("see [x::\ny]", []),
        ("| a:: b |\n|---|\n| [k:: v] |", [("k", "v", "[k:: v]")]),
    ],
)
def test_fields_are_found_with_their_position(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert list_fields(text) == expected


def test_fields_know_their_lines() -> None:
    assert [field.line for field in parse("x\n\n- a:: 1\n- b [c:: 2]\n").fields] == [3, 4]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Key", "key"),
        ("Two  Words", "two-words"),
        ("a/b", "ab"),
        ("Ünï", "ünï"),
        ("x_y-z", "x_y-z"),
        ("q!", "q"),
    ],
)
def test_keys_are_compared_in_lower_case_with_hyphens(name: str, key: str) -> None:
    assert field_key(name) == key


def test_a_key_longer_than_the_cap_is_not_a_key() -> None:
    assert list_fields("k" * 120 + ":: v") == []
