"""How a session agrees on a version with servers of every era and habit, over a real socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from client.http_fixture import serving
from client.servers import running
from vaultbridge.client.errors import RpcError
from vaultbridge.client.http.transport import StreamableHttpTransport
from vaultbridge.client.session import (
    Session,
    find_newest_common,
    make_no_common_version,
    read_supported_versions,
    read_versions,
)
from vaultbridge.client.websocket.transport import WebSocketTransport
from vaultbridge.protocols.mcp.versions import HANDSHAKE_VERSIONS, VERSIONS

Answer = dict[str, Any]
HANDSHAKE: Answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {}}}
MODERN: Answer = {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {}}}


def make_refusal(code: int, *supported: object) -> Answer:
    data = {"supported": list(supported), "requested": "x"} if supported else None
    return {"error": {"code": code, "message": "no", **({"data": data} if data else {})}}


async def open_session(
    answer: Callable[[str, str, int], Answer], version: str = "auto"
) -> tuple[Session | RpcError, list[str]]:
    """A session with a server that answers the n-th message so, and what it was asked: method and version."""
    asked: list[str] = []

    async def serve(ws: Any, request: Any) -> None:
        async for frame in ws:
            message = frame.json()
            if "id" not in message:
                continue
            params = message.get("params") or {}
            meta = params.get("_meta") or {}
            version = meta.get("io.modelcontextprotocol/protocolVersion") or params.get("protocolVersion", "")
            asked.append(f"{message['method']} {version}")
            body = answer(message["method"], version, len(asked))
            await ws.send_json({"jsonrpc": "2.0", "id": message["id"], **body})

    async with running(serve) as server:
        session = Session(WebSocketTransport(server.url, reconnect_attempts=0), version=version)
        try:
            async with session:
                return session, asked
        except RpcError as error:
            return error, asked


def answer_by_method(discover: Answer, initialize: Answer = HANDSHAKE) -> Callable[[str, str, int], Answer]:
    return lambda method, _version, _n: discover if method == "server/discover" else initialize


async def test_a_modern_server_that_refused_once_is_asked_again_at_the_version_it_names() -> None:
    session, asked = await open_session(
        lambda m, v, n: make_refusal(-32022, "2026-07-28") if n == 1 else MODERN
    )
    assert isinstance(session, Session) and session.protocol_version == "2026-07-28"
    assert asked == ["server/discover 2026-07-28"] * 2


async def test_a_server_that_refuses_the_version_it_names_is_not_asked_forever() -> None:
    error, asked = await open_session(answer_by_method(make_refusal(-32022, "2026-07-28")))
    assert isinstance(error, RpcError) and "2026-07-28" in error.message and len(asked) == 2


@pytest.mark.parametrize("named", [make_refusal(-32022, "2025-06-18", "2024-11-05"), MODERN])
async def test_a_server_that_names_versions_with_a_handshake_gets_the_newest_of_them(named: Answer) -> None:
    if named is MODERN:
        named = {"result": {"supportedVersions": ["2024-11-05", "2025-06-18"]}}
    initialize = {"result": {"protocolVersion": "2025-06-18", "capabilities": {}}}
    session, asked = await open_session(answer_by_method(named, initialize))
    assert isinstance(session, Session) and session.protocol_version == "2025-06-18"
    assert asked == ["server/discover 2026-07-28", "initialize 2025-06-18"]


@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32000, 0, -32022])
async def test_any_other_refusal_is_that_of_a_server_with_a_handshake(code: int) -> None:
    """-32022 without a list is no answer of the specification's: the server may be anything."""
    session, asked = await open_session(answer_by_method(make_refusal(code)))
    if code == -32022:
        assert isinstance(session, RpcError) and session.rpc_code == code
        return
    assert isinstance(session, Session) and session.protocol_version == "2025-11-25"
    assert asked[-1] == "initialize 2025-11-25"


@pytest.mark.parametrize(
    "discover", [make_refusal(-32022, "2099-01-01"), {"result": {"supportedVersions": ["2099-01-01"]}}]
)
async def test_no_common_version_is_an_error_that_names_both_sides(discover: Answer) -> None:
    error, asked = await open_session(answer_by_method(discover))
    assert isinstance(error, RpcError) and error.rpc_code == -32022 and len(asked) == 1
    assert "The server speaks MCP 2099-01-01" in error.message
    assert all(version in error.message for version in VERSIONS)


