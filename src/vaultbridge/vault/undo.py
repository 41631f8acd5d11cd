"""What undoes a recorded transaction, as steps. Looks at the disk only to tell whether a moved file that is
too large to hash has changed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from vaultbridge.errors import EditRefused
from vaultbridge.vault import beneath
from vaultbridge.vault.journal import Entry
from vaultbridge.vault.steps import (
    ABSENT,
    Act,
    FolderMade,
    FolderRemoved,
    Image,
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


def inverse_steps(entry: Entry, content: Callable[[Image], bytes], *, force: bool) -> tuple[Step, ...]:
    """Raises `EditRefused` when the transaction did not end well or was undone already. With `force`
    nothing is expected of the files, and what is no longer there needs no undoing."""
    if entry.state != "done":
        raise EditRefused(f"Change {entry.id} was rolled back, so there is nothing to undo.")
    if entry.undone_by is not None:
        raise EditRefused(f"Change {entry.id} was undone already, by change {entry.undone_by}.")
    return tuple(_inverse(act, content, force=force) for act in reversed(entry.acts))


def _inverse(act: Act, content: Callable[[Image], bytes], *, force: bool) -> Step:
    match act:
        case Written(before=None):
            return RemoveFile(act.path, None if force else act.after.hash, missing_ok=force)
        case Written():
            assert act.before is not None
            return WriteFile(act.path, content(act.before), None if force else act.after.hash)
        case Removed():
            expected = None if force else ABSENT
            name = Path(act.place).name
            return WriteFile(act.path, content(act.before), expected, mode=act.mode, stored_name=name)
        case Moved(folder=True):
            return MoveFolder(act.target, act.path, stored_name=Path(act.place).name)
        case Moved():
            if not force and not act.hash:
                _check_unchanged(act)
            expected_hash = None if force or not act.hash else act.hash
            return MoveFile(act.target, act.path, expected_hash, stored_name=Path(act.place).name)
        case Trashed():
            return RestoreFile(act)
        case Restored():
            return TrashFile(act.trashed.path, act.trashed.option)
        case FolderMade():
            return RemoveFolder(act.path, deep=False)
        case FolderRemoved():
            return MakeFolder(act.path, stored_name=Path(act.place).name)


def _check_unchanged(act: Moved) -> None:
    try:
        status = beneath.status(act.target_place)
    except FileNotFoundError:
        return
    if (status.st_size, status.st_mtime_ns) != (act.size, act.mtime_ns):
        raise EditRefused(
            f"{act.target} has changed since; undoing its move is refused.",
            hint="Force it to move it all the same.",
        )
