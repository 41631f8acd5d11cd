"""Decodes bytes into JSON-RPC messages and encodes them back.

`decode` takes the bytes of exactly one JSON text (a line, a frame, a body; framing is the transport's duty)
and never raises: a text that is not a message comes back as `Malformed`, with the error that JSON-RPC 2.0
assigns to it. `encode` returns one line of compact JSON and never raises for a value made of JSON types: lone
surrogates, which UTF-8 cannot carry, become U+FFFD.

Decoding is strict. Invalid UTF-8 and lone surrogate escapes are rejected, because a replaced character would
end up in somebody's note.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vaultbridge.jsonrpc.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Batch,
    ErrorObject,
    ErrorResponse,
    Malformed,
    MalformedAnswer,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
)

MAX_BATCH: Final = 256
"""Members of one batch. Clients send a dozen at most, and each member may start a task."""

_QUOTED_CHARS: Final = 64
"""How much of the decoder's error text is quoted: enough to recognize it, too little to flood a log."""

_WRONG_VERSION: Final = 'the member "jsonrpc" must be "2.0"'

_decoder = msgspec.json.Decoder()
_encoder = msgspec.json.Encoder()


def decode(data: bytes) -> Message | Batch | Malformed:
    """Decode one JSON text. Never raises; an exception that escapes is a bug of this module."""
    try:
        value = _decoder.decode(data)
    except UnicodeDecodeError as problem:
        return _explain_bytes(data, problem)
    except RecursionError:
        return _make_parse_error("nested too deeply")
    except msgspec.MsgspecError as problem:
        return _explain_failure(data, problem)
    if isinstance(value, dict):
        return _read_message(value)
    if isinstance(value, list):
        return _read_batch(value)
    return _make_invalid(None, f"a message is a JSON object, not {name_json_type(value)}")


def encode(message: Message) -> bytes:
    """One line of JSON, without the line end.

    Raises TypeError, ValueError, OverflowError or RecursionError only for a value that is not made of
    JSON types.
    """
    return encode_value(to_wire(message))


def encode_value(value: Any) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_replace_surrogates(msgspec.to_builtins(value, str_keys=True)))


def to_wire(message: Message) -> dict[str, Any]:
    """The JSON object of a message. Empty `params` are left out, as most peers do."""
    match message:
        case Response(id_, result):
            return {"jsonrpc": "2.0", "id": id_, "result": result}
        case ErrorResponse(id_, error):
            return {"jsonrpc": "2.0", "id": id_, "error": _render_error(error)}
        case Request(id_, method, params):
            return {"jsonrpc": "2.0", "id": id_, "method": method, **({"params": params} if params else {})}
        case Notification(method, params):
            return {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}


def _render_error(error: ErrorObject) -> dict[str, Any]:
    form: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not msgspec.UNSET:
        form["data"] = error.data
    return form


def _read_batch(members: list[Any]) -> Batch | Malformed:
    if not members:
        return _make_invalid(None, "a batch must not be empty")
    if len(members) > MAX_BATCH:
        return _make_invalid(None, f"a batch may have {MAX_BATCH} members, this one has {len(members)}")
    return Batch(
        tuple(
            _read_message(member)
            if isinstance(member, dict)
            else _make_invalid(None, f"a message is a JSON object, not {name_json_type(member)}")
            for member in members
        )
    )


def _read_message(value: dict[str, Any]) -> Message | Malformed:
    id_ = value.get("id", msgspec.UNSET)
    known_id: RequestId | None = id_ if _is_id(id_) else None
    if _is_answer(value):
        return _read_answer(value, known_id)
    if value.get("jsonrpc") != "2.0":
        return _make_invalid(known_id, _WRONG_VERSION)
    if "method" in value:
        return _read_call(value, id_, known_id)
    return _make_invalid(known_id, 'a message has "method", "result" or "error"')


def _is_answer(value: dict[str, Any]) -> bool:
    return "method" not in value and ("result" in value or "error" in value)


def _read_answer(
    value: dict[str, Any], known_id: RequestId | None
) -> Response | ErrorResponse | MalformedAnswer:
    if value.get("jsonrpc") != "2.0":
        return _make_invalid_answer(known_id, _WRONG_VERSION)
    if "result" in value and "error" in value:
        return _make_invalid_answer(known_id, 'an answer has "result" or "error", not both')
    if "error" in value:
        return _read_error(value["error"], known_id)
    if known_id is None:
        return _make_invalid_answer(None, 'an answer needs the "id" of its request')
    return Response(known_id, value["result"])


