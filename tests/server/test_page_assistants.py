"""Every client is seen, whichever way it comes, and can be paused and cut off: real clients, a real port."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from mcp import MCPError
from mcp.client import Client
from mcp.client.sse import sse_client

from server.callers import editor, ide, open_page_api
from server.conftest import Serving
from support.editor import Failed
from support.waiting import BOUND

NO_CLIENT_NAME = "mcp"
"""What the official client calls itself when it is not found."""


async def read_hello(client: Client) -> Any:
    return await client.call_tool("obsidian_read_note", {"path": "Hello.md"})


@pytest.mark.parametrize(("mode", "kind"), [("legacy", "mcp"), ("2026-07-28", "stateless")])
async def test_a_client_over_mcp_is_seen_with_what_it_did(serving: Serving, mode: str, kind: str) -> None:
    async with serving() as served:
        api = open_page_api(served)
        async with Client(f"{served.url}/mcp", mode=mode) as client:
            await read_hello(client)
            await read_hello(client)
            await client.call_tool("obsidian_create_note", {"name": "Made", "content": "by a client\n"})
            await client.call_tool("obsidian_search", {"query": "text"})
            assert (await client.call_tool("obsidian_read_note", {"name": "Nothing"})).is_error
            seen = await api.assistant(kind=kind)
            assert (seen["connected"], seen["paused"], seen["vaults"]) == (True, False, ["Notes"])
            assert (seen["calls"], seen["failed"], seen["reads"], seen["changes"]) == (5, 1, 1, 1)
            assert seen["summary"] == "read Hello.md, searched once, changed Made.md"
            assert seen["address"].startswith("127.0.0.1:") and seen["token"] is None
            assert seen["since"] <= seen["last"]
        if kind == "mcp":
            gone = await api.until(lambda: api.assistants(kind="mcp", connected=False))
            assert gone[0]["id"] == seen["id"] and gone[0]["ended"] >= gone[0]["last"]


async def test_old_sse_and_bridge_v1_are_seen_with_the_names_of_their_tokens(serving: Serving) -> None:
    async with serving("[tokens]\nrequired = true\n") as served, asyncio.timeout(BOUND):
        api = open_page_api(served)
        first, secret = served.tokens.make("old phone", deny=("Private/",))
        second, script = served.tokens.make("backup script", read_only=True)
        headers = {"Authorization": f"Bearer {secret}"}
        async with Client(sse_client(f"{served.url}/sse", headers=headers), mode="legacy") as client:
            await read_hello(client)
            seen = await api.assistant(kind="sse")
            assert seen["token"] == {"id": first.id, "name": "old phone"}
            assert seen["summary"] == "read Hello.md"
        await api.until(lambda: api.assistants(kind="sse", connected=False))
        await served.call(
            "read_note", {"Authorization": f"Bearer {script}", "User-Agent": "cron/1.0"}, path="Hello.md"
        )
        seen = await api.assistant(kind="bridge")
        assert (seen["name"], seen["token"]) == ("backup script", {"id": second.id, "name": "backup script"})
        assert (seen["userAgent"], seen["summary"], seen["connected"]) == ("cron/1.0", "read Hello.md", True)


async def test_claude_code_and_a_page_are_seen(serving: Serving) -> None:
    async with serving() as served, ide(served) as claude, editor(served):
        api = open_page_api(served)
        assert await claude.request("readFile", path="Hello.md") == "# Hello\n\nsome text\n"
        await claude.request("writeFile", path="From Claude.md", content="x\n")
        seen = await api.until(lambda: api.assistants(kind="ide", calls=2))
        assert (seen[0]["name"], seen[0]["client"], seen[0]["process"]["pid"]) == (
            "Claude Code",
            "claude-code",
            4242,
        )
        assert seen[0]["summary"] == "read Hello.md, changed From Claude.md"
        listed = await api.get("/assistants")
        assert [(editor["app"], editor["vault"]) for editor in listed["editors"]] == [("page", "Notes")]


PAUSED = "A person has paused this assistant."


async def test_a_pause_holds_over_every_protocol_until_a_person_ends_it(serving: Serving) -> None:
    async with serving() as served:
        api = open_page_api(served)
        async with (
            Client(f"{served.url}/mcp", mode="legacy") as session,
            Client(f"{served.url}/mcp", mode="2026-07-28") as stateless,
            Client(sse_client(f"{served.url}/sse"), mode="legacy") as sse,
            ide(served) as claude,
        ):
            for client in (session, stateless, sse):
                await read_hello(client)
            await served.call("read_note", path="Hello.md")
            await claude.request("readFile", path="Hello.md")
            answer = await api.post("/assistants/pause")
            assert answer["pausedAll"] is True
            assert {assistant["kind"] for assistant in answer["assistants"]} == {
                "mcp",
                "stateless",
                "sse",
                "ide",
                "bridge",
            }
            assert all(listed["paused"] for listed in await api.assistants())
            for client in (session, stateless, sse):
                result = await read_hello(client)
                assert result.is_error and PAUSED in result.content[0].text
                with pytest.raises(MCPError, match=PAUSED):
                    await client.read_resource("obsidian://vault/Notes/Hello.md")
                assert (await client.list_tools()).tools, "a paused client stays connected"
            refused = await served.call("read_note", path="Hello.md")
            assert (refused["success"], PAUSED in refused["content"][0]["text"]) == (False, True)
            for method, params in (("readFile", {"path": "Hello.md"}), ("getOpenFiles", {})):
                with pytest.raises(Failed, match=PAUSED):
                    await claude.request(method, **params)
            with pytest.raises(Failed, match=PAUSED):
                await claude.request("writeFile", path="New.md", content="x")
            assert not (served.vault / "New.md").exists()
            assert await claude.request("ping") == {}
            answer = await api.post("/assistants/resume")
            assert answer["pausedAll"] is False
            for client in (session, stateless, sse):
                assert not (await read_hello(client)).is_error
            assert (await served.call("read_note", path="Hello.md"))["success"]
            assert await claude.request("readFile", path="Hello.md")


async def test_one_of_two_is_paused_and_stays_so_when_it_comes_back(serving: Serving) -> None:
    async with serving() as served:
        api = open_page_api(served)
        async with ide(served) as claude:
            await claude.request("readFile", path="Hello.md")
            await served.call("read_note", path="Hello.md")
            assistant = await api.assistant(kind="ide")
            answer = await api.post(f"/assistants/{assistant['id']}/pause")
            assert [(two["id"], two["paused"]) for two in answer["assistants"]] == [(assistant["id"], True)]
            assert answer["pausedAll"] is False
            assert (await served.call("read_note", path="Hello.md"))["success"]
        async with ide(served) as claude:
            with pytest.raises(Failed, match=PAUSED):
                await claude.request("readFile", path="Hello.md")
            (again,) = await api.until(lambda: api.assistants(kind="ide", connected=True))
            assert again["paused"] and again["id"] != assistant["id"]
            await api.post(f"/assistants/{again['id']}/resume")
            assert await claude.request("readFile", path="Hello.md")


async def test_resuming_one_leaves_the_others_of_all_paused(serving: Serving) -> None:
    async with serving() as served:
        api = open_page_api(served)
        async with ide(served) as claude:
            await claude.request("readFile", path="Hello.md")
            await served.call("read_note", path="Hello.md")
            await api.post("/assistants/pause")
            assistant = await api.assistant(kind="ide")
            answer = await api.post(f"/assistants/{assistant['id']}/resume")
            assert answer["pausedAll"] is False
            assert await claude.request("readFile", path="Hello.md")
            assert not (await served.call("read_note", path="Hello.md"))["success"]


async def test_a_pause_outlives_the_server(serving: Serving) -> None:
    async with serving() as served:
        await served.call("read_note", path="Hello.md")
        await open_page_api(served).post("/assistants/pause")
    async with serving() as served:
        assert not (await served.call("read_note", path="Hello.md"))["success"]
        assert (await open_page_api(served).post("/assistants/resume"))["pausedAll"] is False
        assert (await served.call("read_note", path="Hello.md"))["success"]


async def test_cutting_off_ends_the_connection_and_may_revoke_the_token(serving: Serving) -> None:
    async with serving() as served:
        api = open_page_api(served)
        _, secret = served.tokens.make("laptop")
        async with ide(served) as claude, Client(f"{served.url}/mcp", mode="legacy") as session:
            await read_hello(session)
            assistant = await api.assistant(kind="ide")
            answer = await api.post(f"/assistants/{assistant['id']}/disconnect")
            assert [two["paused"] for two in answer["assistants"]] == [True]
            async with asyncio.timeout(BOUND):
                await claude.socket.wait_closed()
            await api.until(lambda: api.assistants(kind="ide", connected=False))
            other = await api.assistant(kind="mcp")
            await api.post(f"/assistants/{other['id']}/disconnect")
            await api.until(lambda: api.assistants(kind="mcp", connected=False))
            with pytest.raises(MCPError, match=r"(?i)session"):
                await read_hello(session)
        headers = {"Authorization": f"Bearer {secret}"}
        await served.call("read_note", headers, path="Hello.md")
        assistant = await api.assistant(kind="bridge", name="laptop")
        answer = await api.post(f"/assistants/{assistant['id']}/disconnect", revoke=True)
        assert answer["revoked"] == ["laptop"]
        assert served.tokens.list_tokens() == ()
        url = f"{served.url}/bridge/v1/tools/read_note/call"
        async with served.http.post(
            url, json={"arguments": {"path": "Hello.md"}}, headers=headers
        ) as response:
            assert response.status == 401


async def test_wrong_requests_get_the_reason(serving: Serving) -> None:
    async with serving() as served:
        api = open_page_api(served)
        for path in ("/assistants/a99/pause", "/assistants/a99/explode", "/assistants/explode"):
            assert await api.catch_refusal(path, method="POST", json={}) == (404, "NOT_FOUND")
        await served.call("read_note", path="Hello.md")
        assistant = await api.assistant()
        for body in ({"revoke": True}, {"revoke": 1}, {"force": True}, [], "x"):
            path = f"/assistants/{assistant['id']}/pause"
            assert await api.catch_refusal(path, method="POST", json=body) == (400, "INVALID_PARAMS")
        assert await api.catch_refusal(f"/assistants/{assistant['id']}/pause") == (405, "METHOD_NOT_ALLOWED")
        assert not (await api.assistant())["paused"]


async def test_a_limited_token_sees_only_itself_and_controls_nobody(serving: Serving) -> None:
    async with serving() as served:
        _, secret = served.tokens.make("narrow", deny=("Private/",))
        mine = open_page_api(served).with_token(secret)
        await served.call("read_note", path="Private/Diary.md")
        await served.call("read_note", {"Authorization": f"Bearer {secret}"}, path="Hello.md")
        seen = await mine.assistant()
        assert (seen["token"]["name"], seen["summary"]) == ("narrow", "read Hello.md")
        entries = (await mine.get("/activity"))["entries"]
        assert {entry["assistant"]["name"] for entry in entries} == {"narrow"}
        assert "Diary" not in json.dumps(entries) + json.dumps(await mine.get("/assistants"))
        for path in ("/assistants/pause", f"/assistants/{seen['id']}/resume", "/undo"):
            assert await mine.catch_refusal(path, method="POST", json={}) == (403, "OWNER_ONLY")
        for path in ("/trace", "/stats"):
            assert await mine.catch_refusal(path) == (403, "OWNER_ONLY")


async def test_the_page_shows_at_once_which_assistants_connect_and_what_they_do(serving: Serving) -> None:
    async with serving() as served, editor(served, activity=True) as watcher:
        await watcher.request("watchTrace", on=True, json=False)
        await served.call("create_note", name="Plan", content="a plan\n")
        entries: list[dict[str, Any]] = []
        while not any(entry["kind"] == "change" for entry in entries):
            entries += (await watcher.next("activityAdded"))["entries"]
        made = next(entry for entry in entries if entry["kind"] == "change")
        assert (made["text"], made["change"], made["canUndo"]) == ("created Plan.md", 1, True)
        status = await watcher.request("status")
        assert [assistant["summary"] for assistant in status["assistants"]] == ["changed Plan.md"]
        await served.call("read_note", path="Plan.md")
        message: dict[str, Any] = {}
        while message.get("tool") != "read_note":
            message = (await watcher.next("traceAdded"))["messages"][0]
        assert (message["direction"], message["type"], message["json"]) == ("in", "request", False)
