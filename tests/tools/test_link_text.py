"""A note named as a link names it."""

from __future__ import annotations

import pytest

from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.base.arguments import Named, is_link, must_be_whole, taken_apart


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Note", Named("Note")),
        ("Folder/Note.md", Named("Folder/Note.md")),
        ("Note#Heading", Named("Note", heading="Heading")),
        ("Note#A#B", Named("Note", heading="A#B")),
        ("Note#^id", Named("Note", block="id")),
        ("[[Note]]", Named("Note")),
        (" [[Note|shown]] ", Named("Note")),
        ("[[Note#Heading|shown]]", Named("Note", heading="Heading")),
        ("![[Note#^id]]", Named("Note", block="id")),
        ("[[#Heading]]", Named("", heading="Heading")),
        ("Note#", Named("Note")),
        ("Note|shown", Named("Note|shown")),
    ],
)
def test_a_name_and_the_part_it_points_to_are_told_apart(text: str, expected: Named) -> None:
    assert taken_apart(text) == expected


def test_only_brackets_make_a_link() -> None:
    assert is_link("[[a]]")
    assert is_link(" ![[a]] ")
    assert not is_link("a#b")
    assert not is_link("[[a")


def test_a_link_to_a_part_is_refused_where_a_whole_note_is_meant() -> None:
    must_be_whole("[[Note]]")
    must_be_whole("C# notes")
    with pytest.raises(InvalidArgument, match="Name the note alone") as refused:
        must_be_whole("[[Note#H]]", "operations[0].name")
    assert refused.value.argument == "operations[0].name"