def _read_call(value: dict[str, Any], id_: Any, known_id: RequestId | None) -> Message | Malformed:
    method = value["method"]
    if not isinstance(method, str):
        return _make_invalid(known_id, f'"method" must be a string, not {name_json_type(method)}')
    params = value.get("params")
    if id_ is not msgspec.UNSET and known_id is None:
        return _make_invalid(None, f'"id" must be a string or a number, not {name_json_type(id_)}')
    if params is None or params == []:
        # An empty array has no positional parameters either, and PHP writes an empty object this way.
        params = {}
    elif not isinstance(params, dict):
        if isinstance(params, list):
            if known_id is None:
                # Positional parameters are valid JSON-RPC, and no notification may be answered.
                return Notification(method, {})
            error = ErrorObject(INVALID_PARAMS, 'Invalid params: "params" must be an object, not an array')
            return Malformed(known_id, error)
        return _make_invalid(known_id, f'"params" must be an object, not {name_json_type(params)}')
    if known_id is None:
        return Notification(method, params)
    return Request(known_id, method, params)


def _read_error(error: Any, known_id: RequestId | None) -> ErrorResponse | MalformedAnswer:
    if not isinstance(error, dict):
        return _make_invalid_answer(known_id, f'"error" must be an object, not {name_json_type(error)}')
    code, message = error.get("code"), error.get("message")
    if not isinstance(code, int) or isinstance(code, bool) or not isinstance(message, str):
        return _make_invalid_answer(known_id, '"error" needs an integer "code" and a string "message"')
    return ErrorResponse(known_id, ErrorObject(code, message, error.get("data", msgspec.UNSET)))


def _is_id(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def name_json_type(value: Any) -> str:
    """The type of a JSON value in words, for an error message."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"


def _make_invalid(id_: RequestId | None, why: str) -> Malformed:
    return Malformed(id_, ErrorObject(INVALID_REQUEST, f"Invalid Request: {why}"))


def _make_invalid_answer(id_: RequestId | None, why: str) -> MalformedAnswer:
    return MalformedAnswer(id_, ErrorObject(INVALID_REQUEST, f"Invalid answer: {why}"))


def _make_parse_error(why: str) -> Malformed:
    return Malformed(None, ErrorObject(PARSE_ERROR, f"Parse error: {why}"))


def _explain_failure(data: bytes, problem: msgspec.MsgspecError) -> Malformed:
    """Explain why the fast decoder failed, and find the id if the text is JSON after all.

    The fast decoder rejects lone surrogate escapes and numbers beyond a double, both of which the grammar of
    JSON allows. A JavaScript client can produce such text by cutting a string in two, and waits for an answer
    to its id. So the slow decoder of the standard library looks for the id, and only for that.
    """
    try:
        value = _decode_slowly(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return _make_parse_error(str(problem).removeprefix("JSON is malformed: "))
    if b"\\ud" in data.lower():
        return _add_id(
            _make_invalid(None, "a string holds half of a surrogate pair, which is not Unicode text"), value
        )
    return _add_id(_make_invalid(None, f"a number is out of range ({str(problem)[:_QUOTED_CHARS]})"), value)


def _explain_bytes(data: bytes, problem: UnicodeDecodeError) -> Malformed:
    """Like `_explain_failure`, for bytes that are not UTF-8, read with replaced characters."""
    malformed = _make_parse_error(f"not UTF-8 (byte {problem.start} of a string)")
    try:
        return _add_id(malformed, _decode_slowly(data.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return malformed


def _add_id(malformed: Malformed, value: Any) -> Malformed:
    """Give an error the id of the message that only the slow decoder could read. Without it the sender of a
    request would wait forever."""
    if not isinstance(value, dict):
        return malformed
    kind = MalformedAnswer if _is_answer(value) else Malformed
    return kind(_find_id(value), malformed.error)


def _decode_slowly(text: str) -> Any:
    """Raises ValueError, RecursionError."""
    import json

    return json.loads(text, parse_constant=_refuse_constant)


def _find_id(value: dict[str, Any]) -> RequestId | None:
    id_ = value.get("id")
    return id_ if _is_id(id_) and _can_echo(id_) else None


def _can_echo(id_: Any) -> bool:
    """Whether an id can be echoed exactly: it is finite, and no character of it was cut or replaced."""
    if isinstance(id_, str):
        return not any("\ud800" <= character <= "\udfff" or character == "\ufffd" for character in id_)
    return bool(abs(id_) < 2**63)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _replace_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_replace_surrogates(key): _replace_surrogates(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_surrogates(member) for member in value]
    return value
