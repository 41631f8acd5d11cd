"""A folder that a change makes is durable before the change counts as done, and so is every name in it.

Recorded from the system calls: each name that is made must be followed by a sync of the folder that it is in.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.write.steps import ABSENT, MoveFile, Step, TrashFile, WriteFile
from vaultbridge.vault.write.transaction import Transactor

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="the system does not name descriptors"
)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The names that were made, and the folders that were synced."""
    recorded: list[tuple[str, str]] = []

    def name_of(place: Any, dir_fd: int | None) -> str:
        if dir_fd is None:
            return os.fspath(place)
        return str(Path(f"/proc/self/fd/{dir_fd}").readlink() / place)

    make, sync = os.mkdir, os.fsync

    def record_make(place: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        make(place, mode, dir_fd=dir_fd)
        recorded.append(("made", name_of(place, dir_fd)))

    def record_sync(handle: int) -> None:
        sync(handle)
        recorded.append(("synced", str(Path(f"/proc/self/fd/{handle}").readlink())))

    monkeypatch.setattr(os, "mkdir", record_make)
    monkeypatch.setattr(os, "fsync", record_sync)
    return recorded


def list_unsynced(calls: list[tuple[str, str]]) -> list[str]:
    return [
        place
        for number, (what, place) in enumerate(calls)
        if what == "made" and ("synced", os.path.dirname(place)) not in calls[number:]  # noqa: PTH120 - text
    ]


def step(name: str) -> Step:
    match name:
        case "local trash":
            return TrashFile(VaultPath("S/A.md"), "local", None)
        case "system trash":
            return TrashFile(VaultPath("S/A.md"), "system", None)
        case "new note":
            return WriteFile(VaultPath("x/y/z/N.md"), b"n", ABSENT)
        case _:
            return MoveFile(VaultPath("S/A.md"), VaultPath("x/y/B.md"), None)


@pytest.mark.parametrize("change", ["local trash", "system trash", "new note", "move"])
def test_the_folder_around_each_new_folder_is_synced(
    folder: Path, transactor: Transactor, calls: list[tuple[str, str]], change: str
) -> None:
    (folder / "S").mkdir()
    (folder / "S/A.md").write_text("a")
    calls.clear()
    done = transactor.apply((step(change),), actor="test", label="test")
    assert [place for what, place in calls if what == "made"]
    assert list_unsynced(calls) == []
    calls.clear()
    transactor.undo(done.id, actor="test")
    assert list_unsynced(calls) == []


def test_a_folder_that_recovery_makes_again_is_durable_too(
    folder: Path,
    transactor: Transactor,
    calls: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    snapshot: Callable[[], dict[str, bytes | None]],
) -> None:
    (folder / "S").mkdir()
    (folder / "x/y").mkdir(parents=True)
    (folder / "x/y/A.md").write_text("a")
    done = transactor.apply(
        (MoveFile(VaultPath("x/y/A.md"), VaultPath("S/B.md"), None),), actor="test", label="test"
    )
    for place in ("x/y", "x"):
        (folder / place).rmdir()
    calls.clear()
    transactor.undo(done.id, actor="test", force=True)
    assert (folder / "x/y/A.md").read_text() == "a"
    assert list_unsynced(calls) == []


def test_the_folder_of_the_info_that_the_trash_needs_to_restore_a_file_is_synced(
    folder: Path, home: Path, transactor: Transactor, calls: list[tuple[str, str]]
) -> None:
    (folder / "S").mkdir()
    (folder / "S/A.md").write_text("a")
    (home / ".local/share/Trash/info").mkdir(parents=True)
    (home / ".local/share/Trash/files").mkdir()
    transactor.apply((step("system trash"),), actor="test", label="test")
    assert ("synced", str(home / ".local/share/Trash/info")) in calls
