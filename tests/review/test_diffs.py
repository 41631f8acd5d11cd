"""Diffs: decided by a person, never by accident, never left behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.waiting import BOUND
from vaultbridge.errors import InvalidArgument, ObsidianNotRunning, PermissionDenied
from vaultbridge.review.decide import DecisionResult, FileDecision
from vaultbridge.review.diff_model import Accepted, Decision, Rejected, read_texts
from vaultbridge.review.diffs import PENDING_DIFFS, PendingDiffs
from vaultbridge.review.model import Proposal, ProposalEvent
from vaultbridge.vault.paths import vault_path
from vaultbridge.vault.write.journal_rows import Acceptance

NOTE = vault_path("Note.md")


class Screen:
    """A front end that remembers what it was shown."""

    def __init__(self, diffs: PendingDiffs, name: str = "page") -> None:
        self.shown: list[Proposal] = []
        self.gone: list[tuple[str, str]] = []
        self.opened = asyncio.Event()
        diffs.join(name, self._notify)

    def _notify(self, event: ProposalEvent, proposal: Proposal) -> None:
        if event == "closed":
            self.gone.append((proposal.id, proposal.status))
        else:
            self.shown.append(proposal)
            self.opened.set()


async def accept(diffs: PendingDiffs, proposal: Proposal, text: str | None = None) -> DecisionResult:
    """Accept what is shown, or `text` in its place."""
    assert proposal.body is not None
    files = () if text is None else (FileDecision(path=NOTE, text=text),)
    return await asyncio.wait_for(
        diffs.accept(proposal.number, by="page", seen=proposal.body.version.hash, files=files, reason=""),
        BOUND,
    )


async def reject(diffs: PendingDiffs, proposal: Proposal) -> DecisionResult:
    return await asyncio.wait_for(diffs.reject(proposal.number, by="page", reason=""), BOUND)


def texts_of(proposal: Proposal) -> tuple[str, str]:
    assert proposal.body is not None
    return read_texts(proposal.body.version)


async def begin_diff(
    diffs: PendingDiffs, client: str = "c1", tab: str = "tab", new: str = "new"
) -> asyncio.Task[Decision]:
    task = asyncio.ensure_future(diffs.ask(client, tab, NOTE, _read_old, new))
    await asyncio.sleep(0)
    return task


async def _read_old() -> str:
    return "old"


async def wait_for_decision(task: asyncio.Task[Decision]) -> Decision:
    return await asyncio.wait_for(task, BOUND)


async def test_a_person_accepts_perhaps_after_changing_it() -> None:
    diffs = PendingDiffs()
    screen = Screen(diffs)
    task = await begin_diff(diffs)
    (diff,) = screen.shown
    assert (diff.rows[0].path, *texts_of(diff), diff.label) == (NOTE, "old", "new", "tab")
    result = await accept(diffs, diff, "new, and mine")
    assert (result.outcome, result.proposal.status) == ("accepted", "edited")
    assert await wait_for_decision(task) == Accepted("new, and mine")
    assert screen.gone == [(diff.id, "edited")]
    assert diffs.waiting() == ()


@pytest.mark.parametrize("how", ["tab", "all"])
async def test_a_tab_closed_while_the_note_is_still_read_is_never_shown(how: str) -> None:
    """The client sends both in one breath when a person decides in the terminal at once."""
    diffs, read = PendingDiffs(), asyncio.Event()
    screen = Screen(diffs)

    async def read_slowly() -> str:
        await read.wait()
        return "old"

    task = asyncio.ensure_future(diffs.ask("c1", "tab", NOTE, read_slowly, "new"))
    await asyncio.sleep(0)
    assert diffs.waiting() == ()
    closed = diffs.close_tab("c1", "tab") if how == "tab" else diffs.close_all("c1") == 1
    assert closed
    read.set()
    assert await wait_for_decision(task) == Rejected()
    assert (screen.shown, screen.gone) == ([], [])


async def test_a_note_that_cannot_be_read_leaves_nothing_behind() -> None:
    diffs = PendingDiffs()
    screen = Screen(diffs)

    async def fail() -> str:
        raise PermissionDenied("It leads out.")

    with pytest.raises(PermissionDenied):
        await diffs.ask("c1", "tab", NOTE, fail, "new")
    assert (screen.shown, screen.gone, diffs.close_all("c1")) == ([], [], 0)


async def test_a_front_end_that_joins_while_the_note_is_read_gets_the_diff_once() -> None:
    diffs, read = PendingDiffs(), asyncio.Event()
    Screen(diffs)

    async def read_slowly() -> str:
        await read.wait()
        return "old"

    task = asyncio.ensure_future(diffs.ask("c1", "tab", NOTE, read_slowly, "new"))
    await asyncio.sleep(0)
    events: asyncio.Queue[tuple[ProposalEvent, Proposal]] = asyncio.Queue()
    diffs.join("late", lambda event, diff: events.put_nowait((event, diff)))
    read.set()
    event, diff = await asyncio.wait_for(events.get(), BOUND)
    assert event == "opened"
    await reject(diffs, diff)
    assert await wait_for_decision(task) == Rejected()
    assert (await asyncio.wait_for(events.get(), BOUND))[0] == "closed"
    assert events.empty()


async def test_a_person_rejects() -> None:
    diffs = PendingDiffs()
    screen = Screen(diffs)
    task = await begin_diff(diffs)
    await reject(diffs, screen.shown[0])
    assert await wait_for_decision(task) == Rejected()
    assert screen.gone == [(screen.shown[0].id, "rejected")]


async def test_without_a_front_end_the_client_gets_an_error_at_once() -> None:
    diffs = PendingDiffs()
    with pytest.raises(ObsidianNotRunning):
        await diffs.ask("c1", "tab", NOTE, _read_old, "")
    assert diffs.waiting() == ()


async def test_every_front_end_gets_the_diff_and_its_outcome() -> None:
    diffs = PendingDiffs()
    first, second = Screen(diffs, "one"), Screen(diffs, "two")
    task = await begin_diff(diffs)
    late = Screen(diffs, "late")
    assert first.shown == second.shown == late.shown
    await reject(diffs, first.shown[0])
    await wait_for_decision(task)
    assert first.gone == second.gone == late.gone == [(first.shown[0].id, "rejected")]


async def test_only_one_decision_counts() -> None:
    diffs = PendingDiffs()
    screen = Screen(diffs)
    task = await begin_diff(diffs)
    await reject(diffs, screen.shown[0])
    with pytest.raises(InvalidArgument):
        await accept(diffs, screen.shown[0], "too late")
    assert await wait_for_decision(task) == Rejected()


async def test_of_two_decisions_at_once_one_counts() -> None:
    diffs = PendingDiffs()
    screen = Screen(diffs)
    task = await begin_diff(diffs)
    (diff,) = screen.shown
    results = await asyncio.gather(
        accept(diffs, diff), reject(diffs, diff), accept(diffs, diff, "mine"), return_exceptions=True
    )
    decided = [result for result in results if isinstance(result, DecisionResult)]
    assert len(decided) == 1
    assert all(isinstance(result, InvalidArgument) for result in results if result not in decided)
    assert screen.gone == [(diff.id, decided[0].proposal.status)]
    await wait_for_decision(task)


async def test_what_is_accepted_is_what_was_shown() -> None:
    diffs, note = PendingDiffs(), ["one\ntwo\nthree\n"]
    screen = Screen(diffs)

    async def read() -> str:
        return note[0]

    task = asyncio.ensure_future(diffs.ask("c1", "tab", NOTE, read, "ONE\ntwo\nthree\n"))
    await asyncio.sleep(0)
    note[0] = "mine\ntwo\nthree\n"
    again = await accept(diffs, screen.shown[0])
    assert again.outcome == "shown-again"
    assert "in the same lines" in again.text
    assert not task.done()
    note[0] = "one\ntwo\nTHREE\n"
    result = await diffs.show(screen.shown[0].number)
    assert texts_of(result) == (note[0], "ONE\ntwo\nTHREE\n")
    assert result.body is not None
    assert (result.body.rebased, len(result.body.elsewhere)) == (2, 2)
    await reject(diffs, result)
    await wait_for_decision(task)


class SlowJournal:
    """A journal that finds out who wrote the note only when it may."""

    def __init__(self) -> None:
        self.asked = asyncio.Semaphore(0)
        self.may_answer = asyncio.Event()

    async def snapshot(self) -> bytes | None:
        return None

    async def record(self, before: bytes | None, after: bytes, acceptance: Acceptance) -> int:
        return 0

    async def identify_writer(self, before: bytes | None, now: bytes | None) -> str:
        self.asked.release()
        await self.may_answer.wait()
        return "another program"


async def test_a_diff_that_ends_while_it_is_adapted_is_not_shown_again() -> None:
    """As it was found: the page showed it once more after it was closed, and nobody could decide on it."""
    diffs, note, journal = PendingDiffs(), ["one\ntwo\n"], SlowJournal()
    screen = Screen(diffs)

    async def read() -> str:
        return note[0]

    asked = diffs.ask("c1", "tab", NOTE, read, "one\ntwo\nthree\n", journal=journal)
    task = asyncio.ensure_future(asked)
    await asyncio.wait_for(screen.opened.wait(), BOUND)
    (diff,) = screen.shown
    note[0] = "ONE\ntwo\n"
    looks = [asyncio.ensure_future(diffs.show(diff.number)) for _ in range(2)]
    for _ in looks:
        await asyncio.wait_for(journal.asked.acquire(), BOUND)
    assert diffs.close_tab("c1", "tab")
    await wait_for_decision(task)
    journal.may_answer.set()
    await asyncio.wait_for(asyncio.gather(*looks), BOUND)
    assert screen.shown == [diff]


async def test_two_who_look_at_once_see_one_change_by_others() -> None:
    diffs, note, journal = PendingDiffs(), ["one\ntwo\n"], SlowJournal()
    screen = Screen(diffs)

    async def read() -> str:
        return note[0]

    asked = diffs.ask("c1", "tab", NOTE, read, "one\ntwo\nthree\n", journal=journal)
    task = asyncio.ensure_future(asked)
    await asyncio.wait_for(screen.opened.wait(), BOUND)
    note[0] = "ONE\ntwo\n"
    looks = [asyncio.ensure_future(diffs.show(screen.shown[0].number)) for _ in range(2)]
    for _ in looks:
        await asyncio.wait_for(journal.asked.acquire(), BOUND)
    journal.may_answer.set()
    first, second = await asyncio.wait_for(asyncio.gather(*looks), BOUND)
    assert first == second
    assert first.body is not None
    assert (first.body.rebased, len(first.body.elsewhere), len(screen.shown)) == (1, 1, 2)
    diffs.close_all("c1")
    await wait_for_decision(task)


async def test_an_unknown_diff_cannot_be_decided() -> None:
    with pytest.raises(InvalidArgument, match="d99"):
        await PendingDiffs().reject(99, by="page", reason="")


async def test_closing_a_tab_rejects_only_the_diff_of_that_client() -> None:
    diffs = PendingDiffs()
    Screen(diffs)
    mine, other = await begin_diff(diffs, "c1"), await begin_diff(diffs, "c2")
    assert diffs.close_tab("c1", "tab")
    assert await wait_for_decision(mine) == Rejected()
    assert not other.done()
    assert not diffs.close_tab("c1", "tab")
    assert diffs.close_all("c2") == 1
    assert await wait_for_decision(other) == Rejected()


async def test_closing_all_counts_only_the_clients_own_diffs() -> None:
    diffs = PendingDiffs()
    Screen(diffs)
    tasks = [await begin_diff(diffs, "c1", f"tab {n}") for n in range(3)]
    stays = await begin_diff(diffs, "c2")
    assert diffs.close_all("c1") == 3
    assert [await wait_for_decision(task) for task in tasks] == [Rejected()] * 3
    assert not stays.done()
    diffs.close_all("c2")
    await wait_for_decision(stays)


async def test_the_same_tab_opened_again_replaces_the_older_diff() -> None:
    diffs = PendingDiffs()
    screen = Screen(diffs)
    old = await begin_diff(diffs, new="first")
    new = await begin_diff(diffs, new="second")
    assert await wait_for_decision(old) == Rejected()
    assert [texts_of(diff)[1] for diff in diffs.waiting()] == ["second"]
    await accept(diffs, screen.shown[-1])
    assert await wait_for_decision(new) == Accepted("second")


async def test_cancelling_a_request_withdraws_its_diff() -> None:
    diffs = PendingDiffs()
    screen = Screen(diffs)
    task = await begin_diff(diffs)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert diffs.waiting() == ()
    assert screen.gone == [(screen.shown[0].id, "withdrawn")]


async def test_when_the_last_front_end_stays_away_the_client_gets_an_error() -> None:
    """Neither accepted nor rejected: the terminal still asks."""
    diffs = PendingDiffs(grace_seconds=0.01)
    Screen(diffs)
    task = await begin_diff(diffs)
    diffs.leave("page")
    with pytest.raises(ObsidianNotRunning):
        await wait_for_decision(task)


async def test_a_front_end_that_returns_in_time_gets_the_diff_again() -> None:
    diffs = PendingDiffs(grace_seconds=60)
    Screen(diffs)
    task = await begin_diff(diffs)
    diffs.leave("page")
    again = Screen(diffs)
    assert len(again.shown) == 1
    await accept(diffs, again.shown[0], "yes")
    assert await wait_for_decision(task) == Accepted("yes")


async def test_a_diff_keeps_waiting_while_another_front_end_stays() -> None:
    diffs = PendingDiffs(grace_seconds=0)
    Screen(diffs, "one")
    Screen(diffs, "two")
    task = await begin_diff(diffs)
    diffs.leave("one")
    for _ in range(3):
        await asyncio.sleep(0)
    assert not task.done()
    diffs.close()
    with pytest.raises(ObsidianNotRunning):
        await wait_for_decision(task)


async def test_closing_returns_every_diff_as_an_error() -> None:
    diffs = PendingDiffs()
    Screen(diffs)
    tasks = [await begin_diff(diffs, f"c{n}") for n in range(3)]
    diffs.close()
    results: list[Any] = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, ObsidianNotRunning) for result in results)


async def test_the_number_of_waiting_diffs_is_limited() -> None:
    diffs = PendingDiffs()
    Screen(diffs)
    tasks = [await begin_diff(diffs, "c1", f"tab {n}") for n in range(PENDING_DIFFS)]
    with pytest.raises(InvalidArgument):
        await diffs.ask("c1", "one more", NOTE, _read_old, "")
    diffs.close()
    await asyncio.gather(*tasks, return_exceptions=True)
