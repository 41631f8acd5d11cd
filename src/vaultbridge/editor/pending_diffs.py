"""The diffs of Claude Code that wait for a person's decision.

A diff belongs to the client that asked, and waits in `ask` until somebody decides in a front end (the page,
the companion, the command line). It ends in one of three ways: accepted, rejected, or returned to the client
as an error because nobody can see it. A disconnect, a timeout or a closed tab never accepts, and no diff
outlives its client. This module writes no file: the client does, after an acceptance.

The client does not report the outcome of a diff, so the note is read to find out: a closed tab may mean that
the person accepted in the terminal, and a client does not write an accepted text over a note that has
changed. What it writes is recorded in the journal as its change.

While a diff waits, the note may change. `look` adapts the diff to the current note, by the same merge as
every other proposal, and notifies the editors.
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
    rebase_diff,
)
from vaultbridge.errors import InvalidArgument, ObsidianNotRunning, VaultbridgeError
from vaultbridge.markdown.edits.merge import merge_texts
from vaultbridge.vault.paths import VaultPath

PENDING_DIFFS: Final = 100
"""The most diffs that may wait at once. A client asks for one at a time; a hundred is ten clients gone
wild."""

FRONT_END_GRACE_SECONDS: Final = 10.0
"""How long diffs wait for a front end to come back: a page reload or a plugin restart takes a moment."""

OUTCOME_SECONDS: Final = 2.0
"""How long a client may take to write the accepted text. It needs a few hundredths of a second; a busy
machine takes longer, and nobody waits for it after a rejection in the terminal."""

SOON_SECONDS: Final = 0.5
"""How long a front end waits to learn the number of a change that is certain to be written."""

RECORD_SECONDS: Final = 30.0
"""How long the note is watched for a text that was accepted, to record it as the client's: a machine may be
busy, and a later save is somebody else's."""

REREAD_SECONDS: Final = 0.1
"""The time between two reads of the note: three hundred reads at most."""

SHOWN_KEPT: Final = 4
"""How many older states of a diff are remembered: a person may decide on what was shown a moment ago."""

log = logging.getLogger("vaultbridge.ide")

ReadNote = Callable[[], Awaitable[str]]


class _OutcomeCheck(Struct, frozen=True):
    """How to tell from the note that the outcome is `found` and not `otherwise`: it contains `text`, or
    anything but `before`. A client may merge an accepted change into a note that has changed, which then
    contains neither text."""

    text: str
    found: CloseReason
    otherwise: CloseReason
    before: str | None = None

    def matches(self, note: str) -> bool:
        # The client leaves out the last line end of a new file.
        same = note.rstrip("\n") == self.text.replace("\r\n", "\n").rstrip("\n")
        return same or (self.before is not None and note != self.before)


