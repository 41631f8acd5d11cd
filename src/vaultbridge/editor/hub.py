"""Connects people's editors with assistants: editors report, and assistants are notified in time.

Editors report to `state` and decide on `diffs`. Every assistant has a session, which sends what its
`feed.ClientFeed` says is due. The hub runs the timers and knows no wire format.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct

from vaultbridge.editor.feed import (
    DEBOUNCE_LIMIT_SECONDS,
    DEBOUNCE_SECONDS,
    MENTION_SECONDS,
    READY_SECONDS,
    ClientFeed,
    FeedEvent,
    MentionQueue,
)
from vaultbridge.editor.model import Mention, Selection
from vaultbridge.editor.state import EditorState
from vaultbridge.errors import PermissionDenied
from vaultbridge.review.diffs import PendingDiffs
from vaultbridge.review.reviews import Reviews
from vaultbridge.vault.paths import VaultPath


class Timing(Struct, frozen=True):
    """All delays of the hub, in seconds; tests shorten them."""

    debounce: float = DEBOUNCE_SECONDS
    debounce_limit: float = DEBOUNCE_LIMIT_SECONDS
    ready_after: float = READY_SECONDS
    mention_wait: float = MENTION_SECONDS


DEFAULT_TIMING: Final = Timing()


class ConnectedEditor(Protocol):
    """An editor that can open and save files on request. Both methods return whether it did."""

    async def open_file(
        self, path: VaultPath, selection: Selection | None, *, preview: bool, front: bool
    ) -> bool: ...

    async def save_file(self, path: VaultPath) -> bool: ...


class AssistantSession:
    """One connected assistant. `send` is called in the event loop with what is due, in order."""

    def __init__(self, hub: EditorHub, name: str, send: Callable[[FeedEvent], None], timing: Timing) -> None:
        self.name = name
        self._hub = hub
        self._send = send
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._feed = ClientFeed(
            debounce=timing.debounce, debounce_limit=timing.debounce_limit, ready_after=timing.ready_after
        )
        self._feed.focus_changed(hub.state.focus(), self._loop.time())
        self.is_active = False

    def activate(self) -> None:
        """The assistant is ready: it receives the mentions that were waiting for one."""
        now = self._loop.time()
        self.is_active = True
        self._feed.client_ready(now)
        for mention in self._hub.take_mentions(now):
            self._feed.mention(mention)
        self._schedule()

    def prompt_submitted(self) -> None:
        self._feed.correct(self._hub.state.focus())
        self._feed.prompt_submitted(self._loop.time())
        self._schedule()

    def focus_changed(self) -> None:
        self._feed.focus_changed(self._hub.state.focus(), self._loop.time())
        self._schedule()

    def mention(self, mention: Mention) -> None:
        self._feed.mention(mention)
        self._schedule()

    def leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._hub.leave(self)

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wake = self._feed.wake_at
        if wake is not None:
            self._timer = self._loop.call_at(wake, self._wake)

    def _wake(self) -> None:
        self._timer = None
        # A timer may fire one clock tick early; `take_due` compares exactly.
        now = max(self._loop.time(), self._feed.wake_at or 0.0)
        self._feed.correct(self._hub.state.focus())
        for event in self._feed.take_due(now):
            # The scope may have changed since it was queued: a note that is private now must not be sent.
            if not isinstance(event, Mention) or self._hub.visible(event.path):
                self._send(event)
        self._schedule()


class EditorHub:
    def __init__(
        self,
        visible: Callable[[VaultPath], bool],
        *,
        share_selection: bool = True,
        timing: Timing = DEFAULT_TIMING,
    ) -> None:
        self.visible = visible
        self.state = EditorState(visible, share_selection=share_selection)
        self.diffs = PendingDiffs()
        self.reviews: Reviews | None = None
        """The changes that wait in the vault's store; None where there is none."""
        self._timing = timing
        self._waiting = MentionQueue(timing.mention_wait)
        self._sessions: list[AssistantSession] = []
        self._followers: list[Callable[[], None]] = []
        self.editors: dict[str, ConnectedEditor] = {}
        """Connected editors that can open and save files, by their name as a source."""
        self.state.subscribe(self._focus_changed)

    def connect(self, name: str, send: Callable[[FeedEvent], None]) -> AssistantSession:
        """Open the session of a new assistant. It receives nothing before `activate` is called."""
        session = AssistantSession(self, name, send, self._timing)
        self._sessions.append(session)
        self._assistants_changed()
        return session

    def leave(self, session: AssistantSession) -> None:
        if session in self._sessions:
            self._sessions.remove(session)
            self._assistants_changed()
        self.diffs.close_all(session.name)

    @property
    def assistants(self) -> tuple[str, ...]:
        return tuple(session.name for session in self._sessions)

    def follow_assistants(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` whenever an assistant connects or disconnects, until the returned function is
        called."""
        self._followers.append(listener)
        return lambda: self._followers.remove(listener)

    def mention(self, mention: Mention) -> int:
        """Mention a note to every active assistant and return how many there are. With none, the mention
        waits a while for one. Raises PermissionDenied for a private note."""
        if not self.visible(mention.path):
            raise PermissionDenied(
                f"{mention.path} is private: assistants may not see it.",
                hint="Change the vault's scope to share it.",
            )
        listening = [session for session in self._sessions if session.is_active]
        if not listening:
            self._waiting.add(mention, asyncio.get_running_loop().time())
        for session in listening:
            session.mention(mention)
        return len(listening)

    def take_mentions(self, now: float) -> tuple[Mention, ...]:
        return self._waiting.take(now)

    def _assistants_changed(self) -> None:
        for listener in tuple(self._followers):
            listener()

    def _focus_changed(self) -> None:
        for session in tuple(self._sessions):
            session.focus_changed()
