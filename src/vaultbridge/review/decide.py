"""Carries out a person's decision: writes the change as the person saw it, or nothing, and records which.

An acceptance names what the person saw by its hash. The change is written only if it would do exactly that to
the notes as they are now; otherwise nothing is written and the proposal is shown again. The engine writes it
as one change of the assistant that proposed it, so the history names the assistant and an undo reverts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.operations.vocabulary import find_undo
from vaultbridge.engine.outcome import ChangedFile, Outcome
from vaultbridge.engine.plan import Plan, PlannedFile, Request
from vaultbridge.errors import (
    EditRefused,
    EngineFailure,
    InvalidArgument,
    NoteNotFound,
    StaleWrite,
    VaultbridgeError,
)
from vaultbridge.markdown.edits.merge import (
    apply_hunks,
    find_hunks,
    list_changed_lines,
    merge_texts,
    restore_line_ends,
)
from vaultbridge.markdown.text import decode, encode
from vaultbridge.review.accepted import AcceptedReport, make_acceptance
from vaultbridge.review.model import (
    Decided,
    Proposal,
    ProposalBody,
    ProposalStatus,
    ProposalVersion,
    has_text,
    hash_of,
    raw_texts_of,
    texts_of,
)
from vaultbridge.review.rebase import (
    Rebaser,
    Reopen,
    decode_operations,
    only_writes,
    write_exactly,
    write_files,
)
from vaultbridge.review.store import ReviewStore

EDITED_NOTICE = "The person changed this before accepting it: read it again before you go on."

STATUS_WORDS = {
    "accepted": "accepted",
    "edited": "accepted with changes",
    "rejected": "rejected",
    "expired": "not decided in time",
    "waiting": "waiting for review",
    "deciding": "being decided",
    "withdrawn": "withdrawn by the assistant",
    "accepted-in-terminal": "accepted in the terminal",
    "note-changed": "accepted but not written, because the note had changed",
}
"""Each status in words for people."""


class FileDecision(Struct, frozen=True, kw_only=True):
    """What a person wants for one file instead of what was proposed: another `text`, only some of its
    `hunks`, or to `skip` the file."""

    path: str
    text: str | None = None
    hunks: tuple[int, ...] | None = None
    skip: bool = False


class DecisionResult(Struct, frozen=True):
    """`shown-again`: nothing was written, and `proposal` is what it would do now."""

    outcome: ProposalStatus | Literal["shown-again"]
    text: str
    proposal: Proposal
    change: int = 0


class Differs(Exception):
    """What would be written is not what the person saw."""


class Decider:
    """Decides in one vault. `engine` and `reopen` are as in `Rebaser`."""

    def __init__(self, engine: DirectEngine, store: ReviewStore, reopen: Reopen | None = None) -> None:
        self._engine = engine
        self._store = store
        self._rebaser = Rebaser(engine, store, reopen)

    def show(self, number: int) -> Proposal:
        """A proposal, adapted to the notes as they are now. Raises InvalidArgument if it is unknown, or
        concerns a file that may not be seen here."""
        proposal = self._store.get(number)
        if not proposal.may_be_shown(self._engine.scope.visible):
            raise InvalidArgument(f"There is no proposal p{number}.", argument="id")
        return self._rebaser.refresh(proposal) if proposal.status == "waiting" else proposal

    def reject(self, number: int, *, by: str, reason: str = "") -> DecisionResult:
        self._claim(number)
        try:
            self._store.record_decision(number, "rejected", Decided(self._now(), by, reason))
        except BaseException:
            self._give_back(number)
            raise
        return DecisionResult("rejected", "Rejected: nothing was changed.", self._store.get(number))

    def accept(
        self,
        number: int,
        *,
        by: str,
        seen: str = "",
        files: Sequence[FileDecision] = (),
        reason: str = "",
    ) -> DecisionResult:
        """Write the change. `seen` is the hash of the version that the person saw, "" for the current one.
        Raises InvalidArgument when the decision does not fit the proposal, or it was decided before."""
        self._claim(number)
        try:
            return self._accept(number, by, seen, files, reason)
        except BaseException:
            self._give_back(number)
            raise

    def _accept(
        self, number: int, by: str, seen: str, files: Sequence[FileDecision], reason: str
    ) -> DecisionResult:
        proposal = self._rebaser.refresh(self._store.get(number))
        body = proposal.body
        if body is None:
            # Another process took this one for dead, as one in another container may.
            raise _make_ended(proposal)
        shown = body.seen(seen)
        try:
            if shown is None:
                raise Differs
            wanted = choose_files(body.version, shown, files)
            status: ProposalStatus = "accepted" if _are_same(wanted, body.version.files) else "edited"
            report = self._write(proposal, body, wanted, status, Decided(self._now(), by, reason))
        except Differs:
            return self._show_again(number)
        change = report.decided.change
        try:
            self._store.record_decision(number, status, report.decided, report.outcome)
        except EngineFailure as error:
            if not change:
                raise
            raise EngineFailure(
                f"The change was made as change {change}, but that {proposal.id} is accepted could not be "
                "stored.",
                hint="It will be as soon as the proposals can be used again.",
                paths=(),
            ) from error
        text = f"Accepted{' with your changes' if status == 'edited' else ''}: "
        text += f"written as change {change}." if change else "the notes were already like this."
        return DecisionResult("accepted", text, self._store.get(number), change)

    def undo(self, number: int, *, by: str, diff: bool = False) -> Outcome:
        """Undo an accepted change. Raises EditRefused when there is nothing to undo, or the notes have
        changed since."""
        proposal = self._store.get(number, diff=diff)
        if not proposal.may_be_shown(self._engine.scope.visible):
            raise InvalidArgument(f"There is no proposal {proposal.id}.", argument="id")
        decided = proposal.decided
        if decided is None or not decided.change:
            raise EditRefused(f"{proposal.id} has changed nothing, so there is nothing to undo.")
        return self._engine.undo(decided.change, actor=by)

    def preview(
        self, number: int, seen: str, files: Sequence[FileDecision]
    ) -> tuple[Proposal, ProposalVersion]:
        """What an acceptance would write now. Raises Differs when that is not what the person saw, and
        InvalidArgument as `accept` does."""
        proposal = self.show(number)
        return proposal, choose_for(proposal, seen, files)

    def _claim(self, number: int) -> None:
        proposal = self._store.get(number)
        if not proposal.may_be_shown(self._engine.scope.visible):
            raise InvalidArgument(f"There is no proposal p{number}.", argument="id")
        if not self._store.claim(number):
            now = self._store.get(number)
            if not now.waits:
                raise _make_ended(now)
            raise InvalidArgument(f"{now.id} is being reviewed by somebody else.", argument="id")

    def _give_back(self, number: int) -> None:
        """After a failure. If this fails too, whoever looks next does it."""
        with suppress(VaultbridgeError):
            self._store.release(number)

    def _show_again(self, number: int) -> DecisionResult:
        self._store.release(number)
        proposal = self.show(number)
        if not proposal.waits:
            raise _make_ended(proposal)
        return show_again(proposal)

    def _write(
        self,
        proposal: Proposal,
        body: ProposalBody,
        wanted: tuple[PlannedFile, ...],
        status: ProposalStatus,
        decided: Decided,
    ) -> AcceptedReport:
        links = {file.path: file.links for file in body.original.files}
        edited = (EDITED_NOTICE,) if status == "edited" else ()

        def report(outcome: Outcome) -> AcceptedReport:
            outcome = replace(
                outcome,
                files=tuple(_with_links(file, links.get(file.path, 0)) for file in outcome.files),
                notices=tuple(dict.fromkeys((*body.version.notices, *outcome.notices, *edited))),
            )
            return AcceptedReport(status, decided, outcome).with_change(int(outcome.change_id or 0))

        if not wanted and only_writes(body.version.files):
            return report(Outcome(files=()))

        # What a person has changed is not the assistant's own any more: it cannot undo that by itself.
        author = body.author if status == "accepted" else ""
        operations = decode_operations(body.operations)
        undoes = find_undo(operations) is not None
        # With edits, an undo becomes an ordinary change: nothing is undone in the sense of the journal.
        as_asked = undoes and _are_same(wanted, body.version.files)
        if undoes and not as_asked and not only_writes(wanted):
            raise InvalidArgument(
                f"{proposal.id} undoes a change that moved or deleted files: accept or reject it as a whole.",
                argument="files",
            )

        def write(engine: DirectEngine, operations: Sequence[Operation]) -> Outcome:
            def carry_out(plan: Plan) -> Outcome:
                if not plan.is_empty and not _are_same(plan.files.files, wanted):
                    raise Differs
                expected = report(Outcome(plan.changed, notices=plan.notices))
                acceptance = make_acceptance(proposal, expected)
                return engine.carry_out(plan, actor=proposal.actor, acceptance=acceptance)

            request = Request(tuple(operations), proposal.label, author, by_person=True)
            return engine.with_plan(request, carry_out)

        try:
            if only_writes(wanted) and not as_asked:
                with self._rebaser.engine_for_writing(proposal, wanted) as engine:
                    outcome = write(engine, write_files(wanted))
            else:
                if not undoes:
                    planned = {file.path: file for file in self._rebaser.plan(proposal, operations).files}
                    operations += _make_overrides(wanted, planned)
                with self._rebaser.engine_for(proposal) as engine:
                    outcome = write(engine, operations)
        except (StaleWrite, NoteNotFound) as error:
            raise Differs from error
        except EditRefused as error:
            if as_asked:
                raise Differs from error
            raise
        return report(outcome)

    def _now(self) -> float:
        return self._engine.now().timestamp()


def describe_decision(proposal: Proposal) -> str:
    """The outcome in a few words: `accepted by a person (the page) as change 12`."""
    words = STATUS_WORDS[proposal.status]
    decided = proposal.decided
    if decided is None or not decided.by or proposal.status == "expired":
        return words
    change = f" as change {decided.change}" if decided.change else ""
    reason = f": {decided.reason}" if decided.reason else ""
    return f"{words} by a person ({decided.by}){change}{reason}"


def _make_ended(proposal: Proposal) -> InvalidArgument:
    return InvalidArgument(
        f"{proposal.id} is no longer waiting: {describe_decision(proposal)}.", argument="id"
    )


def describe_outcome(status: ProposalStatus) -> str:
    """What became of a diff, in the words that editors show right after it: who decided knows so."""
    return STATUS_WORDS["accepted" if status == "edited" else status]


def show_again(proposal: Proposal) -> DecisionResult:
    conflict = proposal.body.version.conflict if proposal.body is not None else ""
    text = conflict or "The notes have changed since you looked."
    return DecisionResult("shown-again", f"Nothing was written. {text} Look again.", proposal)


def choose_for(proposal: Proposal, seen: str, files: Sequence[FileDecision]) -> ProposalVersion:
    """What a person who saw the version with the hash `seen` wants of a proposal. Raises Differs when that is
    not what is shown now, and InvalidArgument as `choose_files` does and if it is decided."""
    if proposal.body is None:
        raise _make_ended(proposal)
    shown = proposal.body.seen(seen)
    if shown is None:
        raise Differs
    return choose_version(proposal.body.version, shown, files)


def choose_version(
    version: ProposalVersion, shown: ProposalVersion, files: Sequence[FileDecision]
) -> ProposalVersion:
    """The version, reduced to what the person wants. Raises as `choose_files` does."""
    chosen = choose_files(version, shown, files)
    decided = {decision.path for decision in files}
    conflicts = {path: why for path, why in version.conflicts.items() if path not in decided}
    conflict = version.conflict if conflicts else ""
    return ProposalVersion(chosen, version.more, version.notices, conflict, conflicts)


def choose_files(
    version: ProposalVersion, shown: ProposalVersion, files: Sequence[FileDecision]
) -> tuple[PlannedFile, ...]:
    """The files to write: those of the current version, as far as the person wants them. Raises Differs when
    that is not what was shown, and InvalidArgument when the decision does not fit what was shown."""
    if not files:
        if version.conflict or shown.shape != version.shape:
            raise Differs
        return version.files
    for wish in files:
        _check_decision(wish, shown.file(wish.path), version)
    decisions = {wish.path: wish for wish in files}
    chosen: list[PlannedFile] = []
    for file in version.files:
        decision, seen = decisions.get(file.path), shown.file(file.path)
        if seen is None:
            raise Differs
        if decision is None:
            if file.path in version.conflicts or _list_lines(seen) != _list_lines(file):
                raise Differs
            chosen.append(file)
        elif not decision.skip:
            chosen.append(_merge_decision(decision, seen, file))
    remaining = tuple(file for file in chosen if file.before != file.after or not file.content)
    if not remaining:
        raise InvalidArgument(
            "Nothing would be left of the change.", argument="files", hint="Reject it instead."
        )
    return remaining


def _check_decision(decision: FileDecision, seen: PlannedFile | None, version: ProposalVersion) -> None:
    where = f"files ({decision.path})"
    if seen is None:
        raise InvalidArgument(f"The proposal has no file {decision.path!r}.", argument="files")
    if sum((decision.text is not None, decision.hunks is not None, decision.skip)) != 1:
        raise InvalidArgument("Give one of text, hunks and skip.", argument=where)
    if seen.change not in ("changed", "created") or not has_text(seen):
        raise InvalidArgument(
            f"{decision.path} is {seen.change}, or is not text: accept or reject it as a whole.",
            argument=where,
        )
    if decision.skip and not only_writes(version.files):
        raise InvalidArgument(
            "This change moves or deletes files: none of its files can be left out.", argument=where
        )
    if decision.hunks is not None:
        count = len(find_hunks(*texts_of(seen)))
        if not all(0 <= position < count for position in decision.hunks):
            raise InvalidArgument(f"The file has hunks 0 to {count - 1}.", argument=where)


def _merge_decision(decision: FileDecision, seen: PlannedFile, file: PlannedFile) -> PlannedFile:
    """The person's version of the file, merged into the note as it is now."""
    before, after = raw_texts_of(seen)
    if decision.hunks is not None:
        final = apply_hunks(before, after, decision.hunks)
    else:
        final = restore_line_ends(decision.text or "", like=before or after)
    now = decode(file.before or b"")
    merged = merge_texts(before, final, now.text)
    if merged is None:
        raise Differs
    return replace(file, after=encode(merged, bom=now.bom))


def _list_lines(file: PlannedFile) -> tuple[str, ...]:
    return list_changed_lines(*texts_of(file)) if has_text(file) else (hash_of(file.after),)


def _are_same(files: Sequence[PlannedFile], others: Sequence[PlannedFile]) -> bool:
    """Whether they write the same, over the same: what would be lost is part of what a person saw."""
    return {(file.key, hash_of(file.before)) for file in files} == {
        (file.key, hash_of(file.before)) for file in others
    }


def _make_overrides(wanted: Sequence[PlannedFile], planned: dict[str, PlannedFile]) -> list[Operation]:
    """Writes that follow the original operations, for files whose text should differ from what those make."""
    return [
        write_exactly(file.path, file.after)
        for file in wanted
        if file.content
        and file.after is not None
        and has_text(file)
        and (there := planned.get(file.path)) is not None
        and there.after != file.after
    ]


def _with_links(file: ChangedFile, links: int) -> ChangedFile:
    return replace(file, links=links) if links else file
