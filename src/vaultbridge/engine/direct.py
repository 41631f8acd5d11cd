"""Opens a vault, and makes the changes to it: a plan is drafted, and carried out as one transaction.

A plan is drafted without the writer's lock, because reading takes longer than writing. If another writer was
faster, it is outdated when it should be carried out, and drafted again (`DirectEngine.with_plan`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, TypeVar

from vaultbridge.activity.records import record_change
from vaultbridge.embeddings.user_model import UserModel
from vaultbridge.engine.engine import Engine, OpenVault
from vaultbridge.engine.finder import Finder
from vaultbridge.engine.gates import NO_CHANGES, GatedEngine
from vaultbridge.engine.history import History
from vaultbridge.engine.late_index import LateIndex
from vaultbridge.engine.operations.vocabulary import find_undo, label_operations
from vaultbridge.engine.outcome import Outcome
from vaultbridge.engine.plan import DraftedPlan, Plan, PlanOutdated, Request
from vaultbridge.engine.undoing import UndoPlan
from vaultbridge.errors import (
    StaleWrite,
    VaultbridgeError,
    VaultNotFound,
)
from vaultbridge.vault.folders import Bases, StorageFolders, make_bases
from vaultbridge.vault.paths import VaultFolder, VaultPath
from vaultbridge.vault.read import retry_while_busy
from vaultbridge.vault.scope import HiddenNoteInUse, LinkedScope, Scope, redact
from vaultbridge.vault.settings import SettingsReader
from vaultbridge.vault.write.journal_rows import Acceptance
from vaultbridge.vault.write.steps import affected_paths
from vaultbridge.vault.write.transaction import Applied, Overtaken, Recovered, Transactor, ignore_checkpoint
from vaultbridge.vault.write.trash import Trash

if TYPE_CHECKING:
    from vaultbridge.embeddings.settings import EmbeddingSettings
    from vaultbridge.engine.gates import ChangeGate

OPEN_SCOPE = Scope()
"""Everything may be read and changed."""

DRAFT_ATTEMPTS: Final = 5
"""How often a change is drafted if a file that it needs is saved between our read and our write. If the
caller gave the hash it saw, the second attempt is refused instead."""

log = logging.getLogger(__name__)

T = TypeVar("T")


class DirectEngine(Engine):
    """Open with `DirectEngine(...)`, close with `close()` or `with`. `cache` and `state` are the folders of
    all vaults (see `make_bases`). With `accept` the folder as it is now is taken for the vault, even if it
    was another one."""

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
        root = VaultFolder(folder, allow_outside_links=allow_outside_links)
        linked = LinkedScope(scope, root)
        bases = Bases(cache, state) if state else make_bases(cache)
        self._folders = folders = StorageFolders(root.folder, bases)
        self._changing = threading.RLock()
        self.transactor = Transactor(
            root,
            folders.state,
            trash=trash,
            second=folders.cache if folders.can_change else None,
            clock=clock,
            checkpoint=checkpoint,
            refusal=None if folders.can_change else folders.make_refusal,
            approve=lambda path, real: self._files.check_leads(path, real),
        )
        journal = self.transactor.journal
        try:
            self._remember_vault(root, accept=accept)
            self.recovered = self._recover()
            history = History(
                journal, linked, root, find=self.find, make_vault_relative=self.make_vault_relative
            )
        except BaseException:
            self.transactor.close()
            folders.close()
            raise
        self._model = UserModel(
            embeddings,
            folders.cache,
            index=lambda: self.index_sync.index,
            shown=lambda: self.queries.shown_in_views(),
            unknown=lambda: self.settings.exclusions_unknown,
        )
        self._index = LateIndex(
            root,
            folders,
            journal,
            scope,
            settings=lambda: self.settings,
            clock=clock,
            checkpoint=checkpoint,
            returned=self._recover,
            model=lambda: self._model,
            dictionaries=dictionaries,
        )
        self.vault = OpenVault(
            root=root,
            scope=linked,
            actor=actor,
            folders=folders,
            journal=journal,
            history=history,
            index=self._index,
            model=self._model,
            files=Finder(root, linked, lambda: self.queries),
            clock=clock,
            settings=SettingsReader(root),
            settings_lock=threading.Lock(),
            make_state_folder=self.transactor.make_folder,
            second_folder=self.transactor.second,
        )
        super().__init__(self.vault)
        self.journal = journal

    def __enter__(self) -> DirectEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._model.close()
        self._index.close()
        self.transactor.close()
        self._folders.close()

    def _remember_vault(self, root: VaultFolder, *, accept: bool) -> None:
        """Raises `VaultNotFound` if the folder is not the vault that it was, as while a disk is not mounted:
        then nothing is recovered, indexed or written."""
        if self._folders.can_change:
            root.identity.keep(self._folders.state, accept=accept)
        try:
            root.check()
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

    def start_embeddings(self) -> None:
        """Called by a server that keeps running: sends notes to the user's model from now on, if there is
        one. Returns at once."""
        if (embeddings := self.embeddings) is not None:
            self.index_sync.listen(embeddings.start())

    # Changing.

    def with_gate(self, gate: ChangeGate) -> Engine:
        return GatedEngine(self, gate)

    @cached_property
    def for_reading(self) -> Engine:
        return GatedEngine(self, NO_CHANGES)

    def newest_to_undo(self, actor: str = "") -> int:
        return self.history.newest_to_undo(None)

    def _plan(self, request: Request, actor: str) -> Plan:
        return self.with_plan(request, lambda plan: plan)

    def _change(self, request: Request, actor: str) -> Outcome:
        return self.with_plan(request, lambda plan: self.carry_out(plan, actor=actor))

    def with_plan(self, request: Request, work: Callable[[Plan], T]) -> T:
        """Plans the request and calls `work` with the plan, and again with a new plan if `work` raises
        `PlanOutdated`. After the first time other vaultbridge processes are locked out; only a person's
        editor does not wait."""

        def make_attempts() -> T:
            for number in range(1, DRAFT_ATTEMPTS + 1):
                held = self.transactor.exclusive() if number > 1 else nullcontext()
                try:
                    with self._changing, self.index_sync.during_edit(), held:
                        return work(self._make_plan(request))
                except PlanOutdated as outdated:
                    if number == DRAFT_ATTEMPTS:
                        raise outdated.error from None
            raise AssertionError  # The last attempt returns or raises.

        return retry_while_busy(make_attempts)

    def carry_out(self, plan: Plan, *, actor: str = "", acceptance: Acceptance | None = None) -> Outcome:
        """Makes the change exactly as planned. Raises `PlanOutdated` if the vault has changed in what the
        plan was made from; `with_plan` then plans it again. `acceptance` is recorded with it."""
        if plan.is_empty:
            return Outcome(plan.changed, notices=plan.notices)
        with self._changing, self.index_sync.during_edit():
            try:
                match plan:
                    case DraftedPlan():
                        applied = self._write(plan, actor or self.actor, acceptance)
                    case UndoPlan():
                        applied = self._undo(plan, actor or self.actor, acceptance)
                    case _:
                        raise AssertionError(plan)
            except Overtaken as error:
                raise PlanOutdated(error) from error
            self._index_written(applied)
        record_change(self.root.folder, applied.id, plan.changed)
        return Outcome(
            plan.changed,
            change_id=str(applied.id) if applied.id else "",
            notices=tuple(dict.fromkeys((*plan.notices, *applied.notices))),
        )

    def _write(self, plan: DraftedPlan, actor: str, acceptance: Acceptance | None) -> Applied:
        request = plan.request
        try:
            with redact(plan.hidden):
                return self.transactor.apply(
                    plan.steps,
                    actor=actor,
                    author=request.author,
                    label=request.label or label_operations(request.operations),
                    drafted_after=plan.drafted_after,
                    acceptance=acceptance,
                )
        except (StaleWrite, HiddenNoteInUse) as error:
            if isinstance(error, HiddenNoteInUse) and error.busy:
                raise
            raise PlanOutdated(error) from error

    def _undo(self, plan: UndoPlan, actor: str, acceptance: Acceptance | None) -> Applied:
        """Raises `Overtaken` if it would do something else now, and EditRefused as when it is planned."""
        with redact(plan.hidden):
            return self.transactor.undo(
                plan.undo.change,
                actor=actor,
                author=plan.request.author,
                force=plan.undo.force,
                hidden=plan.hidden,
                planned=plan.planned,
                acceptance=acceptance,
            )

    def _make_plan(self, request: Request) -> Plan:
        undo = find_undo(request.operations)
        return self._draft(request) if undo is None else UndoPlan(self, request, undo)

    def _draft(self, request: Request) -> DraftedPlan:
        # A command that only reads need not wait for this.
        from vaultbridge.engine.drafting.planning import draft_plan

        return draft_plan(self, request, read=self._read, files=self._files)

    def _index_written(self, applied: Applied) -> None:
        written = {path for act in applied.acts for path in affected_paths(act)}
        self.index_sync.index_written(written, applied.id)

    def record(
        self,
        path: VaultPath,
        before: bytes | None,
        after: bytes,
        *,
        actor: str,
        label: str,
        acceptance: Acceptance | None = None,
    ) -> str:
        """Records in the history what another program has written, so that it is shown and can be undone.
        Returns the change's id; "" if the file no longer contains it, or it is already recorded."""
        with self._changing, self.index_sync.during_edit():
            number = self.transactor.record(
                path, before, after, actor=actor, label=label, acceptance=acceptance
            )
            if number:
                self.index_sync.index_written({path})
            return str(number) if number else ""
