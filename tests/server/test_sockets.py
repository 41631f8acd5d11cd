"""The two routes on one port, and how the port is opened."""

from __future__ import annotations

import socket
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from support.editor import TOKEN, running
from vaultbridge.errors import EngineFailure
from vaultbridge.protocols.dialect import Dialect, MethodTable, Peer
from vaultbridge.protocols.http.listen import open_socket
from vaultbridge.server.ide import BridgeSockets


def make_empty_dialect(name: str, **options: object) -> object:
    def make(peer: Peer) -> Dialect:
        return MethodTable({})

    return make


async def test_a_page_may_share_the_root_with_the_socket() -> None:
    async def page(request: web.Request) -> web.StreamResponse:
        return web.Response(text="the page")

    server = BridgeSockets(TOKEN, make_empty_dialect, make_empty_dialect)  # type: ignore[arg-type]
    app = web.Application()
    server.add_routes(app, page=page)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    listening = open_socket("127.0.0.1", [0])
    await web.SockSite(runner, listening).start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
    async with aiohttp.ClientSession() as session:
        async with session.get(url) as answer:
            assert await answer.text() == "the page"
        headers = {"X-Claude-Code-Ide-Authorization": TOKEN}
        async with session.ws_connect(url, headers=headers) as client:
            assert not client.closed
    await server.stop()
    await runner.cleanup()


async def test_stopping_closes_both_endpoints_and_ends_the_health_checks(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    async with running(tmp_path / "vault") as bridge, bridge.client() as claude, bridge.editor() as page:
        await bridge.server.stop()
        await claude.socket.wait_closed()
        await page.socket.wait_closed()
        assert (claude.socket.close_code, page.socket.close_code) == (1001, 1001)


def test_the_first_free_port_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = taken.getsockname()[1]
        opened = open_socket("127.0.0.1", [busy, 0])
        assert opened.getsockname()[1] != busy
        opened.close()
        with pytest.raises(EngineFailure, match=str(busy)):
            open_socket("127.0.0.1", [busy])


def test_ipv6_loopback_can_be_bound() -> None:
    try:
        opened = open_socket("::1", [0])
    except EngineFailure:
        pytest.skip("this machine has no IPv6")
    assert opened.getsockname()[0] == "::1"
    opened.close()
