"""`vaultbridge call`: lists what an MCP server offers, calls a tool, reads a resource, watches notifications.

Over WebSocket, Streamable HTTP or stdio, at the newest version the server has. Results go to stdout (tables
and text for people, JSON for programs), everything else to stderr. Exit codes: 0, 1 when the server or the
tool failed, 2 when the command is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import binascii
import contextlib
import os
import shutil
import signal
import sys
import textwrap
import time
from pathlib import Path
from typing import Any, Final

import msgspec

from vaultbridge import event_loop
from vaultbridge.cli.parser import SuggestingParser, add_color
from vaultbridge.cli.terminal import Terminal, to_one_line
from vaultbridge.client.errors import ConnectFailed, ConnectionLost, RpcError, TransportClosed
from vaultbridge.client.messages import CONNECTION_LOST, Message, encode
from vaultbridge.client.plugins import IDE, open_target
from vaultbridge.client.primitives import Primitive, list_primitives
from vaultbridge.client.session import Session
from vaultbridge.client.trace import TracedTransport
from vaultbridge.client.transport import Transport
from vaultbridge.errors import (
    JSON_ERRORS,
    EngineFailure,
    InvalidArgument,
    VaultbridgeError,
    describe_json_error,
)
from vaultbridge.limits import CALL_SECONDS
from vaultbridge.protocols.mcp.versions import HANDSHAKE_VERSIONS

WATCH_BACKLOG: Final = 1000
"""How many notifications wait to be printed; if the terminal is paused for longer, the oldest are lost."""

NARROWEST: Final = 24
"""The width of a description on the narrowest terminal, in columns."""

HEADINGS: Final = {
    "tool": "Tools",
    "resource": "Resources",
    "template": "Resource templates",
    "prompt": "Prompts",
}


def flush_output() -> None:
    """Write what is buffered. Raises OSError."""
    sys.stdout.flush()


def discard_output() -> None:
    """Discard what is buffered, because the output has failed: the interpreter would try again at exit."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def trace(line: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{line}\n")


def show_primitives(session: Session, found: list[Primitive], terminal: Terminal) -> None:
    info = session.server_info
    name = " ".join(str(info[key]) for key in ("name", "version") if info.get(key)) or "unnamed server"
    _say(f"{name} · MCP {session.protocol_version}")
    for kind, heading in HEADINGS.items():
        entries = [entry for entry in found if entry.type == kind]
        if entries:
            sys.stdout.write(f"\n{terminal.style(heading, 'heading')} ({len(entries)})\n")
            rows = [(entry.name, _list_arguments(entry), _summarize(entry)) for entry in entries]
            _print_table(rows, terminal)
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
    shown = [_render_content(part) for part in _list_parts(result.get("content"))]
    if shown:
        _say("\n".join(shown))
    elif "structuredContent" in result:
        show_json(result["structuredContent"])


def show_resource(result: Message) -> None:
    for part in _list_parts(result.get("contents")):
        if "text" in part:
            _say(str(part["text"]))
        elif sys.stdout.isatty():
            _say(_render_content({"type": "resource", "resource": part}))
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(_decode_blob(part.get("blob", "")))
            sys.stdout.buffer.flush()


def show_prompt(result: Message) -> None:
    for message in _list_parts(result.get("messages")):
        for part in _list_parts(message.get("content")):
            _say(f"[{message.get('role')}] {_render_content(part)}")


def show_notification(message: Message, *, as_json: bool) -> None:
    if as_json:
        _say(encode(message).decode())
    else:
        params = encode(message.get("params") or {}).decode()
        _say(f"{message['method']} {params}")
    sys.stdout.flush()


def join_text(result: Message) -> str:
    return "\n".join(str(part["text"]) for part in _list_parts(result.get("content")) if "text" in part)


