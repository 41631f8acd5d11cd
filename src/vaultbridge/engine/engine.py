"""The object that tools and commands work with: an open vault, to read and to change.

Who has an `Engine` does not know how its changes are made: a `direct.DirectEngine` opens the vault and writes
them itself, a `gates.GatedEngine` stands in front of one and asks its gate. Both read the same parts
(`OpenVault`). `engine.queries` queries the index and `engine.index_sync` keeps it up to date. Everything here
blocks: a server calls it from worker threads, any number at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.activity.records import record_read
from vaultbridge.embeddings.user_model import UserModel
from vaultbridge.engine.drafting.templates import find_template
from vaultbridge.engine.finder import Finder
from vaultbridge.engine.history import History
from vaultbridge.engine.late_index import LateIndex
from vaultbridge.engine.operations.base import Operation, Undo
from vaultbridge.engine.outcome import Outcome
from vaultbridge.engine.plan import Plan, Request
from vaultbridge.engine.reading import FileView, Part, Reading, excerpt, needs_structure, parse_file
from vaultbridge.errors import NoteBusy, PermissionDenied
from vaultbridge.limits import NOTE_READ_BYTES
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.text import decode, describe_encoding
from vaultbridge.vault.absolute import is_absolute, make_vault_relative
from vaultbridge.vault.dates import expand_template
from vaultbridge.vault.folders import StorageFolders
from vaultbridge.vault.paths import VaultFolder, VaultPath
from vaultbridge.vault.read import content_hash, read_place, read_start
from vaultbridge.vault.scope import LinkedScope, redact
from vaultbridge.vault.settings import SettingsReader, VaultSettings
from vaultbridge.vault.spelling import check_spelling
from vaultbridge.vault.write.journal import Journal

if TYPE_CHECKING:
    from vaultbridge.embeddings.embeddings import Embeddings
    from vaultbridge.engine.gates import ChangeGate
    from vaultbridge.engine.index_sync import IndexSync
    from vaultbridge.engine.queries import Queries


class OpenVault(Struct, frozen=True):
    """What the engines of an open vault share."""

    root: VaultFolder
    scope: LinkedScope
    actor: str
    folders: StorageFolders
    journal: Journal
    history: History
    index: LateIndex
    model: UserModel
    files: Finder
    clock: Callable[[], float]
    settings: SettingsReader
    settings_lock: threading.Lock
    make_state_folder: Callable[[], None]
    second_folder: Path | None


class Engine:
    """`actor` is the author that the journal records for changes. The cache folder has what can be made
    again, the state folder what cannot."""

    def __init__(self, vault: OpenVault) -> None:
        self._vault = vault
        self.root = vault.root
        self.scope = vault.scope
        self.actor = vault.actor
        self.cache = vault.folders.cache
        self.state = vault.folders.state
        self.history = vault.history
        self.make_state_folder = vault.make_state_folder
        """Makes the state folder if it is gone. Raises OSError, and VaultNotFound while the vault is."""
        self.second_folder = vault.second_folder
        """Where what was stored is noted a second time (see `StoreNotes`); None if nothing can be stored."""
        self._files = vault.files
        self._journal = vault.journal

    @property
    def name(self) -> str:
        return self.root.name

    @property
    def index_sync(self) -> IndexSync:
        return self._vault.index.sync

    @property
    def queries(self) -> Queries:
        return self._vault.index.queries

    @property
    def folder_problem(self) -> str:
        """Why the cache folder or the state folder is not permanent; "" if both are."""
        return self._vault.folders.problem

    @property
    def settings(self) -> VaultSettings:
        """Obsidian's settings as they are now."""
        with self._vault.settings_lock:
            return self._vault.settings.current()

    @property
    def embeddings(self) -> Embeddings | None:
        """The vault's passages by meaning; None unless the user has configured a model."""
        return self._vault.model.embeddings

    def now(self) -> datetime:
        return datetime.fromtimestamp(self._vault.clock())

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
        data = self.read_bytes(path)
        text = decode(data).text
        cut = excerpt(text, parse_file(path, text) if needs_structure(part) else Note(), part)
        return Reading(path, content_hash(data), cut.total_lines, cut, describe_encoding(data))

    def _read(self, path: VaultPath) -> bytes:
        """For drafts: reads hidden notes and large ones too, because their links must follow a move."""
        with redact(() if self.scope.visible(path) else (path,)):
            place = self._files.resolve(path)
            try:
                return read_place(place, path, limit=NOTE_READ_BYTES, not_busy=True).data
            except NoteBusy as busy:
                content = None if busy.certain else read_place(place, path, limit=NOTE_READ_BYTES)
                # A note that we emptied ourselves is not half saved.
                if content is None or not self._journal.wrote_last(path, content.hash):
                    raise
                return content.data

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

    # Changing.

    def plan(
        self,
        operations: Sequence[Operation],
        *,
        label: str = "",
        author: str = "",
        by_person: bool = False,
    ) -> Plan:
        """What these operations would do as one change, or not at all; nothing is written. See `Request`.
        Raises what the first failing operation raises, and without a label says which one failed."""
        return self._plan(Request(tuple(operations), label, author, by_person), "")

    def apply(
        self,
        operations: Sequence[Operation],
        *,
        dry_run: bool = False,
        label: str = "",
        actor: str = "",
        by_person: bool = False,
    ) -> Outcome:
        """Plans a change and has it made; with `dry_run` the outcome says what would change. `actor` is a
        name for people. Raises what `plan` raises."""
        request = Request(tuple(operations), label, by_person=by_person)
        return self._plan(request, actor).outcome if dry_run else self._change(request, actor)

    def _plan(self, request: Request, actor: str) -> Plan:
        raise NotImplementedError

    def _change(self, request: Request, actor: str) -> Outcome:
        raise NotImplementedError

    def undo(self, change_id: int, *, force: bool = False, actor: str = "", dry_run: bool = False) -> Outcome:
        """Undoes one change as a whole; with `dry_run` only says what that would do. Raises EditRefused when
        a file has changed since, unless `force`."""
        return self.apply([Undo(change=change_id, force=force)], actor=actor, dry_run=dry_run)

    def newest_to_undo(self, actor: str = "") -> int:
        """The change that an undo without a number means: for a person the newest that has not been undone,
        for an assistant (with a gate) the newest of its own. Raises EditRefused when there is none."""
        raise NotImplementedError

    def with_gate(self, gate: ChangeGate) -> Engine:
        """An engine of the same open vault whose changes `gate` decides on. One that has a gate keeps it."""
        raise NotImplementedError

    @property
    def for_reading(self) -> Engine:
        """An engine of the same open vault that changes nothing: for what is meant only to read."""
        raise NotImplementedError
