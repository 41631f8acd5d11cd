"""`vaultbridge.vault.locking`: one holder, across processes, freed by death."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from vaultbridge.errors import EngineFailure, TimedOut
from vaultbridge.vault.locking import FileLock

HOLDER = """
import sys
from pathlib import Path
from vaultbridge.vault.locking import FileLock
lock = FileLock(Path(sys.argv[1]))
print("held" if lock.try_acquire() else "busy", flush=True)
sys.stdin.readline()
"""


def test_a_second_lock_object_waits_even_in_one_process(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "l"), FileLock(tmp_path / "l")
    assert first.try_acquire() and first.try_acquire() and first.held
    assert not second.try_acquire()
    first.release()
    assert not first.held
    assert second.try_acquire()
    second.release()


def test_a_wait_is_bounded_and_says_what_is_busy(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "l"), FileLock(tmp_path / "l")
    with first.hold(1, what="The writer"), pytest.raises(TimedOut, match="The writer is busy"):
        second.hold(0.05, what="The writer").__enter__()
    with second.hold(1, what="The writer"):
        assert second.held
    assert not second.held


def test_a_killed_holder_frees_the_lock(tmp_path: Path) -> None:
    place = tmp_path / "l"
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "held"
        mine = FileLock(place)
        assert not mine.try_acquire()
        child.kill()
    with mine.hold(10, what="The lock"):
        assert mine.held


def test_a_lock_whose_file_was_deleted_is_held_by_nobody(tmp_path: Path) -> None:
    """Who comes later makes a new file, and would hold that one beside us."""
    first, second = FileLock(tmp_path / "cache" / "l"), FileLock(tmp_path / "cache" / "l")
    assert first.try_acquire(), "the folder is made"
    shutil.rmtree(tmp_path / "cache")
    assert not first.held
    assert second.try_acquire()
    assert not first.try_acquire()
    second.release()
    assert first.try_acquire() and first.held
    first.release()


def test_the_error_for_an_unusable_lock_names_no_machine_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EngineFailure, match="lock file l cannot be used: Not a directory") as caught:
        FileLock(tmp_path / "file" / "l").try_acquire()
    assert str(tmp_path) not in str(caught.value)
