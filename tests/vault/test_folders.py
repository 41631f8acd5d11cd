"""`vaultbridge.vault.folders`: two private folders per vault, never in the vault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vaultbridge.errors import EngineFailure
from vaultbridge.vault.folders import Bases, CacheUnusable, find_bases, make_bases, vault_cache


@pytest.mark.parametrize(
    ("environ", "platform", "cache", "state"),
    [
        (
            {"VAULTBRIDGE_CACHE": "/c", "XDG_CACHE_HOME": "/x", "XDG_STATE_HOME": "/y"},
            "linux",
            "/c",
            "/c/state",
        ),
        ({"VAULTBRIDGE_CACHE": "/c", "VAULTBRIDGE_STATE": "/s"}, "linux", "/c", "/s"),
        ({"VAULTBRIDGE_STATE": "/s"}, "linux", "/h/.cache/vaultbridge", "/s"),
        ({"XDG_CACHE_HOME": "/x", "XDG_STATE_HOME": "/y"}, "linux", "/x/vaultbridge", "/y/vaultbridge"),
        (
            {"XDG_CACHE_HOME": "relative", "XDG_STATE_HOME": "relative"},
            "linux",
            "/h/.cache/vaultbridge",
            "/h/.local/state/vaultbridge",
        ),
        ({}, "linux", "/h/.cache/vaultbridge", "/h/.local/state/vaultbridge"),
        (
            {},
            "darwin",
            "/h/Library/Caches/vaultbridge",
            "/h/Library/Application Support/vaultbridge/State",
        ),
        ({"LOCALAPPDATA": "/l"}, "win32", "/l/vaultbridge/Cache", "/l/vaultbridge/State"),
    ],
)
def test_the_bases_are_the_overrides_or_the_systems_places(
    environ: dict[str, str], platform: str, cache: str, state: str
) -> None:
    assert find_bases({"HOME": "/h", **environ}, platform=platform) == Bases(Path(cache), Path(state))


def test_a_vaults_cache_folder_is_private_and_names_its_vault(folder: Path, tmp_path: Path) -> None:
    made = vault_cache(folder, make_bases(tmp_path / "base"))
    assert made.parent == tmp_path / "base"
    assert made.name.startswith("vault-")
    assert made.stat().st_mode & 0o777 == 0o700
    assert json.loads((made / "vault.json").read_text())["vault"] == str(folder.resolve())
    assert vault_cache(folder, make_bases(tmp_path / "base")) == made


def test_two_vaults_never_share_a_cache_but_two_paths_to_one_vault_do(tmp_path: Path) -> None:
    for name in ("a/Notes", "b/Notes"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "Notes")
    base = make_bases(tmp_path / "base")
    assert vault_cache(tmp_path / "a/Notes", base) != vault_cache(tmp_path / "b/Notes", base)
    assert vault_cache(tmp_path / "link", base) == vault_cache(tmp_path / "a/Notes", base)


def test_odd_vault_names_give_plain_folder_names(tmp_path: Path) -> None:
    odd = tmp_path / "日本 & notes! "
    odd.mkdir()
    assert "/" not in vault_cache(odd, make_bases(tmp_path / "base")).name
    assert vault_cache(odd, make_bases(tmp_path / "base")).name.startswith("日本-notes-")


def test_a_cache_inside_the_vault_is_refused(folder: Path) -> None:
    with pytest.raises(EngineFailure, match="inside the vault"):
        vault_cache(folder, make_bases(folder / "cache"))
    assert list(folder.iterdir()) == []


def test_the_error_for_an_unusable_cache_names_no_machine_path(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "base").write_text("a file in the way")
    with pytest.raises(EngineFailure) as caught:
        vault_cache(folder, make_bases(tmp_path / "base"))
    assert str(tmp_path) not in str(caught.value)


def test_a_link_to_itself_is_an_unusable_cache(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "base").symlink_to("base")
    with pytest.raises(CacheUnusable):
        vault_cache(folder, make_bases(tmp_path / "base"))