@pytest.mark.parametrize(
    ("answered", "message"),
    [
        ({}, "named no version"),
        ({"protocolVersion": ""}, "named no version"),
        ({"protocolVersion": None}, "named no version"),
        ({"protocolVersion": ["2025-11-25"]}, "named no version"),
        ({"protocolVersion": "2019-01-01"}, "speaks MCP 2019-01-01"),
        ({"protocolVersion": "2026-07-28"}, "speaks MCP 2026-07-28"),
    ],
)
async def test_a_handshake_with_an_unknown_version_names_the_known_ones(
    answered: Answer, message: str
) -> None:
    error, _ = await open_session(answer_by_method(make_refusal(-32601), {"result": answered}))
    assert isinstance(error, RpcError) and message in error.message
    assert all(version in error.message for version in HANDSHAKE_VERSIONS)
    assert "''" not in error.message


async def test_a_refused_handshake_is_repeated_at_a_version_that_the_server_names() -> None:
    def answer(method: str, version: str, _n: int) -> Answer:
        if method == "initialize" and version == "2024-11-05":
            return {"result": {"protocolVersion": version, "capabilities": {}}}
        return make_refusal(-32602, "2024-11-05")

    session, asked = await open_session(answer)
    assert isinstance(session, Session) and session.protocol_version == "2024-11-05"
    assert asked[1:] == ["initialize 2025-11-25", "initialize 2024-11-05"]
    error, asked = await open_session(answer, version="2025-06-18")
    assert isinstance(error, RpcError) and "2024-11-05" in error.message and "2025-06-18" in error.message
    assert asked == ["initialize 2025-06-18"]


@pytest.mark.parametrize(
    "discover", [make_refusal(-32022, "2025-11-25"), make_refusal(-32601), {"result": {}}]
)
async def test_a_caller_who_wants_one_version_gets_no_other(discover: Answer) -> None:
    error, asked = await open_session(answer_by_method(discover), version="2026-07-28")
    assert isinstance(error, RpcError) and asked == ["server/discover 2026-07-28"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(list(VERSIONS)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_any_list_of_versions_from_a_server_is_read(value: Any) -> None:
    offered = read_supported_versions(RpcError(-32022, "no", {"supported": value}))
    assert (
        offered == read_versions(value) and read_supported_versions(RpcError(-32022, "no", value)) is not None
    )
    common = find_newest_common(offered, tuple(VERSIONS))
    assert common is None or common in offered
    text = make_no_common_version(offered, HANDSHAKE_VERSIONS).message
    assert len(text) < 1000 and "\n" not in text


async def test_a_tool_that_wants_headers_is_called_again_once_the_tools_were_listed() -> None:
    """2026-07-28, Client Behavior: refused for its headers, the call is repeated with those of the list."""
    asked: list[str] = []
    schema = {"type": "object", "properties": {"where": {"type": "string", "x-mcp-header": "Region"}}}

    async def handle(request: web.Request) -> web.StreamResponse:
        message = await request.json()
        asked.append(message["method"])
        results: dict[str, Any] = {
            "server/discover": MODERN["result"],
            "tools/list": {
                "tools": [
                    {"name": "t", "inputSchema": schema},
                    {"name": "bad", "inputSchema": {"properties": {"a": {"x-mcp-header": ""}}}},
                ]
            },
            "tools/call": {"content": [{"type": "text", "text": "done"}]},
        }
        answer: Answer = {"result": results[message["method"]]}
        if message["method"] == "tools/call" and request.headers.get("Mcp-Param-Region") != "eu":
            answer = make_refusal(-32020)
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], **answer})

    errors: list[Exception] = []
    async with serving(handle) as url:
        transport = StreamableHttpTransport(url)
        async with Session(transport) as session:
            transport.on_error = errors.append
            assert (await session.call_tool("t", {"where": "eu"}))["content"][0]["text"] == "done"
            assert asked[1:] == ["tools/call", "tools/list", "tools/call"]
            assert [tool["name"] for tool in (await session.list_tools())["tools"]] == ["t"]
            assert "The tool 'bad' was left out" in str(errors[-1])
            with pytest.raises(RpcError, match="-32020"):
                await session.call_tool("t", {"where": "us"})
