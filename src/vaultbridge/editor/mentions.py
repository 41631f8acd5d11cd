"""Mentions that wait for an assistant. Pure: the caller brings the clock.

A person points to a note and starts Claude Code a moment later, or the client is just reconnecting:
the mention should still arrive. Older ones would surprise, so they are dropped.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from vaultbridge.editor.model import Mention

WAIT_SECONDS: Final = 10.0
"""How long a mention waits for a client: as long as starting one takes, short enough to be remembered."""

WAITING_MENTIONS: Final = 50
"""At most this many wait; of more the oldest are dropped. Nobody points to more notes in ten seconds."""


class WaitingMentions:
    def __init__(self, wait_seconds: float = WAIT_SECONDS) -> None:
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
