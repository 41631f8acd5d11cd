"""A whole bridge in one process, on a real port and a real folder, and a client that speaks its protocol."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import websockets
from aiohttp import web

from support.dial import dial
from support.vault_view import VaultView
from support.waiting import BOUND
from vaultbridge.editor.hub import EditorHub, Timing
from vaultbridge.protocols.claude_ide.dialect import ClaudeIde, IdeOptions
from vaultbridge.protocols.editor.server import EditorServer
from vaultbridge.protocols.editor.socket import EDITOR_PROTOCOL
from vaultbridge.protocols.http.listen import open_socket
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.server.ide import BridgeSockets

TOKEN = "0b1f6a52-0c5e-4c0b-8d57-9a3f5a0c9e11"

QUICK = Timing(debounce=0.005, debounce_limit=0.01, ready_after=0.005, mention_wait=BOUND)
"""The same rules in fast time; what must not come too late has all the time."""


class Failed(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class Client:
    """JSON-RPC over the `websockets` library. Notifications and the server's requests are queued."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        self.socket = socket
        self.came: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        try:
            async for data in self.socket:
                message = json.loads(data)
                if "method" not in message and message.get("id") in self._asked:
                    self._asked.pop(message["id"]).set_result(message)
                else:
                    self.came.put_nowait(message)
        except websockets.ConnectionClosed:
            pass
        for future in self._asked.values():
            if not future.done():
                future.set_exception(ConnectionError("closed"))

    async def send(self, **message: Any) -> None:
        await self.socket.send(json.dumps({"jsonrpc": "2.0", **message}))

    async def begin(self, method: str, **params: Any) -> asyncio.Future[dict[str, Any]]:
        id_ = next(self._ids)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked[id_] = future
        await self.send(id=id_, method=method, params=params)
        return future

    async def end(self, future: asyncio.Future[dict[str, Any]]) -> Any:
        answer = await asyncio.wait_for(future, BOUND)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["result"]

    async def request(self, method: str, **params: Any) -> Any:
        return await self.end(await self.begin(method, **params))

    async def notify(self, method: str, **params: Any) -> None:
        await self.send(method=method, params=params)

    async def tool(self, name: str, **arguments: Any) -> list[str]:
        """The text blocks of an IDE tool's answer."""
        result = await self.request("tools/call", name=name, arguments=arguments)
        assert not result.get("isError"), result
        return [block["text"] for block in result["content"]]

    async def next(self, method: str) -> dict[str, Any]:
        """The params of the next message of that name; whatever comes before it is dropped."""
        async with asyncio.timeout(BOUND):
            while True:
                message = await self.came.get()
                if message.get("method") == method:
                    params: dict[str, Any] = message.get("params", {})
                    return params

    async def next_request(self, method: str) -> tuple[Any, dict[str, Any]]:
        """The id and params of the server's next request of that name."""
        async with asyncio.timeout(BOUND):
            while True:
                message = await self.came.get()
                if message.get("method") == method and "id" in message:
                    return message["id"], message.get("params", {})

    async def handshake(
        self, version: str = "2025-11-25", *, capabilities: dict[str, Any] | None = None
    ) -> Any:
        """What Claude Code does on connecting."""
        result = await self.request(
            "initialize",
            protocolVersion=version,
            capabilities=capabilities or {},
            clientInfo={"name": "claude-code", "version": "2.1.325"},
        )
        await self.notify("notifications/initialized")
        await self.notify("ide_connected", pid=4242)
        return result

    async def close(self) -> None:
        await self.socket.close()
        await asyncio.wait_for(self._reader, BOUND)


class Bridge:
    def __init__(
        self,
        view: VaultView,
        hub: EditorHub,
        ide: ClaudeIde,
        editors: EditorServer,
        server: BridgeSockets,
        port: int,
    ) -> None:
        self.view = view
        self.hub = hub
        self.ide = ide
        self.editors = editors
        self.server = server
        self.port = port

    def url(self, path: str = "/") -> str:
        return f"ws://127.0.0.1:{self.port}{path}"

    @asynccontextmanager
    async def client(self, *, greet: bool = True, token: str = TOKEN) -> AsyncIterator[Client]:
        """A client on the IDE socket, initialized as Claude Code does by default."""
        async with dial(
            self.url(),
            subprotocols=[websockets.Subprotocol("mcp")],
            additional_headers={"X-Claude-Code-Ide-Authorization": token},
            max_size=None,
        ) as socket:
            client = Client(socket)
            if greet:
                await client.handshake()
            yield client
            await client.close()

    @asynccontextmanager
    async def editor(self, app: str = "page", token: str = TOKEN, **abilities: bool) -> AsyncIterator[Client]:
        """An editor on `/editor` that has said hello."""
        async with dial(
            self.url("/editor"), subprotocols=[websockets.Subprotocol(EDITOR_PROTOCOL)], max_size=None
        ) as socket:
            client = Client(socket)
            await client.request("hello", app=app, token=token, abilities=abilities)
            yield client
            await client.close()


@asynccontextmanager
async def running(
    folder: Path,
    *,
    view: VaultView | None = None,
    server: McpServer | None = None,
    options: IdeOptions | None = None,
    timing: Timing = QUICK,
    share_selection: bool = True,
    port: int = 0,
    hello_seconds: float = BOUND,
) -> AsyncIterator[Bridge]:
    view = view or VaultView(folder)
    hub = EditorHub(view.visible, share_selection=share_selection, timing=timing)
    ide = ClaudeIde(view, hub, server, options)
    editors = EditorServer(view, hub, ide, TOKEN, hello_seconds=hello_seconds)
    sockets = BridgeSockets(TOKEN, ide.dialect, editors.dialect)
    app = web.Application()
    sockets.add_routes(app)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    listening = open_socket("127.0.0.1", [port])
    await web.SockSite(runner, listening).start()
    sockets.start()
    try:
        yield Bridge(view, hub, ide, editors, sockets, listening.getsockname()[1])
    finally:
        await sockets.stop()
        await runner.cleanup()
        view.close()


async def finish_call(client: Client, call: asyncio.Future[dict[str, Any]]) -> list[str]:
    """The texts of a tool's answer, when it comes."""
    return [block["text"] for block in (await client.end(call))["content"]]
