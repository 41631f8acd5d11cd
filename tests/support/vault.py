"""A real vault behind MCP: in this process on a wire, or as the `vaultbridge stdio` command on pipes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.files import write_vault
from support.process import ROOT, Process, make_process_environ
from support.wire import MODERN, Wire
from vaultbridge.protocols.mcp.dialect import mcp_dialect
from vaultbridge.protocols.mcp.provider import Provider
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.vault.engines import VaultEngines
from vaultbridge.protocols.mcp.vault.provider import ProviderSettings, VaultProvider, make_offer
from vaultbridge.server.wiring import open_engine
from vaultbridge.vault.scope import Scope

SAMPLE = ROOT / "examples" / "sample-vault"
WITHOUT_LEADING = ProviderSettings(lead=False)


def copy_sample_vault(base: Path, name: str = "Sample Vault") -> Path:
    """A copy of the sample vault, to be changed at will."""
    folder = base / name
    shutil.copytree(SAMPLE, folder)
    return folder


def make_small_vault(base: Path, files: Mapping[str, str | bytes], name: str = "Notes") -> Path:
    return write_vault(base / name, files)


def make_isolated_environ(base: Path, **more: str) -> dict[str, str]:
    """An environment with a home and a cache of its own, so that no file of the user is seen or touched."""
    home = base / "home"
    home.mkdir(exist_ok=True)
    return {"HOME": str(home), "VAULTBRIDGE_CACHE": str(base / "cache"), **more}


_made: list[VaultEngines] = []


def close_engines() -> None:
    """At the end of each test (`tests/conftest.py`): closing twice does no harm."""
    while _made:
        _made.pop().close()


def open_engines(base: Path, *folders: Path, scope: Scope | None = None) -> VaultEngines:
    """Closed at the end of the test, if the test does not do it."""
    environ = make_isolated_environ(base)
    made = VaultEngines(
        {
            folder.name: lambda folder=folder: open_engine(  # type: ignore[misc]
                str(folder), scope=scope or Scope(), environ=environ
            )
            for folder in folders
        }
    )
    _made.append(made)
    return made


class VaultWire(Wire):
    """A client past the handshake, and what it talks to."""

    provider: VaultProvider
    engines: VaultEngines
    server: McpServer

    async def text(self, tool: str, **arguments: Any) -> str:
        """The one text that a tool answers."""
        result = await self.result("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments})
        assert not result.get("isError"), result
        (block,) = result["content"]
        return str(block["text"])


@asynccontextmanager
async def vault_wire(
    base: Path,
    *folders: Path,
    version: str = "2025-11-25",
    settings: ProviderSettings = WITHOUT_LEADING,
    scope: Scope | None = None,
    call_seconds: float = 30.0,
    engines: VaultEngines | None = None,
    capabilities: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[VaultWire]:
    engines = engines or open_engines(base, *folders, scope=scope)
    made: list[VaultProvider] = []

    async def make() -> Provider:
        made.append(VaultProvider(engines, settings, **options))
        return made[0]

    server = McpServer(make_offer(settings, vaults=len(folders)), make)
    wire = VaultWire(mcp_dialect(server), version=version, call_seconds=call_seconds)
    wire.capabilities = capabilities or {}
    try:
        if version != MODERN:
            await wire.initialize()
        await server.provider()
        wire.provider, wire.engines, wire.server = made[0], engines, server
        yield wire
    finally:
        await wire.connection.close()
        await server.close()


def make_command(*args: str) -> list[str]:
    return [sys.executable, "-m", "vaultbridge", "stdio", *args]


class VaultProcess(Process):
    """`vaultbridge stdio` as a client would spawn it. Notifications wait in `heard`."""

    def __init__(self, base: Path, *args: str, **environ: str) -> None:
        quiet = {
            name: value
            for name, value in make_process_environ().items()
            if not name.startswith("VAULTBRIDGE_")
        }
        super().__init__(make_command(*args), env={**quiet, **make_isolated_environ(base, **environ)})
        self.heard: list[dict[str, Any]] = []

    async def __aenter__(self) -> VaultProcess:
        await super().__aenter__()
        return self

    async def read(self) -> Any:
        message = await super().read()
        if "method" in message:
            self.heard.append(message)
        return message

    async def begin(self, version: str = "2025-11-25") -> Any:
        """The whole handshake."""
        answer = await self.initialize(version)
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    async def result(self, method: str, params: dict[str, Any] | None = None) -> Any:
        answer = await self.ask(method, params)
        assert "result" in answer, answer
        return answer["result"]

    async def notification(self, method: str) -> dict[str, Any]:
        while True:
            for message in self.heard:
                if message["method"] == method:
                    self.heard.remove(message)
                    return dict(message.get("params", {}))
            await self.read()

    async def text(self, tool: str, **arguments: Any) -> str:
        result = await self.result("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments})
        (block,) = result["content"]
        return str(block["text"])

    async def list_tool_names(self) -> set[str]:
        return {tool["name"] for tool in (await self.result("tools/list"))["tools"]}
