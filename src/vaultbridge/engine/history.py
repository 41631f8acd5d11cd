"""The history of changes as one scope may see it: no row, diff or error mentions a hidden file.

What a change did to a file is listed when the file was visible then and is visible now: under each name that
the change gave it, under the file that a link led to, and under the name that it has today. So the history
reveals neither the public past of a note that is private now, nor the private past of a public one. A note
that was private for a while shows the rest of its history.

A change that affected only hidden files does not exist. One that affected both shows its visible part, and
can be undone only when it did nothing to the hidden files but rewrite their links.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.bases.parse import extract_base_blocks
from vaultbridge.engine.outcome import ChangedFile, FileChange
from vaultbridge.engine.reading import parse_file
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound
from vaultbridge.links.move import rewrite_base
from vaultbridge.links.resolve import name_key
from vaultbridge.markdown.edits.unified_diff import make_diff
from vaultbridge.markdown.embedded import whole_text
from vaultbridge.markdown.text import decode, replace_surrogates
from vaultbridge.vault.paths import TEXT_SUFFIXES, VaultFolder, VaultPath, Visible, vault_path
from vaultbridge.vault.scope import LinkedScope
from vaultbridge.vault.write.journal import (
    HISTORY_LIMIT,
    Departure,
    Journal,
    Versions,
)
from vaultbridge.vault.write.journal_rows import JournalEntry, affects, trace_name_back
from vaultbridge.vault.write.steps import (
    Act,
    ContentImage,
    FolderMade,
    FolderRemoved,
    Moved,
    Removed,
    Restored,
    Trashed,
    Written,
    affected_paths,
)
from vaultbridge.vault.write.transaction import OUTSIDE_ACTOR


class HistoryEntry(Struct, frozen=True):
    """One change. `paths` are the visible ones that it concerned; `undone_by` and `undo_of` are ids.
    Content of an `incomplete` one was lost, so it cannot be undone."""

    id: int
    at: float
    actor: str
    label: str
    undone_by: int | None
    undo_of: int | None
    paths: tuple[VaultPath, ...]
    author: str = ""
    incomplete: bool = False
    files: tuple[ChangedFile, ...] = ()


class FileVersions(Struct, frozen=True):
    """One file of a change. A moved file has no content here: moving changes none."""

    path: str
    change: FileChange
    was: str
    before: bytes | None
    after: bytes | None


class LastWrite(Struct, frozen=True):
    """Who wrote a file last, when, and what."""

    actor: str
    at: float
    image: ContentImage


class History:
    """The journal, limited to one scope. `find` finds a file by any name; for one that is gone there is
    `make_vault_relative`."""

    def __init__(
        self,
        journal: Journal,
        scope: LinkedScope,
        root: VaultFolder,
        *,
        find: Callable[[str], VaultPath],
        make_vault_relative: Callable[[str], str],
    ) -> None:
        self._find = find
        self._make_vault_relative = make_vault_relative
        self._journal = journal
        self._scope = scope
        self._root = root
        self._departures: list[Departure] = []
        """Every move and deletion in the journal, as far as it was read; the journal is bounded."""
        self._read_to = 0
        self._reading = threading.Lock()

    def changes(self, name: str = "", *, limit: int = 20, before: int | None = None) -> list[HistoryEntry]:
        """Lists the newest changes first; with `name` those of one file, which may no longer exist, followed
        back through its names. Changes that affected only hidden files do not exist. With `before`, only
        those with a smaller id."""
        path: VaultPath | None = None
        if name:
            try:
                path = self._find(name)
            except NoteNotFound:
                path = vault_path(self._make_vault_relative(name))
                # Checked by name: a link to a hidden file looks like a name that was never used.
                if not self._scope.names.visible(path):
                    raise
        self._catch_up()
        if path is not None:
            # In one query: a later page would not know the file's older names.
            whole = self._scope.unrestricted and before is None
            entries = self._journal.history(path, limit=limit if whole else HISTORY_LIMIT)
            older = (e for e in self._filter_by_file(entries, path) if before is None or e.id < before)
            return [self._make_entry(entry) for entry in older][:limit]
        found: list[HistoryEntry] = []
        # The journal is bounded, and each round goes further back.
        while True:
            entries = self._journal.history(limit=limit, before=before)
            found += [self._make_entry(entry) for entry in entries if self._is_visible(entry)]
            if len(entries) < limit or len(found) >= limit:
                return found[:limit]
            before = entries[-1].id

    def list_notices(self) -> list[str]:
        """What whoever lists the changes must know: that a part of the journal was lost, until its owner has
        confirmed it."""
        return self._journal.list_notices()

    def _filter_by_file(self, entries: Iterable[JournalEntry], path: VaultPath) -> Iterator[JournalEntry]:
        """Keeps the changes whose visible part affects this file: a change may be visible because of another
        file. The newest first, as the journal returns them."""
        key = name_key(path)
        for entry in entries:
            if affects(self._visible_part(entry), key):
                yield entry
            key = trace_name_back(entry, key)

    def last_write(self, path: VaultPath) -> LastWrite | None:
        """The newest change of a file, if it wrote the file; None if it did something else, or there is
        none."""
        for entry in self._journal.history(path, limit=1):
            for act in reversed(entry.acts):
                if isinstance(act, Written) and act.path == path:
                    return LastWrite(entry.actor, entry.at, act.after)
        return None

    def find_remover(self, path: VaultPath) -> str:
        """Who moved or deleted a file that is gone, if its newest change did that; "" otherwise."""
        for entry in self._journal.history(path, limit=1):
            for act in entry.acts:
                gone = act.path if isinstance(act, Moved | Trashed | Removed) else ""
                if gone and (path == gone or path.startswith(f"{gone}/")):
                    return entry.actor
        return ""

    def newest_to_undo(self, author: str | None = None) -> int:
        """The newest change that can still be undone; with `author` only of that one's own. Raises
        EditRefused when there is none. A save by another program, which the history shows too, has to be
        named to be undone."""
        for change in self.changes(limit=HISTORY_LIMIT):
            if change.actor == OUTSIDE_ACTOR or author not in (None, change.author):
                continue
            if change.undone_by is None and change.undo_of is None and not change.incomplete:
                return change.id
        if author is None:
            raise EditRefused("There is no change to undo.")
        raise EditRefused(
            "There is no change of yours to undo.",
            hint="Without an id, undo reverts only your own changes. history lists all: give the id of "
            "somebody else's, and a person is asked.",
        )

    def entry(self, number: int) -> JournalEntry:
        """Raises InvalidArgument for an unknown change, and for one that affected only hidden files."""
        self._catch_up()
        entry = self._journal.entry(number)
        if not self._is_visible(entry):
            raise InvalidArgument(
                f"There is no change {number}.", argument="id", hint="history lists the changes."
            )
        return entry

    def change(self, number: int) -> tuple[HistoryEntry, tuple[FileVersions, ...]]:
        """One change and the files it touched, with their content before and after. Raises as `entry`
        does."""
        return self._make_entry(self.entry(number)), self._versions(number)

    def diff(self, number: int, *, backwards: bool = False) -> str:
        """A unified diff of every text file that the change touched and the caller may see; `backwards`, of
        undoing it. Raises as `entry` does."""
        pieces = []
        for version in self._journal.versions(self._visible_part(self.entry(number))):
            if version.path.lower().endswith(TEXT_SUFFIXES):
                before, after = (decode(data or b"").text for data in (version.before, version.after))
                old, new = (after, before) if backwards else (before, after)
                pieces.append(make_diff(old, new, version.path))
        return replace_surrogates("".join(pieces))

    def _versions(self, number: int) -> tuple[FileVersions, ...]:
        """Every file that the change touched and the caller may see, with its content before and after."""
        entry = self._visible_part(self.entry(number))
        contents: dict[str, Versions] = {version.path: version for version in self._journal.versions(entry)}
        found = []
        for file in list_changed_files(entry.acts, self._scope.visible):
            version = contents.get(file.path)
            before, after = (None, None) if version is None else (version.before, version.after)
            found.append(FileVersions(file.path, file.change, file.was, before, after))
        return tuple(found)

    def check_undo(self, number: int) -> frozenset[str]:
        """Returns the hidden files in which undoing the change would rewrite links. Raises when it must not
        be undone."""
        entry = self.entry(number)
        hidden: set[str] = set()
        seen = self._visible_part(entry).acts
        for act in entry.acts:
            if act in seen:
                for path in affected_paths(act):
                    self._scope.check_write(path)
                continue
            hidden.update(affected_paths(act))
            # A caller must not delete, create or move text that it may not see.
            if not isinstance(act, Written) or not self._changes_only_links(act):
                raise EditRefused(
                    f"Change {number} cannot be undone from here: it reaches beyond the folders that "
                    "may be used."
                )
        return frozenset(hidden)

    def list_moves(self, number: int) -> dict[VaultPath, set[VaultPath]]:
        """The names that a change gave to files, as far as they may be seen, each with the files whose text
        it changed: their links are undone with it."""
        entry = self._visible_part(self.entry(number))
        written = {act.path for act in entry.acts if isinstance(act, Written)}
        return {act.target: written for act in entry.acts if isinstance(act, Moved) and not act.folder}

    def _changes_only_links(self, act: Written) -> bool:
        """Whether a file says the same before and after, but for where its links lead."""
        if act.before is None:
            return False
        before, after = (
            _without_links(act.path, self._journal.content(image)) for image in (act.before, act.after)
        )
        return before == after

    def _is_visible(self, entry: JournalEntry) -> bool:
        if self._scope.unrestricted:
            return True
        files = [act for act in entry.acts if not isinstance(act, FolderMade | FolderRemoved)]
        # A folder that was created for a hidden file reveals nothing by itself.
        return any(act in files for act in self._visible_part(entry).acts) or (
            not files and bool(self._visible_part(entry).acts)
        )

    def _make_entry(self, entry: JournalEntry) -> HistoryEntry:
        seen = self._visible_part(entry)
        return HistoryEntry(
            *(entry.id, entry.at, entry.actor, entry.label, entry.undone_by, entry.undo_of),
            paths=seen.paths,
            files=list_changed_files(seen.acts, self._scope.visible),
            author=entry.author,
            incomplete=entry.incomplete,
        )

    def _visible_part(self, entry: JournalEntry) -> JournalEntry:
        """The change, with only what it did to visible files."""
        if self._scope.unrestricted:
            return entry
        acts = (
            act for position, act in enumerate(entry.acts) if self._is_visible_act(act, entry.id, position)
        )
        return replace(entry, acts=tuple(acts))

    def _is_visible_act(self, act: Act, number: int, position: int) -> bool:
        named = affected_paths(act)
        inner = act.trashed if isinstance(act, Restored) else act
        places = (inner.place, inner.target_place) if isinstance(inner, Moved) else (inner.place,)
        reached = filter(None, map(self._root.path_of, places))
        if not all(map(self._scope.visible, {*named, *reached})):
            return False
        if isinstance(act, Removed | Trashed | FolderMade | FolderRemoved):
            return True
        return self._is_visible_today(named[-1], number, position)

    def _is_visible_today(self, path: VaultPath, number: int, position: int) -> bool:
        """Whether the file that had this path right after an act is visible now, or was visible when it was
        deleted. A file that another program took away counts as hidden: it may be in a hidden folder."""
        for _, _, act in self._list_later_departures(number, position):
            source, key = name_key(act.path), name_key(path)
            within = (isinstance(act, Moved | Trashed) and act.folder) and key.startswith(source + "/")
            if key != source and not within:
                continue
            if not isinstance(act, Moved):
                return self._scope.visible(path)
            path = VaultPath(act.target + path[len(act.path) :])
        return self._scope.visible(path) and self._root.exists(path)

    def _list_later_departures(self, number: int, position: int) -> list[Departure]:
        """Departures after one act."""
        with self._reading:
            start = bisect_right(self._departures, (number, position), key=lambda departure: departure[:2])
            return self._departures[start:]

    def _catch_up(self) -> None:
        if not self._scope.unrestricted:
            with self._reading:
                self._read_to, newer = self._journal.departures(after=self._read_to)
                self._departures += newer


def _without_links(path: VaultPath, data: bytes) -> list[str]:
    """The text between the links."""
    text = decode(data).text
    pieces: list[str] = []
    at = 0
    for start, end in sorted(_find_links(path, text)):
        pieces.append(text[at:start])
        at = max(at, end)
    return [*pieces, text[at:]]


def _find_links(path: VaultPath, text: str) -> Iterator[tuple[int, int]]:
    """Where a file names others: its links, and what a move rewrites in its bases."""
    for link in parse_file(path, text).links:
        yield link.start, link.end
    kind = path.rpartition(".")[2].lower()
    blocks = extract_base_blocks(text) if kind == "md" else ()
    for base in (whole_text(text),) if kind == "base" else [block.inside for block in blocks]:
        try:
            named = rewrite_base(base.text, file=lambda _: "", folder=lambda _: "")
        except EditRefused:
            continue
        for change in base.to_outer(named):
            yield change.start, change.end


def list_changed_files(acts: Iterable[Act], visible: Visible) -> tuple[ChangedFile, ...]:
    """One row per visible file, in the order of the changes; folders created or removed on the way are left
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
