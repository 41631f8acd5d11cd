"""The one place where an error becomes wire form.

Seed 004 gives seven application codes, -32000 to -32006; `data.errorCode` repeats each as a word, because
other MCP versions reserve some of the numbers. What is not a known error is answered with a fixed text: its
traceback belongs to the log, which is the connection's duty.
"""

from __future__ import annotations

from typing import Any, Final

from vaultbridge.errors import ErrorCode, InvalidArgument, VaultbridgeError
from vaultbridge.jsonrpc.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    ErrorObject,
    PeerDisconnected,
    PeerError,
    RpcError,
)

APPLICATION_CODES: Final[dict[ErrorCode, int]] = {
    "INVALID_PARAMS": INVALID_PARAMS,
    "SERVER_ERROR": -32000,
    "OBSIDIAN_NOT_RUNNING": -32001,
    "VAULT_NOT_FOUND": -32002,
    "FILE_NOT_FOUND": -32003,
    "AMBIGUOUS_NAME": -32004,
    "PERMISSION_DENIED": -32005,
    "TIMEOUT": -32006,
}

INTERNAL: Final = ErrorObject(INTERNAL_ERROR, "Internal error", {"errorCode": "SERVER_ERROR"})


def is_expected(error: Exception) -> bool:
    """Whether an error is an answer, not a bug: only the others need a traceback in the log."""
    return isinstance(error, VaultbridgeError | RpcError | PeerError | PeerDisconnected)


def to_error(error: Exception) -> ErrorObject:
    """The JSON-RPC error for anything a handler raised. Nothing of an unknown exception gets out."""
    match error:
        case RpcError():
            return error.error
        case InvalidArgument():
            return ErrorObject(INVALID_PARAMS, _naming(error), error_data(error))
        case VaultbridgeError():
            return ErrorObject(APPLICATION_CODES[error.code], str(error), error_data(error))
        case PeerError() | PeerDisconnected():
            return ErrorObject(APPLICATION_CODES["SERVER_ERROR"], str(error), {"errorCode": "SERVER_ERROR"})
        case _:
            return INTERNAL


def error_data(error: VaultbridgeError) -> dict[str, Any]:
    """What a program may read of an error: the same in an error's `data` and in a failed tool's result."""
    data: dict[str, Any] = {"errorCode": error.code, "reason": error.reason}
    if error.hint:
        data["hint"] = error.hint
    if isinstance(error, InvalidArgument) and error.argument:
        data["argument"] = error.argument
    if error.details:
        data["details"] = error.details
    return data


def _naming(error: InvalidArgument) -> str:
    """The text of a bad argument, which must name it."""
    text = str(error)
    named = error.argument and error.argument not in text
    return f"Invalid params: {error.argument}: {text}" if named else f"Invalid params: {text}"
