"""`vaultbridge page` and what `serve` prints, as processes: the token reaches its owner's terminal alone."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.commands import run_command
from support.files import write_vault
from support.waiting import BOUND

ONCE = re.compile(r"(http://127\.0\.0\.1:\d+)/#code=([\w-]+)")
LINK = re.compile(r"http://127\.0\.0\.1:\d+/#token=[0-9a-f-]{36}")


def make_environ(home: Path) -> dict[str, str]:
    mine = {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "XDG_CONFIG_HOME": str(home / "config")}
    return {**os.environ, **mine}


def run_vaultbridge(home: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return run_command(*args, env=make_environ(home))


def make_vault(home: Path) -> str:
    return str(write_vault(home / "Vault", {"A.md": "a\n"}))


@contextmanager
def serving(
    home: Path, vault: str, *args: str, stdout: int = subprocess.PIPE, **environ: str
) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "vaultbridge", "serve", vault, "--port", "0", *args]
    process = subprocess.Popen(
        command, env={**make_environ(home), **environ}, stdout=stdout, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=BOUND)


def test_it_prints_the_link_of_the_running_bridge(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    with serving(tmp_path, vault, "--json") as process:
        assert process.stdout is not None
        event = json.loads(process.stdout.readline())
        assert "token" not in json.dumps(event)
        plain = run_vaultbridge(tmp_path, "page", vault)
        assert LINK.fullmatch(plain.stdout.strip()) and plain.returncode == 0
        assert plain.stdout.startswith(event["url"] + "/#")
        opened = run_vaultbridge(tmp_path, "page", vault, "--json")
        assert json.loads(opened.stdout) == {"page": plain.stdout.strip(), "started": False}


def test_serve_writes_no_token_where_it_could_be_kept(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    with serving(tmp_path, vault) as process:
        assert process.stdout is not None
        lines = []
        while "Ctrl+C" not in "".join(lines):
            lines.append(process.stdout.readline())
        assert f"vaultbridge page {vault}" in "".join(lines)
        assert "token=" not in "".join(lines) and "code=" not in "".join(lines)


def test_serve_prints_a_link_that_works_once_where_it_is_wanted(tmp_path: Path) -> None:
    """As `make run` asks for it. The commands work as they are printed, without the program on PATH."""
    vault = make_vault(tmp_path)
    with serving(tmp_path, vault, "--link") as process:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while not ONCE.search(lines[-1]):
            lines.append(process.stdout.readline())
        shown = "".join(lines)
        link = ONCE.search(shown)
        assert link is not None and "token=" not in shown
        assert [redeem(link[1], link[2]) for _ in range(2)] == [200, 403]
        # Opened a second time, it says how to get a new one, with a command that can be pasted.
        _, explanation = exchange(link[1], link[2])
        renew = explanation["error"]["message"].partition("run this in a terminal: ")[2]
        again = subprocess.run(
            shlex.split(renew),
            env=make_environ(tmp_path),
            capture_output=True,
            text=True,
            timeout=BOUND,
            check=True,
        )
        assert LINK.fullmatch(again.stdout.strip())
        # Who never had a link learns nothing about this machine.
        status, explanation = exchange(link[1], "guessed")
        assert status == 403 and str(tmp_path) not in json.dumps(explanation)
        stdio = re.search(r"any MCP client, over stdio:\n +(.+)", shown)
        assert stdio is not None
        command = shlex.split(stdio[1])
        assert command[-2:] == ["stdio", vault]
        # With paths of an ordinary length, no line is broken in a terminal of 80 columns.
        short = shown.replace(shlex.join(command[:-2]), "vaultbridge").replace(vault, "/home/me/Notes")
        assert max(len(line.rstrip("\n")) for line in short.splitlines()) < 80
        done = subprocess.run(
            [*command[:-2], "--version"], env={"PATH": ""}, capture_output=True, timeout=BOUND, check=True
        )
        assert done.stdout


def redeem(url: str, code: str) -> int:
    return exchange(url, code)[0]


def exchange(url: str, code: str) -> tuple[int, Any]:
    request = urllib.request.Request(
        f"{url}/page/code",
        json.dumps({"code": code}).encode(),
        {"Content-Type": "application/json"},
        method="POST",
    )
    try:
        with urllib.request.urlopen(request, timeout=BOUND) as answer:
            return int(answer.status), json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.loads(refused.read())


def test_open_gives_the_browser_a_link_that_works_once(tmp_path: Path) -> None:
    """Other users of the machine see a browser's arguments, so the token is not among them."""
    vault = make_vault(tmp_path)
    opened = tmp_path / "opened"
    os.mkfifo(opened)
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {shlex.quote(str(opened))}\n', "utf-8")
    browser.chmod(0o755)
    with serving(tmp_path, vault, "--open", "--json", BROWSER=f"{browser} %s") as process:
        first = opened.read_text("utf-8")
        found = ONCE.fullmatch(first.strip())
        assert found is not None and redeem(found[1], found[2]) == 200
        assert process.stdout is not None
        process.stdout.readline()
        command = [sys.executable, "-m", "vaultbridge", "page", vault, "--open"]
        with subprocess.Popen(command, env={**make_environ(tmp_path), "BROWSER": f"{browser} %s"}) as again:
            second = opened.read_text("utf-8")
            assert again.wait(BOUND) == 0
        found = ONCE.fullmatch(second.strip())
        assert found is not None and second != first and redeem(found[1], found[2]) == 200


def test_serve_gives_a_person_at_a_terminal_the_link(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    ours, theirs = pty.openpty()
    with serving(tmp_path, vault, stdout=theirs), os.fdopen(ours, "r", encoding="utf-8") as screen:
        os.close(theirs)
        shown = ""
        while not ONCE.search(shown):
            shown += screen.readline()
        found = ONCE.search(shown)
        assert found is not None and redeem(found[1], found[2]) == 200
