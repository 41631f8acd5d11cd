"""Diffs of Claude Code: shown like every other proposal, and in the history once the client has written."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from server.conftest import Serving
from server.conftest import serving as serving
from support.editor import Client, Failed, finish_call
from support.reviewer import claude_code, person, read, read_journal
from support.waiting import BOUND, ask_until

HELLO = "# Hello\n\nsome text\n"


async def propose(
    client: Client, vault: Path, new: str, path: str = "Hello.md", *, tab: str = "tab 1"
) -> asyncio.Future[Any]:
    file = str(vault / path)
    return await client.begin(
        "tools/call",
        name="openDiff",
        arguments={
            "old_file_path": file,
            "new_file_path": file,
            "new_file_contents": new,
            "tab_name": tab,
        },
    )


async def test_what_the_client_writes_is_its_change_and_can_be_undone(serving: Serving) -> None:
    async with serving() as served, person(served.vault) as page, claude_code(served.vault) as client:
        call = await propose(client, served.vault, HELLO + "by Claude\n")
        shown = await page.next("proposalOpened")
        assert (shown["kind"], shown["assistant"], shown["pid"]) == ("diff", "claude-code", 4242)
        decision = await page.begin("decide", id=shown["id"], hash=shown["hash"], action="accept")
        saved, text = await finish_call(client, call)
        assert (saved, text) == ("FILE_SAVED", HELLO + "by Claude\n")
        (served.vault / "Hello.md").write_text(text, "utf-8")
        assert (await page.end(decision))["outcome"] == "accepted"
        closed = await page.next("proposalClosed")
        ((number, actor, label),) = read_journal(served.vault)
        assert (number, actor, label) == (closed["change"], "claude-code", "accepted diff")
        await page.request("undoChange", change=number)
        assert read(served.vault) == HELLO


async def test_a_new_note_that_the_client_makes_can_be_undone(serving: Serving) -> None:
    async with serving() as served, person(served.vault) as page, claude_code(served.vault) as client:
        call = await propose(client, served.vault, "new\n", "New.md")
        shown = await page.next("proposalOpened")
        assert shown["files"][0]["change"] == "created"
        decision = await page.begin("decide", id=shown["id"], hash=shown["hash"], action="accept")
        _, text = await finish_call(client, call)
        (served.vault / "New.md").write_text(text.rstrip("\n"), "utf-8")  # As the real client does.
        await page.end(decision)
        ((number, _, _),) = read_journal(served.vault)
        await page.request("undoChange", change=number)
        assert not (served.vault / "New.md").exists()


async def test_an_acceptance_in_the_terminal_is_recorded_too(serving: Serving) -> None:
    async with serving() as served, person(served.vault) as page, claude_code(served.vault) as client:
        call = await propose(client, served.vault, HELLO + "by Claude\n")
        await page.next("proposalOpened")
        (served.vault / "Hello.md").write_text(HELLO + "by Claude\n", "utf-8")
        await client.tool("close_tab", tab_name="tab 1")
        await finish_call(client, call)
        closed = await page.next("proposalClosed")
        assert closed["status"] == "accepted-in-terminal"
        assert [row[1:] for row in read_journal(served.vault)] == [("claude-code", "accepted diff")]


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
            assert [change["by"] for change in changed["elsewhere"]] == ["another program"]
            decision = await page.begin("decide", id=shown["id"], hash=shown["hash"], action="accept")
            # The client gets its own change alone, and carries it over to the note as it is now.
            assert (await finish_call(client, call))[1] == text.replace("line 2\n", "LINE 2\n")
            (served.vault / "Hello.md").write_text(both, "utf-8")
            await page.end(decision)
            assert [row[1:] for row in read_journal(served.vault)] == [
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
        assert (await finish_call(client, call))[1] == "# Hello\n\nboth\n"
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
            await finish_call(client, call)
            (served.vault / "Hello.md").write_bytes(b"one\r\ntwo\r\nthree\r\n")
            await asyncio.wait_for(page.end(decision), BOUND)
            ((number, _, _),) = read_journal(served.vault)
            await page.request("undoChange", change=number)
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


async def test_a_write_that_waits_for_a_person_does_not_hold_up_the_next_one(serving: Serving) -> None:
    """Changes of one client run one after another, unless one waits for a person."""
    async with (
        serving('[tools]\nreview = "all"\n') as served,
        person(served.vault) as page,
        claude_code(served.vault) as client,
    ):
        calls = [
            await client.begin("writeFile", path="Hello.md", content=f"{number}\n") for number in range(2)
        ]
        tool = await client.begin(
            "tools/call",
            name="obsidian_edit_note",
            arguments={"name": "Hello", "op": "append", "content": "more"},
        )
        shown = [await page.next("proposalOpened") for _ in range(3)]
        for proposal in shown:
            await page.request("decide", id=proposal["id"], hash=proposal["hash"], action="reject")
        for call in (*calls, tool):
            await asyncio.wait_for(asyncio.wait({call}), BOUND)
        assert read(served.vault) == HELLO


async def test_decided_diffs_are_listed_with_every_other_proposal(serving: Serving) -> None:
    """In one list, whoever looks, also after a restart; what was written can be undone from there."""
    async with serving('[tools]\nreview = "all"\n') as served:
        async with person(served.vault, "obsidian") as app, claude_code(served.vault) as client:
            tool = asyncio.ensure_future(
                served.call("edit_note", name="Hello", op="append", content="by a tool")
            )
            first = await app.next("proposalOpened")
            await app.request("decide", id=first["id"], hash=first["hash"], action="accept")
            await asyncio.wait_for(tool, BOUND)
            text = read(served.vault)

            call = await propose(client, served.vault, text + "by Claude\n")
            diff = await app.next("proposalOpened")
            listed = await app.request("proposals", status="all")
            assert [(proposal["id"], proposal["status"]) for proposal in listed["proposals"]] == [
                (diff["id"], "waiting"),
                (first["id"], "accepted"),
            ]
            files = [{"path": "Hello.md", "text": text + "by Claude and me\n"}]
            decision = await app.begin(
                "decide", id=diff["id"], hash=diff["hash"], action="accept", files=files
            )
            _, final = await finish_call(client, call)
            (served.vault / "Hello.md").write_text(final, "utf-8")
            await app.end(decision)
            closed = await app.next("proposalClosed")
            while not closed["change"]:
                closed = await app.next("proposalClosed")
            assert (closed["id"], closed["status"], closed["by"]) == (diff["id"], "edited", "obsidian")

            await propose(client, served.vault, "no\n")
            refused = await app.next("proposalOpened")
            await app.request("decide", id=refused["id"], action="reject", reason="Too short.")
            await propose(client, served.vault, "never mind\n")
            dropped = await app.next("proposalOpened")
            await client.tool("close_tab", tab_name="tab 1")
        async with person(served.vault) as page:

            async def list_withdrawn() -> list[dict[str, Any]]:
                proposals: list[dict[str, Any]] = (await page.request("proposals", status="all"))["proposals"]
                return proposals if proposals[0]["id"] == dropped["id"] else []

            # The note shows only after a while that it was not accepted in the terminal.
            listed = await ask_until(list_withdrawn)
            seen = [(entry["id"], entry["kind"], entry["status"], entry["decided"]["by"]) for entry in listed]
            assert seen == [
                (dropped["id"], "diff", "withdrawn", ""),
                (refused["id"], "diff", "rejected", "obsidian"),
                (diff["id"], "diff", "edited", "obsidian"),
                (first["id"], "tool", "accepted", "obsidian"),
            ]
            assert listed[1]["decided"]["reason"] == "Too short."
            assert listed[2]["decided"]["change"] == closed["change"]
            with pytest.raises(Failed, match="has changed nothing"):
                await page.request("undoProposal", id=refused["id"])
            await page.request("undoProposal", id=diff["id"])
            assert read(served.vault) == text
            listed = (await page.request("proposals", status="all"))["proposals"]
            assert [proposal["decided"]["undone"] for proposal in listed] == [False, False, True, False]
    async with serving() as again, person(again.vault) as page:
        after = (await page.request("proposals", status="all"))["proposals"]
        assert [item["id"] for item in after] == [candidate["id"] for candidate in listed]
        async with claude_code(again.vault) as client:
            await propose(client, again.vault, "one more\n")
            assert (await page.next("proposalOpened"))["id"] not in {proposal["id"] for proposal in after}


async def test_a_decided_diff_of_a_denied_note_is_not_shown(serving: Serving) -> None:
    async with serving() as served, person(served.vault) as page, claude_code(served.vault) as client:
        await propose(client, served.vault, "other\n", "Private/Diary.md")
        shown = await page.next("proposalOpened")
        await page.request("decide", id=shown["id"], action="reject")
        assert len((await page.request("proposals", status="all"))["proposals"]) == 1
    async with serving('[scope]\ndeny = ["Private/"]\n') as served, person(served.vault) as page:
        assert (await page.request("proposals", status="all"))["proposals"] == []
        with pytest.raises(Failed, match="There is no proposal"):
            await page.request("undoProposal", id=shown["id"])


async def test_a_preview_shows_what_an_edit_would_write(serving: Serving) -> None:
    """The hunks of a person's own text, and that text on a note that has changed meanwhile."""
    text = "".join(f"line {n}\n" for n in range(20))
    async with serving('[tools]\nreview = "all"\n') as served:
        (served.vault / "Hello.md").write_text(text, "utf-8")
        async with person(served.vault) as page, claude_code(served.vault) as client:
            await propose(client, served.vault, text.replace("line 2\n", "LINE 2\n"))
            diff = await page.next("proposalOpened")
            arguments = {"name": "Hello", "op": "replace_text", "old": "line 2\n", "new": "LINE 2\n"}
            call = asyncio.ensure_future(served.call("edit_note", **arguments))
            tool = await page.next("proposalOpened")
            for shown in (diff, tool):
                files = [{"path": "Hello.md", "text": text.replace("line 2\n", "mine\n")}]
                asked = {"id": shown["id"], "hash": shown["hash"], "files": files}
                found = await page.request("preview", **asked)
                assert found["outcome"] == "fits"
                assert found["proposal"]["hash"] == shown["hash"]
                (hunk,) = found["proposal"]["files"][0]["hunks"]
                assert [line for line in hunk["lines"] if line[0] != " "] == ["-line 2", "+mine"]
            (served.vault / "Hello.md").write_text(text.replace("line 15\n", "elsewhere\n"), "utf-8")
            for shown in (diff, tool):
                asked = {"id": shown["id"], "hash": shown["hash"], "files": files}
                found = await page.request("preview", **asked)
                assert found["outcome"] == "fits"
                assert "elsewhere\n" in found["proposal"]["files"][0]["newText"]
                assert found["proposal"]["hash"] != shown["hash"]
            (served.vault / "Hello.md").write_text(text.replace("line 2\n", "the same line\n"), "utf-8")
            for shown in (diff, tool):
                asked = {"id": shown["id"], "hash": shown["hash"], "files": files}
                found = await page.request("preview", **asked)
                assert found["outcome"] == "shown-again"
                assert "in the same lines" in found["proposal"]["conflict"]
                # A text for the note as it is now is what the person wants, whatever was proposed.
                asked["hash"] = found["proposal"]["hash"]
                found = await page.request("preview", **asked)
                assert (found["outcome"], found["proposal"]["conflict"]) == ("fits", "")
                (hunk,) = found["proposal"]["files"][0]["hunks"]
                assert "-the same line" in hunk["lines"]
            assert read(served.vault) == text.replace("line 2\n", "the same line\n")
            await page.request("decide", id=tool["id"], action="reject")
            await asyncio.wait_for(call, BOUND)
            with pytest.raises(Failed, match="is no longer waiting: rejected"):
                await page.request("preview", id=tool["id"])


