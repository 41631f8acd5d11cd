"""Lets a tool's change through, or makes it a proposal and waits for a person: the one place that decides.

A `GatedEngine` passes every change to a `ReviewGate`, whichever protocol, tool or plugin
asks for it. The call waits a bounded time while an editor is open anywhere on this machine; without one, the
client asks its user, if it can; and if there is nobody to ask, the answer is immediate. A proposal that is
not decided by then stays, and the call ends with `ChangePending`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, Protocol

from vaultbridge.activity.records import record_change, record_proposal, record_thinking
from vaultbridge.engine import DirectEngine, Engine
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.operations.vocabulary import find_undo, label_operations
from vaultbridge.engine.outcome import Outcome
from vaultbridge.engine.plan import Plan, Request
from vaultbridge.errors import ChangeRejected, InvalidArgument
from vaultbridge.markdown.edits.unified_diff import make_diff
from vaultbridge.review.decide import Decider
from vaultbridge.review.loss import find_reason
from vaultbridge.review.model import (
    Proposal,
    ProposalBody,
    ProposalVersion,
    has_text,
    make_author,
    make_rows,
    make_version,
    texts_of,
)
from vaultbridge.review.policy import (
    WHERE,
    ChangePending,
    Reason,
    ReviewRules,
    find_strictest,
)
from vaultbridge.review.rebase import describe_scope, encode_operations
from vaultbridge.review.store import ReviewStore, store_of

WAITING_CALLS: Final = 16
"""The most calls of a process that wait for a person at once, because each occupies a thread. A further call
is answered at once, and only its proposal waits."""

PROGRESS_SECONDS: Final = 5.0
"""How often a waiting call reports progress: clients that count from the last sign of life give up after
half a minute."""

DIALOG_CHARS: Final = 4000
"""The longest diff in a client's dialog: more does not fit on a screen."""

DIALOG_ROUNDS: Final = 3
"""How often a client's user is asked again because the notes have changed in the meantime."""

FILES_NAMED: Final = 10
"""How many files an answer or a dialog names."""

DIALOG: Final = "the client's dialog"
"""Where the person decided, when the assistant's own program asked."""

Progress = Callable[[float, float | None, str], None]
"""Called with the amount done, the total (None if unknown) and a message. It must not block."""

Choice = Literal["accept", "reject", "cancel"]

_waiting_calls = threading.BoundedSemaphore(WAITING_CALLS)


class Caller(Protocol):
    """The client of a call, as far as the gate needs it. The methods are called in the call's thread and may
    block."""

    @property
    def can_ask(self) -> bool:
        """Whether the client can ask its user."""
        ...

    @property
    def can_show(self) -> bool:
        """Whether the client shows the change together with the answer, so that its user decides there."""
        ...

    @property
    def asked(self) -> str:
        """The proposal that the client has been asked about in an earlier round of this call, else ""."""
        ...

    def ask(self, proposal: str, version: str, message: str, seconds: float) -> Choice:
        """Let the client ask its user about this version. This may end the call, which the client then
        repeats with the answer; one about another version is no answer."""
        ...

    def begin_waiting(self, seconds: float) -> float:
        """Start waiting for a person. Returns how long the call may wait, at most `seconds`."""
        ...


class NonInteractiveCaller:
    """A client that cannot ask its user. A call waits at most `longest` seconds for a decision elsewhere.
    `on_wait` is called, in the call's thread, before it waits."""

    can_ask = False
    can_show = False
    asked = ""

    def __init__(self, longest: float, on_wait: Callable[[], object] = lambda: None) -> None:
        self._longest = longest
        self._on_wait = on_wait

    def ask(self, proposal: str, version: str, message: str, seconds: float) -> Choice:
        return "cancel"

    def begin_waiting(self, seconds: float) -> float:
        self._on_wait()
        return min(seconds, self._longest)


