"""Every protocol over which a vault is changed, each as one function: `call(tool, **arguments)` returns
whether the tool succeeded and what it answered. The page and the command line have their own requests for
what the tools do."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import websockets
from websockets.sync.client import connect

from faults.assistant import Assistant
from support.waiting import BOUND
from vaultbridge.vault.read import content_hash

Call = Callable[..., tuple[bool, str]]

COMMAND = "command"
PAGE = "page"
LIMITED = "limited"
"""The caller that may not see the hidden folder."""


@contextlib.contextmanager
def open_callers(vault: Path, home: Path, hidden: str) -> Iterator[dict[str, Call]]:
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(_serve(vault, home))
        lock = json.loads((home / ".claude" / "ide" / f"{port}.lock").read_text())
        yield {
            "bridge": stack.enter_context(_call_bridge(port)),
            "mcp": stack.enter_context(_call_mcp(port)),
            "ide": stack.enter_context(_call_ide(port, lock["authToken"])),
            PAGE: stack.enter_context(_call_page(vault, port, lock["authToken"])),
            COMMAND: _make_command_caller(vault, home),
            "stdio": stack.enter_context(Assistant(vault, home)).call,
            LIMITED: stack.enter_context(Assistant(vault, home, "--deny", hidden)).call,
        }


@contextlib.contextmanager
def _serve(vault: Path, home: Path) -> Iterator[int]:
    home.mkdir(exist_ok=True)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    with (home / "serve.txt").open("a") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "vaultbridge", "serve", str(vault), "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env={**inherited, "HOME": str(home), "VAULTBRIDGE_CACHE": str(home / "cache")},
        )
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["port"]
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


@contextlib.contextmanager
def _call_bridge(port: int) -> Iterator[Call]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def call(tool: str, **arguments: Any) -> tuple[bool, str]:
        body = json.dumps({"arguments": arguments})
        connection.request(
            "POST", f"/bridge/v1/tools/{tool}/call", body, {"Content-Type": "application/json"}
        )
        answer = json.loads(connection.getresponse().read())
        # The server closes a connection that is idle for long; the next call opens another.
        connection.close()
        return answer["success"], answer["content"][0]["text"]

    with contextlib.closing(connection):
        yield call


@contextlib.contextmanager
def _call_mcp(port: int) -> Iterator[Call]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    numbers = itertools.count(1)

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": next(numbers), "method": method, "params": params}
        connection.request("POST", "/mcp", json.dumps(message), headers)
        response = connection.getresponse()
        if session := response.getheader("Mcp-Session-Id"):
            headers["Mcp-Session-Id"] = session
        body = response.read().decode()
        connection.close()
        if response.getheader("Content-Type", "").startswith("text/event-stream"):
            body = [line for line in body.splitlines() if line.startswith("data: {")][-1].removeprefix(
                "data: "
            )
        result: dict[str, Any] = json.loads(body)["result"]
        return result

    def call(tool: str, **arguments: Any) -> tuple[bool, str]:
        result = ask("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments})
        return not result.get("isError", False), result["content"][0]["text"]

    with contextlib.closing(connection):
        about = {"name": "faults", "version": "1"}
        ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about})
        yield call


@contextlib.contextmanager
def _call_ide(port: int, token: str) -> Iterator[Call]:
    numbers = itertools.count(1)
    socket = connect(
        f"ws://127.0.0.1:{port}/",
        subprotocols=[websockets.Subprotocol("mcp")],
        additional_headers={"X-Claude-Code-Ide-Authorization": token},
        max_size=None,
    )

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(numbers)
        socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        while True:
            message: dict[str, Any] = json.loads(socket.recv(BOUND))
            if message.get("id") == number and "method" not in message:
                return message

    def call(tool: str, **arguments: Any) -> tuple[bool, str]:
        answer = ask("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments})
        if "error" in answer:
            return False, answer["error"]["message"]
        result = answer["result"]
        return not result.get("isError", False), result["content"][0]["text"]

    with socket:
        about = {"name": "faults", "version": "1"}
        ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about})
        socket.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        yield call


@contextlib.contextmanager
def _call_page(vault: Path, port: int, token: str) -> Iterator[Call]:
    """What the page cannot do goes over Bridge v1."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=BOUND)

    def ask(method: str, where: str, **body: Any) -> tuple[bool, str]:
        connection.request(method, f"/page/api{where}", json.dumps(body), headers)
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
        return response.status == 200, json.dumps({"success": True, "data": answer}, ensure_ascii=False)

    with contextlib.closing(connection), _call_bridge(port) as call_tool:

        def call(tool: str, **arguments: Any) -> tuple[bool, str]:
            name = arguments.get("name", "")
            if tool == "move_note" and not name.endswith("/"):
                return ask("POST", "/move", path=name, to=arguments["to"])
            if tool == "delete_note":
                return ask("POST", "/delete", path=name)
            if tool == "create_note":
                return ask("POST", "/note", path=f"{name}.md", text=arguments["content"])
            if tool == "undo" and arguments:
                return ask("POST", "/undo", vault=vault.name, change=arguments["id"])
            if arguments.get("op") == "write":
                seen = content_hash((vault / name).read_bytes())
                return ask("PUT", "/note", path=name, text=arguments["content"], expected=seen)
            return call_tool(tool, **arguments)

        yield call


def _make_command_caller(vault: Path, home: Path) -> Call:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
    environ = {**inherited, "HOME": str(home), "VAULTBRIDGE_CACHE": str(home / "cache")}

    def rename(operation: dict[str, Any]) -> dict[str, Any]:
        names = {"name": "note", "property": "name"}
        return {names.get(key, key): value for key, value in operation.items()}

    def call(tool: str, **arguments: Any) -> tuple[bool, str]:
        if tool == "undo":
            command = ["undo", str(vault), *map(str, arguments.values())]
        elif tool == "batch":
            command = ["edit", str(vault), json.dumps([rename(each) for each in arguments["operations"]])]
        else:
            operation = {"op": tool.removesuffix("_note"), **arguments}
            command = ["edit", str(vault), json.dumps(rename(operation))]
        run = [sys.executable, "-m", "vaultbridge", *command, "--json"]
        done = subprocess.run(run, env=environ, capture_output=True, text=True, timeout=BOUND, check=False)
        if done.returncode:
            return False, done.stdout + done.stderr
        answer = json.loads(done.stdout)
        change = int(answer["change_id"] or 0)
        return True, json.dumps({"success": True, "data": {**answer, "change": change}}, ensure_ascii=False)

    return call
