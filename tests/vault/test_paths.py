"""`vaultbridge.vault.paths`: docs/obsidian.md 1, and the safety rules of the vault engine."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.errors import InvalidPath, NoteNotFound, PermissionDenied, VaultNotFound
from vaultbridge.links.resolve import file_name
from vaultbridge.vault.paths import (
    VaultFolder,
    VaultPath,
    folder_of,
    is_under,
    join,
    new_vault_path,
    normalize_name,
    vault_folder,
    vault_path,
)

NFC = "Café.md"
NFD = unicodedata.normalize("NFD", NFC)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Note.md", "Note.md"),
        ("/Note.md", "Note.md"),
        ("A//B/./Note.md", "A/B/Note.md"),
        ("A/../B/Note.md", "B/Note.md"),
        ("a..b.md", "a..b.md"),
        ("~draft.md", "~draft.md"),
        ("back\\slash.md", "back\\slash.md"),
        (NFD, NFC),
        ("日本語/ノート.md", "日本語/ノート.md"),
        ("A/B/", "A/B"),
    ],
)
def test_every_way_to_write_a_path_gives_one_form(written: str, expected: str) -> None:
    assert vault_path(written) == expected


@pytest.mark.parametrize(
    "written",
    [
        "",
        "/",
        ".",
        "..",
        "../x.md",
        "A/../../x.md",
        "/../etc/passwd",
        "a\0b.md",
        "a\nb.md",
        "a\x7f.md",
        "a\x85.md",
        "a\udcff.md",
        "C:/Windows/win.ini",
        "C:\\Windows",
        "c:",
        "\\\\server\\share\\x.md",
        ".obsidian/app.json",
        "A/.hidden.md",
        ".trash/x.md",
        "A/.../x.md",
        "..\\..\\x.md",
        "x" * 1025,
    ],
)
def test_a_path_that_no_vault_may_contain_is_refused(written: str) -> None:
    with pytest.raises(InvalidPath):
        vault_path(written)


@pytest.mark.skipif(os.name == "nt", reason="a colon is no part of a name there")
@pytest.mark.parametrize("written", ["Q: why?.md", "c:note.md", "A/C:/x.md"])
def test_a_letter_and_a_colon_are_a_drive_only_before_a_slash_or_the_end(written: str) -> None:
    assert vault_path(written) == written


def test_the_refusal_shows_no_control_character_and_not_all_of_a_long_path() -> None:
    with pytest.raises(InvalidPath) as caught:
        vault_path("a\x1b[31m" + "b" * 900)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("char", list('*"\\<>:|?#^[]'))
def test_a_new_name_may_not_contain_what_obsidian_refuses(char: str) -> None:
    """docs/obsidian.md 1: the characters refused in new names. An existing note may have them."""
    with pytest.raises(InvalidPath):
        new_vault_path(f"A/be{char}fore.md")
    assert vault_path(f"A/be{char}fore.md") == f"A/be{char}fore.md"


@pytest.mark.parametrize(
    "written",
    ["CON.md", "A/nul", "com1.txt", "LPT9.md", "aux", "COM¹.md", "Note.", "Note ", " Note.md", "é" * 128],
)
def test_a_new_name_that_another_system_could_not_store_is_refused(written: str) -> None:
    with pytest.raises(InvalidPath):
        new_vault_path(written)


@pytest.mark.parametrize(
    "written", ["console.md", "A/null.md", "company.md", "v1.2.md", "~draft.md", "a..b.md"]
)
def test_names_that_only_look_reserved_are_fine(written: str) -> None:
    assert new_vault_path(written) == written


@given(st.text(max_size=60))
def test_any_text_is_a_stable_path_or_raises_invalid_path(text: str) -> None:
    try:
        path = vault_path(text)
    except InvalidPath:
        return
    assert vault_path(path) == path
    assert not path.startswith("/") and "//" not in path
    assert all(part not in (".", "..") and not part.startswith(".") for part in path.split("/"))
    assert unicodedata.is_normalized("NFC", path)


@pytest.mark.parametrize("written", ["", "/", "."])
def test_the_vault_itself_is_a_folder(written: str) -> None:
    assert vault_folder(written) == ""


def test_the_parts_of_a_path() -> None:
    assert (folder_of("A/B/n.md"), file_name("A/B/n.md")) == ("A/B", "n.md")
    assert (folder_of("n.md"), file_name("n.md")) == ("", "n.md")
    assert (join("", "n.md"), join("A", "n.md")) == ("n.md", "A/n.md")
    assert is_under("A/B", "A") and is_under("A", "") and not is_under("AB", "A") and not is_under("A", "A")


def test_a_stored_name_becomes_nfc_unless_no_path_can_contain_it() -> None:
    assert normalize_name(NFD) == NFC
    assert normalize_name("no\u00a0break.md") == "no\u00a0break.md"
    assert normalize_name("Icon\r") is None
    assert normalize_name("bad\udcff.md") is None


def test_a_missing_vault_and_a_file_give_different_errors(tmp_path: Path) -> None:
    with pytest.raises(VaultNotFound, match="no such folder"):
        VaultFolder(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(VaultNotFound, match="not a folder"):
        VaultFolder(tmp_path / "file")


def test_a_file_is_located_exactly_first_then_in_another_form_then_in_another_case(
    root: VaultFolder, folder: Path
) -> None:
    (folder / "Notes").mkdir()
    (folder / "Notes" / NFD).write_text("nfd")
    (folder / "Notes" / "Upper.md").write_text("upper")
    (folder / "Notes" / "same.md").write_text("exact")
    (folder / "Notes" / "Same.md").write_text("other")
    assert root.locate(VaultPath(f"Notes/{NFC}")).read_text() == "nfd"
    assert root.locate(VaultPath("notes/UPPER.MD")).read_text() == "upper"
    assert root.locate(VaultPath("Notes/same.md")).read_text() == "exact"
    assert root.locate(VaultPath("Notes/SAME.md")).read_text() == "other", "the least in code point order"
    assert root.exists(VaultPath("NOTES/same.md"))


def test_a_missing_file_is_not_found_and_its_place_keeps_the_stored_folders(
    root: VaultFolder, folder: Path
) -> None:
    (folder / "Notes").mkdir()
    with pytest.raises(NoteNotFound):
        root.locate(VaultPath("Notes/none.md"))
    assert root.place(VaultPath("notes/Sub/none.md")) == folder / "Notes" / "Sub" / "none.md"


def test_a_link_out_of_the_vault_leads_nowhere_unless_allowed(
    root: VaultFolder, folder: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (folder / "door").symlink_to(outside)
    (folder / "leak.md").symlink_to(outside / "secret.md")
    for written in ("door/secret.md", "leak.md", "door"):
        with pytest.raises(PermissionDenied) as caught:
            root.locate(vault_path(written))
        assert str(tmp_path) not in str(caught.value)
    with pytest.raises(PermissionDenied):
        root.place(vault_path("door/new.md"))
    open_root = VaultFolder(folder, allow_outside_links=True)
    assert open_root.locate(vault_path("door/secret.md")).read_text() == "secret"


def test_a_link_inside_the_vault_is_followed(root: VaultFolder, folder: Path) -> None:
    (folder / "real.md").write_text("x")
    (folder / "also.md").symlink_to("real.md")
    assert root.locate(vault_path("also.md")).read_text() == "x"


def test_a_folder_whose_name_begins_like_the_vault_is_outside(root: VaultFolder, folder: Path) -> None:
    """A prefix test without a separator would let `vault-private` pass as part of `vault`."""
    sibling = folder.with_name(folder.name + "-private")
    sibling.mkdir()
    (sibling / "x.md").write_text("x")
    (folder / "link.md").symlink_to(sibling / "x.md")
    with pytest.raises(PermissionDenied):
        root.locate(vault_path("link.md"))
    assert root.path_of(sibling / "x.md") is None


def test_a_place_on_disk_has_a_vault_path_only_inside_and_unhidden(
    root: VaultFolder, folder: Path, tmp_path: Path
) -> None:
    assert root.path_of(folder / "A" / NFD) == f"A/{NFC}"
    assert root.path_of(folder / ".obsidian" / "app.json") is None
    assert root.path_of(folder / ".." / "x.md") is None
    assert root.path_of(folder) is None
    (tmp_path / "way").symlink_to(folder)
    assert root.path_of(tmp_path / "way" / "n.md") == "n.md"
    assert root.name == "vault"


def test_a_link_to_a_hidden_folder_of_the_vault_leads_out_of_it(tmp_path: Path) -> None:
    """`.obsidian` and dot folders are never reachable, not even through a link in the vault."""
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian" / "app.json").write_text("{}")
    (tmp_path / "config").symlink_to(".obsidian")
    (tmp_path / "app.json").symlink_to(".obsidian/app.json")
    for allowed in (False, True):
        root = VaultFolder(tmp_path, allow_outside_links=allowed)
        for path in ("config/app.json", "config/nothing.json", "app.json", "config"):
            with pytest.raises(PermissionDenied):
                root.locate(vault_path(path))
            with pytest.raises(PermissionDenied):
                root.place(vault_path(path))


def test_nobody_can_find_out_what_is_behind_a_link_out_of_the_vault(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "there.md").write_text("")
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "door").symlink_to(outside)
    root = VaultFolder(folder)
    answers = set()
    for name in ("there.md", "absent.md"):
        with pytest.raises(PermissionDenied) as caught:
            root.locate(vault_path(f"door/{name}"))
        answers.add(str(caught.value).replace(name, ""))
    assert len(answers) == 1


def test_a_link_to_a_folder_of_the_vault_is_not_a_folder_of_it(tmp_path: Path) -> None:
    """docs/obsidian.md 1: loops are ignored; so a scope on the folder cannot be walked around."""
    (tmp_path / "Private").mkdir()
    (tmp_path / "Private" / "n.md").write_text("")
    (tmp_path / "way").symlink_to("Private")
    (tmp_path / "same.md").symlink_to("Private/n.md")
    root = VaultFolder(tmp_path)
    for path in ("way", "way/n.md", "way/absent.md"):
        with pytest.raises(NoteNotFound):
            root.locate(vault_path(path))
        with pytest.raises(PermissionDenied):
            root.place(vault_path(path))
    assert root.real_path(root.locate(vault_path("same.md"))) == "Private/n.md"


def test_a_vault_is_absent_when_its_folder_is_gone_or_replaced_by_a_file_or_empty_folder(
    tmp_path: Path,
) -> None:
    folder, away = tmp_path / "Notes", tmp_path / "away"
    folder.mkdir()
    root = VaultFolder(folder)
    # Empty, but the folder that was opened.
    assert root.absence() == ""
    (folder / "a.md").touch()
    folder.rename(away)
    assert root.absence() == "its folder is gone"
    folder.touch()
    assert root.absence() == "a file is in its place"
    folder.unlink()
    folder.mkdir()
    (folder / ".Trash-0").mkdir()
    assert root.absence() == "an empty folder is in its place"
    for ask in (root.check, lambda: root.locate(VaultPath("a.md"))):
        with pytest.raises(VaultNotFound) as caught:
            ask()
        assert "The vault Notes is not available: an empty folder" in str(caught.value)
        assert str(tmp_path) not in str(caught.value)
    (folder / ".Trash-0").rmdir()
    folder.rmdir()
    away.rename(folder)
    assert root.absence() == ""
    assert root.locate(VaultPath("a.md")).name == "a.md"


@pytest.mark.parametrize("first", ["a.md", ".obsidian"])
def test_another_folder_in_the_vaults_place_is_the_vault_once_it_has_content(
    tmp_path: Path, first: str
) -> None:
    """As when the vault was restored from a copy. From then on it may be emptied, too."""
    folder = tmp_path / "Notes"
    folder.mkdir()
    root = VaultFolder(folder)
    folder.rename(tmp_path / "away")
    folder.mkdir()
    (folder / first).mkdir()
    assert root.absence() == ""
    (folder / first).rmdir()
    assert root.absence() == ""
