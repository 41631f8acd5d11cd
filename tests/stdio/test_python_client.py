"""The official Python client (mcp 2.3) in a real session with `vaultbridge stdio` on the sample vault."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp.client.session
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.subscriptions import ResourceUpdated

from support.process import make_process_environ
from support.vault import copy_sample_vault, make_command, make_isolated_environ
from support.waiting import BOUND
from support.wire import EVERY_VERSION, MODERN
from vaultbridge.tools.standard import standard_catalog

pytestmark = [
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

HOME = "obsidian://vault/Sample%20Vault/Home.md"


@asynccontextmanager
async def session(
    base: Path, version: str, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> AsyncIterator[Client]:
    if version != MODERN:
        # The client offers the newest version it has; an older client is one whose newest is older.
        monkeypatch.setattr(mcp.client.session, "LATEST_HANDSHAKE_VERSION", version)
    args = make_command(str(copy_sample_vault(base)))[1:]
    env = {**make_process_environ(), **make_isolated_environ(base)}
    parameters = StdioServerParameters(command=sys.executable, args=args, env=env)
    mode = MODERN if version == MODERN else "legacy"
    async with asyncio.timeout(BOUND), Client(parameters, mode=mode, **options) as client:
        assert client.session.protocol_version == version
        yield client


def read_text(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_a_whole_session_in_every_version(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with session(tmp_path, version, monkeypatch) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == set(standard_catalog().names())
        assert "Nightjar Hill" in read_text(await client.call_tool("obsidian_read_note", {"name": "Home"}))
        made = await client.call_tool("obsidian_create_note", {"name": "Garden/From SDK", "content": "x"})
        assert (tmp_path / "Sample Vault/Garden/From SDK.md").read_text() == "x"
        if version >= "2025-06-18":
            assert made.structured_content == {
                "success": True,
                "data": {"path": "Garden/From SDK.md", "created": True},
            }
        assert any(str(resource.uri) == HOME for resource in (await client.list_resources()).resources)
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "obsidian://vault/Sample%20Vault/{+path}"
        (content,) = (await client.read_resource(HOME)).contents
        assert isinstance(content, types.TextResourceContents)
        assert "Nightjar Hill" in content.text
        (picture,) = (
            await client.read_resource("obsidian://vault/Sample%20Vault/Attachments/m81-sketch.png")
        ).contents
        assert isinstance(picture, types.BlobResourceContents)
        prompts = {prompt.name for prompt in (await client.list_prompts()).prompts}
        assert {"summarize_note", "weekly_review", "find_related", "tidy_inbox", "plan_a_night"} <= prompts
        prompt = await client.get_prompt("summarize_note", {"note": "M82"})
        assert isinstance(prompt.messages[1].content, types.TextContent)
        ref = types.PromptReference(name="summarize_note")
        completed = await client.complete(ref, {"name": "note", "value": "m8"})
        assert completed.completion.values[0] == "M82"
        path = types.ResourceTemplateReference(uri=template.uri_template)
        completed = await client.complete(path, {"name": "path", "value": "sketch"})
        assert completed.completion.values == ["Attachments/m81-sketch.png"]


@pytest.mark.parametrize("version", [version for version in EVERY_VERSION if version != MODERN])
async def test_a_subscriber_is_notified_of_an_edit_made_outside(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()

    async def handle(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            heard.put_nowait(str(message.params.uri))

    async with session(tmp_path, version, monkeypatch, message_handler=handle) as client:
        await client.subscribe_resource(HOME)
        (tmp_path / "Sample Vault/Home.md").write_text("changed")
        assert await heard.get() == HOME
        (content,) = (await client.read_resource(HOME)).contents
        assert isinstance(content, types.TextResourceContents)
        assert content.text == "changed"


async def test_a_stateless_listener_is_notified_of_an_edit_made_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        session(tmp_path, MODERN, monkeypatch) as client,
        client.listen(resource_subscriptions=[HOME]) as events,
    ):
        (tmp_path / "Sample Vault/Home.md").write_text("changed")
        assert isinstance(await anext(events), ResourceUpdated)


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_a_failed_call_is_reported_with_the_closest_names(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp.shared.exceptions import MCPError

    async with session(tmp_path, version, monkeypatch) as client:
        call = client.call_tool("obsidian_read_note", {"name": "Hedgehog coridor"})
        if version == "2024-11-05":
            with pytest.raises(MCPError) as failed:
                await call
            assert failed.value.error.code == -32003
            found = failed.value.error.message
        else:
            result = await call
            assert result.is_error
            found = read_text(result)
        assert "No note named 'Hedgehog coridor'" in found
