"""The phases of a session: the table itself."""

from __future__ import annotations

import pytest

from vaultbridge.protocols.mcp.versions import (
    ADMITTED,
    TRANSITIONS,
    IllegalTransition,
    Phase,
    Signal,
    explain_refusal,
    next_phase,
)


def test_the_handshake_leads_to_ready() -> None:
    phase = next_phase(Phase.NEW, Signal.INITIALIZE_ANSWERED)
    assert phase is Phase.OPEN
    assert next_phase(phase, Signal.INITIALIZED) is Phase.READY


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.CLOSED])
def test_a_session_can_end_in_every_phase(phase: Phase) -> None:
    assert next_phase(phase, Signal.ENDING) is Phase.CLOSING


def test_closed_is_the_end() -> None:
    assert next_phase(Phase.CLOSING, Signal.DRAINED) is Phase.CLOSED
    for signal in Signal:
        with pytest.raises(IllegalTransition):
            next_phase(Phase.CLOSED, signal)


def test_an_initialize_can_be_answered_only_once() -> None:
    for phase in (Phase.OPEN, Phase.READY):
        with pytest.raises(IllegalTransition, match=phase.name):
            next_phase(phase, Signal.INITIALIZE_ANSWERED)


def test_every_phase_but_the_last_can_be_left_and_every_one_is_judged() -> None:
    assert {phase for phase, _ in TRANSITIONS} == set(Phase) - {Phase.CLOSED}
    assert set(ADMITTED) == set(Phase)


def test_before_initialize_only_initialize_and_ping_are_admitted() -> None:
    assert explain_refusal(Phase.NEW, "initialize") is None
    assert explain_refusal(Phase.NEW, "ping") is None
    why = explain_refusal(Phase.NEW, "tools/list")
    assert why is not None
    assert "tools/list" in why
    assert "initialize first" in why


@pytest.mark.parametrize("phase", [Phase.OPEN, Phase.READY])
def test_after_initialize_everything_is_admitted_except_initialize(phase: Phase) -> None:
    """Seed 004 has no `initialized` notification: OPEN must serve requests."""
    assert explain_refusal(phase, "tools/call") is None
    why = explain_refusal(phase, "initialize")
    assert why is not None
    assert "twice" in why


@pytest.mark.parametrize("phase", [Phase.CLOSING, Phase.CLOSED])
def test_after_the_end_nothing_is_admitted(phase: Phase) -> None:
    assert explain_refusal(phase, "ping") is not None
