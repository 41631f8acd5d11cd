"""What one assistant has been told, and what it is to be told next. Pure: the caller brings the clock.

A client is told where the person is, debounced, only when it changed, and nothing before it is ready.
The caller asks `due(now)` whenever `wake_at` has passed, and sends what comes out, in order.

Mentions that wait for an assistant. Pure: the caller brings the clock.

A person points to a note and starts Claude Code a moment later, or the client is just reconnecting:
the mention should still arrive. Older ones would surprise, so they are dropped.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from vaultbridge.editor.model import Focus, Mention

MENTION_SECONDS: Final = 10.0
"""How long a mention waits for a client: as long as starting one takes, short enough to be remembered."""

WAITING_MENTIONS: Final = 50
"""At most this many wait; of more the oldest are dropped. Nobody points to more notes in ten seconds."""


class MentionQueue:
    def __init__(self, wait_seconds: float = MENTION_SECONDS) -> None:
        self._wait = wait_seconds
        self._waiting: deque[tuple[float, Mention]] = deque(maxlen=WAITING_MENTIONS)

    def add(self, mention: Mention, now: float) -> None:
        self._waiting.append((now, mention))

    def take(self, now: float) -> tuple[Mention, ...]:
        """Everything still wanted, in order; nothing waits any more afterwards."""
        fresh = tuple(mention for since, mention in self._waiting if now - since <= self._wait)
        self._waiting.clear()
        return fresh

    def __len__(self) -> int:
        return len(self._waiting)


DEBOUNCE_SECONDS: Final = 0.15
"""A change is told when this long no further one came: a dragged selection is one change."""

DEBOUNCE_LIMIT_SECONDS: Final = 0.3
"""…but never later than this after the first change, so that a person who keeps moving is still followed."""

READY_SECONDS: Final = 0.6
"""Claude Code loses notifications in the first ~0.2 s after it says `ide_connected`; this leaves a margin."""


class NoFocus:
    """The person is in no note that may be told."""

    def __repr__(self) -> str:
        return "NO_FOCUS"


NO_FOCUS: Final = NoFocus()

FeedEvent = Focus | NoFocus | Mention


class ClientFeed:
    def __init__(
        self,
        *,
        debounce: float = DEBOUNCE_SECONDS,
        debounce_limit: float = DEBOUNCE_LIMIT_SECONDS,
        ready_after: float = READY_SECONDS,
    ) -> None:
        self._debounce = debounce
        self._limit = debounce_limit
        self._ready_after = ready_after
        self._ready_at: float | None = None
        self._told: Focus | NoFocus = NO_FOCUS
        self._current: Focus | NoFocus = NO_FOCUS
        self._first_change: float | None = None
        self._last_change = 0.0
        self._mentions: deque[Mention] = deque(maxlen=WAITING_MENTIONS)

    def client_ready(self, now: float) -> None:
        """The client said that it is there. Said again (`initialized`, then `ide_connected`), the wait
        begins again."""
        self._ready_at = now + self._ready_after

    def is_ready(self, now: float) -> bool:
        return self._ready_at is not None and now >= self._ready_at

    def focus_changed(self, focus: Focus | None, now: float) -> None:
        self._current = focus or NO_FOCUS
        if _same(self._current, self._told):
            self._first_change = None
        else:
            self._mark(now)

    def correct(self, focus: Focus | None) -> None:
        """Where the person is by now, just before telling: what was private meanwhile must not be told."""
        self._current = focus or NO_FOCUS

    def prompt_submitted(self, now: float) -> None:
        """The client forgets the selection with every prompt: tell it again, as if it had never been told."""
        self._told = NO_FOCUS
        if self._current is not NO_FOCUS:
            self._mark(now)

    def mention(self, mention: Mention) -> None:
        self._mentions.append(mention)

    @property
    def wake_at(self) -> float | None:
        """When `due` will next have something, or None: not before something happens."""
        if self._ready_at is None:
            return None
        if self._mentions:
            return self._ready_at
        settled = self._settled_at()
        return None if settled is None else max(settled, self._ready_at)

    def due(self, now: float) -> tuple[FeedEvent, ...]:
        """What is to be sent now. It counts as sent: call it only when the sending will be tried."""
        told: list[FeedEvent] = []
        if not self.is_ready(now):
            return ()
        settled = self._settled_at()
        if settled is not None and now >= settled:
            self._first_change = None
            if not _same(self._current, self._told):
                self._told = self._current
                told.append(self._current)
        told.extend(self._mentions)
        self._mentions.clear()
        return tuple(told)

    def _settled_at(self) -> float | None:
        if self._first_change is None:
            return None
        return min(self._last_change + self._debounce, self._first_change + self._limit)

    def _mark(self, now: float) -> None:
        self._last_change = now
        if self._first_change is None:
            self._first_change = now


def _same(one: Focus | NoFocus, other: Focus | NoFocus) -> bool:
    """Who said it makes no difference to the client."""
    if isinstance(one, Focus) and isinstance(other, Focus):
        return one.path == other.path and one.selection == other.selection
    return one is other
