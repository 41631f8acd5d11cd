"""Review from outside: official clients over `stdio`, `/mcp` and `/sse`, a person at the editor socket."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client

from server.conftest import Served, Serving, make_environ
from server.conftest import serving as serving
from support.editor import Failed
from support.process import make_process_environ
from support.reviewer import claude_code, person, read, read_journal
from support.waiting import BOUND
from vaultbridge.protocols.editor.endpoint_file import Endpoint, make_token, save_endpoint

pytestmark = [
    pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning"),
]

HELLO = "# Hello\n\nsome text\n"
ALL = '[tools]\nreview = "all"\n'


def start_stdio(vault: Path, *options: str, **more: Any) -> Client:
    """The official client with a `vaultbridge stdio` of its own."""
    environ = {**make_process_environ(), **make_environ(vault.parent)}
    args = ["-m", "vaultbridge", "stdio", str(vault), *options]
    parameters = StdioServerParameters(command=sys.executable, args=args, env=environ)
    return Client(parameters, **{"mode": "legacy", **more})


def connect(served: Served, way: str, **more: Any) -> Client:
    """A client in one of the ways in which assistants connect."""
    if way == "stdio":
        return start_stdio(served.vault, "--review", "all", **more)
    if way == "sse":
        return Client(sse_client(f"{served.url}/sse"), mode="legacy", **more)
    return Client(f"{served.url}/mcp", mode="2026-07-28" if way == "stateless" else "legacy", **more)


WAYS = ["stdio", "mcp", "stateless", "sse"]


def read_data(result: types.CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    envelope: dict[str, Any] = json.loads(block.text)
    assert envelope["success"] is True
    data: dict[str, Any] = envelope["data"]
    return data


def read_text(result: types.CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, types.TextContent))


def append(client: Client, content: str = "more", **more: Any) -> asyncio.Task[types.CallToolResult]:
    call = client.call_tool(
        "obsidian_edit_note", {"name": "Hello", "op": "append", "content": content}, **more
    )
    return asyncio.ensure_future(call)


@pytest.mark.parametrize("way", WAYS)
async def test_an_edit_waits_until_a_person_accepts(serving: Serving, way: str) -> None:
    async with serving(ALL) as served, person(served.vault) as page, connect(served, way) as client:
        call = append(client)
        shown = await page.next("proposalOpened")
        assert (shown["kind"], shown["tool"], shown["status"]) == ("tool", "edit_note", "waiting")
        (file,) = shown["files"]
        assert (file["path"], file["oldText"], file["newText"]) == ("Hello.md", HELLO, HELLO + "more\n")
        assert file["hunks"][0]["lines"][-1] == "+more"
        assert read(served.vault) == HELLO
        assert not call.done()
        decided = await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept")
        answer = read_data(await asyncio.wait_for(call, BOUND))
        closed = await page.next("proposalClosed")
        assert (decided["outcome"], closed["status"], closed["by"]) == ("accepted", "accepted", "page")
        assert answer["path"] == "Hello.md"
        assert answer["change"] == decided["change"] == closed["change"]
        assert read(served.vault) == HELLO + "more\n"
        ((number, actor, label),) = read_journal(served.vault)
        assert (number, label) == (answer["change"], "append")
        assert actor == shown["assistant"]
        undone = await page.request("undoProposal", id=shown["id"])
        assert undone["change"] > number
        assert read(served.vault) == HELLO


async def test_a_rejection_reaches_the_assistant_with_its_reason(serving: Serving) -> None:
    async with serving(ALL) as served, person(served.vault) as page, connect(served, "stdio") as client:
        call = append(client)
        shown = await page.next("proposalOpened")
        await page.request("decide", id=shown["id"], action="reject", reason="Put it into the daily note.")
        result = await asyncio.wait_for(call, BOUND)
        assert result.is_error
        assert "They say: Put it into the daily note." in read_text(result)
        assert (read(served.vault), read_journal(served.vault)) == (HELLO, [])
        reported = await client.call_tool("obsidian_history", {"id": shown["id"]})
        assert read_text(reported).startswith(f"{shown['id']}  rejected: rejected by a person (page)")


async def test_a_person_edits_first_and_accepts_one_hunk(serving: Serving) -> None:
    async with serving(ALL) as served, person(served.vault) as page, connect(served, "mcp") as client:
        call = append(client)
        shown = await page.next("proposalOpened")
        files = [{"path": "Hello.md", "text": HELLO + "mine\n"}]
        await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept", files=files)
        answer = read_data(await asyncio.wait_for(call, BOUND))
        assert "changed this before accepting" in answer["notices"][0]
        assert read(served.vault) == HELLO + "mine\n"
        (served.vault / "Hello.md").write_text("".join(f"line {n}\n" for n in range(20)), "utf-8")
        both = [
            {"op": "replace_text", "name": "Hello", "old": f"line {n}\n", "new": f"LINE {n}\n"}
            for n in (2, 17)
        ]
        batch = asyncio.ensure_future(client.call_tool("obsidian_batch", {"operations": both}))
        shown = await page.next("proposalOpened")
        assert len(shown["files"][0]["hunks"]) == 2
        files = [{"path": "Hello.md", "hunks": [1]}]
        await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept", files=files)
        read_data(await asyncio.wait_for(batch, BOUND))
        assert "LINE 17" in read(served.vault)
        assert "LINE 2\n" not in read(served.vault)


async def test_a_change_meanwhile_is_merged_and_a_conflict_shown_again(serving: Serving) -> None:
    text = "".join(f"line {n}\n" for n in range(20))
    async with serving(ALL) as served, person(served.vault) as page, connect(served, "mcp") as client:
        (served.vault / "Hello.md").write_text(text, "utf-8")
        arguments = {"name": "Hello", "op": "replace_text", "old": "line 2\n", "new": "LINE 2\n"}
        call = asyncio.ensure_future(client.call_tool("obsidian_edit_note", arguments))
        shown = await page.next("proposalOpened")
        (served.vault / "Hello.md").write_text(text.replace("line 15\n", "mine\n"), "utf-8")
        changed = await page.next("proposalChanged")
        assert "mine\n" in changed["files"][0]["newText"]
        assert [change["by"] for change in changed["elsewhere"]] == ["another program"]
        conflicting = text.replace("line 2\n", "also mine\n")
        (served.vault / "Hello.md").write_text(conflicting, "utf-8")
        await page.next("proposalChanged")
        again = await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept")
        assert again["outcome"] == "shown-again"
        assert again["proposal"]["conflict"]
        assert read(served.vault) == conflicting
        files = [{"path": "Hello.md", "text": text.replace("line 2\n", "both\n")}]
        seen = again["proposal"]["hash"]
        decided = await page.request("decide", id=shown["id"], hash=seen, action="accept", files=files)
        assert decided["outcome"] == "accepted"
        read_data(await asyncio.wait_for(call, BOUND))
        assert "both\n" in read(served.vault)


@pytest.mark.parametrize("way", ["stdio", "mcp"])
async def test_a_call_that_waited_long_enough_is_pending(serving: Serving, way: str) -> None:
    config = f"{ALL}\n[limits]\nreview_seconds = 1\n"
    heard: list[tuple[float, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, message))

    async with serving(config) as served, person(served.vault) as page, connect(served, way) as client:
        if way == "stdio":
            (served.home / ".config" / "vaultbridge").mkdir(parents=True, exist_ok=True)
        answer = read_data(await append(client, progress_callback=progress))
        assert answer["status"] == "pending"
        assert heard[0][1] == f"Waiting for a person to decide on {answer['id']}"
        reported = await client.call_tool("obsidian_history", {"id": answer["id"]})
        assert read_text(reported).startswith(f"{answer['id']}  pending: waiting for review")
        assert read(served.vault) == HELLO
        shown = await page.next("proposalOpened")
        decided = await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept")
        reported = await client.call_tool("obsidian_history", {"id": answer["id"]})
        expected = f"{answer['id']}  accepted: accepted by a person (page) as change {decided['change']}"
        assert read_text(reported).startswith(expected)
        assert read(served.vault) == HELLO + "more\n"


@pytest.mark.parametrize(
    ("way", "action", "content"),
    [
        ("stdio", "accept", {"apply": True}),
        ("stdio", "decline", None),
        ("mcp", "accept", {"apply": True}),
        ("mcp", "accept", {"apply": False}),
        ("stateless", "accept", {"apply": True}),
        ("stateless", "decline", None),
    ],
)
async def test_a_client_with_elicitation_asks_its_user(
    serving: Serving, way: str, action: Any, content: Any
) -> None:
    asked: list[str] = []

    async def answer(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action=action, content=content)

    async with serving(ALL) as served, connect(served, way, elicitation_callback=answer) as client:
        result = await asyncio.wait_for(append(client), BOUND)
        (message,) = asked
        assert "Hello.md (changed)" in message
        assert "+more" in message
        if content == {"apply": True}:
            read_data(result)
            assert read(served.vault) == HELLO + "more\n"
            reported = await client.call_tool("obsidian_history", {"id": "p1"})
            assert "by a person (the client's dialog)" in read_text(reported)
        else:
            assert result.is_error
            assert read(served.vault) == HELLO


@pytest.mark.parametrize("way", ["stdio", "mcp", "stateless"])
async def test_what_is_saved_while_the_client_asks_its_user_is_shown_before_it_is_deleted(
    serving: Serving, way: str
) -> None:
    """As it was found with clients that repeat the call with the answer: what the user had accepted was one
    text, and another one was deleted."""
    asked: list[str] = []

    async with serving(ALL) as served:

        async def answer(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
            asked.append(params.message)
            if len(asked) > 1:
                return types.ElicitResult(action="decline")
            (served.vault / "Hello.md").write_text("an hour of work\n", "utf-8")
            return types.ElicitResult(action="accept", content={"apply": True})

        async with connect(served, way, elicitation_callback=answer) as client:
            call = client.call_tool("obsidian_delete_note", {"path": "Hello.md"})
            result = await asyncio.wait_for(call, BOUND)
            assert result.is_error
            assert len(asked) == 2
            assert "-an hour of work" in asked[1]
            assert read(served.vault) == "an hour of work\n"


async def test_a_client_is_not_asked_while_the_page_is_open(serving: Serving) -> None:
    async def answer(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        raise AssertionError("the client was asked")

    async with (
        serving(ALL) as served,
        person(served.vault) as page,
        connect(served, "mcp", elicitation_callback=answer) as client,
    ):
        call = append(client)
        shown = await page.next("proposalOpened")
        await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept")
        read_data(await asyncio.wait_for(call, BOUND))


@pytest.mark.parametrize("way", ["stdio", "mcp"])
async def test_with_nobody_to_ask_the_answer_comes_at_once(serving: Serving, way: str) -> None:
    async with serving(ALL) as served, connect(served, way) as client:
        answer = read_data(await asyncio.wait_for(append(client), BOUND))
        assert answer["status"] == "pending"
        assert "Nobody can be asked right now" in answer["message"]
        assert "`vaultbridge diffs`" in answer["message"]
        async with person(served.vault) as page:
            shown = await page.next("proposalOpened")
            assert shown["id"] == answer["id"]


async def test_bridge_v1_waits_too(serving: Serving) -> None:
    async with serving(ALL) as served, person(served.vault) as page:
        call = asyncio.ensure_future(served.call("edit_note", name="Hello", op="append", content="more"))
        shown = await page.next("proposalOpened")
        await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept")
        assert (await asyncio.wait_for(call, BOUND))["success"] is True
        assert read(served.vault) == HELLO + "more\n"


async def test_a_token_has_a_policy_of_its_own(serving: Serving) -> None:
    async with serving() as served:
        _, reviewed = served.tokens.make("careful", review="all")
        _, free = served.tokens.make("free")
        arguments = {"name": "Hello", "op": "append", "content": "x"}
        answer = await served.call("edit_note", {"Authorization": f"Bearer {reviewed}"}, **arguments)
        assert json.loads(answer["content"][0]["text"])["data"]["status"] == "pending"
        assert read(served.vault) == HELLO
        answer = await served.call("edit_note", {"Authorization": f"Bearer {free}"}, **arguments)
        assert "change" in json.loads(answer["content"][0]["text"])["data"]
        async with person(served.vault) as page:
            assert (await page.next("proposalOpened"))["token"] == "careful"


async def test_the_page_sets_the_policy_for_every_process(serving: Serving) -> None:
    async with serving() as served, person(served.vault) as page, start_stdio(served.vault) as client:
        assert (await page.request("review"))["review"] == "off"
        read_data(await append(client, "free"))
        state = await page.request("setReview", review="all")
        assert (state["review"], state["set"], state["configured"]) == ("all", "all", "off")
        assert (await page.next("reviewChanged"))["review"] == "all"
        call = append(client)
        shown = await page.next("proposalOpened")
        await page.request("decide", id=shown["id"], action="reject")
        assert (await asyncio.wait_for(call, BOUND)).is_error
        assert (await page.request("setReview", review=None))["review"] == "off"
        read_data(await append(client, "free again"))
        with pytest.raises(Failed, match="off, destructive, all"):
            await page.request("setReview", review="some")


async def test_a_denied_note_appears_in_no_proposal(serving: Serving) -> None:
    """Of an assistant that may see it; the person's editor may not."""
    async with serving(f'{ALL}[scope]\ndeny = ["Private/"]\n') as served:
        (served.home / ".config" / "vaultbridge" / "config.toml").unlink()
        async with start_stdio(served.vault, "--review", "all") as client, person(served.vault) as page:
            arguments = {"name": "Diary", "op": "append", "content": "x"}
            call = asyncio.ensure_future(client.call_tool("obsidian_edit_note", arguments))
            open_call = append(client)
            shown = await page.next("proposalOpened")
            assert [file["path"] for file in shown["files"]] == ["Hello.md"]
            listed = await page.request("proposals", status="all")
            assert [proposal["id"] for proposal in listed["proposals"]] == [shown["id"]]
            for method, params in (
                ("proposal", {"id": "p1"}),
                ("decide", {"id": "p1", "action": "accept"}),
            ):
                other = {**params, "id": "p1" if shown["id"] != "p1" else "p2"}
                with pytest.raises(Failed, match="There is no proposal"):
                    await page.request(method, **other)
            await page.request("decide", id=shown["id"], action="reject")
            await asyncio.wait_for(open_call, BOUND)
            call.cancel()


