"""The diffs of Claude Code that wait for a person's decision.

A diff belongs to the client that asked, and waits in `ask` until somebody decides in a front end (the page,
the companion, the command line). It ends in one of three ways: accepted, rejected, or returned to the client
as an error because nobody can see it. A disconnect, a timeout or a closed tab never accepts, and no diff
outlives its client. This module writes no file: the client does, after an acceptance.

The client does not report the outcome of a diff, so the note is read to find out: a closed tab may mean that
the person accepted in the terminal, and a client does not write an accepted text over a note that has
changed. What it writes is recorded in the journal as its change.

While a diff waits, the note may change. `refresh` adapts the diff to the current note, by the same merge as
for every other proposal, and notifies the editors.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.editor.diffs import (
    OUTCOMES,
    Accepted,
    CloseReason,
    Decision,
    Diff,
    DiffArchive,
    FrontEnd,
    NoteJournal,
    Rejected,
    label_tab,
    rebase_diff,
)
from vaultbridge.errors import InvalidArgument, ObsidianNotRunning, VaultbridgeError
from vaultbridge.markdown.edits.merge import merge_texts
from vaultbridge.vault.paths import VaultPath

PENDING_DIFFS: Final = 100
"""The most diffs that may wait at once. A client asks for one at a time, so this many are a malfunction."""

FRONT_END_GRACE_SECONDS: Final = 10.0
"""How long diffs wait for a front end to come back: a page reload or a plugin restart takes a moment."""

OUTCOME_SECONDS: Final = 2.0
"""How long a client may take to write the accepted text. It needs a few hundredths of a second, more on a
busy machine. After a rejection in the terminal nobody notices the wait."""

SOON_SECONDS: Final = 0.5
"""How long a front end waits for the number of a change that is certain to be written."""

RECORD_SECONDS: Final = 30.0
"""How long the note is watched for an accepted text, to record it as the client's change: the machine may be
busy, but a save after that time is taken for somebody else's."""

REREAD_SECONDS: Final = 0.1
"""The time between two reads of the note: three hundred reads at most."""

SHOWN_KEPT: Final = 4
"""How many older states of a diff are kept: a person may decide on what was shown a moment ago."""

log = logging.getLogger("vaultbridge.ide")

ReadPendingNote = Callable[[], Awaitable[str]]


class _OutcomeCheck(Struct, frozen=True):
    """How to tell from the note that the outcome is `found` and not `otherwise`: the note is `text`, or it is
    no longer `before`. A client may merge an accepted change into a note that has changed, which is then
    neither of the two."""

    text: str
    found: CloseReason
    otherwise: CloseReason
    before: str | None = None

    def matches(self, note: str) -> bool:
        # The client leaves out the last line end of a new file.
        is_written = note.rstrip("\n") == self.text.replace("\r\n", "\n").rstrip("\n")
        return is_written or (self.before is not None and note != self.before)


class _Pending(Struct):
    """`diff` is None until the note has been read: nobody has seen the diff yet, but its client may already
    close it. `check` is None if `reason` is certain. `outcome` gets the final reason."""

    client: str
    tab_name: str
    decision: asyncio.Future[Decision]
    outcome: asyncio.Future[CloseReason]
    read: ReadPendingNote
    journal: NoteJournal | None = None
    diff: Diff | None = None
    original: Diff | None = None
    shown: tuple[Diff, ...] = ()
    """What was shown before, newest first."""
    before: bytes | None = None
    """The file before the client writes it, as far as is known."""
    reason: CloseReason = "withdrawn"
    check: _OutcomeCheck | None = None


