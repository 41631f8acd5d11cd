"""Changes to the vault, whole or not at all: recorded first, then done, undone when asked.

The order is: take the writer's lock, check every expectation (`plan.py`), record the plan with all content
(`journal.py`), stage the new files, record that too, look once more and swap each, make the folders durable,
record the end.
A process killed anywhere leaves a pending record; the next writer rolls it back (`recovery.py`) before it
does anything else. Every change to a vault's files goes through here.
"""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from vaultbridge.errors import EditRefused, EngineFailure, NoteNotFound, StaleWrite, VaultbridgeError
from vaultbridge.vault.journal import Entry, Journal
from vaultbridge.vault.locking import FileLock
from vaultbridge.vault.paths import Root, identity_of
from vaultbridge.vault.plan import Plan
from vaultbridge.vault.read import Signature, content_hash, read_place
from vaultbridge.vault.recovery import folders_of, has_happened, last_done, roll_back
from vaultbridge.vault.steps import (
    Act,
    FolderMade,
    FolderRemoved,
    Moved,
    Removed,
    Restored,
    Step,
    Trashed,
    Written,
)
from vaultbridge.vault.trash import TrashCans, put, take_back
from vaultbridge.vault.undo import inverse_steps
from vaultbridge.vault.write import as_vault_error, publish_new, publish_over, stage, sync_folder

WRITER_SECONDS: Final = 10.0
"""How long one writer waits for another: longer than any transaction takes, shorter than a call may."""


RACY_NANOSECONDS: Final = 2_000_000_000
"""A file whose time stamp is younger is read once more before it is replaced: within the step of a file
system's clock (2 s at the coarsest) two saves of equal length cannot be told apart by their stat."""


class Applied(Struct, frozen=True):
    """A transaction that is done. `id` is what `undo` takes; 0 when nothing had to change. `notices` are
    for the person, such as another trash than the settings name."""

    id: int
    acts: tuple[Act, ...] = ()
    notices: tuple[str, ...] = ()


class Recovered(Struct, frozen=True):
    """A transaction that a dead process left and that was rolled back; `kept` are the files that somebody
    had changed since and that stayed as they are."""

    id: int
    label: str
    kept: tuple[str, ...]


def _pass(_: str) -> None:
    """The checkpoint of ordinary operation."""