async def test_accepted_changes_are_answered_as_without_review(serving: Serving) -> None:
    """The same calls, with review off and accepted one by one, give the same answers."""
    calls = [
        ("create_note", {"name": "New", "content": "text"}),
        ("edit_note", {"name": "New", "op": "append", "content": "more"}),
        ("write_daily_note", {"content": "today", "date": "2026-11-15"}),
        ("edit_canvas", {"action": "create", "name": "Board"}),
        ("add_attachment", {"name": "a.txt", "data": "aGVsbG8="}),
        ("move_note", {"name": "New", "to": "Moved"}),
        ("batch", {"operations": [{"op": "append", "name": "Hello", "content": "b"}]}),
        ("delete_note", {"name": "Moved"}),
    ]
    answers: dict[str, list[str]] = {}
    for config in ("", ALL):
        async with serving(config, "Notes" + ("2" if config else "")) as served, person(served.vault) as page:
            found = answers.setdefault(config, [])
            for tool, arguments in calls:
                call = asyncio.ensure_future(served.call(tool, **arguments))
                if config:
                    shown = await page.next("proposalOpened")
                    await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept")
                result = await asyncio.wait_for(call, BOUND)
                assert result["success"] is True, result
                found.append(result["content"][0]["text"])
    assert answers[""] == answers[ALL]


