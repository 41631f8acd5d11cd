"""Makes changes to the vault, all or nothing: recorded first, then made, and undone on request.

The order is: take the writer's lock, check every expectation (`plan.py`), record the plan with all content
(`journal.py`), stage the new files, record that too, check and swap each file (`execute.py`), make the
folders durable, record the end. A process that is killed anywhere leaves a pending record; the next writer
rolls it back (`recovery.py`) before it does anything else. Every change to a vault's files goes through here.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from vaultbridge.errors import (
    EditRefused,
    EngineFailure,
    NoteNotFound,
    StaleWrite,
    VaultbridgeError,
    VaultNotFound,
)
from vaultbridge.markdown.edits.merge import revert_change
from vaultbridge.vault.identity.adopt import adopt_moved
from vaultbridge.vault.locking import WRITER_SECONDS, FileLock
from vaultbridge.vault.paths import CONFIRM, VaultFolder, VaultPath
from vaultbridge.vault.read import content_hash, read_place
from vaultbridge.vault.write.authorship import check_later_text
from vaultbridge.vault.write.execute import Execution, SavedMeanwhile
from vaultbridge.vault.write.journal import Journal, make_image
from vaultbridge.vault.write.journal_rows import Acceptance, JournalEntry
from vaultbridge.vault.write.plan import Approve, NameTaken, WritePlan
from vaultbridge.vault.write.recovery import find_last_done, has_happened, invert, leaves_trace, roll_back
from vaultbridge.vault.write.replace import to_vault_error
from vaultbridge.vault.write.steps import Act, Removed, Step, WriteFile, Written, affected_paths, find_effect
from vaultbridge.vault.write.trash import Trash

OUTSIDE_ACTOR: Final = "another program"
OUTSIDE_LABEL: Final = "saved during a change"
"""The label in the history for a save by another program that collided with one of our changes."""


FORCE_OWN_HINT: Final = (
    "force undoes it only if nobody but you has changed it since. Otherwise a person can undo it, on the "
    "page or with `vaultbridge undo`."
)
"""What an assistant can do when a file has changed since the change that it wants to undo."""


class Applied(Struct, frozen=True):
    """A finished transaction. `undo` takes its `id`, which is 0 when nothing had to change. `notices` are for
    the person, for example that a different trash was used than the one in the settings."""

    id: int
    acts: tuple[Act, ...] = ()
    notices: tuple[str, ...] = ()


class Overtaken(EditRefused):
    """Another process changed the vault after a change was drafted and before it was made, so the draft may
    have missed names and links."""

    def __init__(self) -> None:
        super().__init__(
            "Another program changed the vault meanwhile; nothing was changed.", hint="Try again.", paths=()
        )


class Recovered(Struct, frozen=True):
    """A transaction that a dead process left unfinished and that was rolled back. `kept` are the files that
    someone had changed since; they stayed as they are."""

    id: int
    label: str
    kept: tuple[str, ...]


class PlannedUndo(Struct, frozen=True):
    """What undoing a change would do. `acts` and `notices` are as in `Applied`."""

    number: int
    label: str
    plan: WritePlan

    @property
    def acts(self) -> tuple[Act, ...]:
        return tuple(self.plan.acts)

    @property
    def notices(self) -> tuple[str, ...]:
        return tuple(self.plan.notices)


def ignore_checkpoint(_: str) -> None:
    """The `checkpoint` in ordinary operation. A test passes in its own. It is called with the name of each
    point that is reached, and may stop there or do something at that moment."""


class Transactor:
    """The writer of one vault. `folder` is the vault's state folder, `second` another one that notes the last
    change's number (see `StoreNotes`). `checkpoint`: see `ignore_checkpoint`.
    With a `refusal` nothing is ever changed; the error that it returns is raised instead."""

    def __init__(
        self,
        root: VaultFolder,
        folder: Path,
        *,
        trash: Trash,
        second: Path | None = None,
        clock: Callable[[], float] = time.time,
        checkpoint: Callable[[str], None] = ignore_checkpoint,
        wait: float = WRITER_SECONDS,
        refusal: Callable[[], VaultbridgeError] | None = None,
        approve: Approve | None = None,
    ) -> None:
        self.root = root
        self._refusal = refusal
        self._folder = folder
        self.second = second
        self.journal = Journal(folder, hold=self._hold_lock_file, make_folder=self.make_folder, second=second)
        self._trash = trash
        self._clock = clock
        self._checkpoint = checkpoint
        self._wait = wait
        self._approve = approve
        self._waiting = ""
        """Why an interrupted change could not be undone when that was last tried."""
        self._holder = 0
        """The thread that holds the writer's lock; 0 when there is none."""

    def close(self) -> None:
        self.journal.close()

    def make_folder(self) -> None:
        """Makes the state folder if it is gone. That of a vault that was moved went with it, and comes back
        with it: an empty one would be in its way. Raises OSError, and `VaultNotFound` while the vault is not
        there."""
        if not self._folder.is_dir():
            self.root.check()
            adopt_moved(self.root.folder, self._folder)
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @property
    def is_interrupted(self) -> bool:
        """Whether a dead process has left a change unfinished, or a living one is making one now."""
        try:
            return bool(self.journal.pending())
        except VaultbridgeError:
            return False

    def find_problem(self) -> str:
        """Why the vault cannot be changed now, for people: it is missing, or a change that was interrupted
        cannot be undone yet. "" if neither is so."""
        try:
            self.root.check()
        except VaultNotFound as absent:
            return self.describe_absence(absent)
        if problem := self.journal.find_problem():
            return problem
        return self._waiting if self._waiting and self.is_interrupted else ""

    def describe_absence(self, absent: VaultNotFound) -> str:
        """What is wrong, and whether a change waits for the vault."""
        waits = " A change that was interrupted waits for it." if self.is_interrupted else ""
        return absent.message + waits

    def recover(self) -> tuple[Recovered, ...]:
        """Rolls back what dead processes left unfinished. Call it when a vault is opened; every transaction
        does it too. Waits for another writer only when there is something to recover."""
        if not self.journal.pending():
            with contextlib.suppress(VaultbridgeError):
                self.journal.place_in(self.root.folder)
            return ()
        with self._hold_writer_lock():
            return self._recover()

    def apply(
        self,
        steps: Iterable[Step],
        *,
        actor: str,
        label: str,
        author: str = "",
        drafted_after: int | None = None,
        acceptance: Acceptance | None = None,
    ) -> Applied:
        """Performs all steps or none. `actor` says who asked ("cli", "mcp:claude-desktop"), `label` what for,
        `author` which assistant it was (see `JournalEntry`), `acceptance` which proposal is carried out.
        `drafted_after` is the journal's last finished transaction when the steps were drafted; if there has
        been another one since, `Overtaken` is raised.

        Raises `StaleWrite`, `EditRefused`, `NoteNotFound` or `PermissionDenied` when a step cannot be done,
        `TimedOut` when another writer holds the vault; then nothing has changed.
        """
        with self._hold_writer_lock():
            self._recover()
            if drafted_after is not None and drafted_after != self.journal.last_finished():
                raise Overtaken
            plan = self._plan(steps)
            return self._execute(plan, actor, label, author, acceptance)

    def plan_undo(
        self, number: int, *, author: str = "", force: bool = False, hidden: Collection[str] = ()
    ) -> PlannedUndo:
        """What undoing one whole transaction would do; nothing is changed. Raises `EditRefused` when it was
        undone already, and when a file has changed or gone since, unless `force` is set. An assistant
        (`author`) can never undo past what somebody else has written since, even with `force`. `hidden` are
        written files that the caller may not see: what was written there since is kept, and makes no
        difference to the caller."""
        with self._hold_writer_lock():
            self._recover()
            return self._plan_undo(number, author, hidden, force=force)

    def undo(
        self,
        number: int,
        *,
        actor: str,
        author: str = "",
        force: bool = False,
        hidden: Collection[str] = (),
        planned: PlannedUndo | None = None,
        acceptance: Acceptance | None = None,
    ) -> Applied:
        """Undoes one whole transaction with a new transaction. Raises what `plan_undo` raises, and
        `Overtaken` when it would not do what was `planned`."""
        with self._hold_writer_lock():
            self._recover()
            undo = self._plan_undo(number, author, hidden, force=force)
            if planned is not None and [*map(find_effect, undo.acts)] != [*map(find_effect, planned.acts)]:
                raise Overtaken
            return self._execute(undo.plan, actor, undo.label, author, acceptance, undo_of=number)

    def _plan_undo(self, number: int, author: str, hidden: Collection[str], *, force: bool) -> PlannedUndo:
        entry = self.journal.entry(number)
        inverted = invert(entry, self.journal.content, force=force)
        steps = [
            step
            for act, usual in zip(reversed(entry.acts), inverted, strict=True)
            if (step := self._spare_newer(act, usual, hidden)) is not None
        ]
        try:
            plan = self._plan(steps)
        except StaleWrite as stale:
            raise EditRefused(
                f"{stale.path} has changed since; undoing change {number} would lose that.",
                hint=FORCE_OWN_HINT if author else "To undo it anyway, use --force.",
                path=stale.path,
                current=stale.current,
                paths=(stale.path,),
            ) from stale
        except NameTaken as taken:
            raise taken.describe_undo(number) from taken
        except NoteNotFound as gone:
            raise EditRefused(
                f"{gone.name} is no longer there, so change {number} cannot be undone.",
                path=gone.name,
                paths=(gone.name,),
            ) from gone
        if author:
            check_later_text(self.journal, entry, plan.acts, author, spared=hidden)
        return PlannedUndo(number, f"Undo: {entry.label}", plan)

    def _spare_newer(self, act: Act, usual: Step, hidden: Collection[str]) -> Step | None:
        """The step that undoes an act: for a hidden file, only what was written then and nothing that was
        written since, or None if nothing of it is left or the file is gone."""
        if not isinstance(act, Written) or act.before is None or act.path not in hidden:
            return usual
        try:
            now = read_place(self.root.resolve(act.path), act.path).data
        except VaultbridgeError:
            return None
        images = (self.journal.content(act.before), self.journal.content(act.after), now)
        before, after, text = (data.decode("utf-8", "surrogateescape") for data in images)
        merged = revert_change(before, after, text, partly=True)
        if merged is None or merged == text:
            return None
        data = merged.encode("utf-8", "surrogateescape")
        return WriteFile(act.path, data, content_hash(now), restores=True)

    def record(
        self,
        path: VaultPath,
        before: bytes | None,
        after: bytes,
        *,
        actor: str,
        label: str,
        acceptance: Acceptance | None = None,
    ) -> int:
        """Records what another program wrote, as if it had been done here. Returns its number; 0 if the file
        does not contain `after` now, or the journal already knows that it does."""
        with self._hold_writer_lock():
            self._recover()
            try:
                if read_place(self.root.resolve(path), path).data != after:
                    return 0
            except VaultbridgeError:
                return 0
            if self.journal.wrote_last(path, content_hash(after)):
                return 0
            old, new = None if before is None else make_image(before), make_image(after)
            contents = {new.digest: after}
            if old is not None and before is not None:
                contents[old.digest] = before
            seen = Written(path, str(self.root.place(path)), old, new, None, "")
            number = self.journal.begin(
                [seen], contents, at=self._clock(), actor=actor, label=label, acceptance=acceptance
            )
            self.journal.finish(number, state="done", at=self._clock())
            self._checkpoint("outside write recorded")
            return number

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """In this block only this thread changes the vault, in any number of transactions. Raises `TimedOut`
        when another writer holds the vault."""
        with self._hold_writer_lock():
            yield

    @contextlib.contextmanager
    def _hold_writer_lock(self) -> Iterator[None]:
        """Raises `VaultNotFound` when the vault is not there: neither a change nor a recovery may create
        anything in its place."""
        if self._refusal is not None:
            raise self._refusal()
        with self._hold_lock_file():
            self.root.check()
            yield

    @contextlib.contextmanager
    def _hold_lock_file(self) -> Iterator[None]:
        """Does nothing in a thread that holds it already."""
        if self._holder == threading.get_ident():
            yield
            return
        # If it cannot be made, the lock says why.
        with contextlib.suppress(OSError):
            self.make_folder()
        with FileLock(self.journal.writer_lock).hold(self._wait, what="The vault's writer"):
            self._holder = threading.get_ident()
            try:
                yield
            finally:
                self._holder = 0

    def _plan(self, steps: Iterable[Step]) -> WritePlan:
        now = datetime.fromtimestamp(self._clock())
        plan = WritePlan(self.root, self._trash, now, self.journal.content, approve=self._approve)
        try:
            plan.add(steps)
        except OSError as error:
            raise to_vault_error(error, "The vault") from error
        self.root.check_disks(path for act in plan.acts for path in affected_paths(act))
        return plan

    def _recover(self) -> tuple[Recovered, ...]:
        try:
            recovered = self._roll_back_pending()
        except VaultbridgeError as error:
            self._waiting = error.message
            raise
        self._waiting = ""
        return recovered

    def _roll_back_pending(self) -> tuple[Recovered, ...]:
        self.journal.check_version()
        if not self.journal.is_placed_in(self.root.folder):
            self.journal.place_in(self.root.folder)
        recovered: list[Recovered] = []
        for entry in self.journal.pending():
            self._check_places(entry)
            if entry.to_undo is not None:
                last = entry.to_undo
            else:
                # Not applying yet: no file has changed, but there may be temporary files.
                last = find_last_done(entry.acts, entry.staged) if entry.state == "applying" else -1
            kept = self._roll_back(entry.id, entry.acts, last, entry.staged)
            recovered.append(Recovered(entry.id, entry.label, kept))
        return tuple(recovered)

    def _check_places(self, entry: JournalEntry) -> None:
        """Raises `VaultNotFound` or `EngineFailure` while a disk with files of an interrupted change is
        missing: nothing there could be undone, and the change would be forgotten."""
        self.root.check_disks(entry.paths)
        if not leaves_trace(entry.acts) and not self.root.identity.may_have_been_emptied:
            raise EngineFailure(
                f"Change {entry.id} was interrupted and waits for the vault: its folder is empty.",
                hint=f"Is its disk connected? If the folder is right, its owner can confirm it: {CONFIRM}.",
                paths=(),
            )

    def _roll_back(
        self, number: int, acts: Sequence[Act], last: int, staged: Mapping[int, int]
    ) -> tuple[str, ...]:
        def undone(position: int) -> None:
            self._checkpoint(f"rolled back {position}")
            # What was undone in a folder that is not the vault any more was not undone.
            self.root.check()
            self.root.check_disks(affected_paths(acts[position]))
            self.journal.mark_to_undo(number, position - 1)
            self._checkpoint(f"remembered {position}")

        # The vault may have disappeared during the change; then the rollback waits until it is back.
        self.root.check()
        try:
            self.journal.mark_to_undo(number, last)
            self._checkpoint("rolling back")
            kept = roll_back(acts, last, self.journal.content, undone, staged)
        except (OSError, VaultbridgeError) as error:
            raise EngineFailure(
                f"Change {number} was interrupted and cannot be rolled back yet: {_describe_briefly(error)}.",
                hint="Rolling back is tried again before the next change.",
            ) from error
        self.root.check()
        self.journal.finish(number, state="rolled-back", kept=kept, at=self._clock())
        return kept

    def _execute(
        self,
        plan: WritePlan,
        actor: str,
        label: str,
        author: str,
        acceptance: Acceptance | None,
        *,
        undo_of: int | None = None,
    ) -> Applied:
        if not plan.acts:
            return Applied(0, (), tuple(plan.notices))
        number = self.journal.begin(
            plan.acts,
            plan.contents,
            at=self._clock(),
            actor=actor,
            label=label,
            author=author,
            undo_of=undo_of,
            acceptance=acceptance,
        )
        self._checkpoint("recorded")
        execution = Execution(plan, self._checkpoint)
        try:
            execution.stage()
            self.journal.start_applying(number, execution.staged)
            self._checkpoint("staged")
            execution.run()
            self.journal.finish(number, state="done", at=self._clock())
        except BaseException as error:
            self._abandon(number, plan, execution, error)
            raise
        self._checkpoint("finished")
        return Applied(number, tuple(plan.acts), tuple(plan.notices))

    def _abandon(self, number: int, plan: WritePlan, execution: Execution, error: BaseException) -> None:
        """Rolls back after a failure, and raises that failure in terms of vault paths."""
        last, under_way = execution.done - 1, execution.done
        if under_way < len(plan.acts) and has_happened(plan.acts, under_way, execution.staged):
            last = under_way
        kept = self._roll_back(number, plan.acts, last, execution.staged)
        if kept:
            raise EngineFailure(
                f"The change failed and was rolled back, except for {', '.join(kept)}, changed since.",
                paths=(*kept,),
            ) from error
        failed = execution.path
        if isinstance(error, SavedMeanwhile):
            self._record_outside_save(plan, error)
        if isinstance(error, FileExistsError):
            raise EditRefused(
                f"{failed} was created by another program during the change.", paths=(failed,)
            ) from error
        if isinstance(error, FileNotFoundError):
            raise EditRefused(f"{failed} disappeared during the change.", paths=(failed,)) from error
        if isinstance(error, OSError):
            raise to_vault_error(error, failed) from error

    def _record_outside_save(self, plan: WritePlan, error: SavedMeanwhile) -> None:
        """Records in the journal what another program saved: for a moment our text was in its place, and a
        program that read ours then may overwrite that save without having seen it."""
        for act in plan.acts:
            if isinstance(act, Written | Removed) and act.path == error.path and act.before is not None:
                after = make_image(error.data)
                contents = {after.digest: error.data}
                if act.before.digest in plan.contents:
                    contents[act.before.digest] = plan.contents[act.before.digest]
                seen = Written(act.path, act.place, act.before, after, None, "")
                number = self.journal.begin(
                    [seen], contents, at=self._clock(), actor=OUTSIDE_ACTOR, label=OUTSIDE_LABEL
                )
                self.journal.finish(number, state="done", at=self._clock())
                return


def _describe_briefly(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return error.message.rstrip(".") if isinstance(error, VaultbridgeError) else str(error)


__all__ = ["Applied", "JournalEntry", "Overtaken", "Recovered", "Transactor"]
