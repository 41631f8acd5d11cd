"""The table of a transport's life."""

from __future__ import annotations

from typing import get_args

import pytest

from vaultbridge.client.transport import ENDINGS, MOVES, Lifecycle, LifecycleEvent, State


def test_the_five_states_have_the_names_users_see() -> None:
    assert {state.value for state in State} == {
        "connecting", "connected", "reconnecting", "disconnecting", "disconnected",
    }  # fmt: skip


def test_every_state_can_be_closed_except_one_that_is_closing() -> None:
    closable = {state for state, event in MOVES if event == "close"}
    assert closable == set(State) - {State.DISCONNECTING}


def test_a_move_that_is_not_in_the_table_is_refused() -> None:
    for state in State:
        for event in get_args(LifecycleEvent):
            life = Lifecycle()
            life.state = state
            if (state, event) in MOVES:
                assert life.allows(event)
                assert life.move(event) is MOVES[state, event]
            else:
                assert not life.allows(event)
                with pytest.raises(KeyError):
                    life.move(event)


@pytest.mark.parametrize(
    "events", [["start", "opened", "lost", "spent"], ["close", "closed"], ["start", "close", "closed"]]
)
def test_after_its_end_nothing_moves_a_transport(events: list[LifecycleEvent]) -> None:
    life = Lifecycle()
    for event in events:
        assert not life.ended
        life.move(event)
    assert life.ended
    assert life.state is State.DISCONNECTED
    for event in get_args(LifecycleEvent):
        assert not life.allows(event)
        with pytest.raises(KeyError):
            life.move(event)


def test_a_failed_start_may_be_tried_again() -> None:
    life = Lifecycle()
    life.move("start")
    life.move("failed")
    assert life.allows("start")
    assert "failed" not in ENDINGS


def test_every_ending_leads_to_disconnected() -> None:
    for (_, event), target in MOVES.items():
        if event in ENDINGS:
            assert target is State.DISCONNECTED
