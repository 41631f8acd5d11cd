"""What is asked for again after a reconnection, beside the handshake."""

from __future__ import annotations

from typing import Any

from vaultbridge.client.messages import MessageKind
from vaultbridge.client.websocket.handshake import SUBSCRIPTIONS, ServerState


def request(id_: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def note_accepted(state: ServerState, id_: Any, method: str, **params: Any) -> dict[str, Any]:
    message = request(id_, method, **params)
    state.note_sent(message)
    state.note_received(MessageKind.RESPONSE, {"jsonrpc": "2.0", "id": id_, "result": {}})
    return message


def test_what_the_server_accepted_is_remembered_until_it_is_undone() -> None:
    state = ServerState()
    first = note_accepted(state, 1, "resources/subscribe", uri="a:1")
    two = note_accepted(state, 2, "resources/subscribe", uri="a:2")
    level = note_accepted(state, 3, "logging/setLevel", level="debug")
    assert state.requests() == (first, two, level)
    note_accepted(state, 4, "resources/unsubscribe", uri="a:1")
    newer = note_accepted(state, 5, "logging/setLevel", level="error")
    assert state.requests() == (two, newer)


def test_what_was_refused_unanswered_or_unrelated_is_not_remembered() -> None:
    state = ServerState()
    state.note_sent(request(1, "resources/subscribe", uri="a:1"))
    state.note_received(MessageKind.ERROR, {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}})
    state.note_sent(request(2, "resources/subscribe", uri="a:2"))
    note_accepted(state, 3, "tools/list")
    note_accepted(state, 4, "resources/subscribe")
    note_accepted(state, 5, "resources/subscribe", uri=7)
    assert state.requests() == ()


def test_a_reused_id_belongs_to_its_newest_request() -> None:
    state = ServerState()
    state.note_sent(request(1, "resources/subscribe", uri="a:1"))
    note_accepted(state, 1, "tools/list")
    assert state.requests() == ()


def test_a_failed_unsubscribe_changes_nothing() -> None:
    state = ServerState()
    first = note_accepted(state, 1, "resources/subscribe", uri="a:1")
    state.note_sent(request(2, "resources/unsubscribe", uri="a:1"))
    state.note_received(MessageKind.ERROR, {"jsonrpc": "2.0", "id": 2, "error": {"code": 1, "message": "no"}})
    assert state.requests() == (first,)
    state.forget(first)
    assert state.requests() == ()


def test_the_number_of_accepted_requests_is_bounded() -> None:
    state = ServerState()
    for number in range(SUBSCRIPTIONS + 50):
        note_accepted(state, number, "resources/subscribe", uri=f"a:{number}")
    assert len(state.requests()) == SUBSCRIPTIONS


def test_the_number_of_unanswered_requests_is_bounded() -> None:
    state = ServerState()
    for number in range(SUBSCRIPTIONS + 50):
        state.note_sent(request(number, "resources/subscribe", uri=f"a:{number}"))
    for number in range(SUBSCRIPTIONS):
        refused = {"jsonrpc": "2.0", "id": number, "error": {"code": 1, "message": "no"}}
        state.note_received(MessageKind.ERROR, refused)
    for number in range(SUBSCRIPTIONS, SUBSCRIPTIONS + 50):
        state.note_received(MessageKind.RESPONSE, {"jsonrpc": "2.0", "id": number, "result": {}})
    assert state.requests() == (), "those beyond the bound were not remembered"