async def test_proposals_outlive_a_killed_server(tmp_path: Path) -> None:
    from support.serve import Served as Process

    vault = tmp_path / "Notes"
    vault.mkdir()
    (vault / "Hello.md").write_text(HELLO, "utf-8")
    process = Process(tmp_path / "home")
    await process.start(vault, "--review", "all")
    try:
        async with process.editor(proposals=True) as page, aiohttp.ClientSession() as http:
            url = f"http://127.0.0.1:{process.port}/bridge/v1/tools/edit_note/call"
            body = {"arguments": {"name": "Hello", "op": "append", "content": "more"}}
            posted = asyncio.ensure_future(http.post(url, json=body))
            shown = await page.next("proposalOpened")
            await process.kill()
            with pytest.raises(aiohttp.ClientError):
                await asyncio.wait_for(posted, BOUND)
        assert (vault / "Hello.md").read_text("utf-8") == HELLO
        await process.start(vault, "--review", "all")
        async with process.editor(proposals=True) as page:
            again = await page.next("proposalOpened")
            assert (again["id"], again["hash"]) == (shown["id"], shown["hash"])
            await page.request("decide", id=again["id"], hash=again["hash"], action="accept")
        assert (vault / "Hello.md").read_text("utf-8") == HELLO + "more\n"
    finally:
        await process.kill()


