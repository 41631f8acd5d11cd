"""MCP on one connection: the handshake, the stateless version, and every method in every version.

Every message the server sends here is held to the JSON Schema of its version by the wire.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from conformance.fixture import OFFER, FixtureProvider
from support.wire import (
    EVERY_VERSION,
    HANDSHAKE,
    MODERN,
    Wire,
    make_fixture_server,
    make_meta,
    open_fixture_wire,
)
from vaultbridge.errors import VaultNotFound
from vaultbridge.protocols.mcp.dialect import mcp_dialect
from vaultbridge.protocols.mcp.provider import EmptyProvider, Offer
from vaultbridge.protocols.mcp.server import McpServer


def make_wire(version: str, **options: Any) -> Wire:
    server, _ = make_fixture_server(**options)
    return Wire(mcp_dialect(server, honours_exit=True), version=version)


# The handshake.


@pytest.mark.parametrize("version", HANDSHAKE)
async def test_initialize_agrees_to_the_version_and_says_what_there_is(version: str) -> None:
    wire = make_wire(version)
    result = await wire.initialize()
    assert result["protocolVersion"] == version
    assert result["instructions"] == OFFER.instructions
    assert result["serverInfo"]["name"] == "fixture"
    assert ("title" in result["serverInfo"]) == (version >= "2025-06-18")
    assert ("description" in result["serverInfo"]) == (version >= "2025-11-25")
    capabilities = result["capabilities"]
    assert {"tools", "resources", "prompts", "logging"} <= set(capabilities)
    assert ("completions" in capabilities) == (version >= "2025-03-26")


async def test_the_default_name_and_the_shape_of_seed_004() -> None:
    async def make() -> EmptyProvider:
        return EmptyProvider()

    server = McpServer(Offer(version="1.0.0", logging=False), make)
    wire = Wire(mcp_dialect(server), version="2024-11-05")
    result = await wire.initialize()
    assert result == {
        "protocolVersion": "2024-11-05",
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "obsidian-mcp", "version": "1.0.0"},
    }


@pytest.mark.parametrize("version", ["2026-07-28", "2099-01-01", "nonsense"])
async def test_an_unknown_version_is_answered_with_the_newest_handshake(version: str) -> None:
    wire = make_wire("2025-11-25")
    result = await wire.result("initialize", {"protocolVersion": version, "capabilities": {}})
    assert result["protocolVersion"] == "2025-11-25"


async def test_initialize_without_a_version_names_what_is_missing() -> None:
    error = await make_wire("2025-11-25").error("initialize", {"capabilities": {}})
    assert error["code"] == -32602
    assert "protocolVersion" in error["message"]


@pytest.mark.parametrize(
    "method", ["tools/list", "tools/call", "resources/read", "logging/setLevel", "no/such"]
)
async def test_calls_before_initialize_are_refused(method: str) -> None:
    """Seed 004: "Initialize handshake before tool calls"."""
    error = await make_wire("2024-11-05").error(method)
    assert error["code"] == -32600
    assert "initialize first" in error["message"]


async def test_ping_is_answered_before_and_after_initialize() -> None:
    wire = make_wire("2025-11-25")
    assert await wire.result("ping") == {}
    await wire.initialize()
    assert await wire.result("ping") == {}


async def test_a_second_initialize_is_refused() -> None:
    wire = await open_fixture_wire("2025-11-25")
    error = await wire.error("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
    assert error["code"] == -32600


@pytest.mark.parametrize("name", ["notifications/initialized", "initialized"])
async def test_both_names_of_initialized_are_accepted_and_neither_is_answered(name: str) -> None:
    wire = make_wire("2024-11-05")
    await wire.result("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}})
    await wire.notify(name)
    await wire.notify(name)
    assert wire.messages == []
    assert await wire.result("ping") == {}


async def test_requests_are_served_without_an_initialized_notification() -> None:
    """Seed 004 knows none."""
    wire = make_wire("2024-11-05")
    await wire.result("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}})
    assert (await wire.result("tools/list"))["tools"]


async def test_requests_written_right_behind_initialize_are_served() -> None:
    wire = make_wire("2024-11-05")
    first = await wire.start("initialize", {"protocolVersion": "2024-11-05", "capabilities": {}})
    second = await wire.start("tools/list")
    assert "result" in await wire.until(lambda message: message["id"] == first)
    assert "result" in await wire.until(lambda message: message["id"] == second)


async def test_exit_ends_the_connection_where_it_is_honoured_and_not_elsewhere() -> None:
    wire = await open_fixture_wire("2024-11-05")
    await wire.notify("exit")
    assert wire.connection.ending.is_set()
    server, _ = make_fixture_server()
    other = Wire(mcp_dialect(server), version="2024-11-05")
    await other.initialize()
    await other.notify("exit")
    assert not other.connection.ending.is_set()


async def test_a_batch_is_answered_in_2025_03_26_and_refused_in_every_other_version() -> None:
    batch = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in (10, 11)]
    for version in HANDSHAKE:
        wire = await open_fixture_wire(version)
        await wire.post(batch)
        await wire.settle()
        (answer,) = wire.messages
        if version == "2025-03-26":
            assert sorted(member["id"] for member in answer) == [10, 11]
        else:
            assert (answer["id"], answer["error"]["code"]) == (None, -32600)


# The lists.


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_tools_are_listed_with_the_members_their_version_has(version: str) -> None:
    wire = await open_fixture_wire(version)
    tools = {tool["name"]: tool for tool in (await wire.result("tools/list"))["tools"]}
    assert next(iter(tools)) == "test_simple_text"
    rich = tools["test_structured"]
    assert ("annotations" in rich) == (version >= "2025-03-26")
    assert ("title" in rich) == (version >= "2025-06-18")
    assert ("outputSchema" in rich) == (version >= "2025-06-18")
    assert ("_meta" in rich) == (version >= "2025-06-18")
    assert rich["inputSchema"]["type"] == "object"


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_lists_come_in_pages_by_cursor(version: str) -> None:
    wire = await open_fixture_wire(version)
    first = await wire.result("resources/list")
    second = await wire.result("resources/list", {"cursor": first["nextCursor"]})
    assert [item["uri"] for item in first["resources"] + second["resources"]] == [
        "test://static-text",
        "test://static-binary",
        "test://watched-resource",
    ]
    assert "nextCursor" not in second


@pytest.mark.parametrize("method", ["resources/list", "tools/list"])
async def test_a_cursor_we_never_gave_is_invalid_params(method: str) -> None:
    """Pagination, Error Handling: "Invalid cursors SHOULD result in an error with code -32602"."""
    error = await (await open_fixture_wire("2025-11-25")).error(method, {"cursor": "made-up"})
    assert error["code"] == -32602
    assert "cursor" in error["message"]


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_templates_and_prompts_are_listed(version: str) -> None:
    wire = await open_fixture_wire(version)
    templates = (await wire.result("resources/templates/list"))["resourceTemplates"]
    assert templates[0]["uriTemplate"] == "test://template/{id}/data"
    prompts = (await wire.result("prompts/list"))["prompts"]
    assert prompts[1]["arguments"][0]["required"] is True


async def test_methods_that_are_not_offered_do_not_exist() -> None:
    wire = make_wire("2025-11-25", offer=Offer(tools=False, logging=False))
    result = await wire.initialize()
    assert result["capabilities"] == {}
    for method in ("tools/list", "resources/list", "prompts/list", "completion/complete", "logging/setLevel"):
        assert (await wire.error(method))["code"] == -32601


# Tools.


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_a_tool_answers_text(version: str) -> None:
    wire = await open_fixture_wire(version)
    result = await wire.result("tools/call", {"name": "test_simple_text", "arguments": {}})
    assert result["content"] == [{"type": "text", "text": "This is a simple text response for testing."}]
    assert "isError" not in result


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_every_kind_of_content_arrives_in_every_version(version: str) -> None:
    wire = await open_fixture_wire(version)
    kinds = {}
    for tool in ("test_image_content", "test_audio_content", "test_embedded_resource", "test_resource_link"):
        (block,) = (await wire.result("tools/call", {"name": tool}))["content"]
        kinds[tool] = block["type"]
    assert kinds["test_image_content"] == "image"
    assert kinds["test_audio_content"] == ("audio" if version >= "2025-03-26" else "text")
    assert kinds["test_embedded_resource"] == "resource"
    assert kinds["test_resource_link"] == ("resource_link" if version >= "2025-06-18" else "text")


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_structured_content_comes_where_the_version_has_it(version: str) -> None:
    wire = await open_fixture_wire(version)
    result = await wire.result("tools/call", {"name": "test_structured", "arguments": {"n": 3}})
    assert result.get("structuredContent") == ({"n": 3} if version >= "2025-06-18" else None)
    assert result["content"][0]["text"] == '{"n":3}'


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_an_unknown_tool_is_invalid_params(version: str) -> None:
    error = await (await open_fixture_wire(version)).error("tools/call", {"name": "no_such", "arguments": {}})
    assert error["code"] == -32602
    assert error["message"] == "Unknown tool: no_such"


@pytest.mark.parametrize(
    "name", ["Test_Echo", "test-echo", "testEcho", "mcp__notes__test_echo", "echo", "test_ecko"]
)
async def test_the_error_for_an_unknown_tool_suggests_the_closest_name(name: str) -> None:
    error = await (await open_fixture_wire("2025-11-25")).error("tools/call", {"name": name, "arguments": {}})
    assert error["code"] == -32602
    assert error["message"] == f"Unknown tool: {name}. Did you mean test_echo?"


async def test_an_empty_array_is_an_empty_object_and_null_is_no_argument() -> None:
    """As languages with one kind of container, and forms with an empty field, write them."""
    wire = await open_fixture_wire("2025-11-25")
    assert await wire.result("tools/call", {"name": "test_simple_text", "arguments": []})
    for nothing in ([], {"left_out": None}):
        assert await wire.result("prompts/get", {"name": "test_simple_prompt", "arguments": nothing})


@pytest.mark.parametrize(
    ("params", "argument"),
    [({}, "name"), ({"name": 5}, "name"), ({"name": "test_echo", "arguments": [1]}, "arguments")],
)
async def test_wrong_parameters_are_named(params: dict[str, Any], argument: str) -> None:
    error = await (await open_fixture_wire("2025-11-25")).error("tools/call", params)
    assert error["code"] == -32602
    assert argument in error["message"]
    assert error["data"]["argument"] == argument


async def test_a_failed_tool_is_an_error_in_2024_11_05() -> None:
    """Seed 004, Response: Error."""
    error = await (await open_fixture_wire("2024-11-05")).error("tools/call", {"name": "test_error_handling"})
    assert error["code"] == -32000
    assert error["message"] == "This tool intentionally returns an error for testing"
    assert error["data"]["errorCode"] == "SERVER_ERROR"


@pytest.mark.parametrize("version", EVERY_VERSION[1:])
async def test_a_failed_tool_is_a_result_that_says_so_in_newer_versions(version: str) -> None:
    result = await (await open_fixture_wire(version)).result("tools/call", {"name": "test_error_handling"})
    assert result["isError"] is True
    assert result["content"][0]["text"] == "This tool intentionally returns an error for testing"
    facts = result["structuredContent"] if version >= "2025-06-18" else result["_meta"]["vaultbridge/error"]
    assert (facts["code"], facts["errorCode"]) == (-32000, "SERVER_ERROR")


async def test_a_failed_tool_with_an_output_schema_keeps_structured_content_free() -> None:
    """Clients hold it to the schema even when the tool failed."""
    result = await (await open_fixture_wire("2025-11-25")).result("tools/call", {"name": "test_structured"})
    assert result["isError"] is True
    assert "structuredContent" not in result
    facts = result["_meta"]["vaultbridge/error"]
    assert (facts["errorCode"], facts["hint"]) == ("SERVER_ERROR", "Give n.")


async def test_a_bad_argument_is_reported_as_the_version_demands() -> None:
    old = await (await open_fixture_wire("2024-11-05")).error("tools/call", {"name": "test_invalid_argument"})
    assert old["code"] == -32602
    assert "count" in old["message"]
    new = await (await open_fixture_wire("2025-11-25")).result(
        "tools/call", {"name": "test_invalid_argument"}
    )
    assert new["isError"] is True
    assert new["structuredContent"]["argument"] == "count"


@pytest.mark.parametrize(
    ("forced", "version", "member"),
    [("protocol", "2025-11-25", "error"), ("result", "2024-11-05", "result"), ("protocol", MODERN, "error")],
)
async def test_the_form_of_tool_errors_can_be_forced(forced: str, version: str, member: str) -> None:
    wire = make_wire(version, tool_errors=forced)
    if version != MODERN:
        await wire.initialize()
    assert member in await wire.ask("tools/call", {"name": "test_error_handling"})


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_a_crash_is_an_internal_error_that_leaks_nothing(
    version: str, caplog: pytest.LogCaptureFixture
) -> None:
    error = await (await open_fixture_wire(version)).error("tools/call", {"name": "test_crash"})
    assert (error["code"], error["message"]) == (-32603, "Internal error")
    assert "secret" not in str(error)
    assert "a secret detail" in caplog.text


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_a_call_beyond_its_time_limit_is_ended_and_reported(version: str) -> None:
    """Seed 004: -32006, "Operation exceeded 30s"; the bound is given here to be short."""
    wire = await open_fixture_wire(version, call_seconds=0.05)
    answer = await wire.ask("tools/call", {"name": "test_wait"})
    if version == "2024-11-05":
        assert answer["error"]["code"] == -32006
        assert answer["error"]["data"]["errorCode"] == "TIMEOUT"
    else:
        assert answer["result"]["isError"] is True
        assert "longer than 0.05 s" in answer["result"]["content"][0]["text"]


async def test_a_cancelled_call_is_stopped_and_never_answered() -> None:
    wire = await open_fixture_wire("2025-11-25")
    id_ = await wire.start("tools/call", {"name": "test_wait"})
    await wire.settle()
    await wire.notify("notifications/cancelled", requestId=id_)
    assert await wire.result("ping") == {}
    await wire.settle()
    assert wire.messages == []
    assert wire.connection.session.in_flight == 0


# Progress and logs.


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_progress_is_sent_to_clients_that_asked_for_it(version: str) -> None:
    wire = await open_fixture_wire(version)
    meta = make_meta(progressToken="t") if version == MODERN else {"progressToken": "t"}
    await wire.result("tools/call", {"name": "test_tool_with_progress", "_meta": meta})
    found = [
        message["params"] for message in wire.messages if message.get("method") == "notifications/progress"
    ]
    assert [(params["progressToken"], params["progress"]) for params in found] == [
        ("t", 0),
        ("t", 50),
        ("t", 100),
    ]
    assert ("message" in found[0]) == (version >= "2025-03-26")
    wire.messages.clear()
    await wire.result("tools/call", {"name": "test_tool_with_progress"})
    assert wire.messages == []


@pytest.mark.parametrize("version", HANDSHAKE)
async def test_logs_follow_the_level_that_was_set(version: str) -> None:
    wire = await open_fixture_wire(version)
    await wire.result("tools/call", {"name": "test_logging_tool"})
    assert len(wire.messages) == 3
    assert wire.messages[0]["params"] == {
        "level": "info",
        "data": "Tool execution started",
        "logger": "fixture",
    }
    wire.messages.clear()
    await wire.result("logging/setLevel", {"level": "warning"})
    await wire.result("tools/call", {"name": "test_logging_tool"})
    assert wire.messages == []
    error = await wire.error("logging/setLevel", {"level": "loud"})
    assert error["code"] == -32602
    assert "debug, info" in error["message"]


async def test_a_stateless_request_gets_logs_only_if_it_asks() -> None:
    """2026-07-28, Logging: "MUST NOT emit notifications/message for a request that does not include this
    field"."""
    wire = await open_fixture_wire(MODERN)
    await wire.result("tools/call", {"name": "test_logging_tool"})
    assert wire.messages == []
    await wire.result("tools/call", {"name": "test_logging_tool", "_meta": make_meta(logLevel="debug")})
    assert len(wire.messages) == 3
    wrong = await wire.error("tools/call", {"name": "test_logging_tool", "_meta": make_meta(logLevel="loud")})
    assert wrong["code"] == -32602


