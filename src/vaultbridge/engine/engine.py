"""The one object that tools and commands hold: a vault, open.

It orders the parts: names become paths, scopes are asked, a draft is committed as one transaction and the
index follows before the caller is answered. Questions to the index are in `engine.queries`; keeping the index
fresh is `engine.index_sync`. Everything here but `read_again` blocks: a server calls it from worker
threads, any number at once.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.engine.finder import Finder
from vaultbridge.engine.history import HistoryEntry, HistoryView, changed_files
from vaultbridge.engine.index_sync import IndexSync
from vaultbridge.engine.naming import OperationContext
from vaultbridge.engine.operate import make_draft
from vaultbridge.engine.operations import Operation
from vaultbridge.engine.outcome import Outcome, describe
from vaultbridge.engine.queries import Queries
from vaultbridge.engine.reading import Part, Reading, excerpt, needs_structure, parse_file
from vaultbridge.engine.redaction import redact
from vaultbridge.engine.vocabulary import op_of, with_paths
from vaultbridge.errors import (
    EngineFailure,
    NoteBusy,
    NoteNotFound,
    PermissionDenied,
    StaleWrite,
    VaultbridgeError,
)
from vaultbridge.limits import NOTE_READ_BYTES
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.text import decode
from vaultbridge.vault.absolute import is_absolute, make_vault_relative
from vaultbridge.vault.cache_folder import CACHE_VARIABLE, CacheUnusable, vault_cache
from vaultbridge.vault.dates import expand_template
from vaultbridge.vault.paths import Root, VaultPath, vault_folder, vault_path
from vaultbridge.vault.read import content_hash, read_place, retry_while_busy
from vaultbridge.vault.read_cache import ReadCache
from vaultbridge.vault.scope import LinkedScope, Scope
from vaultbridge.vault.settings import SettingsReader, VaultSettings
from vaultbridge.vault.write.steps import affected_paths
from vaultbridge.vault.write.transaction import Recovered, Transactor
from vaultbridge.vault.write.trash import Trash

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

OPEN_SCOPE = Scope()
"""Everything may be read and changed."""


DRAFT_ATTEMPTS: Final = 5
"""How often a change is drafted anew because a file it needs was saved between our look and our write: each
time somebody else was quicker, so each time the vault has moved on. A caller that stated the content it saw
is refused at the second look instead."""

log = logging.getLogger(__name__)


class _Overtaken(Exception):
    """A draft that another writer has overtaken; nothing was changed."""

    def __init__(self, error: StaleWrite) -> None:
        super().__init__(str(error))
        self.error = error


class FileView(Struct, frozen=True):
    """One file as it is on disk now. `text` may hold lone surrogates: `markdown.text.displayable` before it
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
        trash: Trash,
        scope: Scope = OPEN_SCOPE,
        actor: str = "cli",
        allow_outside_links: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.root = Root(folder, allow_outside_links=allow_outside_links)
        self.scope = LinkedScope(scope, self.root)
        self.actor = actor
        self._passing: TemporaryDirectory[str] | None = None
        self.cache_problem = ""
        """Why there is no lasting cache folder; "" when there is one."""
        self.cache = self._cache(cache)
        self._clock = clock
        self._settings = SettingsReader(self.root)
        self._settings_lock = threading.Lock()
        self._read_cache = ReadCache[Part, Reading](self.root, clock=clock)
        self._changing = threading.RLock()
        self.transactor = Transactor(
            self.root,
            self.cache,
            trash=trash,
            clock=clock,
            refusal=self._write_refusal if self.cache_problem else None,
            approve=lambda path, real: self._files.check_leads(path, real),
        )
        try:
            self.recovered = self._recover()
            self._history = HistoryView(self.transactor.journal, self.scope, self.root)
            self.index_sync = IndexSync(self.root, self.cache, clock=clock)
        except BaseException:
            self.transactor.close()
            raise
        self.ask = Queries(self.root, self.index_sync, scope, lambda: self.settings)
        self._files = Finder(self.root, self.scope, self.ask)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.index_sync.close()
        self.transactor.close()
        if self._passing is not None:
            self._passing.cleanup()

    def _cache(self, base: Path) -> Path:
        """The vault's cache folder, or one that lasts as long as this engine: an index can be built again at
        any time, so reading and searching need no lasting place."""
        try:
            return vault_cache(self.root.folder, base)
        except CacheUnusable as problem:
            from tempfile import TemporaryDirectory

            try:
                self._passing = TemporaryDirectory(prefix="vaultbridge-", ignore_cleanup_errors=True)
            except OSError:
                raise problem from None
            self.cache_problem = problem.message
            log.warning("%s The index is temporary, and nothing can be changed.", problem.message)
            return Path(self._passing.name)

    def _write_refusal(self) -> EngineFailure:
        """A change without a lasting journal could neither be undone nor rolled back after a crash."""
        return EngineFailure(
            f"Nothing can be changed: {self.cache_problem[:1].lower()}{self.cache_problem[1:]} "
            "The journal, which makes changes safe and undoable, has no place.",
            hint=f"Make the cache folder writable, or set {CACHE_VARIABLE} to one that is, and start again.",
        )

    def _recover(self) -> tuple[Recovered, ...]:
        """A vault that cannot be written at present, or whose writer stands still, can be read all the same;
        the next change tries again, and says why when it fails."""
        try:
            return self.transactor.recover()
        except VaultbridgeError as error:
            log.warning("A change that was interrupted could not be rolled back: %s", error)
            return ()

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
        return self._files.find(self.make_vault_relative(name))

    def make_vault_relative(self, text: str) -> str:
        """A path or name as a caller wrote it, from the vault's top when it is an absolute path. Raises
        InvalidPath for one that lies outside the vault."""
        if not is_absolute(text):
            return text
        return make_vault_relative(text, self.root, self.scope.visible)

    def is_folder(self, path: VaultPath) -> bool:
        """What lies behind a link back into the vault, or out of it, is no folder of the vault."""
        try:
            return self.root.exists(path) and self.root.place(path).is_dir()
        except PermissionDenied:
            return False

    def read_bytes(self, path: VaultPath) -> bytes:
        self.scope.check_read(path)
        return read_place(self._files.resolved(path), path, limit=self.scope.max_note_bytes).data

    def view(self, name: str) -> FileView:
        """A note, canvas or base by name, read and parsed."""
        path = self.find(name)
        content = read_place(self._files.resolved(path), path, limit=self.scope.max_note_bytes)
        decoded = decode(content.data)
        note = parse_file(path, decoded.text)
        if decoded.problems:
            note = replace(note, problems=decoded.problems + note.problems)
        return FileView(path, decoded.text, note, content.hash, content.signature.mtime_ns / 1e9)

    def read(self, path: VaultPath, part: Part) -> Reading:
        """A part of a text file. Only parsed when the part needs it."""
        # Before the content, so that no change can fall between.
        before = self._read_cache.stat(path)
        data = self.read_bytes(path)
        text = decode(data).text
        cut = excerpt(text, parse_file(path, text) if needs_structure(part) else Note(), part)
        reading = Reading(path, content_hash(data), cut.total_lines, cut)
        if before is not None:
            self._read_cache.put(path, part, reading, before, size=sys.getsizeof(cut.text))
        return reading

    def read_again(self, name: str, part: Part) -> Reading | None:
        """What `find` and `read` would give for a note named by its exact path, with or without `.md`, if
        this part was read before and the note is unchanged. Never waits: a server may ask in its event loop.
        Raises as `read` does."""
        if not self._read_cache.usable:
            return None
        for path in self._files.spelled(name):
            # The limits may have become narrower since.
            reading = self._read_cache.get(path, part, largest=self.scope.max_note_bytes)
            if reading is not None or self.root.is_stored_as(path):
                # The name means this path, read before or not.
                return reading
        return None

    def _read(self, path: VaultPath) -> bytes:
        """For drafts: hidden notes and large ones too, since links in them follow a rename."""
        with redact(() if self.scope.visible(path) else (path,)):
            place = self._files.resolved(path)
            try:
                return read_place(place, path, limit=NOTE_READ_BYTES, at_rest=True).data
            except NoteBusy as busy:
                content = None if busy.certain else read_place(place, path, limit=NOTE_READ_BYTES)
                # An empty note that we made so ourselves is not half saved.
                if content is None or not self.transactor.journal.wrote_last(path, content.hash):
                    raise
                return content.data

    # Changing.

    def apply(
        self, operations: Sequence[Operation], *, dry_run: bool = False, label: str = "", actor: str = ""
    ) -> Outcome:
        """Carry all operations out as one change, or none of them. With `dry_run` nothing is written and the
        outcome tells what would be. `label` names a change that is one thing to its caller. Raises what the
        first failing operation raises; it is told which, unless there is a label."""

        def attempt() -> Outcome:
            for number in range(1, DRAFT_ATTEMPTS + 1):
                # Once overtaken, not again by another process of ours: only a person's editor does not wait.
                held = self.transactor.exclusive() if number > 1 else nullcontext()
                try:
                    with self._changing, held:
                        return self._apply(operations, dry_run=dry_run, label=label, actor=actor)
                except _Overtaken as overtaken:
                    if number == DRAFT_ATTEMPTS:
                        raise overtaken.error from None
            raise AssertionError  # The last attempt returns or raises.

        return retry_while_busy(attempt)

    def _apply(self, operations: Sequence[Operation], *, dry_run: bool, label: str, actor: str) -> Outcome:
        asked = time.monotonic()
        self.root.check()
        operations = [with_paths(operation, self.make_vault_relative) for operation in operations]
        self.index_sync.ensure_fresh()
        context = self._operation_context()
        # Before the table is taken: in one of half the files every second link would mean nothing.
        if any(operation.needs_index(context) for operation in operations):
            self.index_sync.wait_complete()
        if any(operation.changes_other_files(context) for operation in operations):
            self.index_sync.compare_since(asked)
        existing = None if self.scope.unrestricted else self.ask.existing
        draft = make_draft(
            operations, self._read, self.ask.table(), context, existing=existing, numbered=not label
        )
        steps = draft.steps()
        outcome = describe(draft, steps, self.scope.visible, dry_run=dry_run)
        if dry_run or not steps:
            return outcome
        try:
            with redact([file.path for file in draft.opened() if not self.scope.visible(file.path)]):
                applied = self.transactor.apply(
                    steps, actor=actor or self.actor, label=label or _label(operations)
                )
        except StaleWrite as error:
            raise _Overtaken(error) from error
        self.index_sync.index_written({path for act in applied.acts for path in affected_paths(act)})
        return Outcome(
            files=outcome.files,
            change_id=str(applied.id) if applied.id else "",
            diff=outcome.diff,
            notices=(*outcome.notices, *applied.notices),
        )

    def _operation_context(self) -> OperationContext:
        settings = self.settings
        return OperationContext(
            find=self.find,
            stored=self._files.stored,
            spelled=self.root.match_spelling,
            check_named=self._files.check_named,
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
            found = self._files.on_disk(f"{folder}/{template}")
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

    def history(self, name: str = "", *, limit: int = 20) -> list[HistoryEntry]:
        """The newest changes first; those of one file when `name` is given, which may be gone by now.
        Changes that only concern hidden files do not exist."""
        path: VaultPath | None = None
        if name:
            try:
                path = self.find(name)
            except NoteNotFound:
                path = vault_path(self.make_vault_relative(name))
                # By its name: a link to a hidden file is answered as a name that was never used.
                if not self.scope.names.visible(path):
                    raise
        return self._history.changes(path, limit=limit)

    def diff(self, change_id: int) -> str:
        """A unified diff of one change. Raises InvalidArgument for an unknown one."""
        return self._history.diff(change_id)

    def last_change(self) -> int:
        """The newest change that can still be undone. Raises EditRefused when there is none."""
        return self._history.newest_to_undo()

    def undo(self, change_id: int, *, force: bool = False, actor: str = "") -> Outcome:
        """Undo one change as a whole. Raises EditRefused when a file has changed since, unless `force`."""
        return retry_while_busy(lambda: self._undo(change_id, force=force, actor=actor))

    def _undo(self, change_id: int, *, force: bool, actor: str) -> Outcome:
        with self._changing:
            hidden = self._history.check_undo(change_id, force=force)
            with redact(hidden):
                applied = self.transactor.undo(change_id, actor=actor or self.actor, force=force)
            self.index_sync.index_written({path for act in applied.acts for path in affected_paths(act)})
            return Outcome(
                files=changed_files(applied.acts, self.scope.visible),
                change_id=str(applied.id) if applied.id else "",
                notices=applied.notices,
            )


def _label(operations: Sequence[Operation]) -> str:
    """A few words for the history."""
    words = op_of(operations[0]).replace("_", " ") if operations else "nothing"
    return words if len(operations) == 1 else f"{words} and {len(operations) - 1} more"
