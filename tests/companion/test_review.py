"""Review and activity in the app, beside a real `vaultbridge serve`: changes of every kind of assistant."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from mcp.client import Client as McpClient
from mcp.client.stdio import StdioServerParameters
from mcp.types import Implementation

from companion.obsidian import Obsidian, make_absolute, needs_node, obsidian
from support.editor import Client
from support.serve import Home, hosted
from support.waiting import BOUND

pytestmark = needs_node

NOTE = "My Folder/Käse Note.md"
TEXT = "".join(f"line {n}\n" for n in range(1, 31))

VAULT_NAME = "Mein Tresor é"
VAULT_LINK = "link"
VAULT = {"Plain.md": "one\ntwo 𝄞\nthree\n", NOTE: TEXT, "Private/Diary.md": "dear\n"}


@pytest.fixture
async def server(tmp_path: Path, vault: Path) -> AsyncIterator[Home]:
    config = '[scope]\ndeny = ["Private/"]\n[tools]\nreview = "all"\n'
    async with hosted(tmp_path / "home", vault, config=config) as server:
        yield server


async def propose(client: Client, vault: Path, note: str, text: str) -> Any:
    """Claude Code asks for a decision; to be given to `finish_call`."""
    place = make_absolute(vault, note)
    arguments = {
        "old_file_path": place,
        "new_file_path": place,
        "new_file_contents": text,
        "tab_name": f"tab {note}",
    }
    return await client.begin("tools/call", name="openDiff", arguments=arguments)


async def finish_call(client: Client, asked: Any) -> list[str]:
    result = await client.end(asked)
    assert not result.get("isError"), result
    return [block["text"] for block in result["content"]]


def start(call: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    return asyncio.ensure_future(asyncio.wait_for(call, BOUND))


async def call_bridge_v1(server: Home, tool: str, **arguments: Any) -> dict[str, Any]:
    url = f"http://127.0.0.1:{server.port}/bridge/v1/tools/{tool}/call"
    async with aiohttp.ClientSession() as http, http.post(url, json={"arguments": arguments}) as response:
        answer: dict[str, Any] = await response.json()
        return answer


def edit(server: Home, old: str, new: str, note: str = NOTE) -> asyncio.Task[Any]:
    """A change over Bridge v1 that waits for the person."""
    return start(call_bridge_v1(server, "edit_note", path=note, op="replace_text", old=old, new=new))


def read(vault: Path, note: str = NOTE) -> str:
    return (vault / note).read_bytes().decode("utf-8")


# every assistant


async def test_changes_of_every_kind_of_assistant_are_decided_here(
    app: Obsidian, client: Client, server: Home, vault: Path
) -> None:
    """One over stdio is accepted, one over /mcp is edited, one over Bridge v1 is rejected with a reason, and
    one of Claude Code is accepted in part. Disk, history and the list of what was decided agree."""
    command = ["-m", "vaultbridge", "stdio", str(vault), "--review", "all"]
    desktop = StdioServerParameters(command=sys.executable, args=command, env=dict(server.environ))
    url = f"http://127.0.0.1:{server.port}/mcp"
    async with (
        McpClient(
            desktop, client_info=Implementation(name="claude-ai", version="1"), mode="legacy"
        ) as desktop_client,
        McpClient(
            url, client_info=Implementation(name="cursor-vscode", version="2"), mode="legacy"
        ) as cursor_client,
    ):
        arguments = {"path": NOTE, "op": "replace_text", "old": "line 2\n", "new": "from stdio\n"}
        first = start(desktop_client.call_tool("obsidian_edit_note", arguments))
        [card] = await app.until("cards", "it.length === 1")
        assert (card["path"], card["minus"], card["plus"]) == (NOTE, ["line 2"], ["from stdio"])
        [card] = await app.until("cards", "it[0].summary.startsWith('Claude Desktop · edit_note, ')")
        assert "+1 −1" in card["summary"]
        assert read(vault) == TEXT
        await app.do("press", note=NOTE, button="Accept")
        assert not (await first).is_error
        text = TEXT.replace("line 2\n", "from stdio\n")
        assert read(vault) == text

        arguments = {"path": NOTE, "op": "append", "content": "from Cursor"}
        second = start(cursor_client.call_tool("obsidian_edit_note", arguments))
        await app.until("cards", "it.length === 1 && it[0].plus[0] === 'from Cursor'")
        await app.do("press", note=NOTE, button="Edit")
        [card] = await app.until("cards", "it[0].text !== null")
        assert card["text"] == text + "from Cursor\n"
        await app.do("type", note=NOTE, text=text + "from Cursor and me\n")
        await app.do("press", note=NOTE, button="Show the changes")
        [card] = await app.until("cards", "it[0].text === null")
        assert card["plus"] == ["from Cursor and me"] and "edited by you" in card["summary"]
        await app.do("press", note=NOTE, button="Accept my version")
        assert not (await second).is_error
        assert read(vault) == text + "from Cursor and me\n"

        third = edit(server, "line 4\n", "from a script\n")
        await app.until("cards", "it.length === 1 && it[0].plus[0] === 'from a script'")
        await app.do("giveReason", note=NOTE, text="  Not in this note.  ")
        await app.do("press", note=NOTE, button="Reject")
        assert "They say: Not in this note." in str(await third)

        text = read(vault)
        proposed = text.replace("line 6\n", "claude 6\n").replace("line 25\n", "claude 25\n")
        fourth = await propose(client, vault, NOTE, proposed)
        [card] = await app.until("cards", "it.length === 1 && it[0].changes.length === 2")
        assert card["changes"] == ["Change 1 of 2, line 6", "Change 2 of 2, line 25"]
        await app.do("choose", note=NOTE, change=0, take=False)
        await app.do("press", note=NOTE, button="Accept 1 of 2 changes")
        kept = text.replace("line 25\n", "claude 25\n")
        assert await finish_call(client, fourth) == ["FILE_SAVED", kept]
        (vault / NOTE).write_text(kept, "utf-8")  # as Claude Code does

        await app.until("cards", "!it.length")
        await app.do("showPanel", name="decided")
        rows = await app.until("decided", "it.length === 4 && it[0].includes('change 3')")
        assert [row.startswith(NOTE) for row in rows] == [True] * 4
        assert "accepted with your edits · Claude Code" in rows[0]
        assert "rejected" in rows[1] and "“Not in this note.”" in rows[1]
        assert "accepted with your edits · Cursor" in rows[2] and "change 2" in rows[2]
        assert "accepted · Claude Desktop" in rows[3] and "by obsidian" in rows[3]

        # What Claude Code wrote itself is undone from the same list.
        await app.do("pressIn", panel="decided", button=f"Undo {NOTE}")
        await app.until("decided", "it[0].includes('undone')")
        assert read(vault) == text

        await app.do("showPanel", name="activity")
        done = await app.until("activity", "it.some((row) => row.includes('undid change 3'))")
        assert any("Claude Desktop" in row for row in done)
        seen = await app.until("assistants", "it.length >= 4")
        assert {"Claude Desktop", "Cursor", "Claude Code"} <= {
            name for name in ("Claude Desktop", "Cursor", "Claude Code") for row in seen if name in row
        }


async def test_several_files_are_one_proposal(app: Obsidian, server: Home, vault: Path) -> None:
    operations = [
        {"op": "replace_text", "path": NOTE, "old": "line 2\n", "new": "second\n"},
        {"op": "create", "path": "New.md", "content": "new\n"},
        {"op": "append", "path": "Plain.md", "content": "four"},
    ]
    call = start(call_bridge_v1(server, "batch", operations=operations))
    [card] = await app.until("cards", "it.length")
    assert card["path"] == "3 files" and card["plus"] == ["second", "new", "four"]
    assert "Edit" in card["buttons"] and "Open the note" not in card["buttons"]
    # The second file is left out, the third gets the person's own text.
    await app.do("choose", note="3 files", change=1, take=False)
    await app.do("pressEdit", note="3 files", file="Plain.md")
    await app.until("cards", "it[0].text !== null")
    await app.do("type", note="3 files", text="mine\n")
    await app.do("press", note="3 files", button="Accept my version")
    await call
    assert read(vault) == TEXT.replace("line 2\n", "second\n")
    assert read(vault, "Plain.md") == "mine\n"
    assert not (vault / "New.md").exists()


async def test_a_note_that_would_be_deleted_or_moved_is_shown_and_decided_as_a_whole(
    app: Obsidian, server: Home, vault: Path
) -> None:
    call = start(call_bridge_v1(server, "delete_note", path="Plain.md"))
    [card] = await app.until("cards", "it.length")
    assert "deletes" in card["summary"] and card["changes"] == [] and "Edit" not in card["buttons"]
    await app.do("press", note="Plain.md", button="Reject")
    await call
    assert (vault / "Plain.md").exists()
    await app.until("cards", "!it.length")
    call = start(call_bridge_v1(server, "move_note", path="Plain.md", to="Moved.md"))
    # The other card goes a moment after its answer.
    [card] = await app.until("cards", "it.length === 1 && it[0].path.includes('Moved')")
    assert card["path"] == "Plain.md → Moved.md"
    await app.do("press", note="Plain.md → Moved.md", button="Accept")
    await call
    assert (vault / "Moved.md").exists()


async def test_the_number_of_a_change_that_is_written_late_appears_by_itself(
    app: Obsidian, client: Client, vault: Path
) -> None:
    asked = await propose(client, vault, NOTE, TEXT + "more\n")
    await app.until("cards", "it.length")
    await app.do("press", note=NOTE, button="Accept")
    assert (await finish_call(client, asked))[0] == "FILE_SAVED"
    await app.do("showPanel", name="decided")
    [row] = await app.until("decided", "it.length === 1 && it[0].includes('accepted')")
    assert "change" not in row and "Undo" not in row
    (vault / NOTE).write_text(TEXT + "more\n", "utf-8")
    await app.until("decided", "it[0].includes('change 1') && it[0].includes('Undo')")


async def test_an_accepted_change_is_undone_from_its_notice(app: Obsidian, server: Home, vault: Path) -> None:
    call = edit(server, "line 2\n", "second\n")
    await app.until("cards", "it.length")
    await app.do("press", note=NOTE, button="Accept")
    await call
    [message] = await app.until("openNotices", "it.length")
    assert message == f"{NOTE}: Accepted: written as change 1.Undo"
    await app.do("pressNotice")
    await app.until("notices", "it.some((notice) => notice === 'p1 is undone.')")
    assert read(vault) == TEXT


async def test_all_that_one_assistant_proposes_is_accepted_and_undone_together(
    app: Obsidian, server: Home, vault: Path
) -> None:
    calls = [edit(server, "line 2\n", "second\n"), edit(server, "three\n", "3\n", note="Plain.md")]
    await app.until("cards", "it.length === 2")
    [take] = await app.until("all", "it.length === 1")
    assert take.startswith("Accept all 2 by ")
    await app.do("pressIn", panel="waiting", button=take)
    sure, _ = await app.until("all", "it.length === 2")
    await app.do("pressIn", panel="waiting", button=sure)
    for call in calls:
        await call
    assert read(vault) == TEXT.replace("line 2\n", "second\n")
    assert read(vault, "Plain.md").endswith("3\n")
    [message] = await app.until("openNotices", "it.length === 1 && it[0].includes('Undo all') && it")
    assert message.startswith("Accepted 2 changes by ")
    await app.do("pressNotice")
    await app.until("notices", "it.filter((notice) => notice.endsWith('is undone.')).length === 2")
    assert read(vault) == TEXT and read(vault, "Plain.md") == VAULT["Plain.md"]


async def test_a_denied_note_is_neither_proposed_nor_mentioned(
    app: Obsidian, server: Home, vault: Path
) -> None:
    environ = {**server.environ}
    command = ["-m", "vaultbridge", "stdio", str(vault), "--review", "all"]
    parameters = StdioServerParameters(command=sys.executable, args=command, env=environ)
    async with McpClient(parameters, mode="legacy") as client:
        arguments = {"path": "Private/Diary.md", "op": "append", "content": "more"}
        hidden = start(client.call_tool("obsidian_edit_note", arguments))
        call = edit(server, "line 2\n", "second\n")
        [card] = await app.until("cards", "it.length")
        assert card["path"] == NOTE
        await app.do("press", note=NOTE, button="Reject")
        await call
        for panel in ("decided", "activity"):
            await app.do("showPanel", name=panel)
            rows = await app.until(panel, "it.length")
            assert not any("Diary" in row for row in rows)
        hidden.cancel()


# Claude Code's own diffs


async def test_the_assistant_gets_an_accepted_change(app: Obsidian, client: Client, vault: Path) -> None:
    new = TEXT.replace("line 2\n", "LINE 2\n")
    asked = await propose(client, vault, NOTE, new)
    [card] = await app.until("cards", "it.length")
    assert (card["path"], card["minus"], card["plus"]) == (NOTE, ["line 2"], ["LINE 2"])
    assert "1 change · +1 −1" in card["summary"] and not card["warning"]
    assert await app.see("focused") == NOTE
    await app.until("status", "it === 'Bridge: 1 change'")
    await app.do("press", note=NOTE, button="Accept")
    assert await finish_call(client, asked) == ["FILE_SAVED", new]
    await app.until("cards", "!it.length")
    assert read(vault) == TEXT  # the client writes, not the companion
    await app.until("announcement", f"it === 'The change to {NOTE} was accepted.'")
    assert await app.see("focused") == "No changes to review."


async def test_one_part_alone_is_accepted(app: Obsidian, client: Client, vault: Path) -> None:
    new = TEXT.replace("line 2\n", "LINE 2\n").replace("line 15\n", "LINE 15\n").replace("line 29\n", "")
    asked = await propose(client, vault, NOTE, new)
    [card] = await app.until("cards", "it.length")
    assert [row[-7:] for row in card["changes"]] == [" line 2", "line 15", "line 29"]
    await app.do("pressIn", panel="waiting", button="Only this: change 2")
    [card] = await app.see("cards")
    assert card["buttons"].count("Only this") == 3
    await app.do("press", note=NOTE, button="Accept 1 of 3 changes")
    assert await finish_call(client, asked) == ["FILE_SAVED", TEXT.replace("line 15\n", "LINE 15\n")]


async def test_a_change_without_a_chosen_part_can_only_be_rejected(
    app: Obsidian, client: Client, vault: Path
) -> None:
    asked = await propose(client, vault, NOTE, TEXT.replace("line 1\n", "LINE 1\n"))
    await app.until("cards", "it.length")
    await app.do("choose", note=NOTE, change=0, take=False)
    [card] = await app.see("cards")
    assert "Accept 0 of 1 change" in card["buttons"] and "Accept 0 of 1 change" not in card["enabled"]
    await app.do("press", note=NOTE, button="Reject")
    assert await finish_call(client, asked) == ["DIFF_REJECTED", f"tab {NOTE}"]


async def test_parts_that_were_left_out_are_not_in_the_text_to_edit(
    app: Obsidian, client: Client, vault: Path
) -> None:
    asked = await propose(
        client, vault, NOTE, TEXT.replace("line 2\n", "LINE 2\n").replace("line 20\n", "LINE 20\n")
    )
    await app.until("cards", "it.length")
    await app.do("choose", note=NOTE, change=1, take=False)
    await app.do("press", note=NOTE, button="Edit")
    [card] = await app.until("cards", "it[0].text !== null")
    assert card["text"] == TEXT.replace("line 2\n", "LINE 2\n") and await app.see("focused") == "TEXTAREA"
    mine = TEXT.replace("line 2\n", "Bêta 🧀\n").removesuffix("\n")
    await app.do("type", note=NOTE, text=mine)
    await app.do("press", note=NOTE, button="Show the changes")
    [card] = await app.until("cards", "it[0].text === null")
    assert card["plus"] == ["Bêta 🧀", "line 30no line break"] and "edited by you" in card["summary"]
    await app.do("press", note=NOTE, button="Accept my version")
    assert await finish_call(client, asked) == ["FILE_SAVED", mine]


async def test_accepting_from_the_form_sends_its_text(app: Obsidian, client: Client, vault: Path) -> None:
    asked = await propose(client, vault, "New.md", "a new note\n")
    [card] = await app.until("cards", "it.length")
    assert "a new note" in card["summary"] and "Open the note" not in card["buttons"]
    await app.do("press", note="New.md", button="Edit")
    await app.until("cards", "it[0].text !== null")
    await app.do("type", note="New.md", text="mine\n")
    await app.do("press", note="New.md", button="Accept my version")
    assert await finish_call(client, asked) == ["FILE_SAVED", "mine\n"]


async def test_an_edit_can_be_undone(app: Obsidian, client: Client, vault: Path) -> None:
    new = TEXT.replace("line 2\n", "LINE 2\n")
    asked = await propose(client, vault, NOTE, new)
    await app.until("cards", "it.length")
    await app.do("press", note=NOTE, button="Edit")
    await app.until("cards", "it[0].text !== null")
    await app.do("type", note=NOTE, text="all gone")
    await app.do("press", note=NOTE, button="Show the changes")
    await app.until("cards", "it[0].text === null && it[0].minus.length > 1")
    await app.do("press", note=NOTE, button="Discard my edit")
    [card] = await app.see("cards")
    assert card["plus"] == ["LINE 2"] and "Discard my edit" not in card["buttons"]
    await app.do("press", note=NOTE, button="Accept")
    assert (await finish_call(client, asked))[1] == new


# notes that change meanwhile


async def test_text_written_in_the_note_meanwhile_is_kept(
    app: Obsidian, client: Client, server: Home, vault: Path
) -> None:
    """By the bridge, which sees it once the app has saved it, or at the latest before an acceptance."""
    await app.do("open", note=NOTE)
    asked = await propose(client, vault, NOTE, TEXT.replace("line 2\n", "LINE 2\n"))
    call = edit(server, "line 5\n", "LINE 5\n")
    await app.until("cards", "it.length === 2")
    await app.do("write", note=NOTE, text=TEXT + "typed\n")
    await app.do("save", note=NOTE)
    cards = await app.until("cards", "it.every(({ warning }) => warning)")
    for card in cards:
        assert card["warning"].startswith("The note has changed since this was proposed. What was written")
    assert sorted(card["plus"] for card in cards) == [["LINE 2"], ["LINE 5"]]
    # And what is typed now is saved before it is written.
    await app.do("write", note=NOTE, text=TEXT + "typed\nand more\n")
    # The two came over different connections, in either order.
    edited = [card["plus"] for card in cards].index(["LINE 5"])
    await app.do("pressNth", index=edited, button="Accept")
    await call
    assert read(vault) == TEXT.replace("line 5\n", "LINE 5\n") + "typed\nand more\n"
    await app.do("noticeChange", note=NOTE)
    await app.until("cards", "it.length === 1")
    await app.do("press", note=NOTE, button="Accept")
    # Claude Code carries its own change over to the note as it is now.
    assert await finish_call(client, asked) == ["FILE_SAVED", TEXT.replace("line 2\n", "LINE 2\n")]


async def test_a_conflict_is_shown_and_nothing_is_written_before_the_person_decides(
    app: Obsidian, client: Client, server: Home, vault: Path
) -> None:
    """Another program wrote, and neither the app nor the person has noticed."""
    for number, change in enumerate(("tool", "diff")):
        before = read(vault)
        line = f"line {10 + number}\n"
        call = asked = None
        if change == "tool":
            call = edit(server, line, "robot\n")
        else:
            asked = await propose(client, vault, NOTE, before.replace(line, "robot\n"))
        await app.until("cards", "it.length")
        (vault / NOTE).write_text(before.replace(line, "mine\n"), "utf-8")
        await app.do("press", note=NOTE, button="Accept")
        again = "it[0].warning.includes('in the same lines') && it[0].enabled.includes('Edit')"
        [card] = await app.until("cards", again)
        assert "Accept" not in card["enabled"]
        assert read(vault) == before.replace(line, "mine\n")
        await app.do("press", note=NOTE, button="Edit")
        await app.until("cards", "it[0].text !== null")
        both = before.replace(line, f"both {number}\n")
        await app.do("type", note=NOTE, text=both)
        await app.do("press", note=NOTE, button="Show the changes")
        [card] = await app.until("cards", "it[0].text === null")
        assert (card["minus"], card["plus"]) == (["mine"], [f"both {number}"])
        await app.do("press", note=NOTE, button="Accept my version")
        if call is not None:
            await call
        else:
            assert await finish_call(client, asked) == ["FILE_SAVED", both]
            (vault / NOTE).write_text(both, "utf-8")
        await app.until("cards", "!it.length")
        assert read(vault) == both


async def test_an_edit_that_was_begun_is_brought_onto_the_changed_note(
    app: Obsidian, server: Home, vault: Path
) -> None:
    call = edit(server, "line 2\n", "LINE 2\n")
    await app.until("cards", "it.length")
    await app.do("press", note=NOTE, button="Edit")
    await app.until("cards", "it[0].text !== null")
    await app.do("type", note=NOTE, text=TEXT.replace("line 2\n", "my line 2\n"))
    (vault / NOTE).write_text(TEXT.replace("line 28\n", "elsewhere\n"), "utf-8")
    [card] = await app.until("cards", "it[0].text.includes('elsewhere')")
    both = TEXT.replace("line 2\n", "my line 2\n").replace("line 28\n", "elsewhere\n")
    assert card["text"] == both and card["warning"]
    await app.do("press", note=NOTE, button="Accept my version")
    await call
    assert read(vault) == both


async def test_a_note_with_other_line_ends_keeps_them(app: Obsidian, server: Home, vault: Path) -> None:
    (vault / "Win.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
    call = edit(server, "two", "TWO", "Win.md")
    [card] = await app.until("cards", "it.length")
    assert (card["minus"], card["plus"], card["warning"]) == (["two"], ["TWO"], "")
    await app.do("press", note="Win.md", button="Edit")
    await app.until("cards", "it[0].text === 'one\\nTWO\\nthree\\n'")
    await app.do("type", note="Win.md", text="one\n2\nthree\n")
    await app.do("press", note="Win.md", button="Accept my version")
    await call
    assert (vault / "Win.md").read_bytes() == b"\xef\xbb\xbfone\r\n2\r\nthree\r\n"


# what the person sees


async def test_while_the_person_types_a_notice_appears_instead_of_the_review(
    app: Obsidian, client: Client, vault: Path
) -> None:
    await app.until("status", "it.includes('1 assistant')")
    await app.do("open", note="Plain.md")
    await app.do("write", note="Plain.md", text="typing")
    asked = await propose(client, vault, NOTE, "new\n")
    [message] = await app.until("openNotices", "it.length")
    assert message == f"Claude Code proposes a change to {NOTE}.Review"
    assert await app.see("cards") == [] and await app.see("active") == "Plain.md"
    await app.do("pressNotice")
    await app.until("cards", "it.length")
    assert await app.see("openNotices") == []
    await app.do("press", note=NOTE, button="Reject")
    assert (await finish_call(client, asked))[0] == "DIFF_REJECTED"


async def test_a_change_that_is_withdrawn_goes_away(app: Obsidian, client: Client, vault: Path) -> None:
    await propose(client, vault, NOTE, "new\n")
    await app.until("cards", "it.length === 1")
    await propose(client, vault, "Plain.md", "other\n")
    await app.until("cards", "it.length === 2")
    await client.tool("close_tab", tab_name=f"tab {NOTE}")
    [card] = await app.until("cards", "it.length === 1")
    assert card["path"] == "Plain.md" and await app.see("focused") == "Plain.md"
    await client.close()
    await app.until("cards", "!it.length")


async def test_an_edit_that_was_decided_elsewhere_is_not_lost_silently(
    app: Obsidian, client: Client, vault: Path, server: Home
) -> None:
    asked = await propose(client, vault, NOTE, "new\n")
    await app.until("cards", "it.length")
    await app.do("press", note=NOTE, button="Edit")
    await app.until("cards", "it[0].text !== null")
    await app.do("type", note=NOTE, text="mine\n")
    await server.command("diffs", vault, "d1", "--accept")
    assert await finish_call(client, asked) == ["FILE_SAVED", "new\n"]
    await app.until("notices", "it.some((notice) => /^Your edit of .* was not used/.test(notice))")


async def test_what_cannot_be_seen_is_named(app: Obsidian, client: Client, vault: Path) -> None:
    await propose(client, vault, "Plain.md", "one\r\ntwo 𝄞\u202e\nthree")
    [card] = await app.until("cards", "it.length")
    assert card["plus"] == ["two 𝄞U+202E", "threeno line break"]
    assert "Windows line endings" in card["all"]


async def test_the_review_can_be_closed_and_opened_again(app: Obsidian, client: Client, vault: Path) -> None:
    asked = await propose(client, vault, NOTE, "new\n")
    await app.until("cards", "it.length")
    await app.do("closeReview")
    assert await app.see("cards") == []
    await app.do("pressStatus", key="Enter")
    await app.until("cards", "it.length")
    await app.do("press", note=NOTE, button="Reject")
    assert (await finish_call(client, asked))[0] == "DIFF_REJECTED"


async def test_a_huge_change_is_drawn_in_parts(app: Obsidian, client: Client, vault: Path) -> None:
    long = "".join(f"line {number}\n" for number in range(3000))
    asked = await propose(client, vault, "Long.md", long)
    [card] = await app.until("cards", "it.length")
    assert len(card["plus"]) == 1000
    await app.do("press", note="Long.md", button="Show more")
    [card] = await app.see("cards")
    assert len(card["plus"]) == 2000
    await app.do("press", note="Long.md", button="Accept")
    assert await finish_call(client, asked) == ["FILE_SAVED", long]


async def test_long_texts_are_fetched_only_when_shown(app: Obsidian, client: Client, vault: Path) -> None:
    long = "x" * 70 + "\n"
    asked = await propose(client, vault, "Long.md", long * 35_000)
    [card] = await app.until("cards", "it.length && it[0].plus.length")
    assert len(card["plus"]) == 1000
    await app.do("press", note="Long.md", button="Reject")
    assert (await finish_call(client, asked))[0] == "DIFF_REJECTED"


# assistants, activity, policy


async def test_an_assistant_is_paused_and_resumed(app: Obsidian, server: Home, vault: Path) -> None:
    await call_bridge_v1(server, "read_note", path=NOTE)
    await app.do("runCommand", name="activity")
    [row] = await app.until("assistants", "it.length === 1 && it[0].includes('read')")
    name = row.split(" read", 1)[0]
    await app.do("pressIn", panel="activity", button=f"Pause {name}")
    await app.until("assistants", "it[0].includes('paused')")
    refused = await call_bridge_v1(server, "read_note", path=NOTE)
    assert refused["success"] is False and "pause" in json.dumps(refused)
    await app.do("pressIn", panel="activity", button=f"Resume {name}")
    await app.until("assistants", "!it[0].includes('paused')")
    assert (await call_bridge_v1(server, "read_note", path=NOTE))["success"] is True
    await app.do("pressIn", panel="activity", button="Pause all")
    await app.until("assistants", "it[0].includes('paused')")
    assert (await call_bridge_v1(server, "read_note", path=NOTE))["success"] is False
    await app.do("pressIn", panel="activity", button="Resume all")
    await app.until("assistants", "!it[0].includes('paused')")


async def test_what_assistants_do_is_shown_as_it_happens_and_can_be_undone(
    app: Obsidian, server: Home, vault: Path
) -> None:
    await app.do("runCommand", name="activity")
    await call_bridge_v1(server, "search", query="line 7")
    await app.until("activity", "it.some((row) => row.includes('searched'))")
    call = edit(server, "line 2\n", "second\n")
    await app.until("cards", "it.length")
    await app.do("press", note=NOTE, button="Accept")
    await call
    await app.do("runCommand", name="activity")
    rows = await app.until("activity", "it.some((row) => row.includes('Undo'))")
    assert any("Käse Note" in row and "Undo" in row for row in rows)
    await app.do("filter", value="1")
    rows = await app.until("activity", "it.every((row) => !row.includes('searched'))")
    assert len(rows) == 1
    await app.do("pressIn", panel="activity", button="Show change 1")
    await app.until("activity", "it[0].includes('removed: line 2') && it[0].includes('added: second')")
    await app.do("pressIn", panel="activity", button="Undo change 1")
    await app.until("activity", "it.some((row) => row.includes('undid change 1'))")
    assert read(vault) == TEXT


async def test_the_settings_say_which_changes_wait(tmp_path: Path, vault: Path) -> None:
    async with hosted(tmp_path / "home", vault) as server, obsidian(vault, server.environ) as app:
        await app.wait_until_connected()
        assert (await edit(server, "line 1\n", "first\n"))["success"] is True  # nothing waits
        await app.until("review", "it === 'off'")
        await app.do("showSettings")
        await app.do("set", name="Ask me before an assistant changes something", value="all")
        await app.until("review", "it === 'all'")
        call = edit(server, "line 2\n", "second\n")
        await app.until("cards", "it.length")
        await app.do("press", note=NOTE, button="Reject")
        await call
        assert "line 2\n" in read(vault)
        # Set elsewhere, it arrives here.
        async with server.editor() as page:
            await page.request("setReview", review="destructive")
        await app.until("review", "it === 'destructive'")
