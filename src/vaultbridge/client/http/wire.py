"""Makes the headers of a message for Streamable HTTP, and parses server-sent events. Pure.

From 2026-07-28 on a request's version, method and name, and the tool's arguments marked `x-mcp-header`, are
repeated in headers, so that a gateway can route without reading the body. Servers refuse a mismatch.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from vaultbridge.client.errors import InvalidMessage
from vaultbridge.client.messages import Message, shorten
from vaultbridge.protocols.mcp.versions import (
    HEADER_MARK,
    METHOD_HEADER,
    NAME_HEADER,
    NAME_SOURCES,
    PARAM_PREFIX,
    VERSION_HEADER,
    VERSION_KEY,
)

HEADER_CHARS: Final = 4096
"""The longest value of a server's own that we send back to it: half of the 8 KiB that most servers accept
in one header."""

MARKABLE: Final = frozenset({"string", "integer", "boolean"})
"""The types of argument that a header can carry."""

_PLAIN = re.compile(r"[\x20-\x7e]*")
_WRAPPED = re.compile(r"=\?base64\?.*\?=")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")

_NAMED_SCHEMAS: Final = ("patternProperties", "$defs", "definitions", "dependentSchemas")
"""Keywords that contain schemas by name. Only below `properties` may an argument be marked."""

_OTHER_SCHEMAS: Final = (
    "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems", "additionalProperties",
    "unevaluatedProperties", "propertyNames", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
    "contentSchema",
)  # fmt: skip
"""Keywords that contain a schema or a list of them."""

Marked = dict[tuple[str, ...], str]
"""The path of a marked argument, and the header's name after `Mcp-Param-`."""


