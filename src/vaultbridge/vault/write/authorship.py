"""Whose text an undo would take away: an assistant may take away its own, and nobody else's.

The journal says who made each change since the one that is undone, and what each left in a file. If there is
an unbroken chain of changes by the same author from that change to what is on disk now, everything that was
written since is that author's. Otherwise somebody else wrote some of it, perhaps a program that the journal
does not know.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from vaultbridge.errors import EditRefused
from vaultbridge.links.resolve import name_key
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.write.journal import HISTORY_LIMIT, Journal
from vaultbridge.vault.write.journal_rows import JournalEntry
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

ABSENT = ""
"""The hash that stands for "there is no file" here."""


def check_later_text(
    journal: Journal, entry: JournalEntry, acts: Iterable[Act], author: str, *, spared: Collection[str] = ()
) -> None:
    """Raises EditRefused when `acts`, which undo `entry`, would replace or delete text that somebody other
    than `author` has written since. Files in `spared` keep what was written since anyway."""
    moved: list[Moved] = []
    for act in acts:
        match act:
            case Moved():
                # The content goes along.
                moved.append(act)
                continue
            case Written(before=None) | Restored() | FolderMade() | FolderRemoved():
                continue
            case Trashed(folder=True):
                raise EditRefused(
                    f"{act.path} is a folder: what others have put into it since would be deleted too.",
                    hint="Delete the folder, or ask a person to undo this.",
                    paths=(act.path,),
                )
            case Trashed():
                image = act.image
            case Written() | Removed():
                image = act.before
        if act.path in spared:
            continue
        key = _trace_name(name_key(act.path), reversed(moved))
        if image is None or not _is_own(journal, entry, key, image.hash, author):
            raise EditRefused(
                f"Somebody else has changed {act.path} since change {entry.id}, and undoing that would "
                "remove what they wrote.",
                hint="history shows who. A person can undo it: on the page, or with "
                f"`vaultbridge undo {entry.id} --force`.",
                path=act.path,
                paths=(act.path,),
            )


def _is_own(journal: Journal, entry: JournalEntry, key: str, now: str, author: str) -> bool:
    """Whether everything that happened to the file since `entry` was done by `author`, or was taken back.
    `now` is the hash of its content."""
    if now == _hash_after(entry, key):
        # Nothing is left of what anybody has written since.
        return True
    later = [change for change in _list_changes(journal, key) if change.id > entry.id]
    if len(later) == HISTORY_LIMIT:
        return False
    expected = now
    for change in later:
        state = _go_back(change, key, expected) if change.author == author else None
        if state is None:
            return False
        key, expected = state
    return _hash_after(entry, key) == expected


def _list_changes(journal: Journal, key: str) -> tuple[JournalEntry, ...]:
    return journal.history(VaultPath(key), limit=HISTORY_LIMIT)


def _go_back(change: JournalEntry, key: str, now: str) -> tuple[str, str] | None:
    """The name and the hash that a file had before a change that left it with the hash `now`; None if the
    change did not leave it like that, so somebody else has written to it since."""
    for act in reversed(change.acts):
        match act:
            case Moved():
                key = _trace_name(key, (act,))
            case Written() if name_key(act.path) == key:
                if act.after.hash != now:
                    return None
                now = ABSENT if act.before is None else act.before.hash
            case Removed() if name_key(act.path) == key:
                if now != ABSENT:
                    return None
                now = act.before.hash
            case Trashed() if name_key(act.path) == key:
                if now != ABSENT or act.image is None:
                    return None
                now = act.image.hash
            case Restored() if name_key(act.trashed.path) == key:
                if act.trashed.image is None or act.trashed.image.hash != now:
                    return None
                now = ABSENT
    return key, now


def _hash_after(entry: JournalEntry, key: str) -> str | None:
    """The hash of the content that a change left in the file with this name; None if it is not known."""
    for act in reversed(entry.acts):
        match act:
            case Moved():
                if act.hash and name_key(act.target) == key:
                    return act.hash
                key = _trace_name(key, (act,))
            case Written() if name_key(act.path) == key:
                return act.after.hash
            case Restored() if name_key(act.trashed.path) == key:
                return None if act.trashed.image is None else act.trashed.image.hash
            case Removed() | Trashed() if name_key(act.path) == key:
                return ABSENT
    return None


def _trace_name(key: str, moves: Iterable[Moved]) -> str:
    """The name that a file had before these moves, the last one first."""
    for act in moves:
        source, target = name_key(act.path), name_key(act.target)
        if key == target:
            key = source
        elif act.folder and key.startswith(target + "/"):
            key = source + key[len(target) :]
    return key
