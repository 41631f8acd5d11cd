"""What a recorded change did, told file by file."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vaultbridge.engine.operations import ChangedFile, FileChange
from vaultbridge.note.text import decode, displayable
from vaultbridge.note.unified_diff import make_diff
from vaultbridge.vault.journal import Entry, Journal
from vaultbridge.vault.steps import Act, FolderMade, FolderRemoved, Moved, Removed, Restored, Trashed, Written


def changed_files(acts: Iterable[Act]) -> tuple[ChangedFile, ...]:
    """One row a file, in the order things were done; folders made or removed on the way are left out."""
    rows: list[ChangedFile] = []
    for act in acts:
        match act:
            case Written():
                change: FileChange = "created" if act.before is None else "changed"
                rows.append(ChangedFile(act.path, change, hash=act.after.hash))
            case Removed() | Trashed():
                rows.append(ChangedFile(act.path, "deleted"))
            case Moved():
                rows.append(ChangedFile(act.target, "moved", was=act.path, hash=act.hash))
            case Restored():
                rows.append(ChangedFile(act.trashed.path, "created"))
            case FolderMade() | FolderRemoved():
                pass
    return tuple(rows)


def diff_of(journal: Journal, entry: Entry, visible: Callable[[str], bool]) -> str:
    """A unified diff of every text file that the change touched and the caller may see."""
    pieces = [
        make_diff(decode(version.before or b"").text, decode(version.after or b"").text, version.path)
        for version in journal.versions(entry)
        if version.path.lower().endswith((".md", ".canvas", ".base")) and visible(version.path)
    ]
    return displayable("".join(pieces))
