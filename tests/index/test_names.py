"""Lenient lookup: our own rules, in the order given in the module's docstring."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable

import pytest

from support.index import Vault
from vaultbridge.index.names import CLOSEST, AmbiguousMatch, NameLookup, NameMatch, NoMatch
from vaultbridge.vault.paths import VaultPath

MakeVault = Callable[[dict[str, str | bytes]], Vault]

FILES: dict[str, str | bytes] = {
    "Projects/Bridge Plan.md": "---\naliases: [The Crossing, Überblick]\n---\n",
    "Projects/v1.2.md": "",
    "Daily/Index.md": "",
    "Projects/Index.md": "",
    "Daily/2024-01-05.md": "",
    "Résumé.md": "",
    "北京.md": "",
    "Attachments/photo of the bay.png": b"",
    "Two.md": "---\naliases: [Shared]\n---\n",
    "Three.md": "---\naliases: [shared]\n---\n",
    "Root.md": "",
    "Deep/Root.md": "",
}

DRAWN = [
    f"{folder}{name}.md"
    for folder in ("", "Deep/", "Deep/er/", "Deep er/", "Projects/")
    for name in ("Root", "Bridge", "Bridge Plans", "2024-01-06", "北京 京都", "Résumé 2", "a.b")
]


@pytest.mark.parametrize(
    ("name", "path", "how"),
    [
        ("Projects/Bridge Plan.md", "Projects/Bridge Plan.md", "path"),
        ("/Projects/Bridge Plan.md", "Projects/Bridge Plan.md", "path"),
        ("Projects/Bridge Plan", "Projects/Bridge Plan.md", "extension"),
        ("projects/bridge plan.MD", "Projects/Bridge Plan.md", "case"),
        (unicodedata.normalize("NFD", "Résumé.md"), "Résumé.md", "path"),
        ("résumé", "Résumé.md", "case"),
        ("Bridge Plan", "Projects/Bridge Plan.md", "link"),
        ("[[bridge plan#Goals|it]]", "Projects/Bridge Plan.md", "link"),
        ("v1.2", "Projects/v1.2.md", "link"),
        ("photo of the bay.png", "Attachments/photo of the bay.png", "link"),
        ("the crossing", "Projects/Bridge Plan.md", "alias"),
        ("überblick", "Projects/Bridge Plan.md", "alias"),
        ("bridge-plan", "Projects/Bridge Plan.md", "title"),
        ("bridge_plan.md", "Projects/Bridge Plan.md", "title"),
        ("resume", "Résumé.md", "title"),
        ("projects bridge plan", "Projects/Bridge Plan.md", "title"),
        ("2024 01 05", "Daily/2024-01-05.md", "title"),
        ("北京", "北京.md", "extension"),
        ("Root", "Root.md", "extension"),
        ("deep/root", "Deep/Root.md", "case"),
    ],
)
def test_a_file_is_found_however_it_is_named(make_vault: MakeVault, name: str, path: str, how: str) -> None:
    assert NameLookup(make_vault(FILES).index).find(name) == NameMatch(path, how)  # type: ignore[arg-type]


def test_a_name_in_several_folders_is_reported_as_ambiguous(make_vault: MakeVault) -> None:
    names = NameLookup(make_vault(FILES).index)
    assert names.find("index") == AmbiguousMatch(("Daily/Index.md", "Projects/Index.md"))  # type: ignore[arg-type]
    assert names.find("shared") == AmbiguousMatch(("Three.md", "Two.md"))  # type: ignore[arg-type]


def test_a_source_note_prefers_the_nearest_file(make_vault: MakeVault) -> None:
    names = NameLookup(make_vault(FILES).index)
    assert names.find("index", source="Daily/2024-01-05.md") == NameMatch("Daily/Index.md", "link")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "intended"),
    [
        ("Brigde Plan", "Projects/Bridge Plan.md"),
        ("Bridge Plans", "Projects/Bridge Plan.md"),
        ("The Crosing", "Projects/Bridge Plan.md"),
        ("Projects/Brige Plan.md", "Projects/Bridge Plan.md"),
        ("photo of teh bay", "Attachments/photo of the bay.png"),
        ("北亰", "北京.md"),
    ],
)
def test_for_a_typo_the_intended_name_is_offered_first(
    make_vault: MakeVault, typed: str, intended: str
) -> None:
    found = NameLookup(make_vault(FILES).index).find(typed)
    assert isinstance(found, NoMatch)
    assert found.closest[0] == intended
    assert len(found.closest) <= CLOSEST


def test_without_a_similar_name_nothing_is_offered(make_vault: MakeVault) -> None:
    names = NameLookup(make_vault(FILES).index)
    assert names.find("qqqqxxxxzzzz") == NoMatch(())
    assert names.find("") == NoMatch(())
    assert isinstance(names.find("x" * 100_000), NoMatch)


def test_hidden_names_do_not_keep_a_visible_one_from_being_suggested(make_vault: MakeVault) -> None:
    """A letter group that very many names share is counted for the first of them only."""
    hidden: dict[str, str | bytes] = {f"A/Garden {number}.md": "" for number in range(2100)}
    names = NameLookup(make_vault({**hidden, "Z/Garden.md": ""}).limit("A/"))
    found = names.find("Gardem")
    assert found == NoMatch((VaultPath("Z/Garden.md"),))


def test_a_hidden_file_does_not_exist(make_vault: MakeVault) -> None:
    names = NameLookup(make_vault(FILES).limit("Projects/"))
    assert names.find("index") == NameMatch("Daily/Index.md", "link")  # type: ignore[arg-type]
    for name in ("Projects/Bridge Plan.md", "bridge plan", "the crossing", "bridge-plan", "Brigde Plan"):
        found = names.find(name)
        assert isinstance(found, NoMatch)
        assert not any(path.startswith("Projects/") for path in found.closest)


def test_new_files_are_offered_too(make_vault: MakeVault) -> None:
    vault = make_vault(FILES)
    names = NameLookup(vault.index)
    assert isinstance(names.find("Observatry"), NoMatch)
    vault.write({"Observatory.md": ""})
    vault.sync_all()
    found = names.find("Observatry")
    assert isinstance(found, NoMatch)
    assert found.closest == ("Observatory.md",)


@pytest.mark.parametrize("seed", range(6))
def test_after_changes_the_same_names_are_offered_as_by_a_new_reader(
    make_vault: MakeVault, seed: int
) -> None:
    draw = random.Random(seed)
    vault = make_vault(FILES)
    kept = {hidden: NameLookup(vault.limit(hidden)) for hidden in ("none/", "Deep/")}
    for _ in range(15):
        paths = draw.sample(DRAWN, draw.randint(1, 4))
        for path in paths:
            if (vault.folder / path).exists():
                vault.remove(path)
            else:
                vault.write({path: f"---\naliases: [Alias {draw.randint(1, 3)}, a/b]\n---\n"})
        vault.sync_paths(*paths)
        for hidden, names in kept.items():
            fresh = NameLookup(vault.limit(hidden))
            for name in (
                "Brige Plan",
                "Deep/Rot",
                "Daily 2024-01",
                "Alias 4",
                "京都",
                "résumee",
                "ep/ro",
                "x",
            ):
                assert names.find(name) == fresh.find(name)
