"""How a failure is told in each MCP version.

2024-11-05 is the version of seed 004: a failed tool is a JSON-RPC error with one of the seven application
codes. Newer versions tell the model in a result, because a model cannot see a protocol error. 2026-07-28
reserves -32002 and wants no new use of its neighbours, so there an error outside a tool is -32602 or
-32603; `data.errorCode` is the same everywhere.
"""

from __future__ import annotations

from typing import Any, Final

from vaultbridge.errors import AmbiguousName, InvalidArgument, NoteNotFound, VaultbridgeError, VaultNotFound
from vaultbridge.jsonrpc.messages import INTERNAL_ERROR, INVALID_PARAMS, ErrorObject
from vaultbridge.protocols import failures
from vaultbridge.protocols.mcp.versions import Version

ERROR_META_KEY: Final = "vaultbridge/error"
"""Where a program finds the code of a failed tool when `structuredContent` is not free for it."""


def tool_failure(error: VaultbridgeError, version: Version, *, has_schema: bool) -> dict[str, Any]:
    """A failed tool as a result.

    The code goes to `structuredContent`; a tool with an output schema has promised another shape there, and
    clients check it even on errors, so then it goes to `_meta`.
    """
    code = failures.APPLICATION_CODES[error.code]
    text = str(error)
    facts = {"code": code, "message": error.message, **failures.error_data(error)}
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
    if version.output_schemas and not has_schema:
        result["structuredContent"] = facts
    else:
        result["_meta"] = {ERROR_META_KEY: facts}
    return result


def version_error(error: Exception, version: Version, method: str) -> ErrorObject:
    """A failure as a JSON-RPC error."""
    if method == "resources/read" and isinstance(error, NoteNotFound):
        data = {**failures.error_data(error), "uri": error.name}
        return ErrorObject(version.resource_not_found_code, str(error), data)
    found = failures.to_error(error)
    if version.modern and isinstance(error, VaultbridgeError) and not isinstance(error, InvalidArgument):
        callers_fault = isinstance(error, NoteNotFound | AmbiguousName | VaultNotFound)
        return ErrorObject(INVALID_PARAMS if callers_fault else INTERNAL_ERROR, found.message, found.data)
    return found
