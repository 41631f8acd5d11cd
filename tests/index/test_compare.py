"""Comparing a scan of the disk with the rows of the index."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vaultbridge.index.compare import DiskSnapshot, StoredFile, compare, scan_path, scan_vault
from vaultbridge.index.store.schema import INDEXED, NAME_ONLY, PENDING
from vaultbridge.vault.file_types import kind_of
from vaultbridge.vault.paths import VaultFolder, VaultPath
from vaultbridge.vault.walk import FileEntry, Unreadable


def make_row(path: str, *, id_: int = 1, trusted: int = 1, state: int = INDEXED) -> StoredFile:
    return StoredFile(id_, path, kind_of(path), 10, 1, 5, trusted, state, "h")


def make_entry(path: str, *, mtime: int = 1, size: int = 10, ino: int = 5) -> FileEntry:
    return FileEntry(VaultPath(path), size, mtime, ino, kind_of(path))


def make_snapshot(*entries: FileEntry, unreadable: str | None = None) -> DiskSnapshot:
    places = [] if unreadable is None else [Unreadable(VaultPath(unreadable), "why")]
    return DiskSnapshot({entry.path: entry for entry in entries}, places)


def test_a_file_with_the_same_stat_is_unchanged() -> None:
    assert not compare([make_row("a.md")], make_snapshot(make_entry("a.md")))


@pytest.mark.parametrize(
    "now",
    [
        make_entry("a.md", mtime=2),
        make_entry("a.md", size=11),
        make_entry("a.md", ino=6),
        make_entry("a.md", mtime=0),
    ],
)
def test_a_file_with_another_stat_is_read(now: FileEntry) -> None:
    difference = compare([make_row("a.md")], make_snapshot(now))
    assert difference.changed == [(make_row("a.md"), now)]


def test_untrusted_and_pending_files_are_read_whatever_their_stat() -> None:
    young, unread = make_row("a.md", trusted=0), make_row("b.md", state=PENDING)
    difference = compare([young, unread], make_snapshot(make_entry("a.md"), make_entry("b.md")))
    assert [entry.path for entry, _ in difference.changed] == ["a.md", "b.md"]


def test_attachments_are_never_read() -> None:
    difference = compare(
        [make_row("a.png", state=NAME_ONLY)], make_snapshot(make_entry("a.png", mtime=2), make_entry("b.png"))
    )
    assert [entry.path for entry, _ in difference.restamped] == ["a.png"]
    assert [entry.path for entry in difference.added] == ["b.png"]
    assert difference.jobs(7) == []


def test_files_are_read_by_rising_id_the_new_ones_last() -> None:
    """The full-text table writes to the file each time that an id is lower than the one before."""
    rows = [make_row(f"{id_}.md", id_=id_, trusted=0) for id_ in (5, 2, 9, 1)]
    found = compare(
        rows,
        make_snapshot(
            *(make_entry(f"{id_}.md") for id_ in (5, 2, 9, 1)), make_entry("0.md"), make_entry("7.md")
        ),
    )
    jobs = found.jobs(10)
    assert [job.id for job in jobs] == [1, 2, 5, 9, 10, 11]
    assert [job.path for job in jobs] == ["1.md", "2.md", "5.md", "9.md", "0.md", "7.md"]


def test_a_folder_that_cannot_be_listed_keeps_its_rows() -> None:
    rows = [
        make_row("open/a.md"),
        make_row("closed/b.md"),
        make_row("closed/deep/c.md"),
        make_row("closed.md"),
    ]
    difference = compare(rows, make_snapshot(unreadable="closed"))
    assert [row.path for row in difference.gone] == ["open/a.md", "closed.md"]


def test_a_vault_that_cannot_be_listed_keeps_all_rows() -> None:
    assert not compare([make_row("a.md"), make_row("b/c.md")], make_snapshot(unreadable=""))


def test_new_files_get_ids_in_the_order_of_their_paths() -> None:
    difference = compare([], make_snapshot(make_entry("b.md"), make_entry("c.png"), make_entry("a.md")))
    assert [(job.id, job.path) for job in difference.jobs(7)] == [(7, "a.md"), (8, "b.md")]


def test_scanning_one_path_finds_what_scanning_the_vault_finds_there(tmp_path: Path) -> None:
    (tmp_path / "A").mkdir()
    (tmp_path / "A" / "n.md").write_text("x")
    (tmp_path / "link.md").symlink_to(tmp_path / "A" / "n.md")
    (tmp_path / "loop").symlink_to(tmp_path / "A")
    (tmp_path / "out").symlink_to(tmp_path.parent)
    os.mkfifo(tmp_path / "pipe.md")
    root = VaultFolder(tmp_path)
    everything = scan_vault(root).entries
    assert set(everything) == {"A/n.md", "link.md"}
    for path in ("A/n.md", "link.md", "loop", "loop/n.md", "out", "pipe.md", "missing.md", "A", "a/n.md"):
        expected = {
            name: entry for name, entry in everything.items() if name == path or name.startswith(path + "/")
        }
        assert scan_path(root, VaultPath(path)).entries == expected
    assert scan_path(root, VaultPath("")).entries == everything