class Transactor:
    """The writer of one vault. `folder` is the vault's cache folder. `checkpoint` is told each point that
    is reached, so that a test can stop the process there. With a `refusal` nothing is ever changed: what
    it gives is raised instead."""

    def __init__(
        self,
        root: Root,
        folder: Path,
        *,
        cans: TrashCans,
        clock: Callable[[], float] = time.time,
        checkpoint: Callable[[str], None] = _pass,
        wait: float = WRITER_SECONDS,
        refusal: Callable[[], EngineFailure] | None = None,
    ) -> None:
        self.root = root
        self._refusal = refusal
        self.journal = Journal(folder)
        self._lock_file = folder / "writer.lock"
        self._cans = cans
        self._clock = clock
        self._checkpoint = checkpoint
        self._wait = wait
        self._alone = 0
        """The thread that holds the vault for several transactions; 0 for none."""

    def close(self) -> None:
        self.journal.close()

    def recover(self) -> tuple[Recovered, ...]:
        """Rolls back what dead processes left half done. To be called when a vault is opened; every
        transaction does so too. Waits for another writer only when there is something to recover."""
        if not self.journal.pending():
            return ()
        with self._writing():
            return self._recover()

    def apply(self, steps: Iterable[Step], *, actor: str, label: str) -> Applied:
        """Does all steps or none. `actor` says who ("cli", "mcp:claude-desktop"), `label` what for.

        Raises `StaleWrite`, `EditRefused`, `NoteNotFound` or `PermissionDenied` when a step cannot be done,
        `TimedOut` when another writer holds the vault; then nothing has changed.
        """
        with self._writing():
            self._recover()
            plan = self._plan(steps)
            return self._carry_out(plan, actor=actor, label=label, undo_of=None)

    def undo(self, number: int, *, actor: str, force: bool = False) -> Applied:
        """Undoes one transaction as a whole, by a transaction of its own. Raises `EditRefused` when a file
        has changed or gone since, unless `force` makes that no matter, and when it was undone already."""
        with self._writing():
            self._recover()
            entry = self.journal.entry(number)
            steps = inverse_steps(entry, self.journal.content, force=force)
            try:
                plan = self._plan(steps)
            except StaleWrite as stale:
                raise EditRefused(
                    f"{stale.path} has changed since; undoing change {number} would lose that.",
                    hint="Force it to undo all the same.",
                    path=stale.path,
                    current=stale.current,
                ) from stale
            except NoteNotFound as gone:
                raise EditRefused(
                    f"{gone.name} is no longer there, so change {number} cannot be undone.", path=gone.name
                ) from gone
            return self._carry_out(plan, actor=actor, label=f"Undo: {entry.label}", undo_of=number)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """While this lasts no other process of ours changes the vault; the transactions of this thread go on.
        Raises `TimedOut` when another writer holds the vault."""
        with self._writing():
            self._alone = threading.get_ident()
            try:
                yield
            finally:
                self._alone = 0

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Raises `VaultNotFound` when the vault is not there: nothing is to be made in its place, by a change
        or by a recovery."""
        if self._refusal is not None:
            raise self._refusal()
        held: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        if self._alone != threading.get_ident():
            held = FileLock(self._lock_file).waiting(self._wait, what="The vault's writer")
        with held:
            self.root.check()
            yield

    def _plan(self, steps: Iterable[Step]) -> Plan:
        now = datetime.fromtimestamp(self._clock())
        plan = Plan(self.root, self._cans, now, self.journal.content)
        try:
            plan.add(steps)
        except OSError as error:
            raise as_vault_error(error, "The vault") from error
        return plan

    def _recover(self) -> tuple[Recovered, ...]:
        recovered: list[Recovered] = []
        for entry in self.journal.pending():
            if entry.to_undo is not None:
                last = entry.to_undo
            else:
                # Not yet applying: no file has changed, only temporary files may lie about.
                last = last_done(entry.acts, entry.staged) if entry.state == "applying" else -1
            kept = self._roll_back(entry.id, entry.acts, last)
            recovered.append(Recovered(entry.id, entry.label, kept))
        return tuple(recovered)

    def _roll_back(self, number: int, acts: Sequence[Act], last: int) -> tuple[str, ...]:
        def undone(position: int) -> None:
            self._checkpoint(f"rolled back {position}")
            self.journal.mark_to_undo(number, position - 1)
            self._checkpoint(f"remembered {position}")

        # It may have gone in the middle of the change: then what had been done waits for its return.
        self.root.check()
        try:
            self.journal.mark_to_undo(number, last)
            self._checkpoint("rolling back")
            kept = roll_back(acts, last, self.journal.content, undone)
        except (OSError, VaultbridgeError) as error:
            raise EngineFailure(
                f"Change {number} was interrupted and cannot be rolled back yet: {_short(error)}.",
                hint="It is tried again before the next change.",
            ) from error
        self.journal.finish(number, state="rolled-back", kept=kept, at=self._clock())
        return kept

    def _carry_out(self, plan: Plan, *, actor: str, label: str, undo_of: int | None) -> Applied:
        if not plan.acts:
            return Applied(0, (), tuple(plan.notices))
        number = self.journal.begin(
            plan.acts, plan.contents, at=self._clock(), actor=actor, label=label, undo_of=undo_of
        )
        self._checkpoint("recorded")
        performance = _Performance(plan, self._checkpoint)
        try:
            performance.stage()
            self.journal.start_applying(number, performance.staged)
            self._checkpoint("staged")
            performance.run()
            self.journal.finish(number, state="done", at=self._clock())
        except BaseException as error:
            self._give_up(number, plan, performance, error)
            raise
        self._checkpoint("finished")
        return Applied(number, tuple(plan.acts), tuple(plan.notices))

    def _give_up(self, number: int, plan: Plan, performance: _Performance, error: BaseException) -> None:
        """Rolls back after a failure, and raises it in the caller's words."""
        last, under_way = performance.done - 1, performance.done
        if under_way < len(plan.acts) and has_happened(plan.acts, under_way, performance.staged):
            last = under_way
        kept = self._roll_back(number, plan.acts, last)
        if kept:
            raise EngineFailure(
                f"The change failed and was rolled back, except for {', '.join(kept)}, changed meanwhile."
            ) from error
        failed = performance.path
        if isinstance(error, FileExistsError):
            raise EditRefused(f"{failed} was created by somebody else meanwhile.") from error
        if isinstance(error, FileNotFoundError):
            raise EditRefused(f"{failed} disappeared meanwhile.") from error
        if isinstance(error, OSError):
            raise as_vault_error(error, failed) from error


