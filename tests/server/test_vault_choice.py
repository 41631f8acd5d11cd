"""Which vaults a server opens."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.obsidian_files import register_in_obsidian
from vaultbridge.errors import VaultNotFound
from vaultbridge.limits import VAULTS
from vaultbridge.server.vault_choice import (
    choose_known_vault,
    choose_vaults,
    contains_notes,
    find_here,
    find_vault_around,
    name_vaults,
)


def test_a_vault_is_called_like_its_folder(tmp_path: Path) -> None:
    (tmp_path / "My notes").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "My notes")
    assert list(name_vaults([str(tmp_path / "link") + "/"])) == ["My notes"]
    assert name_vaults(["Known by name"]) == {"Known by name": "Known by name"}


def test_vaults_of_the_same_name_are_numbered_and_doubles_left_out() -> None:
    assert name_vaults(["/a/Notes", "/b/Notes", "/a/Notes"]) == {"Notes": "/a/Notes", "Notes 2": "/b/Notes"}


def test_the_number_of_vaults_is_bounded() -> None:
    assert len(name_vaults([f"/v{number}" for number in range(100)])) == VAULTS


def test_the_only_vault_in_obsidian_that_is_there_is_used(tmp_path: Path) -> None:
    a, gone = tmp_path / "a", tmp_path / "gone"
    environ = register_in_obsidian(tmp_path / "home", (a, 1, False), (gone, 9, True))
    gone.rmdir()
    assert choose_known_vault(environ).vaults == (str(a),)


def test_between_several_nobody_guesses_though_one_is_open(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    environ = register_in_obsidian(tmp_path / "home", (a, 1, True), (b, 3, False))
    with pytest.raises(VaultNotFound, match="Obsidian knows 2 vaults: b, a"):
        choose_known_vault(environ)


def test_without_a_vault_in_obsidian_the_error_says_how_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(VaultNotFound, match="VAULTBRIDGE_VAULT"):
        choose_known_vault({"HOME": str(tmp_path)})


def test_variables_in_the_environment_are_replaced(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "VAULTBRIDGE_VAULT": os.pathsep.join(("$HOME/Notes", "", "Work"))}
    choice = choose_vaults(environ, "")
    assert (choice.vaults, choice.source) == ((f"{tmp_path}/Notes", "Work"), "environment")


def test_a_folder_that_was_deleted_is_in_no_vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find_vault_around(find_here()) == ""


def test_a_folder_of_notes_is_recognized_without_obsidian(tmp_path: Path) -> None:
    assert not contains_notes(str(tmp_path)) and not contains_notes(str(tmp_path / "gone"))
    (tmp_path / "A.md").write_text("a")
    assert contains_notes(str(tmp_path))
