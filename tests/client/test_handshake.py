"""What is repeated after a reconnection."""

from __future__ import annotations

import pytest

from vaultbridge.client.errors import ConnectFailed
from vaultbridge.client.messages import MessageKind
from vaultbridge.client.websocket.handshake import FIRST_OWN_ID, Handshake, OwnIds

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
ACCEPTED = {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-11-25"}}
REFUSED = {"jsonrpc": "2.0", "id": 0, "error": {"code": -32602, "message": "no"}}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def make_established() -> Handshake:
    handshake = Handshake()
    handshake.note_sent(MessageKind.REQUEST, INITIALIZE)
    handshake.note_received(MessageKind.RESPONSE, ACCEPTED)
    return handshake


def test_an_accepted_initialize_is_repeated_under_an_id_of_its_own() -> None:
    handshake = make_established()
    first, second = handshake.make_replay(), handshake.make_replay()
    assert first["method"] == "initialize" and first["params"] == INITIALIZE["params"]
    assert (first["id"], second["id"]) == (FIRST_OWN_ID, FIRST_OWN_ID + 1)
    assert handshake.is_repeated(second["id"]) and not handshake.is_repeated(str(second["id"]))


def test_an_id_that_the_caller_uses_is_passed_over() -> None:
    handshake = Handshake(OwnIds({FIRST_OWN_ID, FIRST_OWN_ID + 1}.__contains__))
    handshake.note_sent(MessageKind.REQUEST, INITIALIZE)
    handshake.note_received(MessageKind.RESPONSE, ACCEPTED)
    assert handshake.make_replay()["id"] == FIRST_OWN_ID + 2


def test_without_a_handshake_there_is_nothing_to_repeat() -> None:
    handshake = Handshake()
    handshake.note_sent(MessageKind.REQUEST, {"jsonrpc": "2.0", "id": 1, "method": "server/discover"})
    handshake.note_received(MessageKind.RESPONSE, {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert not handshake.is_established


def test_a_refused_or_unanswered_initialize_is_not_repeated() -> None:
    refused = Handshake()
    refused.note_sent(MessageKind.REQUEST, INITIALIZE)
    refused.note_received(MessageKind.ERROR, REFUSED)
    assert not refused.is_established
    cut = Handshake()
    cut.note_sent(MessageKind.REQUEST, INITIALIZE)
    cut.note_lost()
    cut.note_received(MessageKind.RESPONSE, ACCEPTED)
    assert not cut.is_established


def test_an_answer_to_something_else_establishes_nothing() -> None:
    handshake = Handshake()
    handshake.note_sent(MessageKind.REQUEST, INITIALIZE)
    handshake.note_received(MessageKind.RESPONSE, {**ACCEPTED, "id": 1})
    assert not handshake.is_established


@pytest.mark.parametrize("method", ["notifications/initialized", "initialized"])
def test_the_confirmation_is_repeated_if_it_had_been_sent(method: str) -> None:
    handshake = make_established()
    assert handshake.confirmation() is None
    handshake.note_sent(MessageKind.NOTIFICATION, {**INITIALIZED, "method": method})
    assert handshake.confirmation() == {**INITIALIZED, "method": method}


def test_a_server_that_refuses_or_changes_its_version_cannot_go_on() -> None:
    handshake = make_established()
    handshake.check_replay(MessageKind.RESPONSE, ACCEPTED)
    with pytest.raises(ConnectFailed, match="refused to initialize"):
        handshake.check_replay(MessageKind.ERROR, REFUSED)
    with pytest.raises(ConnectFailed, match="now speaks MCP 2024-11-05"):
        handshake.check_replay(
            MessageKind.RESPONSE, {**ACCEPTED, "result": {"protocolVersion": "2024-11-05"}}
        )
