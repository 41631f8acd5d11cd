"""A server process on pipes, and the client's side of it in the test."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Container
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.waiting import BOUND

ROOT = Path(__file__).parents[2]
FIXTURE = [sys.executable, str(ROOT / "tests" / "conformance" / "fixture.py"), "stdio"]


BUSY_TICKS = 10
"""A tenth of a second of processor time: more than a process takes to start."""


def make_process_environ(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONWARNINGS": "default", **more}


def read_children(parent: int) -> dict[int, int]:
    """The child processes, with the processor time that each has used, in ticks. Works on Linux."""
    children = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # It has ended since.
            fields = file.read_text("latin-1").rpartition(")")[2].split()
            if int(fields[1]) == parent:
                children[int(file.parent.name)] = int(fields[11])
    return children


def find_busy_child(parent: int, *, besides: Container[int] = ()) -> int:
    """The child process that has computed for a while, or 0 if there is none yet. The tests' own process has
    children besides, such as the one that forks commands."""
    busy = (child for child, ticks in read_children(parent).items() if ticks >= BUSY_TICKS)
    return next((child for child in busy if child not in besides), 0)


def drop_privileges() -> list[str]:
    """What to write before a command so that file permissions hold for it, even if the tests run as root.
    Skips the test where there is no such way."""
    if os.name == "nt":
        pytest.skip("no such permissions")
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may do everything, and there is no setpriv")
    less = "-dac_override,-dac_read_search"
    prefix = ["setpriv", f"--inh-caps={less}", f"--bounding-set={less}"]
    if subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("root cannot give up its privileges here")
    return prefix


async def run_to_end(*command: str, cwd: Path, env: dict[str, str], seconds: float) -> tuple[int, str, str]:
    """Run a program without input; returns its exit code, its output and its errors."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=env,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        process.kill()
        await process.communicate()
        raise
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


class Process:
    """`async with Process() as process`: talks JSON lines to a command."""

    def __init__(self, command: list[str] | None = None, **options: Any) -> None:
        self._command = command or FIXTURE
        self._options = {"env": make_process_environ(), **options}
        self._next_id = 0
        self.inner: asyncio.subprocess.Process

    async def __aenter__(self) -> Process:
        self.inner = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=64 * 1024 * 1024,
            **self._options,
        )
        return self

    async def __aexit__(self, *args: object) -> None:
        if self.inner.returncode is None:
            self.inner.kill()
        await self.inner.communicate()

    @property
    def stdin(self) -> asyncio.StreamWriter:
        assert self.inner.stdin is not None
        return self.inner.stdin

    async def write(self, data: bytes) -> None:
        self.stdin.write(data)
        await self.stdin.drain()

    async def send(self, message: Any) -> None:
        await self.write(msgspec.json.encode(message) + b"\n")

    async def read(self) -> Any:
        """The next message; every line must be one."""
        assert self.inner.stdout is not None
        line = await asyncio.wait_for(self.inner.stdout.readline(), BOUND)
        assert line.endswith(b"\n"), line
        return msgspec.json.decode(line)

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        self._next_id += 1
        await self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params or {}})
        while True:
            message = await self.read()
            if message.get("id") == self._next_id and "method" not in message:
                return message

    async def initialize(self, version: str = "2024-11-05") -> Any:
        info = {"name": "test", "version": "1"}
        return await self.ask(
            "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
        )

    async def end(self) -> tuple[int, bytes, bytes]:
        """Close the input; gives the exit code and what else was written."""
        self.stdin.close()
        out, err = await asyncio.wait_for(self.inner.communicate(), BOUND)
        assert self.inner.returncode is not None
        return self.inner.returncode, out, err

    async def wait(self) -> int:
        return await asyncio.wait_for(self.inner.wait(), BOUND)


__all__ = ["BOUND", "FIXTURE", "ROOT", "Process", "make_process_environ"]
