"""How `vaultbridge call` shows what a server said: tables and plain text for people, JSON for programs."""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import shutil
import sys
from typing import Any, Final

import msgspec

from vaultbridge.client.messages import Message, encode
from vaultbridge.client.primitives import Primitive
from vaultbridge.client.session import Session
from vaultbridge.errors import EngineFailure

WATCH_BACKLOG: Final = 1000
"""Notifications that wait to be printed; a terminal that is paused longer loses the oldest."""

NARROWEST: Final = 24
"""Columns that a description keeps on the narrowest terminal."""

HEADINGS: Final = {
    "tool": "Tools",
    "resource": "Resources",
    "template": "Resource templates",
    "prompt": "Prompts",
}


def finish() -> None:
    """Write out what is buffered. Raises OSError when it cannot be."""
    sys.stdout.flush()


def abandon() -> None:
    """The output has failed: what is still buffered goes nowhere, or the interpreter would try again."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def trace(line: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{line}\n")


def show_primitives(session: Session, found: list[Primitive]) -> None:
    info = session.server_info
    name = " ".join(str(info[key]) for key in ("name", "version") if info.get(key)) or "unnamed server"
    _say(f"{name} · MCP {session.protocol_version}")
    for kind, heading in HEADINGS.items():
        entries = [entry for entry in found if entry.type == kind]
        if entries:
            _say(f"\n{heading} ({len(entries)})")
            _table([(entry.name, _arguments(entry), _summary(entry)) for entry in entries])
    if not found:
        _say("It offers nothing.")


def show_primitives_json(session: Session, found: list[Primitive]) -> None:
    show_json(
        {
            "server": session.server_info,
            "protocolVersion": session.protocol_version,
            "capabilities": session.server_capabilities,
            "primitives": [{"type": entry.type, **entry.value} for entry in found],
        }
    )


def show_json(value: Any) -> None:
    _say(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def show_tool_result(result: Message) -> None:
    shown = [_content(part) for part in _parts(result.get("content"))]
    if shown:
        _say("\n".join(shown))
    elif "structuredContent" in result:
        show_json(result["structuredContent"])


def show_resource(result: Message) -> None:
    for part in _parts(result.get("contents")):
        if "text" in part:
            _say(str(part["text"]))
        elif sys.stdout.isatty():
            _say(_content({"type": "resource", "resource": part}))
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(_bytes(part.get("blob", "")))
            sys.stdout.buffer.flush()


def show_prompt(result: Message) -> None:
    for message in _parts(result.get("messages")):
        for part in _parts(message.get("content")):
            _say(f"[{message.get('role')}] {_content(part)}")


def show_notification(message: Message, *, as_json: bool) -> None:
    if as_json:
        _say(encode(message).decode())
    else:
        params = encode(message.get("params") or {}).decode()
        _say(f"{message['method']} {params}")
    sys.stdout.flush()


def text_of(result: Message) -> str:
    return "\n".join(str(part["text"]) for part in _parts(result.get("content")) if "text" in part)


def _parts(value: Any) -> list[Message]:
    """The parts of a result; what a careless server sends instead of one is shown as the text it is."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    return [item if isinstance(item, dict) else {"type": "text", "text": item} for item in items]


def _bytes(blob: object) -> bytes:
    try:
        return base64.b64decode(str(blob), validate=True)
    except (binascii.Error, ValueError):
        raise EngineFailure("The server's resource is not base64.") from None


def _content(part: Message) -> str:
    match part.get("type"):
        case "text":
            return str(part.get("text", ""))
        case "image" | "audio" as kind:
            size = len(str(part.get("data", ""))) * 3 // 4
            return f"[{kind} {part.get('mimeType', '')}, about {size} bytes]"
        case "resource_link":
            return f"[resource {part.get('uri')}]"
        case "resource":
            inner = part.get("resource")
            if not isinstance(inner, dict):
                return "[resource]"
            kind = inner.get("mimeType", "unknown type")
            return str(inner["text"]) if "text" in inner else f"[{kind} {inner.get('uri')}]"
        case other:
            return f"[{other}]"


def _arguments(entry: Primitive) -> str:
    """`name*` for a required argument, `name` for another."""
    if entry.type == "prompt":
        listed = _parts(entry.value.get("arguments"))
        return " ".join(f"{a.get('name')}{'*' if a.get('required') else ''}" for a in listed)
    schema = entry.value.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict):
        return ""
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return " ".join(f"{name}{'*' if name in needed else ''}" for name in properties)


def _summary(entry: Primitive) -> str:
    text = entry.description or (entry.title if entry.title != entry.name else "")
    return text.strip().split("\n", 1)[0]


def _table(rows: list[tuple[str, str, str]]) -> None:
    """Columns as wide as they need; the last is cut at the terminal's edge."""
    width = shutil.get_terminal_size().columns
    first = max(len(row[0]) for row in rows)
    second = max(len(row[1]) for row in rows)
    gap = 2 if second else 0
    room = max(NARROWEST, width - 2 - first - 2 - second - gap)
    for name, arguments, summary in rows:
        if len(summary) > room:
            summary = summary[: room - 1] + "…"
        _say(f"  {name:<{first}}  {arguments:<{second}}{' ' * gap}{summary}".rstrip())


def _say(text: str) -> None:
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
