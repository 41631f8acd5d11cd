"""Messages of the server, held to the JSON Schema of their version.

The schemas in tests/data/mcp-schema are those the specification publishes, unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Container
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

SCHEMAS = Path(__file__).parents[1] / "data" / "mcp-schema"

RESULT_OF = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "logging/setLevel": "EmptyResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
    "server/discover": "DiscoverResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "completion/complete": "CompleteResult",
}

ABSENT_FROM_ALL = {
    "Tool": "tools",
    "Resource": "resources",
    "ResourceTemplate": "resourceTemplates",
    "Prompt": "prompts",
}
"""The schemas allow unknown members nearly everywhere; of these values we want only members the version
names."""


@cache
def _make_validator(version: str, definition: str) -> Any:
    schema = json.loads((SCHEMAS / f"{version}.json").read_text("utf-8"))
    key = "$defs" if "$defs" in schema else "definitions"
    assert definition in schema[key], f"{version} has no {definition}"
    schema = {name: value for name, value in schema.items() if name in (key, "$schema")}
    return jsonschema.validators.validator_for(schema)({**schema, "$ref": f"#/{key}/{definition}"})


@cache
def _read_definitions(version: str) -> dict[str, Any]:
    schema = json.loads((SCHEMAS / f"{version}.json").read_text("utf-8"))
    found: dict[str, Any] = schema.get("$defs") or schema["definitions"]
    return found


def check(
    version: str, message: dict[str, Any], answered_method: str = "", *, extends: Container[str] = ()
) -> None:
    """Raise when a message of the server is not what its version describes. `answered_method` is the
    method that a response answers, "" when unknown. `extends` are members that an extension adds to what is
    listed."""
    definitions = _read_definitions(version)
    if "method" in message:
        kind = "ServerRequest" if "id" in message else "ServerNotification"
        _make_validator(version, kind).validate(message)
    elif "error" in message:
        if message["id"] is None:
            # Before 2025-11-25 the schema forbids the null that JSON-RPC 2.0 demands here.
            message = {name: value for name, value in message.items() if name != "id"}
            if "JSONRPCErrorResponse" not in definitions:
                message["id"] = 0
        name = "JSONRPCErrorResponse" if "JSONRPCErrorResponse" in definitions else "JSONRPCError"
        _make_validator(version, name).validate(message)
    else:
        _check_result(version, message, answered_method, extends)


def _check_result(version: str, message: dict[str, Any], method: str, extends: Container[str]) -> None:
    result = message["result"]
    if result.get("resultType") == "input_required":
        _make_validator(version, "InputRequiredResult").validate(result)
        return
    if method in RESULT_OF:
        _make_validator(version, RESULT_OF[method]).validate(result)
    for definition, member in ABSENT_FROM_ALL.items():
        known = _read_definitions(version)[definition]["properties"]
        for item in result.get(member, []):
            unknown = {name for name in set(item) - set(known) if name not in extends}
            assert not unknown, f"{version}: {definition} has no {unknown}"
