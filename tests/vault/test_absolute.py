"""What an absolute path means to a vault: its own path, its top, or a place outside."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from vaultbridge.errors import InvalidPath
from vaultbridge.vault.absolute import find_innermost, make_vault_relative, relative_to_vault
from vaultbridge.vault.paths import VaultFolder
from vaultbridge.vault.scope import Scope


@pytest.fixture
def root(tmp_path: Path) -> VaultFolder:
    folder = tmp_path / "N\u00f6tes"
    (folder / "f").mkdir(parents=True)
    (folder / "home").mkdir()
    (folder / "Private").mkdir()
    return VaultFolder(folder)


def make_relative(text: str, root: VaultFolder, scope: Scope | None = None) -> str:
    return make_vault_relative(text, root, (scope or Scope()).visible)


@pytest.mark.parametrize(
    ("rest", "path"),
    [
        ("/A.md", "./A.md"),
        ("/f/A.md", "f/A.md"),
        ("/f/", "f/"),
        ("/", ""),
        ("", ""),
        ("/tmp/new/A.md", "tmp/new/A.md"),
        ("/f/../A.md", "f/../A.md"),
    ],
)
def test_an_absolute_path_in_the_vault_becomes_a_vault_path(root: VaultFolder, rest: str, path: str) -> None:
    text = f"{root.folder}{rest}"
    assert make_relative(text, root) == path
    assert make_relative(unicodedata.normalize("NFD", text), root) == path


def test_the_vaults_folder_can_be_reached_through_a_link(root: VaultFolder, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(root.folder)
    (root.folder / "inner.md").symlink_to("f/A.md")
    assert make_relative(f"{tmp_path}/way/f/A.md", root) == "f/A.md"
    assert make_relative(f"{tmp_path}/way", root) == ""
    # A link inside the vault keeps its own name: the user of the path asks where it leads.
    assert make_relative(f"{tmp_path}/way/inner.md", root) == "./inner.md"


@pytest.mark.parametrize(
    "text",
    [
        "A.md",
        "/A.md",
        "/f/A.md",
        "/home/A.md",
        "//f/A.md",
        "/Nowhere-at-all/A.md",
        "/tmp",
        "f/A",
        "~A",
        "Q: why?",
    ],
)
def test_a_path_that_can_start_at_the_vaults_top_stays_as_it_is(root: VaultFolder, text: str) -> None:
    assert make_relative(text, root) == text


@pytest.mark.parametrize(
    "text", ["/tmp/x.md", "/etc/passwd", "/Users/me/Notes/A.md", "//tmp/x.md", "~/A.md", "/usr/../tmp/x.md"]
)
def test_a_path_on_the_machine_outside_the_vault_is_refused(root: VaultFolder, text: str) -> None:
    with pytest.raises(InvalidPath, match="outside the vault"):
        make_relative(text, root)


@pytest.mark.parametrize("text", ["//server/share/A.md", "//server/A.md", "//Private/A.md"])
def test_a_network_share_is_refused(root: VaultFolder, text: str) -> None:
    """`//f/A.md` is a path from the vault's top with a slash too many, because the vault has that folder."""
    with pytest.raises(InvalidPath, match="outside the vault"):
        make_relative(text, root, Scope(deny=("Private/",)))


def test_a_sibling_folder_whose_name_begins_like_the_vaults_is_outside(root: VaultFolder) -> None:
    text = f"{root.folder}s/A.md"
    assert relative_to_vault(text, root.folder) is None
    with pytest.raises(InvalidPath):
        make_relative(text, root)


def test_a_hidden_folder_of_the_vault_makes_no_difference(root: VaultFolder) -> None:
    """`/home/x.md` is refused alike whether a hidden `home` is in the vault or none is."""
    scope = Scope(deny=("home/",))
    with pytest.raises(InvalidPath) as hidden:
        make_relative("/home/x.md", root, scope)
    (root.folder / "home").rmdir()
    with pytest.raises(InvalidPath) as missing:
        make_relative("/home/x.md", root, scope)
    assert str(hidden.value) == str(missing.value)


def test_an_allowed_subfolder_is_found_from_the_top(root: VaultFolder) -> None:
    assert make_relative("/home/mine/x.md", root, Scope(allow=("home/mine/",))) == "/home/mine/x.md"


def test_the_innermost_of_nested_vaults_contains_a_path(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "ab"]
    for folder in folders:
        folder.mkdir()
    assert find_innermost(f"{tmp_path}/a/b/c.md", folders) == folders[1]
    assert find_innermost(f"{tmp_path}/a/x.md", folders) == folders[0]
    assert find_innermost(f"{tmp_path}/x.md", folders) is None
    assert find_innermost("a/b/c.md", folders) is None
