"""A running server follows its files: tools, switches, scopes, tokens; and says what has to wait."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
import websockets

from server.callers import INITIALIZE, MCP
from server.conftest import Served, Serving
from support.dial import dial
from support.http import Event, read_events
from support.waiting import BOUND
from support.wire import MODERN, make_meta

TOOL = '''
from vaultbridge.plugins import tool
from vaultbridge.engine import Engine

@tool(effect="reads")
def shout(vault: Engine, note: str) -> str:
    """Read a note aloud."""
    return vault.view(note).text.upper()
'''


@asynccontextmanager
async def session(served: Served) -> AsyncIterator[Any]:
    """An MCP session; gives what waits for the next `list_changed` on its GET stream."""
    async with served.http.post(f"{served.url}/mcp", json=INITIALIZE, headers=MCP) as response:
        headers = {**MCP, "Mcp-Session-Id": response.headers["Mcp-Session-Id"]}
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ):
        async with served.http.post(f"{served.url}/mcp", json=message, headers=headers) as response:
            assert response.status == (200 if "id" in message else 202)
    async with served.http.get(f"{served.url}/mcp", headers=headers) as stream:
        coming = read_events(stream)

        yield partial(until_changed, coming)


@asynccontextmanager
async def ide(served: Served) -> AsyncIterator[Any]:
    """The same on the IDE's socket."""
    lock = json.loads(next(served.home.glob(".claude/ide/*.lock")).read_text())
    async with dial(
        f"ws://127.0.0.1:{served.listening.port}/",
        subprotocols=[websockets.Subprotocol("mcp")],
        additional_headers={"X-Claude-Code-Ide-Authorization": lock["authToken"]},
    ) as socket:
        await socket.send(json.dumps(INITIALIZE))
        await socket.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        await socket.send('{"jsonrpc":"2.0","id":2,"method":"tools/list"}')

        async def wait_for_change() -> None:
            async with asyncio.timeout(BOUND):
                async for data in socket:
                    if json.loads(data).get("method") == "notifications/tools/list_changed":
                        return

        yield wait_for_change


@asynccontextmanager
async def listening(served: Served) -> AsyncIterator[Any]:
    """The same for a client of 2026-07-28, which has no session."""
    params = {"_meta": make_meta(), "notifications": {"toolsListChanged": True}}
    message = {"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": params}
    headers = {**MCP, "MCP-Protocol-Version": MODERN, "Mcp-Method": "subscriptions/listen"}
    async with served.http.post(f"{served.url}/mcp", json=message, headers=headers) as stream:
        coming = read_events(stream)
        assert (await anext(coming)).message["method"] == "notifications/subscriptions/acknowledged"
        yield partial(until_changed, coming)


@asynccontextmanager
async def old(served: Served) -> AsyncIterator[Any]:
    """The same for a client of 2024-11-05 over HTTP with SSE."""
    async with served.http.get(f"{served.url}/sse", headers={"Accept": "text/event-stream"}) as stream:
        coming = read_events(stream)
        place = served.url + (await anext(coming)).data
        for message in (INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}):
            async with served.http.post(place, json=message) as response:
                assert response.status == 202
        while "result" not in (await anext(coming)).message:
            pass
        yield partial(until_changed, coming)


async def until_changed(coming: AsyncIterator[Event]) -> None:
    async with asyncio.timeout(BOUND):
        async for event in coming:
            if event.data and event.message.get("method") == "notifications/tools/list_changed":
                return


@pytest.mark.parametrize("connected", [session, listening, old, ide])
async def test_a_plugin_file_that_comes_and_goes_is_announced_on_every_kind_of_connection(
    serving: Serving, connected: Any
) -> None:
    async with serving() as served:
        before = await served.tools()
        async with connected(served) as changed:
            tools = served.config_file.parent / "tools"
            tools.mkdir()
            (tools / "loud.py").write_text(TOOL, "utf-8")
            await changed()
            assert (await served.tools())["hash"] != before["hash"]
            (tools / "loud.py").unlink()
            await changed()
            assert (await served.tools())["hash"] == before["hash"]


async def test_a_plugin_file_is_announced_to_all_at_once(serving: Serving) -> None:
    async with serving() as served, session(served) as changed, ide(served) as ide_changed:
        before = await served.tools()
        tools = served.config_file.parent / "tools"
        tools.mkdir()
        (tools / "loud.py").write_text(TOOL, "utf-8")
        await changed()
        await ide_changed()
        after = await served.tools()
        assert after["hash"] != before["hash"]
        assert [tool["name"] for tool in after["tools"]][-1] == "shout"
        assert "SOME TEXT" in (await served.call("shout", note="Hello"))["content"][0]["text"]
        (tools / "loud.py").unlink()
        await changed()
        assert (await served.tools())["hash"] == before["hash"]


