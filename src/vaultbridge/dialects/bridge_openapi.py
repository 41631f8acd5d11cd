"""The OpenAPI description of Bridge v1, as the server itself serves it at `/bridge/v1/openapi.json`."""

from __future__ import annotations

from typing import Any

from vaultbridge import __version__
from vaultbridge.dialects.bridge_v1 import PROTOCOL_VERSION


def openapi() -> dict[str, Any]:
    """For OpenAPI 3.1. Paths are relative to `/bridge/v1`."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Bridge v1",
            "version": PROTOCOL_VERSION,
            "description": f"The tools of an Obsidian vault as JSON over HTTP, by vaultbridge {__version__}.",
        },
        "servers": [{"url": "/bridge/v1"}],
        "security": [{}, {"token": []}],
        "paths": {
            "/health": {
                "get": {
                    "operationId": "health",
                    "summary": "Whether the server is there, and which protocol it speaks.",
                    "responses": {"200": _answer("It is.", "Health"), **_failures("403")},
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
                            **_answer("The tools.", "Tools"),
                            "headers": {"ETag": {"schema": {"type": "string"}, "required": True}},
                        },
                        "304": {
                            "description": "Nothing has changed.",
                            "headers": {"ETag": {"schema": {"type": "string"}, "required": True}},
                        },
                        **_failures("401", "403", "500"),
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
                        "200": _answer("What the tool answered.", "Result"),
                        **_failures("400", "401", "403", "404", "408", "413", "500"),
                    },
                }
            },
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": _SCHEMAS,
        },
    }


_REASONS = {
    "400": "The body breaks a rule.",
    "401": "A token is needed, or the one given is not valid.",
    "403": "The Host or Origin may not use this server.",
    "404": "There is no such tool.",
    "408": "The body did not arrive in time.",
    "413": "The body has more than 1 MiB.",
    "500": "The server failed.",
}


def _answer(description: str, schema: str) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{schema}"}
    return {"description": description, "content": {"application/json": {"schema": reference}}}


def _failures(*codes: str) -> dict[str, Any]:
    return {code: _answer(_REASONS[code], "Failure") for code in codes}


def _object(required: list[str], properties: dict[str, Any], *, closed: bool = True) -> dict[str, Any]:
    shape: dict[str, Any] = {"type": "object", "required": required, "properties": properties}
    return {**shape, "additionalProperties": False} if closed else shape


_TEXT = {"type": "string"}

_CONTENT = {
    "description": "A content block of MCP, as it is.",
    **_object(["type"], {"type": _TEXT}, closed=False),
}

_SCHEMAS: dict[str, Any] = {
    "Health": _object(
        ["status", "version", "protocolVersion"],
        {"status": {"const": "ok"}, "version": _TEXT, "protocolVersion": {"const": PROTOCOL_VERSION}},
    ),
    "Tools": _object(
        ["tools", "hash"],
        {
            "tools": {
                "type": "array",
                "items": _object(
                    ["name", "description", "inputSchema"],
                    {"name": _TEXT, "description": _TEXT, "inputSchema": {"type": "object"}},
                ),
            },
            "hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        },
    ),
    "Call": _object(["arguments"], {"arguments": {"type": "object"}}, closed=False),
    "Content": _CONTENT,
    "Result": {
        "oneOf": [
            _object(
                ["success", "content"],
                {
                    "success": {"const": True},
                    "content": {"type": "array", "items": {"$ref": "#/components/schemas/Content"}},
                },
            ),
            _object(
                ["success", "content", "isError"],
                {
                    "success": {"const": False},
                    "content": {"type": "array", "items": {"$ref": "#/components/schemas/Content"}},
                    "isError": {"const": True},
                },
            ),
        ]
    },
    "Failure": _object(["error", "message"], {"error": _TEXT, "message": _TEXT, "details": _TEXT}),
}
