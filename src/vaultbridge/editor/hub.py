"""Where people's editors and assistants meet: state in, notifications out, on time.

Editors report to `state` and decide on `diffs`; every assistant has a seat, which tells it what
`feed.ClientFeed` says is due. The desk owns the timers between them. It knows no wire format.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct

from vaultbridge.editor.feed import (
    DEBOUNCE_LIMIT_SECONDS,
    DEBOUNCE_SECONDS,
    READY_SECONDS,
    WAIT_SECONDS,
    ClientFeed,
    Told,
    WaitingMentions,
)
from vaultbridge.editor.model import Mention, Selection
from vaultbridge.editor.proposals import PendingDiffs
from vaultbridge.editor.state import EditorState
from vaultbridge.errors import PermissionDenied
from vaultbridge.vault.paths import VaultPath


class Timing(Struct, frozen=True):
    """All waits of the desk in seconds; tests shorten them."""

    debounce: float = DEBOUNCE_SECONDS
    debounce_limit: float = DEBOUNCE_LIMIT_SECONDS
    ready_after: float = READY_SECONDS
    mention_wait: float = WAIT_SECONDS


ORDINARY: Final = Timing()


class ConnectedEditor(Protocol):
    """An editor that can be asked to do something. Both say whether it did."""

    async def open_file(
        self, path: VaultPath, selection: Selection | None, *, preview: bool, front: bool
    ) -> bool: ...

    async def save_file(self, path: VaultPath) -> bool: ...


class AssistantSession:
    """One connected assistant. `tell` is called in the event loop with what is due, in order."""

    def __init__(self, desk: EditorHub, name: str, tell: Callable[[Told], None], timing: Timing) -> None:
        self.name = name
        self._desk = desk
        self._tell = tell
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._feed = ClientFeed(
            debounce=timing.debounce, debounce_limit=timing.debounce_limit, ready_after=timing.ready_after
        )
        self._feed.focus_changed(desk.state.focus(), self._loop.time())
        self.is_greeted = False

    def greeted(self) -> None:
        """The assistant is there: mentions that waited for one are its now."""
        now = self._loop.time()
        self.is_greeted = True
        self._feed.greeted(now)
        for mention in self._desk.take_mentions(now):
            self._feed.mention(mention)
        self._schedule()

    def prompt_submitted(self) -> None:
        self._feed.correct(self._desk.state.focus())
        self._feed.prompt_submitted(self._loop.time())
        self._schedule()

    def focus_changed(self) -> None:
        self._feed.focus_changed(self._desk.state.focus(), self._loop.time())
        self._schedule()

    def mention(self, mention: Mention) -> None:
        self._feed.mention(mention)
        self._schedule()

    def leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._desk.leave(self)

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wake = self._feed.wake_at
        if wake is not None:
            self._timer = self._loop.call_at(wake, self._wake)

    def _wake(self) -> None:
        self._timer = None
        # A timer may fire a clock tick early; `due` compares exactly.
        now = max(self._loop.time(), self._feed.wake_at or 0.0)
        self._feed.correct(self._desk.state.focus())
        for told in self._feed.due(now):
            # Scopes may have changed since it was queued: what is private now must not leave.
            if not isinstance(told, Mention) or self._desk.visible(told.path):
                self._tell(told)
        self._schedule()


class EditorHub:
    def __init__(
        self,
        visible: Callable[[VaultPath], bool],
        *,
        share_selection: bool = True,
        timing: Timing = ORDINARY,
    ) -> None:
        self.visible = visible
        self.state = EditorState(visible, share_selection=share_selection)
        self.diffs = PendingDiffs()
        self._timing = timing
        self._waiting = WaitingMentions(timing.mention_wait)
        self._seats: list[AssistantSession] = []
        self._followers: list[Callable[[], None]] = []
        self.editors: dict[str, ConnectedEditor] = {}
        """Connected editors that can open and save files, by their name as a source."""
        self.state.subscribe(self._focus_changed)

    def sit(self, name: str, tell: Callable[[Told], None]) -> AssistantSession:
        """A new assistant; it hears nothing before it is `greeted`."""
        seat = AssistantSession(self, name, tell, self._timing)
        self._seats.append(seat)
        self._assistants_changed()
        return seat

    def leave(self, seat: AssistantSession) -> None:
        if seat in self._seats:
            self._seats.remove(seat)
            self._assistants_changed()
        self.diffs.close_all(seat.name)

    @property
    def assistants(self) -> tuple[str, ...]:
        return tuple(seat.name for seat in self._seats)

    def follow_assistants(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` whenever an assistant comes or goes, until the returned function is called."""
        self._followers.append(listener)
        return lambda: self._followers.remove(listener)

    def mention(self, mention: Mention) -> int:
        """Point every connected assistant to a note, and say how many there are; with none, the mention
        waits a while for one. Raises PermissionDenied for a note that is kept private."""
        if not self.visible(mention.path):
            raise PermissionDenied(
                f"{mention.path} is kept private from assistants.",
                hint="Change the vault's scope to share it.",
            )
        listening = [seat for seat in self._seats if seat.is_greeted]
        if not listening:
            self._waiting.add(mention, asyncio.get_running_loop().time())
        for seat in listening:
            seat.mention(mention)
        return len(listening)

    def take_mentions(self, now: float) -> tuple[Mention, ...]:
        return self._waiting.take(now)

    def _assistants_changed(self) -> None:
        for listener in tuple(self._followers):
            listener()

    def _focus_changed(self) -> None:
        for seat in tuple(self._seats):
            seat.focus_changed()
