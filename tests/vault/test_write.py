"""`vaultbridge.vault.write.replace`: the smallest acts of replacing a file."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.system_calls import refuse_call
from vaultbridge.errors import EngineFailure, InvalidPath, PermissionDenied
from vaultbridge.vault import no_follow
from vaultbridge.vault.paths import VaultFolder
from vaultbridge.vault.walk import Skipped, walk
from vaultbridge.vault.write.replace import (
    LEFTOVER_SECONDS,
    TOGETHER,
    check_writable,
    do_together,
    publish_new,
    publish_over,
    remove_leftover,
    stage,
    temporary_name,
    to_vault_error,
)


def test_temporary_names_never_repeat_and_are_never_notes(root: VaultFolder, folder: Path) -> None:
    names = {temporary_name() for _ in range(1000)}
    assert len(names) == 1000
    (folder / names.pop()).write_text("x")
    assert all(isinstance(item, Skipped) for item in walk(root))


def test_a_staged_file_takes_the_mode_and_attributes_of_the_one_it_replaces(folder: Path) -> None:
    place, temporary = folder / "n.md", folder / temporary_name()
    place.write_bytes(b"old")
    place.chmod(0o604)
    tagged = True
    try:
        os.setxattr(place, "user.colour", b"green")
    except OSError:
        tagged = False
    stage(temporary, b"new", like=place)
    publish_over(temporary, place)
    assert place.read_bytes() == b"new"
    assert place.stat().st_mode & 0o777 == 0o604
    if tagged:
        assert os.getxattr(place, "user.colour") == b"green"


def test_a_new_file_takes_the_users_default_mode_or_the_one_given(folder: Path) -> None:
    (folder / "reference").write_text("")
    stage(folder / "a", b"", like=None)
    stage(folder / "b", b"", like=None, mode=0o600)
    assert (folder / "a").stat().st_mode == (folder / "reference").stat().st_mode
    assert (folder / "b").stat().st_mode & 0o777 == 0o600


def test_publishing_a_new_file_never_replaces_one(folder: Path) -> None:
    place, temporary = folder / "n.md", folder / temporary_name()
    stage(temporary, b"ours", like=None)
    place.write_bytes(b"theirs")
    with pytest.raises(FileExistsError):
        publish_new(temporary, place)
    assert place.read_bytes() == b"theirs"
    place.unlink()
    publish_new(temporary, place)
    assert place.read_bytes() == b"ours"
    assert not temporary.exists()
    assert place.stat().st_nlink == 1


def test_publishing_works_without_hard_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_call(monkeypatch, "link", errno.EPERM)
    temporary = folder / temporary_name()
    stage(temporary, b"ours", like=None)
    (folder / "taken.md").write_bytes(b"theirs")
    with pytest.raises(FileExistsError):
        publish_new(temporary, folder / "taken.md")
    publish_new(temporary, folder / "n.md")
    assert (folder / "n.md").read_bytes() == b"ours"
    assert (folder / "taken.md").read_bytes() == b"theirs"


def test_a_failed_staging_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_call(monkeypatch, "write", errno.ENOSPC)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        stage(folder / temporary_name(), b"data", like=None)
    assert list(folder.iterdir()) == []


def test_a_read_only_file_is_refused(folder: Path) -> None:
    (folder / "n.md").write_text("")
    (folder / "n.md").chmod(0o444)
    with pytest.raises(PermissionDenied, match=r"n\.md is read-only"):
        check_writable(folder / "n.md", "n.md")


def test_syncing_a_folder_that_is_gone_is_no_error(folder: Path) -> None:
    no_follow.sync_folder(folder / "gone")


def test_only_our_old_temporary_files_are_removed(root: VaultFolder, folder: Path) -> None:
    (folder / "A").mkdir()
    name = "A/" + temporary_name()
    (folder / name).write_text("")
    born = (folder / name).stat().st_mtime
    assert not remove_leftover(root, name, now=born + LEFTOVER_SECONDS - 1)
    assert (folder / name).exists()
    assert remove_leftover(root, name, now=born + LEFTOVER_SECONDS + 1)
    assert not (folder / name).exists()
    (folder / "A" / "n.md").write_text("")
    assert not remove_leftover(root, "A/n.md", now=born + 10 * LEFTOVER_SECONDS)
    assert not remove_leftover(root, name, now=born + 10 * LEFTOVER_SECONDS)


@pytest.mark.parametrize(
    ("number", "kind", "words"),
    [
        (errno.EACCES, PermissionDenied, "may not be changed"),
        (errno.EROFS, PermissionDenied, "a read-only disk"),
        (errno.ENOSPC, EngineFailure, "the disk is full"),
        (errno.EDQUOT, EngineFailure, "the disk is full"),
        (errno.ENAMETOOLONG, InvalidPath, "too long"),
        (errno.EIO, EngineFailure, os.strerror(errno.EIO)),
    ],
)
def test_errors_of_the_system_become_vault_errors_without_a_machine_path(
    number: int, kind: type[Exception], words: str
) -> None:
    error = to_vault_error(OSError(number, "x", "/machine/path"), "A/n.md")
    assert isinstance(error, kind)
    assert words in str(error) and "A/n.md" in str(error) and "/machine" not in str(error)


@settings(max_examples=40, deadline=None)
@given(failing=st.lists(st.booleans(), max_size=3 * TOGETHER))
def test_a_failure_stops_none_of_the_jobs_done_together(failing: list[bool]) -> None:
    done: list[int] = []

    def work(at: int) -> int:
        done.append(at)
        if failing[at]:
            raise OSError(at, "the disk is gone")
        return -at

    returned: list[int] = []
    try:
        returned.extend(do_together(work, range(len(failing))))
        first = len(failing)
        assert not any(failing)
    except OSError as error:
        first = failing.index(True)
        assert error.errno == first
    assert sorted(done) == list(range(len(failing)))
    # Up to the first failure in order, the caller gets what was returned, one by one.
    collected = do_together(work, range(len(failing)))
    assert [next(collected) for _ in range(first)] == [-at for at in range(first)]
