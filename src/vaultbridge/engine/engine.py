"""The object that tools and commands work with: an open vault.

It connects the parts: names become paths, scopes are checked, a draft is committed as one transaction, and
the index is updated before the next query. `engine.queries` queries the index and `engine.index_sync` keeps
it up to date. Everything here but `read_again` blocks: a server calls it from worker threads, any number at
once.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import copy
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from vaultbridge.activity.records import record_change, record_read
from vaultbridge.embeddings.own_model import OwnModel
from vaultbridge.engine.drafting.move import LinkSources
from vaultbridge.engine.drafting.naming import OperationContext
from vaultbridge.engine.drafting.operate import make_draft
from vaultbridge.engine.drafting.templates import find_template
from vaultbridge.engine.finder import Finder
from vaultbridge.engine.gates import NoChanges, refuse_unreviewed
from vaultbridge.engine.history import History
from vaultbridge.engine.index_sync import IndexSync
from vaultbridge.engine.operation_base import Operation, Undo
from vaultbridge.engine.outcome import Outcome, describe, describe_plan
from vaultbridge.engine.queries import Queries
from vaultbridge.engine.reading import FileView, Part, Reading, excerpt, needs_structure, parse_file
from vaultbridge.engine.undoing import find_undo, undo_change
from vaultbridge.engine.vocabulary import label_operations, with_paths
from vaultbridge.errors import (
    EngineFailure,
    NoteBusy,
    NoteNotFound,
    PermissionDenied,
    StaleWrite,
    VaultbridgeError,
    VaultNotFound,
)
from vaultbridge.limits import NOTE_READ_BYTES
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.text import decode, describe_encoding
from vaultbridge.vault.absolute import is_absolute, make_vault_relative
from vaultbridge.vault.dates import expand_template
from vaultbridge.vault.folders import Bases, VaultFolders, make_bases
from vaultbridge.vault.paths import Root, VaultPath
from vaultbridge.vault.read import content_hash, is_empty_file, read_place, read_start, retry_while_busy
from vaultbridge.vault.read_cache import ReadCache
from vaultbridge.vault.scope import HiddenNoteInUse, LinkedScope, Scope, redact
from vaultbridge.vault.settings import SettingsReader, VaultSettings
from vaultbridge.vault.spelling import check_spelling
from vaultbridge.vault.write.steps import affected_paths
from vaultbridge.vault.write.transaction import Applied, Overtaken, Recovered, Transactor, ignore_checkpoint
from vaultbridge.vault.write.trash import Trash

if TYPE_CHECKING:
    from vaultbridge.embeddings.embeddings import Embeddings
    from vaultbridge.embeddings.settings import EmbeddingSettings
    from vaultbridge.engine.gates import ChangeGate
    from vaultbridge.engine.outcome import Planned
    from vaultbridge.engine.related.find import RelatedSearch

OPEN_SCOPE = Scope()
"""Everything may be read and changed."""


DRAFT_ATTEMPTS: Final = 5
"""How often a change is drafted if a file that it needs is saved between our read and our write. If the
caller gave the hash it saw, the second attempt is refused instead."""

TASKS_FOUND: Final = 1000
"""The most tasks with a given text that are compared to find the right one: a daily checklist repeats its
tasks for years."""

log = logging.getLogger(__name__)


class _DraftOutdated(Exception):
    """Another writer changed the vault first; nothing was written."""

    def __init__(self, error: StaleWrite | Overtaken | HiddenNoteInUse) -> None:
        super().__init__(str(error))
        self.error = error


class Engine:
    """Open with `Engine(...)`, close with `close()` or `with`. `cache` and `state` are the folders of all
    vaults (see `make_bases`). `actor` is the author that the journal records for changes. With `accept` the
    folder as it is now is taken for the vault, even if it was another one."""

    def __init__(
        self,
        folder: Path | str,
        *,
        cache: Path,
        state: Path | None = None,
        trash: Trash,
        scope: Scope = OPEN_SCOPE,
        actor: str = "cli",
        allow_outside_links: bool = False,
        embeddings: EmbeddingSettings | None = None,
        dictionaries: tuple[Path, ...] = (),
        accept: bool = False,
        clock: Callable[[], float] = time.time,
        checkpoint: Callable[[str], None] = ignore_checkpoint,
    ) -> None:
        self.root = Root(folder, allow_outside_links=allow_outside_links)
        self.scope = LinkedScope(scope, self.root)
        self.actor = actor
        self._gate: ChangeGate | None = None
        self._ungated = self
        self._for_reading: Engine | None = None
        self._folders = VaultFolders(self.root.folder, Bases(cache, state) if state else make_bases(cache))
        self.cache = self._folders.cache
        self.state = self._folders.state
        self._clock = clock
        self._settings = SettingsReader(self.root)
        self._settings_lock = threading.Lock()
        self._read_cache = ReadCache[Part, Reading](self.root, clock=clock)
        self._changing = threading.RLock()
        self.transactor = Transactor(
            self.root,
            self.state,
            trash=trash,
            second=self.cache if self._folders.can_change else None,
            clock=clock,
            checkpoint=checkpoint,
            refusal=None if self._folders.can_change else self._folders.make_refusal,
            approve=lambda path, real: self._files.check_leads(path, real),
        )
        try:
            self._remember_vault(accept=accept)
            self.recovered = self._recover()
            self.history = History(
                self.transactor.journal,
                self.scope,
                self.root,
                find=self.find,
                make_vault_relative=self.make_vault_relative,
            )
            self.index_sync = IndexSync(
                self.root,
                self.cache,
                self.transactor.journal,
                settings=lambda: self.settings,
                clock=clock,
                checkpoint=checkpoint,
                returned=self._recover,
            )
        except BaseException:
            self.transactor.close()
            self._folders.close()
            raise
        self._model = OwnModel(
            embeddings,
            self.cache,
            index=lambda: self.index_sync.index,
            shown=lambda: self.queries.shown_in_views(),
            unknown=lambda: self.settings.exclusions_unknown,
        )
        self.queries = Queries(
            self.root, self.index_sync, scope, lambda: self.settings, self._model.view, dictionaries
        )
        self._files = Finder(self.root, self.scope, self.queries)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._model.close()
        self.index_sync.close()
        self.transactor.close()
        self._folders.close()

    def _remember_vault(self, *, accept: bool) -> None:
        """Raises `VaultNotFound` if the folder is not the vault that it was, as while a disk is not mounted:
        then nothing is recovered, indexed or written."""
        if self._folders.can_change:
            self.root.identity.keep(self.state, accept=accept)
        try:
            self.root.check()
        except VaultNotFound as absent:
            absent.message = self.transactor.describe_absence(absent)
            raise

    def _recover(self) -> tuple[Recovered, ...]:
        """A vault that cannot be written now, or whose writer hangs, can still be read; the next change tries
        again and reports why if it fails."""
        try:
            return self.transactor.recover()
        except VaultbridgeError as error:
            log.warning("A change that was interrupted could not be rolled back: %s", error)
            return ()

    @property
    def name(self) -> str:
        return self.root.name

    @property
    def folder_problem(self) -> str:
        """Why the cache folder or the state folder is not permanent; "" if both are."""
        return self._folders.problem

    @property
    def settings(self) -> VaultSettings:
        """Obsidian's settings as they are now."""
        with self._settings_lock:
            return self._settings.current()

    @property
    def embeddings(self) -> Embeddings | None:
        """The vault's passages by meaning; None unless the user has configured a model."""
        return self._model.embeddings

    def start_embeddings(self) -> None:
        """Called by a server that keeps running: sends notes to the user's model from now on, if there is
        one. Returns at once."""
        if (embeddings := self.embeddings) is not None:
            self.index_sync.listen(embeddings.start())

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._clock())

    # Reading.

    def find(self, name: str) -> VaultPath:
        """Finds the existing file that a person or an assistant names: by an exact path, a path without
        `.md`, a name as in a wikilink, or an alias, in any case or Unicode form. Raises NoteNotFound with the
        closest names, or AmbiguousName with the candidates."""
        return self._files.find(self.make_vault_relative(name))

    def make_vault_relative(self, text: str) -> str:
        """Turns an absolute path into one from the vault's top; leaves any other path or name as it is.
        Raises InvalidPath for a path outside the vault, and for one that spells a file which is left out
        because another one beside it has the same name in another Unicode form."""
        check_spelling(text, self.root, self.scope.visible)
        return make_vault_relative(text, self.root, self.scope.visible) if is_absolute(text) else text

    def is_folder(self, path: VaultPath) -> bool:
        """Whether this is a folder in which something may be visible. A link that leads out of the vault, or
        back into it, is not a folder of the vault."""
        if not self.scope.may_contain(path):
            return False
        try:
            return self.root.exists(path) and self.root.place(path).is_dir()
        except PermissionDenied:
            return False

    def read_bytes(self, path: VaultPath) -> bytes:
        self.root.check()
        self.scope.check_read(path)
        data = read_place(self._files.resolve(path), path, limit=self.scope.max_note_bytes).data
        record_read(self.root.folder, path)
        return data

    def read_start(self, path: VaultPath, count: int) -> bytes:
        """The first bytes of a file; fewer, or none, when it cannot be read."""
        self.scope.check_read(path)
        try:
            return read_start(self._files.resolve(path), count)
        except OSError:
            return b""

    def view(self, name: str, *, parsed: bool = True) -> FileView:
        """Reads a note, canvas or base by name, and parses it unless the caller needs only its text."""
        self.root.check()
        path = self.find(name)
        content = read_place(self._files.resolve(path), path, limit=self.scope.max_note_bytes)
        record_read(self.root.folder, path)
        decoded = decode(content.data)
        note = parse_file(path, decoded.text) if parsed else Note()
        if decoded.problems:
            note = replace(note, problems=decoded.problems + note.problems)
        return FileView(path, decoded.text, note, content.hash, content.signature.mtime_ns / 1e9)

    def read(self, path: VaultPath, part: Part) -> Reading:
        """Reads a part of a text file. The file is parsed only when the part needs it."""
        # Before the content, so that no change goes unnoticed.
        before = self._read_cache.stat(path)
        data = self.read_bytes(path)
        text = decode(data).text
        cut = excerpt(text, parse_file(path, text) if needs_structure(part) else Note(), part)
        reading = Reading(path, content_hash(data), cut.total_lines, cut, describe_encoding(data))
        if before is not None:
            self._read_cache.put(path, part, reading, before, size=sys.getsizeof(cut.text))
        return reading

    def read_again(self, name: str, part: Part) -> Reading | None:
        """What `find` and `read` would give for a note named by its exact path, with or without `.md`, if
        this part was read before and the note is unchanged. Never waits: a server may call it in its event
        loop. Raises as `read` does."""
        if not self._read_cache.usable:
            return None
        for path in self._files.list_spellings(name):
            # The limits may have become narrower since.
            reading = self._read_cache.get(path, part, largest=self.scope.max_note_bytes)
            if reading is not None:
                record_read(self.root.folder, path)
            if reading is not None or self.root.is_stored_as(path):
                # The name means this path, read before or not.
                return reading
        return None

    def _read(self, path: VaultPath) -> bytes:
        """For drafts: reads hidden notes and large ones too, because their links must follow a move."""
        with redact(() if self.scope.visible(path) else (path,)):
            place = self._files.resolve(path)
            try:
                return read_place(place, path, limit=NOTE_READ_BYTES, not_busy=True).data
            except NoteBusy as busy:
                content = None if busy.certain else read_place(place, path, limit=NOTE_READ_BYTES)
                # A note that we emptied ourselves is not half saved.
                if content is None or not self.transactor.journal.wrote_last(path, content.hash):
                    raise
                return content.data

    def _check_settled(self, path: VaultPath) -> None:
        """For a file that goes to the trash unread: if another program has just emptied it to save it, the
        trash would get neither its old text nor the new one. Raises `NoteBusy`."""
        # A file that cannot be read can still be deleted.
        with suppress(EngineFailure, NoteNotFound, PermissionDenied):
            if is_empty_file(self.root.place(path)):
                self._read(path)

    # Changing.

    def with_gate(self, gate: ChangeGate) -> Engine:
        """The same open vault, except that `gate` decides on every change but a dry run. Nothing else in it
        can change a file: its own writer refuses."""
        engine = copy(self)
        engine._gate = gate
        engine._ungated = self
        engine.transactor = self.transactor.refusing(refuse_unreviewed)
        return engine

    @property
    def for_reading(self) -> Engine:
        """The same open vault, in which nothing can be changed: for what is meant only to read."""
        if self._for_reading is None:
            self._for_reading = self.with_gate(NoChanges())
        return self._for_reading

    def apply(
        self,
        operations: Sequence[Operation],
        *,
        dry_run: bool = False,
        label: str = "",
        actor: str = "",
        author: str = "",
        check: Callable[[Planned], None] | None = None,
        by_person: bool = False,
    ) -> Outcome:
        """Carries out all operations as one change, or none of them. With `dry_run` nothing is written and
        the outcome says what would change. `label` names a change that is one thing to its caller. `actor` is
        a name for people, `author` identifies an assistant (see `JournalEntry`). `check` is called with what
        is about to be written; nothing is written when it raises. `by_person` says that a person wrote the
        text or has decided on it: properties in it need not be readable. Raises what the first failing
        operation raises, and without a label says which one failed."""
        if self._gate is not None:
            if dry_run:
                return self._ungated.apply(operations, dry_run=True, label=label, actor=actor)
            return self._gate(self._ungated, operations, label=label, actor=actor)
        asked: dict[str, Any] = {"dry_run": dry_run, "actor": actor, "author": author, "check": check}
        undo = find_undo(operations)
        attempt: Callable[[], Outcome] = (
            partial(self._apply, operations, label=label, by_person=by_person, **asked)
            if undo is None
            else partial(undo_change, self, undo, index_written=self._index_written, **asked)
        )

        def make_attempts() -> Outcome:
            for number in range(1, DRAFT_ATTEMPTS + 1):
                # After the first attempt we lock out other vaultbridge processes; only a person's editor does
                # not wait.
                held = self.transactor.exclusive() if number > 1 else nullcontext()
                try:
                    with self._changing, self.index_sync.during_edit(), held:
                        return attempt()
                except _DraftOutdated as outdated:
                    if number == DRAFT_ATTEMPTS:
                        raise outdated.error from None
            raise AssertionError  # The last attempt returns or raises.

        return retry_while_busy(make_attempts)

    def _apply(
        self,
        operations: Sequence[Operation],
        *,
        dry_run: bool,
        label: str,
        actor: str,
        author: str,
        check: Callable[[Planned], None] | None,
        by_person: bool,
    ) -> Outcome:
        asked = time.monotonic()
        self.root.check()
        operations = [with_paths(operation, self.make_vault_relative) for operation in operations]
        context = self._operation_context()
        # A change by another process from here on may alter what the links of the draft lead to.
        drafted_after: int | None = None
        # This comes before the table is read: in an incomplete table, many links would be unresolved.
        if any(operation.needs_index(context) for operation in operations):
            drafted_after = self.transactor.journal.last_finished()
            context.sources.index()
        if any(operation.changes_other_files(context) for operation in operations):
            self.index_sync.compare_since(asked)
        queries, sources = self.queries, context.sources
        existing = None if self.scope.unrestricted else lambda: queries.existence_filter(sources.known)
        draft = make_draft(
            operations,
            self._read,
            lambda: queries.table(sources.known),
            context,
            existing=existing,
            numbered=not label,
            by_person=by_person,
        )
        steps = draft.steps()
        outcome = describe(draft, steps, self.scope.visible, dry_run=dry_run)
        if dry_run or not steps:
            return outcome
        if check is not None:
            table, visible = queries.table(sources.known), self.scope.visible
            check(describe_plan(draft, steps, outcome, table=table, visible=visible, read=self._read))
        try:
            with redact([file.path for file in draft.opened_files() if not self.scope.visible(file.path)]):
                applied = self.transactor.apply(
                    steps,
                    actor=actor or self.actor,
                    author=author,
                    label=label or label_operations(operations),
                    drafted_after=drafted_after,
                )
        except (StaleWrite, Overtaken, HiddenNoteInUse) as error:
            if isinstance(error, HiddenNoteInUse) and error.busy:
                raise
            raise _DraftOutdated(error) from error
        self._index_written(applied)
        record_change(self.root.folder, applied.id, outcome.files)
        return Outcome(
            files=outcome.files,
            change_id=str(applied.id) if applied.id else "",
            notices=(*outcome.notices, *applied.notices),
        )

    def _index_written(self, applied: Applied) -> None:
        written = {path for act in applied.acts for path in affected_paths(act)}
        self.index_sync.index_written(written, applied.id)

    def _operation_context(self) -> OperationContext:
        settings = self.settings
        return OperationContext(
            find=self.find,
            find_exact=self._files.find_exact,
            find_stored_path=self._files.find_stored_path,
            match_spelling=self.root.match_spelling,
            check_named=self._files.check_named,
            check_settled=self._check_settled,
            is_folder=self.is_folder,
            expand=self.expand,
            notes_with_tag=self.queries.notes_with_tag,
            find_tasks=lambda text: self.queries.tasks(text=text, limit=TASKS_FOUND).tasks,
            open_related=self._open_related,
            sources=LinkSources(self.root, self.index_sync),
            settings=settings,
            scope=self.scope,
        )

    def _open_related(self) -> AbstractContextManager[RelatedSearch]:
        from vaultbridge.engine.related.find import RelatedSearch

        return RelatedSearch.open(self)

    def expand(self, template: str, title: str, *, when: datetime | None = None) -> str:
        """Expands a template, found by `find_template`, for a new note with this title."""
        settings = self.settings
        return expand_template(
            decode(self._read(find_template(self, template))).text,
            title=title,
            now=when or self.now(),
            date_format=settings.template_date_format,
            time_format=settings.template_time_format,
        )

    # Past changes; `history` lists them.

    def record(self, path: VaultPath, before: bytes | None, after: bytes, *, actor: str, label: str) -> str:
        """Records in the history what another program has written, so that it is shown and can be undone.
        Returns the change's id; "" if the file no longer contains it, or it is already recorded."""
        with self._changing, self.index_sync.during_edit():
            number = self.transactor.record(path, before, after, actor=actor, label=label)
            if number:
                self.index_sync.index_written({path})
            return str(number) if number else ""

    def undo(self, change_id: int, *, force: bool = False, actor: str = "", dry_run: bool = False) -> Outcome:
        """Undoes one change as a whole; with `dry_run` only says what that would do. Raises EditRefused when
        a file has changed since, unless `force`."""
        return self.apply([Undo(change=change_id, force=force)], actor=actor, dry_run=dry_run)

    def newest_to_undo(self, actor: str = "") -> int:
        """The change that an undo without a number means: for a person the newest that has not been undone,
        for an assistant (with a gate) the newest of its own. Raises EditRefused when there is none."""
        return self.history.newest_to_undo(None if self._gate is None else self._gate.author(self, actor))
