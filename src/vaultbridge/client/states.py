"""The life of a transport as a table: states, events, legal moves. Pure.

A transport ends once. `disconnected` is both where it begins and where it ends; `Lifecycle.ended` tells
them apart, and after it no move is legal.
"""

from __future__ import annotations

import enum
from typing import Final, Literal


class State(enum.StrEnum):
    DISCONNECTED = "disconnected"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    RECONNECTING = "reconnecting"
    DISCONNECTING = "disconnecting"


Event = Literal["start", "opened", "failed", "lost", "spent", "close", "closed"]

MOVES: Final[dict[tuple[State, Event], State]] = {
    (State.DISCONNECTED, "start"): State.CONNECTING,
    (State.DISCONNECTED, "close"): State.DISCONNECTING,
    (State.CONNECTING, "opened"): State.CONNECTED,
    (State.CONNECTING, "failed"): State.DISCONNECTED,
    (State.CONNECTING, "close"): State.DISCONNECTING,
    (State.CONNECTED, "lost"): State.RECONNECTING,
    (State.CONNECTED, "close"): State.DISCONNECTING,
    (State.RECONNECTING, "opened"): State.CONNECTED,
    (State.RECONNECTING, "spent"): State.DISCONNECTED,
    (State.RECONNECTING, "close"): State.DISCONNECTING,
    (State.DISCONNECTING, "closed"): State.DISCONNECTED,
}
"""A failed first connection may be tried again; spent attempts and `close()` are the end."""

ENDINGS: Final[frozenset[Event]] = frozenset({"spent", "closed"})


class Lifecycle:
    """Where a transport is in its life. An illegal move is a KeyError, and a bug of this package."""

    __slots__ = ("ended", "state")

    def __init__(self) -> None:
        self.state = State.DISCONNECTED
        self.ended = False

    def allows(self, event: Event) -> bool:
        return not self.ended and (self.state, event) in MOVES

    def move(self, event: Event) -> State:
        if self.ended:
            raise KeyError((self.state, event))
        self.state = MOVES[self.state, event]
        self.ended = event in ENDINGS
        return self.state
