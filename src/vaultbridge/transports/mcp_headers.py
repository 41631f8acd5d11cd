"""The headers that 2026-07-28 mirrors from a message, checked against it, without I/O.

Whoever stands between client and server may route by these headers, so a message must not say one thing in
its headers and another in its body (Streamable HTTP, Server Validation).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any, Final

from vaultbridge.rpc.messages import HEADER_MISMATCH, Params, Refused, Request

VERSION_HEADER: Final = "MCP-Protocol-Version"
METHOD_HEADER: Final = "Mcp-Method"
NAME_HEADER: Final = "Mcp-Name"
PARAM_PREFIX: Final = "Mcp-Param-"

_NAME_SOURCE: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ANNOTATION: Final = "x-mcp-header"
_MAX_DEPTH: Final = 16
"""How deep annotated properties are looked for: schemas of tools are shallow, a hostile one need not be."""


def check_version(headers: Mapping[str, str], declared: object) -> None:
    """The version header must be there and agree with `_meta`. Raises Refused."""
    given = headers.get(VERSION_HEADER)
    if given is None:
        raise _mismatch(f"{VERSION_HEADER} is missing")
    if given != declared:
        raise _mismatch(f"{VERSION_HEADER} is {given!r}, but the body says {declared!r}")


def check_routing(headers: Mapping[str, str], request: Request) -> None:
    """`Mcp-Method` on every request, `Mcp-Name` where there is a name. Raises Refused."""
    method = headers.get(METHOD_HEADER)
    if method is None:
        raise _mismatch(f"{METHOD_HEADER} is missing")
    if method != request.method:
        raise _mismatch(f"{METHOD_HEADER} is {method!r}, but the body says {request.method!r}")
    source = _NAME_SOURCE.get(request.method)
    if source is None:
        return
    name = headers.get(NAME_HEADER)
    if name is None:
        raise _mismatch(f"{NAME_HEADER} is missing")
    if _decoded(NAME_HEADER, name) != request.params.get(source):
        raise _mismatch(f"{NAME_HEADER} is not the body's {source}")


def check_arguments(headers: Mapping[str, str], schema: dict[str, Any], params: Params) -> None:
    """`Mcp-Param-*` for the properties that a tool's schema marks. Raises Refused."""
    arguments = params.get("arguments")
    for path, name in annotated(schema):
        header = PARAM_PREFIX + name
        given, value = headers.get(header), _at(arguments, path)
        if value is None:
            if given is not None:
                raise _mismatch(f"{header} is given, but the body has no value for it")
        elif given is None:
            raise _mismatch(f"{header} is missing")
        elif not _equal(_decoded(header, given), value):
            raise _mismatch(f"{header} is not the body's {'.'.join(path)}")


def annotated(schema: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The properties with an `x-mcp-header`, as (path, header suffix)."""
    stack: list[tuple[tuple[str, ...], Any]] = [((), schema)]
    while stack:
        path, node = stack.pop()
        properties = node.get("properties") if isinstance(node, dict) else None
        if not isinstance(properties, dict) or len(path) >= _MAX_DEPTH:
            continue
        for key, member in properties.items():
            if isinstance(member, dict) and isinstance(member.get(_ANNOTATION), str):
                yield (*path, key), member[_ANNOTATION]
            stack.append(((*path, key), member))


def _at(arguments: object, path: tuple[str, ...]) -> object:
    for key in path:
        arguments = arguments.get(key) if isinstance(arguments, dict) else None
    return arguments


def _equal(given: str, value: object) -> bool:
    match value:
        case bool():
            return given == ("true" if value else "false")
        case int() | float():
            try:
                return float(given) == value
            except ValueError:
                return False
        case str():
            return given == value
        case _:
            return False


def _decoded(header: str, value: str) -> str:
    """A header value, out of its base64 wrapping if it has one. Raises Refused for what no client may
    send."""
    if any(not (" " <= character <= "~" or character == "\t") for character in value):
        raise _mismatch(f"{header} holds a character that a header may not hold")
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        raise _mismatch(f"{header} holds invalid base64") from None


def _mismatch(what: str) -> Refused:
    return Refused(HEADER_MISMATCH, f"Header mismatch: {what}")
