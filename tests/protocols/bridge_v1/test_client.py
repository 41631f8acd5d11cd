"""The client side of Bridge v1 against our own server and against others that keep to less of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from support.bridge import running
from support.web_app import serve_app
from vaultbridge.errors import (
    EngineFailure,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    TimedOut,
    VaultbridgeError,
)
from vaultbridge.protocols.bridge_v1.client import BridgeClient


@asynccontextmanager
async def other_server(handle: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """A server that is not ours."""
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", handle)
    async with serve_app(app) as url:
        yield url


def answer(status: int, body: Any) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        if isinstance(body, str):
            return web.Response(status=status, text=body, headers={"Location": "http://127.0.0.1:1/"})
        return web.json_response(body, status=status)

    return handle


async def test_tools_are_the_same_object_until_they_change() -> None:
    async with running() as bridge:
        client = BridgeClient(bridge.url)
        first = await client.fetch_tools()
        assert first.tools[0].name == "read_note"
        assert await client.fetch_tools() is first
        bridge.provider.tools.pop()
        bridge.provider.announce()
        second = await client.fetch_tools()
        assert second.hash != first.hash


async def test_a_call_passes_content_through() -> None:
    async with running() as bridge:
        client = BridgeClient(bridge.url)
        result = await client.call("read_note", {"path": "a.md"})
        assert result.content == ({"type": "text", "text": "# a.md"},)
        assert not result.is_error
        failed = await client.call("read_note", {"path": "Notes/Missing.md"})
        assert failed.is_error
        assert (await client.call("odd name/é", {})).content[0]["text"] == "odd name/é"


async def test_an_unknown_tool_is_distinguished_from_other_failures() -> None:
    async with running() as bridge:
        with pytest.raises(NotFound):
            await BridgeClient(bridge.url).call("nothing", {})


async def test_arguments_beyond_the_servers_limit_get_a_clear_error() -> None:
    async with running() as bridge:
        with pytest.raises(EngineFailure, match="answered 413: Request body too large"):
            await BridgeClient(bridge.url).call("read_note", {"path": "x" * 1_100_000})


async def test_a_server_without_etag_and_hash_is_compared_by_its_list() -> None:
    listed = {"tools": [{"name": "a"}, {"name": "b", "description": 3, "inputSchema": []}]}
    async with other_server(answer(200, listed)) as url:
        client = BridgeClient(url)
        first = await client.fetch_tools()
        assert [(tool.name, tool.description, tool.input_schema) for tool in first.tools] == [
            ("a", "", {"type": "object"}),
            ("b", "", {"type": "object"}),
        ]
        assert await client.fetch_tools() is first
        listed["tools"].append({"name": "c"})
        assert len((await client.fetch_tools()).tools) == 3


@pytest.mark.parametrize(
    ("status", "body", "kind", "says"),
    [
        (200, "<html>", EngineFailure, "does not speak Bridge v1"),
        (200, [], EngineFailure, "does not speak Bridge v1"),
        (200, {}, EngineFailure, "does not speak Bridge v1"),
        (200, {"tools": [3], "success": 1}, EngineFailure, "does not speak Bridge v1"),
        (200, {"tools": [{"name": ""}], "success": True, "content": [{}]}, EngineFailure, "does not speak"),
        (304, "", EngineFailure, "304"),
        (302, "", EngineFailure, "Redirects are not followed"),
        (401, {"error": "Unauthorized", "message": "no"}, PermissionDenied, "401: Unauthorized. no.*API_KEY"),
        (403, "", PermissionDenied, "403"),
        (404, "", EngineFailure, "404"),
        (500, {"error": "Internal server error", "message": "x", "details": "y"}, EngineFailure, "x. y"),
        (503, "busy", EngineFailure, "503"),
    ],
)
async def test_every_failure_is_a_clear_error(
    status: int, body: Any, kind: type[VaultbridgeError], says: str
) -> None:
    async with other_server(answer(status, body)) as url:
        client = BridgeClient(url)
        with pytest.raises(kind, match=says):
            await client.fetch_tools()
        with pytest.raises(kind, match=says):
            await client.call("x", {})


@pytest.mark.parametrize(
    ("status", "hint"),
    [(404, "another program"), (413, "less"), (500, "its own log"), (204, "its own log")],
)
async def test_a_server_that_answers_is_not_reported_as_away(status: int, hint: str) -> None:
    async with other_server(answer(status, "")) as url:
        with pytest.raises(EngineFailure) as caught:
            await BridgeClient(url).call("x", {})
        assert hint in caught.value.hint


async def test_half_a_surrogate_pair_in_an_answer_does_not_lose_the_rest() -> None:
    """JavaScript cuts strings between the halves of an emoji, and `JSON.stringify` then writes one half."""

    async def handle(request: web.Request) -> web.StreamResponse:
        body = (
            rb'{"success":true,"content":[{"type":"text","text":"a \\ud83d \ud83d b \ud83d\ude00 \udc00"}]}'
        )
        return web.Response(body=body, content_type="application/json")

    async with other_server(handle) as url:
        result = await BridgeClient(url).call("x", {})
        assert result.content[0]["text"] == "a \\ud83d \ufffd b 😀 \ufffd"


async def test_a_schema_without_a_type_is_taken_for_an_object() -> None:
    """MCP clients throw the whole list away over one tool whose schema is of no object."""
    schemas: list[Any] = [{}, {"properties": {"a": {}}}, {"type": ["object", "null"]}, {"type": "object"}]
    listed = {"tools": [{"name": f"t{at}", "inputSchema": schema} for at, schema in enumerate(schemas)]}
    async with other_server(answer(200, listed)) as url:
        found = await BridgeClient(url).fetch_tools()
        assert [tool.input_schema for tool in found.tools] == [
            {"type": "object"},
            {"type": "object", "properties": {"a": {}}},
            {"type": "object"},
            {"type": "object"},
        ]


async def test_the_specifications_base_url_works_like_the_servers_address() -> None:
    async with running() as bridge:
        for url in (bridge.url, f"{bridge.url}/", f"{bridge.url}/bridge/v1", f"{bridge.url}/bridge/v1/"):
            client = BridgeClient(url)
            assert (await client.fetch_tools()).tools
            assert str(client.address) == bridge.url


async def test_a_server_may_be_below_a_path() -> None:
    seen: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append(request.path)
        return web.json_response({"tools": []})

    async with other_server(handle) as url:
        await BridgeClient(f"{url}/vaults/one/").fetch_tools()
        await BridgeClient(f"{url}/vaults/two/bridge/v1").fetch_tools()
    assert seen == ["/vaults/one/bridge/v1/tools", "/vaults/two/bridge/v1/tools"]


async def test_an_uncompressed_answer_is_requested() -> None:
    """Without the header a server might compress what we could not read."""
    seen: list[str] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers["Accept-Encoding"])
        return web.json_response({"tools": []})

    async with other_server(handle) as url:
        await BridgeClient(url).fetch_tools()
    assert seen == ["identity"]


async def test_a_call_that_takes_too_long_times_out() -> None:
    async with running() as bridge:
        with pytest.raises(TimedOut):
            await BridgeClient(bridge.url, call_seconds=0.05).call("stuck", {})


async def test_the_key_goes_with_every_request_and_is_never_left_out() -> None:
    seen: list[str | None] = []

    async def refuse(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.get("Authorization"))
        raise web.HTTPUnauthorized

    async with other_server(refuse) as url:
        client = BridgeClient(url, key="k-1")
        for _ in range(2):
            with pytest.raises(PermissionDenied, match="rejects the API key"):
                await client.fetch_tools()
        with pytest.raises(PermissionDenied):
            await client.call("x", {})
        assert seen == ["Bearer k-1"] * 3


async def test_a_redirect_gets_no_key() -> None:
    caught: list[str] = []

    async def answer_elsewhere(request: web.Request) -> web.StreamResponse:
        caught.append(request.headers.get("Authorization", ""))
        return web.json_response({"tools": []})

    async with other_server(answer_elsewhere) as target:

        async def redirect(request: web.Request) -> web.StreamResponse:
            raise web.HTTPTemporaryRedirect(target)

        async with other_server(redirect) as url:
            with pytest.raises(EngineFailure, match="not followed"):
                await BridgeClient(url, key="k").fetch_tools()
    assert caught == []


def test_a_key_is_not_sent_unencrypted_to_another_machine() -> None:
    with pytest.raises(InvalidArgument, match="unencrypted"):
        BridgeClient("http://10.0.0.1:3000", key="k")
    BridgeClient("http://10.0.0.1:3000", key="k", plain_http=True)
    BridgeClient("https://10.0.0.1:3000", key="k")
    BridgeClient("http://127.0.0.1:3000", key="k")


@pytest.mark.parametrize("key", ["a b", "a\r\nX: 1", "é", "\x00"])
def test_a_key_that_could_break_a_header_is_refused(key: str) -> None:
    with pytest.raises(InvalidArgument):
        BridgeClient("http://127.0.0.1:3000", key=key)
