"""Starts the command that an assistant would start, and performs the handshake as the assistant would."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from vaultbridge.assistants.shared import PATH, SCHEME, SharedEntry
from vaultbridge.errors import JSON_ERRORS, EngineFailure

HANDSHAKE_SECONDS: Final = 60.0
"""How long a server may take: under `uvx` a first start downloads packages. Ours answers within a second."""

SHORT_STDERR: Final = 300
"""How many characters of a failing server's standard error are shown, from its end, where the reason is."""

STDERR_BYTES: Final = 64 * 1024
"""How much of a server's standard error is kept."""

ANSWER_BYTES: Final = 4 * 1024 * 1024
"""The longest list of tools that is read; ours has 16,000 bytes."""

_DATA: Final = re.compile(rb"^data: ?(.*?)\r?$", re.MULTILINE)

_INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "vaultbridge-check", "version": "1"},
    },
}
_LIST_TOOLS: Final = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


class HandshakeResult(Struct, frozen=True):
    """How the server introduced itself, and how long it took until its tools were listed."""

    server: str
    version: str
    tools: int
    seconds: float


def check_handshake(
    words: Sequence[str], environ: Mapping[str, str] = os.environ, *, seconds: float = HANDSHAKE_SECONDS
) -> HandshakeResult:
    """Start the server, list its tools and end it. Raises EngineFailure, which says what went wrong."""
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environ),
        )
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise EngineFailure(
            f"{words[0]} cannot be started: {why}.", hint="Run `vaultbridge init` again."
        ) from None
    stderr = bytearray()
    timer = threading.Timer(seconds, process.kill)
    listener = threading.Thread(target=_collect, args=(process, stderr), daemon=True)
    timer.start()
    listener.start()
    try:
        initialized = _ask(process, _INITIALIZE)
        _send(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = _ask(process, _LIST_TOOLS).get("tools")
        info = initialized.get("serverInfo")
        info = info if isinstance(info, dict) else {}
        return HandshakeResult(
            server=str(info.get("name", "")),
            version=str(info.get("version", "")),
            tools=len(tools) if isinstance(tools, list) else 0,
            seconds=round(time.monotonic() - started, 3),
        )
    except (OSError, ValueError, *JSON_ERRORS):
        late = time.monotonic() - started >= seconds
        raise EngineFailure(_explain(process, stderr, listener, late=late), hint="") from None
    finally:
        timer.cancel()
        _end(process)


def check_shared(shared: SharedEntry, *, seconds: float = HANDSHAKE_SECONDS) -> HandshakeResult:
    """Do the same over HTTP, with the address and the token of a shared entry. Raises EngineFailure."""
    started = time.monotonic()
    try:
        answer, session = _post(shared, _INITIALIZE, {}, seconds)
        info = answer.get("serverInfo")
        info = info if isinstance(info, dict) else {}
        tools = _post(shared, _LIST_TOOLS, session, seconds)[0].get("tools")
    except urllib.error.HTTPError as refused:
        refused.close()
        if refused.code in (401, 403):
            message = "The bridge refuses the token: it was revoked, has expired, or is for other vaults."
        else:
            message = f"The bridge answers with status {refused.code}."
        raise EngineFailure(message) from None
    except (OSError, ValueError, *JSON_ERRORS):
        raise EngineFailure(
            f"No bridge answers at {shared.url}.", hint="`vaultbridge service status` says why."
        ) from None
    return HandshakeResult(
        server=str(info.get("name", "")),
        version=str(info.get("version", "")),
        tools=len(tools) if isinstance(tools, list) else 0,
        seconds=round(time.monotonic() - started, 3),
    )


def _post(
    shared: SharedEntry, message: dict[str, Any], headers: dict[str, str], seconds: float
) -> tuple[dict[str, Any], dict[str, str]]:
    """Send a request; returns its result, and the header that names the session. Raises OSError, ValueError
    and what decoding JSON raises, RecursionError included."""
    request = urllib.request.Request(
        f"{shared.url}{PATH}",
        msgspec.json.encode(message),
        {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"{SCHEME}{shared.token}",
            **headers,
        },
    )
    with urllib.request.urlopen(request, timeout=seconds) as response:
        body: bytes = response.read(ANSWER_BYTES)
        session = response.headers.get("Mcp-Session-Id")
    # An answer may come as a stream with one event.
    data = body if body.lstrip().startswith(b"{") else b"".join(_DATA.findall(body))
    result = msgspec.json.decode(data, type=dict[str, Any]).get("result")
    if not isinstance(result, dict):
        raise ValueError(message["method"])
    return result, {"Mcp-Session-Id": session} if session else {}


def _ask(process: subprocess.Popen[bytes], request: dict[str, Any]) -> dict[str, Any]:
    """Send a request and read lines until its answer; notifications in between are fine. Raises ValueError,
    OSError and what reading JSON raises, RecursionError too."""
    _send(process, request)
    assert process.stdout is not None
    while line := process.stdout.readline():
        message = msgspec.json.decode(line)
        if isinstance(message, dict) and message.get("id") == request["id"]:
            result = message.get("result")
            if not isinstance(result, dict):
                raise ValueError(message)
            return result
    raise ValueError("no answer")


def _send(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(message) + b"\n")
    process.stdin.flush()


def _collect(process: subprocess.Popen[bytes], stderr: bytearray) -> None:
    assert process.stderr is not None
    with contextlib.suppress(OSError, ValueError):
        for line in process.stderr:
            stderr += line
            del stderr[:-STDERR_BYTES]


def _explain(
    process: subprocess.Popen[bytes], stderr: bytearray, listener: threading.Thread, *, late: bool
) -> str:
    if late:
        return "The server did not answer in time."
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(1.0)
    listener.join(1.0)
    text = " ".join(bytes(stderr).decode("utf-8", "replace").split())[-SHORT_STDERR:]
    return f"The server did not answer as MCP servers do{f': {text}' if text else ''}."


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the server by closing its input; kill it if it stays."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    try:
        process.wait(5.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
