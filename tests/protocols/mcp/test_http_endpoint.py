"""MCP over HTTP with a real server: which way a request goes, sessions and their streams, stateless, the
old SSE."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from aiohttp import web

from conformance.fixture import make_text
from support.http import HttpClient, http_server, read_events
from support.waiting import BOUND
from support.wire import MODERN, make_meta
from vaultbridge.protocols.mcp.http import reply as mcp_http_reply
from vaultbridge.protocols.mcp.http import sessions as mcp_http_sessions
from vaultbridge.protocols.mcp.http import stateless as mcp_http_stateless
from vaultbridge.protocols.mcp.http.endpoint import Grant

SESSIONS = ["2025-03-26", "2025-06-18", "2025-11-25"]
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


async def read_body(response: Any) -> Any:
    return msgspec.json.decode(await response.read())


# Who may connect.


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:5173"}, 200),
        ({"Origin": "app://obsidian.md"}, 200),
        ({"Content_Type": "text/plain"}, 415),
        ({"Accept": "text/html"}, 406),
        ({"Accept": "application/json"}, 406),
        ({"Accept": "*/*"}, 200),
        ({"Accept": None}, 200),
        ({"Content_Type": "application/json; charset=utf-8"}, 200),
    ],
)
async def test_the_host_and_origin_headers_decide_who_may_connect(
    headers: dict[str, str | None], status: int
) -> None:
    async with (
        http_server() as client,
        client.start("initialize", {"protocolVersion": "2025-11-25"}, **headers) as response,
    ):
        assert response.status == status
        if status != 200:
            answer = await read_body(response)
            assert answer["id"] is None
            assert answer["error"]["code"] == -32600


async def test_an_allowed_page_may_read_answers_and_gets_its_preflight() -> None:
    async with http_server() as client:
        origin = "http://localhost:5173"
        for path in ("/mcp", "/mcp/", "/sse", "/messages"):
            async with client.http.options(client.url + path, headers={"Origin": origin}) as response:
                assert response.status == 204
                assert "Mcp-Method" in response.headers["Access-Control-Allow-Headers"]
                assert response.headers["Access-Control-Allow-Origin"] == origin
        async with client.start("initialize", {"protocolVersion": "2025-11-25"}, Origin=origin) as response:
            assert response.headers["Access-Control-Allow-Origin"] == origin
        async with client.http.options(
            f"{client.url}/mcp", headers={"Origin": "http://evil.example"}
        ) as response:
            assert response.status == 403
            assert "Access-Control-Allow-Origin" not in response.headers


@pytest.mark.parametrize(
    ("data", "code"), [(b"{", -32700), (b"[]", -32600), (b"5", -32600), (b'{"jsonrpc":"2.0"}', -32600)]
)
async def test_a_body_that_is_no_message_is_400_with_its_error(data: bytes, code: int) -> None:
    async with http_server() as client, client.post(data) as response:
        assert response.status == 400
        assert (await read_body(response))["error"]["code"] == code


@pytest.mark.parametrize("data", [b'{"jsonrpc":"2.0","id":1,"error":5}', b'{"id":1,"result":{}}'])
async def test_the_error_about_an_unreadable_answer_has_no_id(data: bytes) -> None:
    """Its id belongs to a request of the server, not to one of the client."""
    async with http_server() as client, client.post(data) as response:
        assert response.status == 400
        assert (await read_body(response))["id"] is None


async def test_a_body_beyond_the_bound_is_413_also_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http_reply, "BODY_BYTES", 1000)
    async with http_server() as client:
        async with client.post(b"x" * 1001) as response:
            assert response.status == 413
            assert (await read_body(response))["id"] is None

        async def send_chunks() -> Any:
            for _ in range(11):
                yield b"x" * 100

        url = f"{client.url}/mcp"
        async with client.http.post(url, data=send_chunks(), headers=client.headers()) as response:
            assert response.status == 413


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_other_methods_are_405_with_allow(method: str) -> None:
    async with http_server() as client, client.http.request(method, f"{client.url}/mcp") as response:
        assert response.status == 405
        assert "POST" in response.headers["Allow"]


async def test_a_slash_behind_the_address_changes_nothing() -> None:
    """Other servers have one there, and people copy addresses."""
    client_info = {"name": "t", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client_info}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    async with http_server() as client:
        for slash in ("", "/"):
            async with client.http.post(
                f"{client.url}/mcp{slash}", json=hello, headers=client.headers()
            ) as response:
                assert response.status == 200
                assert "result" in await response.json()
        foreign = client.headers(Origin="http://evil.example")
        async with client.http.post(f"{client.url}/mcp/", json=hello, headers=foreign) as response:
            assert response.status == 403
        page = {"Origin": "http://localhost:1", "Access-Control-Request-Method": "POST"}
        async with client.http.options(f"{client.url}/mcp/", headers=page) as response:
            assert response.status == 204
            assert response.headers["Access-Control-Allow-Origin"] == "http://localhost:1"


async def test_authorize_decides_after_the_door_and_its_principal_owns_the_session() -> None:
    def make_rule(server: Any) -> Any:
        async def authorize(request: web.Request) -> Grant:
            token = request.headers.get("Authorization", "")
            if not token:
                raise web.HTTPUnauthorized(headers={"WWW-Authenticate": "Bearer"})
            return Grant(server, token)

        return authorize

    async with http_server(authorize=make_rule) as client:
        async with client.start("initialize", {"protocolVersion": "2025-11-25"}) as response:
            assert response.status == 401
            assert response.headers["WWW-Authenticate"] == "Bearer"
            assert (await read_body(response))["error"]["code"] == -32600
        async with client.start(
            "initialize", {"protocolVersion": "2025-11-25"}, Authorization="a"
        ) as response:
            client.session_id = response.headers["Mcp-Session-Id"]
        async with client.post(PING, Authorization="a") as response:
            assert response.status == 200
        async with client.post(PING, Authorization="b") as response:
            assert response.status == 404


# Sessions.


@pytest.mark.parametrize("version", SESSIONS)
async def test_a_session_from_initialize_to_delete(version: str) -> None:
    async with http_server() as client:
        answer = await client.initialize(version)
        assert answer["result"]["protocolVersion"] == version
        assert len(client.session_id) >= 32
        assert (await client.ask("tools/call", {"name": "test_simple_text"}))["result"]["content"]
        async with client.http.delete(f"{client.url}/mcp", headers=client.headers()) as response:
            assert response.status == 200
        async with client.post(PING) as response:
            assert response.status == 404


async def test_a_request_without_a_session_is_400_and_of_an_unknown_one_404() -> None:
    async with http_server() as client:
        async with client.post(PING) as response:
            assert response.status == 400
            assert "Mcp-Session-Id" in (await read_body(response))["error"]["message"]
        async with client.post(PING, Mcp_Session_Id="made-up") as response:
            assert response.status == 404
        async with client.http.get(f"{client.url}/mcp", headers=client.headers()) as response:
            assert response.status == 405
        async with client.http.delete(f"{client.url}/mcp", headers=client.headers()) as response:
            assert response.status == 400


async def test_an_unknown_version_header_is_400() -> None:
    async with http_server() as client:
        await client.initialize("2025-11-25")
        async with client.post(PING, MCP_Protocol_Version="1999-01-01") as response:
            assert response.status == 400
            assert (await read_body(response))["error"]["data"]["requested"] == "1999-01-01"


async def test_a_lone_answer_is_json_and_an_answer_with_notifications_is_a_stream() -> None:
    async with http_server() as client:
        await client.initialize("2025-11-25")
        async with client.start("tools/list") as response:
            assert response.content_type == "application/json"
        params = {"name": "test_tool_with_progress", "_meta": {"progressToken": 1}}
        async with client.start("tools/call", params) as response:
            assert response.content_type == "text/event-stream"
            assert response.headers["X-Accel-Buffering"] == "no"
            found = [event async for event in read_events(response)]
        assert found[0].data == "", "the first event only brings an id to come back with"
        assert found[0].retry
        assert [event.message.get("method", "answer") for event in found[1:]] == [
            "notifications/progress"
        ] * 3 + ["answer"]
        assert len({event.id for event in found}) == len(found)


async def test_older_clients_get_no_event_without_data() -> None:
    async with http_server() as client:
        await client.initialize("2025-03-26")
        params = {"name": "test_tool_with_progress", "_meta": {"progressToken": 1}}
        async with client.start("tools/call", params) as response:
            assert all([event.data async for event in read_events(response)])


async def test_batches_are_answered_together_in_2025_03_26_and_refused_later() -> None:
    batch = [PING, {"jsonrpc": "2.0", "method": "n"}, {"jsonrpc": "2.0", "id": "two", "method": "tools/list"}]
    async with http_server() as client:
        await client.initialize("2025-03-26")
        async with client.post(batch) as response:
            assert {answer["id"] for answer in await read_body(response)} == {1, "two"}
        async with client.post([{"jsonrpc": "2.0", "method": "n"}]) as response:
            assert response.status == 202
        async with client.post([1, 2]) as response:
            assert response.status == 400
    async with http_server() as client:
        await client.initialize("2025-11-25")
        async with client.post(batch) as response:
            assert response.status == 400
            assert (await read_body(response))["error"]["code"] == -32600


async def test_a_batch_is_answered_although_its_first_member_was_done_before_the_others() -> None:
    async with http_server() as client:
        await client.initialize("2025-03-26", {"sampling": {}})
        again = {"jsonrpc": "2.0", "id": "again", "method": "initialize", "params": {}}
        async with client.post([again, PING]) as response:
            assert {answer["id"] for answer in await read_body(response)} == {"again", 1}
        ask = {"name": "test_sampling", "arguments": {"prompt": "?"}}
        asking = {"jsonrpc": "2.0", "id": "ask", "method": "tools/call", "params": ask}
        async with client.post([PING, asking]) as response:
            stream = read_events(response)
            question = (await anext(stream)).message
            assert question["method"] == "sampling/createMessage"
            # Another message in between, while the ping of the batch is done and the call is not.
            async with client.post({**PING, "id": "between"}) as other:
                assert (await read_body(other))["id"] == "between"
            sampled = {"role": "assistant", "content": {"type": "text", "text": "yes"}, "model": "m"}
            async with client.post({"jsonrpc": "2.0", "id": question["id"], "result": sampled}) as accepted:
                assert accepted.status == 202
            assert {answer["id"] for answer in (await anext(stream)).message} == {1, "ask"}


async def test_the_stream_of_a_batch_ends_when_all_its_requests_are_cancelled() -> None:
    async with http_server() as client:
        await client.initialize("2025-03-26", {"sampling": {}})
        ask = {"name": "test_sampling", "arguments": {"prompt": "?"}}
        calls = [{"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": ask} for id_ in "ab"]
        async with client.post(calls) as response:
            stream = read_events(response)
            assert [(await anext(stream)).message["method"] for _ in calls] == 2 * ["sampling/createMessage"]
            for id_ in "ab":
                cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}
                async with client.post(cancel) as accepted:
                    assert accepted.status == 202
            # What follows are only our own withdrawals.
            assert all(["method" in event.message async for event in stream])


async def test_questions_come_on_the_stream_of_their_call_and_answers_by_post() -> None:
    async with http_server() as client:
        await client.initialize("2025-11-25", {"elicitation": {}})
        async with client.start(
            "tools/call", {"name": "test_elicitation", "arguments": {"message": "?"}}
        ) as response:
            stream = read_events(response)
            await anext(stream)
            question = (await anext(stream)).message
            assert question["method"] == "elicitation/create"
            answer = {"action": "accept", "content": {"response": "yes"}}
            async with client.post({"jsonrpc": "2.0", "id": question["id"], "result": answer}) as accepted:
                assert accepted.status == 202
            result = (await anext(stream)).message["result"]
            assert "yes" in result["content"][0]["text"]


async def test_messages_that_answer_no_request_come_on_the_get_stream_only() -> None:
    async with http_server() as client:
        await client.initialize("2025-11-25")
        async with client.start("tools/call", {"name": "test_trigger_tool_change"}) as response:
            assert response.content_type == "application/json"
        # The message waited for the stream to be opened.
        async with client.http.get(f"{client.url}/mcp", headers=client.headers()) as response:
            assert response.content_type == "text/event-stream"
            stream = read_events(response)
            assert (await anext(stream)).message["method"] == "notifications/tools/list_changed"
            await client.ask("resources/subscribe", {"uri": "test://watched-resource"})
            await client.ask("tools/call", {"name": "test_trigger_resource_update"})
            updated = (await anext(stream)).message
            assert updated["params"] == {"uri": "test://watched-resource"}


async def test_a_second_get_takes_the_place_of_the_first() -> None:
    async with http_server() as client:
        await client.initialize("2025-11-25")
        url, headers = f"{client.url}/mcp", client.headers()
        async with (
            client.http.get(url, headers=headers) as first,
            client.http.get(url, headers=headers) as second,
        ):
            assert [event async for event in read_events(first)] == []
            await client.ask("tools/call", {"name": "test_trigger_tool_change"})
            assert (await anext(read_events(second))).message["method"] == "notifications/tools/list_changed"


async def test_a_lost_stream_is_read_on_from_the_last_event() -> None:
    async with http_server() as client:
        await client.initialize("2025-11-25", {"elicitation": {}})
        async with client.start(
            "tools/call", {"name": "test_elicitation", "arguments": {"message": "?"}}
        ) as response:
            stream = read_events(response)
            last = (await anext(stream)).id
            question = (await anext(stream)).message
        # The connection is lost; the call goes on.
        async with client.post(
            {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}}
        ) as response:
            assert response.status == 202
        headers = client.headers(Last_Event_ID=last)
        async with client.http.get(f"{client.url}/mcp", headers=headers) as response:
            found = [event.message async for event in read_events(response)]
        assert found[0]["method"] == "elicitation/create"
        assert "action=cancel" in found[1]["result"]["content"][0]["text"]


@pytest.mark.parametrize("last", ["9-1", "nonsense", "0-x", "-", "0-²", "0-1", "0-" + "9" * 5000])
async def test_an_event_that_has_expired_or_never_existed_is_404(last: str) -> None:
    async with http_server() as client:
        await client.initialize("2025-11-25")
        headers = client.headers()
        headers["Last-Event-ID"] = last
        async with client.http.get(f"{client.url}/mcp", headers=headers) as response:
            assert response.status == 404


async def test_an_event_from_nowhere_does_not_silence_the_stream() -> None:
    async with http_server() as client:
        await client.initialize("2025-11-25")
        url = f"{client.url}/mcp"
        async with client.http.get(url, headers=client.headers(Last_Event_ID="0-7")) as response:
            assert response.status == 404
        async with asyncio.timeout(BOUND), client.http.get(url, headers=client.headers()) as response:
            await client.ask("tools/call", {"name": "test_trigger_tool_change"})
            assert (await anext(read_events(response))).message[
                "method"
            ] == "notifications/tools/list_changed"


async def test_long_work_can_release_its_connection() -> None:
    let_go = asyncio.Event()

    async def work_long(arguments: Any, context: Any) -> Any:
        context.release_stream()
        await let_go.wait()
        return make_text("completed")

    async with http_server() as client:
        await client.initialize("2025-11-25")
        info, _ = client.fixture.tools["test_reconnection"]
        client.fixture.tools["test_reconnection"] = (info, work_long)
        async with client.start("tools/call", {"name": "test_reconnection"}) as response:
            (primed,) = [event async for event in read_events(response)]
        let_go.set()
        headers = client.headers(Last_Event_ID=primed.id)
        async with client.http.get(f"{client.url}/mcp", headers=headers) as response:
            (answer,) = [event.message async for event in read_events(response)]
        assert "completed" in answer["result"]["content"][0]["text"]


async def test_a_cancelled_request_ends_its_stream_without_an_answer() -> None:
    async with http_server() as client:
        await client.initialize("2025-11-25")

        async def call() -> list[Any]:
            async with client.start("tools/call", {"name": "test_wait"}) as response:
                return [event.data async for event in read_events(response) if event.data]

        waiting = asyncio.ensure_future(call())
        cancel = {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": client.last_id + 1},
        }
        await asyncio.sleep(0)
        async with asyncio.timeout(BOUND):
            while not waiting.done():
                async with client.post(cancel) as response:
                    assert response.status == 202
        assert await waiting == []


async def test_an_id_in_flight_is_refused_and_the_first_keeps_its_answer() -> None:
    async with http_server() as client:
        await client.initialize("2025-11-25", {"elicitation": {}})
        params = {"name": "test_elicitation", "arguments": {"message": "?"}}
        async with client.start("tools/call", params) as response:
            stream = read_events(response)
            await anext(stream)
            question = (await anext(stream)).message
            async with client.post({**PING, "id": client.last_id}) as second:
                assert second.status == 400
            async with client.post(
                {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "cancel"}}
            ) as done:
                assert done.status == 202
            assert "result" in (await anext(stream)).message


async def test_sessions_are_bounded_and_the_longest_idle_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http_sessions, "MAX_SESSIONS", 2)
    now = 0.0
    async with http_server(clock=lambda: now) as client:
        ids = []
        for _ in range(3):
            now += 1
            client.session_id = client.version = ""
            await client.initialize("2025-11-25")
            ids.append(client.session_id)
        for id_, status in zip(ids, (404, 200, 200), strict=True):
            async with client.post(PING, Mcp_Session_Id=id_) as response:
                assert response.status == status


async def test_sessions_left_behind_make_room_before_one_that_has_begun_to_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Most clients disappear without a DELETE, after many calls."""
    monkeypatch.setattr(mcp_http_sessions, "PRINCIPAL_SESSIONS", 3)
    now = 0.0
    async with http_server(clock=lambda: now) as client:
        for _ in range(3):
            client.session_id = client.version = ""
            await client.initialize("2025-11-25")
            for _ in range(mcp_http_sessions.USES_COUNTED):
                await client.ask("ping")
        now += 60
        at_work = [HttpClient(client.url, client.http, client.fixture) for _ in range(3)]
        for worker in at_work:
            now += 1
            await worker.initialize("2025-11-25")
            await worker.ask("ping")
        for worker in at_work:
            assert "result" in await worker.ask("ping")


