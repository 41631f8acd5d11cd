"""The official Python client does a whole session over `/mcp` of the real server, in both eras."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.extension import advertise
from mcp.client.sse import sse_client
from mcp.types import ToolListChangedNotification

from server.conftest import Serving
from support.reviewer import person
from support.waiting import BOUND
from vaultbridge.protocols.mcp.apps import EXTENSION, MEDIA_TYPE


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_a_whole_session_over_streamable_http(serving: Serving, mode: str) -> None:
    async with serving() as served:
        async with Client(f"{served.url}/mcp", mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "obsidian_read_note" in names
            made = await client.call_tool(
                "obsidian_create_note", {"name": "Made", "content": "by a client\n"}
            )
            assert not made.is_error
            read = await client.call_tool("obsidian_read_note", {"path": "Made.md"})
            assert "by a client" in read.content[0].text  # type: ignore[union-attr]
            missing = await client.call_tool("obsidian_read_note", {"name": "Nothing like it"})
            assert missing.is_error
            resources = (await client.list_resources()).resources
            assert any(resource.name.startswith("Hello") for resource in resources)
            prompts = (await client.list_prompts()).prompts
            assert prompts
        assert (served.vault / "Made.md").read_text("utf-8") == "by a client\n"


async def test_a_whole_session_over_the_old_sse_with_a_token(serving: Serving) -> None:
    async with serving("[tokens]\nrequired = true\n") as served, asyncio.timeout(BOUND):
        _, secret = served.tokens.make("phone", deny=("Private/",))
        headers = {"Authorization": f"Bearer {secret}"}
        transport = sse_client(f"{served.url}/sse", headers=headers)
        async with Client(transport, mode="legacy") as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "obsidian_read_note" in names
            read = await client.call_tool("obsidian_read_note", {"path": "Hello.md"})
            assert "some text" in read.content[0].text  # type: ignore[union-attr]
            paths = [resource.name for resource in (await client.list_resources()).resources]
            assert paths == ["Hello.md"]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_switching_the_review_reaches_a_client_that_shows_views(serving: Serving, mode: str) -> None:
    """A person switches it at an editor; the tools that have a view of the change are others from then on."""
    heard: asyncio.Queue[Any] = asyncio.Queue()

    async def hear(message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            heard.put_nowait(message)

    async def has_view(client: Client) -> bool:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        return bool((tools["obsidian_edit_note"].meta or {}).get("ui"))

    views = advertise(EXTENSION, {"mimeTypes": [MEDIA_TYPE]})
    async with serving() as served, AsyncExitStack() as stack, asyncio.timeout(BOUND):
        client = await stack.enter_async_context(
            Client(f"{served.url}/mcp", mode=mode, extensions=[views], message_handler=hear)
        )
        assert not await has_view(client)
        coming = heard.get
        if mode != "legacy":
            listening = await stack.enter_async_context(client.listen(tools_list_changed=True))
            coming = aiter(listening).__anext__
        owner = await stack.enter_async_context(person(served.vault))
        await owner.request("setReview", review="all")
        await coming()
        assert await has_view(client)
