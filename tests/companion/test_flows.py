"""The companion beside a real `vaultbridge serve` and a client on the IDE socket, as Claude Code is one."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from companion.obsidian import Obsidian, needs_node, obsidian
from support.editor import Client
from support.serve import Served, served

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
async def server(tmp_path: Path, vault: Path) -> AsyncIterator[Served]:
    async with served(tmp_path / "home", vault, "--deny", "Private/") as server:
        yield server


@pytest.fixture
async def app(server: Served, vault: Path) -> AsyncIterator[Obsidian]:
    async with obsidian(vault, server.environ) as app:
        await app.connected()
        yield app


@pytest.fixture
async def client(server: Served) -> AsyncIterator[Client]:
    async with server.client() as client:
        yield client


def absolute(vault: Path, note: str) -> str:
    return str(vault.resolve() / note)


async def propose(client: Client, vault: Path, note: str, text: str) -> Any:
    """The client asks for a decision; to be given to `decision`."""
    place = absolute(vault, note)
    arguments = {
        "old_file_path": place,
        "new_file_path": place,
        "new_file_contents": text,
        "tab_name": f"tab {note}",
    }
    return await client.begin("tools/call", name="openDiff", arguments=arguments)


async def decision(client: Client, asked: Any) -> list[str]:
    result = await client.end(asked)
    assert not result.get("isError"), result
    return [block["text"] for block in result["content"]]


async def next_selection(client: Client, vault: Path, note: str, text: str) -> dict[str, Any]:
    """The next selection that is `text` in `note`; others may be sent before it."""
    while True:
        params = await client.next("selection_changed")
        if params.get("filePath") == absolute(vault, note) and params["text"] == text:
            return params


# what the app tells


async def test_the_selection_arrives_at_the_assistant(app: Obsidian, client: Client, vault: Path) -> None:
    await app.do("open", note="Plain.md")
    await app.do("select", note="Plain.md", **{"from": [0, 1]}, to=[1, 6])
    params = await next_selection(client, vault, "Plain.md", "ne\ntwo 𝄞")
    assert params["selection"] == {
        "start": {"line": 0, "character": 1},
        "end": {"line": 1, "character": 6},
        "isEmpty": False,
    }


async def test_a_private_note_is_never_reported(app: Obsidian, client: Client, vault: Path) -> None:
    await app.do("open", note="Private/Diary.md")
    await app.do("select", note="Private/Diary.md", **{"from": [0, 0]}, to=[0, 4])
    await app.do("open", note="Plain.md")
    params = await next_selection(client, vault, "Plain.md", "")
    tabs = json.loads((await client.tool("getOpenEditors"))[0])["tabs"]
    assert [tab["label"] for tab in tabs] == ["Plain.md"] and "Diary" not in str(params)


async def test_the_selection_stays_while_the_person_is_in_the_review(
    app: Obsidian, client: Client, vault: Path
) -> None:
    await app.do("open", note="Plain.md")
    await app.do("select", note="Plain.md", **{"from": [0, 0]}, to=[0, 3])
    await next_selection(client, vault, "Plain.md", "one")
    await app.do("command", name="review")
    await app.until("left", "it.timers === 0")  # what there was to report has been reported
    await app.do("command", name="status")
    await app.until("modal", "it.includes('Changes waiting')")  # and the bridge has heard it
    [current] = await client.tool("getCurrentSelection")
    assert json.loads(current)["text"] == "one"


async def test_reading_view_reports_the_note_without_a_selection(
    app: Obsidian, client: Client, vault: Path
) -> None:
    await app.do("open", note="Plain.md")
    await app.do("select", note="Plain.md", **{"from": [0, 0]}, to=[0, 3])
    await next_selection(client, vault, "Plain.md", "one")
    await app.do("read", note="Plain.md")
    params = await next_selection(client, vault, "Plain.md", "")
    assert params["selection"]["isEmpty"]


async def tabs_of(client: Client) -> dict[str, dict[str, Any]]:
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
    await next_selection(client, vault, NOTE, "unsaved")
    tabs = await tabs_of(client)
    assert list(tabs) == ["Käse Note.md", "Plain.md"]
    assert (tabs["Käse Note.md"]["isDirty"], tabs["Käse Note.md"]["isPinned"]) == (True, True)
    assert not tabs["Plain.md"]["isDirty"]
    dirty = json.loads((await client.tool("checkDocumentDirty", filePath=absolute(vault, NOTE)))[0])
    assert dirty["isDirty"]


async def test_a_note_that_another_program_wrote_is_not_unsaved(
    app: Obsidian, client: Client, vault: Path
) -> None:
    await app.do("open", note="Plain.md")
    (vault / "Plain.md").write_bytes(b"written\r\nelsewhere\r\n")
    await app.do("noticed", note="Plain.md")
    await app.do("select", note="Plain.md", **{"from": [0, 0]}, to=[0, 7])
    await next_selection(client, vault, "Plain.md", "written")
    assert not (await tabs_of(client))["Plain.md"]["isDirty"]


# what the bridge asks


async def test_a_note_is_opened_at_a_position(app: Obsidian, client: Client, vault: Path) -> None:
    [answer] = await client.tool(
        "openFile", filePath=absolute(vault, NOTE), startText="gamma", endText="delta"
    )
    assert answer == f"Opened file: {absolute(vault, NOTE)}"
    assert await app.see("active") == NOTE
    assert await app.see("selected", NOTE) == "gamma\ndelta"


async def test_opening_behind_leaves_the_person_where_they_are(
    app: Obsidian, client: Client, vault: Path
) -> None:
    await app.do("open", note="Plain.md")
    await client.tool("openFile", filePath=absolute(vault, NOTE), makeFrontmost=False)
    assert await app.see("active") == "Plain.md"
    assert await app.see("tabs") == ["Plain.md", NOTE]


async def test_a_note_that_is_open_gets_no_second_tab(app: Obsidian, client: Client, vault: Path) -> None:
    await app.do("defer", note=NOTE)
    await app.do("open", note="Plain.md")
    await client.tool("openFile", filePath=absolute(vault, NOTE), startText="beta")
    assert await app.see("tabs") == [NOTE, "Plain.md"]
    assert await app.see("selected", NOTE) == "beta"


async def test_a_position_beyond_the_text_means_its_end(app: Obsidian, client: Client, vault: Path) -> None:
    """The bridge counts in the file; the editor may hold a shorter text."""
    await app.do("open", note=NOTE)
    await app.do("write", note=NOTE, text="x")
    await client.tool("openFile", filePath=absolute(vault, NOTE), startText="zeta")
    assert await app.see("selected", NOTE) == ""


async def test_an_unsaved_note_is_saved(app: Obsidian, client: Client, vault: Path) -> None:
    await app.do("open", note=NOTE)
    await app.do("write", note=NOTE, text="from the editor\n")
    await app.do("select", note=NOTE, **{"from": [0, 0]}, to=[0, 4])
    await next_selection(client, vault, NOTE, "from")
    answer = json.loads((await client.tool("saveDocument", filePath=absolute(vault, NOTE)))[0])
    assert answer["saved"] and answer["message"] == "Document saved successfully"
    assert (vault / NOTE).read_text("utf-8") == "from the editor\n"


# mentions


async def test_the_selected_lines_are_mentioned(app: Obsidian, client: Client, vault: Path) -> None:
    await app.do("open", note=NOTE)
    await app.do("select", note=NOTE, **{"from": [1, 2]}, to=[3, 0])
    await app.do("command", name="mention")
    params = await client.next("at_mentioned")
    assert (params["lineStart"], params["lineEnd"]) == (1, 2)
    await app.until("notices", f"it.includes({json.dumps(NOTE + ' was mentioned.')})")


async def test_without_a_selection_the_whole_note_is_mentioned(
    app: Obsidian, client: Client, vault: Path
) -> None:
    assert await app.do("command", name="mention") is False  # no note is active
    await app.do("open", note="Plain.md")
    await app.do("command", name="mention")
    params = await client.next("at_mentioned")
    assert params["filePath"].endswith("Plain.md") and params.get("lineStart") is None


async def test_the_menus_mention_too(app: Obsidian, client: Client, vault: Path) -> None:
    assert await app.do("menu", event="file-menu", note="Plain.md") == ["Mention to Claude"]
    assert (await client.next("at_mentioned"))["filePath"].endswith("Plain.md")
    await app.do("open", note=NOTE)
    await app.do("select", note=NOTE, **{"from": [0, 0]}, to=[0, 5])
    assert await app.do("menu", event="editor-menu", note=NOTE) == ["Mention to Claude"]
    assert (await client.next("at_mentioned"))["lineEnd"] == 0


async def test_a_mention_of_a_private_note_is_refused_in_words(app: Obsidian) -> None:
    await app.do("menu", event="file-menu", note="Private/Diary.md")
    [said] = await app.until("notices", "it.length")
    assert said.startswith("vaultbridge: ") and "Traceback" not in said


# proposed changes


async def test_the_assistant_gets_an_accepted_change(app: Obsidian, client: Client, vault: Path) -> None:
    asked = await propose(client, vault, NOTE, TEXT.replace("beta", "BETA"))
    [card] = await app.until("cards", "it.length")
    assert (card["path"], card["minus"], card["plus"]) == (NOTE, ["beta"], ["BETA"])
    assert "1 change · +1 −1" in card["summary"] and not card["warning"]
    assert await app.see("focused") == NOTE
    await app.until("status", "it === 'Bridge: 1 change'")
    await app.do("press", note=NOTE, button="Accept")
    assert await decision(client, asked) == ["FILE_SAVED", TEXT.replace("beta", "BETA")]
    await app.until("cards", "!it.length")
    assert (vault / NOTE).read_text("utf-8") == TEXT  # the client writes, not the companion
    assert await app.see("said") == f"The change to {NOTE} was accepted."
    assert await app.see("focused") == "No change is waiting."


async def test_a_change_is_accepted_in_part(app: Obsidian, client: Client, vault: Path) -> None:
    asked = await propose(client, vault, NOTE, TEXT.replace("alpha", "ALPHA").replace("zeta", "ZETA"))
    [card] = await app.until("cards", "it.length")
    assert card["changes"] == ["Change 1 of 2, line 1", "Change 2 of 2, line 6"]
    await app.do("choose", note=NOTE, change=0, take=False)
    [card] = await app.see("cards")
    assert card["buttons"][:2] == ["Accept 1 of 2 changes", "Reject"]
    await app.do("press", note=NOTE, button="Accept 1 of 2 changes")
    assert await decision(client, asked) == ["FILE_SAVED", TEXT.replace("zeta", "ZETA")]


async def test_a_change_without_a_chosen_part_can_only_be_rejected(
    app: Obsidian, client: Client, vault: Path
) -> None:
    asked = await propose(client, vault, NOTE, TEXT.replace("alpha", "ALPHA"))
    await app.until("cards", "it.length")
    await app.do("choose", note=NOTE, change=0, take=False)
    [card] = await app.see("cards")
    assert "Accept 0 of 1 change" in card["buttons"] and "Accept 0 of 1 change" not in card["enabled"]
    await app.do("press", note=NOTE, button="Reject")
    assert await decision(client, asked) == ["DIFF_REJECTED", f"tab {NOTE}"]


async def test_the_assistant_gets_an_edited_change_as_edited(
    app: Obsidian, client: Client, vault: Path
) -> None:
    asked = await propose(client, vault, NOTE, TEXT.replace("beta", "BETA"))
    await app.until("cards", "it.length")
    await app.do("press", note=NOTE, button="Edit")
    [card] = await app.see("cards")
    assert card["text"] == TEXT.replace("beta", "BETA") and await app.see("focused") == "TEXTAREA"
    mine = TEXT.replace("beta", "Bêta 🧀").replace("zeta\n", "zeta")
    await app.do("type", note=NOTE, text=mine)
    await app.do("press", note=NOTE, button="Show the changes")
    [card] = await app.see("cards")
    assert card["plus"] == ["Bêta 🧀", "zetano line end"] and "edited by you" in card["summary"]
    await app.do("press", note=NOTE, button="Accept")
    assert await decision(client, asked) == ["FILE_SAVED", mine]


async def test_accepting_from_the_form_sends_its_text(app: Obsidian, client: Client, vault: Path) -> None:
    asked = await propose(client, vault, "New.md", "a new note\n")
    [card] = await app.until("cards", "it.length")
    assert "a new note" in card["summary"] and "Open the note" not in card["buttons"]
    await app.do("press", note="New.md", button="Edit")
    await app.do("type", note="New.md", text="mine\n")
    await app.do("press", note="New.md", button="Accept")
    assert await decision(client, asked) == ["FILE_SAVED", "mine\n"]


async def test_an_edit_can_be_undone(app: Obsidian, client: Client, vault: Path) -> None:
    asked = await propose(client, vault, NOTE, TEXT.replace("beta", "BETA"))
    await app.until("cards", "it.length")
    await app.do("press", note=NOTE, button="Edit")
    await app.do("type", note=NOTE, text="all gone")
    await app.do("press", note=NOTE, button="Show the changes")
    await app.do("press", note=NOTE, button="Back to the proposal")
    [card] = await app.see("cards")
    assert card["plus"] == ["BETA"] and "Back to the proposal" not in card["buttons"]
    await app.do("press", note=NOTE, button="Accept")
    assert (await decision(client, asked))[1] == TEXT.replace("beta", "BETA")


async def test_text_written_in_the_note_meanwhile_is_kept(app: Obsidian, client: Client, vault: Path) -> None:
    await app.do("open", note=NOTE)
    asked = await propose(client, vault, NOTE, TEXT.replace("alpha", "ALPHA"))
    await app.until("cards", "it.length")
    await app.do("write", note=NOTE, text=TEXT + "eta\n")
    [card] = await app.until("cards", "it[0].warning")
    assert card["warning"].startswith("The note has changed since this was proposed. What was written")
    assert (card["minus"], card["plus"]) == (["alpha"], ["ALPHA"])
    await app.do("press", note=NOTE, button="Accept")
    assert await decision(client, asked) == ["FILE_SAVED", TEXT.replace("alpha", "ALPHA") + "eta\n"]
    # What waited in the editor was in the file before the assistant could write it.
    assert (vault / NOTE).read_text("utf-8") == TEXT + "eta\n"


async def test_a_change_to_a_note_that_changed_unseen_cannot_be_accepted_at_once(
    app: Obsidian, client: Client, vault: Path
) -> None:
    """Another program wrote, and the app has not noticed yet: what was seen is not what would happen."""
    asked = await propose(client, vault, NOTE, TEXT.replace("alpha", "ALPHA"))
    await app.until("cards", "it.length")
    (vault / NOTE).write_text(TEXT + "eta\n", "utf-8")
    await app.do("press", note=NOTE, button="Accept")
    await app.until("cards", "it[0].warning")
    assert not asked.done()
    await app.do("press", note=NOTE, button="Accept")
    assert await decision(client, asked) == ["FILE_SAVED", TEXT.replace("alpha", "ALPHA") + "eta\n"]


async def test_a_conflict_in_the_same_line_is_shown_as_such(
    app: Obsidian, client: Client, vault: Path
) -> None:
    await app.do("open", note=NOTE)
    asked = await propose(client, vault, NOTE, TEXT.replace("beta", "BETA").replace("zeta", "ZETA"))
    await app.until("cards", "it.length")
    await app.do("write", note=NOTE, text=TEXT.replace("beta", "my own beta"))
    [card] = await app.until("cards", "it[0].warning")
    assert "in the same lines" in card["warning"]
    assert (card["minus"], card["plus"]) == (["my own beta", "zeta"], ["BETA", "ZETA"])
    await app.do("choose", note=NOTE, change=0, take=False)
    await app.do("press", note=NOTE, button="Accept 1 of 2 changes")
    text = TEXT.replace("beta", "my own beta").replace("zeta", "ZETA")
    assert await decision(client, asked) == ["FILE_SAVED", text]


async def test_accepting_does_not_remove_unsaved_text(app: Obsidian, client: Client, vault: Path) -> None:
    """The assistant read the file; the person had typed already."""
    await app.do("open", note=NOTE)
    await app.do("write", note=NOTE, text=TEXT + "typed\n")
    asked = await propose(client, vault, NOTE, TEXT.replace("alpha", "ALPHA"))
    await app.until("invitations", "it.length")
    await app.do("command", name="review")
    [card] = await app.until("cards", "it.length")
    assert (card["minus"], card["plus"]) == (["alpha"], ["ALPHA"]) and card["warning"]
    await app.do("press", note=NOTE, button="Reject")
    assert await decision(client, asked) == ["DIFF_REJECTED", f"tab {NOTE}"]


async def test_a_note_with_other_line_ends_does_not_look_changed(
    app: Obsidian, client: Client, vault: Path
) -> None:
    (vault / "Win.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    asked = await propose(client, vault, "Win.md", "one\nTWO\n")
    [card] = await app.until("cards", "it.length")
    assert (card["minus"], card["plus"], card["warning"]) == (["two"], ["TWO"], "")
    await app.do("press", note="Win.md", button="Accept")
    assert await decision(client, asked) == ["FILE_SAVED", "one\nTWO\n"]


async def test_while_the_person_types_a_notice_appears_instead_of_the_review(
    app: Obsidian, client: Client, vault: Path
) -> None:
    await app.do("open", note="Plain.md")
    await app.do("write", note="Plain.md", text="typing")
    asked = await propose(client, vault, NOTE, "new\n")
    [said] = await app.until("invitations", "it.length")
    assert said == f"An assistant proposes a change to {NOTE}.Review"
    assert await app.see("cards") == [] and await app.see("active") == "Plain.md"
    await app.do("pressNotice")
    await app.until("cards", "it.length")
    assert await app.see("invitations") == []
    await app.do("press", note=NOTE, button="Reject")
    assert (await decision(client, asked))[0] == "DIFF_REJECTED"


async def test_a_change_that_is_withdrawn_goes_away(app: Obsidian, client: Client, vault: Path) -> None:
    await propose(client, vault, NOTE, "new\n")
    await propose(client, vault, "Plain.md", "other\n")
    await app.until("cards", "it.length === 2")
    await client.tool("close_tab", tab_name=f"tab {NOTE}")
    [card] = await app.until("cards", "it.length === 1")
    assert card["path"] == "Plain.md" and await app.see("focused") == "Plain.md"
    await client.close()
    await app.until("cards", "!it.length")


async def test_an_edit_that_was_decided_elsewhere_is_not_lost_silently(
    app: Obsidian, client: Client, vault: Path, server: Served
) -> None:
    asked = await propose(client, vault, NOTE, "new\n")
    await app.until("cards", "it.length")
    await app.do("press", note=NOTE, button="Edit")
    await app.do("type", note=NOTE, text="mine\n")
    await server.command("diffs", vault, "d1", "--accept")
    assert await decision(client, asked) == ["FILE_SAVED", "new\n"]
    await app.until("notices", "it.some((one) => /^Your edit of .* was not used/.test(one))")


async def test_invisible_characters_are_shown(app: Obsidian, client: Client, vault: Path) -> None:
    await propose(client, vault, "Plain.md", "one\ntwo 𝄞\u202e\nthree\n")
    [card] = await app.until("cards", "it.length")
    assert card["plus"] == ["two 𝄞U+202E"]


async def test_line_ends_that_would_change_are_shown(app: Obsidian, client: Client, vault: Path) -> None:
    await propose(client, vault, "Plain.md", "one\r\ntwo 𝄞\nthree")
    [card] = await app.until("cards", "it.length")
    assert card["plus"] == ["oneCR LF", "threeno line end"]


async def test_the_review_can_be_closed_and_opened_again(app: Obsidian, client: Client, vault: Path) -> None:
    asked = await propose(client, vault, NOTE, "new\n")
    await app.until("cards", "it.length")
    await app.do("closeReview")
    assert await app.see("cards") == []
    await app.do("pressStatus", key="Enter")
    await app.until("cards", "it.length")
    await app.do("press", note=NOTE, button="Reject")
    assert (await decision(client, asked))[0] == "DIFF_REJECTED"


async def test_a_huge_change_is_drawn_in_parts(app: Obsidian, client: Client, vault: Path) -> None:
    long = "".join(f"line {number}\n" for number in range(3000))
    asked = await propose(client, vault, "Long.md", long)
    [card] = await app.until("cards", "it.length")
    assert len(card["plus"]) == 1000
    await app.do("press", note="Long.md", button="Show more")
    [card] = await app.see("cards")
    assert len(card["plus"]) == 2000
    await app.do("press", note="Long.md", button="Accept")
    assert await decision(client, asked) == ["FILE_SAVED", long]


# status and settings


async def test_the_status_lists_the_connected_assistants(app: Obsidian, client: Client) -> None:
    await app.do("open", note="Plain.md")
    await client.next("selection_changed")
    await app.do("command", name="status")
    text = await app.until("modal", "it.includes('Changes waiting')")
    assert text.startswith("Bridgeconnected") and "claude-code" in text and "Plain.md" in text


async def test_the_status_bar_says_how_many_assistants_there_are(app: Obsidian, server: Served) -> None:
    assert await app.see("status") == "Bridge: connected"
    async with server.client(), server.client():
        await app.until("status", "it === 'Bridge: connected, 2 assistants'")
        # Also after coming back, without a word from the bridge in between.
        assert await app.do("command", name="reconnect", then="status") == "Bridge: connecting…"
        await app.until("status", "it === 'Bridge: connected, 2 assistants'")
    await app.until("status", "it === 'Bridge: connected'")


async def test_sharing_is_switched_off_in_the_settings(app: Obsidian, client: Client, vault: Path) -> None:
    await app.do("open", note="Plain.md")
    await next_selection(client, vault, "Plain.md", "")
    await app.do("showSettings")
    await app.do("set", name="Share what I have open", value=False)
    # The client learns that nothing is selected any more.
    await client.next("selection_changed")
    assert json.loads((await client.tool("getOpenEditors"))[0])["tabs"] == []
