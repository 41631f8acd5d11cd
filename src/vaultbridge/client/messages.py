"""Reads, checks and writes the JSON-RPC 2.0 messages that the client exchanges. Pure.

Every message that a transport sends or receives goes through `classify`. The rules are JSON-RPC 2.0's and,
where MCP is narrower (ids are strings or integers, no batches), MCP's. Unknown members are tolerated, because
the specification does not forbid them. What a method means is decided elsewhere.

There are two readers of JSON-RPC because their duties differ: `jsonrpc.codec` reads for the server, which
must answer even a malformed request and accepts what it can; a client transport must report why it refuses a
message, and passes accepted ones on unchanged.
"""

from __future__ import annotations

import enum
import re
import reprlib
from typing import Any, Final

import msgspec

from vaultbridge.client.errors import InvalidMessage
from vaultbridge.errors import JSON_ERRORS
from vaultbridge.jsonrpc import codec
from vaultbridge.jsonrpc.messages import ErrorResponse, Notification, Request, Response
from vaultbridge.limits import MIB

RequestId = str | int
Message = dict[str, Any]

CONNECTION_LOST: Final = -32000
"""Code of an answer that we make because the connection ended. The official SDK uses the same."""

REQUEST_TIMED_OUT: Final = -32001
"""The code of an answer that we make because none arrived in time. The official SDK uses the same."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


class MessageKind(enum.Enum):
    REQUEST = "request"
    NOTIFICATION = "notification"
    RESPONSE = "response"
    ERROR = "error response"


class _IdOnly(msgspec.Struct):
    id: str | int | float | None = None
    method: str | None = None


def classify(message: object) -> MessageKind:
    """Return the kind of `message`. Raises InvalidMessage, which names the broken rule."""
    if not isinstance(message, dict):
        if isinstance(message, list):
            raise InvalidMessage("Invalid JSON-RPC message: batches are not part of this protocol.")
        raise InvalidMessage(f"Invalid JSON-RPC message: expected an object, got {_name(message)}.")
    if message.get("jsonrpc") != "2.0":
        raise InvalidMessage('Invalid JSON-RPC message: "jsonrpc" must be "2.0".')
    if "method" in message:
        return _classify_call(message)
    return _classify_answer(message)


def _classify_call(message: dict[Any, Any]) -> MessageKind:
    if "result" in message or "error" in message:
        raise InvalidMessage('Invalid JSON-RPC message: "method" together with "result" or "error".')
    if not isinstance(message["method"], str):
        raise InvalidMessage('Invalid JSON-RPC message: "method" must be a string.')
    if "params" in message and not isinstance(message["params"], dict | list):
        raise InvalidMessage('Invalid JSON-RPC message: "params" must be an object or an array.')
    if "id" not in message:
        return MessageKind.NOTIFICATION
    if not _is_id(message["id"]):
        raise InvalidMessage('Invalid JSON-RPC message: a request\'s "id" must be a string or an integer.')
    return MessageKind.REQUEST


def _classify_answer(message: dict[Any, Any]) -> MessageKind:
    has_result, has_error = "result" in message, "error" in message
    if has_result and has_error:
        raise InvalidMessage('Invalid JSON-RPC message: both "result" and "error".')
    if not has_result and not has_error:
        raise InvalidMessage('Invalid JSON-RPC message: it has none of "method", "result" and "error".')
    if "id" not in message:
        raise InvalidMessage('Invalid JSON-RPC message: an answer needs an "id".')
    if has_result:
        if not _is_id(message["id"]):
            raise InvalidMessage('Invalid JSON-RPC message: a result\'s "id" must be a string or an integer.')
        return MessageKind.RESPONSE
    # JSON-RPC 2.0 section 5: null is the id of an answer to a request whose id could not be read.
    if message["id"] is not None and not _is_id(message["id"]):
        raise InvalidMessage('Invalid JSON-RPC message: "id" must be a string, an integer or null.')
    error = message["error"]
    if not isinstance(error, dict):
        raise InvalidMessage('Invalid JSON-RPC message: "error" must be an object.')
    code = error.get("code")
    if not isinstance(code, int) or isinstance(code, bool):
        raise InvalidMessage('Invalid JSON-RPC message: "error.code" must be an integer.')
    if not isinstance(error.get("message"), str):
        raise InvalidMessage('Invalid JSON-RPC message: "error.message" must be a string.')
    return MessageKind.ERROR


def _is_id(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def _name(value: object) -> str:
    return "null" if value is None else type(value).__name__


def decode(data: str | bytes) -> tuple[MessageKind, Message]:
    """Read one message. Bytes must be UTF-8. Raises InvalidMessage, and nothing else."""
    try:
        message = _decoder.decode(data)
    except JSON_ERRORS as error:
        raise InvalidMessage(f"Invalid JSON: {error}") from None
    return classify(message), message


def encode(message: Message) -> bytes:
    """Write a message that `classify` has accepted. Raises InvalidMessage when it cannot be JSON."""
    try:
        return _encoder.encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise InvalidMessage(f"The message cannot be written as JSON: {error}") from None


def to_dict(message: object) -> Any:
    """Convert what a caller may send: a dict, a typed message (ours or the SDK's), or the SDK's envelope."""
    if isinstance(message, dict):
        return message
    if isinstance(message, Request | Notification | Response | ErrorResponse):
        return codec.to_wire(message)
    inner = getattr(message, "message", None)  # the official SDK's SessionMessage
    model = inner if hasattr(inner, "model_dump") else message
    dump = getattr(model, "model_dump", None)
    if dump is None:
        return message
    return dump(by_alias=True, mode="json", exclude_unset=True)


SCANNED_CHARS: Final = MIB
"""How much of an unreadable message is searched for its id: it is near one end of nearly all answers, and the
search takes a moment for each MiB."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s"\[\]{}:,]+', re.DOTALL)


