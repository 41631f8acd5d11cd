"""A caller of `vaultbridge stdio`: it starts the real server and talks to it as an assistant does."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any


class ServerDied(AssertionError):
    """`code` is the server's exit code: minus the number of the signal that ended it."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the server has died: {code}")
        self.code = code


class Assistant:
    """`home` holds the cache and the server's log; `environ` adds to the server's environment; `launcher` is
    a command that runs the server's."""

    def __init__(
        self,
        vault: Path,
        home: Path,
        *options: str,
        environ: Mapping[str, str] | None = None,
        launcher: Sequence[str] = (),
    ) -> None:
        home.mkdir(exist_ok=True)
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
        with (home / "stderr.txt").open("a") as stderr:
            self._process = subprocess.Popen(
                [*launcher, sys.executable, "-m", "vaultbridge", "stdio", str(vault), *options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env={
                    **inherited,
                    "HOME": str(home),
                    "VAULTBRIDGE_CACHE": str(home / "cache"),
                    **(environ or {}),
                },
            )
        self._number = 0
        self._answers: dict[int, dict[str, Any]] = {}

    def __enter__(self) -> Assistant:
        about = {"name": "faults", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _begin(self, method: str, params: dict[str, Any]) -> int:
        self._number += 1
        with contextlib.suppress(BrokenPipeError):
            self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def _finish(self, number: int) -> dict[str, Any]:
        assert self._process.stdout is not None
        while number not in self._answers:
            line = self._process.stdout.readline()
            if not line:
                raise ServerDied(self._process.wait(60))
            message = json.loads(line)
            if "id" in message:
                self._answers[message["id"]] = message
        answer = self._answers.pop(number)
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return self._finish(self._begin(method, params))

    def kill_during(self, tool: str, seconds: float, **arguments: Any) -> None:
        """Sends a call and kills the process so many seconds later, as a power button would."""
        self._number += 1
        params = {"name": f"obsidian_{tool}", "arguments": arguments}
        self._send({"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params})
        time.sleep(seconds)
        self._process.kill()

    def begin(self, tool: str, **arguments: Any) -> int:
        """Sends a call whose answer `finish` waits for."""
        return self._begin("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments})

    def finish(self, number: int) -> tuple[bool, str]:
        """Whether the tool succeeded, and the text of its answer."""
        result = self._finish(number)
        text = "".join(part.get("text", "") for part in result["content"])
        return not result.get("isError", False), text

    def call(self, tool: str, **arguments: Any) -> tuple[bool, str]:
        return self.finish(self.begin(tool, **arguments))