async def test_an_editor_learns_what_was_lost_of_the_journal(serving: Serving) -> None:
    async with serving() as served, person(served.vault, "obsidian") as app:
        await served.call("edit_note", name="Hello", op="append", content="more")
        assert (await app.request("status"))["notices"] == []
        (journal,) = served.vault.parent.glob("cache/state/*/journal.sqlite")
        journal.unlink()
        (notice,) = (await app.request("activity"))["notices"]
        assert "The journal was gone: changes up to 1" in notice
        assert (await app.request("status"))["notices"] == [notice]


async def test_an_editor_learns_what_was_done_in_its_vault(serving: Serving) -> None:
    async with serving() as served, person(served.vault, "obsidian") as app:
        await served.call("read_note", name="Hello")
        await served.call("edit_note", name="Hello", op="append", content="more")
        found = await app.request("activity", limit=1)
        (entry,) = found["entries"]
        assert entry["kind"] == "change"
        assert "Hello.md" in entry["text"]
        found = await app.request("activity", before=found["next"])
        assert [other["kind"] for other in found["entries"]] == ["read", "connect"]
        assert await app.request("activity", kinds=["search"]) | {"newest": 0, "remembers": 0} == {
            "entries": [],
            "next": None,
            "newest": 0,
            "notices": [],
            "remembers": 0,
        }
        for wrong in ({"limit": 0}, {"limit": 201}, {"kinds": ["poetry"]}, {"before": "x"}):
            with pytest.raises(Failed) as refused:
                await app.request("activity", **wrong)
            assert refused.value.code == -32602
        undone = await app.request("undoChange", change=entry["change"])
        assert undone["change"] > entry["change"]
        assert read(served.vault) == HELLO
        with pytest.raises(Failed, match="has already been undone"):
            await app.request("undoChange", change=entry["change"])


async def test_the_names_of_claude_code_s_tabs_are_shown_to_nobody(serving: Serving) -> None:
    async with serving() as served, person(served.vault) as page, claude_code(served.vault) as client:
        call = await propose(client, served.vault, "new\n", tab="✻ [Claude Code] Hello.md (93aaad) ⧉")
        shown = await page.next("proposalOpened")
        assert shown["label"] == "diff"
        await page.request("decide", id=shown["id"], action="reject")
        await finish_call(client, call)
        (decided,) = (await page.request("proposals", status="all"))["proposals"]
        assert (decided["id"], decided["label"]) == (shown["id"], "diff")
