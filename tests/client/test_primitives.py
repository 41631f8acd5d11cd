"""Tools, resources, templates and prompts in one list."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client import Client

from client.servers import make_sdk_server, running, serve_sdk
from client.user import make_command
from vaultbridge.client import primitives
from vaultbridge.client.errors import RpcError
from vaultbridge.client.primitives import list_primitives
from vaultbridge.client.session import Session
from vaultbridge.client.stdio import StdioTransport
from vaultbridge.client.websocket.transport import WebSocketTransport


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
async def test_the_official_client_and_our_session_see_the_same(mode: str) -> None:
    async with running(serve_sdk(make_sdk_server())) as server:
        async with Client(WebSocketTransport(server.url), mode=mode) as client:
            theirs = await list_primitives(client)
        async with Session(WebSocketTransport(server.url)) as session:
            ours = await list_primitives(session)
    names = [(p.type, p.name) for p in ours]
    assert names == [("tool", "add"), ("tool", "fail"), ("resource", "test://note"), ("prompt", "greet")]
    assert [(p.type, p.name, p.description) for p in theirs] == [
        (p.type, p.name, p.description) for p in ours
    ]
    assert ours[0].description == "Add two numbers." and "inputSchema" in ours[0].value


async def test_a_server_without_some_of_them_gives_the_others() -> None:
    async with Session(StdioTransport(make_command("good"))) as session:
        assert [p.name for p in await list_primitives(session)] == ["echo"]


class Paged:
    """A client whose server has tools on many pages and knows no other method."""

    server_capabilities = None

    def __init__(self, pages: int | None) -> None:
        self.pages = pages
        self.asked = 0

    async def list_tools(self, *, cursor: str | None = None) -> dict[str, Any]:
        self.asked += 1
        page = int(cursor or 0)
        more = {} if self.pages is not None and page + 1 >= self.pages else {"nextCursor": str(page + 1)}
        return {"tools": [{"name": f"t{page}"}], **more}

    async def list_resources(self, *, cursor: str | None = None) -> dict[str, Any]:
        raise RpcError(-32601, "Method not found")

    list_resource_templates = list_prompts = list_resources


async def test_every_page_is_fetched_and_missing_methods_are_passed_over() -> None:
    assert [p.name for p in await list_primitives(Paged(3))] == ["t0", "t1", "t2"]


async def test_a_listing_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primitives, "PAGES", 7)
    endless = Paged(None)
    assert len(await list_primitives(endless)) == 7 and endless.asked == 7


@pytest.mark.parametrize("cursors", ["aa", "aba", "abca"])
async def test_a_cursor_that_repeats_ends_the_list_with_an_error(cursors: str) -> None:
    class Circle(Paged):
        async def list_tools(self, *, cursor: str | None = None) -> dict[str, Any]:
            self.asked += 1
            return {"tools": [{"name": "t"}], "nextCursor": cursors[self.asked - 1]}

    circle = Circle(None)
    with pytest.raises(RpcError, match=r"list of tools has no end: it gave the cursor 'a' twice"):
        await list_primitives(circle)
    assert circle.asked == len(cursors)


async def test_other_failures_are_raised() -> None:
    class Broken(Paged):
        async def list_prompts(self, *, cursor: str | None = None) -> dict[str, Any]:
            raise RpcError(-32603, "Internal error")

    with pytest.raises(RpcError, match="Internal error"):
        await list_primitives(Broken(1))