class PendingDiffs:
    def __init__(
        self,
        *,
        grace_seconds: float = FRONT_END_GRACE_SECONDS,
        outcome_seconds: float = OUTCOME_SECONDS,
    ) -> None:
        self._grace = grace_seconds
        self._outcome_seconds = outcome_seconds
        self._watching: set[asyncio.Task[None]] = set()
        """Tasks that read a note to find out the outcome of a diff."""
        self._pending: dict[str, _Pending] = {}
        self._front_ends: dict[str, FrontEnd] = {}
        self._numbers = itertools.count(1)
        self._open: set[str] = set()
        """Diffs without an outcome yet."""
        self._archived: set[str] = set()
        """Diffs that the archive has."""
        self._archiving: dict[str, asyncio.Task[None]] = {}
        """Tasks that store the outcome of a diff."""
        self.archive: DiffArchive | None = None
        self._give_up: asyncio.TimerHandle | None = None

    # For clients.

    async def ask(
        self,
        client: str,
        tab_name: str,
        path: VaultPath,
        read: ReadPendingNote,
        new_text: str,
        *,
        software: str = "",
        pid: int = 0,
        journal: NoteJournal | None = None,
    ) -> Decision:
        """Show the diff in every front end and wait for a person, however long it takes. `read` returns the
        current note; an error of its first call is raised here. What the client then writes is recorded in
        `journal`.

        Raises ObsidianNotRunning if nobody can see the diff: at once, or when the last front end has been
        gone for the grace period. Cancelling the call withdraws the diff.
        """
        if not self._front_ends:
            raise _no_front_end()
        if len(self._pending) >= PENDING_DIFFS:
            raise InvalidArgument(f"{PENDING_DIFFS} diffs are already waiting.", hint="Review some first.")
        # A diff in the same tab replaces the older one, on which nobody can decide any more.
        self.close_tab(client, tab_name)
        key = f"unnumbered {next(self._numbers)}"
        loop = asyncio.get_running_loop()
        pending = _Pending(client, tab_name, loop.create_future(), loop.create_future(), read, journal)
        self._pending[key] = pending
        try:
            old_text = await read()
            pending.before = await _snapshot(journal)
            id_ = await self._assign_id(path, old_text, software or client, pid, tab_name)
            if not pending.decision.done():
                del self._pending[key]
                key = id_
                self._pending[key] = pending
                self._open.add(id_)
                now = time.time()
                pending.diff = pending.original = Diff(
                    id_, client, tab_name, path, old_text, new_text, software, pid, now
                )
                for front_end in tuple(self._front_ends.values()):
                    front_end.opened(pending.diff)
            decision = await pending.decision
            return await _prepare_answer(pending, decision, old_text)
        finally:
            self._pending.pop(key, None)
            if pending.diff is not None and pending.check is not None:
                # Only when it has this answer does the client write the note, or not.
                watching = loop.create_task(self._watch_outcome(pending, pending.check))
                self._watching.add(watching)
                watching.add_done_callback(self._watching.discard)
            else:
                self._end(pending, pending.reason)

    async def _assign_id(self, path: VaultPath, old_text: str, actor: str, pid: int, tab_name: str) -> str:
        if self.archive is not None:
            try:
                is_new = not old_text
                number = await self.archive.open_diff(
                    path, is_new=is_new, actor=actor, pid=pid, label=label_tab(tab_name)
                )
                self._archived.add(f"d{number}")
                return f"d{number}"
            except VaultbridgeError as error:
                log.warning("The diff of %s is shown, but its outcome will not be stored: %s", path, error)
        return f"d{next(self._numbers)}"

    async def refresh(self, diff_id: str) -> tuple[Diff, tuple[Diff, ...]]:
        """The diff, adapted to the note as it is now, and what was shown before it, newest first. Raises
        InvalidArgument if no such diff is waiting."""
        pending = self._find(diff_id)
        now = await _read_again(pending.read)
        diff, original = pending.diff, pending.original
        assert diff is not None
        assert original is not None
        if now is not None and now != diff.old_text and not pending.decision.done():
            raw = await _snapshot(pending.journal)
            by = "another program"
            if pending.journal is not None:
                by = await pending.journal.identify_writer(pending.before, raw)
            pending.before = raw
            pending.shown = (diff, *pending.shown)[:SHOWN_KEPT]
            pending.diff = diff = rebase_diff(original, diff, now, at=time.time(), by=by)
            for front_end in tuple(self._front_ends.values()):
                front_end.changed(diff)
        return diff, pending.shown

    async def notes_changed(self, paths: frozenset[VaultPath]) -> None:
        """Adapt the diffs of notes that have changed on disk."""
        for diff in self.waiting():
            if diff.path in paths:
                try:
                    await self.refresh(diff.id)
                except InvalidArgument:
                    continue  # It has been decided meanwhile.

    async def _watch_outcome(self, pending: _Pending, check: _OutcomeCheck) -> None:
        """Read the note until it shows the outcome of the diff. The acceptance of an unchanged note is
        certain: the front ends are notified soon, even if the client writes the note later."""
        loop = asyncio.get_running_loop()
        certain = check.found == check.otherwise
        report_at = loop.time() + (SOON_SECONDS if certain else self._outcome_seconds)
        until = loop.time() + (RECORD_SECONDS if certain else self._outcome_seconds)
        reason = check.otherwise
        try:
            while True:
                now = await _read_again(pending.read)
                if now is not None and check.matches(now):
                    reason = check.found
                    await self._record(pending)
                    break
                if loop.time() >= report_at:
                    self._end(pending, reason)
                if loop.time() >= until:
                    break
                await asyncio.sleep(REREAD_SECONDS)
        finally:
            self._end(pending, reason)

    async def _record(self, pending: _Pending) -> None:
        """Record in the journal what the client has written."""
        if pending.journal is None or pending.diff is None:
            return
        after = await _snapshot(pending.journal)
        if after is None or after == pending.before:
            return
        try:
            number = await pending.journal.record(pending.before, after)
        except VaultbridgeError as error:
            log.warning("The change to %s could not be recorded: %s", pending.diff.path, error)
            return
        pending.diff = replace(pending.diff, change=number)
        if pending.outcome.done():
            self._store_outcome(pending.diff, pending.outcome.result())
            for front_end in tuple(self._front_ends.values()):
                front_end.recorded(pending.diff, pending.outcome.result())

    def _end(self, pending: _Pending, reason: CloseReason) -> None:
        """Report the outcome to the archive and the front ends, once."""
        if pending.outcome.done():
            return
        pending.outcome.set_result(reason)
        if pending.diff is not None:
            pending.diff = replace(pending.diff, decided_at=time.time())
            log.info("The change to %s was %s", pending.diff.path, OUTCOMES[reason])
            self._open.discard(pending.diff.id)
            self._store_outcome(pending.diff, reason)
            for front_end in tuple(self._front_ends.values()):
                front_end.closed(pending.diff, reason)

    def _store_outcome(self, diff: Diff, reason: CloseReason) -> None:
        """Start storing the outcome of a diff; several outcomes of one diff are stored in order."""
        if self.archive is None or diff.id not in self._archived:
            return
        before = self._archiving.get(diff.id)

        async def store(archive: DiffArchive) -> None:
            if before is not None:
                await asyncio.wait((before,))
            try:
                await archive.close_diff(diff, reason)
            except VaultbridgeError as error:
                log.warning("The outcome of the diff of %s could not be stored: %s", diff.path, error)
            if self._archiving.get(diff.id) is task:
                del self._archiving[diff.id]

        self._archiving[diff.id] = task = asyncio.get_running_loop().create_task(store(self.archive))

    async def wait_archived(self) -> frozenset[str]:
        """Wait until the outcomes of closed diffs are stored. Returns the ids of diffs without an outcome."""
        if self._archiving:
            await asyncio.wait(tuple(self._archiving.values()))
        return frozenset(self._open)

    def close_tab(self, client: str, tab_name: str) -> bool:
        """`client` withdraws its diff of that name; False when it has none. The note shows whether a person
        accepted it in the terminal."""
        matching = [
            pending
            for pending in self._pending.values()
            if (pending.client, pending.tab_name) == (client, tab_name)
        ]
        for pending in matching:
            if pending.diff is not None and not pending.decision.done():
                pending.check = _OutcomeCheck(pending.diff.new_text, "accepted-in-terminal", "withdrawn")
        return self._withdraw(matching) > 0

    def close_all(self, client: str) -> int:
        """`client` withdraws all its diffs; returns how many there were."""
        return self._withdraw([pending for pending in self._pending.values() if pending.client == client])

    # For people.

    def waiting(self) -> tuple[Diff, ...]:
        return tuple(
            pending.diff
            for pending in self._pending.values()
            if pending.diff is not None and not pending.decision.done()
        )

    def decide(
        self, diff_id: str, decision: Decision, *, by: str = "", comment: str = ""
    ) -> asyncio.Future[CloseReason]:
        """Record a person's decision. The returned future gets the outcome, after up to OUTCOME_SECONDS if
        the note has changed. Raises InvalidArgument if no such diff is waiting."""
        pending = self._find(diff_id)
        assert pending.diff is not None
        edited = isinstance(decision, Accepted) and decision.text != pending.diff.new_text
        pending.diff = replace(pending.diff, by=by, comment=comment, edited=edited)
        pending.reason = "accepted" if isinstance(decision, Accepted) else "rejected"
        pending.decision.set_result(decision)
        return pending.outcome

    def _find(self, diff_id: str) -> _Pending:
        pending = self._pending.get(diff_id)
        if pending is None or pending.diff is None or pending.decision.done():
            raise InvalidArgument(f"No diff {diff_id!r} is waiting.", argument="id")
        return pending

    def join(self, name: str, front_end: FrontEnd) -> None:
        """`name` can show diffs from now on, starting with those that are waiting."""
        self._front_ends[name] = front_end
        if self._give_up is not None:
            self._give_up.cancel()
            self._give_up = None
        for diff in self.waiting():
            front_end.opened(diff)

    def leave(self, name: str) -> None:
        if self._front_ends.pop(name, None) is None or self._front_ends or not self._pending:
            return
        loop = asyncio.get_running_loop()
        self._give_up = loop.call_later(self._grace, self._give_up_all)

    def close(self) -> None:
        """Return every waiting diff to its client as an error: the server is stopping."""
        if self._give_up is not None:
            self._give_up.cancel()
            self._give_up = None
        for watching in self._watching:
            watching.cancel()
        self._give_up_all()

    def _give_up_all(self) -> None:
        self._give_up = None
        for pending in self._pending.values():
            if not pending.decision.done():
                pending.decision.set_exception(_no_front_end())

    def _withdraw(self, wanted: Sequence[_Pending]) -> int:
        open_ = [pending for pending in wanted if not pending.decision.done()]
        for pending in open_:
            pending.decision.set_result(Rejected())
        return len(open_)