class _Performance:
    """One plan being carried out. `done` counts the acts that are, `path` is the one under way; `staged`
    holds the number of each staged file, by which it is known again after a crash."""

    def __init__(self, plan: Plan, checkpoint: Callable[[str], None]) -> None:
        self.done = 0
        self.path = ""
        self.staged: dict[int, int] = {}
        self._plan = plan
        self._checkpoint = checkpoint

    def stage(self) -> None:
        """Writes all new content, durably, before the first swap, so that a full disk or a forbidden folder
        is met while nothing has changed yet."""
        for number, act in enumerate(self._plan.acts):
            if isinstance(act, Written):
                self.path = act.path
                temporary = Path(act.temporary)
                self._check_ground(temporary.parent)
                data = self._plan.contents[act.after.digest]
                stage(temporary, data, like=self._plan.models.get(number), mode=act.mode)
                self.staged[number] = temporary.lstat().st_ino
                self._checkpoint(f"staged {number}")

    def run(self) -> None:
        for number, act in enumerate(self._plan.acts):
            self.path = act.trashed.path if isinstance(act, Restored) else act.path
            self._perform(number, act)
            self.done = number + 1
            self._checkpoint(f"done {number}")
        for folder in {folder for act in self._plan.acts for folder in folders_of(act)}:
            sync_folder(folder)
        self._checkpoint("durable")

    def _check_ground(self, folder: Path) -> None:
        """The last look at a folder before something is done in it."""
        known = self._plan.grounds.get(folder)
        if known is not None and identity_of(folder.stat()) != known:
            raise EditRefused(f"A folder that {self.path} needs was replaced by another one meanwhile.")

    def _check_identity(self, number: int, place: str, expected: str) -> None:
        """The last look at what is moved away: an editor or a sync may have put another file there."""
        known = self._plan.identities.get(number)
        status = Path(place).lstat()
        if known is not None and identity_of(status) != known:
            ordinary = stat.S_ISREG(status.st_mode)
            current = content_hash(read_place(place, self.path).data) if ordinary else ""
            raise StaleWrite(self.path, expected=expected or "unknown", current=current)

    def _perform(self, number: int, act: Act) -> None:
        for folder in folders_of(act):
            self._check_ground(folder)
        match act:
            case Written():
                temporary, place = Path(act.temporary), Path(act.place)
                if act.before is None:
                    publish_new(temporary, place)
                else:
                    self._look_again(number, place, act.path, act.before.hash)
                    publish_over(temporary, place)
            case Removed():
                self._look_again(number, Path(act.place), act.path, act.before.hash)
                Path(act.place).unlink()
            case Moved():
                self._check_identity(number, act.place, act.hash)
                _rename(Path(act.place), Path(act.target_place))
            case Trashed():
                self._check_identity(number, act.place, act.image.hash if act.image else "")
                info = Path(act.info_place) if act.info_place else None
                put(Path(act.place), Path(act.bin_place), info, act.info_text)
            case Restored():
                back = act.trashed
                if os.path.lexists(back.place):
                    raise FileExistsError
                info = Path(back.info_place) if back.info_place else None
                take_back(Path(back.place), Path(back.bin_place), info)
            case FolderMade():
                Path(act.place).mkdir(exist_ok=True)
            case FolderRemoved():
                # Not empty: then it holds something that nobody asked to remove, and stays.
                with contextlib.suppress(OSError):
                    Path(act.place).rmdir()

    def _look_again(self, number: int, place: Path, path: str, expected: str) -> None:
        """The last look before a file is replaced: somebody may have saved it since it was read."""
        seen = self._plan.seen.get(number)
        settled = seen is not None and time.time_ns() - seen.mtime_ns > RACY_NANOSECONDS
        try:
            if settled and Signature.of(place.stat()) == seen:
                return
            current = content_hash(read_place(place, path).data)
        except (FileNotFoundError, NoteNotFound):
            current = ""
        if current != expected:
            raise StaleWrite(path, expected=expected, current=current)


def _rename(source: Path, target: Path) -> None:
    """The check and the rename leave a gap in which a file made by somebody else would be replaced; no
    call that closes it exists on every system."""
    if os.path.lexists(target) and not source.samefile(target):
        raise FileExistsError
    source.rename(target)


def _short(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return error.message.rstrip(".") if isinstance(error, VaultbridgeError) else str(error)


__all__ = ["Applied", "Entry", "Recovered", "Transactor"]
