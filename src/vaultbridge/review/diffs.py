"""The diffs of Claude Code that wait for a person's decision: proposals whose text the client itself writes.

A diff belongs to the client that asked, and waits in `ask` until somebody decides at a front end (the page,
the companion, the command line). It ends in one of three ways: accepted, rejected, or returned to the client
as an error because nobody can see it. A disconnect, a timeout or a closed tab never accepts, and no diff
outlives its client: its texts are here, and the store has only its number, its file and what became of it.
This module writes no file: the client does, after an acceptance.

The client does not report the outcome of a diff, so the note is read to find out: a closed tab may mean that
the person accepted in the terminal, and a client does not write an accepted text over a note that has
changed. What it writes is recorded in the journal as its change.

While a diff waits, the note may change. `show` adapts the diff to the current note, by the same merge as for
every other proposal, and notifies the front ends.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.engine.outcome import Outcome
from vaultbridge.errors import InvalidArgument, ObsidianNotRunning, VaultbridgeError
from vaultbridge.markdown.edits.merge import merge_texts
from vaultbridge.review.accepted import AcceptedReport, make_acceptance
from vaultbridge.review.decide import (
    STATUS_WORDS,
    DecisionResult,
    Differs,
    FileDecision,
    choose_files,
    choose_for,
    describe_outcome,
    show_again,
)
from vaultbridge.review.diff_model import (
    Accepted,
    Decision,
    NoteJournal,
    OutcomeCheck,
    ReadPendingNote,
    Rejected,
    make_diff,
    read_texts,
    rebase_diff,
)
from vaultbridge.review.model import (
    Decided,
    Elsewhere,
    Notify,
    Proposal,
    ProposalEvent,
    ProposalStatus,
    ProposalVersion,
    make_rows,
)
from vaultbridge.review.store import ReviewStore
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

log = logging.getLogger("vaultbridge.ide")


class _Pending(Struct):
    """`proposal` is None until the note has been read: nobody has seen the diff yet, but its client may
    already close it. `check` is None if `status`, the outcome, is certain. `outcome` gets the final one."""

    client: str
    tab_name: str
    decision: asyncio.Future[Decision]
    outcome: asyncio.Future[ProposalStatus]
    read: ReadPendingNote
    journal: NoteJournal | None = None
    proposal: Proposal | None = None
    before: bytes | None = None
    """The file before the client writes it, as far as is known."""
    status: ProposalStatus = "withdrawn"
    decided: Decided = Decided(0.0, "")
    check: OutcomeCheck | None = None

    @property
    def waits(self) -> bool:
        return self.proposal is not None and not self.decision.done()


class PendingDiffs:
    """Without a `store` nothing is kept of what became of a diff."""

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
        self._front_ends: dict[str, Notify] = {}
        self._numbers = itertools.count(1)
        self._storing: dict[int, asyncio.Task[None]] = {}
        """Tasks that store the outcome of a diff; those of one diff are done in order."""
        self.store: ReviewStore | None = None
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
        `journal`. `software` and `pid` identify the program that asks.

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
            proposal = await self._open(path, old_text, new_text, software or client, pid, tab_name)
            if pending.decision.done():
                self._store_outcome(proposal.number, "withdrawn", Decided(time.time(), ""))
            else:
                del self._pending[key]
                key = proposal.id
                self._pending[key] = pending
                pending.proposal = proposal
                self._notify("opened", proposal)
            decision = await pending.decision
            return await _prepare_answer(pending, decision, old_text)
        finally:
            self._pending.pop(key, None)
            if pending.proposal is not None and pending.check is not None:
                # Only when it has this answer does the client write the note, or not.
                watching = loop.create_task(self._watch_outcome(pending, pending.check))
                self._watching.add(watching)
                watching.add_done_callback(self._watching.discard)
            else:
                self._end(pending, pending.status)

    async def _open(
        self, path: VaultPath, old_text: str, new_text: str, actor: str, pid: int, tab_name: str
    ) -> Proposal:
        proposal = make_diff(path, old_text, new_text, actor=actor, pid=pid, tab_name=tab_name)
        if self.store is None:
            return replace(proposal, number=next(self._numbers))
        adding = asyncio.ensure_future(asyncio.to_thread(self.store.add_diff, proposal))
        try:
            return replace(proposal, number=await asyncio.shield(adding))
        except asyncio.CancelledError:
            adding.add_done_callback(self._withdraw_unseen)
            raise
        except VaultbridgeError as error:
            log.warning("The diff of %s is shown, but its outcome will not be stored: %s", path, error)
            # Numbers that the store never gives.
            return replace(proposal, number=-next(self._numbers))

    def _withdraw_unseen(self, added: asyncio.Future[int]) -> None:
        """For a diff that was cancelled while it got its number."""
        if not added.cancelled() and added.exception() is None:
            self._store_outcome(added.result(), "withdrawn", Decided(time.time(), ""))

    async def _watch_outcome(self, pending: _Pending, check: OutcomeCheck) -> None:
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
                    await self._record(pending, reason)
                    break
                if loop.time() >= report_at:
                    self._end(pending, reason)
                if loop.time() >= until:
                    break
                await asyncio.sleep(REREAD_SECONDS)
        finally:
            self._end(pending, reason)

    async def _record(self, pending: _Pending, status: ProposalStatus) -> None:
        """Record in the journal what the client has written, and that its diff has this status: this process
        may be killed before it is stored."""
        proposal = pending.proposal
        if pending.journal is None or proposal is None:
            return
        after = await _snapshot(pending.journal)
        if after is None or after == pending.before:
            return
        report = AcceptedReport(status, replace(pending.decided, at=time.time()), Outcome(files=()))
        try:
            number = await pending.journal.record(pending.before, after, make_acceptance(proposal, report))
        except VaultbridgeError as error:
            log.warning("The change to %s could not be recorded: %s", proposal.rows[0].path, error)
            return
        pending.decided = replace(pending.decided, change=number)
        if pending.outcome.done():
            self._report(pending, pending.outcome.result())

    def _end(self, pending: _Pending, status: ProposalStatus) -> None:
        """Report the outcome to the store and the front ends, once."""
        if pending.outcome.done():
            return
        pending.outcome.set_result(status)
        pending.decided = replace(pending.decided, at=time.time())
        if pending.proposal is not None:
            log.info("The change to %s was %s", pending.proposal.rows[0].path, STATUS_WORDS[status])
            self._report(pending, status)

    def _report(self, pending: _Pending, status: ProposalStatus) -> None:
        """Store and show what became of a diff; again when its client has written it."""
        assert pending.proposal is not None
        pending.proposal = replace(pending.proposal, status=status, decided=pending.decided)
        self._store_outcome(pending.proposal.number, status, pending.decided)
        self._notify("closed", pending.proposal)

    def _store_outcome(self, number: int, status: ProposalStatus, decided: Decided) -> None:
        if self.store is None or number < 0:
            return
        record, before = self.store.record_decision, self._storing.get(number)

        async def store() -> None:
            if before is not None:
                await asyncio.wait((before,))
            try:
                await asyncio.to_thread(record, number, status, decided)
            except VaultbridgeError as error:
                log.warning("The outcome of a diff could not be stored: %s", error)
            if self._storing.get(number) is task:
                del self._storing[number]

        self._storing[number] = task = asyncio.get_running_loop().create_task(store())

    async def wait_stored(self) -> None:
        """Wait until the outcomes of closed diffs are stored."""
        if self._storing:
            await asyncio.wait(tuple(self._storing.values()))

    def close_tab(self, client: str, tab_name: str) -> bool:
        """`client` withdraws its diff of that name; False when it has none. The note shows whether a person
        accepted it in the terminal."""
        matching = [
            pending
            for pending in self._pending.values()
            if (pending.client, pending.tab_name) == (client, tab_name)
        ]
        for pending in matching:
            if pending.waits and pending.proposal is not None and pending.proposal.body is not None:
                _, new_text = read_texts(pending.proposal.body.version)
                pending.check = OutcomeCheck(new_text, "accepted-in-terminal", "withdrawn")
        return self._withdraw(matching) > 0

    def close_all(self, client: str) -> int:
        """`client` withdraws all its diffs; returns how many there were."""
        return self._withdraw([pending for pending in self._pending.values() if pending.client == client])

    # For people.

    def waiting(self) -> tuple[Proposal, ...]:
        return tuple(
            pending.proposal
            for pending in self._pending.values()
            if pending.proposal is not None and pending.waits
        )

    def list_paths(self) -> frozenset[VaultPath]:
        """The notes that waiting diffs are about."""
        return frozenset(VaultPath(proposal.rows[0].path) for proposal in self.waiting())

    async def notes_changed(self, paths: frozenset[VaultPath]) -> None:
        """Adapt the diffs of notes that have changed on disk."""
        for proposal in self.waiting():
            if proposal.rows[0].path in paths:
                try:
                    await self.show(proposal.number)
                except InvalidArgument:
                    continue  # It has been decided meanwhile.

    async def show(self, number: int) -> Proposal:
        """The diff, adapted to the note as it is now. Raises InvalidArgument if no such diff is waiting."""
        pending = self._find(number)
        now = await _read_again(pending.read)
        proposal = pending.proposal
        assert proposal is not None
        assert proposal.body is not None
        old_text, _ = read_texts(proposal.body.version)
        if now is not None and now != old_text and not pending.decision.done():
            raw = await _snapshot(pending.journal)
            by = "another program"
            if pending.journal is not None:
                by = await pending.journal.identify_writer(pending.before, raw)
            if (newer := pending.proposal) is not proposal or pending.decision.done():
                # It was adapted for somebody else, or decided, while we found out who wrote.
                return newer or proposal
            pending.before = raw
            body = rebase_diff(proposal.body, now, Elsewhere(proposal.rows[0].path, time.time(), by))
            pending.proposal = proposal = replace(proposal, body=body, rows=make_rows(body.version.files))
            self._notify("changed", proposal)
        return proposal

    async def preview(
        self, number: int, *, seen: str, files: Sequence[FileDecision]
    ) -> tuple[Proposal, ProposalVersion]:
        """What would be sent to the client. Raises Differs and InvalidArgument as `Decider.preview` does."""
        proposal = await self.show(number)
        return proposal, choose_for(proposal, seen, files)

    async def accept(
        self, number: int, *, by: str, seen: str, files: Sequence[FileDecision], reason: str
    ) -> DecisionResult:
        """Send the client the text, which it then writes or does not."""
        proposal = await self.show(number)
        body = proposal.body
        assert body is not None
        try:
            shown = body.seen(seen)
            if shown is None:
                raise Differs
            chosen = choose_files(body.version, shown, files)
        except Differs:
            return show_again(proposal)
        old_text, new_text = read_texts(body.version)
        final = (chosen[0].after or b"").decode("utf-8", "surrogatepass") if chosen else old_text
        status: ProposalStatus = "accepted" if final == new_text else "edited"
        return await self._decide(number, Accepted(final), status, Decided(0.0, by, reason))

    async def reject(self, number: int, *, by: str, reason: str) -> DecisionResult:
        await self.show(number)
        return await self._decide(number, Rejected(), "rejected", Decided(0.0, by, reason))

    async def _decide(
        self, number: int, decision: Decision, status: ProposalStatus, decided: Decided
    ) -> DecisionResult:
        """Wait for the outcome, up to OUTCOME_SECONDS if the note has changed."""
        pending = self._find(number)
        pending.decided = decided
        pending.status = status
        pending.decision.set_result(decision)
        outcome = await asyncio.shield(pending.outcome)
        words = describe_outcome(outcome)
        assert pending.proposal is not None
        closed = replace(pending.proposal, body=None)
        ended = "accepted" if outcome == "edited" else outcome
        return DecisionResult(ended, f"{words[:1].upper()}{words[1:]}.", closed)

    def _find(self, number: int) -> _Pending:
        pending = self._pending.get(f"d{number}")
        if pending is None or not pending.waits:
            raise InvalidArgument(f"No diff 'd{number}' is waiting.", argument="id")
        return pending

    def join(self, name: str, notify: Notify) -> None:
        """`name` can show diffs from now on, starting with those that are waiting."""
        self._front_ends[name] = notify
        if self._give_up is not None:
            self._give_up.cancel()
            self._give_up = None
        for proposal in self.waiting():
            notify("opened", proposal)

    def _notify(self, event: ProposalEvent, proposal: Proposal) -> None:
        for notify in tuple(self._front_ends.values()):
            notify(event, proposal)

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
            pending.check = OutcomeCheck(decision.text, pending.status, pending.status)
        return decision
    pending.check = OutcomeCheck(decision.text, pending.status, "note-changed", before=note)
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
