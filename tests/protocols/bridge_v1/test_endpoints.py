"""What the endpoints of Bridge v1 mean, without HTTP around them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.bridge import PIXEL, SECRET, SampleProvider, make_server
from vaultbridge import __version__
from vaultbridge.errors import VaultNotFound
from vaultbridge.protocols.bridge_v1.endpoints import (
    BridgeV1,
    hash_tools,
    parse_arguments,
    render_health,
)
from vaultbridge.protocols.http.failures import HttpFailure
from vaultbridge.protocols.mcp.provider import Context, EmptyProvider, Offer, Provider
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.values import InputRequest, TextContent, ToolInfo, ToolResult


async def call(bridge: BridgeV1, name: str, **arguments: Any) -> Any:
    return json.loads(await bridge.call(name, json.dumps({"arguments": arguments}).encode()))


def test_health_names_the_build_and_the_protocol() -> None:
    assert json.loads(render_health()) == {"status": "ok", "version": __version__, "protocolVersion": "1"}


async def test_tools_are_listed_by_their_bare_names_with_a_hash_of_the_list() -> None:
    listing = await BridgeV1(make_server(SampleProvider())).list_tools()
    body = json.loads(listing.body)
    assert list(body) == ["tools", "hash"]
    assert body["tools"][0] == {
        "name": "read_note",
        "description": "Read a note by path",
        "inputSchema": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        },
    }
    assert body["hash"] == listing.hash == hash_tools(body["tools"])
    assert listing.etag == f'"{listing.hash}"'


async def test_the_list_is_built_once_for_each_set_of_tools() -> None:
    provider = SampleProvider()
    bridge = BridgeV1(make_server(provider))
    first = await bridge.list_tools()
    assert await bridge.list_tools() is first
    provider.tools.pop()
    provider.announce()
    second = await bridge.list_tools()
    assert second.hash != first.hash
    assert "odd name/é" not in second.names


async def test_the_first_of_two_tools_with_the_same_bare_name_is_listed() -> None:
    provider = SampleProvider()
    provider.tools.append(ToolInfo(name="read_note", description="other", input_schema={"type": "object"}))
    bridge = BridgeV1(make_server(provider))
    body = json.loads((await bridge.list_tools()).body)
    assert [tool["description"] for tool in body["tools"] if tool["name"] == "read_note"] == [
        "Read a note by path"
    ]
    await call(bridge, "read_note", path="a.md")
    assert provider.calls == [("obsidian_read_note", {"path": "a.md"})]


async def test_a_call_returns_the_tools_content_unchanged() -> None:
    bridge = BridgeV1(make_server(SampleProvider()))
    assert await call(bridge, "read_note", path="Notes/Example.md") == {
        "success": True,
        "content": [{"type": "text", "text": "# Notes/Example.md"}],
    }
    import base64

    picture = await call(bridge, "picture")
    assert picture["content"][1] == {
        "type": "image",
        "data": base64.b64encode(PIXEL).decode(),
        "mimeType": "image/png",
    }


async def test_data_without_content_becomes_text() -> None:
    answer = await call(BridgeV1(make_server(SampleProvider())), "data")
    assert answer == {"success": True, "content": [{"type": "text", "text": '{"n":1}'}]}


async def test_a_failed_tool_is_an_answer_that_says_so() -> None:
    bridge = BridgeV1(make_server(SampleProvider()))
    assert await call(bridge, "read_note", path="Notes/Missing.md") == {
        "success": False,
        "content": [{"type": "text", "text": "Error: No note named 'Notes/Missing.md'."}],
        "isError": True,
    }
    own = await call(bridge, "odd name/é", fail=True)
    assert own == {"success": False, "content": [{"type": "text", "text": "odd name/é"}], "isError": True}


async def test_a_tool_that_crashes_reveals_nothing_internal() -> None:
    answer = await call(BridgeV1(make_server(SampleProvider())), "crash")
    assert answer["isError"] is True
    assert SECRET not in json.dumps(answer)


async def test_a_tool_that_takes_too_long_is_an_answer_too() -> None:
    bridge = BridgeV1(make_server(SampleProvider()), call_seconds=0.01)
    answer = await call(bridge, "stuck")
    assert answer["success"] is False
    assert "did not finish within 0.01 s" in answer["content"][0]["text"]


async def test_an_unknown_tool_is_not_found() -> None:
    bridge = BridgeV1(make_server(SampleProvider()))
    with pytest.raises(HttpFailure) as caught:
        await bridge.call("nothing", b'{"arguments":{}}')
    assert (caught.value.status, caught.value.error) == (404, "Tool not found")
    assert caught.value.details == ""


@pytest.mark.parametrize("name", ["obsidian_read_note", "READ_NOTE", "readnote", "read-note"])
async def test_a_misspelled_name_is_answered_with_the_right_one(name: str) -> None:
    """MCP calls it otherwise, and people type."""
    bridge = BridgeV1(make_server(SampleProvider()))
    with pytest.raises(HttpFailure) as caught:
        await bridge.call(name, b'{"arguments":{}}')
    assert caught.value.error == "Tool not found"
    assert caught.value.details == "Did you mean read_note?"


async def test_a_very_long_name_gets_no_suggestion() -> None:
    bridge = BridgeV1(make_server(SampleProvider()))
    with pytest.raises(HttpFailure) as caught:
        await bridge.call("read_note" * 500, b'{"arguments":{}}')
    assert caught.value.details == ""


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "not valid JSON. It is empty"),
        (b"{", "not valid JSON"),
        (b"\xef\xbb\xbf", "not valid JSON. It is empty"),
        (b"\xef\xbb\xbf\xef\xbb\xbf{}", "not valid JSON"),
        (b"nonsense", "not valid JSON"),
        (b'{"arguments":{"a":"\xff"}}', "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"arguments":{}} trailing', "not valid JSON"),
        (b'{"arguments":{"a":"cut \\ud83d"}}', "half of a surrogate pair"),
        (b'{"arguments":{"a":"\\ud83d\\ude00","b":NaN}}', "JSON is malformed"),
        (b"[]", "must be a JSON object"),
        (b"null", "must be a JSON object"),
        (b"3", "must be a JSON object"),
        (b'"text"', "must be a JSON object"),
        (b"{}", "must have an `arguments` field"),
        (b'{"argument":{}}', "must have an `arguments` field"),
        (b'{"arguments":null}', "`arguments` must be an object"),
        (b'{"arguments":[]}', "`arguments` must be an object"),
        (b'{"arguments":"x"}', "`arguments` must be an object"),
        (b'{"arguments":true}', "`arguments` must be an object"),
    ],
)
def test_a_wrong_body_is_refused_with_the_reason(body: bytes, says: str) -> None:
    with pytest.raises(HttpFailure) as caught:
        parse_arguments(body)
    assert (caught.value.status, caught.value.error) == (400, "Invalid request body")
    assert says in f"{caught.value.message} {caught.value.details}"
    form = json.loads(caught.value.body())
    assert set(form) == {"error", "message", "details"}


def test_other_members_of_a_body_are_ignored() -> None:
    assert parse_arguments(b'{"arguments":{"path":"a"},"more":[1]}') == {"path": "a"}


async def test_a_tool_that_must_ask_a_person_says_that_it_cannot_here() -> None:
    class Asking(EmptyProvider):
        async def list_tools(self) -> list[ToolInfo]:
            return [ToolInfo(name="ask", input_schema={"type": "object"})]

        async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
            assert not context.supports("elicitation")
            context.progress(1)
            context.log("info", "x")
            context.release_stream()
            assert context.state == {}
            await context.ask({"sure": InputRequest("elicitation/create", {"message": "sure?"})})
            return ToolResult((TextContent(text="never"),))

    answer = await call(BridgeV1(make_server(Asking())), "ask")
    assert "Call it over MCP" in answer["content"][0]["text"]


async def test_without_a_vault_the_list_fails_with_a_reason_and_no_secret() -> None:
    async def make() -> Provider:
        raise VaultNotFound("No vault named 'x'.")

    with pytest.raises(HttpFailure) as caught:
        await BridgeV1(McpServer(Offer(), make)).list_tools()
    assert caught.value.status == 500
    assert json.loads(caught.value.body()) == {
        "error": "Internal server error",
        "message": "The tools are not available.",
        "details": "No vault named 'x'.",
    }
