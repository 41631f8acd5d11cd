"""The proposals of a vault for the editors of this process: what waits, what changed, what was decided.

All processes share the store, so this follows it: a proposal may come from an assistant that another process
serves, and be decided there. Editors that can show proposals join. Their number is written into the store,
because an assistant's call waits only while a person can see its proposal. Created and used in the event
loop; whatever reads the disk runs in worker threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from msgspec import Struct

from vaultbridge.engine import DirectEngine, Engine
from vaultbridge.engine.outcome import Outcome
from vaultbridge.engine.plan import PlannedFile
from vaultbridge.errors import InvalidArgument, VaultbridgeError
from vaultbridge.review.decide import Decider, DecisionResult, FileDecision
from vaultbridge.review.model import Notify, Proposal, ProposalEvent, ProposalVersion
from vaultbridge.review.policy import Review, ReviewRules, find_strictest, parse_review
from vaultbridge.review.rebase import Reopen
from vaultbridge.review.store import ReviewStore, store_of
from vaultbridge.vault.paths import VaultPath

RELOAD_SECONDS: Final = 3.0
"""How long an editor still counts as open after it disconnects: a page that is reloaded reconnects within a
moment, and a call that arrives in between should wait for it."""

LISTED: Final = 500
"""The most proposals in one list."""

CHANGED_FILES: Final = 50
"""The most files of one change whose texts are sent: nobody reads more of them in a row."""

log = logging.getLogger("vaultbridge.review")

T = TypeVar("T")


class ReviewState(Struct, frozen=True):
    """The policies of the vault: the one that applies (`review`), the one that a person set (None: nothing),
    the configuration's, and the least strict one that the server allows. `wait` is how long a call waits, in
    seconds."""

    review: Review
    set: Review | None
    configured: Review
    least: Review
    wait: float


class ReviewWatcher(Struct):
    """An editor that shows proposals."""

    proposal: Notify
    policy: Callable[[ReviewState], None]


class Reviews:
    """Run `follow` as a task, and call `stop` at the end."""

    def __init__(
        self, engine: DirectEngine, find_rules: Callable[[Engine], ReviewRules], reopen: Reopen | None
    ) -> None:
        self._engine = engine
        self._find_rules = find_rules
        self.store: ReviewStore = store_of(engine)
        self._decider = Decider(engine, self.store, reopen)
        self._loop = asyncio.get_running_loop()
        self._watchers: dict[str, ReviewWatcher] = {}
        self._known: dict[int, tuple[str, Proposal]] = {}
        """What the editors last received: the hash of each proposal's version, and the proposal."""
        self._policy: ReviewState | None = None
        self._store_changed = asyncio.Event()
        self._unlisten: Callable[[], None] | None = None
        """Stops listening to the store, while an editor shows proposals."""
        self._leaving: set[asyncio.Task[None]] = set()
        self._comparing = asyncio.Lock()
        self._writing = asyncio.Lock()

    # For editors.

    async def join(self, name: str, watcher: ReviewWatcher) -> None:
        """`name` can show proposals from now on, starting with those that wait."""
        if self._unlisten is None:
            self._unlisten = self.store.listen(self._wake)
        await self._compare()
        self._watchers[name] = watcher
        for _, proposal in self._known.values():
            watcher.proposal("opened", proposal)
        await self._announce_presence()

    def leave(self, name: str) -> None:
        if self._watchers.pop(name, None) is not None:
            if not self._watchers:
                self._stop_listening()
            leaving = self._loop.create_task(self._announce_absence())
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
            leaving.add_done_callback(_log_failure)

    async def list_waiting(self) -> tuple[Proposal, ...]:
        proposals = await asyncio.to_thread(self.store.waiting)
        return tuple(proposal for proposal in proposals if proposal.may_be_shown(self._engine.scope.visible))

    async def list_all(self, limit: int) -> tuple[Proposal, ...]:
        """Waiting and decided ones, newest first."""
        # Diffs that are not decided are `PendingDiffs.waiting`, with their texts.
        latest = await asyncio.to_thread(self.store.latest, min(limit, LISTED))
        proposals = [proposal for proposal in latest if not (proposal.is_diff and proposal.waits)]
        return tuple(proposal for proposal in proposals if proposal.may_be_shown(self._engine.scope.visible))

    async def show(self, number: int) -> Proposal:
        """The proposal, adapted to the notes as they are now. Raises InvalidArgument."""
        return await self._then_compare(lambda: self._decider.show(number))

    async def accept(
        self, number: int, *, by: str, seen: str, files: Sequence[FileDecision], reason: str
    ) -> DecisionResult:
        """Raises InvalidArgument, and what writing raises."""
        return await self._then_compare(
            lambda: self._decider.accept(number, by=by, seen=seen, files=files, reason=reason)
        )

    async def reject(self, number: int, *, by: str, reason: str) -> DecisionResult:
        return await self._then_compare(lambda: self._decider.reject(number, by=by, reason=reason))

    async def preview(
        self, number: int, *, seen: str, files: Sequence[FileDecision]
    ) -> tuple[Proposal, ProposalVersion]:
        """Raises Differs and InvalidArgument as `Decider.preview` does."""
        return await self._then_compare(lambda: self._decider.preview(number, seen, files))

    async def undo(self, number: int, *, by: str, diff: bool = False) -> Outcome:
        return await asyncio.to_thread(self._decider.undo, number, by=by, diff=diff)

    async def undo_change(self, number: int, *, by: str) -> Outcome:
        """Undo any change of the vault. Raises EditRefused when the notes have changed since."""
        return await asyncio.to_thread(self._engine.undo, number, actor=by)

    async def show_change(self, number: int) -> ProposalVersion:
        """What a change in the journal did to the files that a person may see, in the form of a proposal."""

        def read() -> ProposalVersion:
            _, files = self._engine.history.change(number)
            shown = [
                # A moved file has no content here.
                PlannedFile(file.path, file.change, file.was, file.before, file.after, file.change != "moved")
                for file in files[:CHANGED_FILES]
            ]
            return ProposalVersion(tuple(shown), more=len(files) - len(shown))

        return await asyncio.to_thread(read)

    async def find_undone(self, proposals: Iterable[Proposal]) -> frozenset[int]:
        """The numbers of the proposals whose change has been undone since."""
        written = {
            proposal.number: proposal.decided.change for proposal in proposals if proposal.decided is not None
        }

        def is_undone(change: int) -> bool:
            try:
                return bool(change) and self._engine.journal.entry(change).undone_by is not None
            except VaultbridgeError:
                return False  # Too old for the journal.

        return await asyncio.to_thread(
            lambda: frozenset(number for number, change in written.items() if is_undone(change))
        )

    async def policy(self) -> ReviewState:
        return await asyncio.to_thread(self._read_policy)

    async def set_policy(self, review: str | None) -> ReviewState:
        """Raises InvalidArgument if `review` is not a policy."""
        policy = None if review is None else parse_review(review)
        await asyncio.to_thread(self.store.set_policy, policy)
        await self._compare()
        return await self.policy()

    # Following.

    async def follow(self) -> None:
        """Runs until cancelled."""
        while True:
            await self._store_changed.wait()
            self._store_changed.clear()
            try:
                await self._compare()
            except VaultbridgeError as error:
                log.warning("%s", error)

    def list_paths(self) -> frozenset[VaultPath]:
        """The files that waiting proposals are about, while an editor shows them."""
        if not self._watchers:
            return frozenset()
        return frozenset(
            VaultPath(row.was or row.path)
            for _, proposal in self._known.values()
            for row in proposal.rows
            if not row.path.endswith("/")
        )

    async def notes_changed(self, paths: frozenset[VaultPath]) -> None:
        """Adapt the proposals that concern files which have changed on disk."""
        for number, (_, proposal) in tuple(self._known.items()):
            if any((row.was or row.path) in paths for row in proposal.rows):
                with contextlib.suppress(InvalidArgument):
                    await asyncio.to_thread(self._decider.show, number)
        await self._compare()

    async def stop(self) -> None:
        for leaving in tuple(self._leaving):
            leaving.cancel()
        self._watchers.clear()
        self._stop_listening()
        await self._announce_presence()

    def _stop_listening(self) -> None:
        if self._unlisten is not None:
            self._unlisten()
            self._unlisten = None

    async def _then_compare(self, work: Callable[[], T]) -> T:
        """Do something in a worker, and notify the editors at once of what it changed."""
        try:
            return await asyncio.to_thread(work)
        finally:
            await self._compare()

    async def _compare(self) -> None:
        """Send the editors what has changed since the last time."""
        async with self._comparing:
            now = {waiting.number: waiting for waiting in await self.list_waiting()}
            for number, proposal in now.items():
                version = proposal.body.version.hash if proposal.body is not None else ""
                known = self._known.get(number)
                self._known[number] = (version, proposal)
                if known is None:
                    self._announce("opened", proposal)
                elif known[0] != version:
                    self._announce("changed", proposal)
            for number in [number for number in self._known if number not in now]:
                del self._known[number]
                with contextlib.suppress(InvalidArgument):
                    self._announce("closed", await asyncio.to_thread(self.store.get, number))
            policy = await self.policy()
            if policy != self._policy:
                before, self._policy = self._policy, policy
                for watcher in tuple(self._watchers.values()) if before is not None else ():
                    watcher.policy(policy)

    def _announce(self, event: ProposalEvent, proposal: Proposal) -> None:
        for watcher in tuple(self._watchers.values()):
            watcher.proposal(event, proposal)

    async def _announce_absence(self) -> None:
        await asyncio.sleep(RELOAD_SECONDS)
        await self._announce_presence()

    async def _announce_presence(self) -> None:
        async with self._writing:
            await asyncio.to_thread(self.store.set_present, len(self._watchers))

    def _read_policy(self) -> ReviewState:
        rules = self._find_rules(self._engine)
        chosen = self.store.policy
        return ReviewState(
            review=find_strictest(rules.least, rules.vault if chosen is None else chosen),
            set=chosen,
            configured=rules.vault,
            least=rules.least,
            wait=rules.wait_seconds,
        )

    def _wake(self) -> None:
        """Called in any thread."""
        with contextlib.suppress(RuntimeError):  # The loop is closed, so `follow` has ended.
            self._loop.call_soon_threadsafe(self._store_changed.set)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("the number of open editors could not be stored: %s", error)
