"""Places as people type them: parsed, found in a vault, and the same in every command."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.cli.common import open_vault
from vaultbridge.cli.places import (
    NotePlace,
    find_place,
    find_place_lines,
    make_mention,
    make_selection,
    parse_place,
)
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound

VAULT = {
    "Note.md": "# Note\n\none\n\n## Part\n\ntwo\nthree ^x1\n\n## Last\n\nend\n",
    "C# notes.md": "sharp\n",
    "Meeting 10:30.md": "at half past ten\n",
}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Note", NotePlace("Note")),
        ("Note.md:3", NotePlace("Note.md", start=(3,))),
        ("Note:3-5", NotePlace("Note", start=(3,), end=(5,))),
        ("Note:3-", NotePlace("Note", start=(3,), open_end=True)),
        ("Folder/My Note:3:2-5:9", NotePlace("Folder/My Note", start=(3, 2), end=(5, 9))),
        ("Note:3:2", NotePlace("Note", start=(3, 2))),
        ("12:30 meeting", NotePlace("12:30 meeting")),
        ("2024-01-02", NotePlace("2024-01-02")),
        ("Note#L3", NotePlace("Note", start=(3,))),
        ("Note.md#L3-L5", NotePlace("Note.md", start=(3,), end=(5,))),
        ("Note.md#L3-5", NotePlace("Note.md", start=(3,), end=(5,))),
        ("Note#Part", NotePlace("Note", heading="Part")),
        ("Note#A#B", NotePlace("Note", heading="A#B")),
        ("Note#^x1", NotePlace("Note", block="x1")),
        ("#Part", NotePlace("#Part")),
    ],
)
def test_typed_places_are_parsed(text: str, place: NotePlace) -> None:
    assert parse_place(text) == place


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "Note:0",
        "Note:1:0",
        "Note:1-0",
        "Note:5-3",
        "Note:5:2-4:9",
        "Note:5:2-5:1",
        "Note#L0",
        "Note#L4-L2",
    ],
)
def test_an_impossible_place_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        parse_place(text)


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_any_text_is_a_place_or_refused_in_words(text: str) -> None:
    try:
        place = parse_place(text)
    except InvalidArgument as error:
        assert error.message.endswith(".")
        return
    assert place.note and text.startswith(place.note)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTBRIDGE_CACHE", str(tmp_path / "cache"))


def test_places_are_found_in_the_vault(vault: Path) -> None:
    with open_vault(str(vault)) as engine:
        assert find_place_lines(engine, "Note") == ("Note.md", (), ())
        assert find_place_lines(engine, "note:3-4") == ("Note.md", (3,), (4,))
        assert find_place_lines(engine, "Note:7-") == ("Note.md", (7,), (12,))
        assert find_place_lines(engine, "Note#^x1") == ("Note.md", (7,), (8,))
        assert find_place_lines(engine, "Note#Part") == ("Note.md", (5,), (9,))
        with pytest.raises(EditRefused, match="Gone"):
            find_place_lines(engine, "Note#Gone")
        with pytest.raises(NoteNotFound, match="Nothing"):
            find_place_lines(engine, "Nothing:3")


def test_a_name_that_looks_like_a_place_is_found_first(vault: Path) -> None:
    with open_vault(str(vault)) as engine:
        assert find_place(engine, "C# notes") == NotePlace("C# notes.md")
        assert find_place(engine, "Meeting 10:30") == NotePlace("Meeting 10:30.md")
        assert find_place(engine, "C# notes:1") == NotePlace("C# notes.md", start=(1,))


def test_the_bridge_gets_lines_as_it_counts_them() -> None:
    assert make_selection("N.md", (3, 2), (5, 9)) == {"note": "N.md", "start": [3, 2], "end": [5, 9]}
    assert make_selection("N.md", (), ()) == {"note": "N.md"}
    assert make_mention("N.md", (3,), (5,)) == {"note": "N.md", "lineStart": 2, "lineEnd": 4}
    assert make_mention("N.md", (3,), ()) == {"note": "N.md", "lineStart": 2, "lineEnd": 2}
