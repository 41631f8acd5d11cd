"""What was changed, as one scope may see it: hidden files are in no row, diff or refusal.

A change that concerned hidden files alone does not exist. One that concerned both shows its visible part, and
may be undone only when nothing happened to the hidden files but that their links followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from vaultbridge.engine.operations import ChangedFile, FileChange
from vaultbridge.engine.parsing import parse_file
from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.note.text import decode, displayable
from vaultbridge.note.unified_diff import make_diff
from vaultbridge.vault.journal import HISTORY_LIMIT, Entry, Journal
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.steps import (
    Act,
    FolderMade,
    FolderRemoved,
    Moved,
    Removed,
    Restored,
    Trashed,
    Written,
    paths_of,
)


class PastChange(Struct, frozen=True):
    """One change. `paths` are the visible ones that it concerned; `undone_by` and `undo_of` are ids."""

    id: int
    at: float
    actor: str
    label: str
    undone_by: int | None
    undo_of: int | None
    paths: tuple[VaultPath, ...]


class Past:
    """The journal through one scope."""

    def __init__(self, journal: Journal, scope: Scope) -> None:
        self._journal = journal
        self._scope = scope

    def changes(self, path: VaultPath | None = None, *, limit: int) -> list[PastChange]:
        """The newest first: of the whole vault, or of one file, followed back through its names."""
        if path is not None:
            # One question: a later page would not know the file's older names.
            entries = self._journal.history(path, limit=limit if self._scope.unrestricted else HISTORY_LIMIT)
            return [self._shown(entry) for entry in entries if self._visible(entry)][:limit]
        found: list[PastChange] = []
        before: int | None = None
        # The journal is bounded, and each round goes further back.
        while True:
            entries = self._journal.history(limit=limit, before=before)
            found += [self._shown(entry) for entry in entries if self._visible(entry)]
            if len(entries) < limit or len(found) >= limit:
                return found[:limit]
            before = entries[-1].id

    def newest_to_undo(self) -> int:
        """Raises EditRefused when there is none."""
        for change in self.changes(limit=HISTORY_LIMIT):
            if change.undone_by is None and change.undo_of is None:
                return change.id
        raise EditRefused("There is no change to undo.")

    def entry(self, number: int) -> Entry:
        """Raises InvalidArgument for one that is unknown, as for one that concerned hidden files alone."""
        entry = self._journal.entry(number)
        if not self._visible(entry):
            raise InvalidArgument(f"The journal holds no change {number}.", argument="id")
        return entry

    def diff(self, number: int) -> str:
        """A unified diff of every text file that the change touched and the caller may see."""
        pieces = [
            make_diff(decode(version.before or b"").text, decode(version.after or b"").text, version.path)
            for version in self._journal.versions(self.entry(number))
            if version.path.lower().endswith((".md", ".canvas", ".base"))
            and self._scope.visible(version.path)
        ]
        return displayable("".join(pieces))

    def check_undo(self, number: int, *, force: bool) -> frozenset[str]:
        """The hidden files that follow when the change is undone. Raises when it may not be."""
        entry = self.entry(number)
        hidden: set[str] = set()
        for act in entry.acts:
            for path in paths_of(act):
                if self._scope.visible(path):
                    self._scope.check_write(path)
                    continue
                hidden.add(path)
                # Text that somebody may not see must not be lost, made or moved by their hand.
                if force or not isinstance(act, Written) or not self._only_links_followed(act):
                    raise EditRefused(
                        f"Change {number} cannot be undone from here: it reaches beyond the folders that "
                        "may be used."
                    )
        return frozenset(hidden)

    def _only_links_followed(self, act: Written) -> bool:
        """Whether a file says the same before and after, but for where its links lead."""
        if act.before is None:
            return False
        before, after = (
            _without_links(act.path, self._journal.content(image)) for image in (act.before, act.after)
        )
        return before == after

    def _visible(self, entry: Entry) -> bool:
        return self._scope.unrestricted or any(self._scope.visible(path) for path in entry.paths)

    def _shown(self, entry: Entry) -> PastChange:
        paths = tuple(path for path in entry.paths if self._scope.visible(path))
        return PastChange(entry.id, entry.at, entry.actor, entry.label, entry.undone_by, entry.undo_of, paths)


def _without_links(path: VaultPath, data: bytes) -> list[str]:
    """The text between the links."""
    text = decode(data).text
    pieces: list[str] = []
    at = 0
    for link in sorted(parse_file(path, text).links, key=lambda link: link.start):
        pieces.append(text[at : link.start])
        at = max(at, link.end)
    return [*pieces, text[at:]]


def changed_files(acts: Iterable[Act], visible: Callable[[str], bool]) -> tuple[ChangedFile, ...]:
    """One row a visible file, in the order things were done; folders made or removed on the way are left
    out."""
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
    return tuple(row for row in rows if visible(row.path))
