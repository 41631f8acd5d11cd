"""Bridge v1 on an aiohttp application: paths, methods, headers, bodies and their limits, and its OpenAPI
document.

    add_bridge_routes(app, guard=HostGuard(), authorize=authorize)

`authorize` is the same as for MCP (`mcp.http.endpoint.Authorize`): after the Host and Origin rules it checks
each request and returns the server that the caller may use, or raises an aiohttp HTTPException. `endpoints`
answers the requests; this module connects it to HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final
from urllib.parse import unquote
from weakref import WeakKeyDictionary

import msgspec
from aiohttp import web
from multidict import CIMultiDict

from vaultbridge import __version__
from vaultbridge.activity.clients import Activity
from vaultbridge.limits import CALL_SECONDS
from vaultbridge.protocols.bridge_v1.client import BASE
from vaultbridge.protocols.bridge_v1.endpoints import (
    BODY_BYTES,
    PROTOCOL_VERSION,
    BridgeV1,
    render_health,
)
from vaultbridge.protocols.http.failures import INTERNAL, HttpFailure, from_refusal, to_response
from vaultbridge.protocols.http.guard import API_KEY_HEADER, HostGuard, find_host
from vaultbridge.protocols.http.request import (
    BodyRefused,
    close_if_body_unread,
    defer_continue,
    find_address,
    read_body,
    while_connected,
)
from vaultbridge.protocols.mcp.http.endpoint import Authorize
from vaultbridge.protocols.mcp.server import McpServer


def describe_api() -> dict[str, Any]:
    """The OpenAPI 3.1 document. Paths are relative to `/bridge/v1`."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Bridge v1",
            "version": PROTOCOL_VERSION,
            "description": f"The tools of an Obsidian vault as JSON over HTTP, by vaultbridge {__version__}.",
        },
        "servers": [{"url": BASE}],
        "security": [{}, {"token": []}, {"key": []}],
        "paths": {
            "/health": {
                "get": {
                    "operationId": "health",
                    "summary": "Whether the server is running, and which protocol version it speaks.",
                    "responses": {
                        "200": _describe_answer("The server is running.", "Health"),
                        **_describe_failures("403"),
                    },
                }
            },
            "/tools": {
                "get": {
                    "operationId": "tools",
                    "summary": "All tools, and a hash that changes when they do.",
                    "parameters": [
                        {
                            "name": "If-None-Match",
                            "in": "header",
                            "schema": {"type": "string"},
                            "description": "The ETag of an earlier answer.",
                        }
                    ],
                    "responses": {
                        "200": {
                            **_describe_answer("The tools.", "Tools"),
                            "headers": {"ETag": {"schema": {"type": "string"}, "required": True}},
                        },
                        "304": {
                            "description": "Nothing has changed.",
                            "headers": {"ETag": {"schema": {"type": "string"}, "required": True}},
                        },
                        **_describe_failures("401", "403", "500"),
                    },
                }
            },
            "/tools/{name}/call": {
                "post": {
                    "operationId": "call",
                    "summary": "Call a tool. A tool that fails is answered with 200 and success: false.",
                    "parameters": [
                        {
                            "name": "name",
                            "in": "path",
                            "required": True,
                            "schema": {"type": "string", "minLength": 1},
                            "description": "The tool's name, URL-encoded.",
                        }
                    ],
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Call"}}},
                    },
                    "responses": {
                        "200": _describe_answer("What the tool answered.", "Result"),
                        **_describe_failures("400", "401", "403", "404", "408", "413", "500"),
                    },
                }
            },
        },
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": API_KEY_HEADER},
            },
            "schemas": _SCHEMAS,
        },
    }


_REASONS = {
    "400": "The body is not a valid request.",
    "401": "A token is required, or the given one is not valid.",
    "403": "The Host or Origin may not use this server.",
    "404": "There is no such tool.",
    "408": "The body did not arrive in time.",
    "413": "The body is larger than 1 MiB.",
    "500": "The server failed.",
}


def _describe_answer(description: str, schema: str) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{schema}"}
    return {"description": description, "content": {"application/json": {"schema": reference}}}


def _describe_failures(*codes: str) -> dict[str, Any]:
    return {code: _describe_answer(_REASONS[code], "Failure") for code in codes}


def _describe_object(
    required: list[str], properties: dict[str, Any], *, closed: bool = True
) -> dict[str, Any]:
    shape: dict[str, Any] = {"type": "object", "required": required, "properties": properties}
    return {**shape, "additionalProperties": False} if closed else shape


_TEXT = {"type": "string"}

_CONTENT = {
    "description": "A content block of MCP, unchanged.",
    **_describe_object(["type"], {"type": _TEXT}, closed=False),
}

