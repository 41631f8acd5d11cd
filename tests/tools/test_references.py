"""A note named by a link, with the part it points to."""

from __future__ import annotations

import pytest

from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.base.arguments import NoteReference, is_link, parse_reference, require_whole_note


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Note", NoteReference("Note")),
        ("Folder/Note.md", NoteReference("Folder/Note.md")),
        ("Note#Heading", NoteReference("Note", heading="Heading")),
        ("Note#A#B", NoteReference("Note", heading="A#B")),
        ("Note#^id", NoteReference("Note", block="id")),
        ("[[Note]]", NoteReference("Note")),
        (" [[Note|shown]] ", NoteReference("Note")),
        ("[[Note#Heading|shown]]", NoteReference("Note", heading="Heading")),
        ("![[Note#^id]]", NoteReference("Note", block="id")),
        ("[[#Heading]]", NoteReference("", heading="Heading")),
        ("Note#", NoteReference("Note")),
        ("Note|shown", NoteReference("Note|shown")),
    ],
)
def test_a_reference_is_parsed_into_name_and_part(text: str, expected: NoteReference) -> None:
    assert parse_reference(text) == expected


def test_only_brackets_make_a_link() -> None:
    assert is_link("[[a]]")
    assert is_link(" ![[a]] ")
    assert not is_link("a#b")
    assert not is_link("[[a")


def test_a_link_to_a_part_is_refused_where_a_whole_note_is_required() -> None:
    require_whole_note("[[Note]]")
    require_whole_note("C# notes")
    with pytest.raises(InvalidArgument, match="Give only the note's name") as refused:
        require_whole_note("[[Note#H]]", "operations[0].name")
    assert refused.value.argument == "operations[0].name"
