"""Ctrl+C before a command has an event loop: it ends, and shows no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPT_IN_LOOP = """
import asyncio.selector_events, os, signal, socket, sys
made = socket.socketpair
def interrupt(*args, **options):
    os.kill(os.getpid(), signal.SIGINT)
    return made(*args, **options)
asyncio.selector_events.socket.socketpair = interrupt
from vaultbridge.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
"""A loop makes a pair of sockets when it is half made."""


@pytest.mark.parametrize(
    "command",
    [
        ["stdio", "."],
        ["bridge"],
        ["serve", "-v", ".", "--port", "0", "--no-ide"],
        ["status"],
        ["page"],
        ["pause"],
        ["call", "http://127.0.0.1:9/mcp"],
        ["diffs", ".", "--watch"],
    ],
    ids=lambda words: words[0],
)
def test_ctrl_c_while_the_loop_is_made_shows_no_traceback(command: list[str], tmp_path: Path) -> None:
    vault, home = tmp_path / "Vault", tmp_path / "home"
    (vault / ".obsidian").mkdir(parents=True)
    home.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPT_IN_LOOP, *command],
        cwd=vault, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr and "never awaited" not in done.stderr
    assert done.returncode == -signal.SIGINT
