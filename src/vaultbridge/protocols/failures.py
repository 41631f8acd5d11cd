"""Turns any exception into a JSON-RPC error. `to_error` is the only place that does so, for all protocols.

The stdio contract defines seven application codes, -32000 to -32006; `data.errorCode` repeats each as a word,
because other MCP versions reserve some of the numbers. An unknown exception is answered with a fixed text;
the connection logs its traceback. MCP adapts the error to the client's version in `mcp/failures.py`.
"""

from __future__ import annotations

from typing import Any, Final

from vaultbridge.errors import ErrorCode, InvalidArgument, VaultbridgeError
from vaultbridge.jsonrpc.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    PARSE_ERROR,
    SERVER_ERROR,
    ErrorObject,
    ErrorResponse,
    PeerDisconnected,
    PeerError,
    RpcError,
)

APPLICATION_CODES: Final[dict[ErrorCode, int]] = {
    "INVALID_PARAMS": INVALID_PARAMS,
    "SERVER_ERROR": SERVER_ERROR,
    "OBSIDIAN_NOT_RUNNING": -32001,
    "VAULT_NOT_FOUND": -32002,
    "FILE_NOT_FOUND": -32003,
    "AMBIGUOUS_NAME": -32004,
    "PERMISSION_DENIED": -32005,
    "TIMEOUT": -32006,
}

INTERNAL: Final = ErrorObject(INTERNAL_ERROR, "Internal error", {"errorCode": "SERVER_ERROR"})


def is_expected(error: Exception) -> bool:
    """Whether an error is an answer and not a bug: only bugs need a traceback in the log."""
    return isinstance(error, VaultbridgeError | RpcError | PeerError | PeerDisconnected)


def to_error(error: Exception) -> ErrorObject:
    """Return the JSON-RPC error for anything that a handler raised. An unknown exception reveals nothing."""
    match error:
        case RpcError():
            return error.error
        case InvalidArgument():
            return ErrorObject(INVALID_PARAMS, _name_argument(error), render_error_data(error))
        case VaultbridgeError():
            return ErrorObject(APPLICATION_CODES[error.code], str(error), render_error_data(error))
        case PeerError() | PeerDisconnected():
            return ErrorObject(APPLICATION_CODES["SERVER_ERROR"], str(error), {"errorCode": "SERVER_ERROR"})
        case _:
            return INTERNAL


def make_parse_error(reason: str) -> ErrorResponse:
    """The answer to bytes that are not a message; there is no id to reply to."""
    return ErrorResponse(None, ErrorObject(PARSE_ERROR, f"Parse error: {reason}"))


def render_error_data(error: VaultbridgeError) -> dict[str, Any]:
    """The fields of an error for programs: the same in an error's `data` and in a failed tool's result."""
    data: dict[str, Any] = {"errorCode": error.code, "reason": error.reason}
    if error.hint:
        data["hint"] = error.hint
    if isinstance(error, InvalidArgument) and error.argument:
        data["argument"] = error.argument
    if error.details:
        data["details"] = error.details
    return data


def _name_argument(error: InvalidArgument) -> str:
    """Return the text of the error, with the argument's name in front unless the text contains it."""
    text = str(error)
    named = error.argument and error.argument not in text
    return f"Invalid params: {error.argument}: {text}" if named else f"Invalid params: {text}"
