"""Decides what to send to one assistant, and when. Pure: the caller provides the time.

An assistant is notified of where the person is only when that has changed, debounced, and never before it is
ready. The caller calls `take_due(now)` whenever `wake_at` has passed, and sends what it returns, in order.

A mention with no assistant to receive it waits in a `MentionQueue`: the person may start Claude Code a moment
later, or the client may be reconnecting. A mention that arrives late would be a surprise, so old ones are
dropped.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from vaultbridge.editor.model import Focus, Mention

MENTION_SECONDS: Final = 10.0
"""How long a mention waits for a client: as long as starting one takes, short enough to be remembered."""

WAITING_MENTIONS: Final = 50
"""The most mentions that wait; then the oldest are dropped. Nobody mentions more notes in ten seconds."""


class MentionQueue:
    def __init__(self, wait_seconds: float = MENTION_SECONDS) -> None:
        self._wait = wait_seconds
        self._waiting: deque[tuple[float, Mention]] = deque(maxlen=WAITING_MENTIONS)

    def add(self, mention: Mention, now: float) -> None:
        self._waiting.append((now, mention))

    def take(self, now: float) -> tuple[Mention, ...]:
        """Empty the queue and return the mentions that are not too old, in order."""
        fresh = tuple(mention for since, mention in self._waiting if now - since <= self._wait)
        self._waiting.clear()
        return fresh

    def __len__(self) -> int:
        return len(self._waiting)


DEBOUNCE_SECONDS: Final = 0.15
"""A change is sent when no other has followed for this long: dragging a selection counts as one change."""

DEBOUNCE_LIMIT_SECONDS: Final = 0.3
"""A change is sent at the latest this long after the first one, so that the assistant can follow a person
who keeps moving."""

READY_SECONDS: Final = 0.6
"""Claude Code loses notifications in the first 0.2 s or so after it sends `ide_connected`; this leaves a
margin."""


class NoFocus:
    """The person is not in a note that assistants may know of."""

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
        self._sent: Focus | NoFocus = NO_FOCUS
        self._current: Focus | NoFocus = NO_FOCUS
        self._first_change: float | None = None
        self._last_change = 0.0
        self._mentions: deque[Mention] = deque(maxlen=WAITING_MENTIONS)

    def client_ready(self, now: float) -> None:
        """The client has announced itself. When it does so again (`initialized`, then `ide_connected`), the
        wait starts again."""
        self._ready_at = now + self._ready_after

    def is_ready(self, now: float) -> bool:
        return self._ready_at is not None and now >= self._ready_at

    def focus_changed(self, focus: Focus | None, now: float) -> None:
        self._current = focus or NO_FOCUS
        if _looks_same(self._current, self._sent):
            self._first_change = None
        else:
            self._mark(now)

    def correct(self, focus: Focus | None) -> None:
        """Correct where the person is, just before sending: a note that is private now must not be sent."""
        self._current = focus or NO_FOCUS

    def prompt_submitted(self, now: float) -> None:
        """The client forgets the selection with every prompt: send it again as if it were new."""
        self._sent = NO_FOCUS
        if self._current is not NO_FOCUS:
            self._mark(now)

    def mention(self, mention: Mention) -> None:
        self._mentions.append(mention)

    @property
    def wake_at(self) -> float | None:
        """When `take_due` will next return something; None while nothing is pending."""
        if self._ready_at is None:
            return None
        if self._mentions:
            return self._ready_at
        due_at = self._find_debounce_end()
        return None if due_at is None else max(due_at, self._ready_at)

    def take_due(self, now: float) -> tuple[FeedEvent, ...]:
        """What to send now. It then counts as sent."""
        events: list[FeedEvent] = []
        if not self.is_ready(now):
            return ()
        due_at = self._find_debounce_end()
        if due_at is not None and now >= due_at:
            self._first_change = None
            if not _looks_same(self._current, self._sent):
                self._sent = self._current
                events.append(self._current)
        events.extend(self._mentions)
        self._mentions.clear()
        return tuple(events)

    def _find_debounce_end(self) -> float | None:
        if self._first_change is None:
            return None
        return min(self._last_change + self._debounce, self._first_change + self._limit)

    def _mark(self, now: float) -> None:
        self._last_change = now
        if self._first_change is None:
            self._first_change = now


def _looks_same(first: Focus | NoFocus, second: Focus | NoFocus) -> bool:
    """Whether the client would see no difference: the source does not matter to it."""
    if isinstance(first, Focus) and isinstance(second, Focus):
        return first.path == second.path and first.selection == second.selection
    return first is second
