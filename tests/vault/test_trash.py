"""`vaultbridge.vault.write.trash`: docs/obsidian.md 4 (`trashOption`, names) and the desktop's trash
specification."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

import pytest

from support.files import mounted
from vaultbridge.vault.paths import VaultFolder
from vaultbridge.vault.write.trash import Trash, move_to_trash, restore_from_trash

NOW = datetime(2024, 5, 6, 7, 8, 9)


def test_the_vaults_own_trash_numbers_from_two(root: VaultFolder, folder: Path, trash: Trash) -> None:
    names = []
    for text in "abc":
        (folder / "Note.md").write_text(text)
        chosen = trash.choose(root, folder / "Note.md", system=False, now=NOW)
        move_to_trash(folder / "Note.md", chosen.place, chosen.info_place, chosen.info_text)
        names.append(chosen.place.relative_to(folder).as_posix())
    assert names == [".trash/Note.md", ".trash/Note 2.md", ".trash/Note 3.md"]
    assert (folder / ".trash" / "Note 3.md").read_text() == "c"


def test_a_place_chosen_for_one_file_is_not_given_to_another(
    root: VaultFolder, folder: Path, trash: Trash
) -> None:
    place = trash.choose(root, folder / "A" / "x.md", system=False, now=NOW)
    two = trash.choose(root, folder / "B" / "x.md", system=False, now=NOW, taken={place.place})
    assert (place.place.name, two.place.name) == ("x.md", "x 2.md")


def test_the_desktops_trash_gets_the_file_and_its_info(
    root: VaultFolder, folder: Path, home: Path, trash: Trash
) -> None:
    place = folder / "Ä note & more.md"
    place.write_text("x")
    chosen = trash.choose(root, place, system=True, now=NOW)
    move_to_trash(place, chosen.place, chosen.info_place, chosen.info_text)
    can = home / ".local" / "share" / "Trash"
    assert (can / "files" / place.name).read_text() == "x"
    head, path, date = (can / "info" / f"{place.name}.trashinfo").read_text().splitlines()
    assert head == "[Trash Info]"
    assert path.startswith("Path=") and path.isascii() and unquote(path[5:]) == str(place)
    assert date == "DeletionDate=2024-05-06T07:08:09"
    assert not chosen.fallback
    restore_from_trash(place, chosen.place, chosen.info_place)
    assert place.read_text() == "x"
    assert list((can / "files").iterdir()) == list((can / "info").iterdir()) == []


def test_a_trash_name_with_a_leftover_info_file_is_not_reused(
    root: VaultFolder, folder: Path, home: Path, trash: Trash
) -> None:
    """The specification: the info file's exclusive creation decides who has a name."""
    info = home / ".local" / "share" / "Trash" / "info"
    info.mkdir(parents=True)
    (info / "x.md.trashinfo").write_text("")
    (folder / "x.md").write_text("")
    assert trash.choose(root, folder / "x.md", system=True, now=NOW).place.name == "x 2.md"


def test_trashing_never_replaces_a_file_in_the_trash(folder: Path) -> None:
    (folder / ".trash").mkdir()
    (folder / ".trash" / "x.md").write_text("older")
    (folder / "x.md").write_text("newer")
    with pytest.raises(FileExistsError):
        move_to_trash(folder / "x.md", folder / ".trash" / "x.md", None, "")
    assert (folder / ".trash" / "x.md").read_text() == "older"


def test_the_data_home_may_be_elsewhere(root: VaultFolder, folder: Path, tmp_path: Path) -> None:
    trash = Trash({"HOME": "/h", "XDG_DATA_HOME": str(tmp_path / "data")}, platform="linux")
    chosen = trash.choose(root, folder / "x.md", system=True, now=NOW)
    assert chosen.place == tmp_path / "data" / "Trash" / "files" / "x.md"


def test_a_trash_that_links_to_itself_is_passed_over(root: VaultFolder, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "Trash").symlink_to("Trash")
    trash = Trash({"HOME": "/h", "XDG_DATA_HOME": str(tmp_path)}, platform="linux")
    chosen = trash.choose(root, folder / "x.md", system=True, now=NOW)
    assert not chosen.place.is_relative_to(tmp_path / "Trash")


def test_macos_uses_the_users_trash_and_windows_the_vaults(
    root: VaultFolder, folder: Path, home: Path
) -> None:
    mac = Trash({"HOME": str(home)}, platform="darwin").choose(root, folder / "x.md", system=True, now=NOW)
    assert (mac.place, mac.info_place, mac.fallback) == (home / ".Trash" / "x.md", None, "")
    win = Trash({"HOME": str(home)}, platform="win32").choose(root, folder / "x.md", system=True, now=NOW)
    assert win.place == folder / ".trash" / "x.md"
    assert "Windows" in win.fallback


def test_a_vault_on_another_device_uses_a_trash_of_that_device(tmp_path: Path, trash: Trash) -> None:
    disk = tmp_path / "disk"
    with mounted(disk, "512k"):
        (disk / "vault").mkdir()
        root, place = VaultFolder(disk / "vault"), disk / "vault" / "x.md"
        own = trash.choose(root, place, system=True, now=NOW)
        assert own.place == disk / f".Trash-{trash.user_id}" / "files" / "x.md"
        assert "Path=vault/x.md\n" in own.info_text, "relative to the device's top"
        (disk / ".Trash").mkdir()
        (disk / ".Trash").chmod(0o777)
        again = trash.choose(root, place, system=True, now=NOW)
        assert again.place == own.place, "no sticky bit, not used"
        (disk / ".Trash").chmod(0o1777)
        shared = trash.choose(root, place, system=True, now=NOW)
        assert shared.place == disk / ".Trash" / str(trash.user_id) / "files" / "x.md"


def test_a_vault_that_is_a_whole_device_uses_its_own_trash(tmp_path: Path, trash: Trash) -> None:
    """A trash at the device's top would be in the vault."""
    disk = tmp_path / "disk"
    with mounted(disk, "512k"):
        chosen = trash.choose(VaultFolder(disk), disk / "x.md", system=True, now=NOW)
        assert chosen.place == disk / ".trash" / "x.md"
        assert chosen.fallback