# Resources, prompts, completion.


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_resources_are_read_as_text_or_base64(version: str) -> None:
    wire = await open_fixture_wire(version)
    (text,) = (await wire.result("resources/read", {"uri": "test://static-text"}))["contents"]
    assert text["text"] == "This is the content of the static text resource."
    (blob,) = (await wire.result("resources/read", {"uri": "test://static-binary"}))["contents"]
    assert base64.b64decode(blob["blob"]).startswith(b"\x89PNG")
    (filled,) = (await wire.result("resources/read", {"uri": "test://template/7/data"}))["contents"]
    assert '"id":"7"' in filled["text"]


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_an_unknown_resource_has_the_code_of_its_version(version: str) -> None:
    error = await (await open_fixture_wire(version)).error("resources/read", {"uri": "test://none"})
    assert error["code"] == (-32602 if version == MODERN else -32002)
    assert error["data"]["errorCode"] == "FILE_NOT_FOUND"
    assert error["data"]["uri"] == "test://none"


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_prompts_are_filled_in(version: str) -> None:
    wire = await open_fixture_wire(version)
    params = {"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "b"}}
    (message,) = (await wire.result("prompts/get", params))["messages"]
    assert message["content"]["text"] == "Prompt with arguments: arg1='a', arg2='b'"
    for name in ("test_prompt_with_embedded_resource", "test_prompt_with_image"):
        assert await wire.result("prompts/get", {"name": name, "arguments": {"resourceUri": "test://x"}})


@pytest.mark.parametrize(
    "params",
    [
        {"name": "no_such"},
        {"name": "test_prompt_with_arguments", "arguments": {"arg1": "a"}},
        {"name": "test_prompt_with_arguments", "arguments": {"arg1": 1, "arg2": "b"}},
    ],
)
async def test_a_prompt_that_cannot_be_filled_is_invalid_params(params: dict[str, Any]) -> None:
    """Prompts, Error Handling."""
    assert (await (await open_fixture_wire("2025-11-25")).error("prompts/get", params))["code"] == -32602


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_completion_suggests(version: str) -> None:
    wire = await open_fixture_wire(version)
    ref = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    result = await wire.result(
        "completion/complete", {"ref": ref, "argument": {"name": "arg1", "value": "par"}}
    )
    assert result["completion"] == {"values": ["paris", "park", "party"], "hasMore": False}
    more = await wire.result(
        "completion/complete",
        {
            "ref": {"type": "ref/resource", "uri": "test://template/{id}/data"},
            "argument": {"name": "id", "value": "z"},
            "context": {"arguments": {"other": "zebra"}},
        },
    )
    assert more["completion"]["values"] == ["zebra"]


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({}, "ref"),
        ({"ref": {"type": "ref/other"}, "argument": {"name": "a", "value": ""}}, "ref.type"),
        ({"ref": {"type": "ref/prompt", "name": "p"}}, "argument"),
        ({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a"}}, "value"),
    ],
)
async def test_a_wrong_completion_request_is_named(params: dict[str, Any], named: str) -> None:
    error = await (await open_fixture_wire("2025-11-25")).error("completion/complete", params)
    assert error["code"] == -32602
    assert named in error["message"]


async def test_more_than_a_hundred_completions_are_cut_and_it_is_said() -> None:
    class Many(FixtureProvider):
        async def complete(self, *args: Any) -> Any:
            from vaultbridge.protocols.mcp.values import Completion

            return Completion(tuple(str(n) for n in range(150)), total=150)

    wire = make_wire("2025-11-25", provider=Many())
    await wire.initialize()
    params = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}}
    completion = (await wire.result("completion/complete", params))["completion"]
    assert (len(completion["values"]), completion["total"], completion["hasMore"]) == (100, 150, True)


