"""The real Claude Code in a real terminal (tmux), with a throw-away home and no way to the internet."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path

VERSION = "2.1.325"
FAKE_KEY = "sk-ant-api03-" + "0" * 40 + "fake-key-for-tests"
SCREEN_SECONDS = 40.0
"""The bound of every wait for the screen: the client polls for an editor for 30 s."""


def install_client(cache: Path) -> Path:
    """The client's program, installed into `cache` when it is not there yet. It is proprietary: it is never
    part of the repository."""
    package = cache / f"claude-code-{VERSION}"
    program = package / "node_modules" / "@anthropic-ai" / "claude-code-linux-x64" / "claude"
    if not program.exists():
        package.mkdir(parents=True, exist_ok=True)
        (package / "package.json").write_text('{"private": true}')
        npm = shutil.which("npm")
        if npm is None:
            raise RuntimeError("npm is needed to install the client")
        command = [npm, "install", "--ignore-scripts", f"@anthropic-ai/claude-code@{VERSION}"]
        subprocess.run(command, cwd=package, check=True, capture_output=True, timeout=300)
    return program


class Terminal:
    """One session of the client. `screen` is what a person would see now."""

    def __init__(
        self,
        program: Path,
        home: Path,
        folder: Path,
        api_port: int,
        *,
        config: Path | None = None,
        **environ: str,
    ) -> None:
        """`config` is the client's CLAUDE_CONFIG_DIR, `environ` more of its environment."""
        self._program = program
        self._home = home
        self._folder = folder
        self._socket = home / "tmux"
        self._environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{api_port}",
            "ANTHROPIC_API_KEY": FAKE_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "TMPDIR": str(home / "t"),
            "CLAUDE_CODE_TMPDIR": str(home / "t"),
            "XDG_RUNTIME_DIR": str(home / "t"),
            **({"CLAUDE_CONFIG_DIR": str(config)} if config is not None else {}),
            **environ,
        }
        self._config = config or home

    def prepare(self) -> None:
        (self._home / "t").mkdir(parents=True, exist_ok=True)
        real = os.path.realpath(self._folder)
        settings = {
            "hasCompletedOnboarding": True,
            "projects": {folder: {"hasTrustDialogAccepted": True} for folder in (str(self._folder), real)},
            "customApiKeyResponses": {"approved": [FAKE_KEY[-20:]], "rejected": []},
        }
        self._config.mkdir(parents=True, exist_ok=True)
        (self._config / ".claude.json").write_text(json.dumps(settings))

    def start(self, *arguments: str) -> None:
        exports = [f"{name}={value}" for name, value in self._environment.items()]
        command = ["env", "-i", *exports, str(self._program), *arguments]
        self._tmux("new-session", "-d", "-x", "150", "-y", "50", "-c", str(self._folder), *command)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *arguments],
            check=True,
            capture_output=True,
            text=True,
            timeout=20,
        )
        return done.stdout

    @property
    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        self._tmux("send-keys", *keys)

    async def wait_for_text(self, *texts: str, gone: str = "", seconds: float = SCREEN_SECONDS) -> str:
        """Wait until the screen shows all texts (and `gone` no more), and give it."""
        screen = ""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    screen = self.screen
                    if all(text in screen for text in texts) and (not gone or gone not in screen):
                        return screen
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"waited for {texts!r}, the screen shows:\n{screen}") from None

    async def press_until(self, key: str, *texts: str, seconds: float = SCREEN_SECONDS) -> str:
        """Press a key until the screen shows all texts: a dialog ignores keys in its first moments."""
        async with asyncio.timeout(seconds):
            while True:
                self.press(key)
                try:
                    return await self.wait_for_text(*texts, seconds=1.5)
                except AssertionError:
                    continue

    def stop(self) -> None:
        subprocess.run(["tmux", "-S", str(self._socket), "kill-server"], check=False, capture_output=True)
