"""Commands that run to their end, each in a process of its own that has nothing left to import.

`python -m vaultbridge read` takes 0.12 s of processor time, of which 0.1 s starts the interpreter and imports
modules, and the tests run more than a thousand commands. So one process for each worker (`forker.py`) imports
everything, and each command is a fork of it, with streams, environment, folder and exit code of its own, as
if it had been started. What is about the start itself (imports, signals, terminals, closed streams) starts an
interpreter instead.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from support.waiting import BOUND

FORKER = Path(__file__).with_name("forker.py")
SOURCE = FORKER.parents[2] / "src"

START = ("PYTHON", "LC_", "LANG", "TZ")
"""What an interpreter reads when it starts begins like this: for each set of values there is a forker."""

_forkers: dict[tuple[tuple[str, str], ...], socket.socket] = {}
_lock = threading.Lock()


def run_command(
    *words: str | Path,
    env: Mapping[str, str],
    cwd: Path | None = None,
    stdin: bytes = b"",
    seconds: float = BOUND,
) -> subprocess.CompletedProcess[str]:
    """Run `vaultbridge` with these words, as `subprocess.run` does."""
    command = [sys.executable, "-m", "vaultbridge", *map(str, words)]
    if not hasattr(os, "fork"):
        done = subprocess.run(
            command, env=env, cwd=cwd, input=stdin, capture_output=True, timeout=seconds, check=False
        )
        return subprocess.CompletedProcess(
            command, done.returncode, done.stdout.decode(), done.stderr.decode()
        )
    request = {"words": command[3:], "environ": dict(env), "folder": str(cwd or Path.cwd())}
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
        printed, complained, body = files
        body.write(json.dumps(request).encode())
        body.seek(0)
        read, write = os.pipe()
        ours, theirs = socket.socketpair()
        with theirs, open(read, "rb") as given, _lock:
            descriptors = [file.fileno() for file in (given, *files, theirs)]
            socket.send_fds(_find_forker(env), [b"."], descriptors)
        feeding = threading.Thread(target=_feed, args=(write, stdin))
        feeding.start()
        stack.callback(feeding.join)
        answers = stack.enter_context(ours.makefile("r", encoding="ascii"))
        ours.settimeout(seconds)
        ours.close()
        pid = int(answers.readline())
        try:
            code = int(answers.readline())
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise
        for file in (printed, complained):
            file.seek(0)
        out, err = printed.read().decode(), complained.read().decode()
        return subprocess.CompletedProcess(command, code, out, err)


def _feed(descriptor: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), open(descriptor, "wb") as file:
        file.write(data)


def _find_forker(env: Mapping[str, str]) -> socket.socket:
    key = tuple(sorted((name, value) for name, value in env.items() if name.startswith(START)))
    if key not in _forkers:
        ours, theirs = socket.socketpair()
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), **dict(key)}
        with theirs:
            process = subprocess.Popen([sys.executable, "-P", str(FORKER)], env=environ, stdin=theirs)
        atexit.register(_end, ours, process)
        _forkers[key] = ours
    return _forkers[key]


def _end(ours: socket.socket, process: subprocess.Popen[bytes]) -> None:
    ours.close()
    process.wait(BOUND)
