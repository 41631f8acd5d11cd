"""The JSON-RPC 2.0 message as a closed union, and the error codes the protocols use.

Four kinds can be read: `Request`, `Notification`, `Response`, `ErrorResponse`. What cannot be read as
one of them is `Malformed`, which says what is owed to the sender. Turning bytes into these is the
duty of `codec`; what a code means to a tool is the duty of the dialects.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

RequestId = int | float | str
"""JSON-RPC allows a string or a number; `null` is no id, and a boolean is no number.

MCP narrows numbers to integers. A fractional id is still echoed exactly, because refusing it would leave
a caller without the answer it can recognise."""

Params = dict[str, Any]
"""By-name parameters. By-position parameters (a JSON array) are refused by `codec`: no dialect has them."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

SERVER_ERROR: Final = -32000
"""The first of the seven application codes of the stdio contract; `protocols.failures` holds the others."""

RESOURCE_NOT_FOUND: Final = -32002
"""MCP 2024-11-05 to 2025-11-25. Later versions forbid the code and answer INVALID_PARAMS."""

HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022


class ErrorObject(msgspec.Struct, frozen=True):
    """The `error` member of an error response. `data` stays out of the wire form when it is UNSET."""

    code: int
    message: str
    data: Any = msgspec.UNSET


class Request(msgspec.Struct, frozen=True):
    id: RequestId
    method: str
    params: Params


class Notification(msgspec.Struct, frozen=True):
    method: str
    params: Params


class Response(msgspec.Struct, frozen=True):
    """A result; any JSON value, `null` too."""

    id: RequestId
    result: Any


class ErrorResponse(msgspec.Struct, frozen=True):
    """`id` is None when the failed message could not be told apart (JSON-RPC 2.0, section 5)."""

    id: RequestId | None
    error: ErrorObject


class Malformed(msgspec.Struct, frozen=True):
    """Something that is none of the four: the error response it deserves."""

    id: RequestId | None
    error: ErrorObject


Message = Request | Notification | Response | ErrorResponse


class Batch(msgspec.Struct, frozen=True):
    """Several messages in one array, in their order. Never empty: an empty array is `Malformed`."""

    members: tuple[Message | Malformed, ...]


class RpcError(Exception):
    """Raised by a handler (or by us) to answer a request with exactly this JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = msgspec.UNSET) -> None:
        super().__init__(message)
        self.error = ErrorObject(code, message, data)


class PeerError(Exception):
    """The peer answered one of our own requests with an error."""

    def __init__(self, error: ErrorObject) -> None:
        super().__init__(error.message)
        self.error = error

    def __str__(self) -> str:
        return f"the client answered with error {self.error.code}: {self.error.message}"


class PeerDisconnected(Exception):
    """The connection ended before the peer answered."""

    def __str__(self) -> str:
        return "the connection closed before the client answered"
