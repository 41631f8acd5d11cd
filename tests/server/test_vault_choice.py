"""Which vaults a server opens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vaultbridge.errors import VaultNotFound
from vaultbridge.limits import VAULTS
from vaultbridge.server.vault_choice import list_obsidian_vaults, name_vaults


def register_in_obsidian(home: Path, *vaults: tuple[Path, int, bool]) -> dict[str, str]:
    entries: dict[str, Any] = {
        f"id{number}": {"path": str(folder), "ts": opened, **({"open": True} if is_open else {})}
        for number, (folder, opened, is_open) in enumerate(vaults)
    }
    config = home / ".config" / "obsidian"
    config.mkdir(parents=True)
    (config / "obsidian.json").write_text(json.dumps({"vaults": entries}))
    for folder, _, _ in vaults:
        folder.mkdir(parents=True, exist_ok=True)
    return {"HOME": str(home)}


def test_a_vault_is_called_like_its_folder(tmp_path: Path) -> None:
    (tmp_path / "My notes").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "My notes")
    assert list(name_vaults([str(tmp_path / "link") + "/"])) == ["My notes"]
    assert name_vaults(["Known by name"]) == {"Known by name": "Known by name"}


def test_vaults_of_the_same_name_are_numbered_and_doubles_left_out() -> None:
    assert name_vaults(["/a/Notes", "/b/Notes", "/a/Notes"]) == {"Notes": "/a/Notes", "Notes 2": "/b/Notes"}


def test_the_number_of_vaults_is_bounded() -> None:
    assert len(name_vaults([f"/v{number}" for number in range(100)])) == VAULTS


def test_without_a_name_the_vaults_open_in_obsidian_are_used(tmp_path: Path) -> None:
    a, b, c = (tmp_path / name for name in "abc")
    environ = register_in_obsidian(tmp_path / "home", (a, 1, True), (b, 3, False), (c, 2, True))
    assert list_obsidian_vaults(environ) == [str(c), str(a)]


def test_with_no_open_vault_the_last_opened_existing_one_is_used(tmp_path: Path) -> None:
    a, b, gone = (tmp_path / name for name in ("a", "b", "gone"))
    environ = register_in_obsidian(tmp_path / "home", (a, 1, False), (b, 3, False), (gone, 9, False))
    gone.rmdir()
    assert list_obsidian_vaults(environ) == [str(b)]


def test_without_a_vault_in_obsidian_the_error_says_how_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(VaultNotFound, match="VAULTBRIDGE_VAULT"):
        list_obsidian_vaults({"HOME": str(tmp_path)})
