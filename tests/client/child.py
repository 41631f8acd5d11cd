"""A small MCP server as a process, with the faults that a child process can have. Standard library only.

    python child.py MODE [FILE]

MODE is `good`, or how it misbehaves: `dies` (on a call), `noise` (prints what is no JSON), `stubborn`
(ignores the end of its input and SIGTERM), `mute` (never answers), `endless` (answers a call with a line that
does not end), `crash` (ends at once), `deaf` (reads nothing more after the handshake). It writes its process
id into FILE, and `ended` when its input has ended.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path


def say(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(mode: str, message: dict) -> None:  # type: ignore[type-arg]
    method, params = message.get("method"), message.get("params") or {}
    if "id" not in message or mode == "mute":
        return
    result: object = {}
    if method == "server/discover":
        error = {"code": -32601, "message": "Method not found"}
        say({"jsonrpc": "2.0", "id": message["id"], "error": error})
        return
    if method == "initialize":
        info = {"name": "child", "version": "1"}
        capabilities = {"tools": {}}
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": capabilities,
            "serverInfo": info,
        }
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        result = {"tools": [{"name": "echo", "description": "Say it again.\nTwice.", "inputSchema": schema}]}
    elif method == "tools/call":
        if mode == "dies":
            sys.stderr.write("out of luck\n")
            sys.exit(3)
        if mode == "endless":
            sys.stdout.write("x" * 100_000)
            sys.stdout.flush()
            return
        failed = params["name"] != "echo"
        text = "no such tool" if failed else params["arguments"].get("text", "")
        result = {"content": [{"type": "text", "text": text}], "isError": failed}
        say(
            {
                "jsonrpc": "2.0",
                "method": "notifications/message",
                "params": {"level": "info", "data": "called"},
            }
        )
    say({"jsonrpc": "2.0", "id": message["id"], "result": result})


def main(mode: str, report: Path | None) -> None:
    if mode == "crash":
        sys.exit("cannot find the vault")
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if report is not None:
        report.write_text(f"{os.getpid()}\n")
    sys.stderr.write("ready\n")
    sys.stderr.flush()
    if mode == "noise":
        print("welcome to the server")
        say({"jsonrpc": "2.0", "id": 99, "result": {}})
    for line in sys.stdin:
        message = json.loads(line)
        answer(mode, message)
        if mode == "deaf" and message.get("method") == "notifications/initialized":
            signal.pause()
    while mode == "stubborn":
        time.sleep(60)
    if report is not None:
        report.write_text("ended\n")


main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else None)