class ReviewGate:
    """The gate for one call of one tool."""

    def __init__(
        self, rules: Callable[[Engine], ReviewRules], tool: str, caller: Caller, progress: Progress
    ) -> None:
        self._rules = rules
        self._tool = tool
        self._caller = caller
        self._progress = progress
        self.left: tuple[DirectEngine, int] | None = None
        """The proposal that the call left to the client's view, and the engine that would carry it out."""

    def __call__(
        self, engine: DirectEngine, operations: Sequence[Operation], *, label: str, actor: str
    ) -> Outcome:
        rules = self._rules(engine)
        author = make_author(rules, actor or engine.actor)
        store = store_of(engine)
        chosen = store.policy
        policy = find_strictest(rules.least, rules.vault if chosen is None else chosen)
        undo = find_undo(operations)
        undone = None if undo is None else engine.history.entry(undo.change)
        anothers = undone is not None and undone.author != author

        def carry_out(plan: Plan) -> Outcome | tuple[ProposalVersion, Reason]:
            """Carries the plan out, or returns why a person has to see it first."""
            reason: Reason | None = None
            if not plan.is_empty:
                # Whoever made that change has not asked this assistant for anything.
                reason = "another's" if anothers else find_reason(policy, plan)
            if reason is not None:
                return make_version(plan), reason
            return engine.carry_out(plan, actor=actor)

        done = engine.with_plan(Request(tuple(operations), label, author), carry_out)
        if isinstance(done, Outcome):
            return done
        version, reason = done
        if undone is not None:
            by = f" by {undone.actor}" if anothers else ""
            label = f"undo change {undone.id}{by}: {undone.label}"
        proposal = self._find_earlier(store) or self._propose(
            *(engine, store, operations, version, reason),
            label=label,
            actor=actor or engine.actor,
            author=author,
            token=rules.token,
        )
        for file in version.files:
            record_proposal(engine.root.folder, file.path, proposal.id)
        try:
            outcome = self._wait(engine, store, proposal, rules.wait_seconds)
        except ChangePending:
            if self._caller.can_show:
                self.left = engine, proposal.number
            raise
        # It may have been written by another call or process, but it is this call's change.
        record_change(engine.root.folder, int(outcome.change_id or 0), outcome.files)
        return outcome

    def author(self, engine: Engine, actor: str) -> str:
        return make_author(self._rules(engine), actor or engine.actor)

    def _propose(
        self,
        engine: DirectEngine,
        store: ReviewStore,
        operations: Sequence[Operation],
        version: ProposalVersion,
        reason: Reason,
        *,
        label: str,
        actor: str,
        author: str,
        token: str,
    ) -> Proposal:
        """Store the proposal. A client that repeats a call which is still waiting gets the same one."""
        body = ProposalBody(
            encode_operations(operations), describe_scope(engine.scope), version, version, author=author
        )
        for waiting in store.waiting():
            known = waiting.body
            if known is not None and (known.operations, known.author) == (body.operations, author):
                return waiting
        return store.add(
            actor=actor,
            token=token,
            tool=self._tool,
            label=label or label_operations(operations),
            why=reason,
            rows=make_rows(version.files),
            more=version.more,
            body=body,
        )

    def _find_earlier(self, store: ReviewStore) -> Proposal | None:
        """The proposal of an earlier round of this call."""
        asked = self._caller.asked
        if not asked:
            return None
        try:
            return store.get(parse_id(asked))
        except InvalidArgument:
            return None

    def _wait(self, engine: DirectEngine, store: ReviewStore, proposal: Proposal, seconds: float) -> Outcome:
        if not proposal.waits:
            return _finish(store, proposal)
        if self._caller.can_show and not self._caller.asked:
            # Without waiting: the client shows the change once it has the answer.
            raise _pending(proposal, SHOWN)
        editor_open = store.is_editor_open()
        ask = bool(self._caller.asked) or (self._caller.can_ask and not editor_open)
        if not ask and not editor_open:
            raise _pending(proposal, NOBODY)
        if not _waiting_calls.acquire(blocking=False):
            raise _pending(proposal, BUSY)
        began = time.monotonic()
        try:
            if ask:
                self._ask(engine, store, proposal, seconds)
            else:
                self._wait_for_editor(store, proposal, self._caller.begin_waiting(seconds))
        finally:
            _waiting_calls.release()
            record_thinking(time.monotonic() - began)
        return _finish(store, store.get(proposal.number))

    def _wait_for_editor(self, store: ReviewStore, proposal: Proposal, seconds: float) -> None:
        waited = 0.0
        while waited < seconds:
            self._progress(waited, seconds, f"Waiting for a person to decide on {proposal.id}")
            step = min(PROGRESS_SECONDS, seconds - waited)
            if not store.wait(proposal.number, step).waits:
                return
            waited += step

    def _ask(self, engine: DirectEngine, store: ReviewStore, proposal: Proposal, seconds: float) -> None:
        """Let the client's user decide; again, if the notes change meanwhile."""
        decider = Decider(engine, store)
        for _ in range(DIALOG_ROUNDS):
            proposal = decider.show(proposal.number)
            if not proposal.waits:
                return
            seen = "" if proposal.body is None else proposal.body.version.hash
            choice = self._caller.ask(proposal.id, seen, describe_for_dialog(proposal), seconds)
            if choice == "reject":
                decider.reject(proposal.number, by=DIALOG)
                return
            if choice == "cancel" or not seen:
                return
            if decider.accept(proposal.number, by=DIALOG, seen=seen).outcome != "shown-again":
                return