# 2026-07-28.


async def test_discover_returns_versions_capabilities_and_identity() -> None:
    wire = make_wire(MODERN)
    result = await wire.result("server/discover")
    assert result["supportedVersions"] == [MODERN]
    assert result["capabilities"]["tools"] == {"listChanged": True}
    assert result["instructions"] == OFFER.instructions
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "fixture"
    assert result["ttlMs"] >= 0
    assert result["cacheScope"] == "private"


async def test_every_stateless_result_carries_its_type_and_the_server() -> None:
    wire = make_wire(MODERN)
    for method, params in (
        ("tools/list", {}),
        ("tools/call", {"name": "test_error_handling"}),
        ("resources/read", {"uri": "test://static-text"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}},
        ),
    ):
        result = await wire.result(method, params)
        assert result["resultType"] == "complete"
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["version"] == "1.0.0"
        assert ("ttlMs" in result) == (method in ("tools/list", "resources/read"))


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
)
async def test_what_2026_07_28_removed_is_not_found(method: str) -> None:
    assert (await make_wire(MODERN).error(method, {"uri": "test://x"}))["code"] == -32601


@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities"])
async def test_a_stateless_request_without_a_required_field_is_invalid_params(missing: str) -> None:
    meta = make_meta()
    del meta[f"io.modelcontextprotocol/{missing}"]
    error = await make_wire(MODERN).error("server/discover", {"_meta": meta})
    assert error["code"] == -32602
    assert missing in error["message"]


