"""`vaultbridge.vault.cloud`: placeholders are never read, conflict copies are recognized."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from vaultbridge.vault.cloud import Conflict, detect_conflict, icloud_original_name, is_placeholder
from vaultbridge.vault.paths import VaultPath


@pytest.mark.parametrize(
    ("name", "original"),
    [
        (".Note.md.icloud", "Note.md"),
        (".icloud", None),
        ("Note.icloud", None),
        (".hidden", None),
        (".x.icloud", "x"),
    ],
)
def test_icloud_placeholders_name_their_original(name: str, original: str | None) -> None:
    assert icloud_original_name(name) == original


def make_status(**fields: int) -> os.stat_result:
    """A stat as another system gives it; this machine's has no such fields."""
    return cast(os.stat_result, SimpleNamespace(**{"st_size": 10, "st_blocks": 8, **fields}))


@pytest.mark.parametrize("attribute", [0x1000, 0x40000, 0x400000])
def test_windows_recall_attributes_mark_a_placeholder(attribute: int) -> None:
    assert is_placeholder(make_status(st_file_attributes=attribute | 0x20), "x")
    assert not is_placeholder(make_status(st_file_attributes=0x20), "x")


def test_the_dataless_flag_of_macos_marks_a_placeholder() -> None:
    assert is_placeholder(make_status(st_flags=0x40000000), "x")
    assert not is_placeholder(make_status(st_flags=0), "x")


def test_only_a_file_that_is_one_single_hole_counts_as_a_placeholder(tmp_path: Path) -> None:
    hollow, partly, empty = tmp_path / "h", tmp_path / "p", tmp_path / "e"
    with hollow.open("wb") as file:
        file.truncate(100_000)
    with partly.open("wb") as file:
        file.write(b"x")
        file.truncate(100_000)
    empty.write_bytes(b"")
    assert is_placeholder(hollow.stat(), str(hollow))
    assert not is_placeholder(partly.stat(), str(partly))
    assert not is_placeholder(empty.stat(), str(empty))
    # A file system that counts no blocks, because it stores small files in its metadata, must not hide a real
    # note.
    assert not is_placeholder(make_status(st_blocks=0, st_size=100_000), str(partly))


@pytest.mark.parametrize(
    ("name", "original", "maker"),
    [
        ("A/Note (conflicted copy 2024-01-02).md", "A/Note.md", "dropbox"),
        ("Note (Jane's conflicted copy 2024-01-02).md", "Note.md", "dropbox"),
        ("Note (DESKTOP-1's conflicted copy).md", "Note.md", "dropbox"),
        ("Note (Case Conflict).md", "Note.md", "dropbox"),
        ("Note (Conflicted copy laptop 202401021530).md", "Note.md", "obsidian-sync"),
        ("Note.sync-conflict-20240102-030405-ABCDEFG.md", "Note.md", "syncthing"),
        ("Note (conflicted copy 2024-01-02 030405).md", "Note.md", "nextcloud"),
        ("Note_conflict-20240102-030405.md", "Note.md", "nextcloud"),
    ],
)
def test_signed_conflict_copies_are_certain_even_when_the_original_is_gone(
    name: str, original: str, maker: str
) -> None:
    found = detect_conflict(VaultPath(name), set())
    assert found is not None
    assert (found.original, found.maker, found.certain) == (original, maker, True)


@pytest.mark.parametrize(
    ("name", "maker"),
    [
        ("A/Note-DESKTOP-AB12CD3.md", "onedrive"),
        ("A/Note-Studio-PC.md", "onedrive"),
        ("A/Note 2.md", "icloud"),
    ],
)
def test_unsigned_copies_count_only_beside_their_original(name: str, maker: str) -> None:
    found = detect_conflict(VaultPath(name), {"A/Note.md"})
    assert found == Conflict(VaultPath("A/Note.md"), maker, certain=False)  # type: ignore[arg-type]
    assert detect_conflict(VaultPath(name), {"B/Note.md"}) is None


@pytest.mark.parametrize(
    "name",
    [
        "Note.md",
        "Note-atlas.md",
        "Note 1.md",
        "Chapter 2.md",
        "Project-API.md",
        "2024-01-02.md",
        "Note (copy).md",
        "x",
    ],
)
def test_ordinary_names_are_no_conflict_copies(name: str) -> None:
    assert detect_conflict(VaultPath(name), {"Note.md", "Project.md", "2024-01.md"}) is None


def test_obsidians_own_numbering_is_no_conflict() -> None:
    """docs/obsidian.md 4: a new file that collides gets ` 1`, ` 2` …"""
    assert detect_conflict(VaultPath("Untitled 2.md"), {"Untitled.md", "Untitled 1.md"}) is None
