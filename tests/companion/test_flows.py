"""The companion beside a real `vaultbridge serve` and a client on the IDE socket, as Claude Code is one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from companion.obsidian import Obsidian, make_absolute, needs_node
from support.editor import Client
from support.serve import Home, hosted

pytestmark = needs_node

NOTE = "My Folder/Käse Note.md"
TEXT = "alpha\nbeta\ngamma\ndelta\nepsilon\nzeta\n"


VAULT_NAME = "Mein Tresor é"
VAULT_LINK = "link"
VAULT = {
    "Plain.md": "one\ntwo 𝄞\nthree\n",
    NOTE: TEXT,
    "Private/Diary.md": "dear\n",
    "Aside.md": "aside\n",
}


@pytest.fixture
async def server(tmp_path: Path, vault: Path) -> AsyncIterator[Home]:
    config = '[scope]\ndeny = ["Private/"]\n'
    async with hosted(tmp_path / "home", vault, config=config) as server:
        yield server


async def wait_for_selection(client: Client, vault: Path, note: str, text: str) -> dict[str, Any]:
    """The next selection that is `text` in `note`; others may be sent before it."""
    while True:
        params = await client.next("selection_changed")
        if params.get("filePath") == make_absolute(vault, note) and params["text"] == text:
            return params


# what the app reports


async def test_the_selection_arrives_at_the_assistant(app: Obsidian, client: Client, vault: Path) -> None:
    await app.do("open", note="Plain.md")
    await app.do("select", note="Plain.md", **{"from": [0, 1]}, to=[1, 6])
    params = await wait_for_selection(client, vault, "Plain.md", "ne\ntwo 𝄞")
    assert params["selection"] == {
        "start": {"line": 0, "character": 1},
        "end": {"line": 1, "character": 6},
        "isEmpty": False,
    }


async def test_a_private_note_is_never_reported(app: Obsidian, client: Client, vault: Path) -> None:
    await app.do("open", note="Private/Diary.md")
    await app.do("select", note="Private/Diary.md", **{"from": [0, 0]}, to=[0, 4])
    await app.do("open", note="Plain.md")
    params = await wait_for_selection(client, vault, "Plain.md", "")
    tabs = json.loads((await client.tool("getOpenEditors"))[0])["tabs"]
    assert [tab["label"] for tab in tabs] == ["Plain.md"] and "Diary" not in str(params)


async def test_the_selection_stays_while_the_person_is_in_the_review(
    app: Obsidian, client: Client, vault: Path
) -> None:
    await app.do("open", note="Plain.md")
    await app.do("select", note="Plain.md", **{"from": [0, 0]}, to=[0, 3])
    await wait_for_selection(client, vault, "Plain.md", "one")
    await app.do("runCommand", name="review")
    await app.until("leftovers", "it.timers === 0")  # what there was to report has been reported
    await app.do("runCommand", name="status")
    await app.until("modal", "it.includes('Changes waiting')")  # and the bridge has heard it
    [current] = await client.tool("getCurrentSelection")
    assert json.loads(current)["text"] == "one"


async def test_reading_view_reports_the_note_without_a_selection(
    app: Obsidian, client: Client, vault: Path
) -> None:
    await app.do("open", note="Plain.md")
    await app.do("select", note="Plain.md", **{"from": [0, 0]}, to=[0, 3])
    await wait_for_selection(client, vault, "Plain.md", "one")
    await app.do("preview", note="Plain.md")
    params = await wait_for_selection(client, vault, "Plain.md", "")
    assert params["selection"]["isEmpty"]


async def read_tabs(client: Client) -> dict[str, dict[str, Any]]:
    answer = json.loads((await client.tool("getOpenEditors"))[0])
    return {tab["label"]: tab for tab in answer["tabs"]}


async def test_open_notes_are_reported_with_unsaved_ones_and_without_sidebars(
    app: Obsidian, client: Client, vault: Path
) -> None:
    await app.do("open", note=NOTE)
    await app.do("pin", note=NOTE)
    await app.do("defer", note="Plain.md")
    await app.do("open", note="Aside.md", area="rightSplit")
    await app.do("write", note=NOTE, text="unsaved\n")
    await app.do("select", note=NOTE, **{"from": [0, 0]}, to=[0, 7])
    await wait_for_selection(client, vault, NOTE, "unsaved")
    tabs = await read_tabs(client)
    assert list(tabs) == ["Käse Note.md", "Plain.md"]
    assert (tabs["Käse Note.md"]["isDirty"], tabs["Käse Note.md"]["isPinned"]) == (True, True)
    assert not tabs["Plain.md"]["isDirty"]
    dirty = json.loads((await client.tool("checkDocumentDirty", filePath=make_absolute(vault, NOTE)))[0])
    assert dirty["isDirty"]


async def test_a_note_that_another_program_wrote_is_not_unsaved(
    app: Obsidian, client: Client, vault: Path
) -> None:
    await app.do("open", note="Plain.md")
    (vault / "Plain.md").write_bytes(b"written\r\nelsewhere\r\n")
    await app.do("noticeChange", note="Plain.md")
    await app.do("select", note="Plain.md", **{"from": [0, 0]}, to=[0, 7])
    await wait_for_selection(client, vault, "Plain.md", "written")
    assert not (await read_tabs(client))["Plain.md"]["isDirty"]


# what the bridge asks


async def test_a_note_is_opened_at_a_position(app: Obsidian, client: Client, vault: Path) -> None:
    [answer] = await client.tool(
        "openFile", filePath=make_absolute(vault, NOTE), startText="gamma", endText="delta"
    )
    assert answer == f"Opened file: {make_absolute(vault, NOTE)}"
    assert await app.see("active") == NOTE
    assert await app.see("selected", NOTE) == "gamma\ndelta"


async def test_opening_behind_leaves_the_person_where_they_are(
    app: Obsidian, client: Client, vault: Path
) -> None:
    await app.do("open", note="Plain.md")
    await client.tool("openFile", filePath=make_absolute(vault, NOTE), makeFrontmost=False)
    assert await app.see("active") == "Plain.md"
    assert await app.see("tabs") == ["Plain.md", NOTE]


async def test_a_note_that_is_open_gets_no_second_tab(app: Obsidian, client: Client, vault: Path) -> None:
    await app.do("defer", note=NOTE)
    await app.do("open", note="Plain.md")
    await client.tool("openFile", filePath=make_absolute(vault, NOTE), startText="beta")
    assert await app.see("tabs") == [NOTE, "Plain.md"]
    assert await app.see("selected", NOTE) == "beta"


async def test_a_position_beyond_the_text_means_its_end(app: Obsidian, client: Client, vault: Path) -> None:
    """The bridge counts in the file; the editor may hold a shorter text."""
    await app.do("open", note=NOTE)
    await app.do("write", note=NOTE, text="x")
    await client.tool("openFile", filePath=make_absolute(vault, NOTE), startText="zeta")
    assert await app.see("selected", NOTE) == ""


async def test_an_unsaved_note_is_saved(app: Obsidian, client: Client, vault: Path) -> None:
    await app.do("open", note=NOTE)
    await app.do("write", note=NOTE, text="from the editor\n")
    await app.do("select", note=NOTE, **{"from": [0, 0]}, to=[0, 4])
    await wait_for_selection(client, vault, NOTE, "from")
    answer = json.loads((await client.tool("saveDocument", filePath=make_absolute(vault, NOTE)))[0])
    assert answer["saved"] and answer["message"] == "Document saved successfully"
    assert (vault / NOTE).read_text("utf-8") == "from the editor\n"


# mentions


async def test_the_selected_lines_are_mentioned(app: Obsidian, client: Client, vault: Path) -> None:
    await app.do("open", note=NOTE)
    await app.do("select", note=NOTE, **{"from": [1, 2]}, to=[3, 0])
    await app.do("runCommand", name="mention")
    params = await client.next("at_mentioned")
    assert (params["lineStart"], params["lineEnd"]) == (1, 2)
    await app.until("notices", f"it.includes({json.dumps(NOTE + ' was mentioned.')})")


async def test_without_a_selection_the_whole_note_is_mentioned(
    app: Obsidian, client: Client, vault: Path
) -> None:
    assert await app.do("runCommand", name="mention") is False  # no note is active
    await app.do("open", note="Plain.md")
    await app.do("runCommand", name="mention")
    params = await client.next("at_mentioned")
    assert params["filePath"].endswith("Plain.md") and params.get("lineStart") is None


async def test_the_menus_mention_too(app: Obsidian, client: Client, vault: Path) -> None:
    assert await app.do("openMenu", event="file-menu", note="Plain.md") == ["Mention to Claude"]
    assert (await client.next("at_mentioned"))["filePath"].endswith("Plain.md")
    await app.do("open", note=NOTE)
    await app.do("select", note=NOTE, **{"from": [0, 0]}, to=[0, 5])
    assert await app.do("openMenu", event="editor-menu", note=NOTE) == ["Mention to Claude"]
    assert (await client.next("at_mentioned"))["lineEnd"] == 0


async def test_a_mention_of_a_private_note_is_refused_in_words(app: Obsidian) -> None:
    await app.do("openMenu", event="file-menu", note="Private/Diary.md")
    [message] = await app.until("notices", "it.length")
    assert message.startswith("vaultbridge: ") and "Traceback" not in message


# status and settings


async def test_the_status_lists_the_connected_assistants(app: Obsidian, client: Client) -> None:
    await app.do("open", note="Plain.md")
    await client.next("selection_changed")
    await app.do("runCommand", name="status")
    text = await app.until("modal", "it.includes('Changes waiting')")
    assert text.startswith("BridgeConnected") and "Claude Code" in text and "Plain.md" in text


async def test_the_status_bar_says_how_many_assistants_there_are(app: Obsidian, server: Home) -> None:
    assert await app.see("status") == "Bridge: connected"
    async with server.client(), server.client():
        await app.until("status", "it === 'Bridge: connected, 2 assistants'")
        # Also after coming back, without a word from the bridge in between.
        assert await app.do("runCommand", name="reconnect", then="status") == "Bridge: connecting…"
        await app.until("status", "it === 'Bridge: connected, 2 assistants'")
    await app.until("status", "it === 'Bridge: connected'")


async def test_sharing_is_switched_off_in_the_settings(app: Obsidian, client: Client, vault: Path) -> None:
    await app.do("open", note="Plain.md")
    await wait_for_selection(client, vault, "Plain.md", "")
    await app.do("showSettings")
    await app.do("set", name="Share what I have open", value=False)
    # The client learns that nothing is selected any more.
    await client.next("selection_changed")
    assert json.loads((await client.tool("getOpenEditors"))[0])["tabs"] == []
