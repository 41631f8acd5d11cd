"""A whole server in this process: real folders, a real port, a config folder of its own."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from support.files import write_vault
from support.waiting import BOUND, ask_until
from vaultbridge.server.config.environment import apply_environment
from vaultbridge.server.config.model import load_config
from vaultbridge.server.serve import Listening, ServeOptions, run_server
from vaultbridge.server.wiring import open_engine
from vaultbridge.tokens import TokenStore


class Served:
    def __init__(
        self, listening: Listening, http: aiohttp.ClientSession, config_file: Path, home: Path
    ) -> None:
        self.listening = listening
        self.http = http
        self.config_file = config_file
        self.home = home
        self.tokens = TokenStore(config_file.parent)

    @property
    def url(self) -> str:
        return self.listening.url

    @property
    def vault(self) -> Path:
        return self.listening.vaults[0].folder

    @property
    def own_token(self) -> str:
        """The bridge's own, from its lock file."""
        lock = next(self.home.glob(".claude/ide/*.lock"))
        token: str = json.loads(lock.read_text("utf-8"))["authToken"]
        return token

    async def tools(self, **headers: str) -> dict[str, Any]:
        async with self.http.get(f"{self.url}/bridge/v1/tools", headers=headers) as response:
            assert response.status == 200, await response.text()
            found: dict[str, Any] = await response.json()
            return found

    async def names(self, **headers: str) -> list[str]:
        return [tool["name"] for tool in (await self.tools(**headers))["tools"]]

    async def status(self, path: str = "/bridge/v1/tools", **headers: str) -> int:
        async with self.http.get(self.url + path, headers=headers) as response:
            return response.status

    async def call(self, tool: str, headers: dict[str, str] | None = None, **arguments: Any) -> Any:
        """The answer of a tool over Bridge v1."""
        url = f"{self.url}/bridge/v1/tools/{tool}/call"
        async with self.http.post(url, json={"arguments": arguments}, headers=headers) as response:
            assert response.status == 200, await response.text()
            return await response.json()

    async def read(self, path: str, headers: dict[str, str] | None = None) -> str:
        text: str = (await self.call("read_note", headers, path=path))["content"][0]["text"]
        return text

    async def until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Ask again and again for a change that the server follows in its own time."""
        await ask_until(holds)

    def configure(self, text: str) -> None:
        passing = self.config_file.with_suffix(".new")
        passing.write_text(text, "utf-8")
        passing.replace(self.config_file)


Serving = Callable[..., AbstractAsyncContextManager[Served]]


def make_environ(base: Path) -> dict[str, str]:
    return {"HOME": str(base / "home"), "VAULTBRIDGE_CACHE": str(base / "cache"), "PATH": ""}


def make_vault(folder: Path) -> None:
    """A vault with a little in it."""
    write_vault(folder, {"Hello.md": "# Hello\n\nsome text\n", "Private/Diary.md": "secret\n"})


def build_index(folder: Path) -> None:
    """Before it is served: clients are also notified when a first build ends, whenever that is."""
    with open_engine(folder, environ=make_environ(folder.parent)) as engine:
        engine.index_sync.refresh()


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    """`async with serving(config_text, "Notes", …) as served`: vaults are made when they are not there."""
    return make_serving(tmp_path)


def make_serving(tmp_path: Path) -> Serving:
    """What the fixture `serving` gives, in a folder of its own: for more than one server."""
    environ = make_environ(tmp_path)
    home = tmp_path / "home"
    config_file = home / ".config" / "vaultbridge" / "config.toml"

    @asynccontextmanager
    async def serve(config: str = "", *vaults: str, **connector: Any) -> AsyncIterator[Served]:
        folders = [tmp_path / name for name in vaults or ("Notes",)]
        for folder in folders:
            if not folder.exists():
                make_vault(folder)
        config_file.parent.mkdir(parents=True, exist_ok=True)
        listed = "".join(
            f"[[vaults]]\npath = {json.dumps(str(folder), ensure_ascii=False)}\n" for folder in folders
        )
        port = "" if "port" in config else "[server]\nport = 0\n" if "[server]" not in config else ""
        config_file.write_text(listed + port + config, "utf-8")

        def overlay_config(written: Any) -> Any:
            return apply_environment(written, environ)

        options = ServeOptions(
            config=overlay_config(load_config(config_file)), config_file=config_file, overlay=overlay_config
        )
        async with (
            run_server(options, environ) as listening,
            aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(BOUND), connector=aiohttp.TCPConnector(limit=0, **connector)
            ) as http,
        ):
            yield Served(listening, http, config_file, home)

    return serve
