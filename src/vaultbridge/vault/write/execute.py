"""Executes a recorded plan: stages the new files, checks each old file once more, swaps the new one in, and
checks what it displaced before removing it.

`transaction.py` records the plan before and rolls back when this raises.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from vaultbridge.errors import EditRefused, NoteBusy, NoteNotFound, StaleWrite
from vaultbridge.system import FileStat, is_racy
from vaultbridge.vault import no_follow
from vaultbridge.vault.identity.record import file_identity
from vaultbridge.vault.read import content_hash, is_open_for_writing, read_place
from vaultbridge.vault.write.plan import WritePlan
from vaultbridge.vault.write.recovery import affected_folders, folder_of_place
from vaultbridge.vault.write.replace import (
    do_together,
    make_durable,
    publish_new,
    start_staging,
    swap,
)
from vaultbridge.vault.write.steps import (
    Act,
    FolderMade,
    FolderRemoved,
    Moved,
    Removed,
    Restored,
    Trashed,
    Written,
)
from vaultbridge.vault.write.trash import move_to_trash, restore_from_trash

STAGING_BATCH: Final = 64
"""How many new files are written before the first is made durable: the disk then writes them together, and
not too many are open at a time."""


class SavedMeanwhile(StaleWrite):
    """Another program saved the file that a change was about to replace; `data` is what it saved."""

    def __init__(self, path: str, *, expected: str, data: bytes) -> None:
        super().__init__(path, expected=expected, current=content_hash(data))
        self.data = data


class Execution:
    """The execution of one plan. `done` counts the finished acts, `path` is the one being worked on. `staged`
    has the inode of each staged file, by which recovery recognizes it after a crash."""

    def __init__(self, plan: WritePlan, checkpoint: Callable[[str], None]) -> None:
        self.done = 0
        self.path = ""
        self.staged: dict[int, int] = {}
        self._plan = plan
        self._checkpoint = checkpoint
        self._displaced: list[tuple[int, Written | Removed]] = []

    def stage(self) -> None:
        """Writes all new content durably before the first swap, so that a full disk or a forbidden folder
        shows while nothing has changed yet."""
        writing = [(number, act) for number, act in enumerate(self._plan.acts) if isinstance(act, Written)]
        for start in range(0, len(writing), STAGING_BATCH):
            self._stage_together(writing[start : start + STAGING_BATCH])

    def _stage_together(self, writing: list[tuple[int, Written]]) -> None:
        handles: list[int] = []
        try:
            for number, act in writing:
                self.path = act.path
                self._check_folder(folder_of_place(act.temporary))
                data = self._plan.contents[act.after.digest]
                model = self._plan.models.get(number)
                handles.append(start_staging(act.temporary, data, like=model, mode=act.mode))
        except BaseException:
            for handle in handles:
                os.close(handle)
            raise
        durable = do_together(make_durable, handles)
        for number, act in writing:
            self.path = act.path
            self.staged[number] = next(durable)
            self._checkpoint(f"staged {number}")

    def run(self) -> None:
        for number, act in enumerate(self._plan.acts):
            self.path = act.trashed.path if isinstance(act, Restored) else act.path
            self._perform(number, act)
            self.done = number + 1
            self._checkpoint(f"done {number}")
        folders = {folder for act in self._plan.acts for folder in affected_folders(act)}
        for _ in do_together(no_follow.sync_folder, list(folders)):
            pass
        self._checkpoint("durable")
        self._remove_displaced()

    def _check_folder(self, folder: str) -> None:
        """Checks that a folder is still the one that was planned with, right before something changes in
        it."""
        known = self._plan.folder_identities.get(folder)
        # The inode is the proof, so no descriptor is needed.
        if known is not None and file_identity(os.lstat(folder)) != known:
            raise EditRefused(
                f"The folder of {self.path} was replaced by another one during the change.",
                paths=(self.path,),
            )

    def _check_identity(self, number: int, place: str, expected: str) -> None:
        """Checks what is about to be moved away: an editor or a sync service may have put another file
        there."""
        known = self._plan.identities.get(number)
        status = no_follow.status(place)
        if known is not None and file_identity(status) != known:
            ordinary = stat.S_ISREG(status.st_mode)
            current = content_hash(read_place(place, self.path).data) if ordinary else ""
            raise StaleWrite(self.path, expected=expected or "unknown", current=current)

    def _perform(self, number: int, act: Act) -> None:
        for folder in affected_folders(act):
            self._check_folder(folder)
        match act:
            case Written():
                temporary, place = act.temporary, act.place
                if act.before is None:
                    publish_new(temporary, place)
                else:
                    self._check_unchanged(number, place, act.path, act.before.hash)
                    if swap(temporary, place):
                        self._displaced.append((number, act))
                        try:
                            self._check_displaced(number, temporary, act.path, act.before.hash)
                        except (NoteBusy, StaleWrite):
                            self._put_back(number, temporary, place)
                            raise
            case Removed():
                aside, place = act.temporary, act.place
                self._check_unchanged(number, place, act.path, act.before.hash)
                no_follow.rename_new(place, aside)
                self._displaced.append((number, act))
                self._check_displaced(number, aside, act.path, act.before.hash)
            case Moved():
                self._check_identity(number, act.place, act.hash)
                no_follow.rename_new(act.place, act.target_place)
            case Trashed():
                self._check_identity(number, act.place, act.image.hash if act.image else "")
                info = Path(act.info_place) if act.info_place else None
                move_to_trash(Path(act.place), Path(act.bin_place), info, act.info_text)
                if act.image is not None:
                    self._check_displaced(number, act.bin_place, act.path, act.image.hash)
            case Restored():
                back = act.trashed
                info = Path(back.info_place) if back.info_place else None
                restore_from_trash(Path(back.place), Path(back.bin_place), info)
            case FolderMade():
                no_follow.make_folder(Path(act.place))
            case FolderRemoved():
                # If it is not empty, it contains something that was not to be removed, and stays.
                with contextlib.suppress(OSError):
                    no_follow.remove_folder(Path(act.place))

    def _check_unchanged(self, number: int, place: str, path: str, expected: str) -> None:
        """Checks a file right before it is replaced: another program may have saved it since it was read. A
        save that does not show in the stat is found by `_check_displaced`."""
        seen = self._plan.seen.get(number)
        try:
            if seen is None or FileStat.of(os.lstat(place)) == seen:
                return
            current = content_hash(read_place(place, path).data)
        except (FileNotFoundError, NoteNotFound):
            current = ""
        if current != expected:
            raise StaleWrite(path, expected=expected, current=current)

    def _check_displaced(self, number: int, place: str, path: str, expected: str) -> None:
        """Checks what an act has just taken from its place. If another program has it open for writing, or
        saved it between our last check and the act, the change is abandoned and rolling back puts the file
        back: its text is the note's, and none of it is lost."""
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        handle = no_follow.open_file(place, flags)
        try:
            if is_open_for_writing(handle):
                raise NoteBusy(path)
            found = FileStat.of(os.fstat(handle))
            seen = self._plan.seen.get(number)
            if seen is not None and found == seen and not is_racy(seen.mtime_ns, time.time_ns()):
                return
            # One byte more than expected, to notice a file that grew.
            data = os.read(handle, found.size + 1)
        finally:
            os.close(handle)
        if content_hash(data) != expected:
            raise SavedMeanwhile(path, expected=expected, data=data)

    def _put_back(self, number: int, temporary: str, place: str) -> None:
        """Reverts a swap at once: the shorter the time that our text is there, the less likely another
        program uses it. A file that another program has put in its place since then stays."""
        with contextlib.suppress(OSError):
            if no_follow.status(place).st_ino == self.staged[number]:
                swap(temporary, place)
                if no_follow.status(temporary).st_ino != self.staged[number]:
                    swap(temporary, place)

    def _remove_displaced(self) -> None:
        """Removes the displaced files after one more check: a program that was about to open one while it
        still had its name has done so by now."""
        for number, act in self._displaced:
            assert act.before is not None
            self.path = act.path
            self._check_displaced(number, act.temporary, act.path, act.before.hash)
        for _ in do_together(no_follow.remove, [act.temporary for _, act in self._displaced]):
            pass
        self._checkpoint("displaced files removed")
