"""The desk's own duty: who is told, when, in real (short) time. What is told is `feed`'s and `state`'s."""

from __future__ import annotations

import asyncio

import pytest

from vaultbridge.editor.feed import NO_FOCUS, Told
from vaultbridge.editor.hub import EditorHub, Timing
from vaultbridge.editor.model import CURSOR_AT_TOP, Focus, Mention
from vaultbridge.errors import PermissionDenied
from vaultbridge.vault.paths import VaultPath, vault_path

A, B = vault_path("A.md"), vault_path("B.md")
WAIT = 30.0
QUICK = Timing(debounce=0.002, debounce_limit=0.004, ready_after=0.002, mention_wait=WAIT)


class Assistant:
    def __init__(self, desk: EditorHub, name: str = "one") -> None:
        self.told: asyncio.Queue[Told] = asyncio.Queue()
        self.seat = desk.sit(name, self.told.put_nowait)

    async def next(self) -> Told:
        return await asyncio.wait_for(self.told.get(), WAIT)


def desk_of(hidden: set[VaultPath] | None = None, timing: Timing = QUICK) -> EditorHub:
    desk = EditorHub(lambda path: path not in (hidden or ()), timing=timing)
    desk.state.join("editor", "page")
    return desk


async def test_every_greeted_assistant_is_told() -> None:
    desk = desk_of()
    one, two = Assistant(desk, "one"), Assistant(desk, "two")
    one.seat.greeted()
    two.seat.greeted()
    desk.state.focus_on("editor", A)
    assert await one.next() == await two.next() == Focus(A, CURSOR_AT_TOP, "editor")
    desk.state.focus_on("editor", None)
    assert await one.next() is NO_FOCUS


async def test_one_that_never_greets_hears_nothing_and_keeps_no_mention_from_others() -> None:
    desk = desk_of()
    mute = Assistant(desk, "mute")
    assert desk.mention(Mention(A)) == 0
    late = Assistant(desk, "late")
    late.seat.greeted()
    assert await late.next() == Mention(A)
    assert mute.told.empty()


async def test_one_that_left_is_told_no_more() -> None:
    desk = desk_of()
    one = Assistant(desk)
    one.seat.greeted()
    desk.state.focus_on("editor", A)
    one.seat.leave()
    other = Assistant(desk, "other")
    other.seat.greeted()
    await other.next()
    assert one.told.empty()
    assert desk.assistants == ("other",)


async def test_a_mention_of_a_private_note_is_refused() -> None:
    desk = desk_of({A})
    with pytest.raises(PermissionDenied):
        desk.mention(Mention(A))


async def test_a_note_that_became_private_while_its_mention_waited_is_not_told() -> None:
    hidden: set[VaultPath] = set()
    desk = EditorHub(lambda path: path not in hidden, timing=QUICK)
    one = Assistant(desk)
    desk.mention(Mention(A))
    one.seat.greeted()
    hidden.add(A)
    desk.mention(Mention(B))
    assert await one.next() == Mention(B)
    assert one.told.empty()


async def test_leaving_takes_back_what_was_asked() -> None:
    desk = desk_of()
    one = Assistant(desk)
    from vaultbridge.editor.proposals import FrontEnd, Rejected

    desk.diffs.join("page", FrontEnd(lambda diff: None, lambda diff, why: None))

    async def nothing() -> str:
        return ""

    task = asyncio.ensure_future(desk.diffs.ask("one", "tab", A, nothing, ""))
    await asyncio.sleep(0)
    one.seat.leave()
    assert await asyncio.wait_for(task, WAIT) == Rejected()


async def test_a_note_that_became_private_is_not_told_again_after_a_prompt() -> None:
    """Nobody reported anything since; the scope alone changed."""
    hidden: set[VaultPath] = set()
    desk = EditorHub(lambda path: path not in hidden, timing=QUICK)
    desk.state.join("editor", "page")
    one = Assistant(desk)
    one.seat.greeted()
    desk.state.focus_on("editor", A)
    assert await one.next() == Focus(A, CURSOR_AT_TOP, "editor")
    hidden.add(A)
    one.seat.prompt_submitted()
    desk.mention(Mention(B))
    assert await one.next() == Mention(B)
    assert one.told.empty()


async def test_a_note_that_became_private_before_it_was_told_is_never_told() -> None:
    hidden: set[VaultPath] = set()
    desk = EditorHub(lambda path: path not in hidden, timing=QUICK)
    desk.state.join("editor", "page")
    one = Assistant(desk)
    one.seat.greeted()
    desk.state.focus_on("editor", A)
    hidden.add(A)
    desk.mention(Mention(B))
    assert await one.next() == Mention(B)
    desk.state.focus_on("editor", B)
    assert await one.next() == Focus(B, CURSOR_AT_TOP, "editor")


async def test_a_changed_scope_clears_what_was_shown() -> None:
    hidden: set[VaultPath] = set()
    desk = EditorHub(lambda path: path not in hidden, timing=QUICK)
    desk.state.join("editor", "page")
    one = Assistant(desk)
    one.seat.greeted()
    desk.state.focus_on("editor", A)
    await one.next()
    hidden.add(A)
    desk.state.visibility_changed()
    assert await one.next() is NO_FOCUS


async def test_who_follows_hears_of_every_assistant_that_comes_or_goes() -> None:
    desk = desk_of()
    counts: list[int] = []
    stop = desk.follow_assistants(lambda: counts.append(len(desk.assistants)))
    first, second = Assistant(desk, "one"), Assistant(desk, "two")
    first.seat.leave()
    first.seat.leave()
    assert counts == [1, 2, 1]
    stop()
    second.seat.leave()
    assert counts == [1, 2, 1]