_SCHEMAS: dict[str, Any] = {
    "Health": _describe_object(
        ["status", "version", "protocolVersion"],
        {"status": {"const": "ok"}, "version": _TEXT, "protocolVersion": {"const": PROTOCOL_VERSION}},
    ),
    "Tools": _describe_object(
        ["tools", "hash"],
        {
            "tools": {
                "type": "array",
                "items": _describe_object(
                    ["name", "description", "inputSchema"],
                    {
                        "name": _TEXT,
                        "description": _TEXT,
                        "inputSchema": {"type": "object"},
                        "annotations": {"type": "object"},
                    },
                ),
            },
            "hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        },
    ),
    "Call": _describe_object(["arguments"], {"arguments": {"type": "object"}}, closed=False),
    "Content": _CONTENT,
    "Result": {
        "oneOf": [
            _describe_object(
                ["success", "content"],
                {
                    "success": {"const": True},
                    "content": {"type": "array", "items": {"$ref": "#/components/schemas/Content"}},
                },
            ),
            _describe_object(
                ["success", "content", "isError"],
                {
                    "success": {"const": False},
                    "content": {"type": "array", "items": {"$ref": "#/components/schemas/Content"}},
                    "isError": {"const": True},
                },
            ),
        ]
    },
    "Failure": _describe_object(["error", "message"], {"error": _TEXT, "message": _TEXT, "details": _TEXT}),
}

BODY_SECONDS: Final = 20.0
"""How long a body of at most 1 MiB may take: callers are on this machine or nearby, and one that sends a byte
a second must not occupy a connection forever."""

CORS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Content-Type",
}
"""The specification's headers, for callers that the guard allows."""

_READY: Final = CIMultiDict({**CORS, "Content-Type": "application/json"})

BODY_ERRORS: Final = {
    400: "Invalid request body",
    408: "Request timeout",
    413: "Request body too large",
    415: "Unsupported media type",
    501: "Not implemented",
}
"""The specification's words for what can be wrong with a body before it is parsed."""

ALSO_ALLOWED: Final = ("Authorization", API_KEY_HEADER, "If-None-Match")
"""Headers that a preflight allows on request, because they carry a token and an ETag."""

log = logging.getLogger("vaultbridge.bridge")

_Endpoint = Callable[[web.Request], Awaitable[web.Response]]


def add_bridge_routes(
    app: web.Application,
    *,
    guard: HostGuard,
    authorize: Authorize,
    call_seconds: float = CALL_SECONDS,
    body_seconds: float = BODY_SECONDS,
    activity: Activity | None = None,
) -> None:
    """Serve everything below `/bridge`."""
    endpoint = BridgeEndpoint(
        guard, authorize, call_seconds=call_seconds, body_seconds=body_seconds, activity=activity
    )
    # The pattern matches line breaks too: a name may contain any character.
    for path in ("/bridge", r"/bridge/{rest:[\s\S]*}"):
        app.router.add_route("*", path, endpoint.handle, expect_handler=defer_continue)


