"""Streamable HTTP, against our own core, the official server, and servers that misbehave."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from mcp.client import Client

from client.http_fixture import fixture_over_http, make_session_server, sdk_over_http, serving
from client.servers import make_sdk_server
from client.user import TransportUser
from support.waiting import until
from vaultbridge.client.errors import ConnectFailed, ConnectionLost, QueueFull, RpcError, TransportClosed
from vaultbridge.client.http import transport as http
from vaultbridge.client.http.transport import StreamableHttpTransport
from vaultbridge.client.session import Session
from vaultbridge.errors import InvalidArgument, TimedOut


class User(TransportUser[StreamableHttpTransport]):
    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(StreamableHttpTransport(url, **options))

    async def ask(self, request_id: int, method: str = "m") -> dict[str, Any]:
        await self.transport.send({"jsonrpc": "2.0", "id": request_id, "method": method})
        await until(lambda: any(m.get("id") == request_id for m in self.messages))
        (found,) = [m for m in self.messages if m.get("id") == request_id]
        return found


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "auto"])
async def test_every_version_works_against_our_own_core(version: str) -> None:
    async with (
        fixture_over_http() as url,
        Session(StreamableHttpTransport(url), version=version) as session,
    ):
        assert (await session.call_tool("test_simple_text"))["content"][0]["text"]
        assert (await session.read_resource("test://static-text"))["contents"]
        assert len((await session.list_tools())["tools"]) > 10
        progress = await session.call_tool("test_tool_with_progress")
        assert not progress.get("isError")


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_both_eras_work_against_the_official_server(version: str) -> None:
    async with sdk_over_http(make_sdk_server()) as url:
        transport = StreamableHttpTransport(url)
        async with Session(transport, version=version) as session:
            assert (await session.call_tool("add", {"a": 1, "b": 2}))["content"][0]["text"] == "3"
            assert (await session.read_resource("test://note"))["contents"][0]["text"] == "# A note\n"
            assert (transport.session_id is None) is session.is_modern


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_works_over_it(mode: str) -> None:
    async with fixture_over_http() as url, Client(StreamableHttpTransport(url), mode=mode) as client:
        assert (await client.call_tool("test_simple_text")).content


async def test_marked_arguments_are_repeated_in_headers_once_the_tools_were_listed() -> None:
    seen: list[dict[str, str]] = []
    schema = {"type": "object", "properties": {"where": {"type": "string", "x-mcp-header": "Region"}}}

    async def handle(request: web.Request) -> web.StreamResponse:
        message = await request.json()
        seen.append(dict(request.headers))
        results: dict[str, Any] = {
            "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
            "tools/list": {"tools": [{"name": "t", "inputSchema": schema}]},
            "tools/call": {"content": []},
        }
        return web.json_response(
            {"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}
        )

    async with serving(handle) as url, Session(StreamableHttpTransport(url)) as session:
        await session.list_tools()
        await session.call_tool("t", {"where": "eu"})
    assert seen[-1]["Mcp-Param-Region"] == "eu" and seen[-1]["Mcp-Name"] == "t"
    assert seen[-1]["Mcp-Method"] == "tools/call" and seen[-1]["MCP-Protocol-Version"] == "2026-07-28"


async def test_own_headers_are_sent_and_the_session_is_deleted_at_the_end() -> None:
    methods: list[tuple[str, str | None, str | None]] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        methods.append((request.method, request.headers.get("Mcp-Session-Id"), request.headers.get("X-Own")))
        if request.method != "POST":
            return web.Response(status=405)
        message = await request.json()
        if "id" not in message:
            return web.Response(status=202)
        result = {"protocolVersion": "2025-11-25", "capabilities": {}}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return web.json_response(answer, headers={"Mcp-Session-Id": "s1"})

    async with serving(handle) as url:
        transport = StreamableHttpTransport(url, headers={"X-Own": "yes"})
        async with Session(transport, version="2025-11-25"):
            await until(lambda: ("GET", "s1", "yes") in methods)
    assert methods[0] == ("POST", None, "yes") and methods[-1] == ("DELETE", "s1", "yes")


async def test_a_stream_that_ends_early_is_resumed_where_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """2025-11-25: a server may close after a priming event and answer on a later GET."""
    asked: list[str | None] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        if request.method == "POST":
            await request.json()
            await response.prepare(request)
            await response.write(b"id: 7\nretry: 1\ndata:\n\n")
            return response
        asked.append(request.headers.get("Last-Event-ID"))
        await response.prepare(request)
        if len(asked) > 1:
            await response.write(b'id: 8\ndata: {"jsonrpc":"2.0","id":1,"result":{"late":true}}\n\n')
        return response

    async with serving(handle) as url, User(url) as user:
        assert (await user.ask(1))["result"] == {"late": True}
    assert asked == ["7", "7"]


async def test_a_stream_that_ends_without_an_answer_fails_its_request() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'data: {"jsonrpc":"2.0","method":"progress"}\n\n')
        return response

    async with serving(handle) as url, User(url) as user:
        assert "stream ended before the answer came" in (await user.ask(1))["error"]["message"]
        assert user.messages[0]["method"] == "progress"


@pytest.mark.parametrize(
    ("respond", "expected"),
    [
        (lambda m: web.Response(status=500, reason="Oops"), "HTTP 500 Oops"),
        (lambda m: web.Response(text="<html>", content_type="text/html"), "'text/html' instead of JSON"),
        (lambda m: web.Response(status=202), "instead of JSON"),
        (lambda m: web.Response(text="{", content_type="application/json"), "Invalid JSON"),
        (
            lambda m: web.json_response({"jsonrpc": "2.0", "id": 99, "result": {}}),
            "belongs to another request",
        ),
    ],
)
async def test_an_unusable_answer_fails_its_request_with_the_reason(respond: Any, expected: str) -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        response: web.Response = respond(await request.json())
        return response

    async with serving(handle) as url, User(url) as user:
        assert expected in (await user.ask(1))["error"]["message"]
        assert user.transport.is_connected


async def test_a_refusal_with_a_json_rpc_error_is_passed_on_even_without_an_id() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        error = {"code": -32601, "message": "Method not found"}
        return web.json_response({"jsonrpc": "2.0", "id": None, "error": error}, status=404)

    async with serving(handle) as url, User(url) as user:
        assert (await user.ask(1))["error"]["code"] == -32601


async def test_a_notification_that_is_refused_raises() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.Response(status=400)

    async with serving(handle) as url, User(url) as user:
        with pytest.raises(ConnectionLost, match="refused 'note': HTTP 400"):
            await user.transport.send({"jsonrpc": "2.0", "method": "note"})
        assert len(user.errors) == 1


async def test_an_answer_above_the_limit_fails_its_request() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        return web.json_response({"jsonrpc": "2.0", "id": 1, "result": "x" * 5000})

    async with serving(handle) as url, User(url, max_message_bytes=1000) as user:
        assert "limit of 1000" in (await user.ask(1))["error"]["message"]


async def test_a_server_that_is_not_there_fails_the_request_and_is_not_alive(closed_port: int) -> None:
    url = f"http://127.0.0.1:{closed_port}/mcp"
    async with User(url) as user:
        answer = await user.ask(1)
        assert f"127.0.0.1:{closed_port}: connection refused" in answer["error"]["message"]
        assert isinstance(user.errors[0], ConnectFailed) and not await user.transport.is_alive(1)
    with pytest.raises(RpcError, match="connection refused"):
        async with Session(StreamableHttpTransport(url)):
            pass


async def test_cancelling_a_modern_request_ends_its_post_and_sends_nothing() -> None:
    started, ended, posts = asyncio.Event(), asyncio.Event(), []

    async def handle(request: web.Request) -> web.StreamResponse:
        posts.append(await request.json())
        started.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()
        return web.Response()

    async with serving(handle) as url, User(url) as user:
        meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
        await user.transport.send({"jsonrpc": "2.0", "id": 1, "method": "slow", "params": meta})
        async with asyncio.timeout(60):
            await started.wait()
            cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
            await user.transport.send(cancel)
            await until(lambda: bool(user.messages))
        assert "cancelled" in user.messages[0]["error"]["message"] and len(posts) == 1


async def test_closing_fails_open_requests_and_calls_on_close_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "POSTS", 2)

    async def handle(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(30)
        return web.Response()

    async with serving(handle) as url:
        user = User(url)
        with pytest.raises(TransportClosed):
            await user.transport.send({"jsonrpc": "2.0", "method": "m"})
        await user.transport.start()
        for n in range(2):
            await user.transport.send({"jsonrpc": "2.0", "id": n, "method": "m"})
        with pytest.raises(QueueFull, match="2 requests have no answer yet"):
            await user.transport.send({"jsonrpc": "2.0", "id": 9, "method": "m"})
        await asyncio.gather(user.transport.close(), user.transport.close())
        assert sorted(m["id"] for m in user.messages) == [0, 1] and user.closed == 1
        assert json.dumps(user.messages)


def test_a_url_of_another_kind_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="must start with http"):
        StreamableHttpTransport("ws://x")


async def test_a_stream_that_breaks_off_is_resumed_too() -> None:
    asked: list[str | None] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await request.read()
        await response.prepare(request)
        if request.method == "POST":
            await response.write(b'id: 7\nretry: 1\ndata: {"jsonrpc":"2.0","method":"n"}\n\n')
            assert request.transport is not None
            request.transport.abort()
            return response
        asked.append(request.headers.get("Last-Event-ID"))
        await response.write(b'id: 8\ndata: {"jsonrpc":"2.0","id":1,"result":{"late":true}}\n\n')
        return response

    async with serving(handle) as url, User(url) as user:
        assert (await user.ask(1))["result"] == {"late": True}
    assert asked == ["7"]


async def test_a_stream_may_end_more_often_than_attempts_are_made_while_the_server_is_there() -> None:
    ends = 0

    async def handle(request: web.Request) -> web.StreamResponse:
        nonlocal ends
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await request.read()
        await response.prepare(request)
        ends += 1
        await response.write(b"id: 7\nretry: 1\ndata:\n\n")
        if ends > 3 * http.RESUMES:
            await response.write(b'data: {"jsonrpc":"2.0","id":1,"result":{"late":true}}\n\n')
        return response

    async with serving(handle) as url, User(url) as user:
        assert (await user.ask(1))["result"] == {"late": True}


async def test_a_message_that_is_refused_ends_no_stream() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await request.read()
        await response.prepare(request)
        await response.write(b'data: {"jsonrpc":\n\ndata: [1]\n\n')
        await response.write(b'data: {"jsonrpc":"2.0","id":1,"result":{"good":true}}\n\n')
        return response

    async with serving(handle) as url, User(url) as user:
        assert (await user.ask(1))["result"] == {"good": True}
        assert [type(error).__name__ for error in user.errors] == ["InvalidMessage", "InvalidMessage"]


async def test_an_answer_that_is_refused_fails_its_request_in_a_stream_too() -> None:
    async def handle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await request.read()
        await response.prepare(request)
        await response.write(b'data: {"jsonrpc":"2.0","id":1,"result":{},"error":{}}\n\n')
        await asyncio.Event().wait()
        return response

    async with serving(handle) as url, User(url) as user:
        error = (await user.ask(1))["error"]
        assert "refused" in error["message"] and error["data"]["reason"] == "invalid-message"


async def test_the_server_s_own_stream_is_taken_up_again_as_often_as_it_ends() -> None:
    """Its events need no ids; a gateway that ends quiet streams must not end the notifications."""

    async def stream(request: web.Request, number: int) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'retry: 1\ndata: {"jsonrpc":"2.0","method":"n%d"}\n\n' % number)
        return response

    heard: list[str] = []
    async with serving(make_session_server(stream)) as url:
        session = Session(StreamableHttpTransport(url), version="2025-11-25")
        session.on_notification = lambda message: heard.append(message["method"])
        async with session:
            await until(lambda: f"n{3 * http.RESUMES}" in heard)


@pytest.mark.parametrize("ending", ["refused", "gone"])
async def test_the_loss_of_the_server_s_own_stream_is_reported(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "RESUME_DELAY", 0.001)

    async def stream(request: web.Request, number: int) -> web.StreamResponse:
        if number > 1:
            if ending == "refused":
                return web.Response(status=404)
            assert request.transport is not None
            request.transport.abort()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        return response

    async with serving(make_session_server(stream)) as url:
        user = User(url)
        async with Session(user.transport, version="2025-11-25"):
            await until(lambda: any(isinstance(error, ConnectionLost) for error in user.errors))


async def test_a_server_without_a_stream_of_its_own_is_no_error() -> None:
    asked = asyncio.Event()

    async def stream(request: web.Request, number: int) -> web.StreamResponse:
        asked.set()
        return web.Response(status=405)

    async with serving(make_session_server(stream)) as url:
        user = User(url)
        async with Session(user.transport, version="2025-11-25") as session:
            await asked.wait()
            await session.request("ping")
            assert user.errors == []
            assert not user.transport.listening.is_set()


async def test_a_program_can_wait_until_notifications_arrive() -> None:
    opened = asyncio.Event()

    async def stream(request: web.Request, number: int) -> web.StreamResponse:
        await opened.wait()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await asyncio.Event().wait()
        return response

    async with serving(make_session_server(stream)) as url:
        user = User(url)
        async with Session(user.transport, version="2025-11-25") as session:
            await session.request("ping")
            assert not user.transport.listening.is_set()
            opened.set()
            await user.transport.listening.wait()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"url": "http://[::1/mcp"}, "Invalid HTTP URL"),
        ({"url": "http://localhost:99999/mcp"}, "Invalid HTTP URL"),
        ({"url": "http:///mcp"}, "names no host"),
        ({"url": "http://localhost", "headers": {"A B": "x"}}, "cannot name a header"),
        ({"url": "http://localhost", "headers": {"A": "x\r\nB: y"}}, "line break"),
    ],
)
def test_a_url_or_a_header_that_cannot_be_one_is_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidArgument, match=reason):
        StreamableHttpTransport(**options)


async def test_a_new_session_begins_without_the_id_of_a_lost_one() -> None:
    """2025-11-25, Session Management: after 404 the client starts anew, without a session id."""
    ids: list[str | None] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method != "POST":
            return web.Response(status=405)
        given = request.headers.get("Mcp-Session-Id")
        ids.append(given)
        message = await request.json()
        if given is not None:
            return web.Response(status=404)
        result = {"protocolVersion": "2025-11-25", "capabilities": {}}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return web.json_response(answer, headers={"Mcp-Session-Id": f"s{len(ids)}"})

    async with serving(handle) as url, User(url) as user:
        assert "result" in await user.ask(1, "initialize")
        assert "404" in (await user.ask(2))["error"]["message"]
        assert "result" in await user.ask(3, "initialize")
    assert ids == [None, "s1", None]


async def test_a_cancellation_gets_through_when_all_places_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "POSTS", 1)
    arrived: list[str] = []
    released = asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        message = await request.json()
        arrived.append(message["method"])
        if "id" in message:
            await released.wait()
        return web.Response(status=202)

    async with serving(handle) as url, User(url) as user:
        await user.transport.send({"jsonrpc": "2.0", "id": 1, "method": "slow"})
        with pytest.raises(QueueFull):
            await user.transport.send({"jsonrpc": "2.0", "id": 2, "method": "slow"})
        await user.transport.send({"jsonrpc": "2.0", "method": "notifications/progress"})
        assert "notifications/progress" in arrived
        released.set()
        await until(lambda: bool(user.messages))
        await user.transport.send({"jsonrpc": "2.0", "id": 2, "method": "slow"})  # the id was not used up


async def test_a_cancelled_request_gives_its_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer comes to what was cancelled; the places would be used up one by one."""
    monkeypatch.setattr(http, "POSTS", 1)
    heard: list[str] = []

    async def stream(request: web.Request, number: int) -> web.StreamResponse:
        return web.Response(status=405)

    answer = make_session_server(stream)

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            heard.append((await request.json())["method"])
            if heard[-1] == "slow":
                await asyncio.Event().wait()
        return await answer(request)

    async with (
        serving(handle) as url,
        Session(StreamableHttpTransport(url), version="2025-11-25") as session,
    ):
        for _ in range(3):
            with pytest.raises(TimedOut):
                await session.request("slow", timeout=0.05)
        await until(lambda: heard.count("notifications/cancelled") == 3)
        assert await session.request("ping") is not None


