"""`vaultbridge.vault.file_links`: which files are links to hidden ones, without a stat of every file."""

from __future__ import annotations

import errno
import os
import random
import unicodedata
from pathlib import Path

import pytest

from support.system_calls import refuse_call
from vaultbridge.vault.file_links import find_links_to_hidden, leads_to_hidden
from vaultbridge.vault.paths import VaultFolder
from vaultbridge.vault.walk import FileEntry, walk

FOLDERS = ("", "A/", "A/B/", "Bücher/", unicodedata.normalize("NFD", "Hören/"))
NAMES = ("one.md", "two.md", "Žofie.md", unicodedata.normalize("NFD", "Žofie.md"), "drei ü.md")


def is_visible(path: str) -> bool:
    return not path.startswith("Private/")


def may_contain(folder: str) -> bool:
    return folder != "Private" and is_visible(folder)


def group(root: VaultFolder) -> dict[str, list[str]]:
    """The vault's files by their folder, as the index knows them."""
    files: dict[str, list[str]] = {}
    for found in walk(root):
        if isinstance(found, FileEntry):
            files.setdefault(found.path.rpartition("/")[0], []).append(found.path)
    return files


def ask_each(root: VaultFolder, files: dict[str, list[str]]) -> set[str]:
    return {path for paths in files.values() for path in paths if leads_to_hidden(root, path, is_visible)}


def change(random_: random.Random, folder: Path) -> None:
    parent = folder / random_.choice(FOLDERS)
    parent.mkdir(parents=True, exist_ok=True)
    place = parent / random_.choice(NAMES)
    match random_.randrange(6):
        case 0:
            place.unlink(missing_ok=True)
        case 1:
            place.unlink(missing_ok=True)
            place.write_text("text")
        case 2 | 3:
            target = folder / random_.choice(["Private/secret.md", "open.md", "way.md", "nowhere.md"])
            place.unlink(missing_ok=True)
            place.symlink_to(os.path.relpath(target, parent))
        case 4:
            # What a link to this one leads to changes, and the folder of that link does not.
            (folder / "way.md").unlink(missing_ok=True)
            (folder / "way.md").symlink_to(random_.choice(["Private/secret.md", "open.md"]))
        case 5:
            other = folder / f"{random_.choice(FOLDERS)}{random_.choice(NAMES)}"
            if os.path.lexists(place) and other.parent.is_dir():
                place.rename(other)


@pytest.fixture
def vault(folder: Path) -> Path:
    (folder / "Private").mkdir()
    (folder / "Private/secret.md").write_text("secret")
    (folder / "open.md").write_text("open")
    return folder


@pytest.mark.parametrize("seed", range(6))
def test_it_finds_what_a_look_at_each_file_finds(vault: Path, root: VaultFolder, seed: int) -> None:
    random_ = random.Random(seed)
    seen = 0
    for _ in range(60):
        for _ in range(random_.randint(1, 4)):
            change(random_, vault)
        files = group(root)
        expected = ask_each(root, files)
        assert find_links_to_hidden(root, files, is_visible, may_contain) == expected
        seen += len(expected)
    assert seen > 60


def test_a_change_within_the_same_tick_is_seen(vault: Path, root: VaultFolder) -> None:
    for _ in range(20):
        (vault / "l.md").symlink_to("Private/secret.md")
        assert find_links_to_hidden(root, {"": ["l.md"]}, is_visible, may_contain) == {"l.md"}
        (vault / "l.md").unlink()
        (vault / "l.md").write_text("")
        assert find_links_to_hidden(root, {"": ["l.md"]}, is_visible, may_contain) == set()
        (vault / "l.md").unlink()


def test_in_a_folder_that_cannot_be_listed_each_file_is_looked_at(
    vault: Path, root: VaultFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (vault / "l.md").symlink_to("Private/secret.md")
    refuse_call(monkeypatch, "scandir", errno.EACCES)
    assert find_links_to_hidden(root, {"": ["l.md", "open.md"]}, is_visible, may_contain) == {"l.md"}
    # What cannot be looked at either may be such a link.
    refuse_call(monkeypatch, "lstat", errno.EACCES)
    refuse_call(monkeypatch, "stat", errno.EACCES)
    assert find_links_to_hidden(root, {"": ["l.md", "open.md"]}, is_visible, may_contain) == {
        "l.md",
        "open.md",
    }
