"""Requests without an answer, for transports whose line does not come back."""

from __future__ import annotations

import pytest

from vaultbridge.client.errors import InvalidMessage, UnknownAnswer
from vaultbridge.client.messages import MessageKind
from vaultbridge.client.transport import PendingRequests

REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "m"}
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_request_is_open_until_its_answer() -> None:
    requests = PendingRequests(1000)
    kind, _, data = requests.register(REQUEST, 5.0)
    assert kind is MessageKind.REQUEST and b'"m"' in data and 1 in requests
    assert requests.match_answer(MessageKind.RESPONSE, ANSWER) == 5.0
    assert len(requests) == 0
    with pytest.raises(UnknownAnswer):
        requests.match_answer(MessageKind.RESPONSE, ANSWER)


def test_an_id_in_use_and_a_message_too_large_are_refused() -> None:
    requests = PendingRequests(100)
    requests.register(REQUEST, 0)
    with pytest.raises(InvalidMessage, match="in use"):
        requests.register(REQUEST, 0)
    with pytest.raises(InvalidMessage, match="limit is 100"):
        requests.register({"jsonrpc": "2.0", "method": "x" * 200}, 0)


def test_messages_that_are_not_answers_match_no_request() -> None:
    requests = PendingRequests(100)
    assert requests.match_answer(MessageKind.NOTIFICATION, {"jsonrpc": "2.0", "method": "m"}) is None
    assert requests.match_answer(MessageKind.REQUEST, REQUEST) is None
    assert requests.match_answer(MessageKind.ERROR, {"jsonrpc": "2.0", "id": None, "error": {}}) is None


def test_failing_gives_each_open_request_one_answer() -> None:
    requests = PendingRequests(100)
    for n in range(3):
        requests.register({**REQUEST, "id": n}, 0)
    assert requests.fail(0, "Gone") is not None and requests.fail(0, "Gone") is None
    assert [a["id"] for a in requests.fail_all("Gone")] == [1, 2]
    assert requests.fail_all("Gone") == []


def test_a_request_that_is_not_accepted_after_all_frees_its_id() -> None:
    requests = PendingRequests(1000)
    requests.register({"jsonrpc": "2.0", "id": 1, "method": "m"}, 0.0)
    requests.forget(1)
    assert len(requests) == 0 and requests.fail_all("gone") == []