async def test_a_session_in_use_is_never_thrown_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http_sessions, "MAX_SESSIONS", 1)
    async with http_server() as client:
        await client.initialize("2025-11-25")
        async with client.http.get(f"{client.url}/mcp", headers=client.headers()):
            other = HttpClient(client.url, client.http, client.fixture)
            async with other.start("initialize", {"protocolVersion": "2025-11-25"}) as response:
                assert response.status == 503


async def test_an_initialize_that_fails_opens_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http_sessions, "MAX_SESSIONS", 1)
    async with http_server() as client:
        await client.initialize("2025-11-25")
        async with client.http.get(f"{client.url}/mcp", headers=client.headers()):
            other = HttpClient(client.url, client.http, client.fixture)
            async with client.http.delete(f"{client.url}/mcp", headers=client.headers()) as response:
                assert response.status == 200
        for _ in range(2):
            async with other.start("initialize", {"protocolVersion": 5}) as response:
                assert (await read_body(response))["error"]["code"] == -32602
                assert "Mcp-Session-Id" not in response.headers
        await other.initialize("2025-11-25")


async def test_a_forgotten_session_ends() -> None:
    now = 0.0
    async with http_server(clock=lambda: now) as client:
        await client.initialize("2025-11-25")
        await client.ask("resources/subscribe", {"uri": "test://watched-resource"})
        assert client.fixture.watched
        now += mcp_http_sessions.IDLE_SECONDS + 1
        other = HttpClient(client.url, client.http, client.fixture)
        await other.initialize("2025-11-25")
        assert client.fixture.watched == set()


