"""A server with a vault, an assistant on its IDE socket, and its page in a browser."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import websockets

from support.dial import dial
from support.editor import Client
from support.waiting import BOUND

CONNECTED = "document.getElementById('state').dataset.state === 'connected'"


class Serving:
    def __init__(self, vault: Path, home: Path, port: int = 0, more: Sequence[Path] = ()) -> None:
        self.vault = vault
        self._vaults = [str(folder) for folder in (vault, *more)]
        self._port = port
        self.env = {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
        self.env.pop("CLAUDE_CONFIG_DIR", None)
        self.env["XDG_CONFIG_HOME"] = str(home / "config")
        self.url = ""
        self._link = ""

    @contextmanager
    def running(self) -> Iterator[None]:
        place = ["--port", str(self._port)]
        command = [sys.executable, "-m", "vaultbridge", "serve", *self._vaults, *place, "--json"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=self.env
        )
        try:
            assert process.stdout is not None
            self.url = json.loads(process.stdout.readline())["url"]
            yield
        finally:
            process.terminate()
            process.communicate(timeout=BOUND)

    def index(self) -> None:
        """So that a search knows every note from the beginning: the page asks once, and says what it got."""
        command = [sys.executable, "-m", "vaultbridge", "index", str(self.vault)]
        subprocess.run(command, env=self.env, capture_output=True, timeout=BOUND, check=True)

    def run(self, *arguments: str) -> Any:
        """The JSON that a command answers."""
        command = [sys.executable, "-m", "vaultbridge", *arguments]
        done = subprocess.run(
            command, env=self.env, capture_output=True, text=True, timeout=BOUND, check=True
        )
        return json.loads(done.stdout)

    def link(self) -> str:
        """As the command prints it; port and token stay the same for a vault."""
        if self._link:
            return self._link
        command = [sys.executable, "-m", "vaultbridge", "page", str(self.vault)]
        done = subprocess.run(
            command, env=self.env, capture_output=True, text=True, timeout=BOUND, check=True
        )
        self._link = done.stdout.strip()
        return self._link

    @property
    def token(self) -> str:
        return self.link().partition("#token=")[2]

    @asynccontextmanager
    async def assistant(self) -> AsyncIterator[Client]:
        """Somebody like Claude Code."""
        async with dial(
            self.url.replace("http", "ws", 1) + "/",
            subprotocols=[websockets.Subprotocol("mcp")],
            additional_headers={"X-Claude-Code-Ide-Authorization": self.token},
        ) as socket:
            client = Client(socket)
            await client.handshake()
            yield client
            await client.close()

    async def propose(self, client: Client, name: str, text: str) -> asyncio.Future[dict[str, Any]]:
        path = str(self.vault / name)
        arguments = {"old_file_path": path, "new_file_path": path, "new_file_contents": text}
        return await client.begin("tools/call", name="openDiff", arguments={**arguments, "tab_name": name})
