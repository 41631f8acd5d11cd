"""Bytes to messages and back: JSON-RPC 2.0 exactly, and no exception for any input."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.jsonrpc import codec
from vaultbridge.jsonrpc.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Batch,
    ErrorObject,
    ErrorResponse,
    Malformed,
    Message,
    Notification,
    Request,
    Response,
)


def decode(value: Any) -> Any:
    return codec.decode(json.dumps(value).encode())


def read_error(message: Any) -> tuple[Any, int]:
    assert isinstance(message, Malformed), message
    return message.id, message.error.code


@pytest.mark.parametrize("id_", [0, 1, -5, "", "a", "0", 1.5, 2**40])
def test_an_id_comes_back_as_it_was_with_its_type(id_: Any) -> None:
    """JSON-RPC 2.0, section 4: a string or a number; 0 and "" are ids like any other."""
    message = decode({"jsonrpc": "2.0", "id": id_, "method": "m"})
    assert message == Request(id_, "m", {})
    assert type(message.id) is type(id_)
    answer = json.loads(codec.encode(Response(id_, 1)))
    assert answer["id"] == id_
    assert type(answer["id"]) is type(id_)


def test_no_id_is_a_notification_and_a_null_id_is_an_error() -> None:
    assert decode({"jsonrpc": "2.0", "method": "m"}) == Notification("m", {})
    assert read_error(decode({"jsonrpc": "2.0", "id": None, "method": "m"})) == (None, INVALID_REQUEST)


@pytest.mark.parametrize("id_", [True, [], {}])
def test_an_id_of_another_type_is_an_invalid_request_without_id(id_: Any) -> None:
    assert read_error(decode({"jsonrpc": "2.0", "id": id_, "method": "m"})) == (None, INVALID_REQUEST)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"nonsense",
        b"{'a':1}",
        b'{"a":1} {"b":2}',
        b"[1,",
        b'"\x01"',
        b"NaN",
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
    ],
)
def test_what_is_not_json_is_a_parse_error_with_id_null(data: bytes) -> None:
    assert read_error(codec.decode(data)) == (None, PARSE_ERROR)


@pytest.mark.parametrize(
    "data", [b'{"method":"\xff"}', b'"\xc3("', b'"\xed\xa0\x80"', b'"\xf8\x88\x80\x80\x80"']
)
def test_invalid_utf8_is_a_parse_error_and_never_replaced(data: bytes) -> None:
    assert read_error(codec.decode(data)) == (None, PARSE_ERROR)


def test_invalid_utf8_is_reported_with_the_id_of_its_request() -> None:
    """Our choice: with a null id its sender would wait in vain."""
    data = b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"caf\xe9"}}'
    assert read_error(codec.decode(data)) == (7, PARSE_ERROR)
    assert read_error(codec.decode(b'{"jsonrpc":"2.0","id":"\xe9","method":"m"}')) == (None, PARSE_ERROR)
    assert read_error(codec.decode(b'{"jsonrpc":"2.0","id":7,"m\xff')) == (None, PARSE_ERROR)


@pytest.mark.parametrize("text", ['"\\ud800"', '"x\\udc80y"', '"\\uD83D\\u0041"'])
def test_half_a_surrogate_pair_is_refused_with_the_id_of_its_request(text: str) -> None:
    """Our choice: it is JSON by the grammar, so the caller gets its answer; but it must not reach a note."""
    data = f'{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"a":{text}}}}}'.encode()
    assert read_error(codec.decode(data)) == (7, INVALID_REQUEST)


def test_a_whole_surrogate_pair_is_one_character() -> None:
    message = codec.decode(b'{"jsonrpc":"2.0","method":"m","params":{"a":"\\ud83d\\ude00"}}')
    assert message == Notification("m", {"a": "\U0001f600"})


def test_a_number_beyond_a_double_is_refused_with_the_id_of_its_request() -> None:
    data = b'{"jsonrpc":"2.0","id":"x","method":"m","params":{"a":1e999}}'
    assert read_error(codec.decode(data)) == ("x", INVALID_REQUEST)


@pytest.mark.parametrize("value", [1, "text", None, True, 1.5])
def test_a_json_text_that_is_no_object_is_an_invalid_request(value: Any) -> None:
    assert read_error(decode(value)) == (None, INVALID_REQUEST)


@pytest.mark.parametrize(
    "value",
    [
        {"id": 3, "method": "m"},
        {"jsonrpc": "1.0", "id": 3, "method": "m"},
        {"jsonrpc": 2.0, "id": 3, "method": "m"},
        {"jsonrpc": "2.0", "id": 3, "method": 5},
        {"jsonrpc": "2.0", "id": 3, "method": "m", "params": "text"},
        {"jsonrpc": "2.0", "id": 3},
    ],
)
def test_a_broken_structure_is_an_invalid_request_that_keeps_a_readable_id(value: Any) -> None:
    assert read_error(decode(value)) == (3, INVALID_REQUEST)


def test_positional_params_are_invalid_params() -> None:
    """JSON-RPC allows them; no dialect has them, so the error is about the parameters, not the request."""
    assert read_error(decode({"jsonrpc": "2.0", "id": 3, "method": "m", "params": [1]})) == (
        3,
        INVALID_PARAMS,
    )


def test_a_notification_with_positional_params_is_not_answered() -> None:
    """The first example of a notification in the specification of JSON-RPC has them."""
    assert decode({"jsonrpc": "2.0", "method": "update", "params": [1, 2]}) == Notification("update", {})


@pytest.mark.parametrize("nothing", [None, []])
def test_null_and_empty_params_are_no_params(nothing: object) -> None:
    """PHP writes an empty object as an empty array."""
    assert decode({"jsonrpc": "2.0", "id": 3, "method": "m", "params": nothing}) == Request(3, "m", {})


def test_answers_are_read() -> None:
    assert decode({"jsonrpc": "2.0", "id": 3, "result": None}) == Response(3, None)
    error = {"code": -1, "message": "no", "data": [1]}
    assert decode({"jsonrpc": "2.0", "id": 3, "error": error}) == ErrorResponse(3, ErrorObject(-1, "no", [1]))
    assert decode({"jsonrpc": "2.0", "id": None, "error": error}) == ErrorResponse(
        None, ErrorObject(-1, "no", [1])
    )
    assert read_error(decode({"jsonrpc": "2.0", "result": 1})) == (None, INVALID_REQUEST)


def test_a_batch_keeps_order_and_judges_each_member() -> None:
    batch = decode([{"jsonrpc": "2.0", "method": "a"}, 1, {"jsonrpc": "2.0", "id": 2, "method": "b"}])
    assert isinstance(batch, Batch)
    assert batch.members[0] == Notification("a", {})
    assert read_error(batch.members[1]) == (None, INVALID_REQUEST)
    assert batch.members[2] == Request(2, "b", {})


def test_an_empty_or_oversized_batch_is_one_invalid_request() -> None:
    assert read_error(decode([])) == (None, INVALID_REQUEST)
    assert read_error(decode([1] * (codec.MAX_BATCH + 1))) == (None, INVALID_REQUEST)
    assert isinstance(decode([1] * codec.MAX_BATCH), Batch)


def test_encoding_is_one_line_and_keeps_characters() -> None:
    data = codec.encode(Response(1, {"text": "a\nb\u2028c é 😀"}))
    assert b"\n" not in data
    assert data == '{"jsonrpc":"2.0","id":1,"result":{"text":"a\\nb\u2028c é 😀"}}'.encode()


@pytest.mark.parametrize("text", ["\ud800", "a\udcffb", "\udc80\ud800", "😀\ud800"])
def test_a_lone_surrogate_is_replaced_when_encoding_instead_of_failing(text: str) -> None:
    result = json.loads(codec.encode(Response(1, {"key " + text: [text]})))["result"]
    (key, value) = next(iter(result.items()))
    assert "\ufffd" in key
    assert "\ufffd" in value[0]
    assert ("😀" in text) == ("😀" in value[0])


def test_an_error_without_data_has_no_data_member() -> None:
    without = json.loads(codec.encode(ErrorResponse(None, ErrorObject(-1, "no"))))
    assert without == {"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "no"}}
    with_null = json.loads(codec.encode(ErrorResponse(1, ErrorObject(-1, "no", None))))
    assert with_null["error"]["data"] is None


def test_a_value_that_is_not_json_raises_what_the_docstring_says() -> None:
    with pytest.raises(TypeError):
        codec.encode(Response(1, object()))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
ids = st.integers(-(2**53), 2**53) | st.text()
params = st.dictionaries(st.text(), json_values, max_size=4)
messages = st.one_of(
    st.builds(Request, ids, st.text(), params),
    st.builds(Notification, st.text(), params),
    st.builds(Response, ids, json_values),
    st.builds(
        ErrorResponse, st.none() | ids, st.builds(ErrorObject, st.integers(-40000, 0), st.text(), json_values)
    ),
)


@given(messages)
def test_what_is_encoded_is_decoded_again(message: Message) -> None:
    assert codec.decode(codec.encode(message)) == message


@settings(max_examples=250)
@given(
    st.binary()
    | json_values.map(msgspec.json.encode)
    | st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_no_input_raises_and_every_error_is_one_of_the_three(data: bytes) -> None:
    message = codec.decode(data)
    members = message.members if isinstance(message, Batch) else (message,)
    for member in members:
        if isinstance(member, Malformed):
            assert member.error.code in (PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS)
            assert b"\n" not in codec.encode(ErrorResponse(member.id, member.error))


envelope = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]),
    st.just("2.0") | json_values | st.fixed_dictionaries({"code": json_values, "message": json_values}),
)


@settings(max_examples=250)
@given(envelope | st.lists(envelope, max_size=3))
def test_envelopes_of_every_shape_are_judged(value: Any) -> None:
    message = codec.decode(msgspec.json.encode(value))
    assert isinstance(message, Request | Notification | Response | ErrorResponse | Malformed | Batch)
