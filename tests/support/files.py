"""Writes the files of a vault, and mounts disks. Every test that needs a vault of its own starts here.

The fixture `vault` in `tests/conftest.py` calls it with the constant `VAULT` of the test's module.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

EMPTY_FOR = 3600.0
"""Seconds that an empty file of a test has been so. A change waits a second for a note that has just become
empty, because the program that emptied it may be about to write it."""


def write_vault(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes the files by their paths, and returns the folder. A path that ends with a slash is a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        place = folder / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        if not content:
            before = time.time() - EMPTY_FOR
            os.utime(place, (before, before))
    return folder


def delete_folder(folder: Path) -> None:
    """Deletes a folder that a program still writes to, with the files that appear meanwhile."""
    while True:
        try:
            return shutil.rmtree(folder)
        except FileNotFoundError:
            if not folder.exists():
                return None
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise


DiskCommand = Callable[..., None]


@contextlib.contextmanager
def mounted(folder: Path, size: str) -> Iterator[DiskCommand]:
    """A small file system at a new folder, and what runs a command on it: `run("mount", "-o", …)`. Skips the
    test where the system does not let us."""
    folder.mkdir()

    def run(verb: str, *options: str) -> None:
        subprocess.run([verb, *options, str(folder)], check=True, capture_output=True)

    try:
        run("mount", "-t", "tmpfs", "-o", f"size={size},nr_inodes=64", "none")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a file system can only be mounted by the administrator")
    try:
        yield run
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)


class BoundDisk:
    """A disk that can be mounted and unmounted, with its content: a folder that is bound to the mount
    point."""

    def __init__(self, content: Path, place: Path) -> None:
        self.content, self.place = content, place
        content.mkdir(parents=True, exist_ok=True)
        place.mkdir(parents=True, exist_ok=True)

    def mount(self) -> None:
        command = ["mount", "--bind", str(self.content), str(self.place)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("a folder can only be bound by the administrator")

    def unmount(self) -> None:
        subprocess.run(["umount", "-l", str(self.place)], check=True, capture_output=True)

    def detach(self) -> None:
        """At the end: unmounts whatever is mounted there."""
        while (
            subprocess.run(["umount", "-l", str(self.place)], check=False, capture_output=True).returncode
            == 0
        ):
            pass