def read_version(message: Message) -> str | None:
    """Read the version that a request carries itself, as it does from 2026-07-28 on."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    version = meta.get(VERSION_KEY) if isinstance(meta, dict) else None
    return version if isinstance(version, str) else None


def make_headers(message: Message, marked: Mapping[str, Marked]) -> dict[str, str]:
    """Make the headers of a request that carries its own version; empty for others. `marked` has the marked
    arguments of each tool."""
    version = read_version(message)
    if version is None:
        return {}
    method, params = message["method"], message["params"]
    headers = {VERSION_HEADER: version, METHOD_HEADER: method}
    name = params.get(NAME_SOURCES.get(method, ""))
    if isinstance(name, str):
        headers[NAME_HEADER] = encode_value(name)
        if method == "tools/call" and name in marked:
            headers.update(_make_argument_headers(marked[name], params.get("arguments")))
    return headers


def encode_value(text: str) -> str:
    """Encode `text` for a header: printable ASCII stays as it is, everything else becomes base64."""
    if _PLAIN.fullmatch(text) and text == text.strip() and not _WRAPPED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode('ascii')}?="


def can_send_back(value: str) -> bool:
    """Whether a header can carry this value, which came from the server: a control character, or a byte that
    is not UTF-8, cannot be sent."""
    return len(value) <= HEADER_CHARS and value.isprintable()


class CheckedTools(NamedTuple):
    """`result` is that of `tools/list` without the tools whose marks are invalid; `refused` has the
    reasons."""

    result: Any
    marked: dict[str, Marked]
    refused: dict[str, str]


def check_tools(result: Any) -> CheckedTools:
    """Leave out the tools whose marks break the rules; the other tools stay usable.

    A client of Streamable HTTP MUST do so (2026-07-28, Custom Headers from Tool Parameters).
    """
    tools = result.get("tools") if isinstance(result, dict) else None
    if not isinstance(tools, list):
        return CheckedTools(result, {}, {})
    marked: dict[str, Marked] = {}
    refused: dict[str, str] = {}
    good = []
    for tool in tools:
        name = tool.get("name") if isinstance(tool, dict) else None
        if not isinstance(name, str):
            good.append(tool)  # The code that lists the tools reports this better.
            continue
        try:
            marked[name] = read_marks(tool.get("inputSchema"))
            good.append(tool)
        except ValueError as reason:
            refused[name] = str(reason)
    return CheckedTools({**result, "tools": good} if refused else result, marked, refused)


def read_marks(schema: Any) -> Marked:
    """Read the marked arguments of one tool. Raises ValueError, which names the rule that a mark breaks."""
    marks: Marked = {}
    seen: set[str] = set()
    # Each schema with its path of `properties`, or None where no argument may be marked.
    waiting: list[tuple[Any, tuple[str, ...] | None]] = [(schema, ())]
    while waiting:
        part, path = waiting.pop()
        if not isinstance(part, dict):
            continue
        if HEADER_MARK in part:
            if not path:
                raise ValueError(f"{HEADER_MARK} is not on an argument")
            mark = _read_mark(part, ".".join(path))
            if mark.lower() in seen:
                raise ValueError(f"two arguments share the {HEADER_MARK} {mark!r}")
            seen.add(mark.lower())
            marks[path] = mark
        waiting.extend(_iterate_schemas(part, path))
    return marks


def _read_mark(part: dict[str, Any], argument: str) -> str:
    mark, kind = part[HEADER_MARK], part.get("type")
    kinds = [name for name in kind if name != "null"] if isinstance(kind, list) else [kind]
    if not isinstance(mark, str) or not _TOKEN.fullmatch(mark):
        raise ValueError(f"the {HEADER_MARK} of {argument!r} is not the name of a header: {shorten(mark)}")
    if len(kinds) != 1 or not isinstance(kinds[0], str) or kinds[0] not in MARKABLE:
        raise ValueError(f"{argument!r} has an {HEADER_MARK}, but is not a string, an integer or a boolean")
    return mark


def _iterate_schemas(
    part: dict[str, Any], path: tuple[str, ...] | None
) -> Iterator[tuple[Any, tuple[str, ...] | None]]:
    properties = part.get("properties")
    if isinstance(properties, dict):
        for name, inner in properties.items():
            yield inner, None if path is None else (*path, name)
    for keyword in _NAMED_SCHEMAS:
        named = part.get(keyword)
        if isinstance(named, dict):
            yield from ((inner, None) for inner in named.values())
    for keyword in _OTHER_SCHEMAS:
        value = part.get(keyword)
        for inner in value if isinstance(value, list) else (value,):
            yield inner, None


def _make_argument_headers(marked: Marked, arguments: object) -> dict[str, str]:
    headers = {}
    for path, name in marked.items():
        value: Any = arguments
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool):
            headers[f"{PARAM_PREFIX}{name}"] = "true" if value else "false"
        elif isinstance(value, str | int):
            headers[f"{PARAM_PREFIX}{name}"] = encode_value(str(value))
    return headers


class ServerSentEvent(msgspec.Struct, frozen=True):
    name: str
    data: str
    id: str | None


class EventReader:
    """Parses a stream of server-sent events. `last_id` and `retry` (milliseconds) are the latest values, for
    resuming the stream."""

    def __init__(self, max_bytes: int) -> None:
        self.last_id: str | None = None
        self.retry: int | None = None
        self._max_bytes = max_bytes
        self._rest = b""
        self._held = 0
        self._data: list[str] = []
        self._name = ""
        self._id: str | None = None

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that `chunk` completes. Raises InvalidMessage when an event exceeds the size
        limit; the stream cannot be read further then."""
        text = (self._rest + chunk).replace(b"\r\n", b"\n")
        # A carriage return at the end may be half of a CRLF: keep it for the next chunk.
        held_cr = text.endswith(b"\r")
        lines = (text[:-1] if held_cr else text).replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + (b"\r" if held_cr else b"")
        events = [event for line in lines if (event := self._read_line(line)) is not None]
        if self._held + len(self._rest) > self._max_bytes:
            raise InvalidMessage(f"An event exceeded the limit of {self._max_bytes} bytes.")
        return events

    def _read_line(self, line: bytes) -> ServerSentEvent | None:
        if not line:
            return self._dispatch()
        self._held += len(line)
        field, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        match field:
            case b"data":
                self._data.append(text)
            case b"event":
                self._name = text
            case b"id" if can_send_back(text):
                self._id = text
            case b"retry" if text.isascii() and text.isdigit() and len(text) < 10:
                self.retry = int(text)
        return None

    def _dispatch(self) -> ServerSentEvent | None:
        if self._id is not None:
            self.last_id = self._id
        event = (
            ServerSentEvent(self._name or "message", "\n".join(self._data), self.last_id)
            if self._data
            else None
        )
        self._data, self._name, self._id, self._held = [], "", None, 0
        return event
