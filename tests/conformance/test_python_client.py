"""The official Python client (mcp 2.3) in a real session with the fixture server, over stdio and HTTP, in
both eras."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged

from support.http import http_server
from support.process import FIXTURE, make_process_environ
from support.waiting import BOUND
from support.wire import MODERN

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

BOTH_WAYS = pytest.mark.parametrize("transport", ["stdio", "http"])
BOTH_ERAS = pytest.mark.parametrize("mode", ["legacy", MODERN, "auto"])


@asynccontextmanager
async def connect(transport: str, mode: str, **options: Any) -> AsyncIterator[Client]:
    async with asyncio.timeout(BOUND):
        if transport == "stdio":
            parameters = StdioServerParameters(
                command=sys.executable, args=FIXTURE[1:], env=make_process_environ()
            )
            async with Client(parameters, mode=mode, **options) as client:  # type: ignore[arg-type]
                yield client
        else:
            async with http_server() as server, Client(f"{server.url}/mcp", mode=mode, **options) as client:  # type: ignore[arg-type]
                yield client


def read_text(result: types.CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@BOTH_WAYS
@BOTH_ERAS
async def test_a_session_uses_every_feature(transport: str, mode: str) -> None:
    async with connect(transport, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["test_structured"].output_schema is not None
        assert read_text(await client.call_tool("test_simple_text", {})).startswith("This is")
        structured = await client.call_tool("test_structured", {"n": 3})
        assert structured.structured_content == {"n": 3}
        kinds = {
            (await client.call_tool(name)).content[0].type
            for name in ("test_image_content", "test_audio_content")
        }
        assert kinds == {"image", "audio"}
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        assert len(first.resources) + len(second.resources) == 3
        assert (await client.list_resource_templates()).resource_templates
        (content,) = (await client.read_resource("test://template/7/data")).contents
        assert isinstance(content, types.TextResourceContents)
        assert len((await client.list_prompts()).prompts) == 5
        prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        assert isinstance(prompt.messages[0].content, types.TextContent)
        ref = types.PromptReference(name="test_prompt_with_arguments")
        completed = await client.complete(ref, {"name": "arg1", "value": "par"})
        assert completed.completion.values == ["paris", "park", "party"]


@BOTH_WAYS
@BOTH_ERAS
async def test_failed_and_unknown_tools(transport: str, mode: str) -> None:
    from mcp.shared.exceptions import MCPError

    async with connect(transport, mode) as client:
        failed = await client.call_tool("test_error_handling")
        assert failed.is_error
        assert "intentionally" in read_text(failed)
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("no_such")
        with pytest.raises(MCPError, match="Internal error"):
            await client.call_tool("test_crash")
        assert read_text(await client.call_tool("test_simple_text"))


@BOTH_WAYS
@BOTH_ERAS
async def test_progress_and_logs_arrive_while_a_tool_runs(transport: str, mode: str) -> None:
    seen: list[Any] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total))

    completed = asyncio.Event()

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        if params.data == "Tool execution completed":
            completed.set()

    async with connect(transport, mode, logging_callback=log, log_level="info") as client:
        await client.call_tool("test_tool_with_progress", progress_callback=progress)
        await client.call_tool("test_tool_with_logging")
        # The client runs each of these functions in a task of its own, beside the call.
        await completed.wait()
    assert seen == [(0, 100), (50, 100), (100, 100)]


@BOTH_WAYS
@BOTH_ERAS
async def test_the_client_is_asked_while_a_tool_runs(transport: str, mode: str) -> None:
    async def elicit(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        names = params.requested_schema["properties"] if hasattr(params, "requested_schema") else {}
        return types.ElicitResult(action="accept", content={name: f"my {name}" for name in names})

    async def sample(context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        content = types.TextContent(type="text", text="Paris")
        return types.CreateMessageResult(role="assistant", content=content, model="m")

    async def roots(context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri="file:///a")])  # type: ignore[arg-type]

    callbacks = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}
    async with connect(transport, mode, **callbacks) as client:
        assert "my response" in read_text(await client.call_tool("test_elicitation", {"message": "?"}))
        assert read_text(await client.call_tool("test_sampling", {"prompt": "?"})) == "LLM response: Paris"
        three = read_text(await client.call_tool("test_input_required_result_multiple_inputs"))
        assert three == "Name: my name; Greeting: Paris; Roots: 1"
        rounds = read_text(await client.call_tool("test_input_required_result_multi_round"))
        assert rounds == "Multi-round complete for my name who likes my color"


@BOTH_WAYS
async def test_changes_reach_a_session_that_subscribed(transport: str) -> None:
    seen: asyncio.Queue[Any] = asyncio.Queue()

    async def handle(message: Any) -> None:
        seen.put_nowait(type(message).__name__)

    async with connect(transport, "legacy", message_handler=handle) as client:
        await client.subscribe_resource("test://watched-resource")
        await client.call_tool("test_trigger_resource_update")
        await client.call_tool("test_trigger_tool_change")
        names = {await seen.get(), await seen.get()}
        assert names == {"ResourceUpdatedNotification", "ToolListChangedNotification"}
        await client.unsubscribe_resource("test://watched-resource")


@BOTH_WAYS
async def test_changes_reach_a_stateless_listener(transport: str) -> None:
    async with (
        connect(transport, MODERN) as client,
        client.listen(tools_list_changed=True, resource_subscriptions=["test://watched-resource"]) as events,
    ):
        await client.call_tool("test_trigger_tool_change")
        assert isinstance(await anext(events), ToolsListChanged)
        await client.call_tool("test_trigger_resource_update")
        assert isinstance(await anext(events), ResourceUpdated)


@BOTH_WAYS
async def test_auto_finds_the_newest_version(transport: str) -> None:
    async with connect(transport, "auto") as client:
        assert client.session.protocol_version == MODERN


@BOTH_WAYS
@BOTH_ERAS
async def test_a_call_cancelled_by_the_client_does_not_harm_the_next(transport: str, mode: str) -> None:
    async with connect(transport, mode) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await client.call_tool("test_wait")
        assert read_text(await client.call_tool("test_simple_text"))


async def test_the_old_sse_transport() -> None:
    from mcp.client.sse import sse_client

    async with (
        asyncio.timeout(BOUND),
        http_server() as server,
        Client(sse_client(f"{server.url}/sse"), mode="legacy") as client,
    ):
        assert read_text(await client.call_tool("test_simple_text"))
