"""`vaultbridge.vault.identity`: what is taken for the vault at its path, and at another one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from support.files import write_vault
from vaultbridge.errors import TimedOut
from vaultbridge.system import list_mounts_beneath, read_birth_time
from vaultbridge.vault.folders import Bases, vault_state
from vaultbridge.vault.identity.adopt import adopt_moved, find_moved
from vaultbridge.vault.identity.recognize import VaultIdentity
from vaultbridge.vault.identity.record import (
    RECORD_FILE,
    SAMPLE_LOOKED_AT,
    SAMPLED,
    VaultRecord,
    load_record,
)
from vaultbridge.vault.locking import WRITER_LOCK, FileLock

FILES: dict[str, str | bytes] = {f"F{number % 3}/{number}.md": f"{number}" for number in range(12)}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "Notes", FILES)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


def remember(folder: Path, state: Path, *, accept: bool = False) -> VaultIdentity:
    identity = VaultIdentity(folder)
    identity.keep(state, accept=accept)
    return identity


def record_of(state: Path) -> VaultRecord:
    record = load_record(state)
    assert record is not None
    return record


def change_record(state: Path, **fields: object) -> None:
    changed = replace(record_of(state), **fields)
    (state / RECORD_FILE).write_bytes(msgspec.json.encode(changed))


def test_the_record_is_private_bounded_and_has_no_hidden_files(tmp_path: Path, state: Path) -> None:
    many: dict[str, str | bytes] = {f"{number}.md": "" for number in range(SAMPLE_LOOKED_AT + 10)}
    folder = write_vault(
        tmp_path / "many", {".hidden/secret.md": "", "x" * 200 + "/" + "y" * 250: "", **many}
    )
    remember(folder, state)
    record = record_of(state)
    assert (state / RECORD_FILE).stat().st_mode & 0o777 == 0o600
    assert len(record.sample) == SAMPLED and not any("hidden" in path for path in record.sample)
    assert record.files <= SAMPLE_LOOKED_AT


def test_a_name_that_is_not_utf_8_is_left_out_of_the_record(notes: Path, state: Path) -> None:
    with open(os.fsencode(notes) + b"/\xff.md", "wb"):
        pass
    remember(notes, state)
    assert record_of(state).files == len(FILES) + 1
    assert set(record_of(state).sample) == set(FILES)


def test_a_record_that_cannot_be_read_is_made_again(notes: Path, state: Path) -> None:
    (state / RECORD_FILE).write_bytes(b"{")
    assert remember(notes, state).absence() == ""
    assert record_of(state).files == len(FILES)


@pytest.mark.parametrize(("left", "there"), [(12, True), (6, True), (5, False), (1, False)])
def test_another_folder_is_the_vault_with_at_least_half_of_its_files(
    notes: Path, state: Path, left: int, *, there: bool
) -> None:
    remember(notes, state)
    notes.rename(notes.with_name("away"))
    write_vault(notes, dict(list(FILES.items())[:left]))
    why = remember(notes, state).absence()
    assert why == ("" if there else "a folder with other files is in its place, where 12 files were")
    (notes / "mine.md").touch()
    assert remember(notes, state, accept=True).absence() == ""
    assert remember(notes, state).absence() == ""


@pytest.mark.parametrize("emptied", [False, True])
def test_the_same_folder_is_the_vault_whatever_is_in_it(notes: Path, state: Path, *, emptied: bool) -> None:
    remember(notes, state)
    for folder in notes.iterdir():
        shutil.rmtree(folder)
    if not emptied:
        write_vault(notes, {"Entirely/other.md": ""})
    assert remember(notes, state).absence() == ""


def test_a_folder_with_the_number_of_a_deleted_one_is_not_the_vault(notes: Path, state: Path) -> None:
    if not read_birth_time(notes):
        pytest.skip("this file system does not tell when a folder was made")
    remember(notes, state)
    change_record(state, born=1, sample=("gone.md",))
    assert (
        remember(notes, state).absence() == "a folder with other files is in its place, where 12 files were"
    )


def test_without_times_of_birth_other_files_under_the_same_number_are_another_disk(
    notes: Path, state: Path
) -> None:
    """The topmost folder of many file systems has the same number on every disk."""
    remember(notes, state)
    change_record(state, born=0, sample=("gone.md",))
    assert "other files" in remember(notes, state).absence()
    for folder in notes.iterdir():
        shutil.rmtree(folder)
    assert remember(notes, state).absence() == "", "it may have been emptied"


def test_another_device_number_with_the_same_files_is_the_vault(notes: Path, state: Path) -> None:
    """As in a container, or after a stick was plugged in again."""
    remember(notes, state)
    change_record(state, device=1, inode=2, born=3)
    assert remember(notes, state).absence() == ""
    assert (record_of(state).device, record_of(state).inode) == (notes.stat().st_dev, notes.stat().st_ino)


def test_what_one_process_accepts_is_seen_by_the_others(notes: Path, state: Path) -> None:
    running = remember(notes, state)
    notes.rename(notes.with_name("away"))
    notes.mkdir()
    assert running.absence() == "an empty folder is in its place, where 12 files were"
    remember(notes, state, accept=True)
    assert running.absence() == ""


def test_the_record_follows_a_vault_that_changes_while_somebody_watches(notes: Path, state: Path) -> None:
    running = remember(notes, state)
    for folder in notes.iterdir():
        shutil.rmtree(folder)
    write_vault(notes, {"Entirely/other.md": ""})
    running.renew()
    assert record_of(state).sample == ("Entirely/other.md",)
    notes.rename(notes.with_name("away"))
    notes.mkdir()
    running.renew()
    assert record_of(state).sample == ("Entirely/other.md",), "nothing is learnt from another folder"


def test_mount_points_in_a_folder_are_listed(tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_text(
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "30 22 0:25 / /v/Work\\040Notes rw - btrfs /dev/sda2 rw\n"
        "31 22 0:25 / /v rw - btrfs /dev/sda2 rw\n"
        "32 22 0:25 / /vault rw - btrfs /dev/sda2 rw\n",
        "utf-8",
    )
    assert list_mounts_beneath(Path("/v"), mounts=table) == ["Work Notes"]
    assert list_mounts_beneath(Path("/v"), mounts=tmp_path / "none") == []


# Vaults that were moved.


def bases_at(state: Path) -> Bases:
    return Bases(state.parent / "cache", state)


def know(vault: Path, base: Path) -> Path:
    folder = vault_state(vault, bases_at(base))
    remember(vault, folder)
    return folder


def test_the_folder_of_a_renamed_vault_is_renamed_once(notes: Path, state: Path) -> None:
    old = know(notes, state)
    (old / "journal.sqlite").write_bytes(b"history")
    renamed = notes.rename(notes.with_name("Renamed"))
    new = vault_state(renamed, bases_at(state))
    assert new != old and not old.exists()
    assert (new / "journal.sqlite").read_bytes() == b"history"
    assert adopt_moved(renamed, new) is None


def test_a_copy_a_link_and_a_bound_folder_do_not_take_the_history_away(notes: Path, state: Path) -> None:
    old = know(notes, state)
    copy = notes.with_name("Copy")
    shutil.copytree(notes, copy)
    assert vault_state(copy, bases_at(state)) != old
    link = notes.with_name("Link")
    link.symlink_to(notes)
    assert vault_state(link, bases_at(state)) == old
    bound = notes.with_name("Bound")
    bound.mkdir()
    command = ["mount", "--bind", str(notes), str(bound)]
    if subprocess.run(command, check=False, capture_output=True).returncode == 0:
        try:
            assert find_moved(bound, state) is None
        finally:
            subprocess.run(["umount", "-l", str(bound)], check=True)
    assert old.exists()


def test_a_link_that_was_left_at_the_old_path_is_not_the_vault(notes: Path, state: Path) -> None:
    old = know(notes, state)
    (old / "journal.sqlite").write_bytes(b"history")
    identity = VaultIdentity(notes)
    renamed = notes.rename(notes.with_name("Renamed"))
    notes.symlink_to(renamed)
    new = vault_state(notes, bases_at(state))
    assert new != old and (new / "journal.sqlite").read_bytes() == b"history"
    assert "a link is in its place" in identity.absence()


def test_a_link_to_a_copy_on_another_disk_brings_the_history_along(notes: Path, state: Path) -> None:
    old = know(notes, state)
    copy = notes.with_name("Copy")
    shutil.copytree(notes, copy)
    shutil.rmtree(notes)
    notes.symlink_to(copy)
    assert find_moved(copy, state) == old


def test_a_copy_whose_original_is_gone_takes_it_only_with_all_files_and_only_from_one(
    notes: Path, state: Path
) -> None:
    old = know(notes, state)
    copy = notes.with_name("Copy")
    shutil.copytree(notes, copy)
    twin = write_vault(notes.with_name("Twin"), FILES)
    know(twin, state)
    assert find_moved(copy, state) is None
    shutil.rmtree(notes)
    assert find_moved(copy, state) == old
    first = next(iter(FILES))
    (copy / first).rename(copy / "other.md")
    assert find_moved(copy, state) is None
    (copy / "other.md").rename(copy / first)
    shutil.rmtree(twin)
    assert find_moved(copy, state) is None, "it could be either"


def test_few_files_prove_nothing_in_a_copy(tmp_path: Path, state: Path) -> None:
    small = write_vault(tmp_path / "Small", {"Welcome.md": "", "Inbox.md": ""})
    know(small, state)
    shutil.rmtree(small)
    again = write_vault(tmp_path / "Other", {"Welcome.md": "", "Inbox.md": ""})
    assert find_moved(again, state) is None


def test_a_vault_is_not_taken_over_while_its_writer_works(notes: Path, state: Path) -> None:
    old = know(notes, state)
    renamed = notes.rename(notes.with_name("Renamed"))
    with (
        FileLock(old / WRITER_LOCK).hold(1, what="x"),
        pytest.raises(TimedOut, match="moved while it is being"),
    ):
        vault_state(renamed, bases_at(state))
    assert old.exists()
    assert (vault_state(renamed, bases_at(state)) / RECORD_FILE).exists()