async def _prepare_answer(pending: _Pending, decision: Decision, old_text: str) -> Decision:
    """What the client gets as the decision on the text that it read, `old_text`. For an acceptance, this sets
    what the note is then watched for."""
    if not isinstance(decision, Accepted):
        return decision
    pending.before = await _snapshot(pending.journal)
    note = await _read_again(pending.read)
    if note is None or note == old_text:
        if pending.journal is not None:
            pending.check = _OutcomeCheck(decision.text, "accepted", "accepted")
        return decision
    pending.check = _OutcomeCheck(decision.text, "accepted", "note-changed", before=note)
    # The client applies the difference between this answer and the text that it read to the note as it is
    # now. If the answer contained what others have written since, it would write that twice.
    client_text = merge_texts(note, decision.text, old_text)
    return decision if client_text is None else Accepted(client_text)


async def _read_again(read: ReadPendingNote) -> str | None:
    """The note as it is now; None if it cannot be read, which proves nothing."""
    try:
        return await read()
    except VaultbridgeError:
        return None


async def _snapshot(journal: NoteJournal | None) -> bytes | None:
    try:
        return None if journal is None else await journal.snapshot()
    except VaultbridgeError:
        return None


def _no_front_end() -> ObsidianNotRunning:
    return ObsidianNotRunning(
        "No editor that can show a diff is connected.",
        hint="Review it in the terminal, on the page (`vaultbridge page` opens it), or in Obsidian.",
    )
