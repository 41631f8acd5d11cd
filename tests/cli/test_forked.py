"""A command that the tests fork (`support/commands.py`) does what one does that was started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import run_command
from support.waiting import BOUND

VAULT = {"Käse.md": "alpha\n", ".obsidian/": ""}

APPEND = '{"op": "append", "note": "Käse", "content": "ü \\ud800"}'

COMMANDS = [
    ["--version"],
    ["nonsense"],
    ["read"],
    ["read", "Käse"],
    ["read", "\udcff"],
    ["search", "alpha"],
    ["append", "Käse", "-", "--dry-run"],
    ["edit", APPEND],
    ["undo", "7"],
    ["stdio", "--read-only"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:1]))
def test_output_errors_and_code_are_the_same(vault: Path, words: list[str]) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(vault.parent / "home"),
        "VAULTBRIDGE_CACHE": str(vault.parent / "cache"),
        "LANG": "C.UTF-8",
        "PYTHONWARNINGS": "default",
    }
    given = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    forked = run_command(*words, env=environ, cwd=vault, stdin=given)
    started = subprocess.run(
        [sys.executable, "-m", "vaultbridge", *words],
        env=environ, cwd=vault, input=given, capture_output=True, timeout=BOUND, check=False,
    )  # fmt: skip
    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout.decode())
    assert forked.stderr == started.stderr.decode()
