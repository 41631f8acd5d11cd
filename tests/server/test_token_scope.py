"""A token's limits on every way in: what it hides has no name, no content and no trace.

Each question is asked twice, about a note that is hidden and about one that is not there: the answers may
differ in nothing but the name. And nothing that stands in the hidden note may stand in an answer.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from server.callers import ask_mcp, make_bearer, open_session
from server.conftest import Served, Serving, build_index
from support.files import write_vault
from support.http import read_events
from support.waiting import BOUND

HIDDEN = """---
zebraprop: zebravalue
aliases: [ZebraAlias]
tags: [zebratag]
---
# ZebraHeading
zebraword #zebrainline [[Hello]] [[ZebraNowhere]]
- [ ] zebratask
"""
FILES = {
    "Hello.md": "# Hello\n\nvisible #pub [[Plan]]\n- [ ] to do\n",
    "Work/Plan.md": "plan [[Hello]]\n",
    "All.base": "views:\n  - type: table\n    name: All\n",
    "Private/Zebra.md": HIDDEN,
    "Private/Zebra.canvas": '{"nodes":[{"id":"1","type":"text","text":"zebra","x":0,"y":0,"width":1,'
    '"height":1}],"edges":[]}',
    "Private/Zebra.base": "views:\n  - type: table\n    name: zebraview\n",
    "Private/Prompts/Zebra.md": "zebraprompt\n",
}
TRACE = re.compile("zebra", re.IGNORECASE)
LIMITS: dict[str, dict[str, Any]] = {
    "denied": {"deny": ("Private/",)},
    "not allowed": {"allow": ("Work/", "Hello.md", "All.base")},
    "read-only": {"deny": ("Private/",), "read_only": True},
}
NAMES = ("Private/Zebra", "Private/Zebra.md", "Zebra.canvas", "Private/Zebra.base", "ZebraAlias")


def rename_to_absent(text: str) -> str:
    return text.replace("Zebra", "Qobra").replace("zebra", "qobra")


def list_calls_about(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every tool that takes a note, asked about this one. None of it changes anything."""
    yield "read_note", {"name": name}
    yield "read_note", {"names": [name, "Hello"]}
    yield "edit_note", {"name": name, "op": "append", "content": "x", "dry_run": True}
    yield "move_note", {"name": name, "to": "Elsewhere", "dry_run": True}
    yield "delete_note", {"name": name, "dry_run": True}
    for kind in ("backlinks", "outgoing", "neighbourhood"):
        yield "links", {"kind": kind, "name": name}
    yield "links", {"kind": "path", "name": "Hello", "to": name}
    yield "properties", {"name": name}
    yield "tags", {"action": "list", "name": name}
    yield "tasks", {"name": name}
    yield "template", {"template": name, "title": "x"}
    yield "canvas", {"name": name}
    yield "base_query", {"name": name}
    yield "base_query", {"base": "views: [{type: table, name: t}]", "this": name}
    yield "attachment", {"action": "get", "name": name}
    yield "batch", {"operations": [{"op": "delete", "name": name}], "dry_run": True}
    yield "history", {"name": name}
    yield "open", {"name": name}
    where = "Private/" + name.removeprefix("Private/")
    yield "create_note", {"name": where, "content": "x"}
    yield "move_note", {"name": "Hello", "to": where, "dry_run": True}
    yield "edit_canvas", {"action": "create", "name": where}
    yield "list_files", {"folder": where}


OVERVIEWS: list[tuple[str, dict[str, Any]]] = [
    ("list_files", {"depth": 0}),
    ("list_files", {"kind": "folder"}),
    ("search", {"query": "-nothing"}),
    ("search", {"query": "z"}),
    ("search", {"query": "/.e.r./"}),
    ("properties", {}),
    ("tags", {"action": "list"}),
    ("tasks", {"status": "any"}),
    ("links", {"kind": "unresolved"}),
    ("links", {"kind": "orphans"}),
    ("links", {"kind": "backlinks", "name": "Hello"}),
    ("links", {"kind": "neighbourhood", "name": "Hello", "depth": 3}),
    ("move_note", {"name": "Hello", "to": "Renamed", "dry_run": True}),
    ("delete_note", {"name": "Hello", "dry_run": True}),
    ("base_query", {"name": "All.base"}),
    ("history", {}),
    ("history", {"id": 1}),
    ("history", {"id": 2}),
    ("active", {}),
    *(
        ("vault_info", {"section": section})
        for section in ("summary", "links", "problems", "duplicates", "conflicts", "settings")
    ),
]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    write_vault(tmp_path / "Notes", FILES)
    build_index(tmp_path / "Notes")
    return tmp_path / "Notes"


