"""Whether the folder at a vault's path is the vault: the one owner of that rule.

A disk that is not mounted leaves an empty folder, or another one, at the vault's path. Whoever took that for
the vault would roll back nothing, forget every note and write under the mount. So what a vault looked like is
remembered next to its journal: its folder's number on the disk, how many files it had, and a sample of their
paths. `VaultFolder.absence` asks here before each change, recovery and comparison. docs/reliability.md has
the table of what may be found at the path, and what happens then.

    same folder (device, number, and birth time where it is needed) the vault, even if it is empty now
    another folder with at least half of the sampled files          the vault: restored, cloned, remounted
    another folder, and the vault never had a file                  the vault: nothing can be lost
    another folder without any file, or with other files            not the vault, unless its owner accepts it

Folders of the vault that are on a disk of their own are remembered too: while such a disk is missing, its
notes are not gone.
"""

from __future__ import annotations

import logging
import os
import stat
import threading
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from vaultbridge.system import list_mounts_beneath, read_birth_time, write_private
from vaultbridge.vault.identity.record import (
    RECORD_FILE,
    SAMPLED,
    VaultRecord,
    file_identity,
    holds_anything,
    is_hidden,
    is_text,
    load_record,
    look_around,
)

DISKS: Final = 32
"""How many folders on disks of their own are remembered: nobody mounts that many in one vault."""

log = logging.getLogger(__name__)


class VaultIdentity:
    """What is known about the vault at a path. Without `keep` it is known only as long as this object lives.
    Any thread may use it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: Path | None = None
        self._record: VaultRecord | None = None
        self._known: tuple[int, int] | None = file_identity(folder.stat())
        """The number of the folder that was found to be the vault; None until one was."""
        self._doubted = False
        """Whether the vault was missing since: then its number proves little, as another disk may have it."""
        self._writing = threading.Lock()

    def keep(self, folder: Path, *, accept: bool = False) -> None:
        """Remembers the vault in `folder`, and compares it with what was remembered there before. With
        `accept` its owner says that the folder as it is now is the vault."""
        self._file = folder / RECORD_FILE
        self._record = load_record(folder)
        if self._record is None or accept:
            self._store(accepted=accept)
            return
        self._known = None
        if not self.absence():
            self.renew()

    def absence(self) -> str:
        """Return why the vault is missing now, or "" if it is there."""
        why = self._find_absence()
        self._doubted = bool(why)
        return why

    def _find_absence(self) -> str:
        try:
            status = self._folder.lstat()
            if stat.S_ISLNK(status.st_mode):
                # The history belongs to the folder to which it leads, and paths were checked against ours.
                return "a link is in its place, which only a new start follows"
            if not stat.S_ISDIR(status.st_mode):
                return "a file is in its place"
            if file_identity(status) == self._known and not (self._doubted and self._record):
                return ""
            return self._judge(status)
        except FileNotFoundError:
            return "its folder is gone"
        except OSError as error:
            return os.strerror(error.errno or 0)

    @property
    def may_be_accepted(self) -> bool:
        """Whether there is a folder in the vault's place, so that its owner may say that it is the vault."""
        return self._folder.is_dir()

    def _judge(self, status: os.stat_result) -> str:
        """Looks at a folder that was not the vault when it was last looked at."""
        # Another process may have renewed the record, or its owner accepted the folder.
        record = self._record if self._file is None else load_record(self._file.parent) or self._record
        if record is None or not record.is_at(self._folder, status):
            empty = not holds_anything(self._folder)
            had = f", where {record.files_shown} were" if record is not None and record.files else ""
            if empty and (had or self._known is not None):
                return f"an empty folder is in its place{had}"
            if had:
                return f"a folder with other files is in its place{had}"
        self._record, self._known = record, file_identity(status)
        return ""

    @property
    def may_have_been_emptied(self) -> bool:
        """Whether an empty folder in the vault's place proves that its files were deleted: it is the one in
        which they were. True if it is not empty, or cannot be listed."""
        record = self._record
        try:
            if holds_anything(self._folder):
                return True
            known = record is not None and (record.files or record.accepted)
            return bool(known and record and record.is_at(self._folder, self._folder.stat()))
        except OSError:
            return True

    def renew(self) -> None:
        """Called after files were added or removed: looks again when little is left of the sample, so that a
        vault may change entirely as long as somebody watches."""
        record = self._record
        if record is not None and self._file is not None and not self.absence() and self._is_outdated(record):
            self._store()

    def _is_outdated(self, record: VaultRecord) -> bool:
        few = min(SAMPLED, record.files)
        if few < SAMPLED or len(record.sample) < few or record.vault != str(self._folder):
            return True
        if (record.device, record.inode) != self._known:
            return True
        if 4 * record.count_present(self._folder) < 3 * few:
            return True
        return any(disk not in record.disks for disk in self._list_disks())

    def _store(self, *, accepted: bool = False) -> None:
        """A record that cannot be written stays as it is."""
        try:
            self._write(accepted=accepted)
        except OSError as error:
            log.warning("What the vault looks like cannot be stored: %s", os.strerror(error.errno or 0))

    def _write(self, *, accepted: bool) -> None:
        if self._file is None or not is_text(str(self._folder)):
            return
        with self._writing:
            was, status = self._record, self._folder.stat()
            files, sample = look_around(self._folder)
            absent = () if accepted else self.list_absent_disks()
            record = VaultRecord(
                str(self._folder),
                *file_identity(status),
                born=was.born if was is not None else 0,
                files=files,
                sample=sample,
                disks=tuple(dict.fromkeys((*absent, *self._list_disks())))[:DISKS],
                accepted=accepted or (was is not None and was.accepted and not files),
            )
            if record == was:
                return
            record = replace(record, born=read_birth_time(self._folder))
            # Something may have been mounted over it meanwhile.
            if file_identity(self._folder.stat()) == self._known:
                write_private(self._file, msgspec.json.format(msgspec.json.encode(record)) + b"\n")
                self._record = record

    def _list_disks(self) -> list[str]:
        mounts = list_mounts_beneath(self._folder)
        return [place for place in mounts if is_text(place) and not any(map(is_hidden, place.split("/")))]

    def list_absent_disks(self) -> tuple[str, ...]:
        """Return the folders of the vault whose own disk is missing now: nothing is mounted there, and the
        folder is gone or empty."""
        if self._record is None or not self._record.disks:
            return ()
        mounted = self._list_disks()
        return tuple(
            disk for disk in self._record.disks if disk not in mounted and self._is_gone_or_empty(disk)
        )

    def _is_gone_or_empty(self, disk: str) -> bool:
        try:
            return not holds_anything(self._folder / disk)
        except FileNotFoundError:
            return True
        except OSError:
            return False
