"""Sends a stream of messages as an HTTP response: as JSON if there is only the answer, else as Server-Sent
Events. Turns a failure into a response too: a status, and a JSON-RPC error as the body.

The stateless endpoint, the sessions and the legacy endpoint share it. It handles HTTP and streams, but no MCP
methods. Which error a failure is has been decided before, in `mcp/failures.py` or where the request was
refused.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
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
from vaultbridge.protocols.http.request import (
    DISCONNECT_CHECK_SECONDS,
    BodyRefused,
    has_disconnected,
    read_body,
)
from vaultbridge.protocols.mcp.http.stream import Stream, StreamItem
from vaultbridge.protocols.mcp.stdio import LINE_BYTES

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


def make_error_reply(
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
    return make_error_reply(ErrorObject(INVALID_REQUEST, message), status=status, allow=allow)


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


COMMENT: Final = b":\n\n"
"""An empty comment, which keeps proxies and clients from closing a silent stream."""

HEADERS: Final = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache, no-transform",
    # Streamable HTTP, Receiving Messages: tells reverse proxies not to hold events back.
    "X-Accel-Buffering": "no",
}


def encode_event(data: bytes, *, name: str = "", id_: str = "", retry_ms: int | None = None) -> bytes:
    """One event. `data` may have several lines; names and ids are ours and have one."""
    lines: list[bytes] = []
    if name:
        lines.append(b"event: " + name.encode())
    if id_:
        lines.append(b"id: " + id_.encode())
    if retry_ms is not None:
        lines.append(b"retry: %d" % retry_ms)
    lines.extend(b"data: " + line for line in data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"))
    return b"\n".join(lines) + b"\n\n"


BODY_BYTES: Final = LINE_BYTES
"""The longest message, as over stdio."""

BODY_SECONDS: Final = 30.0
"""How long a body may take to arrive: enough for the largest one over a slow connection, but not for a byte a
second."""

KEEPALIVE_SECONDS: Final = 15.0
"""Silence after which a comment is sent: below the 30 s after which impatient proxies disconnect."""

RETRY_MS: Final = 500
"""How soon a client whose response was released should return for its answer."""


class ClientDisconnected(Exception):
    """The client disconnected before the answer was complete."""


async def read_message(request: web.Request) -> bytes:
    """The body without the byte order mark that some shells add. Raises BodyRefused."""
    body = await read_body(request, limit=BODY_BYTES, seconds=BODY_SECONDS)
    return body.removeprefix(codecs.BOM_UTF8)


class Reply:
    """Writes a stream as a response. `prime` sends an empty first event with an id, so that a client can
    resume even before the first message (2025-11-25). `event_ids` is off where streams cannot be resumed."""

    def __init__(
        self,
        request: web.Request,
        stream: Stream,
        *,
        headers: Mapping[str, str] | None = None,
        event_ids: bool = False,
        prime: bool = False,
        map_status: bool = False,
    ) -> None:
        self._request = request
        self._stream = stream
        self._headers = dict(headers or {})
        self._event_ids = event_ids
        self._prime = prime
        self._map_status = map_status

    async def answer(self) -> web.StreamResponse:
        """Send JSON if the first message is the last one, else events. Raises ClientDisconnected."""
        ticket = self._stream.attach()
        try:
            while not await self._stream.wait_for_change(DISCONNECT_CHECK_SECONDS):
                self._check_client()
            first = self._stream.take(ticket)
            if first is not None and first.final:
                return self._make_json_response(first)
            return await self._send_events(ticket, first)
        finally:
            self._stream.detach(ticket)

    async def send_events(self, *, after: int | None = None, opening: bytes = b"") -> web.StreamResponse:
        """Send events from the start, or those after the number `after`, the last one that the client has.
        Raises ClientDisconnected."""
        ticket = self._stream.attach(after)
        try:
            return await self._send_events(ticket, None, opening)
        finally:
            self._stream.detach(ticket)

    def _make_json_response(self, item: StreamItem) -> web.Response:
        status = 200
        if self._map_status:
            message = codec.decode(item.data)
            if isinstance(message, ErrorResponse):
                status = STATUS_OF.get(message.error.code, 200)
        return web.Response(
            status=status, body=item.data, content_type="application/json", headers=self._headers
        )

    async def _send_events(
        self, ticket: int, first: StreamItem | None, opening: bytes = b""
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={**HEADERS, **self._headers})
        try:
            await response.prepare(self._request)
            if opening:
                await response.write(opening)
            if self._prime:
                await response.write(encode_event(b"", id_=f"{self._stream.name}-0", retry_ms=RETRY_MS))
            if first is not None:
                await response.write(self._encode_item(first))
            await self._pump(ticket, response)
            await response.write_eof()
        except (ConnectionError, OSError):
            raise ClientDisconnected from None
        return response

    async def _pump(self, ticket: int, response: web.StreamResponse) -> None:
        silent = 0.0
        while True:
            while (item := self._stream.take(ticket)) is not None:
                await response.write(self._encode_item(item))
                silent = 0.0
            if self._stream.ended or self._stream.released or not self._stream.is_current(ticket):
                return
            if await self._stream.wait_for_change(DISCONNECT_CHECK_SECONDS):
                continue
            self._check_client()
            silent += DISCONNECT_CHECK_SECONDS
            if silent >= KEEPALIVE_SECONDS:
                await response.write(COMMENT)
                silent = 0.0

    def _encode_item(self, item: StreamItem) -> bytes:
        id_ = f"{self._stream.name}-{item.number}" if self._event_ids else ""
        return encode_event(item.data, name="message", id_=id_)

    def _check_client(self) -> None:
        if has_disconnected(self._request):
            raise ClientDisconnected