async def test_discover_without_meta_is_invalid_params() -> None:
    wire = make_wire("2025-11-25")
    assert (await wire.error("server/discover"))["code"] == -32602


async def test_the_client_need_not_say_its_name() -> None:
    meta = make_meta()
    del meta["io.modelcontextprotocol/clientInfo"]
    assert await make_wire(MODERN).result("tools/list", {"_meta": meta})


async def test_a_version_we_lack_is_refused_with_those_we_have() -> None:
    meta = make_meta() | {"io.modelcontextprotocol/protocolVersion": "2027-01-01"}
    error = await make_wire(MODERN).error("tools/list", {"_meta": meta})
    assert error["code"] == -32022
    assert error["data"] == {"supported": [MODERN], "requested": "2027-01-01"}


async def test_both_eras_are_served_on_one_connection() -> None:
    """Claude Code asks `server/discover` first; others go on with `initialize`."""
    wire = make_wire(MODERN)
    assert await wire.result("server/discover")
    wire.version = "2025-06-18"
    await wire.initialize()
    assert "resultType" not in await wire.result("tools/list")
    wire.version = MODERN
    assert (await wire.result("tools/list"))["resultType"] == "complete"


async def test_a_stateless_connection_refuses_the_handshake() -> None:
    server, _ = make_fixture_server()
    wire = Wire(mcp_dialect(server, stateless=True), version="2025-11-25")
    assert (await wire.error("initialize", {"protocolVersion": "2025-11-25"}))["code"] == -32602


