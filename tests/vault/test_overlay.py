"""`vaultbridge.vault.write.overlay`: what a path will hold when a step's turn comes."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaultbridge.vault.paths import VaultFolder, vault_path
from vaultbridge.vault.write.overlay import Overlay, OverlayEntry

P = vault_path


@pytest.fixture
def overlay(root: VaultFolder, folder: Path) -> Overlay:
    for name in ("A/n.md", "A/in/m.md", "b.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    return Overlay(root)


def test_untouched_paths_are_as_on_disk_in_any_spelling(overlay: Overlay, folder: Path) -> None:
    assert (overlay.at(P("a/N.md")).kind, overlay.at(P("a/N.md")).disk) == ("file", folder / "A" / "n.md")
    assert overlay.at(P("A")).kind == "folder"
    assert overlay.at(P("none/x.md")).kind == "none"


def test_a_vacated_path_is_gone_with_everything_under_it(overlay: Overlay) -> None:
    overlay.vacate(P("A"))
    assert overlay.at(P("A")).kind == overlay.at(P("a/in/m.md")).kind == "none"
    assert overlay.at(P("b.md")).kind == "file"


def test_a_file_in_a_moved_folder_is_found_at_its_new_path(overlay: Overlay, folder: Path) -> None:
    overlay.move(P("A"), P("Z"), folder / "Z")
    moved = overlay.at(P("z/IN/m.md"))
    assert (moved.kind, moved.place, moved.disk) == ("file", folder / "Z/in/m.md", folder / "A/in/m.md")
    assert overlay.at(P("A/n.md")).kind == "none"
    assert overlay.at(P("Z/new.md")).kind == "none"
    assert overlay.at(P("Z/new.md")).place == folder / "Z" / "new.md"


def test_earlier_changes_go_with_a_moved_folder(overlay: Overlay, folder: Path) -> None:
    overlay.vacate(P("A/n.md"))
    written = OverlayEntry(folder / "A" / "w.md", "file")
    overlay.put(P("A/w.md"), written)
    overlay.move(P("A"), P("Z"), folder / "Z")
    assert overlay.at(P("Z/n.md")).kind == "none"
    assert overlay.at(P("Z/w.md")) is written
    assert written.place == folder / "Z" / "w.md"
    assert overlay.at(P("A/w.md")).kind == "none"


def test_a_folder_is_empty_when_nothing_will_be_left_in_it(overlay: Overlay, folder: Path) -> None:
    assert not overlay.is_empty_folder(P("A"))
    overlay.vacate(P("A/in/m.md"))
    assert overlay.is_empty_folder(P("A/in"))
    overlay.vacate(P("A/in"))
    overlay.vacate(P("A/n.md"))
    assert overlay.is_empty_folder(P("A"))
    overlay.put(P("A/new.md"), OverlayEntry(folder / "A" / "new.md", "file"))
    assert not overlay.is_empty_folder(P("A"))
    assert not overlay.is_empty_folder(P("b.md"))
    (folder / "H").mkdir()
    (folder / "H" / ".hidden").write_text("")
    assert not overlay.is_empty_folder(P("H"))


def test_two_files_whose_names_differ_only_in_case_are_two(overlay: Overlay, folder: Path) -> None:
    (folder / "B.md").write_text("")
    if (folder / "B.md").samefile(folder / "b.md"):
        pytest.skip("this disk holds one of them only")
    overlay.vacate(P("b.md"))
    assert (overlay.at(P("b.md")).kind, overlay.at(P("B.md")).disk) == ("none", folder / "B.md")
    overlay.move(P("B.md"), P("c.md"), folder / "c.md")
    assert overlay.at(P("B.md")).kind == "none"
    assert overlay.at(P("C.md")).disk == folder / "B.md"
