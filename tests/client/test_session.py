"""Our own light session, over each transport and against both our core and the official server."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import pytest
from aiohttp import web

from client.http_fixture import serving
from client.servers import core_server, make_sdk_server, running, serve_sdk
from client.user import make_command
from support.waiting import until
from vaultbridge.client.errors import RpcError, TransportClosed
from vaultbridge.client.http.transport import StreamableHttpTransport
from vaultbridge.client.session import Session
from vaultbridge.client.stdio import StdioTransport
from vaultbridge.client.websocket.transport import WebSocketTransport
from vaultbridge.errors import InvalidArgument, TimedOut

FIXTURE = [sys.executable, "tests/conformance/fixture.py", "stdio"]
VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]


@pytest.mark.parametrize("version", [*VERSIONS, "auto"])
async def test_every_version_is_spoken_with_our_own_core(version: str) -> None:
    async with (
        core_server() as port,
        Session(WebSocketTransport(f"ws://127.0.0.1:{port}"), version=version) as session,
    ):
        assert session.protocol_version == (version if version != "auto" else "2026-07-28")
        assert session.server_info["name"] and session.server_capabilities
        assert (await session.call_tool("test_simple_text"))["content"][0]["text"]
        assert (await session.read_resource("test://static-text"))["contents"][0]["text"]
        assert (await session.get_prompt("test_simple_prompt"))["messages"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_version_is_spoken_with_the_official_server(version: str) -> None:
    async with (
        running(serve_sdk(make_sdk_server())) as server,
        Session(WebSocketTransport(server.url), version=version) as session,
    ):
        result = await session.call_tool("add", {"a": 1, "b": 2})
        assert result["content"][0]["text"] == "3"
        assert session.server_info["name"] == "reference"


async def test_over_stdio_the_newest_version_is_found_and_an_old_server_falls_back() -> None:
    async with Session(StdioTransport(FIXTURE)) as session:
        assert session.protocol_version == "2026-07-28"
    async with Session(StdioTransport(make_command("good"))) as session:
        assert session.protocol_version == "2025-11-25" and not session.is_modern
        assert session.server_info == {"name": "child", "version": "1"}


async def test_an_error_of_the_server_is_raised_with_its_code() -> None:
    async with core_server() as port, Session(WebSocketTransport(f"ws://127.0.0.1:{port}")) as session:
        with pytest.raises(RpcError) as raised:
            await session.request("no/such/method")
        assert raised.value.rpc_code == -32601


async def test_a_request_without_an_answer_times_out_and_is_cancelled() -> None:
    seen: list[dict[str, Any]] = []

    async def stay_mute(ws: Any, request: Any) -> None:
        async for frame in ws:
            message = frame.json()
            seen.append(message)
            if message.get("method") == "initialize":
                result = {"protocolVersion": "2025-11-25", "capabilities": {}}
                await ws.send_json({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async with (
        running(stay_mute) as server,
        Session(WebSocketTransport(server.url), version="2025-11-25") as session,
    ):
        with pytest.raises(TimedOut, match=r"No answer to 'slow' within 0.05 s"):
            await session.request("slow", timeout=0.05)
        await until(lambda: seen[-1]["method"] == "notifications/cancelled")
        assert seen[-1]["params"]["requestId"] == next(m for m in seen if m["method"] == "slow")["id"]


async def test_a_server_that_has_stopped_reading_cannot_hold_up_a_timeout() -> None:
    """The cancellation cannot be sent either, and is not waited for."""
    async with asyncio.timeout(60):
        async with Session(StdioTransport(make_command("deaf")), version="2025-11-25") as session:
            with pytest.raises(TimedOut, match=r"No answer to 'tools/call' within 0.2 s"):
                await session.request("tools/call", {"text": "x" * 2_000_000}, timeout=0.2)


async def test_a_refused_cancellation_does_not_hide_the_timeout() -> None:
    from aiohttp import web

    released = asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        message = await request.json()
        if message["method"] == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {}}
            return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result})
        if message["method"] == "slow":
            await released.wait()
        return web.Response(status=400 if message["method"] == "notifications/cancelled" else 202)

    async with serving(handle) as url:
        async with Session(StreamableHttpTransport(url), version="2025-11-25") as session:
            with pytest.raises(TimedOut):
                await session.request("slow", timeout=0.05)
        released.set()


@pytest.mark.parametrize(
    "discovered",
    [
        {"supportedVersions": None},
        {"supportedVersions": 7, "_meta": []},
        {"supportedVersions": ["2026-07-28"], "_meta": ["x"], "capabilities": [], "serverInfo": 3},
        "text",
    ],
)
async def test_a_discovery_of_another_shape_is_no_reason_to_fail(discovered: Any) -> None:
    async def answer_oddly(ws: Any, request: Any) -> None:
        async for frame in ws:
            message = frame.json()
            result = discovered
            if message.get("method") == "initialize":
                result = {"protocolVersion": "2025-11-25", "capabilities": None, "serverInfo": "x"}
            if "id" in message:
                await ws.send_json({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async with running(answer_oddly) as server, Session(WebSocketTransport(server.url)) as session:
        assert session.protocol_version in VERSIONS
        assert session.server_info == {} and session.server_capabilities == {}


async def test_a_servers_ping_is_answered_and_its_other_requests_are_refused() -> None:
    answers: list[dict[str, Any]] = []

    async def ask_back(ws: Any, request: Any) -> None:
        async for frame in ws:
            message = frame.json()
            if message.get("method") == "initialize":
                result = {"protocolVersion": "2025-11-25", "capabilities": {}}
                await ws.send_json({"jsonrpc": "2.0", "id": message["id"], "result": result})
                await ws.send_json({"jsonrpc": "2.0", "id": "p", "method": "ping"})
                await ws.send_json({"jsonrpc": "2.0", "id": "r", "method": "roots/list"})
            elif "method" not in message:
                answers.append(message)

    async with running(ask_back) as server, Session(WebSocketTransport(server.url), version="2025-11-25"):
        await until(lambda: len(answers) == 2)
    by_id = {answer["id"]: answer for answer in answers}
    assert by_id["p"]["result"] == {} and by_id["r"]["error"]["code"] == -32601


async def test_notifications_come_to_their_listener() -> None:
    seen: list[dict[str, Any]] = []
    async with Session(StdioTransport(make_command("good")), on_notification=seen.append) as session:
        await session.call_tool("echo", {"text": "x"})
        assert seen[0]["method"] == "notifications/message"


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_changes_are_listened_to_in_both_eras(version: str) -> None:
    seen: list[dict[str, Any]] = []
    async with core_server() as port:
        transport = WebSocketTransport(f"ws://127.0.0.1:{port}")
        async with Session(transport, version=version, on_notification=seen.append) as session:
            listening = asyncio.create_task(session.listen())
            if session.is_modern:
                await until(lambda: any("acknowledged" in m["method"] for m in seen))
            await session.call_tool("test_trigger_tool_change")
            await until(lambda: any(m["method"] == "notifications/tools/list_changed" for m in seen))
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


async def test_a_result_that_asks_for_input_is_refused_with_a_reason() -> None:
    async with (
        core_server() as port,
        Session(WebSocketTransport(f"ws://127.0.0.1:{port}"), version="2026-07-28") as session,
    ):
        with pytest.raises(RpcError):
            await session.call_tool("test_input_required_result_elicitation")


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_what_a_server_asks_a_person_is_answered_with_its_defaults(version: str) -> None:
    """Over the connection with a handshake, in another round of the request without one."""
    asked: list[dict[str, Any]] = []

    async def answer(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"action": "accept", "content": {"name": "Ada"}}

    async with (
        core_server() as port,
        Session(
            WebSocketTransport(f"ws://127.0.0.1:{port}"), version=version, on_elicitation=answer
        ) as session,
    ):
        text = json.dumps(await session.call_tool("test_elicitation_sep1034_defaults"))
        fields = asked[0]["requestedSchema"]["properties"]
        assert fields["name"]["default"] not in text
        assert all(str(field["default"]) in text for name, field in fields.items() if name != "name"), text
        assert "Ada" in text
        if version == "2026-07-28":
            result = await session.call_tool("test_input_required_result_elicitation")
            assert result["content"][0]["text"] == "Hello, Ada!"
            result = await session.call_tool("test_input_required_result_request_state")
            assert result["content"][0]["text"].startswith("state-ok")
            with pytest.raises(RpcError):  # A model's answer is not a person's.
                await session.call_tool("test_input_required_result_sampling")


async def test_a_refusal_and_a_failure_of_the_program_are_answered_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def refuse(params: dict[str, Any]) -> dict[str, Any]:
        if "fail" in params["message"]:
            raise ValueError("secret")
        return {"action": "decline"}

    async with (
        core_server() as port,
        Session(
            WebSocketTransport(f"ws://127.0.0.1:{port}"), version="2025-11-25", on_elicitation=refuse
        ) as session,
    ):
        result = await session.call_tool("test_elicitation", {"message": "Well?"})
        assert result["content"][0]["text"] == "User response: action=decline, content={}"
        with pytest.raises(RpcError, match="The person could not be asked") as failed:
            await session.call_tool("test_elicitation", {"message": "fail"})
        assert "secret" not in str((failed.value, failed.value.data))
    assert "on_elicitation raised" in caplog.text


async def test_a_person_may_take_longer_than_the_time_limit() -> None:
    waiting, decided = asyncio.Event(), asyncio.Event()

    async def answer(params: dict[str, Any]) -> dict[str, Any]:
        waiting.set()
        await decided.wait()
        return {"action": "accept", "content": {"response": "at last"}}

    async with (
        core_server() as port,
        Session(
            WebSocketTransport(f"ws://127.0.0.1:{port}"),
            version="2025-11-25",
            timeout=0.2,
            on_elicitation=answer,
        ) as session,
    ):
        call = asyncio.create_task(session.call_tool("test_elicitation", {"message": "?"}))
        await waiting.wait()
        async with (
            running(open_and_say_no_more) as mute,
            Session(WebSocketTransport(mute.url), version="2025-11-25", timeout=0.5) as other,
        ):
            with pytest.raises(TimedOut):  # More than the time limit of the first has passed.
                await other.request("tools/list")
        decided.set()
        assert "at last" in (await call)["content"][0]["text"]


async def test_a_server_that_asks_without_end_is_given_up() -> None:
    async def ask_for_ever(ws: web.WebSocketResponse, request: web.Request) -> None:
        async for frame in ws:
            message = json.loads(frame.data)
            result: dict[str, Any] = {"resultType": "input_required", "inputRequests": {}}
            if message["method"] == "server/discover":
                result = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}}
            await ws.send_str(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))

    async with running(ask_for_ever) as server, Session(WebSocketTransport(server.url)) as session:
        with pytest.raises(RpcError, match="asked for input 16 times"):
            await session.call_tool("any")


async def open_and_say_no_more(ws: web.WebSocketResponse, request: web.Request) -> None:
    async for frame in ws:
        message = json.loads(frame.data)
        if message["method"] == "initialize":
            info = {"name": "silent", "version": "1"}
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {}, "serverInfo": info}
            await ws.send_str(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))


async def test_the_end_of_the_transport_ends_what_waits() -> None:
    async with running(open_and_say_no_more) as server:
        transport = WebSocketTransport(server.url, reconnect_attempts=0)
        async with Session(transport, version="2025-11-25") as session:
            waiting = asyncio.create_task(session.request("x"))
            await until(lambda: transport.metrics().in_flight == 1)
        with pytest.raises(RpcError, match="closed"):
            await waiting
        with pytest.raises(TransportClosed):
            await session.request("x")


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="not a version of MCP"):
        Session(StdioTransport(["x"]), version="2099-01-01")
