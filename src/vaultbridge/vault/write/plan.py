"""From steps to acts: every expectation checked, every place settled, every content held, nothing changed.

A later step sees what the earlier ones will have done (`overlay.py`). Planning reads the disk; only
`transaction.py` changes it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from vaultbridge.errors import (
    EditRefused,
    EngineFailure,
    InvalidArgument,
    NoteNotFound,
    PermissionDenied,
    StaleWrite,
)
from vaultbridge.limits import MIB, NOTE_READ_BYTES, NOTE_WRITE_BYTES
from vaultbridge.links.resolve import name_key
from vaultbridge.system import FileStat
from vaultbridge.vault.paths import Root, VaultPath, file_identity, folder_of, is_under, join, name_of
from vaultbridge.vault.read import read_place
from vaultbridge.vault.write.journal import make_image
from vaultbridge.vault.write.overlay import Overlay, OverlayEntry
from vaultbridge.vault.write.recovery import affected_folders
from vaultbridge.vault.write.replace import check_writable, temporary_name
from vaultbridge.vault.write.steps import (
    Absent,
    Act,
    ContentImage,
    Expected,
    FolderMade,
    FolderRemoved,
    MakeFolder,
    Moved,
    MoveFile,
    MoveFolder,
    Removed,
    RemoveFile,
    RemoveFolder,
    Restored,
    RestoreFile,
    Step,
    Trashed,
    TrashFile,
    WriteFile,
    Written,
)
from vaultbridge.vault.write.trash import Trash

TRANSACTION_STEPS: Final = 20_000
"""The most steps in one transaction: a rename that touches every note of a large vault fits."""

TRANSACTION_BYTES: Final = 256 * MIB
"""The most content, before and after together, that one transaction may put into the journal."""

MOVE_HASH_BYTES: Final = 4 * MIB
"""Up to this size a moved file is hashed, so that undoing the move notices an edit; above it, its stat
serves: hashing a folder of films would take minutes."""

TRASH_IMAGE_BYTES: Final = MIB
"""Up to this size the journal keeps a trashed file's content as well."""

_DEFAULT_MODE: Final = 0o644


Approve = Callable[[VaultPath, Path], None]
"""Called with each path whose file a plan reads, and the place without links where that file lies. Raises
when whoever asked for the path may not have what it leads to."""


