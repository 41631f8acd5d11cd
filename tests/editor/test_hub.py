"""The hub: which assistants are notified, and when, in real (short) time. `feed` decides of what."""

from __future__ import annotations

import asyncio

import pytest

from support.waiting import BOUND
from vaultbridge.editor.feed import NO_FOCUS, FeedEvent
from vaultbridge.editor.hub import EditorHub, Timing
from vaultbridge.editor.model import TOP_OF_NOTE, Focus, Mention
from vaultbridge.errors import PermissionDenied
from vaultbridge.vault.paths import VaultPath, vault_path

A, B = vault_path("A.md"), vault_path("B.md")
QUICK = Timing(debounce=0.002, debounce_limit=0.004, ready_after=0.002, mention_wait=BOUND)


class Assistant:
    def __init__(self, hub: EditorHub, name: str = "one") -> None:
        self.events: asyncio.Queue[FeedEvent] = asyncio.Queue()
        self.session = hub.connect(name, self.events.put_nowait)

    async def next(self) -> FeedEvent:
        return await asyncio.wait_for(self.events.get(), BOUND)


def make_hub(hidden: set[VaultPath] | None = None, timing: Timing = QUICK) -> EditorHub:
    hub = EditorHub(lambda path: path not in (hidden or ()), timing=timing)
    hub.state.join("editor", "page")
    return hub


async def test_every_active_assistant_is_notified() -> None:
    hub = make_hub()
    first, second = Assistant(hub, "one"), Assistant(hub, "two")
    first.session.activate()
    second.session.activate()
    hub.state.focus_on("editor", A)
    assert await first.next() == await second.next() == Focus(A, TOP_OF_NOTE, "editor")
    hub.state.focus_on("editor", None)
    assert await first.next() is NO_FOCUS


async def test_an_inactive_assistant_gets_nothing_and_takes_no_mention_from_others() -> None:
    hub = make_hub()
    mute = Assistant(hub, "mute")
    assert hub.mention(Mention(A)) == 0
    late = Assistant(hub, "late")
    late.session.activate()
    assert await late.next() == Mention(A)
    assert mute.events.empty()


async def test_an_assistant_that_left_is_not_notified() -> None:
    hub = make_hub()
    assistant = Assistant(hub)
    assistant.session.activate()
    hub.state.focus_on("editor", A)
    assistant.session.leave()
    other = Assistant(hub, "other")
    other.session.activate()
    await other.next()
    assert assistant.events.empty()
    assert hub.assistants == ("other",)


async def test_a_mention_of_a_private_note_is_refused() -> None:
    hub = make_hub({A})
    with pytest.raises(PermissionDenied):
        hub.mention(Mention(A))


async def test_a_mention_of_a_note_that_became_private_while_it_waited_is_not_sent() -> None:
    hidden: set[VaultPath] = set()
    hub = EditorHub(lambda path: path not in hidden, timing=QUICK)
    assistant = Assistant(hub)
    hub.mention(Mention(A))
    assistant.session.activate()
    hidden.add(A)
    hub.mention(Mention(B))
    assert await assistant.next() == Mention(B)
    assert assistant.events.empty()


async def test_leaving_withdraws_pending_diffs() -> None:
    hub = make_hub()
    assistant = Assistant(hub)
    from vaultbridge.review.diff_model import Rejected

    hub.diffs.join("page", lambda event, diff: None)

    async def read_nothing() -> str:
        return ""

    task = asyncio.ensure_future(hub.diffs.ask("one", "tab", A, read_nothing, ""))
    await asyncio.sleep(0)
    assistant.session.leave()
    assert await asyncio.wait_for(task, BOUND) == Rejected()


async def test_a_note_that_became_private_is_not_sent_again_after_a_prompt() -> None:
    """Nobody reported anything since; the scope alone changed."""
    hidden: set[VaultPath] = set()
    hub = EditorHub(lambda path: path not in hidden, timing=QUICK)
    hub.state.join("editor", "page")
    assistant = Assistant(hub)
    assistant.session.activate()
    hub.state.focus_on("editor", A)
    assert await assistant.next() == Focus(A, TOP_OF_NOTE, "editor")
    hidden.add(A)
    assistant.session.prompt_submitted()
    hub.mention(Mention(B))
    assert await assistant.next() == Mention(B)
    assert assistant.events.empty()


async def test_a_note_that_became_private_before_it_was_sent_is_never_sent() -> None:
    hidden: set[VaultPath] = set()
    hub = EditorHub(lambda path: path not in hidden, timing=QUICK)
    hub.state.join("editor", "page")
    assistant = Assistant(hub)
    assistant.session.activate()
    hub.state.focus_on("editor", A)
    hidden.add(A)
    hub.mention(Mention(B))
    assert await assistant.next() == Mention(B)
    hub.state.focus_on("editor", B)
    assert await assistant.next() == Focus(B, TOP_OF_NOTE, "editor")


async def test_a_changed_scope_clears_the_selection() -> None:
    hidden: set[VaultPath] = set()
    hub = EditorHub(lambda path: path not in hidden, timing=QUICK)
    hub.state.join("editor", "page")
    assistant = Assistant(hub)
    assistant.session.activate()
    hub.state.focus_on("editor", A)
    await assistant.next()
    hidden.add(A)
    hub.state.visibility_changed()
    assert await assistant.next() is NO_FOCUS


async def test_subscribers_learn_of_every_assistant_that_connects_or_leaves() -> None:
    hub = make_hub()
    counts: list[int] = []
    stop = hub.follow_assistants(lambda: counts.append(len(hub.assistants)))
    first, second = Assistant(hub, "one"), Assistant(hub, "two")
    first.session.leave()
    first.session.leave()
    assert counts == [1, 2, 1]
    stop()
    second.session.leave()
    assert counts == [1, 2, 1]
