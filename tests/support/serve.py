"""A bridge on a throw-away home, as a process of its own or in this one, and the commands beside it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import websockets

from support.commands import run_command
from support.dial import dial
from support.editor import Client
from support.waiting import BOUND
from vaultbridge.protocols.editor.socket import EDITOR_PROTOCOL
from vaultbridge.server.config.environment import apply_environment
from vaultbridge.server.config.model import Config, config_file, load_config
from vaultbridge.server.serve import ServeOptions, run_server

PROGRAM = [sys.executable, "-m", "vaultbridge"]


class Home:
    """One home with the bridge that runs for it. `environ` is what both the bridge and the commands see."""

    def __init__(self, home: Path, **environ: str) -> None:
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "CLAUDE"))}
        self.environ: Mapping[str, str] = {
            **kept,
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "VAULTBRIDGE_CACHE": str(home / "cache"),
            "PYTHONWARNINGS": "default",
            **environ,
        }
        self.pid = os.getpid()
        self.port = 0

    @property
    def locks(self) -> dict[str, dict[str, Any]]:
        folder = self.home / ".claude" / "ide"
        if not folder.exists():
            return {}
        return {file.name: json.loads(file.read_text("utf-8")) for file in sorted(folder.iterdir())}

    @property
    def token(self) -> str:
        token: str = self.locks[f"{self.port}.lock"]["authToken"]
        return token

    async def command(
        self, *arguments: str | Path, stdin: bytes | None = None, cwd: Path | None = None
    ) -> tuple[int, str, str]:
        """Run one command to its end: exit code, output, errors."""
        done = await asyncio.to_thread(run_command, *arguments, env=self.environ, cwd=cwd, stdin=stdin or b"")
        return done.returncode, done.stdout, done.stderr

    async def answer(self, *arguments: str | Path) -> Any:
        """The one JSON value a command answers with `--json`."""
        code, out, err = await self.command(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    async def open_command(
        self, *arguments: str | Path, cwd: Path | None = None
    ) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *PROGRAM,
            *map(str, arguments),
            env=self.environ,
            cwd=cwd,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    @asynccontextmanager
    async def client(self, *, capabilities: dict[str, Any] | None = None) -> AsyncIterator[Client]:
        """A client on the IDE socket that has done what Claude Code does on connecting."""
        async with dial(
            f"ws://127.0.0.1:{self.port}/",
            subprotocols=[websockets.Subprotocol("mcp")],
            additional_headers={"X-Claude-Code-Ide-Authorization": self.token},
            max_size=None,
        ) as socket:
            client = Client(socket)
            await client.handshake(capabilities=capabilities)
            yield client
            await client.close()

    @asynccontextmanager
    async def editor(self, app: str = "page", *, vault: str = "", **abilities: bool) -> AsyncIterator[Client]:
        """An editor on `/editor` that has said hello."""
        async with dial(
            f"ws://127.0.0.1:{self.port}/editor",
            subprotocols=[websockets.Subprotocol(EDITOR_PROTOCOL)],
            max_size=None,
        ) as socket:
            client = Client(socket)
            await client.request("hello", app=app, token=self.token, vault=vault, abilities=abilities)
            yield client
            await client.close()


class Served(Home):
    """A bridge in a process of its own. `start` may be called again after `kill` or `end`."""

    def __init__(self, home: Path, **environ: str) -> None:
        super().__init__(home, **environ)
        self.log = home / "serve.log"
        self._process: asyncio.subprocess.Process | None = None
        self.announced: dict[str, Any] = {}

    async def start(self, *arguments: str | Path, port: int | None = 0) -> None:
        """Serve, and wait until it says that it listens."""
        given = [str(argument) for argument in arguments]
        if port is not None:
            given += ["--port", str(port)]
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *PROGRAM,
                "serve",
                *given,
                "--json",
                env=self.environ,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), BOUND)
        assert line, self.log.read_text("utf-8")
        self.announced = json.loads(line)
        self.pid = self._process.pid
        self.port = self.announced["port"]

    async def kill(self) -> None:
        """`kill -9`: it has no chance to tidy up."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await asyncio.wait_for(self._process.wait(), BOUND)

    async def end(self) -> int:
        """A polite end; gives the exit code."""
        assert self._process is not None
        self._process.terminate()
        return await asyncio.wait_for(self._process.wait(), BOUND)


@asynccontextmanager
async def served(home: Path, *arguments: str | Path, **options: Any) -> AsyncIterator[Served]:
    server = Served(home)
    try:
        await server.start(*arguments, **options)
        yield server
    finally:
        await server.kill()


@asynccontextmanager
async def hosted(home: Path, *vaults: Path, config: str = "", **environ: str) -> AsyncIterator[Home]:
    """Serve in this process, in a tenth of the time that a process of its own takes to start. For tests that
    neither end the bridge nor read its log, and that wait for commands in the event loop only."""
    here = Home(home, **environ)
    file = config_file(here.environ)
    file.parent.mkdir(parents=True, exist_ok=True)
    listed = "".join(f"[[vaults]]\npath = {json.dumps(str(vault), ensure_ascii=False)}\n" for vault in vaults)
    file.write_text(f"{listed}[server]\nport = 0\n{config}", "utf-8")

    def overlay(written: Config) -> Config:
        return apply_environment(written, here.environ)

    options = ServeOptions(config=overlay(load_config(file)), config_file=file, overlay=overlay)
    async with run_server(options, here.environ) as listening:
        here.port = listening.port
        yield here


@asynccontextmanager
async def serve_beside(
    vault: Path, port: int = 0, options: Sequence[str] = ()
) -> AsyncIterator[tuple[int, asyncio.subprocess.Process]]:
    """Serve one vault, with home, cache and configuration in the folder around it; gives the port and the
    process. It is killed, not asked, at the end."""
    environ = {
        **os.environ,
        "HOME": str(vault.parent / "home"),
        "VAULTBRIDGE_CACHE": str(vault.parent / "cache"),
        "XDG_CONFIG_HOME": str(vault.parent / "config"),
    }
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, "serve", str(vault), "--port", str(port), "--json", "--no-ide", *options,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env=environ,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), BOUND)
        yield json.loads(line)["port"], process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
