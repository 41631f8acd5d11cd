"""What tests send to a `Served`, and the clients that connect to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import websockets

from server.conftest import Served
from support.dial import dial
from support.editor import Client
from support.http import BOTH
from support.page_api import PageApi
from vaultbridge.protocols.editor.socket import EDITOR_PROTOCOL

MCP = {"Accept": BOTH, "Content-Type": "application/json"}

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def make_bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def read_page_token(served: Served) -> str:
    return served.listening.page.partition("#token=")[2]


def make_owner_headers(served: Served) -> dict[str, str]:
    return make_bearer(read_page_token(served))


def open_page_api(served: Served) -> PageApi:
    return PageApi(served.http, served.url, read_page_token(served))


async def ask_page(
    served: Served, path: str, headers: dict[str, str], *, method: str = "GET", **options: Any
) -> tuple[int, Any]:
    """The status and the answer of the page's API, whose headers are checked."""
    url = f"{served.url}/page/api{path}"
    async with served.http.request(method, url, headers=headers, **options) as response:
        assert response.headers["Content-Type"].startswith("application/json"), await response.text()
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Cache-Control"] == "no-store"
        return response.status, await response.json()


async def open_session(served: Served, **headers: str) -> dict[str, str]:
    """The headers of a new session at `/mcp`."""
    sent = {**MCP, **headers}
    async with served.http.post(f"{served.url}/mcp", json=INITIALIZE, headers=sent) as response:
        assert response.status == 200, await response.text()
        sent["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    async with served.http.post(f"{served.url}/mcp", json=ready, headers=sent) as response:
        assert response.status == 202
    return sent


async def ask_mcp(served: Served, headers: dict[str, str], method: str, **params: Any) -> Any:
    """The status and the answer of one request in a session at `/mcp`."""
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with served.http.post(f"{served.url}/mcp", json=message, headers=headers) as response:
        return response.status, json.loads(await response.read() or b"null")


@asynccontextmanager
async def ide(served: Served) -> AsyncIterator[Client]:
    """A client on the IDE socket that has done what Claude Code does on connecting."""
    async with dial(
        f"ws://127.0.0.1:{served.listening.port}/",
        subprotocols=[websockets.Subprotocol("mcp")],
        additional_headers={"X-Claude-Code-Ide-Authorization": read_page_token(served)},
    ) as socket:
        client = Client(socket)
        await client.handshake()
        yield client
        await client.close()


@asynccontextmanager
async def editor(served: Served, **abilities: bool) -> AsyncIterator[Client]:
    """A page on the editor socket that has said hello."""
    async with dial(
        f"ws://127.0.0.1:{served.listening.port}/editor",
        subprotocols=[websockets.Subprotocol(EDITOR_PROTOCOL)],
        max_size=None,
    ) as socket:
        client = Client(socket)
        await client.request("hello", app="page", token=read_page_token(served), abilities=abilities)
        yield client
        await client.close()