async def test_a_plugin_that_is_wrong_is_logged_and_the_rest_goes_on(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as served, session(served) as changed:
        tools = served.config_file.parent / "tools"
        tools.mkdir()
        (tools / "bad.py").write_text("this is no Python")
        (tools / "loud.py").write_text(TOOL)
        await changed()
        assert "shout" in await served.names()
        assert "The tools of bad.py are not loaded: line 1" in caplog.text


async def test_tools_are_there_from_the_start(serving: Serving) -> None:
    async with serving() as served:
        tools = served.config_file.parent / "tools"
    tools.mkdir()
    (tools / "loud.py").write_text(TOOL)
    async with serving() as served:
        assert "shout" in await served.names()
    async with serving("[tools]\nplugins = false\n") as served:
        assert "shout" not in await served.names()


def extend_config(served: Served, more: str) -> str:
    """The configuration as it was written, with more."""
    return served.config_file.read_text("utf-8").partition("#live")[0] + "#live\n" + more


async def test_tools_are_switched_while_the_server_runs(serving: Serving) -> None:
    async with serving('[tools]\nprofile = "full"\n') as served, session(served) as changed:
        assert "delete_note" in await served.names()
        served.configure(extend_config(served, 'disable = ["delete_note", "canvas"]\n'))
        await changed()
        names = await served.names()
        assert "delete_note" not in names
        assert "canvas" not in names
        assert "read_note" in names
        served.configure(extend_config(served, 'enable = ["read_note"]\n'))
        await changed()
        await served.until(lambda: _is(served.names(), ["read_note"]))


async def _is(question: Any, wanted: Any) -> bool:
    return bool(await question == wanted)


async def test_a_folder_made_private_is_gone_at_once(serving: Serving) -> None:
    async with serving() as served:
        assert "secret" in await served.read("Private/Diary.md")
        served.configure(extend_config(served, '[scope]\ndeny = ["Private/"]\n'))

        async def is_hidden() -> bool:
            return "secret" not in await served.read("Private/Diary.md")

        await served.until(is_hidden)
        found = await served.call("search", query="secret")
        assert "Diary" not in json.dumps(found)
        served.configure(extend_config(served, "[scope]\nread_only = true\n"))

        async def read_only() -> bool:
            return "create_note" not in await served.names()

        await served.until(read_only)
        assert "secret" in await served.read("Private/Diary.md")


@pytest.mark.parametrize("key", ["scope", "vaults"])
async def test_tools_that_change_notes_appear_and_disappear_with_the_permission(
    serving: Serving, key: str
) -> None:
    async with serving() as served, session(served) as changed, ide(served) as ide_changed:
        _, secret = served.tokens.make("phone", deny=("Private/",))
        bearer = {"Authorization": f"Bearer {secret}"}
        before, narrow = await served.tools(), await served.tools(**bearer)
        written = served.config_file.read_text("utf-8")
        vault, _, rest = written.partition("[server]")
        read_only = {
            "scope": f"{written}\n[scope]\nread_only = true\n",
            "vaults": f"{vault}read_only = true\n[server]{rest}",
        }[key]
        served.configure(read_only)
        await changed()
        await ide_changed()
        for headers, was in (({}, before), (bearer, narrow)):
            now = await served.tools(**headers)
            names = {tool["name"] for tool in now["tools"]}
            assert "read_note" in names
            assert not names & {"create_note", "delete_note", "batch"}
            assert now["hash"] != was["hash"]
        async with served.http.post(f"{served.url}/mcp", json=INITIALIZE, headers=MCP) as response:
            assert "read-only" in await response.text()
        served.configure(written)
        await changed()
        await ide_changed()
        assert (await served.tools())["hash"] == before["hash"]
        assert (await served.tools(**bearer))["hash"] == narrow["hash"]


async def test_a_token_that_comes_later_has_the_scope_of_now(serving: Serving) -> None:
    """Its server is made when it first calls, from the configuration as it then is."""
    async with serving() as served:
        written = served.config_file.read_text("utf-8")
        vault, _, rest = written.partition("[server]")
        served.configure(f"{vault}deny = ['Private/']\n[server]{rest}")

        async def is_hidden() -> bool:
            return "secret" not in await served.read("Private/Diary.md")

        await served.until(is_hidden)
        _, secret = served.tokens.make("phone", read_only=True)
        assert "secret" not in await served.read("Private/Diary.md", {"Authorization": f"Bearer {secret}"})


async def test_tokens_can_be_demanded_while_the_server_runs(serving: Serving) -> None:
    async with serving() as served:
        assert await served.status() == 200
        served.configure(extend_config(served, "[tokens]\nrequired = true\n"))
        await served.until(lambda: _is(served.status(), 401))
        served.configure(extend_config(served, ""))
        await served.until(lambda: _is(served.status(), 200))


async def test_a_wrong_file_changes_nothing_and_is_reported(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "vaultbridge")
    async with serving() as served:
        served.configure(extend_config(served, "[tokens]\nrequired = maybe\n"))

        async def is_announced() -> bool:
            assert await served.status() == 200
            return "The changed configuration is invalid and not used: config.toml, line" in caplog.text

        await served.until(is_announced)
        assert await served.status() == 200
        served.configure(extend_config(served, "[tokens]\nrequired = true\n"))
        await served.until(lambda: _is(served.status(), 401))


async def test_settings_that_wait_for_the_next_start_are_named(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "vaultbridge")
    async with serving() as served:
        served.configure(extend_config(served, '[ide]\nname = "Other"\n[log]\nlevel = "debug"\n'))

        async def is_announced() -> bool:
            assert await served.status() == 200
            return "next start: ide.name" in caplog.text

        await served.until(is_announced)
        assert "Now in effect: log.level" in caplog.text
        assert logging.getLogger("vaultbridge").level == logging.DEBUG
    logging.getLogger("vaultbridge").setLevel(logging.NOTSET)


async def test_a_stream_of_a_revoked_token_falls_silent(serving: Serving) -> None:
    async with serving() as served:
        token, secret = served.tokens.make("phone", read_only=True)
        bearer = {"Authorization": f"Bearer {secret}"}
        assert "read_note" in await served.names(**bearer)
        served.tokens.revoke(token.id)
        assert await served.status(**bearer) == 401
        other, again = served.tokens.make("phone", read_only=True)
        assert other.id != token.id
        assert await served.status(Authorization=f"Bearer {again}") == 200
