"""`vaultbridge page` and what `serve` prints, as processes: the token reaches its owner's terminal alone."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.files import write_vault

BOUND = 60.0
LINK = re.compile(r"http://127\.0\.0\.1:\d+/#token=[0-9a-f-]{36}")


def environment(home: Path) -> dict[str, str]:
    mine = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "XDG_CONFIG_HOME": str(home / "config")}
    return {**os.environ, **mine}


def vaultbridge(home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vaultbridge", *args]
    return subprocess.run(
        command, env=environment(home), capture_output=True, text=True, timeout=BOUND, check=False
    )


def new_vault(home: Path) -> str:
    return str(write_vault(home / "Vault", {"A.md": "a\n"}))


@contextmanager
def serving(
    home: Path, vault: str, *args: str, stdout: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "vaultbridge", "serve", vault, "--port", "0", *args]
    process = subprocess.Popen(
        command, env=environment(home), stdout=stdout, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=BOUND)


def test_it_prints_the_link_of_the_running_bridge(tmp_path: Path) -> None:
    vault = new_vault(tmp_path)
    with serving(tmp_path, vault, "--json") as process:
        assert process.stdout is not None
        event = json.loads(process.stdout.readline())
        assert "token" not in json.dumps(event)
        plain = vaultbridge(tmp_path, "page", vault)
        assert LINK.fullmatch(plain.stdout.strip()) and plain.returncode == 0
        assert plain.stdout.startswith(event["url"] + "/#")
        told = vaultbridge(tmp_path, "page", vault, "--json")
        assert json.loads(told.stdout) == {"page": plain.stdout.strip()}
    after = vaultbridge(tmp_path, "page", vault)
    assert after.returncode == 1
    assert "No bridge is running" in after.stderr and not after.stdout


def test_serve_writes_no_token_where_it_could_be_kept(tmp_path: Path) -> None:
    vault = new_vault(tmp_path)
    with serving(tmp_path, vault) as process:
        assert process.stdout is not None
        lines = []
        while "Ctrl+C" not in "".join(lines):
            lines.append(process.stdout.readline())
        assert f"vaultbridge page {vault}" in "".join(lines)
        assert "token=" not in "".join(lines)


def test_serve_gives_a_person_at_a_terminal_the_link(tmp_path: Path) -> None:
    vault = new_vault(tmp_path)
    ours, theirs = pty.openpty()
    with serving(tmp_path, vault, stdout=theirs), os.fdopen(ours, "r", encoding="utf-8") as screen:
        os.close(theirs)
        shown = ""
        while "Ctrl+C" not in shown:
            shown += screen.readline()
        assert LINK.search(shown)
        assert LINK.search(shown)[0] == vaultbridge(tmp_path, "page", vault).stdout.strip()
