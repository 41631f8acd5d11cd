"""The JSON-RPC 2.0 messages as a closed union, and the error codes that the protocols use.

There are four kinds: `Request`, `Notification`, `Response`, `ErrorResponse`. Anything else is `Malformed`,
which has the error that its sender gets. `codec` turns bytes into these; the protocols decide which error a
failed tool becomes.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

RequestId = int | float | str
"""JSON-RPC allows a string or a number; `null` is not an id, and a boolean is not a number.

MCP narrows numbers to integers. A fractional id is still echoed exactly, because without it the caller could
not recognize its answer."""

Params = dict[str, Any]
"""Parameters by name. `codec` rejects parameters by position (a JSON array): no protocol here has them."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

SERVER_ERROR: Final = -32000
"""The first of the seven application codes of the stdio contract; the others are in `protocols.failures`."""

RESOURCE_NOT_FOUND: Final = -32002
"""Used by MCP 2024-11-05 to 2025-11-25. Later versions forbid this code and use INVALID_PARAMS."""

HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022


class ErrorObject(msgspec.Struct, frozen=True):
    """The `error` member of an error response. `data` is not sent when it is UNSET."""

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
    """A result: any JSON value, including `null`."""

    id: RequestId
    result: Any


class ErrorResponse(msgspec.Struct, frozen=True):
    """`id` is None when the id of the failed message is unknown (JSON-RPC 2.0, section 5)."""

    id: RequestId | None
    error: ErrorObject


class Malformed(msgspec.Struct, frozen=True):
    """Something that is none of the four kinds, and the error that answers it."""

    id: RequestId | None
    error: ErrorObject


class MalformedAnswer(Malformed, frozen=True):
    """An answer to us that cannot be read. It is never answered: its id is that of a request of ours, and the
    peer would take an error with that id for the answer to one of its own requests."""


Message = Request | Notification | Response | ErrorResponse


class Batch(msgspec.Struct, frozen=True):
    """Several messages in one array, in order. Never empty: an empty array is `Malformed`."""

    members: tuple[Message | Malformed, ...]


class RpcError(Exception):
    """Raised to answer a request with exactly this JSON-RPC error."""

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
