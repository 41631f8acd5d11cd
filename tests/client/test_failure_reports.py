"""Which answers and errors report messages that could not be delivered."""

from __future__ import annotations

from vaultbridge.client.messages import MessageKind, classify, encode
from vaultbridge.client.websocket.queue import QueuedMessage
from vaultbridge.client.websocket.unacknowledged import (
    NOTHING_UNCONFIRMED,
    Unconfirmed,
    make_cancellation,
    make_timeout_answer,
    report_lost_connection,
    report_unsent,
)


def make_queued(message: dict[str, object]) -> QueuedMessage:
    full = {"jsonrpc": "2.0", **message}
    return QueuedMessage(classify(full), full.get("id"), str(full.get("method", "")), encode(full))  # type: ignore[arg-type]


REQUEST = make_queued({"id": 1, "method": "tools/call"})
NOTE = make_queued({"method": "note"})
ANSWER = make_queued({"id": "s", "result": {}})


def test_an_open_request_is_answered_that_it_may_have_been_carried_out() -> None:
    reports = report_lost_connection("Connection lost", Unconfirmed((REQUEST,), (), 0), ())
    (answer,) = reports.answers
    assert classify(answer) is MessageKind.ERROR and answer["id"] == 1
    assert "tools/call" in answer["error"]["message"] and "not sent again" in answer["error"]["message"]
    assert answer["error"]["data"] == {"reason": "connection-lost", "sent": True}
    assert not reports.errors


def test_unconfirmed_messages_and_orphaned_answers_come_in_errors_that_hold_them() -> None:
    reports = report_lost_connection("Connection lost", Unconfirmed((), (NOTE,), 3), (ANSWER,))
    unconfirmed, discarded = reports.errors
    assert [m["method"] for m in unconfirmed.messages] == ["note"] and "4 message(s)" in str(unconfirmed)
    assert discarded.messages[0]["id"] == "s"


def test_nothing_unconfirmed_reports_nothing() -> None:
    reports = report_lost_connection("x", NOTHING_UNCONFIRMED, ())
    assert not reports.errors and not reports.answers


def test_a_queued_request_is_answered_that_it_was_never_sent() -> None:
    reports = report_unsent(
        "The transport was closed", [REQUEST, NOTE], requests_kept=False, others_kept=False
    )
    assert reports.answers[0]["error"]["data"] == {"reason": "not-sent", "sent": False}
    assert "never sent" in reports.answers[0]["error"]["message"]
    assert reports.errors[0].messages[0]["method"] == "note"


def test_messages_kept_in_the_queue_file_are_no_errors() -> None:
    reports = report_unsent("The transport was closed", [REQUEST, NOTE], requests_kept=True, others_kept=True)
    assert not reports.errors
    assert "stays in the queue file" in reports.answers[0]["error"]["message"]


def test_a_timeout_says_whether_the_request_had_been_sent() -> None:
    assert "may still be carried out" in make_timeout_answer(REQUEST, 2.0, sent=True)["error"]["message"]
    assert "never sent" in make_timeout_answer(REQUEST, 2.0, sent=False)["error"]["message"]
    assert make_cancellation(REQUEST)["params"]["requestId"] == 1
