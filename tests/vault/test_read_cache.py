"""`vaultbridge.vault.read_cache`: whether a file is unchanged, judged by its stat alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.clocks import read_later_clock
from vaultbridge.system import RACY_NS
from vaultbridge.vault.paths import Root, vault_path
from vaultbridge.vault.read_cache import ReadCache, StrictFileStat, is_local_filesystem

NOTE = vault_path("Folder/n.md")


@pytest.fixture
def place(folder: Path) -> Path:
    if not is_local_filesystem(folder.resolve()):
        pytest.skip("nothing is known of this file system")
    place = folder / NOTE
    place.parent.mkdir()
    place.write_bytes(b"first")
    return place


def make_stamped(root: Root) -> tuple[ReadCache[str, str], StrictFileStat]:
    files = ReadCache[str, str](root, clock=read_later_clock)
    stamp = files.stat(NOTE)
    assert stamp is not None
    assert files.is_unchanged(NOTE, stamp)
    return files, stamp


def change_visibly(place: Path, change: Callable[[], object]) -> None:
    """Change a file so that its status shows it: a clock of a file system goes in steps."""
    before = place.stat().st_ctime_ns
    change()
    while place.stat().st_ctime_ns == before:
        change()


def test_a_file_that_changed_just_now_gets_no_stamp(root: Root, place: Path) -> None:
    assert ReadCache[str, str](root, clock=lambda: place.stat().st_ctime).stat(NOTE) is None
    assert ReadCache[str, str](root, clock=lambda: place.stat().st_ctime + RACY_NS / 2e9).stat(NOTE) is None


def test_a_file_from_the_future_gets_no_stamp(root: Root, place: Path) -> None:
    os.utime(place, (read_later_clock() + 3600, read_later_clock() + 3600))
    assert ReadCache[str, str](root, clock=read_later_clock).stat(NOTE) is None


def test_a_rewrite_in_place_of_equal_length_is_noticed(root: Root, place: Path) -> None:
    files, stamp = make_stamped(root)
    change_visibly(place, lambda: place.write_bytes(b"other"))
    assert not files.is_unchanged(NOTE, stamp)


def test_a_timestamp_that_was_set_back_is_noticed(root: Root, place: Path) -> None:
    times = place.stat()
    files, stamp = make_stamped(root)

    def change() -> None:
        place.write_bytes(b"other")
        os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))

    change_visibly(place, change)
    assert place.stat().st_mtime_ns == times.st_mtime_ns
    assert not files.is_unchanged(NOTE, stamp)


def test_a_replaced_removed_or_restored_file_is_noticed(root: Root, place: Path) -> None:
    files, stamp = make_stamped(root)
    beside = place.with_name("new")
    beside.write_bytes(b"first")
    beside.replace(place)
    assert not files.is_unchanged(NOTE, stamp)
    place.unlink()
    assert not files.is_unchanged(NOTE, stamp)
    assert files.stat(NOTE) is None


@pytest.mark.parametrize("part", ["Folder", "Folder/n.md"])
def test_a_link_in_place_of_the_file_or_its_folder_is_noticed(root: Root, place: Path, part: str) -> None:
    """Even one that leads to the very same file: where it leads may be another's to say."""
    files, stamp = make_stamped(root)
    moved = root.folder / "elsewhere"
    (root.folder / part).rename(moved)
    (root.folder / part).symlink_to(moved)
    assert not files.is_unchanged(NOTE, stamp)
    assert files.stat(NOTE) is None


def test_a_folder_and_another_spelling_get_no_stamp(root: Root, place: Path) -> None:
    files = ReadCache[str, str](root, clock=read_later_clock)
    assert files.stat(vault_path("Folder")) is None
    assert files.stat(vault_path("folder/N.md")) is None