async def call(served: Served, headers: dict[str, str], tool: str, arguments: dict[str, Any]) -> str:
    url = f"{served.url}/bridge/v1/tools/{tool}/call"
    async with served.http.post(url, json={"arguments": arguments}, headers=headers) as response:
        return f"{response.status} {await response.text()}"


async def work_on_hidden(served: Served) -> None:
    """The owner has changed the hidden note, alone and with another one, and has it open."""
    alone = {"op": "append", "name": "Private/Zebra", "content": "zebraedit"}
    other = {"op": "append", "name": "Work/Plan", "content": "more"}
    for operations in ([alone], [alone, other]):
        assert (await served.call("batch", operations=operations))["success"]
    lock = json.loads(next(served.home.glob(".claude/ide/*.lock")).read_text())
    async with served.http.ws_connect(f"{served.url}/editor") as editor:
        answers = {
            "hello": {"app": "test", "token": lock["authToken"], "abilities": {}},
            "select": {"note": "Private/Zebra", "start": [6], "end": [7]},
        }
        for method, params in answers.items():
            await editor.send_json({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
            while (answer := await editor.receive_json(timeout=BOUND)).get("id") != method:
                pass
            assert "result" in answer, answer
    assert "zebra" in await call(served, {}, "active", {})


@pytest.mark.usefixtures("vault")
@pytest.mark.parametrize("limits", LIMITS)
async def test_no_tool_reveals_a_hidden_note(serving: Serving, limits: str) -> None:
    async with serving("", "Notes") as served:
        await work_on_hidden(served)
        before = {file: file.read_bytes() for file in served.vault.rglob("*") if file.is_file()}
        _, secret = served.tokens.make("phone", **LIMITS[limits])
        mine = make_bearer(secret)
        for name in NAMES:
            for (tool, hidden), (_, missing) in zip(
                list_calls_about(name), list_calls_about(rename_to_absent(name)), strict=True
            ):
                found = await call(served, mine, tool, hidden)
                assert rename_to_absent(found) == await call(served, mine, tool, missing), (tool, hidden)
                for value in sorted({name, f"Private/{name}"}, key=len, reverse=True):
                    found = found.replace(value, "").replace(value.removesuffix(".md"), "")
                assert not TRACE.search(found), (tool, hidden)
        for tool, arguments in OVERVIEWS:
            assert not TRACE.search(await call(served, mine, tool, arguments)), (tool, arguments)
        undone = await call(served, mine, "undo", {"id": 1})
        assert '"success":false' in undone and not TRACE.search(undone)
        after = {file: file.read_bytes() for file in served.vault.rglob("*") if file.is_file()}
        assert after == before


@pytest.mark.usefixtures("vault")
@pytest.mark.parametrize("limits", LIMITS)
async def test_resources_prompts_and_completions_do_not_know_a_hidden_note(
    serving: Serving, limits: str
) -> None:
    async with serving("", "Notes") as served:
        _, secret = served.tokens.make("phone", **LIMITS[limits])
        session = await open_session(served, **make_bearer(secret))
        questions: list[tuple[str, dict[str, Any]]] = [
            ("resources/list", {}),
            ("prompts/list", {}),
            ("tools/list", {}),
        ]
        for prompt, argument in (
            ("summarize_note", "note"),
            ("tag_overview", "tag"),
            ("check_property", "property"),
        ):
            ref = {"type": "ref/prompt", "name": prompt}
            for value in ("", "z", "P"):
                completed = {"ref": ref, "argument": {"name": argument, "value": value}}
                questions.append(("completion/complete", completed))
        template = {"type": "ref/resource", "uri": "obsidian://vault/Notes/{+path}"}
        questions.append(
            ("completion/complete", {"ref": template, "argument": {"name": "path", "value": ""}})
        )
        for method, params in questions:
            status, answer = await ask_mcp(served, session, method, **params)
            assert status == 200 and "result" in answer, (method, params)
            assert not TRACE.search(json.dumps(answer)), (method, params)
        for place in ("Private/Zebra.md", "Zebra", "ZebraAlias", "Work/../Private/Zebra.md"):
            uri = f"obsidian://vault/Notes/{place}"
            for method in ("resources/read", "resources/subscribe"):
                _, hidden = await ask_mcp(served, session, method, uri=uri)
                _, missing = await ask_mcp(served, session, method, uri=rename_to_absent(uri))
                assert "error" in hidden
                assert rename_to_absent(json.dumps(hidden)) == json.dumps(missing)
        _, found = await ask_mcp(
            served, session, "prompts/get", name="summarize_note", arguments={"note": "Private/Zebra"}
        )
        assert "zebra" not in json.dumps(found)


@pytest.mark.usefixtures("vault")
async def test_changes_to_a_hidden_note_are_not_announced_to_those_who_may_not_see_it(
    serving: Serving,
) -> None:
    async with serving("", "Notes") as served:
        _, secret = served.tokens.make("phone", deny=("Private/",))
        session = await open_session(served, **make_bearer(secret))
        uri = "obsidian://vault/Notes/Hello.md"
        assert (await ask_mcp(served, session, "resources/subscribe", uri=uri))[1]["result"] == {}
        async with (
            asyncio.timeout(BOUND),
            served.http.get(f"{served.url}/mcp", headers=session) as stream,
        ):
            for path in ("Private/Zebra.md", "Private/New.md"):
                made = await served.call("create_note", name=path, content="x", overwrite=True)
                assert made["success"], made
            made = await served.call("create_note", name="Hello", content="x", overwrite=True)
            assert made["success"], made
            # Whoever may see all three got them in this order.
            first = await anext(read_events(stream))
            assert first.message["params"] == {"uri": uri}


@pytest.mark.usefixtures("vault")
async def test_only_the_bridges_own_token_opens_the_sockets_of_editors(serving: Serving) -> None:
    async with serving("", "Notes") as served:
        for limits in ({}, LIMITS["denied"]):
            _, secret = served.tokens.make(f"phone {len(limits)}", **limits)
            for headers in (make_bearer(secret), {"X-Claude-Code-Ide-Authorization": secret}):
                with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                    await served.http.ws_connect(f"{served.url}/", headers=headers, protocols=("mcp",))
                assert caught.value.status == 401
            async with served.http.ws_connect(f"{served.url}/editor", headers=make_bearer(secret)) as editor:
                hello = {"app": "test", "token": secret, "abilities": {}}
                await editor.send_json({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": hello})
                assert "error" in await editor.receive_json(timeout=BOUND)


@pytest.mark.usefixtures("vault")
async def test_with_a_read_only_token_nothing_can_be_changed_by_any_way(serving: Serving) -> None:
    async with serving("", "Notes") as served:
        _, secret = served.tokens.make("phone", read_only=True)
        before = {file: file.read_bytes() for file in served.vault.rglob("*") if file.is_file()}
        changes: list[tuple[str, dict[str, Any]]] = [
            ("create_note", {"name": "New", "content": "x"}),
            ("edit_note", {"name": "Hello", "op": "append", "content": "x"}),
            ("move_note", {"name": "Hello", "to": "Bye"}),
            ("delete_note", {"name": "Hello"}),
            ("edit_note", {"op": "set_property", "name": "Hello", "property": "a", "value": 1}),
            ("edit_note", {"op": "add_tag", "name": "Hello", "tag": "a"}),
            ("edit_note", {"op": "set_task", "name": "Hello", "line": 4, "status": "done"}),
            ("write_daily_note", {"action": "create"}),
            ("edit_canvas", {"action": "create", "name": "New"}),
            ("add_attachment", {"name": "n.png", "data": "eA=="}),
            ("batch", {"operations": [{"op": "delete", "name": "Hello"}]}),
            ("undo", {}),
        ]
        session = await open_session(served, **make_bearer(secret))
        for tool, arguments in changes:
            over_bridge = await call(served, make_bearer(secret), tool, arguments)
            assert '"success":false' in over_bridge, tool
            named = {"name": f"obsidian_{tool}", "arguments": arguments}
            _, answer = await ask_mcp(served, session, "tools/call", **named)
            assert answer["result"]["isError"], tool
        after = {file: file.read_bytes() for file in served.vault.rglob("*") if file.is_file()}
        assert after == before


@pytest.mark.usefixtures("vault")
async def test_the_history_of_a_note_that_became_private_is_hidden(serving: Serving) -> None:
    async with serving("", "Notes") as served:
        _, secret = served.tokens.make("phone", deny=("Private/",))
        mine = make_bearer(secret)
        await served.call("edit_note", name="Work/Plan", op="append", content="zebraplan")
        assert "zebraplan" in await call(served, mine, "history", {"id": 1})
        await served.call("move_note", name="Work/Plan", to="Private/Plan")
        for tool in ("history", "undo"):
            unknown = await call(served, mine, tool, {"id": 99})
            for number in (1, 2):
                found = await call(served, mine, tool, {"id": number})
                assert found == unknown.replace("99", str(number)), (tool, found)
        for arguments in ({}, {"name": "Work/Plan.md"}):
            assert "(no changes)" in await call(served, mine, "history", arguments)
