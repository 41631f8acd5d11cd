"""Diffs of Claude Code: shown like every other proposal, and in the history once the client has written."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from server.conftest import BOUND, Serving
from server.conftest import serving as serving
from support.editor import Client
from support.reviewer import claude_code, journal, person, read

pytestmark = pytest.mark.timeout(120)

HELLO = "# Hello\n\nsome text\n"


async def propose(client: Client, vault: Path, new: str, path: str = "Hello.md") -> asyncio.Future[Any]:
    file = str(vault / path)
    return await client.begin(
        "tools/call",
        name="openDiff",
        arguments={
            "old_file_path": file,
            "new_file_path": file,
            "new_file_contents": new,
            "tab_name": "tab 1",
        },
    )


async def answer(client: Client, call: asyncio.Future[Any]) -> list[str]:
    return [block["text"] for block in (await client.end(call))["content"]]


async def test_what_the_client_writes_is_its_change_and_can_be_undone(serving: Serving) -> None:
    async with serving() as served, person(served.vault) as page, claude_code(served.vault) as client:
        call = await propose(client, served.vault, HELLO + "by Claude\n")
        shown = await page.next("proposalOpened")
        assert (shown["kind"], shown["assistant"], shown["pid"]) == ("diff", "claude-code", 4242)
        decision = await page.begin("decide", id=shown["id"], hash=shown["hash"], action="accept")
        saved, text = await answer(client, call)
        assert (saved, text) == ("FILE_SAVED", HELLO + "by Claude\n")
        (served.vault / "Hello.md").write_text(text, "utf-8")
        assert (await page.end(decision))["outcome"] == "accepted"
        closed = await page.next("proposalClosed")
        ((number, actor, label),) = journal(served.vault)
        assert (number, actor, label) == (closed["change"], "claude-code", "accepted diff")
        undone = await served.call("undo", id=number)
        assert undone["success"] is True
        assert read(served.vault) == HELLO


async def test_a_new_note_that_the_client_makes_can_be_undone(serving: Serving) -> None:
    async with serving() as served, person(served.vault) as page, claude_code(served.vault) as client:
        call = await propose(client, served.vault, "new\n", "New.md")
        shown = await page.next("proposalOpened")
        assert shown["files"][0]["change"] == "created"
        decision = await page.begin("decide", id=shown["id"], hash=shown["hash"], action="accept")
        _, text = await answer(client, call)
        (served.vault / "New.md").write_text(text.rstrip("\n"), "utf-8")  # As the real client does.
        await page.end(decision)
        ((number, _, _),) = journal(served.vault)
        assert (await served.call("undo", id=number))["success"] is True
        assert not (served.vault / "New.md").exists()


async def test_an_acceptance_in_the_terminal_is_recorded_too(serving: Serving) -> None:
    async with serving() as served, person(served.vault) as page, claude_code(served.vault) as client:
        call = await propose(client, served.vault, HELLO + "by Claude\n")
        await page.next("proposalOpened")
        (served.vault / "Hello.md").write_text(HELLO + "by Claude\n", "utf-8")
        await client.tool("close_tab", tab_name="tab 1")
        await answer(client, call)
        closed = await page.next("proposalClosed")
        assert closed["status"] == "accepted-in-terminal"
        assert [row[1:] for row in journal(served.vault)] == [("claude-code", "accepted diff")]


async def test_the_server_brings_a_diff_onto_a_changed_note(serving: Serving) -> None:
    text = "".join(f"line {n}\n" for n in range(20))
    async with serving() as served:
        (served.vault / "Hello.md").write_text(text, "utf-8")
        async with person(served.vault) as page, claude_code(served.vault) as client:
            call = await propose(client, served.vault, text.replace("line 2\n", "LINE 2\n"))
            shown = await page.next("proposalOpened")
            mine = text.replace("line 15\n", "mine\n")
            (served.vault / "Hello.md").write_text(mine, "utf-8")
            changed = await page.next("proposalChanged")
            both = mine.replace("line 2\n", "LINE 2\n")
            assert changed["files"][0]["newText"] == both
            assert [one["by"] for one in changed["elsewhere"]] == ["another program"]
            decision = await page.begin("decide", id=shown["id"], hash=shown["hash"], action="accept")
            assert (await answer(client, call))[1] == both
            (served.vault / "Hello.md").write_text(both, "utf-8")
            await page.end(decision)
            assert [row[1:] for row in journal(served.vault)] == [
                ("claude-code", "accepted diff"),
                ("another program", "changed while under review"),
            ]


async def test_a_diff_in_conflict_is_shown_again(serving: Serving) -> None:
    async with serving() as served, person(served.vault) as page, claude_code(served.vault) as client:
        call = await propose(client, served.vault, "# Hello\n\nClaude's text\n")
        shown = await page.next("proposalOpened")
        (served.vault / "Hello.md").write_text("# Hello\n\nmy text\n", "utf-8")
        again = await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept")
        assert again["outcome"] == "shown-again"
        assert "in the same lines" in again["proposal"]["conflict"]
        assert not call.done()
        files = [{"path": "Hello.md", "text": "# Hello\n\nboth\n"}]
        decision = await page.begin(
            "decide", id=shown["id"], hash=again["proposal"]["hash"], action="accept", files=files
        )
        assert (await answer(client, call))[1] == "# Hello\n\nboth\n"
        (served.vault / "Hello.md").write_text("# Hello\n\nboth\n", "utf-8")
        assert (await page.end(decision))["outcome"] == "accepted"


async def test_line_ends_of_the_note_do_not_matter(serving: Serving) -> None:
    async with serving() as served:
        (served.vault / "Hello.md").write_bytes(b"one\r\ntwo\r\n")
        async with person(served.vault) as page, claude_code(served.vault) as client:
            call = await propose(client, served.vault, "one\ntwo\nthree\n")
            shown = await page.next("proposalOpened")
            assert shown["files"][0]["hunks"][0]["lines"] == [" one", " two", "+three"]
            decision = await page.begin("decide", id=shown["id"], hash=shown["hash"], action="accept")
            await answer(client, call)
            (served.vault / "Hello.md").write_bytes(b"one\r\ntwo\r\nthree\r\n")
            await asyncio.wait_for(page.end(decision), BOUND)
            ((number, _, _),) = journal(served.vault)
            await served.call("undo", id=number)
            assert (served.vault / "Hello.md").read_bytes() == b"one\r\ntwo\r\n"


async def test_a_write_by_the_client_itself_is_reviewed(serving: Serving) -> None:
    async with serving('[tools]\nreview = "all"\n') as served, claude_code(served.vault) as client:
        pending = await client.request("writeFile", path="Hello.md", content="all new\n")
        assert (pending["success"], pending["status"], pending["id"]) == (False, "pending", "p1")
        assert read(served.vault) == HELLO
        async with person(served.vault) as page:
            shown = await page.next("proposalOpened")
            assert (shown["id"], shown["reason"]) == ("p1", "overwrite")
            call = await client.begin("writeFile", path="Hello.md", content="again\n")
            second = await page.next("proposalOpened")
            await page.request("decide", id=second["id"], hash=second["hash"], action="accept")
            assert await client.end(call) == {"success": True, "path": "Hello.md"}
        assert read(served.vault) == "again\n"