class _Pending(Struct):
    """`diff` is None until the note has been read: nobody has seen it, but its client may close it. `check`
    is None when `reason` is known already. `outcome` gets the final reason."""

    client: str
    tab_name: str
    decision: asyncio.Future[Decision]
    outcome: asyncio.Future[CloseReason]
    read: ReadNote
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
        self._looking: set[asyncio.Task[None]] = set()
        self._pending: dict[str, _Pending] = {}
        self._front_ends: dict[str, FrontEnd] = {}
        self._numbers = itertools.count(1)
        self._open: set[str] = set()
        """Diffs that are not over yet."""
        self._kept: set[str] = set()
        """Diffs that have a place in the archive."""
        self._archiving: dict[str, asyncio.Task[None]] = {}
        """Diffs whose end is being stored."""
        self.archive: DiffArchive | None = None
        self._give_up: asyncio.TimerHandle | None = None

    # for clients

    async def ask(
        self,
        client: str,
        tab_name: str,
        path: VaultPath,
        read: ReadNote,
        new_text: str,
        *,
        software: str = "",
        pid: int = 0,
        journal: NoteJournal | None = None,
    ) -> Decision:
        """Show the diff in every front end and wait for a person, however long it takes. `read` returns the
        current note; what its first call raises is raised. What the client then writes is recorded in
        `journal`.

        Raises ObsidianNotRunning when nobody can see the diff: at once, or when the last front end has been
        gone for the grace period. Cancelling the call withdraws the diff.
        """
        if not self._front_ends:
            raise _no_front_end()
        if len(self._pending) >= PENDING_DIFFS:
            raise InvalidArgument(f"{PENDING_DIFFS} diffs are already waiting.", hint="Decide on some first.")
        # The same tab opened again replaces the older diff, on which nobody will decide now.
        self.close_tab(client, tab_name)
        key = f"unnumbered {next(self._numbers)}"
        loop = asyncio.get_running_loop()
        pending = _Pending(client, tab_name, loop.create_future(), loop.create_future(), read, journal)
        self._pending[key] = pending
        try:
            old_text = await read()
            pending.before = await _snapshot(journal)
            id_ = await self._number(path, old_text, software or client, pid, tab_name)
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
            if isinstance(decision, Accepted):
                pending.before = await _snapshot(journal)
                note = await _read_again(read)
                if note is not None and note != old_text:
                    pending.check = _OutcomeCheck(decision.text, "accepted", "note-changed", before=note)
                    # The client carries what differs from the text that it read over to the note as it is
                    # now. If it got what others have written since, it would write that twice.
                    own = merge_texts(note, decision.text, old_text)
                    decision = decision if own is None else Accepted(own)
                elif journal is not None:
                    pending.check = _OutcomeCheck(decision.text, "accepted", "accepted")
            return decision
        finally:
            self._pending.pop(key, None)
            if pending.diff is not None and pending.check is not None:
                # The client writes the note, or does not, once it has this answer.
                looking = loop.create_task(self._look(pending, pending.check))
                self._looking.add(looking)
                looking.add_done_callback(self._looking.discard)
            else:
                self._over(pending, pending.reason)

    async def _number(self, path: VaultPath, old_text: str, actor: str, pid: int, tab_name: str) -> str:
        if self.archive is not None:
            try:
                is_new = not old_text
                number = await self.archive.open_diff(
                    path, is_new=is_new, actor=actor, pid=pid, label=tab_name
                )
                self._kept.add(f"d{number}")
                return f"d{number}"
            except VaultbridgeError as error:
                log.warning("The diff of %s is decided on, but not kept: %s", path, error)
        return f"d{next(self._numbers)}"

    async def look(self, diff_id: str) -> tuple[Diff, tuple[Diff, ...]]:
        """The diff on the note as it is now, and what was shown before it, newest first. Raises
        InvalidArgument when no such diff is waiting."""
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
        """Notes have changed on the disk: bring the diffs that are about them onto what they are now."""
        for diff in self.waiting():
            if diff.path in paths:
                try:
                    await self.look(diff.id)
                except InvalidArgument:
                    continue  # It was decided meanwhile.

    async def _look(self, pending: _Pending, check: _OutcomeCheck) -> None:
        """Read the note until it shows the outcome of the diff. An acceptance of an unchanged note is
        certain: the front ends hear of it soon, and the client may still write it later."""
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
                    self._over(pending, reason)
                if loop.time() >= until:
                    break
                await asyncio.sleep(REREAD_SECONDS)
        finally:
            self._over(pending, reason)

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
            self._keep(pending.diff, pending.outcome.result())
            for front_end in tuple(self._front_ends.values()):
                front_end.recorded(pending.diff, pending.outcome.result())

    def _over(self, pending: _Pending, reason: CloseReason) -> None:
        if pending.outcome.done():
            return
        pending.outcome.set_result(reason)
        if pending.diff is not None:
            pending.diff = replace(pending.diff, decided_at=time.time())
            log.info("The change to %s was %s", pending.diff.path, OUTCOMES[reason])
            self._open.discard(pending.diff.id)
            self._keep(pending.diff, reason)
            for front_end in tuple(self._front_ends.values()):
                front_end.closed(pending.diff, reason)

    def _keep(self, diff: Diff, reason: CloseReason) -> None:
        """Store the outcome of a diff, without waiting for it."""
        if self.archive is None or diff.id not in self._kept:
            return
        before = self._archiving.get(diff.id)

        async def store(archive: DiffArchive) -> None:
            if before is not None:
                await asyncio.wait((before,))
            try:
                await archive.close_diff(diff, reason)
            except VaultbridgeError as error:
                log.warning("What became of the diff of %s is not kept: %s", diff.path, error)
            if self._archiving.get(diff.id) is task:
                del self._archiving[diff.id]

        self._archiving[diff.id] = task = asyncio.get_running_loop().create_task(store(self.archive))

    async def archived(self) -> frozenset[str]:
        """Wait until the outcomes of closed diffs are stored. Returns the ids of those that are not over."""
        if self._archiving:
            await asyncio.wait(tuple(self._archiving.values()))
        return frozenset(self._open)

    def close_tab(self, client: str, tab_name: str) -> bool:
        """`client` withdraws its diff of that name; False when it has none. The note shows whether a person
        accepted it in the terminal."""
        mine = [one for one in self._pending.values() if (one.client, one.tab_name) == (client, tab_name)]
        for pending in mine:
            if pending.diff is not None and not pending.decision.done():
                pending.check = _OutcomeCheck(pending.diff.new_text, "accepted-in-terminal", "withdrawn")
        return self._withdraw(mine) > 0

    def close_all(self, client: str) -> int:
        """`client` withdraws all its diffs; returns how many there were."""
        return self._withdraw([one for one in self._pending.values() if one.client == client])

    # for people

    def waiting(self) -> tuple[Diff, ...]:
        return tuple(
            pending.diff
            for pending in self._pending.values()
            if pending.diff is not None and not pending.decision.done()
        )

    def decide(
        self, diff_id: str, decision: Decision, *, by: str = "", comment: str = ""
    ) -> asyncio.Future[CloseReason]:
        """Record a person's decision. Returns what becomes of the diff, which may take OUTCOME_SECONDS when
        the note has changed. Raises InvalidArgument if no such diff is waiting, or no longer."""
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
        for looking in self._looking:
            looking.cancel()
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


async def _read_again(read: ReadNote) -> str | None:
    """The note as it is now; None when it cannot be read, which proves nothing."""
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
        hint="Decide in the terminal, or open the vaultbridge page or the Obsidian companion.",
    )
