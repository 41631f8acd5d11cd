"""`vaultbridge.vault.walk`: docs/obsidian.md 1, and that what cannot be seen is not taken for deleted."""

from __future__ import annotations

import errno
import os
import unicodedata
from pathlib import Path

import pytest

from support.files import write_vault
from support.system_calls import refuse_call
from vaultbridge.errors import NoteNotFound
from vaultbridge.vault.file_types import kind_of
from vaultbridge.vault.paths import VaultFolder, VaultPath
from vaultbridge.vault.walk import WALK_DEPTH, FileEntry, Skipped, Unreadable, list_folders, walk


def list_entries(root: VaultFolder, folder: str = "") -> dict[str, FileEntry]:
    return {item.path: item for item in walk(root, VaultPath(folder)) if isinstance(item, FileEntry)}


def list_skipped(root: VaultFolder) -> set[tuple[str, str]]:
    return {(item.path, item.why) for item in walk(root) if isinstance(item, Skipped)}


def test_every_file_is_listed_with_its_stat_and_kind(root: VaultFolder, folder: Path) -> None:
    (folder / "A" / "B").mkdir(parents=True)
    (folder / "A" / "B" / "note.md").write_text("12345")
    (folder / "board.canvas").write_text("{}")
    found = list_entries(root)
    assert set(found) == {"A/B/note.md", "board.canvas"}
    status = (folder / "A" / "B" / "note.md").stat()
    assert found["A/B/note.md"] == FileEntry(
        VaultPath("A/B/note.md"), 5, status.st_mtime_ns, status.st_ino, "note"
    )


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("n.md", "note"),
        ("n.MD", "note"),
        ("v1.2.md", "note"),
        ("c.canvas", "canvas"),
        ("b.base", "base"),
        ("i.PNG", "attachment"),
        ("s.3gp", "attachment"),
        ("p.pdf", "attachment"),
        ("x.txt", "other"),
        ("README", "other"),
        ("A.md/README", "other"),
    ],
)
def test_the_kind_follows_the_extension(name: str, kind: str, root: VaultFolder, folder: Path) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("")
    assert list_entries(root)[name].kind == kind
    assert kind_of(name.rpartition("/")[2]) == kind


def test_files_that_are_as_known_are_left_out_and_the_others_remain_known(
    root: VaultFolder, folder: Path
) -> None:
    write_vault(folder, {"same.md": "a", "changed.md": "b", "Sub/same é.md": "c", "new.md": "d"})
    known = {
        entry.path: (entry.size, entry.mtime_ns, entry.ino)
        for entry in walk(root)
        if isinstance(entry, FileEntry) and entry.path != "new.md"
    }
    known["gone.md"] = (1, 2, 3)
    write_vault(folder, {"changed.md": "other"})
    found = [entry.path for entry in walk(root, known=known) if isinstance(entry, FileEntry)]
    assert sorted(found) == ["changed.md", "new.md"]
    assert known.keys() == {"changed.md", "gone.md"}


