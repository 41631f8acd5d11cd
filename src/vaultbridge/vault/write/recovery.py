"""Undoes transactions: rolls back an interrupted one, and turns a finished one into the steps that undo it.

Rolling back undoes acts in reverse, whatever point they had reached. What a dead process had done is
recognized on the disk by the identity of files, not by their content, because two notes may have the same
text; only where no file has its number any more, as on a stick that was mounted again or in a vault that was
copied, the content has to do. Acts happen one after the other, so an act that left its mark proves that all
before it happened. If another program has changed a text since the transaction wrote it, only the
transaction's own change is taken out again. If the two cannot be told apart, the file stays as it is and is
reported.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from vaultbridge.errors import EditRefused, VaultbridgeError
from vaultbridge.links.resolve import name_key
from vaultbridge.markdown.edits.merge import revert_change
from vaultbridge.vault import no_follow
from vaultbridge.vault.paths import folder_of, join
from vaultbridge.vault.read import (
    BUSY_POLL_SECONDS,
    BUSY_SECONDS,
    content_hash,
    is_open_for_writing,
    read_place,
)
from vaultbridge.vault.write.journal_rows import JournalEntry
from vaultbridge.vault.write.replace import (
    publish_new,
    publish_over,
    set_aside,
    stage,
    swap,
    temporary_name,
)
from vaultbridge.vault.write.steps import (
    ABSENT,
    Act,
    ContentImage,
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
from vaultbridge.vault.write.trash import move_to_trash, restore_from_trash

TAKE_OUT_TRIES: Final = 5
"""How often our change is taken out of a text that another program keeps saving meanwhile."""

log = logging.getLogger(__name__)


def leaves_trace(acts: Sequence[Act]) -> bool:
    """Whether anything is left on the disk of a change that was interrupted. If nothing is, its disk may be
    missing."""
    return any(no_follow.exists(place) for act in acts for place in _list_places(act))


def _list_places(act: Act) -> tuple[str, ...]:
    match act:
        case Written() | Removed():
            return (act.place, act.temporary) if act.temporary else (act.place,)
        case Moved():
            return act.place, act.target_place
        case Trashed():
            return act.place, act.bin_place
        case Restored():
            return act.trashed.place, act.trashed.bin_place
        case FolderMade() | FolderRemoved():
            return (act.place,)


def find_last_done(acts: Sequence[Act], staged: Mapping[int, int]) -> int:
    """The position of the last act that had happened, -1 for none. `staged` comes from the journal."""
    happened = has_happened
    if not _are_numbers_known(acts, staged):
        happened = _looks_happened
    last = max((number for number in range(len(acts)) if happened(acts, number, staged)), default=-1)
    # Removals and changes of folders leave no mark. Everything before them has happened, so whether the file
    # or folder is there shows whether they have happened too.
    for act in acts[last + 1 :]:
        match act:
            case Removed() | FolderRemoved() if not no_follow.exists(act.place):
                last += 1
            case FolderMade() if no_follow.exists(act.place):
                last += 1
            case _:
                break
    return last


def has_happened(acts: Sequence[Act], number: int, staged: Mapping[int, int]) -> bool:
    """Whether an act left a mark that nothing else could have left. False proves nothing."""
    act = acts[number]
    match act:
        case Written():
            return number in staged and _inode_at(act.place) == staged[number]
        case Removed(temporary=aside) if aside:
            return no_follow.exists(aside)
        case Moved():
            ino = staged.get(act.written_by, 0) if act.written_by >= 0 else act.ino
            if ino == 0 or _inode_at(act.target_place) != ino:
                return False
            return not _changes_only_spelling(act) or _is_spelled(Path(act.target_place))
        case Trashed():
            return no_follow.exists(act.bin_place)
        case Restored():
            return no_follow.exists(act.trashed.place) and not no_follow.exists(act.trashed.bin_place)
        case _:
            return False


def _are_numbers_known(acts: Sequence[Act], staged: Mapping[int, int]) -> bool:
    """Whether any file that a change wrote or moved still has its number, or there is none whose number is
    known."""
    numbered: list[tuple[int, tuple[str, ...]]] = []
    for number, act in enumerate(acts):
        if isinstance(act, Written) and number in staged:
            numbered.append((staged[number], (act.place, act.temporary)))
        elif isinstance(act, Moved) and act.ino:
            numbered.append((act.ino, (act.place, act.target_place)))
    return not numbered or any(
        ino == _inode_at(place) for ino, places in numbered for place in places if place
    )


def _looks_happened(acts: Sequence[Act], number: int, staged: Mapping[int, int]) -> bool:
    """`has_happened` for files that have got other numbers."""
    act = acts[number]
    match act:
        case Written():
            place, temporary = Path(act.place), Path(act.temporary)
            return _read_hash(place, act.path) == act.after.hash != _read_hash(temporary, act.path)
        case Moved():
            if no_follow.exists(act.place) or not no_follow.exists(act.target_place):
                return False
            return not act.hash or _read_hash(Path(act.target_place), act.target) == act.hash
        case _:
            return has_happened(acts, number, staged)


def roll_back(
    acts: Sequence[Act],
    last: int,
    content: Callable[[ContentImage], bytes],
    undone: Callable[[int], None],
    staged: Mapping[int, int],
) -> tuple[str, ...]:
    """Undoes the acts up to position `last` and discards what the others had prepared. Returns the vault
    paths of files that someone had changed and that were therefore not touched.

    `undone` is called with each position that has been undone and must record it durably: undoing the same
    act twice in a row does no harm, but undoing it again after an earlier one could mistake one file for
    another. Raises `OSError` when the disk refuses; run it again from that position then.
    """
    kept: list[str] = []
    folders: set[str] = set()
    for number in range(len(acts) - 1, -1, -1):
        act = acts[number]
        if number > last:
            if not _discard_prepared(act, staged.get(number, 0), kept):
                kept.append(_affected_path(act))
            continue
        folders |= affected_folders(act)
        if not _undo(act, content, staged.get(number, 0), kept):
            kept.append(_affected_path(act))
        undone(number)
    for folder in folders:
        no_follow.sync_folder(folder)
    return tuple(dict.fromkeys(kept))


def _affected_path(act: Act) -> str:
    return act.trashed.path if isinstance(act, Restored) else act.path


def _discard_prepared(act: Act, staged: int, kept: list[str]) -> bool:
    """Discards what an act that did not happen had prepared. Returns False when it was another program's
    text."""
    if isinstance(act, Written | Removed) and act.temporary:
        return _discard_temporary(act, staged, kept)
    if isinstance(act, Trashed) and act.info_place and not no_follow.exists(act.bin_place):
        info = Path(act.info_place)
        if _is_ours(info, act.info_text):
            no_follow.remove(info)
    return True


def _discard_temporary(act: Written | Removed, staged: int, kept: list[str]) -> bool:
    """Removes a staged file, or a displaced one that is no longer needed. Displaced text that is not in the
    journal was saved by another program during the change: it is never removed but becomes a conflict copy
    next to the note, whose path is added to `kept`, and False is returned. `staged` is the inode of the
    staged file, 0 while that is unfinished."""
    # Checked first: a read-only file system refuses even to remove a file that does not exist.
    if not act.temporary or not no_follow.exists(act.temporary):
        return True
    temporary = Path(act.temporary)
    images = (act.before, act.after) if isinstance(act, Written) else (act.before,)
    unfinished = isinstance(act, Written) and not staged
    if not unfinished:
        # Our own text too was in the note's place for a moment, and a program may have opened it there.
        _wait_for_writers(temporary)
    if unfinished or _read_hash(temporary, act.path) in {image.hash for image in images if image is not None}:
        no_follow.remove(temporary, missing_ok=True)
        return True
    copy = set_aside(temporary, Path(act.place))
    kept.append(join(folder_of(act.path), copy.name))
    log.warning("%s was saved by another program during a change; its text is in %s.", act.path, copy.name)
    return False


def _wait_for_writers(place: Path) -> None:
    """Waits until no program has the file open for writing, `BUSY_SECONDS` at most."""
    with contextlib.suppress(OSError):
        handle = no_follow.open_file(place, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        try:
            deadline = time.monotonic() + BUSY_SECONDS
            while is_open_for_writing(handle) and time.monotonic() < deadline:
                time.sleep(BUSY_POLL_SECONDS)
        finally:
            os.close(handle)


def affected_folders(act: Act) -> set[str]:
    """The folders in which an act adds, changes or removes a name."""
    if isinstance(act, Moved):
        return {folder_of_place(act.place), folder_of_place(act.target_place)}
    trashed = act.trashed if isinstance(act, Restored) else act
    if isinstance(trashed, Trashed):
        info = (trashed.info_place,) if trashed.info_place else ()
        return {folder_of_place(place) for place in (trashed.place, trashed.bin_place, *info)}
    return {folder_of_place(trashed.place)}


def folder_of_place(place: str) -> str:
    """Return the folder as text: for a change of many files this is called so often that making `Path`s was a
    tenth of the work."""
    if os.name == "nt":
        return os.path.dirname(place)  # noqa: PTH120 - see above
    return place.rpartition("/")[0] or "/"


def _undo(act: Act, content: Callable[[ContentImage], bytes], staged: int, kept: list[str]) -> bool:
    """Returns False if there was a later change by someone else, which stays."""
    match act:
        case Written():
            return _undo_write(act, content, staged, kept)
        case Removed():
            if no_follow.exists(act.place):
                return _discard_temporary(act, staged, kept)
            if act.temporary and no_follow.exists(act.temporary):
                no_follow.make_folder(Path(act.place).parent)
                no_follow.rename_new(Path(act.temporary), Path(act.place))
            else:
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
                no_follow.remove_folder(Path(act.place))
            return True
        case FolderRemoved():
            no_follow.make_folder(Path(act.place))
            return True


def _undo_write(act: Written, content: Callable[[ContentImage], bytes], staged: int, kept: list[str]) -> bool:
    place = Path(act.place)
    now = _read_hash(place, act.path)
    if act.before is not None and now == act.after.hash and no_follow.exists(act.temporary):
        # The displaced file comes back, whatever another program has written to it since.
        swap(Path(act.temporary), place)
        return _discard_temporary(act, staged, kept)
    if not _discard_temporary(act, staged, kept):
        return False
    if now == (act.before.hash if act.before else ""):
        return True
    if act.before is None:
        if now == act.after.hash:
            no_follow.remove(place)
        return now == act.after.hash
    if now != act.after.hash:
        return _take_out(act, content(act.before), content(act.after), kept)
    temporary = place.with_name(temporary_name())
    stage(temporary, content(act.before), like=place)
    publish_over(temporary, place)
    return True


def _take_out(act: Written, before: bytes, after: bytes, kept: list[str]) -> bool:
    """Takes our change out of a text that someone has changed since, for example a rewritten link to a note
    that was not moved after all. Returns False where both changed the same lines."""
    place = Path(act.place)
    for _ in range(TAKE_OUT_TRIES):
        try:
            now = read_place(place, act.path).data
        except VaultbridgeError:
            return False
        wanted = _merge(before, after, now)
        if wanted is None or wanted == now:
            return wanted is not None
        temporary = place.with_name(temporary_name())
        ours = stage(temporary, wanted, like=place)
        if not swap(temporary, place):
            return True
        _wait_for_writers(temporary)
        if _read_hash(temporary, act.path) == content_hash(now):
            no_follow.remove(temporary)
            return True
        # It was saved once more, so that text is put back, and the next attempt starts from it.
        swap(temporary, place)
        if _inode_at(str(temporary)) != ours:
            kept.append(join(folder_of(act.path), set_aside(temporary, place).name))
            return False
        no_follow.remove(temporary)
    return False


def _merge(before: bytes, after: bytes, now: bytes) -> bytes | None:
    """Return `now`, a later edit of `after`, as if it were an edit of `before`; None if that is unclear."""
    if now.startswith(after):
        return before + now[len(after) :]
    try:
        texts = before.decode(), after.decode(), now.decode()
    except UnicodeDecodeError:
        return None
    merged = revert_change(*texts)
    return None if merged is None else merged.encode()


def _write_new(place: Path, data: bytes, mode: int) -> None:
    no_follow.make_folder(place.parent)
    temporary = place.with_name(temporary_name())
    stage(temporary, data, like=None, mode=mode)
    publish_new(temporary, place)


def _undo_move(act: Moved) -> bool:
    source, target = Path(act.place), Path(act.target_place)
    if _changes_only_spelling(act):
        there, back = _is_spelled(target), _is_spelled(source)
    else:
        there, back = no_follow.exists(target), no_follow.exists(source)
    if back or not there:
        # A recovery that died had moved it back already, or someone made or deleted one of the two.
        return back and not there
    no_follow.make_folder(source.parent)
    no_follow.rename_new(target, source)
    return True


def _changes_only_spelling(act: Moved) -> bool:
    """If so, a file system that ignores case finds both names, and the folder's list of names has to
    decide."""
    return Path(act.place).parent == Path(act.target_place).parent and name_key(act.path) == name_key(
        act.target
    )


def _is_spelled(place: Path) -> bool:
    if not place.parent.is_dir():
        return False
    return any(item.name == place.name for item in place.parent.iterdir())


def _inode_at(place: str) -> int:
    try:
        return no_follow.status(place).st_ino
    except OSError:
        return -1


def _undo_trash(act: Trashed, content: Callable[[ContentImage], bytes]) -> bool:
    place, bin_place = Path(act.place), Path(act.bin_place)
    info = Path(act.info_place) if act.info_place else None
    if no_follow.exists(place):
        # A recovery that died had restored it already; or someone made a new one, and both stay.
        return not no_follow.exists(bin_place)
    if no_follow.exists(bin_place):
        restore_from_trash(place, bin_place, info)
        return True
    if act.image is None:
        return False
    _write_new(place, content(act.image), act.mode)
    return True


def _is_ours(info: Path, text: str) -> bool:
    """Another program may have taken the name in the trash between our choice and our use of it."""
    try:
        return info.read_text(encoding="ascii") == text
    except (OSError, UnicodeDecodeError):
        return False


def _undo_restore(act: Trashed) -> bool:
    place, bin_place = Path(act.place), Path(act.bin_place)
    if no_follow.exists(bin_place):
        return True
    if not no_follow.exists(place):
        return False
    info = Path(act.info_place) if act.info_place else None
    if info is not None:
        no_follow.remove(info, missing_ok=True)
    move_to_trash(place, bin_place, info, act.info_text)
    return True


def _read_hash(place: Path, path: str) -> str:
    """Return the hash of the file; empty if there is none. An unreadable file matches no known version."""
    if not no_follow.exists(place):
        return ""
    try:
        return content_hash(read_place(place, path).data)
    except VaultbridgeError:
        return "unreadable"


def invert(entry: JournalEntry, content: Callable[[ContentImage], bytes], *, force: bool) -> tuple[Step, ...]:
    """The steps that undo a transaction. Raises `EditRefused` when it was rolled back or undone already. With
    `force` the files may have any content, and a file that is gone need not be undone."""
    if entry.state != "done":
        raise EditRefused(f"Change {entry.id} was rolled back, so there is nothing to undo.", paths=())
    if entry.undone_by is not None:
        raise EditRefused(f"Change {entry.id} has already been undone by change {entry.undone_by}.", paths=())
    return tuple(_invert(act, content, force=force) for act in reversed(entry.acts))


def _invert(act: Act, content: Callable[[ContentImage], bytes], *, force: bool) -> Step:
    match act:
        case Written(before=None):
            return RemoveFile(act.path, None if force else act.after.hash, missing_ok=force)
        case Written():
            assert act.before is not None
            expected = None if force else act.after.hash
            return WriteFile(act.path, content(act.before), expected, restores=True)
        case Removed():
            data, name = content(act.before), Path(act.place).name
            absent = None if force else ABSENT
            return WriteFile(act.path, data, absent, mode=act.mode, stored_name=name, restores=True)
        case Moved(folder=True):
            return MoveFolder(act.target, act.path, stored_name=Path(act.place).name)
        case Moved():
            if not force and not act.hash:
                _check_not_edited(act)
            expected_hash = None if force or not act.hash else act.hash
            return MoveFile(act.target, act.path, expected_hash, stored_name=Path(act.place).name)
        case Trashed():
            return RestoreFile(act)
        case Restored(trashed=trashed):
            # Of a large file or a folder the journal has no image.
            known = None if force or trashed.image is None else trashed.image.hash
            return TrashFile(trashed.path, trashed.option, known)
        case FolderMade():
            return RemoveFolder(act.path, deep=False)
        case FolderRemoved():
            return MakeFolder(act.path, stored_name=Path(act.place).name)


def _check_not_edited(act: Moved) -> None:
    try:
        status = no_follow.status(act.target_place)
    except FileNotFoundError:
        return
    if (status.st_size, status.st_mtime_ns) != (act.size, act.mtime_ns):
        raise EditRefused(
            f"{act.target} has changed since, so its move was not undone.",
            hint="To move it back anyway, undo with --force (force: true in a tool call).",
            paths=(act.target,),
        )
