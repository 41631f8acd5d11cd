"""A terminal of its own for a process, with a size and a person who can type."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.waiting import BOUND

CTRL_C = "\x03"

# In a session of its own, whose controlling terminal this one is: only then does Ctrl+C reach every process.
_ATTACH = (
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
    " os.execvp(sys.argv[1], sys.argv[1:])"
)


class TerminalSession:
    """`shown` is everything that the terminal got so far, with plain line ends."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process = process
        self._screen = screen
        self._got = b""

    @property
    def shown(self) -> str:
        return self._got.decode("utf-8", "replace").replace("\r\n", "\n")

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def wait_for(self, pattern: str) -> str:
        """Read until the pattern is there; returns everything that was shown."""
        deadline = time.monotonic() + BOUND
        while not re.search(pattern, self.shown):
            assert self._read(deadline), f"the terminal closed before {pattern!r}:\n{self.shown}"
        return self.shown

    def wait(self) -> int:
        """Read to the end; returns the exit code, negative for a signal."""
        deadline = time.monotonic() + BOUND
        while self._read(deadline):
            pass
        return self.process.wait(BOUND)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._screen], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"nothing more came:\n{self.shown}"
        try:
            piece = os.read(self._screen, 65536)
        except OSError as error:
            if error.errno != errno.EIO:  # so Linux says that no process has the terminal open any more
                raise
            return False
        self._got += piece
        return bool(piece)


@contextmanager
def open_terminal(
    command: Sequence[str], *, rows: int = 24, columns: int = 80, cwd: Path, env: Mapping[str, str]
) -> Iterator[TerminalSession]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", _ATTACH, *command],
        cwd=cwd, env=env, stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    try:
        yield TerminalSession(process, ours)
    finally:
        # Closing the terminal hangs up on whatever still runs in it.
        os.close(ours)
        try:
            process.wait(BOUND)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(BOUND)
