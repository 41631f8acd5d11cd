"""The one object that tools and commands hold: a vault, open.

It orders the parts: names become paths, scopes are asked, a draft is committed as one transaction and the
index follows before the caller is answered. Questions to the index are in `engine.queries`; keeping the index
fresh is `engine.freshness`. Everything here blocks: a server calls it from worker threads, any number at
once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType

from msgspec import Struct

from vaultbridge.engine.committing import described, draft_of
from vaultbridge.engine.freshness import Freshness
from vaultbridge.engine.operate import Surroundings
from vaultbridge.engine.operations import Operation, Outcome
from vaultbridge.engine.parsing import parse_file
from vaultbridge.engine.queries import Queries
from vaultbridge.engine.reading import WHOLE, Excerpt, Part, excerpt
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound
from vaultbridge.note.model import Note
from vaultbridge.note.text import decode
from vaultbridge.vault.cache import vault_cache
from vaultbridge.vault.journal import HISTORY_LIMIT, Entry
from vaultbridge.vault.paths import Root, VaultPath, vault_folder, vault_path
from vaultbridge.vault.read import read_place
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.settings import VaultSettings
from vaultbridge.vault.settings_read import SettingsReader
from vaultbridge.vault.steps import paths_of
from vaultbridge.vault.templates import expand_template
from vaultbridge.vault.transaction import Recovered, Transactor
from vaultbridge.vault.trash import TrashCans

OPEN_SCOPE = Scope()
"""Everything may be read and changed."""


class FileView(Struct, frozen=True):
    """One file as it is on disk now. `text` may hold lone surrogates: `note.text.displayable` before it
    leaves."""

    path: VaultPath
    text: str
    note: Note
    hash: str
    modified: float


class Engine:
    """Open with `Engine(...)`, close with `close()` or `with`. `actor` says in the journal who changes
    things."""

    def __init__(
        self,
        folder: Path | str,
        *,
        cache: Path,
        cans: TrashCans,
        scope: Scope = OPEN_SCOPE,
        actor: str = "cli",
        allow_outside_links: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.root = Root(folder, allow_outside_links=allow_outside_links)
        self.scope = scope
        self.actor = actor
        self.cache = vault_cache(self.root.folder, cache)
        self._clock = clock
        self._settings = SettingsReader(self.root)
        self._settings_lock = threading.Lock()
        self._changing = threading.RLock()
        self.transactor = Transactor(self.root, self.cache, cans=cans, clock=clock)
        self.recovered: tuple[Recovered, ...] = self.transactor.recover()
        self.freshness = Freshness(self.root, self.cache)
        self.ask = Queries(self.root, self.freshness, scope, lambda: self.settings)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.freshness.close()
        self.transactor.close()

    @property
    def name(self) -> str:
        return self.root.name

    @property
    def settings(self) -> VaultSettings:
        """As Obsidian's settings are now."""
        with self._settings_lock:
            return self._settings.current()

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._clock())

    # Reading.

    def find(self, name: str) -> VaultPath:
        """The existing file that a person or an assistant means: an exact path, a path without `.md`, a name
        as in a wikilink, an alias, in any case or Unicode form. Raises NoteNotFound with the closest names,
        or AmbiguousName with the candidates."""
        if not name.strip():
            raise InvalidArgument("Which note? Give its name or path.", argument="name")
        return self._on_disk(name) or self.ask.find(name)

    def _on_disk(self, name: str) -> VaultPath | None:
        """A path that is there, whatever the index knows yet."""
        for spelled in (name, f"{name}.md"):
            try:
                path = vault_path(spelled)
            except InvalidArgument:
                continue
            if not self.scope.visible(path) or not self.root.exists(path):
                continue
            place = self.root.locate(path)
            if place.is_file():
                return self.root.path_of(place)
        return None

    def is_folder(self, path: VaultPath) -> bool:
        return self.root.exists(path) and self.root.place(path).is_dir()

    def read_bytes(self, path: VaultPath) -> bytes:
        self.scope.check_read(path)
        return self._read(path)

    def view(self, name: str) -> FileView:
        """A note, canvas or base by name, read and parsed."""
        path = self.find(name)
        place = self.root.locate(path)
        content = read_place(place, path, limit=self.scope.max_note_bytes)
        decoded = decode(content.data)
        note = parse_file(path, decoded.text)
        return FileView(path, decoded.text, note, content.hash, content.signature.mtime_ns / 1e9)

    def excerpt(self, name: str, part: Part = WHOLE) -> tuple[FileView, Excerpt]:
        view = self.view(name)
        return view, excerpt(view.text, view.note, part)

    def _read(self, path: VaultPath) -> bytes:
        return read_place(self.root.locate(path), path, limit=self.scope.max_note_bytes).data

    # Changing.

    def apply(
        self, operations: Sequence[Operation], *, dry_run: bool = False, label: str = "", actor: str = ""
    ) -> Outcome:
        """Carry all operations out as one change, or none of them. With `dry_run` nothing is written and the
        outcome tells what would be. Raises what the first failing operation raises."""
        with self._changing:
            self.freshness.settle()
            draft = draft_of(operations, self._read, self.ask.table(), self._surroundings())
            steps = draft.steps()
            outcome = described(draft, steps, self.scope.visible, dry_run=dry_run)
            if dry_run or not steps:
                return outcome
            applied = self.transactor.apply(
                steps, actor=actor or self.actor, label=label or _label(operations)
            )
            self.freshness.wrote({path for act in applied.acts for path in paths_of(act)})
            return Outcome(
                files=outcome.files,
                change_id=str(applied.id) if applied.id else "",
                diff=outcome.diff,
                notices=(*outcome.notices, *applied.notices),
            )

    def _surroundings(self) -> Surroundings:
        settings = self.settings
        return Surroundings(
            find=self.find,
            is_folder=self.is_folder,
            expand=self.expand,
            notes_with_tag=self.ask.notes_with_tag,
            sources=self.ask,
            settings=settings,
            scope=self.scope,
        )

    def expand(self, template: str, title: str, *, when: datetime | None = None) -> str:
        """A template's text for a new note with this title. `template` is a name or path; a bare name is
        looked for in the templates folder first."""
        settings = self.settings
        found: VaultPath | None = None
        if settings.template_folder:
            folder = vault_folder(settings.template_folder)
            found = self._on_disk(f"{folder}/{template}")
        path = found or self.find(template)
        self.scope.check_read(path)
        return expand_template(
            decode(self._read(path)).text,
            title=title,
            now=when or self.now(),
            date_format=settings.template_date_format,
            time_format=settings.template_time_format,
        )

    # What was changed.

    def history(self, name: str = "", *, limit: int = 20) -> list[Entry]:
        """The newest changes first; those of one file when `name` is given. Changes that only concern hidden
        files do not exist."""
        path: VaultPath | None = None
        if name:
            try:
                path = self.find(name)
            except NoteNotFound:
                path = vault_path(name)  # A file that is gone still has a history.
        entries = self.transactor.journal.history(path, limit=limit)
        return [entry for entry in entries if any(self.scope.visible(p) for p in entry.paths)]

    def diff(self, change_id: int) -> str:
        """A unified diff of one change. Raises InvalidArgument for an unknown one."""
        from vaultbridge.engine.past import diff_of

        entry = self.transactor.journal.entry(change_id)
        return diff_of(self.transactor.journal, entry, self.scope.visible)

    def last_change(self) -> int:
        """The newest change that can still be undone. Raises EditRefused when there is none."""
        for entry in self.history(limit=HISTORY_LIMIT):
            if entry.state == "done" and entry.undone_by is None and entry.undo_of is None:
                return entry.id
        raise EditRefused("There is no change to undo.")

    def undo(self, change_id: int, *, force: bool = False, actor: str = "") -> Outcome:
        """Undo one change as a whole. Raises EditRefused when a file has changed since, unless `force`."""
        with self._changing:
            entry = self.transactor.journal.entry(change_id)
            for path in entry.paths:
                self.scope.check_write(path)
            applied = self.transactor.undo(change_id, actor=actor or self.actor, force=force)
            self.freshness.wrote({path for act in applied.acts for path in paths_of(act)})
            from vaultbridge.engine.past import changed_files

            return Outcome(
                files=changed_files(applied.acts),
                change_id=str(applied.id) if applied.id else "",
                notices=applied.notices,
            )


def _label(operations: Sequence[Operation]) -> str:
    """A few words for the history."""
    first = operations[0].__struct_config__.tag if operations else "nothing"
    words = str(first).replace("_", " ")
    return words if len(operations) == 1 else f"{words} and {len(operations) - 1} more"
