"""`vaultbridge.vault.cache_folder`: one private folder per vault, never in the vault."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vaultbridge.errors import EngineFailure
from vaultbridge.vault.cache_folder import CacheUnusable, cache_base, vault_cache


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"VAULTBRIDGE_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, "linux", "/c"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "linux", "/x/vaultbridge"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "linux", "/h/.cache/vaultbridge"),
        ({"HOME": "/h"}, "linux", "/h/.cache/vaultbridge"),
        ({"HOME": "/h"}, "darwin", "/h/Library/Caches/vaultbridge"),
        ({"HOME": "/h", "LOCALAPPDATA": "/l"}, "win32", "/l/vaultbridge/Cache"),
    ],
)
def test_the_base_is_the_override_or_the_systems_place(
    environ: dict[str, str], platform: str, expected: str
) -> None:
    assert cache_base(environ, platform=platform) == Path(expected)


def test_a_vaults_cache_folder_is_private_and_names_its_vault(folder: Path, tmp_path: Path) -> None:
    made = vault_cache(folder, tmp_path / "base")
    assert made.parent == tmp_path / "base"
    assert made.name.startswith("vault-")
    assert made.stat().st_mode & 0o777 == 0o700
    assert json.loads((made / "vault.json").read_text())["vault"] == str(folder.resolve())
    assert vault_cache(folder, tmp_path / "base") == made


def test_two_vaults_never_share_a_cache_but_two_paths_to_one_vault_do(tmp_path: Path) -> None:
    for name in ("a/Notes", "b/Notes"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "Notes")
    base = tmp_path / "base"
    assert vault_cache(tmp_path / "a/Notes", base) != vault_cache(tmp_path / "b/Notes", base)
    assert vault_cache(tmp_path / "link", base) == vault_cache(tmp_path / "a/Notes", base)


def test_odd_vault_names_give_plain_folder_names(tmp_path: Path) -> None:
    odd = tmp_path / "日本 & notes! "
    odd.mkdir()
    assert "/" not in vault_cache(odd, tmp_path / "base").name
    assert vault_cache(odd, tmp_path / "base").name.startswith("日本-notes-")


def test_a_cache_inside_the_vault_is_refused(folder: Path) -> None:
    with pytest.raises(EngineFailure, match="inside the vault"):
        vault_cache(folder, folder / "cache")
    assert list(folder.iterdir()) == []


def test_the_error_for_an_unusable_cache_names_no_machine_path(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "base").write_text("a file in the way")
    with pytest.raises(EngineFailure) as caught:
        vault_cache(folder, tmp_path / "base")
    assert str(tmp_path) not in str(caught.value)


def test_a_link_to_itself_is_an_unusable_cache(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "base").symlink_to("base")
    with pytest.raises(CacheUnusable):
        vault_cache(folder, tmp_path / "base")