def test_names_with_a_leading_dot_are_invisible_and_node_modules_is_not(
    root: VaultFolder, folder: Path
) -> None:
    for name in (".obsidian/app.json", ".trash/x.md", "A/.hidden.md", "node_modules/x.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    assert set(list_entries(root)) == {"node_modules/x.md"}


def test_files_and_folders_stored_as_nfd_are_listed_as_nfc(root: VaultFolder, folder: Path) -> None:
    nfd = unicodedata.normalize("NFD", "Été/Café.md")
    (folder / nfd).parent.mkdir()
    (folder / nfd).write_text("x")
    assert set(list_entries(root)) == {"Été/Café.md"}
    assert root.locate(VaultPath("Été/Café.md")).read_text() == "x"


def test_the_nfc_form_of_a_name_wins_over_another_form(root: VaultFolder, folder: Path) -> None:
    nfc, nfd = "Café.md", unicodedata.normalize("NFD", "Café.md")
    (folder / nfd).write_text("nfd!")
    (folder / nfc).write_text("nfc")
    assert list_entries(root)["Café.md"].size == 3
    assert root.locate(VaultPath(nfc)).read_text() == "nfc", "the walk and the way to disk must agree"
    assert list_skipped(root) == {("Café.md", "same-name")}


def test_the_first_of_two_forms_wins_when_neither_is_nfc(root: VaultFolder, folder: Path) -> None:
    (folder / "\u1e9b\u0323.md").write_text("one")
    (folder / "\u017f\u0323\u0307.md").write_text("two!")
    shown = unicodedata.normalize("NFC", "\u017f\u0323\u0307.md")
    assert shown == "\u1e9b\u0323.md"
    assert list_entries(root)[shown].size == 3
    (folder / "\u1e9b\u0323.md").unlink()
    assert list_entries(root)[shown].size == 4
    assert root.locate(VaultPath(shown)).read_text() == "two!"


def test_names_that_no_path_can_contain_are_skipped_and_reported(root: VaultFolder, folder: Path) -> None:
    (folder / "Icon\r").write_text("")
    Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.md")).write_text("")
    assert list_entries(root) == {}
    assert list_skipped(root) == {("Icon\\x0d", "bad-name"), ("bad\\xff.md", "bad-name")}


def test_a_folder_that_cannot_be_listed_is_reported_and_the_rest_is_walked(
    root: VaultFolder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "Closed").mkdir()
    (folder / "Closed" / "a.md").write_text("")
    (folder / "b.md").write_text("")
    refuse_call(monkeypatch, "open", errno.EACCES, where=lambda place: str(place).endswith("Closed"))
    found = list(walk(root))
    assert Unreadable(VaultPath("Closed"), os.strerror(errno.EACCES)) in found
    assert [item.path for item in found if isinstance(item, FileEntry)] == ["b.md"]


def test_a_vault_that_vanished_is_unreadable_not_empty(root: VaultFolder, folder: Path) -> None:
    # Made before, because a number that has become free may be given again.
    folder.with_name("other").mkdir()
    folder.rmdir()
    assert [type(item) for item in walk(root)] == [Unreadable]
    folder.with_name("other").rename(folder)
    assert list(walk(root)) == [Unreadable(VaultPath(""), "an empty folder is in its place")]


def test_a_vault_that_vanishes_during_the_walk_is_reported(root: VaultFolder, folder: Path) -> None:
    (folder / "A").mkdir()
    (folder / "A/a.md").touch()
    (folder / "b.md").touch()
    walking = walk(root)
    assert isinstance(next(walking), FileEntry)
    folder.rename(folder.with_name("away"))
    assert list(walking) == [Unreadable(VaultPath(""), "its folder is gone")]


def test_a_link_to_a_file_counts_as_that_file_and_one_out_of_the_vault_is_left_out(
    root: VaultFolder, folder: Path, tmp_path: Path
) -> None:
    (folder / "real.md").write_text("12")
    (folder / "also.md").symlink_to("real.md")
    (tmp_path / "secret.md").write_text("secret")
    (folder / "leak.md").symlink_to(tmp_path / "secret.md")
    (folder / "dead.md").symlink_to("nowhere.md")
    assert {path: entry.size for path, entry in list_entries(root).items()} == {"real.md": 2, "also.md": 2}
    assert list_skipped(root) == {("leak.md", "outside"), ("dead.md", "broken-link")}


def test_links_to_folders_are_followed_once_and_never_back_into_the_vault(
    folder: Path, tmp_path: Path
) -> None:
    """docs/obsidian.md 1: followed when they do not lead back into the vault; loops ignored."""
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "o.md").write_text("")
    (outside / "back").symlink_to(folder)
    (folder / "Sub").mkdir()
    (folder / "Sub" / "n.md").write_text("")
    (folder / "Sub" / "loop").symlink_to(folder)
    (folder / "twin").symlink_to("Sub")
    (folder / "door").symlink_to(outside)
    (folder / "window").symlink_to(outside / "deep")
    (folder / "up").symlink_to(tmp_path)
    root = VaultFolder(folder, allow_outside_links=True)
    found = sorted(list_entries(root))
    assert [path for path in found if path.startswith("Sub/")] == ["Sub/n.md"]
    assert len([path for path in found if path.endswith("o.md")]) == 1, "one way to each file"
    assert {why for path, why in list_skipped(root)} == {"loop"}
    assert set(list_entries(VaultFolder(folder))) == {"Sub/n.md"}


def test_a_pipe_or_socket_is_not_a_file_of_the_vault(root: VaultFolder, folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    assert list_entries(root) == {}
    assert list_skipped(root) == {("pipe.md", "special")}


def test_nesting_is_followed_only_so_deep(root: VaultFolder, folder: Path) -> None:
    place = folder
    for _ in range(WALK_DEPTH + 3):
        place = place / "d"
    place.mkdir(parents=True)
    (place / "too deep.md").write_text("")
    assert list_entries(root) == {}
    assert {why for _, why in list_skipped(root)} == {"too-deep"}


def test_folders_are_listed_also_when_they_are_empty(root: VaultFolder, folder: Path) -> None:
    for place in ("Empty", "A/Deep/Deeper", ".obsidian/plugins", "Cafe\u0301"):
        (folder / place).mkdir(parents=True)
    (folder / "A/n.md").write_text("n", "utf-8")
    assert sorted(list_folders(root)) == ["A", "A/Deep", "A/Deep/Deeper", "Caf\u00e9", "Empty"]


def test_one_folder_can_be_walked_alone_in_any_spelling(root: VaultFolder, folder: Path) -> None:
    (folder / "A").mkdir()
    (folder / "A" / "n.md").write_text("")
    (folder / "b.md").write_text("")
    assert set(list_entries(root, "A")) == {"A/n.md"}
    with pytest.raises(NoteNotFound):
        list(walk(root, VaultPath("none")))


def test_our_temporary_files_are_reported_only_as_leftovers(root: VaultFolder, folder: Path) -> None:
    (folder / ".vaultbridge-0123.tmp").write_text("")
    assert list_entries(root) == {}
    assert list_skipped(root) == {(".vaultbridge-0123.tmp", "leftover")}


def test_files_that_are_not_downloaded_are_listed_as_placeholders(root: VaultFolder, folder: Path) -> None:
    (folder / ".Far.md.icloud").write_text("stub")
    (folder / ".Near.md.icloud").write_text("stub")
    (folder / "Near.md").write_text("here")
    with (folder / "hollow.md").open("wb") as file:
        file.truncate(5000)
    found = list_entries(root)
    assert found["Far.md"].placeholder and found["Far.md"].kind == "note"
    assert not found["Near.md"].placeholder
    assert found["hollow.md"].placeholder
