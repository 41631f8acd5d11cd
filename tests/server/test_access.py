"""Who may use a real server, and for how long: what was opened with a token ends with it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from server.callers import MCP, ask_mcp, make_bearer, open_session
from server.conftest import Served, Serving, build_index, make_vault
from support.http import read_events
from support.waiting import BOUND
from support.wire import MODERN, make_meta
from vaultbridge.tokens import FILE_NAME, AccessToken

HELLO = "obsidian://vault/Notes/Hello.md"


@pytest.fixture(autouse=True)
def vault(tmp_path: Path) -> None:
    make_vault(tmp_path / "Notes")
    build_index(tmp_path / "Notes")


@asynccontextmanager
async def streams(
    served: Served, session: dict[str, str], secret: str
) -> AsyncIterator[list[aiohttp.ClientResponse]]:
    """The three streams that one token may have open."""
    params = {"_meta": make_meta(), "notifications": {"resourceSubscriptions": [HELLO]}}
    listen = {"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params}
    named = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"}
    headers = {**MCP, **make_bearer(secret)}
    forever = aiohttp.ClientTimeout(None)
    async with (
        served.http.get(f"{served.url}/mcp", headers=session, timeout=forever) as get,
        served.http.get(f"{served.url}/sse", headers=headers, timeout=forever) as sse,
        served.http.post(
            f"{served.url}/mcp", json=listen, headers={**headers, **named}, timeout=forever
        ) as listening,
    ):
        for response in (get, sse, listening):
            assert response.status == 200
        await anext(read_events(listening))
        yield [get, sse, listening]


def rewrite_tokens(served: Served, **changes: Any) -> None:
    """The list of tokens as somebody changed it by hand."""
    file = served.config_file.parent / FILE_NAME
    tokens = msgspec.json.decode(file.read_bytes(), type=list[AccessToken])
    passing = file.with_suffix(".new")
    passing.write_bytes(msgspec.json.encode([msgspec.structs.replace(token, **changes) for token in tokens]))
    passing.chmod(0o600)
    passing.replace(file)


@pytest.mark.parametrize("limits", [{}, {"read_only": True}])
@pytest.mark.parametrize("how", ["revoked", "expired", "scoped anew", "the list is damaged"])
async def test_what_a_token_opened_ends_with_it(serving: Serving, limits: dict[str, Any], how: str) -> None:
    async with serving() as served:
        _, secret = served.tokens.make("phone", **limits)
        _, other = served.tokens.make("laptop")
        session = await open_session(served, **make_bearer(secret))
        staying = await open_session(served)
        assert (await ask_mcp(served, session, "resources/subscribe", uri=HELLO))[0] == 200
        async with (
            served.http.get(f"{served.url}/mcp", headers=staying) as stays,
            streams(served, session, secret) as opened,
            asyncio.timeout(BOUND),
        ):
            if how == "revoked":
                served.tokens.revoke("phone")
            elif how == "expired":
                rewrite_tokens(served, expires=time.time() - 1)
            elif how == "scoped anew":
                rewrite_tokens(served, deny=("Hello.md",))
            else:
                (served.config_file.parent / FILE_NAME).write_text("{")
            for stream in opened:
                assert [
                    event.message["method"]
                    async for event in read_events(stream)
                    if event.name == "message" and "method" in event.message
                ] == []
            # Who came without a token is not touched.
            assert (await ask_mcp(served, staying, "resources/subscribe", uri=HELLO))[0] == 200
            (served.vault / "Hello.md").write_text("changed")
            assert (await anext(read_events(stays))).message["method"] == "notifications/resources/updated"
        status, answer = await ask_mcp(served, session, "ping")
        assert status == {"revoked": 401, "expired": 401, "scoped anew": 404}.get(how, 503)
        if how == "scoped anew":
            again = await open_session(served, **make_bearer(secret))
            status, answer = await ask_mcp(served, again, "resources/read", uri=HELLO)
            assert "error" in answer
        elif how == "revoked":
            assert (await ask_mcp(served, {**MCP, **make_bearer(other)}, "ping"))[0] == 400, (
                "without a session"
            )


async def test_a_session_without_a_token_ends_when_tokens_become_required(serving: Serving) -> None:
    async with serving() as served:
        session = await open_session(served)
        written = served.config_file.read_text()
        async with (
            asyncio.timeout(BOUND),
            served.http.get(f"{served.url}/mcp", headers=session) as stream,
        ):
            served.configure(written + "[tokens]\nrequired = true\n")
            assert [event async for event in read_events(stream)] == []
        assert (await ask_mcp(served, session, "ping"))[0] == 401


async def test_the_owners_token_opens_mcp_to_a_page_too(serving: Serving) -> None:
    async with serving() as served:
        own = json.loads(next(served.home.glob(".claude/ide/*.lock")).read_text())["authToken"]
        page = {"Origin": "http://localhost:5173"}
        session = await open_session(served, **make_bearer(own), **page)
        assert (await ask_mcp(served, session, "ping"))[0] == 200
        # Another principal than a local program, which knows no token.
        bare = {name: value for name, value in session.items() if name not in ("Authorization", "Origin")}
        assert (await ask_mcp(served, bare, "ping"))[0] == 404


async def test_a_page_of_this_very_server_needs_no_token_and_other_pages_do(serving: Serving) -> None:
    async with serving() as served:
        own = {"Origin": served.url}
        session = await open_session(served, **own)
        assert (await ask_mcp(served, session, "ping"))[0] == 200
        port = served.url.rpartition(":")[2]
        for page in (
            {"Origin": "http://localhost:5173"},
            {"Origin": f"https://127.0.0.1:{port}"},
            {"Origin": f"http://localhost:{port}"},  # By another name than the one it calls us by.
            {**own, "Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
        ):
            assert (await ask_mcp(served, {**MCP, **page}, "ping"))[0] == 401, page


async def call_bridge(served: Served, headers: dict[str, str], **options: Any) -> tuple[int, str]:
    """Create a note over Bridge v1; returns the status and, of a refusal, its reason."""
    url = f"{served.url}/bridge/v1/tools/create_note/call"
    body = json.dumps({"arguments": {"name": "Planted", "content": "by a page"}})
    async with served.http.post(url, data=body, headers=headers, **options) as response:
        assert response.headers.get("Access-Control-Allow-Origin", "*") == "*"
        return response.status, (await response.json()).get("message", "")


PAGES = [
    {"Origin": "http://localhost:5173", "Sec-Fetch-Site": "same-site"},
    {"Origin": "http://127.0.0.1:5173", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "http://localhost:5173"},  # An older browser.
    {"Origin": "app://obsidian.md", "Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},  # An image, a link or a form that gets.
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "same-origin"},  # A page of ours sends its Origin when it posts.
    {"Sec-Fetch-Site": ""},
]


@pytest.mark.parametrize("page", PAGES, ids=str)
async def test_a_page_on_this_machine_needs_a_token_for_bridge_v1_too(
    serving: Serving, page: dict[str, str]
) -> None:
    async with serving() as served:
        for kind in ("text/plain", "application/json", "application/x-www-form-urlencoded"):
            status, why = await call_bridge(served, {**page, "Content-Type": kind})
            assert status == 401
            for word in ("page", "vaultbridge token make NAME", "Authorization: Bearer", "--cors any"):
                assert word in why
        assert not (served.vault / "Planted.md").exists()
        _, secret = served.tokens.make("page")
        assert (await call_bridge(served, {**page, **make_bearer(secret)}))[0] == 200
        assert (served.vault / "Planted.md").exists()


async def test_a_program_needs_no_token_for_bridge_v1(serving: Serving) -> None:
    """Document 003: no authentication is enforced. Node marks its requests, but is not a browser."""
    async with serving() as served:
        for number, headers in enumerate(({}, {"Sec-Fetch-Mode": "cors"}, {"Content-Type": "text/plain"})):
            (served.vault / "Planted.md").unlink(missing_ok=True)
            assert (await call_bridge(served, headers))[0] == 200, number
            assert await served.status("/bridge/v1/tools", **headers) == 200


async def test_a_page_of_this_very_server_may_use_bridge_v1(serving: Serving) -> None:
    async with serving() as served:
        own = {"Origin": served.url, "Sec-Fetch-Site": "same-origin"}
        assert (await call_bridge(served, own))[0] == 200
        # A browser sends no Origin when a page reads from its own server.
        assert await served.status("/bridge/v1/tools", **{"Sec-Fetch-Site": "same-origin"}) == 200
        assert await served.status("/bridge/v1/tools", **{"Sec-Fetch-Site": "same-site"}) == 401
        assert (await call_bridge(served, {**own, "Sec-Fetch-Site": "same-site"}))[0] == 401


async def test_with_cors_any_every_page_may_use_bridge_v1_and_still_not_mcp(serving: Serving) -> None:
    async with serving('[server]\nport = 0\ncors = "any"\n') as served:
        for page in ({"Origin": "https://anywhere.example"}, {"Origin": "null"}, *PAGES):
            (served.vault / "Planted.md").unlink(missing_ok=True)
            assert (await call_bridge(served, page))[0] == 200, page
            assert (await ask_mcp(served, {**MCP, **page}, "ping"))[0] == 401, page
        assert (await call_bridge(served, {"X-Forwarded-For": "203.0.113.7"}))[0] == 401


async def test_a_page_from_disk_learns_which_option_lets_it_in(serving: Serving) -> None:
    async with serving() as served:
        status, why = await call_bridge(served, {"Origin": "null"})
        assert status == 403
        assert "opened from disk" in why
        assert "--cors any" in why


async def test_an_origin_that_the_owner_named_needs_a_token(serving: Serving) -> None:
    async with serving('[server]\nport = 0\norigins = ["https://notes.example"]\n') as served:
        page = {"Origin": "https://notes.example", "Sec-Fetch-Site": "cross-site"}
        assert (await call_bridge(served, page))[0] == 401
        _, secret = served.tokens.make("page")
        assert (await call_bridge(served, {**page, **make_bearer(secret)}))[0] == 200


async def test_the_api_key_of_other_bridges_is_the_token(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    """Everywhere that a bearer token is taken, by the same rules: a wrong one is refused, even where none is
    needed."""
    caplog.set_level("DEBUG")
    async with serving() as served:
        _, secret = served.tokens.make("phone", deny=("Hello.md",))
        key, wrong = {"X-ObsiScripta-Api-Key": secret}, {"x-obsiscripta-api-key": f"{secret}x"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}}
        for headers, status in ((key, 200), (wrong, 401), ({"X-ObsiScripta-Api-Key": ""}, 401)):
            assert await served.status(**headers) == status
            assert await served.status("/page/api/graph", **headers) == status
            assert (await ask_mcp(served, {**MCP, **headers}, "initialize", **params))[0] == status
        refused = await served.call("read_note", key, path="Hello.md")
        assert not refused["success"], "it has the rights of its token"
        # From a browser and through a tunnel it is needed, and suffices.
        for mark in (*PAGES[:3], {"X-Forwarded-For": "203.0.113.7"}):
            assert await served.status(**mark) == 401
            assert await served.status(**mark, **key) == 200
        # Both headers may say the same, and nothing else.
        assert await served.status(**key, **make_bearer(secret)) == 200
        assert await served.status(**key, **make_bearer("other")) == 401
        _, another = served.tokens.make("tablet")
        assert await served.status(**key, **make_bearer(another)) == 401, "not even that of another token"
        twice = [("X-ObsiScripta-Api-Key", secret)] * 2
        async with served.http.get(f"{served.url}/bridge/v1/tools", headers=twice) as response:
            assert response.status == 401
            assert secret not in await response.text()
    assert secret not in caplog.text


async def test_the_stdio_bridge_of_the_plugin_works_without_a_handshake(serving: Serving) -> None:
    """In its mode `mcp` it posts requests of its own making: no session, no version, JSON only."""
    async with serving() as served:
        _, secret = served.tokens.make("bridge")
        sent = {"Accept": "application/json", "X-ObsiScripta-Api-Key": secret}
        status, answer = await ask_mcp(served, sent, "tools/list")
        assert status == 200
        names = [tool["name"] for tool in answer["result"]["tools"]]
        assert "obsidian_read_note" in names
        call = {"name": "obsidian_read_note", "arguments": {"path": "Hello.md"}}
        status, answer = await ask_mcp(served, sent, "tools/call", **call)
        assert status == 200 and "Hello.md" in answer["result"]["content"][0]["text"]
        call["arguments"] = {"path": "Missing.md"}
        status, answer = await ask_mcp(served, sent, "tools/call", **call)
        assert status == 200 and answer["result"]["isError"] is True
        # Others begin with a handshake, and accept events.
        assert (await ask_mcp(served, {"Accept": "application/json", **make_bearer(secret)}, "tools/list"))[
            0
        ] == 406
        assert (await ask_mcp(served, {**MCP, **make_bearer(secret)}, "tools/list"))[0] == 400
        assert (await ask_mcp(served, {**sent, "X-ObsiScripta-Api-Key": "wrong"}, "tools/list"))[0] == 401


async def test_two_authorization_headers_are_refused(serving: Serving) -> None:
    async with serving() as served:
        _, secret = served.tokens.make("phone")
        both = [("Authorization", f"Bearer {secret}"), ("Authorization", "Bearer other")]
        async with served.http.get(f"{served.url}/bridge/v1/tools", headers=both) as response:
            assert response.status == 401
            assert response.headers["WWW-Authenticate"].startswith('Bearer realm="vaultbridge"')


async def test_a_damaged_list_of_tokens_lets_nobody_in(serving: Serving) -> None:
    async with serving() as served:
        _, secret = served.tokens.make("phone")
        (served.config_file.parent / FILE_NAME).write_text("[")
        for path in ("/bridge/v1/tools", "/mcp", "/sse"):
            assert await served.status(path, **make_bearer(secret)) == 503
        assert await served.status() == 200
