"""What is remembered of a vault, so that it is recognized again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from vaultbridge.errors import JSON_ERRORS
from vaultbridge.system import read_birth_time, read_private

CONFIG_FOLDER: Final = ".obsidian"

RECORD_FILE: Final = "identity.json"

SAMPLED: Final = 32
"""How many paths are remembered: each costs a stat when the vault is opened, and some of them may be renamed
between two starts without half of them being missing."""

SAMPLE_LOOKED_AT: Final = 2000
"""How many files and folders are looked at to choose the sample: some milliseconds, once."""

SAMPLED_BYTES: Final = 512
"""The longest path in the sample, so that the record stays far below what is read of it."""


class VaultRecord(Struct, frozen=True):
    """What a vault looked like. `files` is their number as far as they were looked at, `sample` the paths of
    some, `disks` the folders that other disks were mounted on. `born` is the folder's time of birth in
    nanoseconds, 0 where the system does not know it. `accepted` says that the owner confirmed an empty
    folder."""

    vault: str
    device: int
    inode: int
    born: int
    files: int
    sample: tuple[str, ...] = ()
    disks: tuple[str, ...] = ()
    accepted: bool = False

    @property
    def files_shown(self) -> str:
        """The number of files, for people."""
        if self.files >= SAMPLE_LOOKED_AT:
            return f"more than {SAMPLE_LOOKED_AT:,} files"
        return f"{self.files:,} file{'' if self.files == 1 else 's'}"

    def count_present(self, folder: Path) -> int:
        """How many of the sampled files are in a folder."""
        return sum(os.path.lexists(folder / path) for path in self.sample)

    def is_at(self, folder: Path, status: os.stat_result) -> bool:
        """Whether a folder is this vault."""
        present = self.count_present(folder)
        if present and 2 * present >= len(self.sample):
            return True
        if file_identity(status) != (self.device, self.inode):
            return False
        born = read_birth_time(folder)
        if self.born and born:
            return self.born == born
        # The topmost folder has the same number on many disks. An empty one may have been emptied.
        return not self.sample or not holds_anything(folder)

    def is_certainly(self, folder: Path, status: os.stat_result) -> bool:
        """Whether a folder at another path is this vault: the same folder, which may have been changed since,
        or one with the same number, where the system knows no times of birth, and half of the files."""
        if file_identity(status) != (self.device, self.inode):
            return False
        born = read_birth_time(folder)
        if self.born and born:
            return self.born == born
        return 2 * self.count_present(folder) >= len(self.sample)


def load_record(folder: Path) -> VaultRecord | None:
    """The record in a folder; None if there is none that can be read."""
    data = read_private(folder / RECORD_FILE)
    try:
        return None if data is None else msgspec.json.decode(data, type=VaultRecord)
    except JSON_ERRORS:
        return None


def file_identity(status: os.stat_result) -> tuple[int, int]:
    """Identifies a file or folder whatever its name. The system reuses the number of one that was deleted."""
    return status.st_dev, status.st_ino


def holds_anything(folder: Path) -> bool:
    """Whether a folder contains anything of a vault; the files that systems leave on every disk are
    hidden."""
    with os.scandir(folder) as listing:
        return any(not is_hidden(item.name) or item.name == CONFIG_FOLDER for item in listing)


def is_hidden(name: str) -> bool:
    return name.startswith(".")


def look_around(folder: Path) -> tuple[int, tuple[str, ...]]:
    """The number of files, and a sample of them from all folders that were looked at."""
    files = sorted(_list_files(folder))
    step = max(1, len(files) // SAMPLED)
    short = [path for path in files[::step] if len(os.fsencode(path)) <= SAMPLED_BYTES and is_text(path)]
    return len(files), tuple(short[:SAMPLED])


def _list_files(folder: Path) -> Iterator[str]:
    """The files nearest to the top, without hidden ones, as far as they are looked at."""
    waiting = [""]
    looked = 0
    for prefix in waiting:
        try:
            with os.scandir(folder / prefix) as listing:
                for item in listing:
                    if is_hidden(item.name):
                        continue
                    looked += 1
                    if looked > SAMPLE_LOOKED_AT:
                        return
                    if item.is_dir(follow_symlinks=False):
                        waiting.append(f"{prefix}{item.name}/")
                    else:
                        yield prefix + item.name
        except OSError:
            continue


def is_text(path: str) -> bool:
    """Whether JSON can hold a path: a name may be bytes that are not UTF-8."""
    return path.isascii() or not any("\ud800" <= char <= "\udfff" for char in path)
