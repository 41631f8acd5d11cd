"""The books of a conversation: what is in flight, batches, cancellation, progress, our own requests."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.jsonrpc.messages import INVALID_REQUEST, PARSE_ERROR, ErrorObject, Request
from vaultbridge.jsonrpc.session import (
    AnswerReceived,
    CancelReceived,
    Ignored,
    NotificationReceived,
    RequestReceived,
    Session,
)


def feed(session: Session, *messages: Any) -> list[Any]:
    return [event for message in messages for event in session.receive(json.dumps(message).encode())]


def take_sent(session: Session) -> list[Any]:
    return [json.loads(item.data) for item in session.take_outgoing()]


def call(id_: Any, method: str = "m", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def cancel(id_: Any, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_, **more}}


def test_a_request_is_answered_once_with_its_id() -> None:
    session = Session()
    (event,) = feed(session, call(0, "m", a=1))
    assert event == RequestReceived(Request(0, "m", {"a": 1}))
    assert session.is_in_flight(0)
    assert session.answer(0, "text")
    assert not session.answer(0, "again")
    assert take_sent(session) == [{"jsonrpc": "2.0", "id": 0, "result": "text"}]
    assert take_sent(session) == []
    assert session.in_flight == 0


def test_the_ids_zero_and_its_text_are_different_requests() -> None:
    session = Session()
    feed(session, call(0), call("0"), call(""))
    assert session.in_flight == 3
    session.answer("0", "text")
    session.answer(0, "number")
    session.answer("", "empty")
    assert [(answer["id"], answer["result"]) for answer in take_sent(session)] == [
        ("0", "text"),
        (0, "number"),
        ("", "empty"),
    ]


def test_a_notification_is_never_answered() -> None:
    session = Session()
    (event,) = feed(session, {"jsonrpc": "2.0", "method": "anything"})
    assert isinstance(event, NotificationReceived)
    assert take_sent(session) == []


def test_what_cannot_be_read_is_answered_by_the_session_itself() -> None:
    session = Session()
    assert session.receive(b"{") == []
    (answer,) = take_sent(session)
    assert (answer["id"], answer["error"]["code"]) == (None, PARSE_ERROR)


def test_a_duplicate_id_is_refused_and_the_first_request_keeps_its_answer() -> None:
    session = Session()
    feed(session, call(1))
    assert feed(session, call(1)) == []
    (item,) = session.take_outgoing()
    assert json.loads(item.data)["error"]["code"] == INVALID_REQUEST
    assert item.related is None, "a transport must not end the first request's stream"
    assert session.answer(1, "first")


def test_an_id_may_be_used_again_after_its_answer() -> None:
    session = Session()
    feed(session, call(1))
    session.answer(1, 1)
    assert len(feed(session, call(1))) == 1


def test_a_cancelled_request_gets_no_answer() -> None:
    session = Session()
    feed(session, call(1))
    assert feed(session, cancel(1, reason="bored")) == [CancelReceived(1, "bored")]
    assert not session.answer(1, "late")
    assert take_sent(session) == []


@pytest.mark.parametrize(
    "message", [cancel(9), cancel(None), cancel([1]), {"jsonrpc": "2.0", "method": "notifications/cancelled"}]
)
def test_an_invalid_cancellation_is_ignored(message: Any) -> None:
    """Cancellation, Error Handling: unknown, finished and malformed ones SHOULD be ignored."""
    session = Session()
    feed(session, call(1))
    (event,) = feed(session, message)
    assert isinstance(event, Ignored)
    assert session.is_in_flight(1)


def test_initialize_cannot_be_cancelled() -> None:
    session = Session()
    feed(session, call(1, "initialize"))
    (event,) = feed(session, cancel(1))
    assert isinstance(event, Ignored)
    assert session.answer(1, {})


def test_a_result_that_is_not_json_leaves_the_request_to_be_failed() -> None:
    session = Session()
    feed(session, call(1))
    with pytest.raises(TypeError):
        session.answer(1, object())
    assert session.fail(1, ErrorObject(-32603, "Internal error"))
    assert [answer["error"]["code"] for answer in take_sent(session)] == [-32603]


def test_progress_goes_out_only_while_the_request_runs_and_only_upwards() -> None:
    session = Session()
    feed(session, call(1, "m", _meta={"progressToken": "t"}), call(2))
    assert session.progress(1, 0, 10, "begun")
    assert session.progress(1, 5)
    assert not session.progress(1, 5)
    assert not session.progress(1, 4)
    assert not session.progress(2, 1), "it brought no token"
    assert not session.progress(3, 1), "it does not exist"
    items = session.take_outgoing()
    assert [json.loads(item.data)["params"] for item in items] == [
        {"progressToken": "t", "progress": 0, "total": 10, "message": "begun"},
        {"progressToken": "t", "progress": 5},
    ]
    assert {item.related for item in items} == {1}
    session.answer(1, None)
    session.take_outgoing()
    assert not session.progress(1, 9)
    assert session.take_outgoing() == []


@pytest.mark.parametrize("token", [0, "", "x"])
def test_every_string_or_integer_is_a_progress_token(token: Any) -> None:
    session = Session()
    feed(session, call(1, "m", _meta={"progressToken": token}))
    assert session.progress(1, 1)
    assert take_sent(session)[0]["params"]["progressToken"] == token


@pytest.mark.parametrize(
    "meta", [None, [], {"progressToken": None}, {"progressToken": True}, {"progressToken": 1.5}]
)
def test_anything_else_is_no_progress_token(meta: Any) -> None:
    session = Session()
    feed(session, call(1, "m", _meta=meta))
    assert not session.progress(1, 1)


def test_our_own_requests_are_matched_with_their_answers() -> None:
    session = Session()
    first = session.request("roots/list", {}, related=7)
    second = session.request("sampling/createMessage", {"a": 1})
    assert first != second
    items = session.take_outgoing()
    assert [(item.related, item.final) for item in items] == [(7, False), (None, False)]
    events = feed(
        session,
        {"jsonrpc": "2.0", "id": second, "error": {"code": -1, "message": "no"}},
        {"jsonrpc": "2.0", "id": first, "result": {"roots": []}},
        {"jsonrpc": "2.0", "id": first, "result": {}},
    )
    assert [type(event) for event in events] == [AnswerReceived, AnswerReceived, Ignored]
    assert [event.id for event in events[:2]] == [second, first]


def test_withdrawing_a_request_cancels_it_and_a_late_answer_is_ignored() -> None:
    session = Session()
    id_ = session.request("roots/list", {})
    session.take_outgoing()
    session.withdraw(id_, "timed out")
    session.withdraw(id_, "twice")
    assert take_sent(session) == [
        {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": id_, "reason": "timed out"},
        }
    ]
    (event,) = feed(session, {"jsonrpc": "2.0", "id": id_, "result": {}})
    assert isinstance(event, Ignored)


def test_an_error_about_nothing_is_ignored() -> None:
    (event,) = feed(Session(), {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "?"}})
    assert isinstance(event, Ignored)


answer_members = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2, None]),
        "id": st.sampled_from([1, "1", 1.5, None, True, [], {}, -1, "\ud800"]),
        "result": st.sampled_from([None, 1, {}, "\ud800", "text"]),
        "error": st.sampled_from(
            [None, "text", {}, {"code": "1", "message": ""}, {"code": 1}, {"code": 1, "message": "\udfff"}]
        ),
    },
).filter(lambda members: "result" in members or "error" in members)


@settings(max_examples=200)
@given(st.lists(answer_members, min_size=1, max_size=3), st.booleans())
def test_an_answer_is_never_answered_however_wrong_it_is(answers: list[Any], batches: bool) -> None:
    """JSON-RPC 2.0 answers requests only. The peer would take an error that has the id of our request for the
    answer to its own request with that id."""
    session = Session(batches=True)
    our_id = session.request("roots/list", {})
    session.take_outgoing()
    # Of a batch with half a character nothing is read.
    together = batches and "\\ud" not in json.dumps(answers)
    events = feed(session, answers) if together else feed(session, *answers)
    assert take_sent(session) == []
    # Our request ends with the first answer that has its id: nobody waits for a better one.
    ended = [event for event in events if isinstance(event, AnswerReceived)]
    assert len(ended) == any(answer.get("id") == our_id and answer["id"] is not True for answer in answers)


def test_an_answer_with_bytes_that_are_not_text_ends_our_request() -> None:
    session = Session()
    our_id = session.request("roots/list", {})
    session.take_outgoing()
    (event,) = session.receive(b'{"jsonrpc":"2.0","id":%d,"result":"\xff"}' % our_id)
    assert isinstance(event, AnswerReceived)
    assert session.take_outgoing() == []


def test_a_batch_is_refused_where_the_version_has_none() -> None:
    session = Session()
    assert feed(session, [call(1)]) == []
    (answer,) = take_sent(session)
    assert (answer["id"], answer["error"]["code"]) == (None, INVALID_REQUEST)


def test_a_batch_is_answered_by_one_array_when_all_are_there() -> None:
    session = Session(batches=True)
    events = feed(session, [call(1), {"jsonrpc": "2.0", "method": "n"}, call(2), {"jsonrpc": "2.0", "id": 3}])
    assert [type(event) for event in events] == [RequestReceived, NotificationReceived, RequestReceived]
    session.answer(2, "b")
    assert session.take_outgoing() == []
    session.fail(1, ErrorObject(-1, "a"))
    (item,) = session.take_outgoing()
    answers = json.loads(item.data)
    assert {answer["id"] for answer in answers} == {1, 2, 3}
    assert item.final


def test_a_batch_of_notifications_is_not_answered() -> None:
    session = Session(batches=True)
    feed(session, [{"jsonrpc": "2.0", "method": "n"}, {"jsonrpc": "2.0", "method": "n"}])
    assert session.take_outgoing() == []


def test_cancelling_members_of_a_batch_shortens_the_array_and_all_of_them_sends_none() -> None:
    session = Session(batches=True)
    feed(session, [call(1), call(2)], cancel(1))
    session.answer(2, "b")
    assert [answer["id"] for answer in take_sent(session)[0]] == [2]
    feed(session, [call(3)], cancel(3))
    assert session.take_outgoing() == []


def test_a_duplicate_id_inside_a_batch_is_answered_inside_it() -> None:
    session = Session(batches=True)
    feed(session, [call(1), call(1)])
    session.answer(1, "first")
    (answers,) = take_sent(session)
    assert sorted(list(answer)[-1] for answer in answers) == ["error", "result"]


actions = st.lists(
    st.tuples(
        st.sampled_from(["call", "answer", "cancel", "batch", "progress", "duplicate"]), st.integers(0, 5)
    ),
    max_size=40,
)


@settings(max_examples=200)
@given(actions)
def test_every_request_gets_at_most_one_answer_and_uncancelled_ones_exactly_one(
    steps: list[tuple[str, int]],
) -> None:
    session = Session(batches=True)
    owed: dict[int, int] = {}
    out: list[Any] = []
    for action, id_ in steps:
        free = not session.is_in_flight(id_)
        match action:
            case "call" if free:
                feed(session, call(id_, "m", _meta={"progressToken": id_}))
                owed[id_] = owed.get(id_, 0) + 1
            case "batch" if free:
                feed(session, [call(id_)])
                owed[id_] = owed.get(id_, 0) + 1
            case "answer":
                session.answer(id_, "ok")
            case "cancel" if not free:
                feed(session, cancel(id_))
                owed[id_] -= 1
            case "progress":
                session.progress(id_, 1)
            case _:
                pass
        out += take_sent(session)
    for id_ in range(6):
        session.answer(id_, "ok")
    out += take_sent(session)
    flat = [answer for message in out for answer in (message if isinstance(message, list) else [message])]
    answered = [answer["id"] for answer in flat if "result" in answer]
    assert {id_: answered.count(id_) for id_ in set(owed)} == owed
    assert session.in_flight == 0