class BridgeEndpoint:
    def __init__(
        self,
        guard: HostGuard,
        authorize: Authorize,
        *,
        call_seconds: float,
        body_seconds: float,
        activity: Activity | None = None,
    ) -> None:
        self._activity = activity
        self._guard = guard
        self._authorize = authorize
        self._call_seconds = call_seconds
        self._body_seconds = body_seconds
        self._bridges: WeakKeyDictionary[McpServer, BridgeV1] = WeakKeyDictionary()
        self._description = msgspec.json.encode(describe_api())

    async def handle(self, request: web.Request) -> web.Response:
        response = await self._answer(request)
        close_if_body_unread(request, response)
        return response

    async def _answer(self, request: web.Request) -> web.Response:
        """Answer a request. This is the only place where a failure becomes a response."""
        try:
            self._check_caller(request)
        except HttpFailure as failure:
            # There are no CORS headers, because a caller that is refused may not read the reason either.
            return self._tell_page_from_disk(request, failure) or to_response(failure)
        try:
            return await self._route(request)
        except HttpFailure as failure:
            return to_response(failure, CORS)
        except web.HTTPException as refusal:
            return to_response(from_refusal(refusal), CORS)
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return to_response(HttpFailure(500, INTERNAL, "The server failed; its log says why."), CORS)

    def _check_caller(self, request: web.Request) -> None:
        refusal = self._guard.find_refusal(find_host(request), request.headers.get("Origin"))
        if refusal is None and self._is_foreign_page(request):
            refusal = (
                "Pages of other sites may not use this server. Its owner can allow every site with "
                "`vaultbridge serve --cors any`."
            )
        if refusal is not None:
            raise HttpFailure(403, "Forbidden", refusal)

    def _tell_page_from_disk(self, request: web.Request, failure: HttpFailure) -> web.Response | None:
        """A page that its own user opened from disk may read why it is refused: the browser shows neither
        the page nor the user anything else. None for any other caller."""
        is_from_disk = request.headers.getall("Origin", []) == ["null"]
        if not is_from_disk or self._guard.find_host_refusal(find_host(request)) is not None:
            return None
        headers = {**CORS, **_make_preflight_headers(request)}
        if request.method == "OPTIONS":
            # Else the browser would not send the request that gets the reason.
            return web.Response(status=204, headers=headers)
        return to_response(failure, headers)

    def _is_foreign_page(self, request: web.Request) -> bool:
        """Whether the browser says that a page of another site made this request. It sends no Origin with
        images, scripts and links."""
        if request.headers.get("Sec-Fetch-Site") != "cross-site" or "Origin" in request.headers:
            return False
        # The browser does not say which site, so this needs a guard that allows every site.
        return not self._guard.allows_origin("https://another.site.invalid")

    async def _route(self, request: web.Request) -> web.Response:
        try:
            # Split before decoding: an encoded slash is part of a name.
            parts = [unquote(part, errors="strict") for part in request.rel_url.raw_path.split("/")[1:]]
        except UnicodeDecodeError:
            raise _not_found() from None
        # People and programs add a slash to an address; it changes the meaning of none of ours.
        while parts and not parts[-1]:
            parts.pop()
        match parts:
            case ["bridge", "v1", "tools", name, "call"] if name:
                return await self._serve(request, "POST", partial(self._call, name))
            case ["bridge", "v1", "tools"]:
                return await self._serve(request, "GET", self._tools)
            case ["bridge", "v1", "health"]:
                return await self._serve(request, "GET", self._health)
            case ["bridge", "v1", "openapi.json"]:
                return await self._serve(request, "GET", self._openapi)
            case _:
                raise _not_found()

    async def _serve(self, request: web.Request, method: str, endpoint: _Endpoint) -> web.Response:
        if request.method == method:
            return await endpoint(request)
        allow = f"{method}, HEAD, OPTIONS" if method == "GET" else f"{method}, OPTIONS"
        if request.method == "OPTIONS":
            return web.Response(
                status=204, headers={**CORS, **_make_preflight_headers(request), "Allow": allow}
            )
        if (method, request.method) != ("GET", "HEAD"):
            raise HttpFailure(
                405,
                "Method not allowed",
                f"{request.method} is not allowed here.",
                details=f"Allowed: {allow}",
                headers={"Allow": allow},
            )
        return await endpoint(request)

    async def _health(self, request: web.Request) -> web.Response:
        return _make_json_response(render_health())

    async def _openapi(self, request: web.Request) -> web.Response:
        return _make_json_response(self._description)

    async def _tools(self, request: web.Request) -> web.Response:
        bridge, _ = await self._bridge(request)
        listing = await bridge.list_tools()
        headers = {"ETag": listing.etag, "Cache-Control": "no-cache"}
        if _matches(request.headers.getall("If-None-Match", []), listing.etag):
            return web.Response(status=304, headers={**CORS, **headers})
        return _make_json_response(listing.body, headers)

    async def _call(self, name: str, request: web.Request) -> web.Response:
        bridge, principal = await self._bridge(request)
        client = None
        if self._activity is not None:
            client = self._activity.find_group(
                "bridge",
                principal=principal,
                user_agent=request.headers.get("User-Agent", ""),
                find_address=partial(find_address, request),
            )
        body = await self._body(request)
        if not await bridge.only_reads(name):
            # A change is completed even if its caller has left.
            return _make_json_response(await bridge.call(name, body, client))
        task = asyncio.current_task()
        assert task is not None
        with while_connected(request, task.cancel):
            return _make_json_response(await bridge.call(name, body, client))

    async def _bridge(self, request: web.Request) -> tuple[BridgeV1, str]:
        grant = await self._authorize(request)
        bridge = self._bridges.get(grant.server)
        if bridge is None:
            bridge = self._bridges[grant.server] = BridgeV1(grant.server, call_seconds=self._call_seconds)
        return bridge, grant.principal

    async def _body(self, request: web.Request) -> bytes:
        try:
            return await read_body(request, limit=BODY_BYTES, seconds=self._body_seconds)
        except BodyRefused as refusal:
            raise HttpFailure(
                refusal.status, BODY_ERRORS[refusal.status], refusal.why, headers={"Connection": "close"}
            ) from None


def _make_json_response(body: bytes, headers: dict[str, str] | None = None) -> web.Response:
    # This is a copy, because aiohttp would use and extend a dict of its own type itself.
    ready = _READY.copy()
    if headers:
        ready.update(headers)
    return web.Response(body=body, headers=ready)


def _not_found() -> HttpFailure:
    return HttpFailure(
        404,
        "Not found",
        "There is nothing at this address.",
        details=f"{BASE}/health, {BASE}/tools, {BASE}/tools/{{name}}/call, {BASE}/openapi.json",
    )


def _make_preflight_headers(request: web.Request) -> dict[str, str]:
    requested = {
        name.strip().lower() for name in request.headers.get("Access-Control-Request-Headers", "").split(",")
    }
    allowed = [name for name in ALSO_ALLOWED if name.lower() in requested]
    return {"Access-Control-Allow-Headers": ", ".join(["Content-Type", *allowed])} if allowed else {}


def _matches(values: list[str], etag: str) -> bool:
    """If-None-Match compares weakly (RFC 9110 13.1.2). The list may span several header lines."""
    tags = [tag.strip().removeprefix("W/") for line in values for tag in line.split(",")]
    return etag in tags or tags == ["*"]