class Plan:
    """The acts of one transaction, the contents they refer to, and what was seen of each file on disk.

    `recall` gives content that the journal already holds, for bringing back what is no longer in a trash.
    """

    def __init__(
        self,
        root: Root,
        trash: Trash,
        now: datetime,
        recall: Callable[[ContentImage], bytes],
        *,
        approve: Approve | None = None,
    ) -> None:
        self.acts: list[Act] = []
        self.contents: dict[bytes, bytes] = {}
        self.seen: dict[int, FileStat] = {}
        """By an act's position: the stat of the file that it replaces or removes, as its content was read."""
        self.models: dict[int, Path] = {}
        """By a writing act's position: the file, where it lies now, whose attributes the new one takes."""
        self.identities: dict[int, tuple[int, int]] = {}
        """By the position of an act that moves or trashes: which file or folder on disk that is."""
        self.grounds: dict[Path, tuple[int, int]] = {}
        """The folders in which something is done, but for those that the plan itself makes or moves: which
        ones they are. A link that takes the place of one before we write would lead us elsewhere."""
        self.notices: list[str] = []
        self._root = root
        self._bins = trash
        self._now = now
        self._recall = recall
        self._approve = approve
        self._bytes = 0
        self._vault = Overlay(root)
        self._binned: set[Path] = set()

    def add(self, steps: Iterable[Step]) -> None:
        """Raises whatever a step's expectation or the vault's state demands; then the plan is of no use."""
        for number, step in enumerate(steps):
            if number >= TRANSACTION_STEPS:
                raise InvalidArgument(
                    f"More than {TRANSACTION_STEPS} steps in one transaction.", argument="steps"
                )
            match step:
                case WriteFile():
                    self._write(step)
                case MoveFile():
                    self._move(step)
                case MoveFolder():
                    self._move_folder(step)
                case TrashFile(option="none"):
                    self._remove(RemoveFile(step.path, step.expected))
                case TrashFile():
                    self._trash(step)
                case RemoveFile():
                    self._remove(step)
                case MakeFolder():
                    self._need_folder(step.path, step.stored_name)
                case RemoveFolder():
                    self._remove_folder(step)
                case RestoreFile():
                    self._restore(step.trashed)
        self._settle_temporaries()
        self._remember_grounds()

    def _remember_grounds(self) -> None:
        moving = [
            place
            for act in self.acts
            if isinstance(act, Restored | FolderRemoved) or (isinstance(act, Moved | Trashed) and act.folder)
            for place in _places(act)
        ]
        for folder in {
            folder for act in self.acts for folder in (*affected_folders(act), *_staging_folder(act))
        }:
            if not any(folder == place or folder.is_relative_to(place) for place in moving):
                with contextlib.suppress(FileNotFoundError):
                    self.grounds[folder] = file_identity(folder.stat())

    def _settle_temporaries(self) -> None:
        """New content is staged in the folder it is meant for or, while that is still to be made, in the
        nearest one above; but not in a folder that is going to leave its place. So with what is removed,
        which lies there until the end."""
        leaving = [
            Path(act.place)
            for act in self.acts
            if isinstance(act, FolderRemoved) or (isinstance(act, (Moved, Trashed)) and act.folder)
        ]
        for number, act in enumerate(self.acts):
            if not isinstance(act, Written | Removed):
                continue
            folder = Path(act.place).parent
            while not folder.is_dir():
                folder = folder.parent
            if any(folder == place or folder.is_relative_to(place) for place in leaving):
                folder = self._root.folder
            self.acts[number] = msgspec.structs.replace(act, temporary=str(folder / temporary_name()))

    def _write(self, step: WriteFile) -> None:
        if len(step.data) > NOTE_WRITE_BYTES:
            raise EditRefused(
                f"{step.path} would have {len(step.data)} bytes; at most {NOTE_WRITE_BYTES} are written."
            )
        spot = self._vault.at(step.path)
        before = self._check(spot, step.path, step.expected)
        after = self._hold(step.data)
        if before is not None and before.digest == after.digest:
            return
        if before is None:
            self._need_folder(folder_of(step.path))
            spot = self._vault.at(step.path)
            place = spot.place.with_name(step.stored_name) if step.stored_name else spot.place
        else:
            place = self._real_place(spot)
        if spot.disk is not None:
            model = spot.real or spot.disk
            check_writable(model, step.path)
            self.models[len(self.acts)] = model
        self._remember_stat(spot)
        mode = step.mode if before is None else spot.mode
        written = OverlayEntry(place, "file")
        written.data, written.mode, written.writer = step.data, mode, len(self.acts)
        self.acts.append(Written(step.path, str(place), before, after, mode, ""))
        self._vault.put(step.path, written)

    def _remove(self, step: RemoveFile) -> None:
        if step.missing_ok and self._vault.at(step.path).kind == "none":
            return
        spot = self._file(step.path)
        before = self._check(spot, step.path, step.expected)
        assert before is not None
        self._remember_stat(spot)
        self.acts.append(Removed(step.path, str(spot.place), before, spot.mode or _DEFAULT_MODE))
        self._vault.vacate(step.path)

    def _move(self, step: MoveFile) -> None:
        spot = self._file(step.source)
        target = self._target(step.source, step.target, spot, step.stored_name)
        if target == spot.place:
            return
        status = spot.disk.lstat() if spot.disk is not None else None
        self._remember_identity(status)
        known = ""
        if step.expected is not None or status is None or status.st_size <= MOVE_HASH_BYTES:
            image = self._look(spot, step.source, step.expected, hold=False)
            known = image.hash if image else ""
        self.acts.append(
            Moved(
                *(step.source, step.target, str(spot.place), str(target)),
                folder=False,
                hash=known,
                size=status.st_size if status else 0,
                mtime_ns=status.st_mtime_ns if status else 0,
                ino=status.st_ino if status else 0,
                written_by=spot.writer,
            )
        )
        self._vault.move(step.source, step.target, target)

    def _move_folder(self, step: MoveFolder) -> None:
        if is_under(name_key(step.target), name_key(step.source)):
            raise EditRefused(f"{step.source} cannot be moved into itself.")
        spot = self._vault.at(step.source)
        if spot.kind == "none":
            raise NoteNotFound(step.source, what="folder")
        if spot.kind == "file":
            raise EditRefused(f"{step.source} is a file, not a folder.")
        target = self._target(step.source, step.target, spot, step.stored_name)
        if target != spot.place:
            status = spot.disk.lstat() if spot.disk is not None else None
            self._remember_identity(status)
            ino = status.st_ino if status else 0
            self.acts.append(
                Moved(step.source, step.target, str(spot.place), str(target), folder=True, ino=ino)
            )
            self._vault.move(step.source, step.target, target)

    def _target(self, source: VaultPath, target: VaultPath, spot: OverlayEntry, stored_name: str) -> Path:
        """Where a move leads: a free place, or another spelling of the name it has."""
        name = stored_name or name_of(target)
        if name_key(source) == name_key(target):
            return spot.place.with_name(name)
        self._need_folder(folder_of(target))
        there = self._vault.at(target)
        if there.kind != "none":
            raise EditRefused(f"{target} already exists.", hint="Choose another name.")
        return there.place.with_name(name)

    def _trash(self, step: TrashFile) -> None:
        spot = self._vault.at(step.path)
        if spot.kind == "none":
            raise NoteNotFound(step.path, what="file or folder")
        linked = spot.disk is not None and spot.disk.is_symlink()
        folder = spot.kind == "folder" and not linked
        image: ContentImage | None = None
        if spot.kind == "file" and not linked:
            small = spot.disk is None or spot.disk.lstat().st_size <= TRASH_IMAGE_BYTES
            if small or step.expected is not None:
                image = self._look(spot, step.path, step.expected, hold=small)
                image = image if small else None
        system = step.option == "system"
        chosen = self._bins.choose(self._root, spot.place, system=system, now=self._now, taken=self._binned)
        self._binned.add(chosen.place)
        if image is not None:
            self._remember_stat(spot)
        self._remember_identity(spot.disk.lstat() if spot.disk is not None else None)
        if chosen.fallback:
            self.notices.append(chosen.fallback)
        info = str(chosen.info_place) if chosen.info_place else ""
        self.acts.append(
            Trashed(
                *(step.path, str(spot.place), step.option, str(chosen.place), info, chosen.info_text),
                folder=folder,
                image=image,
                mode=spot.mode or _DEFAULT_MODE,
            )
        )
        self._vault.vacate(step.path)

    def _restore(self, trashed: Trashed) -> None:
        if self._vault.at(trashed.path).kind != "none":
            raise EditRefused(f"{trashed.path} exists again, so it cannot be brought back from the trash.")
        self._need_folder(folder_of(trashed.path))
        place = Path(trashed.place)
        if os.path.lexists(trashed.bin_place):
            self.acts.append(Restored(trashed))
            restored = OverlayEntry(place, "folder" if trashed.folder else "file", Path(trashed.bin_place))
            restored.real = restored.disk
            self._vault.put(trashed.path, restored)
        elif trashed.image is not None:
            data = self._recall(trashed.image)
            self._write(WriteFile(trashed.path, data, mode=trashed.mode, stored_name=place.name))
        else:
            raise EditRefused(f"{trashed.path} is no longer in the trash.")

    def _need_folder(self, path: VaultPath, stored_name: str = "") -> None:
        if not path:
            return
        spot = self._vault.at(path)
        if spot.kind == "file":
            raise EditRefused(f"{path} is a file, not a folder.")
        if spot.kind == "none":
            self._need_folder(folder_of(path))
            place = self._vault.at(path).place
            if stored_name:
                place = place.with_name(stored_name)
            self.acts.append(FolderMade(path, str(place)))
            self._vault.put(path, OverlayEntry(place, "folder"))

    def _remove_folder(self, step: RemoveFolder) -> None:
        """The deepest first; a folder goes when nothing will be left in it."""
        if not step.path:
            raise EditRefused("The vault itself cannot be removed.")
        spot = self._vault.at(step.path)
        if spot.kind != "folder":
            return
        folders = [step.path]
        if step.deep and spot.disk is not None:
            for place, names, _ in os.walk(spot.disk):
                names[:] = [name for name in names if not name.startswith(".")]
                inner = Path(place).relative_to(spot.disk)
                folders += [join(step.path, (inner / name).as_posix()) for name in names]
        for path in sorted(folders, key=lambda path: -path.count("/")):
            if self._vault.is_empty_folder(path):
                self.acts.append(FolderRemoved(path, str(self._vault.at(path).place)))
                self._vault.vacate(path)

    def _file(self, path: VaultPath) -> OverlayEntry:
        spot = self._vault.at(path)
        if spot.kind == "none":
            raise NoteNotFound(path)
        if spot.kind == "folder":
            raise EditRefused(f"{path} is a folder, not a file.")
        return spot

    def _real_place(self, spot: OverlayEntry) -> Path:
        """A note that is a link is written through to the file it leads to."""
        if spot.disk is None or spot.real is None:
            return spot.place
        # A moved file is written where it will be, but not a link to another file.
        return spot.real if spot.disk == spot.place or spot.disk.is_symlink() else spot.place

    def _remember_identity(self, status: os.stat_result | None) -> None:
        """Of what the act that is added next moves away; None for what this plan is going to write."""
        if status is not None:
            self.identities[len(self.acts)] = file_identity(status)

    def _remember_stat(self, spot: OverlayEntry) -> None:
        if spot.signature is not None and spot.disk == spot.place:
            self.seen[len(self.acts)] = spot.signature

    def _check(
        self, spot: OverlayEntry, path: VaultPath, expected: Expected, *, hold: bool = True
    ) -> ContentImage | None:
        """The content there is, as an image, or None for none. Raises when the caller expected another."""
        if spot.kind == "none":
            if isinstance(expected, str):
                raise StaleWrite(path, expected=expected, current="")
            return None
        if isinstance(expected, Absent):
            raise EditRefused(f"{path} already exists.", hint="Choose another name, or edit that one.")
        if spot.kind == "folder":
            raise EditRefused(f"{path} is a folder, not a file.")
        if spot.data is None:
            assert spot.disk is not None
            if spot.real is None:
                spot.real = self._root.real_place(spot.disk, path)
                if self._approve is not None:
                    self._approve(path, spot.real)
            content = read_place(spot.real, path, limit=NOTE_READ_BYTES)
            spot.data, spot.mode, spot.signature = content.data, content.mode, content.signature
        image = self._hold(spot.data) if hold else make_image(spot.data)
        if isinstance(expected, str) and expected != image.hash:
            raise StaleWrite(path, expected=expected, current=image.hash)
        return image

    def _look(
        self, spot: OverlayEntry, path: VaultPath, expected: Expected, *, hold: bool
    ) -> ContentImage | None:
        """Like `_check`, for what does not need the content: a file that cannot be read, such as one that is
        not downloaded, may still be moved and trashed, unless the caller expects something of it."""
        try:
            return self._check(spot, path, expected, hold=hold)
        except (EngineFailure, PermissionDenied):
            if expected is not None:
                raise
            return None

    def _hold(self, data: bytes) -> ContentImage:
        image = make_image(data)
        if image.digest not in self.contents:
            self._bytes += len(data)
            if self._bytes > TRANSACTION_BYTES:
                raise EngineFailure(
                    f"One transaction may hold {TRANSACTION_BYTES // MIB} MiB; this one needs more.",
                    hint="Do it in several parts.",
                )
            self.contents[image.digest] = data
        return image


def _places(act: Act) -> tuple[Path, ...]:
    if isinstance(act, Moved):
        return Path(act.place), Path(act.target_place)
    around = act.trashed if isinstance(act, Restored) else act
    return (Path(around.place),)


def _staging_folder(act: Act) -> tuple[Path, ...]:
    return (Path(act.temporary).parent,) if isinstance(act, Written | Removed) else ()
