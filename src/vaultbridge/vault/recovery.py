"""Back to how it was: acts undone in reverse, whatever point they had reached.

Each act tells from the disk whether it had happened. Running this twice, or dying in the middle of it,
does no harm. A file that is neither as the transaction found it nor as it left it was changed by somebody
since: it stays as it is and is reported.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from vaultbridge.errors import VaultbridgeError
from vaultbridge.vault.read import content_hash, read_place
from vaultbridge.vault.steps import (
    Act,
    FolderMade,
    FolderRemoved,
    Image,
    Moved,
    Removed,
    Restored,
    Trashed,
    Written,
)
from vaultbridge.vault.trash import put, take_back
from vaultbridge.vault.write import publish_new, publish_over, stage, sync_folder, temporary_name


def roll_back(
    acts: Sequence[Act], content: Callable[[Image], bytes], checkpoint: Callable[[str], None]
) -> tuple[str, ...]:
    """Undoes what of `acts` had happened and gives the vault paths that were left alone. Raises `OSError`
    when the disk refuses; then it is to be run again later."""
    kept: list[str] = []
    folders: set[Path] = set()
    for number in range(len(acts) - 1, -1, -1):
        act = acts[number]
        if not _undo(act, content):
            kept.append(act.trashed.path if isinstance(act, Restored) else act.path)
        folders |= folders_of(act)
        checkpoint(f"rolled back {number}")
    for folder in folders:
        sync_folder(folder)
    return tuple(dict.fromkeys(kept))


def folders_of(act: Act) -> set[Path]:
    """The folders whose lists of names an act changes."""
    if isinstance(act, Moved):
        return {Path(act.place).parent, Path(act.target_place).parent}
    trashed = act.trashed if isinstance(act, Restored) else act
    if isinstance(trashed, Trashed):
        return {Path(trashed.place).parent, Path(trashed.bin_place).parent}
    return {Path(trashed.place).parent}


def _undo(act: Act, content: Callable[[Image], bytes]) -> bool:
    """False when somebody's later change was kept."""
    match act:
        case Written():
            return _undo_write(act, content)
        case Removed():
            if not os.path.lexists(act.place):
                _write_new(Path(act.place), content(act.before), act.mode)
            return True
        case Moved():
            return _undo_move(act)
        case Trashed():
            return _undo_trash(act, content)
        case Restored():
            return _undo_restore(act.trashed)
        case FolderMade():
            with contextlib.suppress(OSError):
                Path(act.place).rmdir()
            return True
        case FolderRemoved():
            Path(act.place).mkdir(parents=True, exist_ok=True)
            return True


def _undo_write(act: Written, content: Callable[[Image], bytes]) -> bool:
    place = Path(act.place)
    place.with_name(act.temporary).unlink(missing_ok=True)
    now = _hash_at(place, act.path)
    if now == (act.before.hash if act.before else ""):
        return True
    if now != act.after.hash:
        return False
    if act.before is None:
        place.unlink()
        return True
    temporary = place.with_name(temporary_name())
    stage(temporary, content(act.before), like=place)
    publish_over(temporary, place)
    return True


def _write_new(place: Path, data: bytes, mode: int) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    temporary = place.with_name(temporary_name())
    stage(temporary, data, like=None, mode=mode)
    publish_new(temporary, place)


def _undo_move(act: Moved) -> bool:
    source, target = Path(act.place), Path(act.target_place)
    if source.parent == target.parent and source.name.casefold() == target.name.casefold():
        # Only the spelling changed: a file system that ignores case finds both, so the list of names decides.
        names = {item.name for item in source.parent.iterdir()} if source.parent.is_dir() else set()
        there, back = target.name in names, source.name in names
    else:
        there, back = os.path.lexists(target), os.path.lexists(source)
    if back:
        return True
    if not there:
        return False
    source.parent.mkdir(parents=True, exist_ok=True)
    target.rename(source)
    return True


def _undo_trash(act: Trashed, content: Callable[[Image], bytes]) -> bool:
    place, bin_place = Path(act.place), Path(act.bin_place)
    info = Path(act.info_place) if act.info_place else None
    if os.path.lexists(place):
        # It never got there, or somebody made it anew; what lies in the trash then may stay.
        if info is not None and not os.path.lexists(bin_place) and _is_ours(info, act.info_text):
            info.unlink()
        return True
    if os.path.lexists(bin_place):
        take_back(place, bin_place, info)
        return True
    if act.image is None:
        return False
    _write_new(place, content(act.image), act.mode)
    return True


def _is_ours(info: Path, text: str) -> bool:
    """Another program may have taken the same name in the trash between our choice and our turn."""
    try:
        return info.read_text(encoding="ascii") == text
    except (OSError, UnicodeDecodeError):
        return False


def _undo_restore(act: Trashed) -> bool:
    place, bin_place = Path(act.place), Path(act.bin_place)
    if os.path.lexists(bin_place):
        return True
    if not os.path.lexists(place):
        return False
    info = Path(act.info_place) if act.info_place else None
    if info is not None:
        info.unlink(missing_ok=True)
    put(place, bin_place, info, act.info_text)
    return True


def _hash_at(place: Path, path: str) -> str:
    """The hash of what is there; empty for nothing. Something unreadable is nobody's before or after."""
    if not os.path.lexists(place):
        return ""
    try:
        return content_hash(read_place(place, path).data)
    except VaultbridgeError:
        return "unreadable"
