"""`vaultbridge.vault.obsidian`: docs/obsidian.md 9, the list of known vaults on each system."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from vaultbridge.errors import AmbiguousName, VaultNotFound
from vaultbridge.vault.obsidian import find_vault, list_app_folders, list_known_vaults
from vaultbridge.vault.paths import VaultFolder


def register(folder: Path, vaults: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "obsidian.json").write_text(json.dumps({"vaults": vaults}), encoding="utf-8")


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home)}


@pytest.fixture
def config(home: Path) -> Path:
    return home / ".config" / "obsidian"


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"HOME": "/h"}, "linux", "/h/.config/obsidian"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/x"}, "linux", "/x/obsidian"),
        ({"HOME": "/h"}, "linux", "/h/.var/app/md.obsidian.Obsidian/config/obsidian"),
        ({"HOME": "/h"}, "darwin", "/h/Library/Application Support/obsidian"),
        ({"USERPROFILE": "/u", "APPDATA": "/a"}, "win32", "/a/obsidian"),
        ({"USERPROFILE": "/u"}, "win32", "/u/AppData/Roaming/obsidian"),
    ],
)
def test_the_apps_folder_depends_on_the_system(environ: dict[str, str], platform: str, expected: str) -> None:
    assert Path(expected) in list_app_folders(environ, platform=platform)


def test_vaults_are_listed_last_opened_first_including_those_of_flatpak(
    environ: dict[str, str], config: Path, home: Path
) -> None:
    register(config, {"1": {"path": "/v/Old", "ts": 1000}, "2": {"path": "/v/New", "ts": 9000, "open": True}})
    register(home / ".var/app/md.obsidian.Obsidian/config/obsidian", {"3": {"path": "/v/Flat", "ts": 5000}})
    found = list_known_vaults(environ, platform="linux")
    assert [(vault.id, vault.name, vault.open, vault.opened) for vault in found] == [
        ("2", "New", True, 9.0),
        ("3", "Flat", False, 5.0),
        ("1", "Old", False, 1.0),
    ]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"vaults": []}', '{"vaults": {"1": 5, "2": {"path": 7}}}', "\xff"]
)
def test_a_broken_list_is_an_empty_one(environ: dict[str, str], config: Path, text: str) -> None:
    config.mkdir(parents=True)
    (config / "obsidian.json").write_bytes(text.encode("latin-1"))
    assert list_known_vaults(environ, platform="linux") == ()


def test_a_vault_is_found_by_path_name_id_or_a_name_in_another_case(
    environ: dict[str, str], config: Path, folder: Path
) -> None:
    register(config, {"abc123": {"path": str(folder), "ts": 1}})
    for text in (str(folder), "vault", "VAULT", "abc123"):
        assert find_vault(text, environ=environ, platform="linux") == folder


def test_a_folder_needs_no_registration(environ: dict[str, str], folder: Path) -> None:
    assert find_vault(str(folder), environ=environ, platform="linux") == folder


def test_the_error_for_a_missing_folder_names_no_folder_above_it(
    environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "File").write_text("")
    for name, words in (("Gone", "There is no folder 'Gone' at the path"), ("File", "'File' is a file")):
        for ask in (lambda text: find_vault(text, environ=environ, platform="linux"), VaultFolder):
            with pytest.raises(VaultNotFound) as caught:
                ask(str(tmp_path / name))
            assert str(tmp_path) not in str(caught.value) and repr(name) in str(caught.value)
        with pytest.raises(VaultNotFound, match=words):
            find_vault(str(tmp_path / name), environ=environ, platform="linux")


def test_a_missing_vault_lists_the_known_ones_by_name(
    environ: dict[str, str], config: Path, tmp_path: Path
) -> None:
    with pytest.raises(VaultNotFound, match="Obsidian has no vaults on this machine"):
        find_vault("Nope", environ=environ, platform="linux")
    register(
        config,
        {"1": {"path": str(tmp_path / "Notes"), "ts": 1}, "2": {"path": str(tmp_path / "Work"), "ts": 2}},
    )
    with pytest.raises(VaultNotFound) as caught:
        find_vault("Nope", environ=environ, platform="linux")
    assert str(caught.value) == "There is no vault 'Nope'. Known vaults: Work, Notes."
    with pytest.raises(VaultNotFound, match="its folder is missing"):
        find_vault("Notes", environ=environ, platform="linux")
    (tmp_path / "file").write_text("")
    with pytest.raises(VaultNotFound, match="is a file"):
        find_vault(str(tmp_path / "file"), environ=environ, platform="linux")
    with pytest.raises(VaultNotFound):
        find_vault("", environ=environ, platform="linux")


def test_two_vaults_of_one_name_are_distinguished_by_id(
    environ: dict[str, str], config: Path, tmp_path: Path
) -> None:
    for place in ("a/Notes", "b/Notes"):
        (tmp_path / place).mkdir(parents=True)
    register(config, {"1": {"path": str(tmp_path / "a/Notes")}, "2": {"path": str(tmp_path / "b/Notes")}})
    with pytest.raises(AmbiguousName) as caught:
        find_vault("Notes", environ=environ, platform="linux")
    assert str(tmp_path) not in str(caught.value)
    assert find_vault("2", environ=environ, platform="linux") == tmp_path / "b/Notes"
    (tmp_path / "a/Notes").rmdir()
    assert find_vault("Notes", environ=environ, platform="linux") == tmp_path / "b/Notes"


def test_an_entry_that_the_system_refuses_hides_no_other(
    home: Path, config: Path, environ: dict[str, str]
) -> None:
    (home / "V").mkdir()
    long = {"path": "/" + "x" * 5_000, "ts": 9}
    register(config, {"a": long, "b": {"path": "/\0"}, "c": {"path": str(home / "V")}})
    assert [vault.folder.name for vault in list_known_vaults(environ) if vault.is_there] == ["V"]
    assert find_vault("V", environ=environ) == home / "V"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_in_place_of_the_list_is_not_waited_for(config: Path, environ: dict[str, str]) -> None:
    config.mkdir(parents=True)
    os.mkfifo(config / "obsidian.json")
    assert list_known_vaults(environ) == ()
