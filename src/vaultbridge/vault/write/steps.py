"""What may be done to files, as values: what a caller asks for (steps) and what is recorded (acts).

A step names vault paths and what the caller expects there. An act is a step after it was checked: it names
exact places on disk and holds what is needed to undo it. Nothing here touches a disk.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from vaultbridge.vault.paths import VaultPath

TrashOption = Literal["system", "local", "none"]


class Absent(Struct, frozen=True):
    """The expectation that nothing is there."""


ABSENT: Final = Absent()

Expected: TypeAlias = str | Absent | None
"""A content hash, nothing there, or no expectation at all."""


class WriteFile(Struct, frozen=True):
    """The whole content of a file, new or old. `mode` and `stored_name` serve the undoing of a removal."""

    path: VaultPath
    data: bytes
    expected: Expected = None
    mode: int | None = None
    stored_name: str = ""


class MoveFile(Struct, frozen=True):
    """A file under another path, which must be free (another spelling of its own name is)."""

    source: VaultPath
    target: VaultPath
    expected: str | None = None
    stored_name: str = ""


class MoveFolder(Struct, frozen=True):
    """A folder with all it holds, hidden files included, under another path, which must be free."""

    source: VaultPath
    target: VaultPath
    stored_name: str = ""


class TrashFile(Struct, frozen=True):
    """A file, or a folder with all it holds, to the trash. With the option "none" a file is removed for good
    (the journal still holds it); a folder has to be trashed or emptied."""

    path: VaultPath
    option: TrashOption
    expected: str | None = None


class RemoveFile(Struct, frozen=True):
    """A file gone for good; only the journal holds it then. With `missing_ok` it may be gone already."""

    path: VaultPath
    expected: str | None = None
    missing_ok: bool = False


class MakeFolder(Struct, frozen=True):
    """A folder, with those above it; nothing happens when it is there."""

    path: VaultPath
    stored_name: str = ""


class RemoveFolder(Struct, frozen=True):
    """A folder and, when `deep`, the empty folders in it. What still holds something stays: no error,
    nothing lost."""

    path: VaultPath
    deep: bool = True


class RestoreFile(Struct, frozen=True):
    """What a `Trashed` act put away, back to its path. Only the undoing of one makes it."""

    trashed: Trashed


Step: TypeAlias = (
    WriteFile | MoveFile | MoveFolder | TrashFile | RemoveFile | MakeFolder | RemoveFolder | RestoreFile
)


class ContentImage(Struct, frozen=True):
    """Content that the journal holds. `hash` is the one callers see, `digest` the journal's own."""

    digest: bytes
    hash: str
    size: int


class Written(Struct, frozen=True, tag="write"):
    """`before` is None for a new file. `temporary` is the place where the content is staged and, once it has
    its name, where what it replaced lies until the change is done."""

    path: VaultPath
    place: str
    before: ContentImage | None
    after: ContentImage
    mode: int | None
    temporary: str


class Removed(Struct, frozen=True, tag="remove"):
    """`temporary` is where the file lies from its removal until the change is done."""

    path: VaultPath
    place: str
    before: ContentImage
    mode: int
    temporary: str = ""


class Moved(Struct, frozen=True, tag="move"):
    """`hash` is the content's, empty for a folder or a file too large to hash; then `size` and `mtime_ns`
    tell whether it changed later (a folder has neither). `ino` is the file's number, by which recovery knows
    it again; for a file that the act at position `written_by` made, that act's."""

    path: VaultPath
    target: VaultPath
    place: str
    target_place: str
    folder: bool
    hash: str = ""
    size: int = 0
    mtime_ns: int = 0
    ino: int = 0
    written_by: int = -1


class Trashed(Struct, frozen=True, tag="trash"):
    """`bin_place` is where it lies now, `info_place` the note beside it that the desktop reads (or empty).
    `image` is kept too for a small file, so that emptying the trash does not end its undoing."""

    path: VaultPath
    place: str
    option: TrashOption
    bin_place: str
    info_place: str
    info_text: str
    folder: bool
    image: ContentImage | None
    mode: int


class Restored(Struct, frozen=True, tag="restore"):
    trashed: Trashed


class FolderMade(Struct, frozen=True, tag="make-folder"):
    path: VaultPath
    place: str


class FolderRemoved(Struct, frozen=True, tag="remove-folder"):
    path: VaultPath
    place: str


Act: TypeAlias = Written | Removed | Moved | Trashed | Restored | FolderMade | FolderRemoved


def affected_paths(act: Act) -> tuple[VaultPath, ...]:
    """The vault paths an act concerns."""
    if isinstance(act, Moved):
        return (act.path, act.target)
    if isinstance(act, Restored):
        return (act.trashed.path,)
    return (act.path,)