def read_answered_id(data: str | bytes) -> RequestId | None:
    """Read only the id of an answer that is refused otherwise; None when there is none."""
    try:
        outline = msgspec.json.decode(data, type=_IdOnly)
    except JSON_ERRORS:
        is_call, request_id = _scan_outline(data)
        return None if is_call else request_id
    if outline.method is not None:
        return None
    # MCP allows no such spelling (1.0), but it is the same number.
    if isinstance(outline.id, float):
        return int(outline.id) if outline.id.is_integer() else None
    return outline.id


def _scan_outline(data: str | bytes) -> tuple[bool, RequestId | None]:
    """Whether a message that is not JSON all through has a method, and its id. Only the members of the
    outermost object matter, whatever their values contain."""
    text = data if isinstance(data, str) else data[:SCANNED_CHARS].decode("utf-8", "replace")
    is_call, request_id = False, None
    depth, name, key = 0, "", ""
    for match in _TOKEN.finditer(text, 0, SCANNED_CHARS):
        token = match[0]
        if token in "[{":
            depth += 1
        elif token in "]}":
            depth -= 1
        elif depth != 1:
            continue
        elif token == ":":
            key, is_call = name, is_call or name == '"method"'
        elif token == ",":
            key = ""
        elif key == '"id"' and request_id is None:
            request_id = _read_id(token)
        else:
            name = token
    return is_call, request_id


def _read_id(token: str) -> RequestId | None:
    try:
        value = _decoder.decode(token)
    except JSON_ERRORS:
        return None
    return value if _is_id(value) else None


def shorten(request_id: object) -> str:
    """Shorten a peer's id for an error text: it may be as long as a message."""
    return reprlib.repr(request_id)


def make_error_answer(request_id: RequestId, code: int, text: str, **data: Any) -> Message:
    """Make an answer on this side, so that nobody waits for one that cannot arrive."""
    error: dict[str, Any] = {"code": code, "message": text}
    if data:
        error["data"] = data
    return {"jsonrpc": "2.0", "id": request_id, "error": error}
