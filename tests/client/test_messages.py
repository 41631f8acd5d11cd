"""JSON-RPC 2.0 messages: the four kinds of the seed, and every way to be none of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.client.errors import InvalidMessage
from vaultbridge.client.messages import (
    MessageKind,
    classify,
    decode,
    encode,
    make_error_answer,
    read_answered_id,
    to_dict,
)
from vaultbridge.jsonrpc.messages import ErrorObject, ErrorResponse, Notification, Request, Response

REQUEST = {"jsonrpc": "2.0", "method": "method_name", "params": {}, "id": 1}
NOTIFICATION = {"jsonrpc": "2.0", "method": "method_name", "params": {}}
RESPONSE = {"jsonrpc": "2.0", "result": {}, "id": 1}
ERROR = {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Invalid Request"}, "id": 1}


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (REQUEST, MessageKind.REQUEST),
        (NOTIFICATION, MessageKind.NOTIFICATION),
        (RESPONSE, MessageKind.RESPONSE),
        (ERROR, MessageKind.ERROR),
        ({**REQUEST, "id": 0}, MessageKind.REQUEST),
        ({**REQUEST, "id": ""}, MessageKind.REQUEST),
        ({**REQUEST, "params": []}, MessageKind.REQUEST),
        ({**RESPONSE, "result": None}, MessageKind.RESPONSE),
        ({**RESPONSE, "result": "text"}, MessageKind.RESPONSE),
        ({**ERROR, "id": None}, MessageKind.ERROR),
        ({**RESPONSE, "extra": 1}, MessageKind.RESPONSE),
    ],
)
def test_the_four_kinds_are_distinguished(message: dict[str, Any], kind: MessageKind) -> None:
    """The four examples of the seed, and the corners JSON-RPC allows."""
    assert classify(message) is kind
    assert decode(json.dumps(message)) == (kind, message)
    assert decode(json.dumps(message).encode()) == (kind, message)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("text", "expected an object"),
        (None, "expected an object, got null"),
        ([REQUEST], "batches"),
        ({**REQUEST, "jsonrpc": "1.0"}, '"jsonrpc" must be "2.0"'),
        ({"method": "x"}, '"jsonrpc" must be "2.0"'),
        ({"jsonrpc": "2.0"}, "none of"),
        ({"jsonrpc": "2.0", "id": 1}, "none of"),
        ({**RESPONSE, "error": ERROR["error"]}, 'both "result" and "error"'),
        ({**REQUEST, "result": {}}, '"method" together with'),
        ({**REQUEST, "error": ERROR["error"]}, '"method" together with'),
        ({**REQUEST, "method": 1}, '"method" must be a string'),
        ({**REQUEST, "params": "x"}, '"params" must be'),
        ({**REQUEST, "params": None}, '"params" must be'),
        ({**REQUEST, "id": None}, '"id" must be a string or an integer'),
        ({**REQUEST, "id": True}, '"id" must be a string or an integer'),
        ({**REQUEST, "id": 1.5}, '"id" must be a string or an integer'),
        ({**RESPONSE, "id": None}, '"id" must be a string or an integer'),
        ({"jsonrpc": "2.0", "result": {}}, 'needs an "id"'),
        ({"jsonrpc": "2.0", "error": ERROR["error"]}, 'needs an "id"'),
        ({**ERROR, "id": []}, '"id" must be a string, an integer or null'),
        ({**ERROR, "error": "no"}, '"error" must be an object'),
        ({**ERROR, "error": {"message": "x"}}, '"error.code" must be an integer'),
        ({**ERROR, "error": {"code": True, "message": "x"}}, '"error.code" must be an integer'),
        ({**ERROR, "error": {"code": 1}}, '"error.message" must be a string'),
    ],
)
def test_anything_but_a_message_is_refused_with_the_reason(message: Any, reason: str) -> None:
    with pytest.raises(InvalidMessage) as refused:
        classify(message)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    "data", ["", "{", "{'a': 1}", '{"a": NaN}', b"\xff\xfe", b'{"x": "\xff"}', "[" * 100_000]
)
def test_what_is_not_json_is_refused(data: str | bytes) -> None:
    with pytest.raises(InvalidMessage, match="Invalid JSON"):
        decode(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=10,
)


errors = st.fixed_dictionaries(
    {"code": st.integers(-(2**31), 2**31), "message": st.text(st.characters(codec="utf-8"))}
)
ids = st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8"))
envelopes = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={
        "id": ids | json_values,
        "method": st.text(st.characters(codec="utf-8")) | json_values,
        "params": json_values,
        "result": json_values,
        "error": errors | json_values,
    },
)


@given(json_values | envelopes)
def test_any_json_is_read_as_one_of_the_four_kinds_or_refused(value: Any) -> None:
    try:
        kind, message = decode(json.dumps(value))
    except InvalidMessage:
        return
    assert message == value
    if "method" in value:
        assert kind is (MessageKind.REQUEST if "id" in value else MessageKind.NOTIFICATION)
    else:
        assert kind is (MessageKind.ERROR if "error" in value else MessageKind.RESPONSE)


@given(st.one_of([st.just(message) for message in (REQUEST, NOTIFICATION, RESPONSE, ERROR)]), json_values)
def test_a_member_that_nobody_knows_changes_nothing(message: dict[str, Any], value: Any) -> None:
    assert decode(json.dumps({**message, "extra": value}))[0] is classify(message)


@given(json_values)
def test_writing_and_reading_are_inverse(params: Any) -> None:
    message = {"jsonrpc": "2.0", "id": "x", "result": params}
    assert decode(encode(message)) == (MessageKind.RESPONSE, message)


@pytest.mark.parametrize("value", [object(), {1: object()}, "\ud800"])
def test_what_json_cannot_carry_is_refused_before_it_is_sent(value: Any) -> None:
    with pytest.raises(InvalidMessage, match="cannot be written as JSON"):
        encode({"jsonrpc": "2.0", "method": "x", "params": {"value": value}})


def test_typed_messages_of_our_own_become_plain_ones() -> None:
    assert to_dict(Request(1, "m", {"a": 1})) == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "m",
        "params": {"a": 1},
    }
    assert classify(to_dict(Notification("m", {}))) is MessageKind.NOTIFICATION
    assert classify(to_dict(Response("x", None))) is MessageKind.RESPONSE
    assert classify(to_dict(ErrorResponse(None, ErrorObject(1, "no")))) is MessageKind.ERROR


def test_typed_messages_of_the_official_sdk_become_plain_ones() -> None:
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCNotification, JSONRPCRequest

    typed = JSONRPCRequest(jsonrpc="2.0", id=1, method="m", params={"a": 1})
    expected = {"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"a": 1}}
    assert to_dict(typed) == expected
    assert to_dict(SessionMessage(typed)) == expected
    assert "params" not in to_dict(JSONRPCNotification(jsonrpc="2.0", method="m"))


def test_the_id_of_a_refused_answer_is_found() -> None:
    assert read_answered_id('{"jsonrpc":"2.0","id":7,"result":1,"error":{}}') == 7
    assert read_answered_id(b'{"id":"x","result":1}') == "x"
    assert read_answered_id('{"id":1,"method":"m"}') is None, "a request is no answer"
    assert read_answered_id('{"id":7.0,"result":1}') == 7, "the same number, written as no id may be"
    assert read_answered_id('{"id":7.5,"result":1}') is None
    assert read_answered_id('{"id":[1]}') is None
    assert read_answered_id("{") is None


@pytest.mark.parametrize(
    "value",
    ["NaN", "Infinity", r'"\ud800"', "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000, "01", '"id":3', "'x'"],
    ids=["NaN", "infinity", "surrogate", "deep list", "deep object", "number", "member", "quotes"],
)
def test_the_id_is_found_whatever_makes_an_answer_unreadable(value: str) -> None:
    before = f'{{"jsonrpc":"2.0","id":7,"result":{value}}}'
    assert read_answered_id(before) == read_answered_id(before.encode()) == 7
    assert read_answered_id(f'{{"result":[{value},"id"],"id":"x\\n{{"}}') == (
        None if value.startswith('{"a":') else "x\n{"
    )
    assert read_answered_id(f'{{"id":7,"method":"m","params":{value}}}') is None
    assert read_answered_id(f'{{"result":{{"id":8,"x":{value}}}}}') is None


@pytest.mark.parametrize(
    "data", [b"\xff\xfe", "hello", "", "[]", "{" * 1000, '"id":1', '{"id"', '{"id":', "\ud800"]
)
def test_no_id_is_invented(data: str | bytes) -> None:
    assert read_answered_id(data) is None


def test_an_answer_made_up_here_is_a_valid_one() -> None:
    answer = make_error_answer(1, -32000, "no", reason="x")
    assert classify(answer) is MessageKind.ERROR
    assert answer["error"]["data"] == {"reason": "x"}
