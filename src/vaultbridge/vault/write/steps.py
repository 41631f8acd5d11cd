"""Defines changes to files as values: what a caller requests (steps) and what is recorded and done (acts).

A step names vault paths and what the caller expects there. An act is a step that was checked: it names exact
places on disk and contains what is needed to undo it. Nothing here touches a disk.
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
"""A content hash, `ABSENT` for no file, or None for no expectation."""


class WriteFile(Struct, frozen=True):
    """Writes the whole content of a new or existing file. `mode` and `stored_name` are for undoing a
    removal. `restores` says that the vault had this content before, so that it may be larger than what a
    caller may write."""

    path: VaultPath
    data: bytes
    expected: Expected = None
    mode: int | None = None
    stored_name: str = ""
    restores: bool = False


class MoveFile(Struct, frozen=True):
    """Moves a file to a path that must be free; another spelling of its own name counts as free."""

    source: VaultPath
    target: VaultPath
    expected: str | None = None
    stored_name: str = ""


class MoveFolder(Struct, frozen=True):
    """Moves a folder with everything in it, hidden files included, to a path that must be free."""

    source: VaultPath
    target: VaultPath
    stored_name: str = ""


class TrashFile(Struct, frozen=True):
    """Moves a file, or a folder with everything in it, to the trash. With the option "none" a file is removed
    permanently (the journal still has it); a folder has to be trashed or emptied."""

    path: VaultPath
    option: TrashOption
    expected: str | None = None


class RemoveFile(Struct, frozen=True):
    """Removes a file permanently; only the journal still has it. With `missing_ok` it may be gone already."""

    path: VaultPath
    expected: str | None = None
    missing_ok: bool = False


class MakeFolder(Struct, frozen=True):
    """Makes a folder and those above it; does nothing when it exists."""

    path: VaultPath
    stored_name: str = ""


class RemoveFolder(Struct, frozen=True):
    """Removes a folder and, when `deep`, the empty folders in it. A folder that is not empty stays, and that
    is not an error."""

    path: VaultPath
    deep: bool = True


class RestoreFile(Struct, frozen=True):
    """Restores from the trash what a `Trashed` act put there. Only undoing such an act creates this step."""

    trashed: Trashed


Step: TypeAlias = (
    WriteFile | MoveFile | MoveFolder | TrashFile | RemoveFile | MakeFolder | RemoveFolder | RestoreFile
)


class ContentImage(Struct, frozen=True):
    """Content that is in the journal. Callers see `hash`; `digest` is the journal's own key."""

    digest: bytes
    hash: str
    size: int


class Written(Struct, frozen=True, tag="write"):
    """`before` is None for a new file. `temporary` is where the new content is staged and, after the swap,
    where the old file is until the change is done."""

    path: VaultPath
    place: str
    before: ContentImage | None
    after: ContentImage
    mode: int | None
    temporary: str


class Removed(Struct, frozen=True, tag="remove"):
    """`temporary` is where the file is from its removal until the change is done."""

    path: VaultPath
    place: str
    before: ContentImage
    mode: int
    temporary: str = ""


class Moved(Struct, frozen=True, tag="move"):
    """`hash` is that of the content, empty for a folder and for a file too large to hash; then `size` and
    `mtime_ns` show whether the file changed later (a folder has neither). Recovery recognizes the file by its
    inode `ino` or, when the act at position `written_by` creates it, by the inode of that act's staged
    file."""

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
    """`bin_place` is where it is now; `info_place` is the file that describes it to the desktop, or empty. A
    small file has an `image` too, so that it can be restored after the trash was emptied."""

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
    """The vault paths that an act changes."""
    if isinstance(act, Moved):
        return (act.path, act.target)
    if isinstance(act, Restored):
        return (act.trashed.path,)
    return (act.path,)


def find_effect(act: Act) -> tuple[object, ...]:
    """What an act changes and from what, without the disk places it uses: two lists of acts with the same
    effects do the same."""
    kind, paths = type(act).__name__, affected_paths(act)
    match act:
        case Written():
            return kind, paths, act.before, act.after
        case Removed():
            return kind, paths, act.before
        case Moved():
            return kind, paths, act.hash, act.size, act.mtime_ns
        case Trashed(image=image) | Restored(trashed=Trashed(image=image)):
            return kind, paths, image
        case FolderMade() | FolderRemoved():
            return kind, paths