def _list_parts(value: Any) -> list[Message]:
    """List the parts of a result; anything else that a careless server sends is shown as text."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    return [item if isinstance(item, dict) else {"type": "text", "text": item} for item in items]


def _decode_blob(blob: object) -> bytes:
    try:
        return base64.b64decode(str(blob), validate=True)
    except (binascii.Error, ValueError):
        raise EngineFailure("The server's resource is not base64.") from None


def _render_content(part: Message) -> str:
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


def _list_arguments(entry: Primitive) -> str:
    """List arguments: `name*` for a required one, `name` for others."""
    if entry.type == "prompt":
        listed = _list_parts(entry.value.get("arguments"))
        return " ".join(f"{a.get('name')}{'*' if a.get('required') else ''}" for a in listed)
    schema = entry.value.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict):
        return ""
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return " ".join(f"{name}{'*' if name in needed else ''}" for name in properties)


def _summarize(entry: Primitive) -> str:
    text = entry.description or (entry.title if entry.title != entry.name else "")
    return text.strip().split("\n", 1)[0]


def _print_table(rows: list[tuple[str, str, str]], terminal: Terminal) -> None:
    """Print columns as wide as needed; the last is cut at the terminal's edge. If the arguments leave it no
    room, they follow on lines of their own."""
    rows = [
        (terminal.clean(name), terminal.clean(arguments), terminal.clean(summary))
        for name, arguments, summary in rows
    ]
    width = shutil.get_terminal_size().columns
    first = max(len(row[0]) for row in rows)
    second = max(len(row[1]) for row in rows)
    gap = 2 if second else 0
    room = width - 2 - first - 2 - second - gap
    below = second > 0 and room < NARROWEST
    room = max(NARROWEST, room + second + gap if below else room)
    for name, arguments, summary in rows:
        if len(summary) > room:
            summary = summary[: room - 1] + "…"
        names = f"{terminal.style(name, 'path')}{' ' * (first - len(name))}"
        given = f"{terminal.style(arguments, 'dim')}{' ' * (second - len(arguments) + gap)}"
        sys.stdout.write(f"  {names}  {'' if below else given}{summary}".rstrip() + "\n")
        for line in textwrap.wrap(arguments, max(NARROWEST, width - 6)) if below else ():
            sys.stdout.write(f"      {terminal.style(line, 'dim')}\n")


def _say(text: str) -> None:
    """Print what a server sent; on a terminal, its control sequences must not act."""
    shown = Terminal(screen=sys.stdout.isatty()).clean(text)
    sys.stdout.write(shown if shown.endswith("\n") else shown + "\n")


EXAMPLES: Final = """\
examples:
  vaultbridge call ws://localhost:8080              what the server offers
  vaultbridge call "vaultbridge stdio Notes" obsidian_search '{"query": "roof"}'
  vaultbridge call notes obsidian_search @arguments.json
  vaultbridge call notes --read obsidian://vault/Notes/Home.md
  vaultbridge call ide --watch                      this folder's IDE server

