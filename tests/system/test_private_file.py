"""Files with secrets."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from vaultbridge.system import (
    PRIVATE_FILE_BYTES,
    make_private_folder,
    read_ordinary,
    read_private,
    write_private,
)


def test_a_private_file_stays_private_even_when_it_replaces_an_open_one(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_bytes(b"old")
    file.chmod(0o644)
    write_private(file, b"new")
    assert read_private(file) == b"new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "folder"
    (target / "inside").mkdir(parents=True)
    with pytest.raises(OSError):
        write_private(target, b"x")
    assert list(tmp_path.iterdir()) == [target]


def test_a_missing_or_far_too_large_file_is_none(tmp_path: Path) -> None:
    assert read_private(tmp_path / "missing") is None
    (tmp_path / "large").write_bytes(b"x" * (PRIVATE_FILE_BYTES + 1))
    assert read_private(tmp_path / "large") is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_private(tmp_path / "pipe") is None
    with pytest.raises(OSError, match="not an ordinary file"):
        read_ordinary(tmp_path / "pipe", 10)


def test_a_private_folder_is_made_with_its_parents_and_closed_to_others(tmp_path: Path) -> None:
    make_private_folder(tmp_path / "a" / "b")
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