@pytest.mark.parametrize("killed", [False, True])
async def test_a_terminal_decides_without_a_running_server(tmp_path: Path, killed: bool) -> None:
    """If one was killed, its number may be another process's, as after a restart of the machine: the command
    then told the person to start a bridge."""
    from support.serve import Served as Process

    vault = tmp_path / "Notes"
    vault.mkdir()
    (vault / "Hello.md").write_text(HELLO, "utf-8")
    machine = Process(tmp_path / "home")
    args = ["-m", "vaultbridge", "stdio", str(vault), "--review", "all"]
    parameters = StdioServerParameters(command=sys.executable, args=args, env=dict(machine.environ))
    async with Client(parameters, mode="legacy") as client:
        first = read_data(await append(client))["id"]
        second = read_data(await append(client, "again"))["id"]
        if killed:
            (cache,) = (file.parent for file in (tmp_path / "home").rglob("index.sqlite3"))
            save_endpoint(cache, Endpoint(port=9, token=make_token(), pid=os.getpid(), vault=str(vault)))
        assert (await machine.command("diffs", vault))[1] == (
            f"{first}  Hello.md  (mcp: append)\n{second}  Hello.md  (mcp: append)\n"
        )
        code, out, _ = await machine.command("diffs", vault, first)
        assert (code, out.count("+more"), out.count("hunk 1")) == (0, 1, 1)
        code, out, _ = await machine.command("diffs", vault, first, "--accept")
        assert (code, out) == (0, "Accepted: written as change 1.\n")
        assert read(vault) == HELLO + "more\n"
        await machine.command("diffs", vault, second, "--reject", "--reason", "Once is enough.")
        reported = await client.call_tool("obsidian_history", {"id": second})
        assert "rejected by a person (terminal): Once is enough." in read_text(reported)
        code, _, err = await machine.command("diffs", vault, second, "--accept")
        assert code == 1
        assert f"{second} is no longer waiting: rejected" in err
        assert (await machine.command("diffs", vault, "--decided"))[1] == (
            f"{second}  Hello.md  (mcp: append)\n    rejected (terminal): Once is enough.\n"
            f"{first}  Hello.md  (mcp: append)\n    accepted (terminal), change 1\n"
        )
        assert (await machine.command("diffs", vault, second, "--decided"))[0] == 2


