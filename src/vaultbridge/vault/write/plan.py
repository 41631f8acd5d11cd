"""Turns steps into acts: checks every expectation, chooses every place and collects all content.

A later step sees what the earlier ones will have done (`overlay.py`). Planning only reads the disk;
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
from vaultbridge.links.resolve import file_name, name_key
from vaultbridge.system import FileStat
from vaultbridge.vault.identity.record import file_identity
from vaultbridge.vault.paths import VaultFolder, VaultPath, folder_of, is_under, join
from vaultbridge.vault.read import read_place
from vaultbridge.vault.write.journal import make_image
from vaultbridge.vault.write.overlay import Overlay, OverlayEntry
from vaultbridge.vault.write.recovery import affected_folders, folder_of_place
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
"""The most steps in one transaction: enough for a move that changes links in every note of a large vault."""

TRANSACTION_BYTES: Final = 256 * MIB
"""The most content, before and after together, that one transaction may put into the journal."""

MOVE_HASH_BYTES: Final = 4 * MIB
"""Up to this size a moved file is hashed, so that undoing the move notices an edit. For a larger one the stat
is used, because hashing a folder of films would take minutes."""

TRASH_IMAGE_BYTES: Final = MIB
"""Up to this size the journal also stores the content of a trashed file."""

_DEFAULT_MODE: Final = 0o644


Approve = Callable[[VaultPath, Path], None]
"""Called with each path whose file a plan reads and with the real place of that file, all links followed.
Raises when the caller may not have the file that the path leads to."""


class NameTaken(EditRefused):
    """There is a file or folder where another should go. `stored` is its name on disk, which may differ in
    case or in Unicode form: such names are the same on other systems, and to links."""

    def __init__(self, path: VaultPath, stored: str, *, hint: str = "") -> None:
        super().__init__(f"{path} already exists.", hint=hint, paths=(path,))
        self.path = path
        self.stored = stored

    def describe_undo(self, number: int) -> EditRefused:
        """The refusal to undo a change for this reason: here nobody can choose another name."""
        found, why = self.path, f"there is a new {self.path}"
        if self.stored != file_name(self.path):
            found = join(folder_of(self.path), self.stored)
            why = f"{found} is where {self.path} was (the names differ only in case or in Unicode form)"
        return EditRefused(
            f"Change {number} cannot be undone: {why}.",
            hint=f"Rename or move {found} first. Undoing never replaces another file.",
            paths=(self.path,),
            path=self.path,
        )


class WritePlan:
    """The acts of one transaction, the contents they refer to, and the state of each file as it was read.

    `recall` returns content from the journal, to restore what is no longer in the trash.
    """

    def __init__(
        self,
        root: VaultFolder,
        trash: Trash,
        now: datetime,
        recall: Callable[[ContentImage], bytes],
        *,
        approve: Approve | None = None,
    ) -> None:
        self.acts: list[Act] = []
        self.contents: dict[bytes, bytes] = {}
        self.seen: dict[int, FileStat] = {}
        """By the position of an act: the stat of the file that it replaces or removes, from when it was
        read."""
        self.models: dict[int, Path] = {}
        """By the position of a writing act: the present place of the file whose attributes the new one
        gets."""
        self.identities: dict[int, tuple[int, int]] = {}
        """By the position of an act that moves or trashes: the identity of that file or folder."""
        self.folder_identities: dict[str, tuple[int, int]] = {}
        """The identities of the folders in which something changes, except those that the plan itself makes
        or moves. A link that replaced one of them before we write would lead us elsewhere."""
        self.notices: list[str] = []
        self._root = root
        self._trash_places = trash
        self._now = now
        self._recall = recall
        self._approve = approve
        self._bytes = 0
        self._vault = Overlay(root)
        self._chosen_bins: set[Path] = set()

    def add(self, steps: Iterable[Step]) -> None:
        """Raises when a step's expectation is not met or the vault does not allow it; discard the plan
        then."""
        for number, step in enumerate(steps):
            if number >= TRANSACTION_STEPS:
                raise InvalidArgument(
                    f"More than {TRANSACTION_STEPS} steps in one transaction.", argument="steps", paths=()
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
                    self._ensure_folder(step.path, step.stored_name)
                case RemoveFolder():
                    self._remove_folder(step)
                case RestoreFile():
                    self._restore(step.trashed)
        self._place_temporaries()
        self._record_folders()

    def _record_folders(self) -> None:
        moving = [
            place
            for act in self.acts
            if isinstance(act, Restored | FolderRemoved) or (isinstance(act, Moved | Trashed) and act.folder)
            for place in _list_places(act)
        ]
        for folder in {
            folder for act in self.acts for folder in (*affected_folders(act), *_staging_folder(act))
        }:
            if not any(Path(folder).is_relative_to(place) for place in moving):
                with contextlib.suppress(FileNotFoundError):
                    self.folder_identities[folder] = file_identity(os.stat(folder))  # noqa: PTH116 - text

    def _place_temporaries(self) -> None:
        """Chooses where new content is staged: in its own folder or, when that does not exist yet, in the
        nearest one above it, but never in a folder that is about to be moved. A removed file waits for the
        end of the transaction in such a place too."""
        leaving = [
            Path(act.place)
            for act in self.acts
            if isinstance(act, FolderRemoved) or (isinstance(act, (Moved, Trashed)) and act.folder)
        ]
        chosen: dict[str, Path] = {}
        for number, act in enumerate(self.acts):
            if not isinstance(act, Written | Removed):
                continue
            own = folder_of_place(act.place)
            folder = chosen.get(own)
            if folder is None:
                folder = Path(own)
                while not folder.is_dir():
                    folder = folder.parent
                if any(folder.is_relative_to(place) for place in leaving):
                    folder = self._root.folder
                chosen[own] = folder
            temporary = os.path.join(folder, temporary_name())  # noqa: PTH118 - text, as in acts
            self.acts[number] = msgspec.structs.replace(act, temporary=temporary)

    def _write(self, step: WriteFile) -> None:
        if len(step.data) > NOTE_WRITE_BYTES and not step.restores:
            raise EditRefused(
                f"{step.path} would have {len(step.data)} bytes; at most {NOTE_WRITE_BYTES} are written.",
                paths=(step.path,),
            )
        entry = self._vault.at(step.path)
        before = self._check(entry, step.path, step.expected)
        after = self._add_content(step.data)
        if before is not None and before.digest == after.digest:
            return
        if before is None:
            self._ensure_folder(folder_of(step.path))
            entry = self._vault.at(step.path)
            place = entry.place.with_name(step.stored_name) if step.stored_name else entry.place
        else:
            place = self._real_place(entry)
        if entry.disk is not None:
            model = entry.real or entry.disk
            check_writable(model, step.path, entry.mode)
            self.models[len(self.acts)] = model
        self._record_stat(entry)
        mode = step.mode if before is None else entry.mode
        written = OverlayEntry(place, "file")
        written.data, written.mode, written.writer = step.data, mode, len(self.acts)
        self.acts.append(Written(step.path, str(place), before, after, mode, ""))
        self._vault.put(step.path, written)

    def _remove(self, step: RemoveFile) -> None:
        if step.missing_ok and self._vault.at(step.path).kind == "none":
            return
        entry = self._require_file(step.path)
        before = self._check(entry, step.path, step.expected)
        assert before is not None
        self._record_stat(entry)
        self.acts.append(Removed(step.path, str(entry.place), before, entry.mode or _DEFAULT_MODE))
        self._vault.vacate(step.path)

    def _move(self, step: MoveFile) -> None:
        entry = self._require_file(step.source)
        target = self._choose_target(step.source, step.target, entry, step.stored_name)
        if target == entry.place:
            return
        status = entry.disk.lstat() if entry.disk is not None else None
        self._record_identity(status)
        known = ""
        if step.expected is not None or status is None or status.st_size <= MOVE_HASH_BYTES:
            image = self._check_if_readable(entry, step.source, step.expected, store=False)
            known = image.hash if image else ""
        self.acts.append(
            Moved(
                *(step.source, step.target, str(entry.place), str(target)),
                folder=False,
                hash=known,
                size=status.st_size if status else 0,
                mtime_ns=status.st_mtime_ns if status else 0,
                ino=status.st_ino if status else 0,
                written_by=entry.writer,
            )
        )
        self._vault.move(step.source, step.target, target)

    def _move_folder(self, step: MoveFolder) -> None:
        if is_under(name_key(step.target), name_key(step.source)):
            raise EditRefused(f"{step.source} cannot be moved into itself.", paths=(step.source,))
        entry = self._vault.at(step.source)
        if entry.kind == "none":
            raise NoteNotFound(step.source, what="folder")
        if entry.kind == "file":
            raise EditRefused(f"{step.source} is a file, not a folder.", paths=(step.source,))
        target = self._choose_target(step.source, step.target, entry, step.stored_name)
        if target != entry.place:
            status = entry.disk.lstat() if entry.disk is not None else None
            self._record_identity(status)
            ino = status.st_ino if status else 0
            self.acts.append(
                Moved(step.source, step.target, str(entry.place), str(target), folder=True, ino=ino)
            )
            self._vault.move(step.source, step.target, target)

    def _choose_target(
        self, source: VaultPath, target: VaultPath, entry: OverlayEntry, stored_name: str
    ) -> Path:
        """The place that a move leads to: a free one, or another spelling of the present name."""
        name = stored_name or file_name(target)
        if name_key(source) == name_key(target):
            return entry.place.with_name(name)
        self._ensure_folder(folder_of(target))
        there = self._vault.at(target)
        if there.kind != "none":
            raise NameTaken(target, there.place.name, hint="Choose another name.")
        return there.place.with_name(name)

    def _trash(self, step: TrashFile) -> None:
        entry = self._vault.at(step.path)
        if entry.kind == "none":
            raise NoteNotFound(step.path, what="file or folder")
        linked = entry.disk is not None and entry.disk.is_symlink()
        folder = entry.kind == "folder" and not linked
        image: ContentImage | None = None
        if entry.kind == "file" and not linked:
            small = entry.disk is None or entry.disk.lstat().st_size <= TRASH_IMAGE_BYTES
            if small or step.expected is not None:
                image = self._check_if_readable(entry, step.path, step.expected, store=small)
                image = image if small else None
        system = step.option == "system"
        chosen = self._trash_places.choose(
            self._root, entry.place, system=system, now=self._now, taken=self._chosen_bins
        )
        self._chosen_bins.add(chosen.place)
        if image is not None:
            self._record_stat(entry)
        self._record_identity(entry.disk.lstat() if entry.disk is not None else None)
        if chosen.fallback:
            self.notices.append(chosen.fallback)
        info = str(chosen.info_place) if chosen.info_place else ""
        self.acts.append(
            Trashed(
                *(step.path, str(entry.place), step.option, str(chosen.place), info, chosen.info_text),
                folder=folder,
                image=image,
                mode=entry.mode or _DEFAULT_MODE,
            )
        )
        self._vault.vacate(step.path)

    def _restore(self, trashed: Trashed) -> None:
        there = self._vault.at(trashed.path)
        if there.kind != "none":
            raise NameTaken(trashed.path, there.place.name)
        self._ensure_folder(folder_of(trashed.path))
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
            raise EditRefused(f"{trashed.path} is no longer in the trash.", paths=(trashed.path,))

    def _ensure_folder(self, path: VaultPath, stored_name: str = "") -> None:
        if not path:
            return
        entry = self._vault.at(path)
        if entry.kind == "file":
            raise EditRefused(f"{path} is a file, not a folder.", paths=(path,))
        if entry.kind == "none":
            self._ensure_folder(folder_of(path))
            place = self._vault.at(path).place
            if stored_name:
                place = place.with_name(stored_name)
            self.acts.append(FolderMade(path, str(place)))
            self._vault.put(path, OverlayEntry(place, "folder"))

    def _remove_folder(self, step: RemoveFolder) -> None:
        """Deepest first. A folder is removed when nothing will be left in it."""
        if not step.path:
            raise EditRefused("The vault itself cannot be removed.", paths=())
        entry = self._vault.at(step.path)
        if entry.kind != "folder":
            return
        folders = [step.path]
        if step.deep and entry.disk is not None:
            for place, names, _ in os.walk(entry.disk):
                names[:] = [name for name in names if not name.startswith(".")]
                inner = Path(place).relative_to(entry.disk)
                folders += [join(step.path, (inner / name).as_posix()) for name in names]
        for path in sorted(folders, key=lambda path: -path.count("/")):
            if self._vault.is_empty_folder(path):
                self.acts.append(FolderRemoved(path, str(self._vault.at(path).place)))
                self._vault.vacate(path)

    def _require_file(self, path: VaultPath) -> OverlayEntry:
        entry = self._vault.at(path)
        if entry.kind == "none":
            raise NoteNotFound(path)
        if entry.kind == "folder":
            raise EditRefused(f"{path} is a folder, not a file.", paths=(path,))
        return entry

    def _real_place(self, entry: OverlayEntry) -> Path:
        """Writing to a note that is a link changes the file that it leads to."""
        if entry.disk is None or entry.real is None:
            return entry.place
        # A moved file is written at its new place; a moved link still leads to the same file.
        return entry.real if entry.disk == entry.place or entry.disk.is_symlink() else entry.place

    def _record_identity(self, status: os.stat_result | None) -> None:
        """Record the identity of what the next act moves away. None for a file that this plan will write."""
        if status is not None:
            self.identities[len(self.acts)] = file_identity(status)

    def _record_stat(self, entry: OverlayEntry) -> None:
        if entry.signature is not None and entry.disk == entry.place:
            self.seen[len(self.acts)] = entry.signature

    def _check(
        self, entry: OverlayEntry, path: VaultPath, expected: Expected, *, store: bool = True
    ) -> ContentImage | None:
        """The present content as an image; None when there is no file. Raises when it is not what the caller
        expected."""
        if entry.kind == "none":
            if isinstance(expected, str):
                raise StaleWrite(path, expected=expected, current="")
            return None
        if isinstance(expected, Absent):
            raise NameTaken(path, entry.place.name, hint="Choose another name, or edit that one.")
        if entry.kind == "folder":
            raise EditRefused(f"{path} is a folder, not a file.", paths=(path,))
        if entry.data is None:
            assert entry.disk is not None
            if entry.real is None:
                entry.real = self._root.real_place(entry.disk, path)
                if self._approve is not None:
                    self._approve(path, entry.real)
            content = read_place(entry.real, path, limit=NOTE_READ_BYTES)
            entry.data, entry.mode, entry.signature = content.data, content.mode, content.signature
        image = self._add_content(entry.data) if store else make_image(entry.data)
        if isinstance(expected, str) and expected != image.hash:
            raise StaleWrite(path, expected=expected, current=image.hash)
        return image

    def _check_if_readable(
        self, entry: OverlayEntry, path: VaultPath, expected: Expected, *, store: bool
    ) -> ContentImage | None:
        """Like `_check`, for acts that do not need the content: a file that cannot be read, such as one that
        is not downloaded, can still be moved and trashed, unless the caller expects a certain content."""
        try:
            return self._check(entry, path, expected, store=store)
        except (EngineFailure, PermissionDenied):
            if expected is not None:
                raise
            return None

    def _add_content(self, data: bytes) -> ContentImage:
        image = make_image(data)
        if image.digest not in self.contents:
            self._bytes += len(data)
            if self._bytes > TRANSACTION_BYTES:
                raise EngineFailure(
                    f"One change may contain {TRANSACTION_BYTES // MIB} MiB; this one needs more.",
                    hint="Split it into several changes.",
                    paths=(),
                )
            self.contents[image.digest] = data
        return image


def _list_places(act: Act) -> tuple[Path, ...]:
    if isinstance(act, Moved):
        return Path(act.place), Path(act.target_place)
    around = act.trashed if isinstance(act, Restored) else act
    return (Path(around.place),)


def _staging_folder(act: Act) -> tuple[str, ...]:
    return (folder_of_place(act.temporary),) if isinstance(act, Written | Removed) else ()
