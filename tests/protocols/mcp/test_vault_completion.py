"""Suggestions while somebody types."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from support.vault import make_small_vault, open_engines
from vaultbridge.engine.operations import Append
from vaultbridge.protocols.mcp.vault.completion import SUGGESTIONS, Completions
from vaultbridge.vault.scope import Scope

FILES: dict[str, str | bytes] = {
    "Projects/Moth garden.md": "---\ntags: [project, project/garden]\nstatus: open\n---\n",
    "Projects/Old/Plan.md": "#Project",
    "Plan.md": "---\nstart: 2026\nStatus: done\n---\n",
    "Café evenings.md": "",
    "Secret/Moth list.md": "---\nhidden-property: 1\n---\n#hidden",
    "Attachments/moth.png": b"",
}


@pytest.fixture
def completions(tmp_path: Path) -> Completions:
    engines = open_engines(tmp_path, make_small_vault(tmp_path, FILES), scope=Scope(deny=("Secret",)))
    return Completions(engines)


def suggest_values(completions: Completions, kind: str, typed: str) -> list[str]:
    return list(completions.suggest(kind, typed).values)


def test_notes_are_suggested_as_a_link_would_name_them(completions: Completions) -> None:
    assert suggest_values(completions, "note", "moth") == ["Moth garden"]
    assert suggest_values(completions, "note", "[[gard") == ["Moth garden"]
    assert suggest_values(completions, "note", "plan") == ["Plan", "Projects/Old/Plan"]
    assert suggest_values(completions, "note", "CAFE") == ["Café evenings"]
    assert suggest_values(completions, "note", "no such") == []


def test_paths_folders_tags_and_properties_are_suggested(completions: Completions) -> None:
    assert suggest_values(completions, "path", "moth") == ["Attachments/moth.png", "Projects/Moth garden.md"]
    assert suggest_values(completions, "folder", "") == ["Attachments", "Projects", "Projects/Old"]
    assert suggest_values(completions, "folder", "ol") == ["Projects/Old"]
    assert [tag.lower() for tag in suggest_values(completions, "tag", "#pro")] == [
        "project",
        "project/garden",
    ]
    assert [name.lower() for name in suggest_values(completions, "property", "sta")] == ["start", "status"]
    assert suggest_values(completions, "vault", "no") == ["Notes"]
    assert suggest_values(completions, "style", "") == []


def test_hidden_notes_are_never_suggested(completions: Completions) -> None:
    found = [
        value.lower()
        for kind in ("note", "path", "folder", "tag", "property")
        for value in completions.suggest(kind, "").values
    ]
    assert found
    assert not [value for value in found if "secret" in value or "hidden" in value or "list" in value]


def test_names_that_begin_with_the_text_come_first(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"{name}.md": "" for name in ("submoth", "a moth", "moth", "mothball")}
    completions = Completions(open_engines(tmp_path, make_small_vault(tmp_path, files)))
    assert suggest_values(completions, "note", "moth") == ["moth", "mothball", "a moth", "submoth"]


def test_nothing_typed_suggests_the_notes_changed_last(tmp_path: Path) -> None:
    import os

    vault = make_small_vault(tmp_path, {"old.md": "", "new.md": "", "middle.md": ""})
    for age, name in ((300, "old"), (100, "new"), (200, "middle")):
        os.utime(vault / f"{name}.md", (1_700_000_000 - age,) * 2)
    completions = Completions(open_engines(tmp_path, vault))
    assert suggest_values(completions, "note", "") == ["new", "middle", "old"]


def test_suggestions_are_bounded_and_the_rest_is_counted(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"n{number}.md": "" for number in range(250)}
    found = Completions(open_engines(tmp_path, make_small_vault(tmp_path, files))).suggest("note", "n")
    assert (len(found.values), found.total, found.has_more) == (SUGGESTIONS, 250, True)


def test_a_new_note_is_suggested_at_once(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"one.md": ""})
    engines = open_engines(tmp_path, vault)
    completions = Completions(engines)
    engines["Notes"].index_sync.refresh()
    assert suggest_values(completions, "note", "") == ["one"]
    (vault / "two.md").write_text("")
    engines["Notes"].index_sync.refresh()
    assert set(suggest_values(completions, "note", "")) == {"one", "two"}
    engines.close()


NAMES = ("one", "One", "two", "é", "e\u0301", "Straße", "東京", "x.png", "a.canvas")


@pytest.mark.parametrize("scope", [Scope(), Scope(deny=("Secret",))], ids=["everything", "scope"])
@pytest.mark.parametrize("seed", range(3))
def test_after_changes_the_same_is_suggested_as_by_a_new_server(
    tmp_path: Path, seed: int, scope: Scope
) -> None:
    draw = random.Random(seed)
    vault = make_small_vault(tmp_path, FILES)
    engines = open_engines(tmp_path, vault, scope=scope)
    sync = engines["Notes"].index_sync
    sync.refresh()
    completions = Completions(engines)
    for _ in range(12):
        for _ in range(draw.randint(1, 3)):
            name = draw.choice(NAMES)
            file = vault / draw.choice(("", "Deep", "Deep/er", "Secret")) / name
            file = file if "." in name else file.with_name(f"{name}.md")
            if file.exists():
                file.unlink()
            else:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text("")
        sync.refresh()
        fresh = Completions(engines)
        for kind in ("note", "path", "folder"):
            for typed in ("", "o", "e", "er/", "/", "東"):
                assert completions.suggest(kind, typed) == fresh.suggest(kind, typed)
    engines.close()


def test_many_changes_at_once_are_read_again(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"one.md": ""})
    engines = open_engines(tmp_path, vault)
    engines["Notes"].index_sync.refresh()
    completions = Completions(engines)
    assert suggest_values(completions, "note", "o") == ["one"]
    for name in ("two", "four"):
        (vault / f"{name}.md").write_text("")
    engines["Notes"].index_sync.refresh()
    assert suggest_values(completions, "note", "o") == ["one", "two", "four"]
    engines.close()


def test_several_vaults_are_asked_together_or_one_by_name(tmp_path: Path) -> None:
    first, second = (
        make_small_vault(tmp_path, {"A1.md": ""}, "One"),
        make_small_vault(tmp_path, {"A2.md": ""}, "Two"),
    )
    completions = Completions(open_engines(tmp_path, first, second, tmp_path / "missing"))
    assert completions.suggest("note", "a").values == ("A1", "A2")
    assert completions.suggest("note", "a", "Two").values == ("A2",)
    assert completions.suggest("vault", "").values == ("One", "Two", "missing")


def test_tags_that_an_assistant_has_just_written_are_suggested(tmp_path: Path) -> None:
    engines = open_engines(tmp_path, make_small_vault(tmp_path, FILES), scope=Scope(deny=("Secret",)))
    completions, engine = Completions(engines), engines["Notes"]
    for number in range(5):
        tag = f"written{number}"
        engine.apply([Append(note="Café evenings", content=f"#{tag}")])
        assert suggest_values(completions, "tag", tag) == [tag]


@pytest.mark.parametrize("scope", [Scope(), Scope(deny=("Secret",))], ids=["everything", "a scope"])
def test_what_the_app_excludes_now_is_not_suggested(tmp_path: Path, scope: Scope) -> None:
    """Nothing else has been asked since the settings changed."""
    vault = make_small_vault(tmp_path, FILES)
    completions = Completions(open_engines(tmp_path, vault, scope=scope))
    settings = vault / ".obsidian" / "app.json"
    settings.parent.mkdir(exist_ok=True)
    for filters, tags, properties in (
        ("[]", {"project", "project/garden"}, ["status"]),
        ('["Projects/Moth"]', {"project"}, ["status"]),
        ('["Projects/"]', set(), ["status"]),
        ('["Projects/", "Plan.md"]', set(), []),
        ("[]", {"project", "project/garden"}, ["status"]),
    ):
        settings.write_text(f'{{"userIgnoreFilters": {filters}}}')
        # Several times: the first answer may be the one that brings the index up to date.
        for _ in range(3):
            assert {*map(str.lower, suggest_values(completions, "tag", "pro"))} == tags, filters
            found = suggest_values(completions, "property", "stat")
            assert [*map(str.lower, found)] == properties, filters
