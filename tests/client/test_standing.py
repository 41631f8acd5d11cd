"""What is asked for again after a reconnection, beside the handshake."""

from __future__ import annotations

from typing import Any

import pytest

from vaultbridge.client.messages import Kind
from vaultbridge.client.websocket.handshake import SUBSCRIPTIONS, ServerState


def request(id_: Any, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def accepted(standing: ServerState, id_: Any, method: str, **params: Any) -> dict[str, Any]:
    message = request(id_, method, **params)
    standing.sent(message)
    standing.received(Kind.RESPONSE, {"jsonrpc": "2.0", "id": id_, "result": {}})
    return message


def test_what_the_server_accepted_stands_until_it_is_taken_back() -> None:
    standing = ServerState()
    one = accepted(standing, 1, "resources/subscribe", uri="a:1")
    two = accepted(standing, 2, "resources/subscribe", uri="a:2")
    level = accepted(standing, 3, "logging/setLevel", level="debug")
    assert standing.requests() == (one, two, level)
    accepted(standing, 4, "resources/unsubscribe", uri="a:1")
    newer = accepted(standing, 5, "logging/setLevel", level="error")
    assert standing.requests() == (two, newer)


def test_what_was_refused_never_answered_or_is_something_else_does_not_stand() -> None:
    standing = ServerState()
    standing.sent(request(1, "resources/subscribe", uri="a:1"))
    standing.received(Kind.ERROR, {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}})
    standing.sent(request(2, "resources/subscribe", uri="a:2"))
    accepted(standing, 3, "tools/list")
    accepted(standing, 4, "resources/subscribe")
    accepted(standing, 5, "resources/subscribe", uri=7)
    assert standing.requests() == ()


def test_an_id_that_is_used_again_means_its_newest_request() -> None:
    standing = ServerState()
    standing.sent(request(1, "resources/subscribe", uri="a:1"))
    accepted(standing, 1, "tools/list")
    assert standing.requests() == ()


def test_a_taking_back_that_failed_changes_nothing() -> None:
    standing = ServerState()
    one = accepted(standing, 1, "resources/subscribe", uri="a:1")
    standing.sent(request(2, "resources/unsubscribe", uri="a:1"))
    standing.received(Kind.ERROR, {"jsonrpc": "2.0", "id": 2, "error": {"code": 1, "message": "no"}})
    assert standing.requests() == (one,)
    standing.refused(one)
    assert standing.requests() == ()


@pytest.mark.parametrize("answered", [True, False])
def test_the_number_is_bounded(*, answered: bool) -> None:
    standing = ServerState()
    for number in range(SUBSCRIPTIONS + 50):
        if answered:
            accepted(standing, number, "resources/subscribe", uri=f"a:{number}")
        else:
            standing.sent(request(number, "resources/subscribe", uri=f"a:{number}"))
    assert len(standing.requests()) == (SUBSCRIPTIONS if answered else 0)
    assert len(standing._asked) <= SUBSCRIPTIONS
