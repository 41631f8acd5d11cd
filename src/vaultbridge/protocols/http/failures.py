"""Turns a failure into an HTTP error in the form of Bridge v1. `to_response` is the only place that does so.

The form is used by Bridge v1 itself, and when no endpoint has answered: for bytes that are not a request, and
for an address that nothing serves. MCP has its own form in `mcp/http/reply.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from aiohttp import web

INTERNAL: Final = "Internal server error"

_FORWARDED_HEADERS: Final = ("Allow", "WWW-Authenticate", "Retry-After")
"""Headers of an aiohttp error that the client needs."""


class HttpFailure(Exception):
    """A request that reached no tool: the specification's error body and its status."""

    def __init__(
        self,
        status: int,
        error: str,
        message: str,
        *,
        details: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.details = details
        self.headers = dict(headers or {})

    def body(self) -> bytes:
        form = {"error": self.error, "message": self.message}
        if self.details:
            form["details"] = self.details
        return msgspec.json.encode(form)


def to_response(failure: HttpFailure, headers: Mapping[str, str] | None = None) -> web.Response:
    """The response that reports a failure, with these headers and its own."""
    from aiohttp import web

    response = web.Response(
        status=failure.status,
        body=failure.body(),
        content_type="application/json",
        headers={**(headers or {}), **failure.headers},
    )
    if failure.headers.get("Connection") == "close":
        response.force_close()
    return response


def from_refusal(refusal: web.HTTPException, message: str = "", details: str = "") -> HttpFailure:
    """Convert what aiohttp or a check raised. It keeps its own text unless a `message` is given."""
    headers = {name: refusal.headers[name] for name in _FORWARDED_HEADERS if name in refusal.headers}
    return HttpFailure(
        refusal.status,
        name_status(refusal.status),
        message or refusal.text or refusal.reason,
        details=details,
        headers=headers,
    )


def name_status(status: int) -> str:
    """The name of a status as Bridge v1 writes it: `Not found` for 404."""
    return HTTPStatus(status).phrase.capitalize()
