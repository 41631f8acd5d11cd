"""Finding the positions of properties."""

from __future__ import annotations

import pytest

from vaultbridge.errors import EditRefused
from vaultbridge.markdown.edits.yaml import PropertyEntry, find_entries
from vaultbridge.markdown.parse import parse


def read_entries(text: str) -> tuple[PropertyEntry, ...]:
    properties = parse(text).properties
    assert properties is not None and properties.valid
    return find_entries(text, properties)


TEXT = (
    "---\r\n# top\r\ntitle: \"A\" # c\r\nempty:\r\nlist:\r\n  - a\r\n  # mid\r\n  -   'b c'\r\n\r\n# next\r\n"
    'flow: [x, "y" ]\r\nblock: |\r\n  one\r\n  two\r\n\r\nkeep: |+\r\n  k\r\n\r\nmap:\r\n  a: 1\r\n'
    "alias: &z 1\r\nuse: *z\r\n'q k' : 2\r\n---\r\nbody"
)


def test_every_part_of_an_entry_has_its_position() -> None:
    found = {entry.key: entry for entry in read_entries(TEXT)}
    shown = {key: TEXT[entry.start : entry.end] for key, entry in found.items()}
    assert shown == {
        "title": '"A"', "empty": "", "list": "- a\r\n  # mid\r\n  -   'b c'", "flow": '[x, "y" ]',
        "block": "|\r\n  one\r\n  two", "keep": "|+\r\n  k\r\n", "map": "a: 1", "alias": "&z 1", "use": "*z",
        "q k": "2",
    }  # fmt: skip
    assert [entry.shape for entry in found.values()] == [
        "scalar", "empty", "block-list", "flow-list", "block-scalar", "block-scalar", "block-map", "scalar",
        "scalar", "scalar",
    ]  # fmt: skip
    assert found["title"].quote == '"' and found["alias"].quote == ""
    assert [TEXT[item.start : item.end] for item in found["list"].items] == ["a", "'b c'"]
    assert [TEXT[item.line_start : item.dash] for item in found["list"].items] == ["  ", "  "]
    assert [TEXT[item.start : item.end] for item in found["flow"].items] == ["x", '"y"']
    assert TEXT[found["q k"].key_start : found["q k"].after_colon] == "'q k' :"
    assert TEXT[found["list"].next_line :].startswith("\r\n# next")
    assert TEXT[found["title"].line_start :].startswith("title")


def test_a_block_without_properties_has_no_entries() -> None:
    assert read_entries("---\n# only a comment\n---\n") == ()


@pytest.mark.parametrize("body", ["{a: 1}", "? a\n: 1", "? [a, b]\n: 1"])
def test_forms_that_cannot_be_edited_by_line_are_refused(body: str) -> None:
    with pytest.raises(EditRefused):
        read_entries(f"---\n{body}\n---\n")


def test_a_list_that_ends_in_an_alias_is_refused_only_if_it_is_edited() -> None:
    with pytest.raises(EditRefused, match="alias"):
        read_entries("---\na: &x 1\nb:\n  - *x\n---\n")