PLUGIN = """
from vaultbridge.plugins import Engine, ToolContext, operations, tool


@tool
def by_engine(vault: Engine) -> str:
    "Append by the engine."
    return vault.apply([operations.Append(note="Hello", content="engine")]).change_id


@tool(effect="reads")
def by_context(context: ToolContext) -> str:
    "Append by the context, although it says that it only reads."
    (engine,) = context.engines.values()
    return engine.apply([operations.Append(note="Hello", content="context")]).change_id
"""


async def test_a_plugin_s_changes_wait_too(serving: Serving, tmp_path: Path) -> None:
    tools = tmp_path / "home" / ".config" / "vaultbridge" / "tools"
    tools.mkdir(parents=True)
    (tools / "own.py").write_text(PLUGIN, "utf-8")
    async with serving(ALL) as served:
        for number, tool in enumerate(("by_engine", "by_context"), 1):
            answer = json.loads((await served.call(tool))["content"][0]["text"])
            assert (answer["data"]["status"], answer["data"]["id"]) == ("pending", f"p{number}")
        assert read(served.vault) == HELLO


async def test_the_configuration_decides_for_a_vault_and_is_followed(serving: Serving) -> None:
    arguments = {"name": "Hello", "op": "append", "content": "x"}

    async def is_waiting() -> bool:
        answer = await served.call("edit_note", **arguments)
        return "pending" in json.loads(answer["content"][0]["text"])["data"].get("status", "")

    async with serving() as served:
        assert not await is_waiting()
        before = served.config_file.read_text("utf-8")
        served.configure(before.replace("[[vaults]]\n", '[[vaults]]\nreview = "all"\n'))
        await served.until(is_waiting)
        served.configure(before)
        await served.until(lambda: _negate(is_waiting))