`notes` is the name of a server in .mcp.json, and `ide` a vault that is being
served for Claude Code's /ide.
"""


def make_parser() -> SuggestingParser:
    p = SuggestingParser(
        prog="vaultbridge call",
        description="List and call the tools of any MCP server.",
        epilog=EXAMPLES,
    )
    p.add_argument(
        "target",
        metavar="TARGET",
        help="a ws(s):// or http(s):// URL, a command in quotes, a name from the config, or ide",
    )
    p.add_argument(
        "tool", nargs="?", metavar="TOOL", help="the tool to call; without it, list what the server offers"
    )
    p.add_argument(
        "arguments",
        nargs="?",
        default="{}",
        metavar="JSON",
        help="its arguments; @FILE reads a file, - stdin",
    )
    p.add_argument("--read", metavar="URI", help="read a resource")
    p.add_argument(
        "--prompt", metavar="NAME", help="get a prompt; write its arguments as JSON in place of the tool"
    )
    p.add_argument("--watch", action="store_true", help="print notifications until interrupted")
    p.add_argument("--resource", action="append", default=[], metavar="URI", help="watch this resource too")
    p.add_argument("--count", type=int, default=0, metavar="N", help="end --watch after N notifications")
    p.add_argument("--json", action="store_true", help="print the result as JSON")
    add_color(p)
    p.add_argument("--trace", action="store_true", help="write every message to stderr")
    p.add_argument("--config", metavar="FILE", help="servers by name: .mcp.json or Claude Desktop's file")
    p.add_argument(
        "--trust",
        action="store_true",
        help="use this folder's .mcp.json without asking, this time only",
    )
    p.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'", help="send this header")
    p.add_argument("--timeout", type=float, default=CALL_SECONDS, metavar="S", help="seconds for each answer")
    p.add_argument(
        "--mcp", default="auto", metavar="VERSION", help="the protocol's version (default: the newest)"
    )
    return p


def main(argv: list[str]) -> int:
    parser = make_parser()
    try:
        args = parser.parse(argv)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    try:
        _check(args)
        # Not in the event loop, whose first interrupt would not end the reading of stdin.
        arguments = _parse_arguments(args)
        code = event_loop.run(_run(args, arguments))
        flush_output()
        return code
    except InvalidArgument as error:
        return _complain(str(error), 2, f"{parser.brief_usage()}\n")
    except VaultbridgeError as error:
        return _complain(str(error), 1)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except OSError as error:
        # This is about our own output: transports raise our own errors. The flush at exit must not fail
        # again.
        discard_output()
        if isinstance(error, BrokenPipeError):
            return 1  # the reader has gone, like `head`
        return _complain((error.strerror or "the output cannot be written").lower(), 1)


def _complain(text: str, code: int, usage: str = "") -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"vaultbridge call: {to_one_line(text)}\n{usage}")
    return code


def _check(args: argparse.Namespace) -> None:
    """Refuse options that would be ignored. Raises InvalidArgument."""
    if not args.timeout > 0:
        raise InvalidArgument("--timeout must be a number of seconds above 0.")
    modes = [name for name in ("read", "prompt", "watch") if getattr(args, name) not in (None, False)]
    if len(modes) > 1:
        raise InvalidArgument(f"--{modes[0]} and --{modes[1]} cannot be combined.")
    for name in ("read", "prompt", "tool"):
        if getattr(args, name) == "":
            raise InvalidArgument(f"{'The tool' if name == 'tool' else f'--{name}'} is empty.")
    if args.tool is not None and modes and modes[0] != "prompt":
        raise InvalidArgument(f"--{modes[0]} calls no tool.", hint=f"Leave out {args.tool!r}.")
    if args.prompt is not None and args.arguments != "{}":
        raise InvalidArgument("A prompt's arguments must be one JSON object.", hint='Like \'{"a": "b"}\'.')
    if args.count < 0:
        raise InvalidArgument("--count must be a number of notifications, or 0 for no limit.")
    if not args.watch and (args.count or args.resource):
        raise InvalidArgument(f"--{'count' if args.count else 'resource'} works only with --watch.")


async def _run(args: argparse.Namespace, arguments: dict[str, Any]) -> int:
    transport: Transport = open_target(
        args.target,
        config=args.config,
        headers=_parse_headers(args.header),
        timeout=min(args.timeout, CALL_SECONDS),
        trust=lambda action: args.trust or _ask_for_trust(args, action),
    )
    if args.trace:
        transport = TracedTransport(transport, trace, time.monotonic)
    is_ide = args.target == IDE and args.config is None
    # An IDE server sends selections and mentions only after a handshake.
    version = HANDSHAKE_VERSIONS[-1] if is_ide and args.mcp == "auto" else args.mcp
    session = Session(transport, version=version, timeout=args.timeout)
    seen: asyncio.Queue[Message] = asyncio.Queue(WATCH_BACKLOG)
    if args.watch:
        session.on_notification = lambda message: _enqueue(seen, message)
    ends: list[Exception] = []
    lost = asyncio.Event()

    def on_error(error: Exception) -> None:
        if isinstance(error, ConnectionLost | ConnectFailed):
            ends.append(error)
        if isinstance(error, ConnectionLost):
            lost.set()

    transport.on_error = on_error
    try:
        async with session:
            if is_ide and not session.is_modern:
                await session.notify("ide_connected", {"pid": os.getpid()})
            if args.watch:
                return await _watch(session, args, seen, lost)
            return await _act(session, args, arguments)
    except (RpcError, TransportClosed) as error:
        # Our own error answer says only that the connection ended; the reason says more.
        if ends and (isinstance(error, TransportClosed) or error.rpc_code == CONNECTION_LOST):
            raise ends[-1] from None
        raise


def _ask_for_trust(args: argparse.Namespace, action: str) -> bool:
    """Ask the person at the terminal. Without a terminal nobody is asked, and the answer is not
    remembered."""
    terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()
    if not terminal or args.arguments == "-":
        return False
    sys.stderr.write(f"The .mcp.json of this folder {action}.\nContinue? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


async def _act(session: Session, args: argparse.Namespace, arguments: dict[str, Any]) -> int:
    if args.read:
        result = await session.read_resource(args.read)
        show_json(result) if args.json else show_resource(result)
    elif args.prompt:
        result = await session.get_prompt(args.prompt, arguments)
        show_json(result) if args.json else show_prompt(result)
    elif args.tool:
        return await _call(session, args, arguments)
    else:
        found = await list_primitives(session)
        if args.json:
            show_primitives_json(session, found)
        else:
            show_primitives(session, found, Terminal.detect(args.color))
    return 0


async def _call(session: Session, args: argparse.Namespace, arguments: dict[str, Any]) -> int:
    result = await session.call_tool(args.tool, arguments)
    failed = result.get("isError") is True
    if args.json:
        show_json(result)
    elif not failed:
        show_tool_result(result)
    if failed:
        return _complain(f"{args.tool} failed: {join_text(result) or 'without a reason'}", 1)
    return 0


async def _watch(
    session: Session, args: argparse.Namespace, seen: asyncio.Queue[Message], lost: asyncio.Event
) -> int:
    """Print notifications. Whatever ends the watch, those that arrived before are printed first."""
    stop = asyncio.Event()
    with contextlib.suppress(NotImplementedError):  # Windows: Ctrl-C ends the loop instead
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.set)
    session.transport.on_state = lambda _: lost.set()  # any change of state ends the connection
    if not session.transport.is_connected:
        lost.set()
    listening = asyncio.create_task(session.listen(tuple(args.resource)))
    stopping = asyncio.create_task(stop.wait())
    losing = asyncio.create_task(lost.wait())
    shown = 0
    try:
        while True:
            nearest = asyncio.create_task(seen.get())
            waiting = {nearest, stopping, losing, *([] if listening.done() else [listening])}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if nearest.done():
                show_notification(nearest.result(), as_json=args.json)
                shown += 1
            else:
                nearest.cancel()
            if stopping.done() or shown == args.count > 0:
                return 0
            if not seen.empty():
                continue
            if listening.done():
                listening.result()
                if session.is_modern:
                    return 0  # the server has ended the stream
            if losing.done():
                return _complain("the connection has ended", 1)
    finally:
        for task in (listening, stopping, losing):
            task.cancel()
        await asyncio.gather(listening, stopping, losing, return_exceptions=True)


def _enqueue(seen: asyncio.Queue[Message], message: Message) -> None:
    if seen.full():
        seen.get_nowait()  # if the terminal cannot keep up, the oldest is lost
    seen.put_nowait(message)


def _parse_arguments(args: argparse.Namespace) -> dict[str, Any]:
    text = (args.tool or "{}") if args.prompt else args.arguments
    try:
        if text == "-":
            text = sys.stdin.read() if sys.stdin is not None else ""
        elif text.startswith("@"):
            text = Path(text[1:]).read_text("utf-8")
        value = msgspec.json.decode(text)
    except OSError as error:
        raise InvalidArgument(f"The arguments cannot be read: {(error.strerror or '').lower()}.") from None
    except JSON_ERRORS as error:
        raise InvalidArgument(
            f"The arguments are not JSON: {describe_json_error(error)}.",
            hint="Give an object, like '{\"a\": 1}'.",
        ) from None
    if not isinstance(value, dict):
        raise InvalidArgument("The arguments must be a JSON object.", hint="Like '{\"a\": 1}'.")
    return value


def _parse_headers(lines: list[str]) -> dict[str, str]:
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise InvalidArgument("A header is written 'NAME: VALUE'.", argument="header")
        headers[name.strip()] = value.strip()
    return headers
