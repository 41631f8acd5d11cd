"""The headers that Streamable HTTP wants beside a message, taken from the message itself. Pure.

From 2026-07-28 a request's version, method and name (and the tool's arguments marked `x-mcp-header`) are
repeated in headers, so that a gateway can route without reading the body; servers refuse a disagreement.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from vaultbridge.client.messages import Message

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_KEY: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"

VERSION_HEADER: Final = "MCP-Protocol-Version"
SESSION_HEADER: Final = "Mcp-Session-Id"

NAMED: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose `Mcp-Name` header repeats a parameter."""

MARKED_DEPTH: Final = 16
"""How deep marked arguments are looked for: schemas are finite, but need not be reasonable."""

_PLAIN = re.compile(r"[\x20-\x7e]*")
_WRAPPED = re.compile(r"=\?base64\?.*\?=")

Marked = dict[tuple[str, ...], str]
"""The path of a marked argument, and the header's name after `Mcp-Param-`."""


def modern_version(message: Message) -> str | None:
    """The protocol version that a request carries itself, as it does from 2026-07-28."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    return version if isinstance(version, str) else None


def modern_headers(message: Message, marked: Mapping[str, Marked]) -> dict[str, str]:
    """For a request that carries its own version; `marked` holds the marked arguments of each tool."""
    version = modern_version(message)
    if version is None:
        return {}
    method, params = message["method"], message["params"]
    headers = {VERSION_HEADER: version, "Mcp-Method": method}
    name = params.get(NAMED.get(method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = header_value(name)
        if method == "tools/call" and name in marked:
            headers.update(_argument_headers(marked[name], params.get("arguments")))
    return headers


def header_value(text: str) -> str:
    """`text` as a header can carry it: printable ASCII as it is, everything else in base64."""
    if _PLAIN.fullmatch(text) and text == text.strip() and not _WRAPPED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode('ascii')}?="


def marked_arguments(result: object) -> dict[str, Marked]:
    """The marked arguments of every tool in the result of `tools/list`."""
    tools = result.get("tools") if isinstance(result, dict) else None
    found: dict[str, Marked] = {}
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict) and isinstance(tool.get("name"), str):
            found[tool["name"]] = dict(_marked(tool.get("inputSchema"), ()))
    return found


def _marked(schema: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or len(path) >= MARKED_DEPTH:
        return
    for name, inner in properties.items():
        if isinstance(inner, dict):
            mark = inner.get("x-mcp-header")
            if isinstance(mark, str) and mark:
                yield (*path, name), mark
            yield from _marked(inner, (*path, name))


def _argument_headers(marked: Marked, arguments: object) -> dict[str, str]:
    headers = {}
    for path, name in marked.items():
        value: Any = arguments
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool):
            headers[f"Mcp-Param-{name}"] = "true" if value else "false"
        elif isinstance(value, str | int):
            headers[f"Mcp-Param-{name}"] = header_value(str(value))
    return headers
