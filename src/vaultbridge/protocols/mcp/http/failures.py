"""Turns a failure into an HTTP response of MCP: a status, and a JSON-RPC error as the body.

Which error it is has been decided before, in `mcp/failures.py` or where the request was refused.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

from vaultbridge.jsonrpc import codec
from vaultbridge.jsonrpc.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    ErrorObject,
    ErrorResponse,
    RequestId,
)
from vaultbridge.protocols.http.request import BodyRefused

STATUS_OF: Final[dict[int, int]] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}
"""The statuses that 2026-07-28 prescribes; every other answer, successful or not, is 200."""


def error_reply(
    error: ErrorObject, *, id_: RequestId | None = None, status: int | None = None, allow: str = ""
) -> web.Response:
    """A JSON-RPC error as an HTTP response; without `status`, the one that matches its code."""
    return web.Response(
        status=status or STATUS_OF.get(error.code, 200),
        body=codec.encode(ErrorResponse(id_, error)),
        content_type="application/json",
        headers={"Allow": allow} if allow else None,
    )


def refuse(status: int, message: str, *, allow: str = "") -> web.Response:
    """A refusal by HTTP status, with a JSON-RPC error without an id as its body."""
    return error_reply(ErrorObject(INVALID_REQUEST, message), status=status, allow=allow)


def refuse_as(error: web.HTTPException | BodyRefused) -> web.Response:
    """Render what aiohttp, `authorize` or `read_message` raised in the same form as every other refusal."""
    if isinstance(error, BodyRefused):
        response = refuse(error.status, error.why)
        response.force_close()
        return response
    response = refuse(error.status, error.text or error.reason)
    if (challenge := error.headers.get("WWW-Authenticate")) is not None:
        response.headers["WWW-Authenticate"] = challenge
    return response