async def _negate(holds: Callable[[], Awaitable[bool]]) -> bool:
    return not await holds()


async def test_three_assistants_and_one_person(serving: Serving) -> None:
    """One over stdio, one over HTTP, one as Claude Code: accepted, edited, rejected."""
    async with (
        serving(ALL) as served,
        person(served.vault) as page,
        connect(served, "stdio", client_info=types.Implementation(name="desktop", version="1")) as desktop,
        connect(served, "mcp", client_info=types.Implementation(name="cursor", version="1")) as cursor,
        claude_code(served.vault) as claude,
    ):
        first = append(desktop, "by desktop")
        shown = await page.next("proposalOpened")
        assert shown["assistant"] == "desktop"
        await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept")
        read_data(await asyncio.wait_for(first, BOUND))
        arguments = {"name": "New", "content": "by cursor\n"}
        second = asyncio.ensure_future(cursor.call_tool("obsidian_create_note", arguments))
        shown = await page.next("proposalOpened")
        assert shown["assistant"] == "cursor"
        files = [{"path": "New.md", "text": "by cursor and me\n"}]
        await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept", files=files)
        read_data(await asyncio.wait_for(second, BOUND))
        note = str(served.vault / "Hello.md")
        third = await claude.begin(
            "tools/call",
            name="openDiff",
            arguments={
                "old_file_path": note,
                "new_file_path": note,
                "new_file_contents": "by Claude\n",
                "tab_name": "t",
            },
        )
        shown = await page.next("proposalOpened")
        assert shown["assistant"] == "claude-code"
        await page.request("decide", id=shown["id"], hash=shown["hash"], action="reject")
        assert (await claude.end(third))["content"][0]["text"] == "DIFF_REJECTED"
        assert read(served.vault) == HELLO + "by desktop\n"
        assert read(served.vault, "New.md") == "by cursor and me\n"
        assert [actor for _, actor, _ in read_journal(served.vault)] == ["cursor", "desktop"]
        for number, actor, _ in read_journal(served.vault):
            call = asyncio.ensure_future(desktop.call_tool("obsidian_undo", {"id": number}))
            shown = await page.next("proposalOpened")
            assert shown["reason"] == ("all" if actor == "desktop" else "another's")
            await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept")
            assert read_data(await asyncio.wait_for(call, BOUND))["undone"] == number
        assert read(served.vault) == HELLO
        assert not (served.vault / "New.md").exists()