async def test_errors_outside_tools_avoid_the_reserved_codes() -> None:
    class Broken(FixtureProvider):
        async def list_resources(self, cursor: str) -> Any:
            raise VaultNotFound("No vault.")

    wire = make_wire(MODERN, provider=Broken())
    error = await wire.error("resources/list")
    assert error["code"] == -32602
    assert error["data"]["errorCode"] == "VAULT_NOT_FOUND"
    old = make_wire("2025-11-25", provider=Broken())
    await old.initialize()
    assert (await old.error("resources/list"))["code"] == -32002


# The provider.


async def test_the_provider_is_made_after_the_first_answer_and_only_once() -> None:
    made = asyncio.Event()
    count = 0

    async def make() -> FixtureProvider:
        nonlocal count
        count += 1
        made.set()
        await asyncio.sleep(0)
        return FixtureProvider()

    server = McpServer(OFFER, make)
    wire = Wire(mcp_dialect(server), version="2025-11-25")
    await wire.result("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
    assert not made.is_set(), "initialize must not wait for it"
    ids = [await wire.start("tools/list") for _ in range(5)]
    for id_ in ids:
        await wire.until(lambda message, id_=id_: message["id"] == id_)
    assert count == 1


async def test_a_provider_that_cannot_be_created_is_reported_and_tried_again() -> None:
    tries = 0

    async def make() -> FixtureProvider:
        nonlocal tries
        tries += 1
        if tries <= 2:
            raise VaultNotFound("There is no vault there.")
        return FixtureProvider()

    server = McpServer(OFFER, make)
    wire = Wire(mcp_dialect(server), version="2024-11-05")
    await wire.initialize()
    error = await wire.error("tools/call", {"name": "test_simple_text"})
    assert (error["code"], error["data"]["errorCode"]) == (-32002, "VAULT_NOT_FOUND")
    assert await wire.result("tools/call", {"name": "test_simple_text"})


async def test_closing_the_server_closes_the_provider() -> None:
    server, fixture = make_fixture_server()
    await server.close()
    assert not fixture.closed, "it was never made"
    await server.provider()
    await server.close()
    assert fixture.closed
