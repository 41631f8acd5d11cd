"""Our client against the official TypeScript server: over stdio, and behind a popular gateway to WebSocket.

The gateway reads every id as a number, so a text would come back as null and nobody would know the answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from client.proxy import FaultyProxy
from support.node import NotInstallable, copy_beside, find_node, install_packages, skip_without_packages
from support.process import make_process_environ
from support.waiting import BOUND, until
from vaultbridge.client.session import Session
from vaultbridge.client.stdio import StdioTransport
from vaultbridge.client.websocket.transport import WebSocketTransport

pytestmark = [pytest.mark.node, pytest.mark.timeout(400)]
SERVER = Path(__file__).parent / "small_server.mjs"


@pytest.fixture(scope="module")
def packages() -> Path:
    try:
        folder = install_packages("gateway")
        find_node(folder)
    except NotInstallable as reason:
        skip_without_packages(reason)
    copy_beside(folder, SERVER)
    return folder


@asynccontextmanager
async def gateway(folder: Path) -> AsyncIterator[int]:
    """The gateway before the server, on a port that the system gave to nobody else a moment ago."""
    listener = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port: int = listener.sockets[0].getsockname()[1]
    listener.close()
    await listener.wait_closed()
    entry = folder / "node_modules" / "supergateway" / "dist" / "index.js"
    process = await asyncio.create_subprocess_exec(
        *(
            find_node(folder),
            str(entry),
            "--stdio",
            f"{find_node(folder)} {SERVER.name}",
            "--outputTransport",
            "ws",
        ),
        *("--port", str(port), "--messagePath", "/message"),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=make_process_environ(HOME=str(folder), PATH=os.environ["PATH"]),
    )
    assert process.stdout is not None
    reading = None
    try:
        async with asyncio.timeout(BOUND):
            while b"WebSocket endpoint" not in await process.stdout.readline():
                assert process.returncode is None and not process.stdout.at_eof()
        reading = asyncio.create_task(process.stdout.read())
        yield port
    finally:
        if reading is not None:
            reading.cancel()
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await asyncio.wait_for(process.wait(), BOUND)


async def test_the_typescript_server_is_spoken_to_over_stdio(packages: Path) -> None:
    transport = StdioTransport([find_node(packages), SERVER.name], cwd=str(packages))
    async with asyncio.timeout(BOUND), Session(transport) as session:
        assert session.server_info["name"] == "small" and not session.is_modern
        assert [tool["name"] for tool in (await session.list_tools())["tools"]] == ["watched"]


async def test_behind_the_gateway_a_session_survives_a_lost_line(packages: Path) -> None:
    """The handshake and the subscription are repeated, and their answers are recognised by id."""
    async with asyncio.timeout(BOUND), gateway(packages) as port, FaultyProxy(port) as proxy:
        errors: list[Exception] = []
        transport = WebSocketTransport(
            f"ws://127.0.0.1:{proxy.port}/message", reconnect_delay=0.05, connect_timeout=10
        )
        async with Session(transport) as session:
            transport.on_error = errors.append
            await session.request("resources/subscribe", {"uri": "test://a"})
            proxy.cut()
            await until(lambda: transport.metrics().reconnects == 1)
            # The server behind the gateway is the same one, and remembers both.
            answer = await session.call_tool("watched")
            assert answer["content"][0]["text"] == "test://a test://a"
        assert [type(error).__name__ for error in errors] == ["ConnectionLost"]