NOBODY: Final = (
    "Nobody can be asked right now: neither the page nor the companion is open, and this client cannot ask "
    f"its user. A person decides {WHERE}."
)
SHOWN: Final = f"The person sees it in this conversation and decides there, {WHERE}."
ELSEWHERE: Final = "You can also decide on the page: `vaultbridge page` opens it."
BUSY: Final = f"Many changes are already waiting. A person decides {WHERE}."
NOT_YET: Final = f"The person has not decided yet; that is possible {WHERE}."


def _finish(store: ReviewStore, proposal: Proposal) -> Outcome:
    """What the call returns for a proposal as it is now. Raises ChangeRejected or ChangePending."""
    if proposal.status in ("accepted", "edited"):
        return store.outcome(proposal.number)
    if proposal.status == "rejected":
        reason = proposal.decided.reason if proposal.decided is not None else ""
        raise ChangeRejected(proposal.id, said=reason)
    raise _pending(proposal, NOT_YET)


def _pending(proposal: Proposal, why: str) -> ChangePending:
    facts: dict[str, Any] = {
        "status": "pending",
        "id": proposal.id,
        "files": [{"path": row.path, "change": row.change} for row in proposal.rows[:FILES_NAMED]],
        "message": f"Nothing is changed yet: a person has to accept this first. {why} "
        f'Call history with id "{proposal.id}" to learn the outcome; do not repeat this call.',
    }
    if (more := len(proposal.rows) - FILES_NAMED + proposal.more) > 0:
        facts["more_files"] = more
    return ChangePending(proposal.id, facts)


def parse_id(text: str) -> int:
    """The number in `p12`. Raises InvalidArgument."""
    if text[:1] == "p" and text[1:].isascii() and text[1:].isdigit() and len(text) < 16:
        return int(text[1:])
    raise InvalidArgument(f"{text[:40]!r} is not a proposal.", argument="id", hint="It looks like p12.")


def describe_for_dialog(proposal: Proposal) -> str:
    """The change in words and as a diff, for a person who sees only this text."""
    names = [
        f"{row.was} → {row.path}" if row.was else f"{row.path} ({row.change})"
        for row in proposal.rows[:FILES_NAMED]
    ]
    if (more := len(proposal.rows) - FILES_NAMED + proposal.more) > 0:
        names.append(f"and {more} more")
    text = f"{proposal.actor} wants to change your vault ({proposal.label}): {', '.join(names)}"
    files = proposal.body.version.files if proposal.body is not None else ()
    diff = "".join(make_diff(*texts_of(file), file.path) for file in files if has_text(file))
    if len(diff) > DIALOG_CHARS:
        diff = diff[:DIALOG_CHARS] + "\n… (the rest is left out; the page shows it)"
    return f"{text}\n\n{diff}\n\n{ELSEWHERE}" if diff else f"{text}\n\n{ELSEWHERE}"
