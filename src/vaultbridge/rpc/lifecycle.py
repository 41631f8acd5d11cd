"""The phases of a session, as a table.

Two rules decide what may live here: a phase is something both ends can observe on the wire, and a method
belongs to the table only when a protocol forbids it in some phase. What the methods do is not known here.

    NEW ──initialize answered──> OPEN ──initialized──> READY
     │                            │                      │
     └──────────── exit or end of input ─────────────────┴──> CLOSING ──drained──> CLOSED

`NEW` admits only what `ADMITTED` lists; a 2026-07-28 request carries its own version and is admitted in every
phase but CLOSED (the caller decides that before asking). `OPEN` and `READY` admit the same requests, because
seed 004 knows no `initialized` notification; only our own requests to the client wait for READY, as
2024-11-05 to 2025-11-25 ask (Lifecycle, Initialization).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final


class Phase(Enum):
    NEW = auto()
    OPEN = auto()
    READY = auto()
    CLOSING = auto()
    CLOSED = auto()


class Signal(Enum):
    INITIALIZE_ANSWERED = auto()
    INITIALIZED = auto()
    ENDING = auto()
    DRAINED = auto()


MOVES: Final[dict[tuple[Phase, Signal], Phase]] = {
    (Phase.NEW, Signal.INITIALIZE_ANSWERED): Phase.OPEN,
    (Phase.OPEN, Signal.INITIALIZED): Phase.READY,
    # A client may repeat the notification or send it before our answer has left: harmless.
    (Phase.NEW, Signal.INITIALIZED): Phase.NEW,
    (Phase.READY, Signal.INITIALIZED): Phase.READY,
    (Phase.CLOSING, Signal.INITIALIZED): Phase.CLOSING,
    (Phase.NEW, Signal.ENDING): Phase.CLOSING,
    (Phase.OPEN, Signal.ENDING): Phase.CLOSING,
    (Phase.READY, Signal.ENDING): Phase.CLOSING,
    (Phase.CLOSING, Signal.ENDING): Phase.CLOSING,
    # The answer to an initialize that was in flight when the input ended.
    (Phase.CLOSING, Signal.INITIALIZE_ANSWERED): Phase.CLOSING,
    (Phase.CLOSING, Signal.DRAINED): Phase.CLOSED,
}

ADMITTED: Final[dict[Phase, frozenset[str] | None]] = {
    Phase.NEW: frozenset({"initialize", "ping"}),
    Phase.OPEN: None,
    Phase.READY: None,
    Phase.CLOSING: frozenset(),
    Phase.CLOSED: frozenset(),
}
"""Requests admitted in each phase; None stands for every one."""


class IllegalMove(Exception):
    """Our own code asked for a move the table does not have. Never the peer's fault."""

    def __init__(self, phase: Phase, signal: Signal) -> None:
        super().__init__(f"{signal.name} in phase {phase.name}")


def move(phase: Phase, signal: Signal) -> Phase:
    try:
        return MOVES[phase, signal]
    except KeyError:
        raise IllegalMove(phase, signal) from None


def refusal(phase: Phase, method: str) -> str | None:
    """Why a handshake-era request may not come now, or None when it may."""
    admitted = ADMITTED[phase]
    if admitted is None:
        return f"{method} came twice on one connection" if method == "initialize" else None
    if method in admitted:
        return None
    if phase is Phase.NEW:
        return f"{method} came before initialize; send initialize first"
    return f"{method} came after the end of the session"
