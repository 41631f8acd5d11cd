"""Notes found by name before the index knows them."""

from __future__ import annotations

import pytest

from vaultbridge.errors import AmbiguousName, NoteNotFound
from vaultbridge.vault.scope import Scope

from .conftest import MakeVault


@pytest.fixture
def building(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that nobody fills: what a process sees while another one has only just begun."""
    from vaultbridge.engine.freshness import Freshness

    monkeypatch.setattr(Freshness, "settle", lambda self: None)


@pytest.mark.usefixtures("building")
@pytest.mark.parametrize(
    "name", ["Deep", "deep", "Deep.md", "Folder/Deep", "[[Deep|shown]]", "[[Deep#Heading]]"]
)
def test_a_note_in_a_folder_is_found_as_a_link_would_find_it(make_vault: MakeVault, name: str) -> None:
    engine = make_vault({"Some/Folder/Deep.md": "deep"})
    assert not engine.ask.status.complete
    assert engine.find(name) == "Some/Folder/Deep.md"


@pytest.mark.usefixtures("building")
def test_several_notes_of_one_name_are_told(make_vault: MakeVault) -> None:
    engine = make_vault({"A/Same.md": "1", "B/Same.md": "2"})
    with pytest.raises(AmbiguousName) as several:
        engine.find("Same")
    assert several.value.candidates == ("A/Same.md", "B/Same.md")
    assert engine.find("B/Same") == "B/Same.md"


@pytest.mark.usefixtures("building")
def test_what_is_missing_or_hidden_is_not_found(make_vault: MakeVault) -> None:
    engine = make_vault({"Secret/Deep.md": "x"}, scope=Scope(deny=("Secret",)))
    for name in ("Deep", "Nothing"):
        with pytest.raises(NoteNotFound):
            engine.find(name)
