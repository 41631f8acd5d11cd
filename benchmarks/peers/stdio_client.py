"""A small MCP client over stdio, the same for every server, and what it can see of the server's process."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

CALL_SECONDS = 60.0
"""How long a call may take before it counts as failed."""

START_SECONDS = 120.0
"""How long a server may take until it answers `initialize`."""

EXIT_SECONDS = 5.0
"""How long a server may take to end after its input was closed; then its process group is ended."""

CHUNK = 1 << 20


class ServerFailed(Exception):
    """A server ended, took too long, or refused what it must be able to do."""


class Answer(NamedTuple):
    text: str
    refused: bool


class Client:
    """A server process and its session."""

    def __init__(self, command: list[str], *, environment: dict[str, str], folder: Path, log: Path) -> None:
        self._log = log
        self._ids = 0
        self._buffer = b""
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                env=environment,
                cwd=folder,
                start_new_session=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout.fileno()
        try:
            who = {"name": "benchmark", "version": "1"}
            asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}
            started = self.request("initialize", asked, seconds=START_SECONDS)
            self.instructions = str(started.get("result", {}).get("instructions") or "")
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        except ServerFailed:
            self.close()
            raise

    def request(
        self, method: str, params: dict[str, Any], *, seconds: float = CALL_SECONDS
    ) -> dict[str, Any]:
        """Returns the whole answer, with `result` or `error`."""
        self._ids += 1
        self._send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        end = time.monotonic() + seconds
        while True:
            message = self._receive(end)
            if message.get("id") == self._ids and "method" not in message:
                return message
            if "id" in message and "method" in message:
                self._answer_server(message)

    def call(self, tool: str, arguments: dict[str, Any], *, seconds: float = CALL_SECONDS) -> Answer:
        answer = self.request("tools/call", {"name": tool, "arguments": arguments}, seconds=seconds)
        if "error" in answer:
            return Answer(str(answer["error"].get("message")), refused=True)
        result = answer["result"]
        text = "\n".join(part.get("text", "") for part in result.get("content", ()))
        return Answer(text, refused=bool(result.get("isError")))

    def _answer_server(self, message: dict[str, Any]) -> None:
        """Servers may ping; this client offers nothing else."""
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "ping":
            reply["result"] = {}
        else:
            reply["error"] = {"code": -32601, "message": "not offered"}
        self._send(reply)

    def _send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        try:
            while data:
                data = data[self._in.write(data) or 0 :]
        except OSError:
            raise ServerFailed(f"it ended: {self._last_words()}") from None

    def _receive(self, end: float) -> dict[str, Any]:
        while True:
            line, newline, rest = self._buffer.partition(b"\n")
            if newline:
                self._buffer = rest
                with contextlib.suppress(ValueError):
                    message = json.loads(line)
                    if isinstance(message, dict):
                        return message
                continue  # Some servers also print to the wire.
            ready, _, _ = select.select([self._out], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise ServerFailed("it did not answer in time")
            chunk = os.read(self._out, CHUNK)
            if not chunk:
                raise ServerFailed(f"it ended: {self._last_words()}")
            self._buffer += chunk

    def _last_words(self) -> str:
        lines = [
            line.strip() for line in self._log.read_text("utf-8", "replace").splitlines() if line.strip()
        ]
        return lines[-1][:200] if lines else "without a word"

    def memory(self) -> float:
        """The MB that the server's processes hold, shared pages divided among those that share them."""
        return sum(_read_memory(pid) for pid in _list_family(self.process.pid)) / 1e6

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._in.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(EXIT_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Ends what is left of the group that this client started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def _list_family(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name of the program, in parentheses, may contain anything.
            parent = int(status.read_text("utf-8", "replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(status.parent.name))
    found = [pid]
    for member in found:
        found += children.get(member, [])
    return found


def _read_memory(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
