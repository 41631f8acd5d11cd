"""Turns a failure into the form of each MCP version. `to_wire` is the only place that decides.

2024-11-05 is the version of the stdio contract (document 004): there, a failed tool is a JSON-RPC error with
one of the seven application codes. Newer versions report it in a result, because a model cannot see a
protocol error. 2026-07-28 reserves -32002 and advises against new uses of its neighbours, so there an error
outside a tool is -32602 or -32603; `data.errorCode` is the same everywhere. The HTTP status of an error is
decided in `mcp/http/reply.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from vaultbridge.errors import AmbiguousName, InvalidArgument, NotFound, VaultbridgeError, VaultNotFound
from vaultbridge.jsonrpc.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    UNSUPPORTED_VERSION,
    ErrorObject,
    RpcError,
)
from vaultbridge.protocols import failures
from vaultbridge.protocols.dialect import HandlerResult
from vaultbridge.protocols.mcp.values import ToolInfo
from vaultbridge.protocols.mcp.versions import Version

ToolErrors = Literal["auto", "protocol", "result"]
"""How a failed tool is reported: as a JSON-RPC error, as an `isError` result, or as the version does."""

ERROR_META_KEY: Final = "vaultbridge/error"
"""Where the code of a failed tool is if `structuredContent` is not available for it."""


def to_wire(
    error: Exception,
    version: Version,
    method: str,
    *,
    tool_errors: ToolErrors = "auto",
    tool: ToolInfo | None = None,
) -> ErrorObject | HandlerResult:
    """Return the answer to a failed request of `method`; `tool` is the tool that it called, if known."""
    as_result = version.tool_errors_as_results if tool_errors == "auto" else tool_errors == "result"
    if method == "tools/call" and as_result and isinstance(error, VaultbridgeError):
        return HandlerResult(_render_tool_failure(error, version, tool))
    return _render_error(error, version, method)


def make_unsupported_version(requested: str, supported: Sequence[str]) -> RpcError:
    """Versioning, Errors: the client learns which versions it may ask for."""
    return RpcError(
        UNSUPPORTED_VERSION,
        f"Unsupported protocol version: {requested}",
        {"supported": list(supported), "requested": requested},
    )


def _render_tool_failure(error: VaultbridgeError, version: Version, tool: ToolInfo | None) -> dict[str, Any]:
    """A failed tool as a result.

    The code goes to `structuredContent`; a tool with an output schema has promised another shape there, and
    clients check it even on errors, so then it goes to `_meta`.
    """
    code = failures.APPLICATION_CODES[error.code]
    facts = {"code": code, "message": error.message, **failures.render_error_data(error)}
    result: dict[str, Any] = {"content": [{"type": "text", "text": str(error)}], "isError": True}
    if version.output_schemas and (tool is None or tool.output_schema is None):
        result["structuredContent"] = facts
    else:
        result["_meta"] = {ERROR_META_KEY: facts}
    return result


def _render_error(error: Exception, version: Version, method: str) -> ErrorObject:
    if method == "resources/read" and isinstance(error, NotFound):
        data = {**failures.render_error_data(error), "uri": error.name}
        return ErrorObject(version.resource_not_found_code, str(error), data)
    answer = failures.to_error(error)
    if version.modern and isinstance(error, VaultbridgeError) and not isinstance(error, InvalidArgument):
        callers_fault = isinstance(error, NotFound | AmbiguousName | VaultNotFound)
        return ErrorObject(INVALID_PARAMS if callers_fault else INTERNAL_ERROR, answer.message, answer.data)
    return answer
