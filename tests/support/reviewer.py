"""A person at the editor socket of a server that runs in this process, and the history of its vault."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import websockets

from support.dial import dial
from support.editor import Client as Socket
from vaultbridge.protocols.editor.endpoint_file import Endpoint, find_running
from vaultbridge.protocols.editor.socket import EDITOR_PROTOCOL
from vaultbridge.server.wiring import open_engine
from vaultbridge.vault.folders import make_bases, vault_cache


def find_endpoint(vault: Path) -> Endpoint:
    known = find_running(vault_cache(vault, make_bases(vault.parent / "cache")))
    assert known is not None
    return known


@asynccontextmanager
async def person(vault: Path, app: str = "page", **abilities: bool) -> AsyncIterator[Socket]:
    """A person at an editor that can show proposals."""
    known = find_endpoint(vault)
    async with dial(
        f"ws://127.0.0.1:{known.port}/editor",
        subprotocols=[websockets.Subprotocol(EDITOR_PROTOCOL)],
        max_size=None,
    ) as socket:
        client = Socket(socket)
        await client.request("hello", app=app, token=known.token, abilities=abilities or {"proposals": True})
        yield client
        await client.close()


@asynccontextmanager
async def claude_code(vault: Path) -> AsyncIterator[Socket]:
    """A client that does on the IDE socket what Claude Code does."""
    known = find_endpoint(vault)
    async with dial(
        f"ws://127.0.0.1:{known.port}/",
        subprotocols=[websockets.Subprotocol("mcp")],
        additional_headers={"X-Claude-Code-Ide-Authorization": known.token},
        max_size=None,
    ) as socket:
        client = Socket(socket)
        await client.handshake()
        yield client
        await client.close()


def read_journal(vault: Path) -> list[tuple[int, str, str]]:
    """The number, actor and label of each change, newest first."""
    environ = {"HOME": str(vault.parent / "home"), "VAULTBRIDGE_CACHE": str(vault.parent / "cache")}
    with open_engine(vault, environ=environ) as engine:
        return [(entry.id, entry.actor, entry.label) for entry in engine.history.changes()]


def read(vault: Path, path: str = "Hello.md") -> str:
    return (vault / path).read_bytes().decode()