# 2026-07-28.


async def make_stateless(client: HttpClient) -> HttpClient:
    client.version = MODERN
    return client


async def test_a_stateless_request_needs_no_session_and_gets_none() -> None:
    async with http_server() as client:
        await make_stateless(client)
        async with client.start("tools/call", {"name": "test_simple_text"}) as response:
            assert response.status == 200
            assert "Mcp-Session-Id" not in response.headers
            assert (await read_body(response))["result"]["resultType"] == "complete"
        assert (await client.ask("server/discover"))["result"]["supportedVersions"] == [MODERN]


async def test_the_status_of_an_error_is_that_of_its_code() -> None:
    async with http_server() as client:
        await make_stateless(client)
        for method, params, status, code in (
            ("no/such", {}, 404, -32601),
            ("initialize", {}, 404, -32601),
            ("tools/call", {"name": "no_such"}, 400, -32602),
            ("tools/call", {"name": "test_missing_capability"}, 400, -32021),
            ("tools/call", {"name": "test_crash"}, 200, -32603),
            ("resources/read", {"uri": "test://none"}, 400, -32602),
        ):
            async with client.start(method, params) as response:
                assert (response.status, (await read_body(response))["error"]["code"]) == (status, code), (
                    method
                )


async def test_the_envelope_is_checked_before_anything_runs() -> None:
    async with http_server() as client:
        await make_stateless(client)
        wrong = make_meta() | {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        for params, headers, code in (
            ({"_meta": {}}, {}, -32602),
            ({"_meta": 5}, {}, -32602),
            ({}, {"MCP_Protocol_Version": None}, -32020),
            ({}, {"MCP_Protocol_Version": "2025-11-25"}, -32020),
            ({"_meta": wrong}, {"MCP_Protocol_Version": "2099-01-01"}, -32022),
            ({}, {"Mcp_Method": None}, -32020),
            ({}, {"Mcp_Method": "tools/list"}, -32020),
        ):
            async with client.start("server/discover", params, **headers) as response:
                answer = await read_body(response)
                assert (response.status, answer["error"]["code"]) == (400, code), (params, headers)
                assert answer["id"] == client.last_id


async def test_marked_arguments_are_checked_against_their_headers() -> None:
    async with http_server() as client:
        await make_stateless(client)
        params = {"name": "test_x_mcp_header", "arguments": {"region": "eu"}}
        async with client.start("tools/call", params, Mcp_Param_Region="eu") as response:
            assert response.status == 200
        async with client.start("tools/call", params) as response:
            assert (response.status, (await read_body(response))["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_a_stateless_client_may_only_post(method: str) -> None:
    async with http_server() as client:
        for session in (None, "some"):
            headers = client.headers(MCP_Protocol_Version=MODERN, Mcp_Session_Id=session)
            async with client.http.request(method, f"{client.url}/mcp", headers=headers) as response:
                assert (response.status, response.headers["Allow"]) == (405, "POST")


async def test_stateless_notifications_are_accepted_and_answers_and_batches_refused() -> None:
    async with http_server() as client:
        await make_stateless(client)
        for message, status in (
            ({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}, 202),
            ({"jsonrpc": "2.0", "id": 1, "result": {}}, 400),
            ([PING], 400),
        ):
            async with client.post(message) as response:
                assert response.status == status


async def test_a_listening_stream_acknowledges_notifies_and_ends_with_the_server() -> None:
    async with http_server() as client:
        await make_stateless(client)
        filters = {"notifications": {"toolsListChanged": True}}
        async with client.start("subscriptions/listen", filters) as response:
            assert response.content_type == "text/event-stream"
            id_ = client.last_id
            stream = read_events(response)
            first = await anext(stream)
            assert first.message["method"] == "notifications/subscriptions/acknowledged"
            assert first.id == "", "nothing can be resumed"
            await client.ask("tools/call", {"name": "test_trigger_prompt_change"})
            await client.ask("tools/call", {"name": "test_trigger_tool_change"})
            seen = (await anext(stream)).message
            assert seen["method"] == "notifications/tools/list_changed"
            assert seen["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == id_
            stopping = asyncio.ensure_future(client.stop())
            (last,) = [event.message async for event in stream]
            assert last["id"] == id_
            assert last["result"]["resultType"] == "complete"
            await asyncio.wait_for(stopping, BOUND)


async def test_exchanges_at_once_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http_stateless, "MAX_OPEN", 1)
    async with http_server() as client:
        await make_stateless(client)
        async with client.start("subscriptions/listen", {"notifications": {}}) as response:
            await anext(read_events(response))
            async with client.start("tools/list") as refused:
                assert refused.status == 503
                assert (await read_body(refused))["error"]["code"] == -32600
            monkeypatch.setattr(mcp_http_stateless, "MAX_OPEN", 2)
            assert "result" in await client.ask("tools/list")


async def test_a_client_that_hangs_up_has_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http_reply, "DISCONNECT_CHECK_SECONDS", 0.01)
    async with http_server() as client:
        await make_stateless(client)
        stopped = asyncio.Event()

        async def wait(arguments: Any, context: Any) -> Any:
            context.log("info", "begun")
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

        info, _ = client.fixture.tools["test_wait"]
        client.fixture.tools["test_wait"] = (info, wait)
        params = {"name": "test_wait", "_meta": make_meta(logLevel="debug")}
        async with client.start("tools/call", params) as response:
            assert (await anext(read_events(response))).message["method"] == "notifications/message"
        await asyncio.wait_for(stopped.wait(), BOUND)


async def test_silence_is_filled_with_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http_reply, "DISCONNECT_CHECK_SECONDS", 0.01)
    monkeypatch.setattr(mcp_http_reply, "KEEPALIVE_SECONDS", 0.02)
    async with http_server() as client:
        await make_stateless(client)
        async with (
            asyncio.timeout(BOUND),
            client.start("subscriptions/listen", {"notifications": {}}) as response,
        ):
            while not (await response.content.readline()).startswith(b":"):
                assert not response.content.at_eof()


async def test_both_eras_share_one_endpoint() -> None:
    async with http_server() as client:
        await client.initialize("2025-11-25")
        modern = await make_stateless(HttpClient(client.url, client.http, client.fixture))
        assert (await modern.ask("tools/list"))["result"]["resultType"] == "complete"
        assert "resultType" not in (await client.ask("tools/list"))["result"]


async def test_two_hundred_callers_at_once_all_get_their_answer() -> None:
    async with http_server() as client:
        await client.initialize("2025-11-25")

        async def call(n: int) -> bool:
            message = {
                "jsonrpc": "2.0",
                "id": f"c{n}",
                "method": "tools/call",
                "params": {"name": "test_echo", "arguments": {"n": n}},
            }
            async with client.post(message) as response:
                answer = await read_body(response)
            return bool(answer["id"] == f"c{n}" and str(n) in answer["result"]["content"][0]["text"])

        assert all(await asyncio.gather(*(call(n) for n in range(200))))


# 2024-11-05.


async def test_the_old_transport_from_endpoint_to_answer() -> None:
    async with http_server() as client:
        url = f"{client.url}/sse"
        async with client.http.get(url, headers={"Accept": "text/event-stream"}) as response:
            stream = read_events(response)
            endpoint = await anext(stream)
            assert endpoint.name == "endpoint"
            assert endpoint.data.startswith("/messages?session_id=")
            url = client.url + endpoint.data
            params = {
                "protocolVersion": "2024-11-05",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            }
            message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
            async with client.http.post(url, json=message) as posted:
                assert posted.status == 202
            answer = await anext(stream)
            assert answer.name == "message"
            assert answer.message["result"]["protocolVersion"] == "2024-11-05"
            async with client.http.post(url, data=b"{") as posted:
                assert posted.status == 202
            assert (await anext(stream)).message["error"]["code"] == -32700


@pytest.mark.parametrize(
    ("prefix", "seen"),
    [
        ("/notes", "/notes/messages?"),
        ("/a/b-c/", "/a/b-c/messages?"),
        ("//evil.example", "/messages?"),
        ("https://evil.example", "/messages?"),
        ('/a"b', "/messages?"),
        ("", "/messages?"),
    ],
)
async def test_behind_a_proxy_that_takes_a_path_away_the_old_transport_names_it(
    prefix: str, seen: str
) -> None:
    async with http_server() as client:
        headers = {"Accept": "text/event-stream", "X-Forwarded-Prefix": prefix}
        async with client.http.get(f"{client.url}/sse", headers=headers) as response:
            assert (await anext(read_events(response))).data.startswith(seen)


async def test_the_old_transport_refuses_unknown_sessions_and_foreign_pages() -> None:
    async with http_server() as client:
        async with client.http.post(f"{client.url}/messages?session_id=x", json=PING) as response:
            assert response.status == 404
        async with client.http.get(
            f"{client.url}/sse", headers={"Origin": "http://evil.example"}
        ) as response:
            assert response.status == 403


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/sse", "GET, OPTIONS"),
        ("DELETE", "/sse", "GET, OPTIONS"),
        ("GET", "/messages", "POST, OPTIONS"),
        ("PUT", "/messages", "POST, OPTIONS"),
    ],
)
async def test_the_old_transport_names_its_methods_in_the_usual_form_of_refusals(
    method: str, path: str, allow: str
) -> None:
    async with http_server() as client:
        async with client.http.request(method, client.url + path) as response:
            assert response.status == 405
            assert response.headers["Allow"] == allow
            assert "Method not allowed" in (await response.json())["error"]["message"]
        foreign = {"Origin": "http://evil.example"}
        async with client.http.request(method, client.url + path, headers=foreign) as response:
            assert response.status == 403


async def test_a_body_that_never_ends_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_http_reply, "BODY_SECONDS", 0.05)
    async with http_server() as client:
        port = int(client.url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        lines = (
            "POST /mcp HTTP/1.1",
            "Host: localhost",
            "Content-Type: application/json",
            "Content-Length: 100",
        )
        head = "\r\n".join((*lines, "", "{"))
        writer.write(head.encode())
        status = await asyncio.wait_for(reader.readline(), BOUND)
        assert b" 408 " in status
        writer.close()