async def test_the_first_call_waits_for_the_stream_that_its_answer_may_need() -> None:
    """A server may answer over the stream of its own, which the client opens after the handshake."""
    streams: list[web.StreamResponse] = []
    ended = asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            for _ in range(500):  # The call would arrive meanwhile.
                await asyncio.sleep(0)
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            streams.append(response)
            await ended.wait()
            return response
        asked = await request.json() if request.method == "POST" else {}
        if asked.get("method") == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {}}
            answer = {"jsonrpc": "2.0", "id": asked["id"], "result": result}
            return web.json_response(answer, headers={"Mcp-Session-Id": "s"})
        if "id" not in asked:
            return web.Response(status=202)
        if not streams:
            return web.Response(status=500)
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"over": "the stream"}}
        await streams[-1].write(f"data: {json.dumps(answer)}\n\n".encode())
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await ended.wait()
        return response

    async with serving(handle) as url:
        async with Session(StreamableHttpTransport(url), version="2025-11-25") as session:
            assert await session.request("tools/list") == {"over": "the stream"}
        ended.set()


async def test_a_server_whose_stream_says_nothing_does_not_hold_the_first_call_up_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "STREAM_SECONDS", 0.05)
    ended = asyncio.Event()

    async def handle(request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            await ended.wait()
            return web.Response(status=405)
        asked = await request.json() if request.method == "POST" else {}
        if "id" not in asked:
            return web.Response(status=202)
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {"protocolVersion": "2025-11-25"}}
        return web.json_response(answer, headers={"Mcp-Session-Id": "s"})

    async with serving(handle) as url:
        async with Session(StreamableHttpTransport(url), version="2025-11-25") as session:
            assert await session.request("tools/list")
        ended.set()
