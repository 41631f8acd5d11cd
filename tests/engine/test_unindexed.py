"""Notes found by name before the index knows them."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from vaultbridge.engine import Engine
from vaultbridge.errors import AmbiguousName, NoteNotFound
from vaultbridge.vault.paths import VaultPath
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


@pytest.mark.usefixtures("building")
def test_an_index_that_becomes_complete_right_after_its_answer_is_asked_again(
    make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"A/Same.md": "1", "B/Same.md": "2", "C/Deep.md": "---\naliases: Other name\n---\n"}
    for name, expected in (("Deep", "C/Deep.md"), ("Other name", "C/Deep.md"), ("Same", None)):
        engine = make_vault(files)
        find = engine.ask.find

        def asked(name: str, engine: Engine = engine, find: Callable[[str], VaultPath] = find) -> VaultPath:
            try:
                return find(name)
            finally:
                engine.freshness.refresh()

        monkeypatch.setattr(engine.ask, "find", asked)
        assert not engine.ask.status.complete
        if expected is None:
            with pytest.raises(AmbiguousName):
                engine.find(name)
        else:
            assert engine.find(name) == expected
        assert engine.ask.status.complete
        engine.close()
        shutil.rmtree(engine.cache)
