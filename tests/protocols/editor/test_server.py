"""The `/editor` protocol as docs/editor-protocol.md describes it, over a real socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import websockets

from support.dial import dial
from support.editor import TOKEN, Bridge, Client, Failed, running
from support.vault_view import VaultView
from support.waiting import BOUND, until
from vaultbridge.editor.model import Focus, Mention, OpenTab, Point, Selection
from vaultbridge.protocols.editor.socket import EDITOR_PROTOCOL
from vaultbridge.vault.paths import vault_path
from vaultbridge.vault.scope import Scope

NOTE = vault_path("Note.md")


VAULT_NAME = "vault"
VAULT = {NOTE: "one\ntwo 😀 three\nfour\n", "Private/Diary.md": "secret"}


@pytest.fixture
async def bridge(vault: Path) -> AsyncIterator[Bridge]:
    async with running(vault, view=VaultView(vault, Scope(deny=("Private/",)))) as bridge:
        yield bridge


@pytest.fixture
async def page(bridge: Bridge) -> AsyncIterator[Client]:
    async with bridge.editor(proposals=True, open=True, save=True) as page:
        yield page


async def test_hello_chooses_one_of_several_vaults(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "Second").mkdir()
    async with (
        running(vault) as bridge,
        running(tmp_path / "b" / "Second") as other,
    ):
        bridge.editors.others = (other.editors,)
        for chosen, name in (("", "vault"), ("vault", "vault"), ("Second", "Second")):
            client = await dial_raw(bridge)
            answer = await client.request("hello", app="page", token=TOKEN, vault=chosen)
            assert answer["vault"] == name
            assert "Second" in answer["vaults"]
            await client.close()
        client = await dial_raw(bridge)
        folder = str(other.view.folder)
        assert (await client.request("hello", app="x", token=TOKEN, vault=folder))["vault"] == "Second"
        await client.request("focus", path="N.md")
        assert other.hub.state.focus() is not None and bridge.hub.state.focus() is None
        await client.close()
        client = await dial_raw(bridge)
        with pytest.raises(Failed, match=r"does not serve that vault.*It serves: vault, Second") as failed:
            await client.request("hello", app="page", token=TOKEN, vault="Third")
        assert failed.value.code == -32602
        await client.close()


async def dial_raw(bridge: Bridge, **options: Any) -> Client:
    return Client(await dial(bridge.url("/editor"), **options))


# entering


async def test_hello_returns_the_vault_and_the_version(bridge: Bridge) -> None:
    client = await dial_raw(bridge)
    answer = await client.request("hello", app="page", token=TOKEN)
    assert answer["protocol"] == 1
    assert answer["vault"] == "vault"
    assert answer["shareSelection"] is True
    await client.close()


@pytest.mark.parametrize("token", ["", "wrong", TOKEN + "x"])
async def test_a_wrong_token_is_reported_and_the_connection_closed(bridge: Bridge, token: str) -> None:
    client = await dial_raw(bridge)
    with pytest.raises(Failed, match="token"):
        await client.request("hello", app="page", token=token)
    await asyncio.wait_for(client.socket.wait_closed(), BOUND)
    assert client.socket.close_code == 1008


async def test_nothing_is_answered_before_hello(bridge: Bridge) -> None:
    client = await dial_raw(bridge)
    for method in ("status", "proposals", "focus", "mention"):
        with pytest.raises(Failed, match="hello"):
            await client.request(method, note="Note.md", path="Note.md")
    await client.notify("focus", path="Note.md")
    await client.request("hello", app="page", token=TOKEN)
    assert bridge.hub.state.focus() is None
    await client.close()


async def test_a_connection_without_hello_is_closed(vault: Path) -> None:
    async with running(vault, hello_seconds=0.02) as bridge:
        client = await dial_raw(bridge)
        await asyncio.wait_for(client.socket.wait_closed(), BOUND)
        assert client.socket.close_code == 1008


async def test_the_upgrade_request_may_carry_the_token(bridge: Bridge) -> None:
    """Browsers cannot set headers; the entry is not echoed."""
    offer = [websockets.Subprotocol(EDITOR_PROTOCOL), websockets.Subprotocol(f"vaultbridge.token.{TOKEN}")]
    client = await dial_raw(bridge, subprotocols=offer)
    assert client.socket.subprotocol == EDITOR_PROTOCOL
    assert (await client.request("hello", app="page"))["protocol"] == 1
    await client.close()


async def test_another_protocol_version_is_refused(bridge: Bridge) -> None:
    client = await dial_raw(bridge)
    with pytest.raises(Failed, match="protocol 1"):
        await client.request("hello", app="page", token=TOKEN, protocol=2)
    await client.close()


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1.evil.example:{port}"])
async def test_a_foreign_page_gets_403(bridge: Bridge, origin: str) -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(
                bridge.url("/editor"), headers={"Origin": origin.format(port=bridge.port)}
            )
    assert refused.value.status == 403


@pytest.mark.parametrize("origin", ["http://127.0.0.1:{port}", "app://obsidian.md"])
async def test_our_page_and_obsidian_may_connect(bridge: Bridge, origin: str) -> None:
    client = await dial_raw(bridge, additional_headers={"Origin": origin.format(port=bridge.port)})
    await client.request("hello", app="page", token=TOKEN)
    await client.close()


async def test_a_host_of_another_name_gets_403(bridge: Bridge) -> None:
    """DNS rebinding: the page's own origin would be "ours"."""
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            headers = {"Host": f"evil.example:{bridge.port}", "Origin": f"http://evil.example:{bridge.port}"}
            await session.ws_connect(bridge.url("/editor"), headers=headers)
    assert refused.value.status == 403


# what an editor says


@pytest.mark.parametrize("how", ["request", "notify"])
async def test_a_focus_becomes_state(bridge: Bridge, page: Client, how: str) -> None:
    selection = {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 6}, "text": "😀"}
    await getattr(page, how)("focus", path="Note.md", selection=selection)
    await page.request("ping")
    focus = bridge.hub.state.focus()
    assert focus is not None
    assert (focus.path, focus.selection) == (NOTE, Selection(Point(2, 4), Point(2, 6), "😀"))


async def test_the_ends_of_a_selection_dragged_upwards_are_swapped(bridge: Bridge, page: Client) -> None:
    up = {"start": {"line": 2, "character": 1}, "end": {"line": 0, "character": 0}, "text": "x"}
    await page.request("focus", path="Note.md", selection=up)
    focus = bridge.hub.state.focus()
    assert focus is not None
    assert (focus.selection.start, focus.selection.end) == (Point(1, 0), Point(3, 1))


async def test_no_focus_and_a_disconnect_clear_it(bridge: Bridge) -> None:
    async with bridge.editor() as page:
        await page.request("focus", path="Note.md")
        assert bridge.hub.state.focus() is not None
        await page.request("focus", path=None)
        assert bridge.hub.state.focus() is None
        await page.request("focus", path="Note.md")
    await until(lambda: bridge.hub.state.focus() is None and not bridge.hub.state.sources())


async def test_open_files_with_their_state(bridge: Bridge, page: Client) -> None:
    files = [{"path": "Note.md", "dirty": True, "pinned": True, "lines": 3}, {"path": "/Other.md"}]
    await page.request("openFiles", files=files)
    assert bridge.hub.state.open_files() == (
        OpenTab(NOTE, dirty=True, pinned=True, lines=3),
        OpenTab(vault_path("Other.md")),
    )


@pytest.mark.parametrize(
    ("method", "params", "named"),
    [
        ("focus", {"path": 7}, "path"),
        ("focus", {}, "path"),
        ("focus", {"path": "../out.md"}, "path"),
        ("focus", {"path": "Note.md", "selection": {"start": {"line": 0}}}, "selection"),
        ("openFiles", {"files": [{"path": "a.md", "dirty": "yes"}]}, "dirty"),
        ("mention", {"note": 1}, "note"),
        ("decide", {"action": "accept"}, "id"),
        ("select", {"note": "Note.md", "start": [99]}, "lines 1 to 3"),
        ("shareSelection", {"share": 1}, "share"),
    ],
)
async def test_a_malformed_message_is_refused_and_says_what_is_wrong(
    page: Client, method: str, params: dict[str, Any], named: str
) -> None:
    with pytest.raises(Failed) as failed:
        await page.request(method, **params)
    assert failed.value.code == -32602
    assert named in failed.value.message
    assert await page.request("ping") == {}


async def test_unknown_members_are_ignored(bridge: Bridge, page: Client) -> None:
    await page.request("focus", path="Note.md", colour="green")
    assert bridge.hub.state.focus() is not None


async def test_a_mention_reaches_the_assistants(bridge: Bridge, page: Client) -> None:
    async with bridge.client() as claude:
        await claude.request("ping")
        assert await page.request("mention", note="Note.md", lineStart=0, lineEnd=1) == {
            "path": "Note.md",
            "assistants": 1,
        }
        assert (await claude.next("at_mentioned"))["lineEnd"] == 1


async def test_a_note_may_be_mentioned_by_name(page: Client) -> None:
    assert (await page.request("mention", note="note"))["path"] == "Note.md"


async def test_a_private_note_cannot_be_mentioned_or_selected(page: Client) -> None:
    for method in ("mention", "select"):
        with pytest.raises(Failed):
            await page.request(method, note="Private/Diary.md")


@pytest.mark.parametrize(
    ("place", "selection"),
    [
        ({}, Selection()),
        ({"start": [2]}, Selection(Point(2, 0), Point(2, 12), "two 😀 three")),
        ({"start": [1], "end": [2]}, Selection(Point(1, 0), Point(2, 12), "one\ntwo 😀 three")),
        ({"start": [2, 5]}, Selection(Point(2, 4), Point(2, 4), "")),
        ({"start": [2, 5], "end": [2, 7]}, Selection(Point(2, 4), Point(2, 7), "😀 ")),
        ({"start": [2, 1], "end": [1, 1]}, Selection(Point(1, 0), Point(2, 0), "one\n")),
        ({"start": [1, 99]}, Selection(Point(1, 3), Point(1, 3), "")),
    ],
)
async def test_select_counts_as_a_person_does_and_stays(
    bridge: Bridge, place: dict[str, Any], selection: Selection
) -> None:
    """The command ends at once; what it selected remains until something newer is said."""
    async with bridge.editor("cli") as cli:
        await cli.request("select", note="Note", **place)
    assert bridge.hub.state.focus() == Focus(NOTE, selection, "cli")
    async with bridge.editor("page") as page:
        await page.request("focus", path="Note.md", selection=None)
        focus = bridge.hub.state.focus()
        assert focus is not None
        assert focus.source != "cli"


async def test_the_sharing_switch_works_from_an_editor(bridge: Bridge, page: Client) -> None:
    await page.request("focus", path="Note.md")
    await page.request("shareSelection", share=False)
    assert bridge.hub.state.focus() is None
    async with bridge.editor("obsidian", activity=True) as other:
        await page.request("shareSelection", share=True)
        assert await other.next("sharingChanged") == {"shareSelection": True}
    assert bridge.hub.state.focus() is not None


# diffs


async def test_a_waiting_diff_is_listed_and_sent_to_editors_that_connect_later(
    bridge: Bridge, vault: Path
) -> None:
    arguments = {
        "old_file_path": str(vault / NOTE),
        "new_file_path": str(vault / NOTE),
        "new_file_contents": "new",
        "tab_name": "t",
    }
    async with bridge.client() as claude, bridge.editor(proposals=True) as first:
        waiting = await claude.begin("tools/call", name="openDiff", arguments=arguments)
        shown = await first.next("proposalOpened")
        async with bridge.editor(proposals=True) as second, bridge.editor("cli") as cli:
            assert not second.came.empty()  # It came before the answer to hello.
            assert await second.next("proposalOpened") == shown
            assert [proposal["id"] for proposal in (await cli.request("proposals"))["proposals"]] == [
                shown["id"]
            ]
            await cli.request("decide", id=shown["id"], action="accept")
            assert (await claude.end(waiting))["content"][1]["text"] == "new"
            assert (await second.next("proposalClosed"))["status"] == "accepted"
            with pytest.raises(Failed, match="waiting"):
                await cli.request("decide", id=shown["id"], action="reject")


# what an editor is asked


async def test_an_editor_is_asked_to_open_a_file(bridge: Bridge, page: Client, vault: Path) -> None:
    async with bridge.client() as claude:
        waiting = await claude.begin(
            "tools/call",
            name="openFile",
            arguments={"filePath": str(vault / NOTE), "startText": "two", "endText": "😀"},
        )
        id_, params = await page.next_request("openFile")
        assert params == {
            "path": "Note.md",
            "preview": False,
            "front": True,
            "selection": {
                "start": {"line": 1, "character": 0},
                "end": {"line": 1, "character": 6},
                "text": "two 😀",
            },
        }
        await page.send(id=id_, result={"done": True})
        result = await claude.end(waiting)
        assert result["content"][0]["text"] == f"Opened file: {vault / NOTE}"


async def test_an_editor_is_asked_to_save(bridge: Bridge, page: Client, vault: Path) -> None:
    await page.request("openFiles", files=[{"path": "Note.md", "dirty": True}])
    async with bridge.client() as claude:
        waiting = await claude.begin(
            "tools/call", name="saveDocument", arguments={"filePath": str(vault / NOTE)}
        )
        id_, params = await page.next_request("saveFile")
        assert params == {"path": "Note.md"}
        await page.send(id=id_, result={"done": True})
        answer = json.loads((await claude.end(waiting))["content"][0]["text"])
        assert answer["saved"] is True


@pytest.mark.parametrize(
    "answer", [{"result": {"done": False}}, {"error": {"code": -1, "message": "no"}}, {"result": {}}]
)
async def test_an_editor_that_fails_has_not_done_it(
    bridge: Bridge, page: Client, vault: Path, answer: dict[str, Any]
) -> None:
    async with bridge.client() as claude:
        waiting = await claude.begin("tools/call", name="openFile", arguments={"filePath": str(vault / NOTE)})
        id_, _ = await page.next_request("openFile")
        await page.send(id=id_, **answer)
        assert (await claude.end(waiting))["isError"] is True


# status


async def test_status_lists_clients_editors_and_messages(bridge: Bridge, page: Client) -> None:
    await page.request("focus", path="Note.md")
    async with bridge.client() as claude:
        await claude.request("ping")
        status = await page.request("status")
    assert status["vault"] == "vault"
    assert status["focus"] == "Note.md"
    assert status["editors"] == [{"name": "editor-1", "app": "page"}]
    (client,) = status["clients"]
    assert client["software"] == "claude-code"
    assert "ping" in [message["name"] for message in client["messages"]]
    assert TOKEN not in json.dumps(status)


async def test_an_editor_may_follow_which_assistants_connect_and_leave(bridge: Bridge, page: Client) -> None:
    async with bridge.editor(assistants=True) as curious:
        async with bridge.client():
            assert await curious.next("assistantsChanged") == {"assistants": 1}
        assert await curious.next("assistantsChanged") == {"assistants": 0}
    # Editors that did not ask, or that have left, are not notified.
    async with bridge.client() as client:
        await page.request("mention", note="Note.md")
        await client.next("at_mentioned")
    assert page.came.empty()


async def test_a_mention_without_assistants_returns_zero_and_waits(bridge: Bridge, page: Client) -> None:
    assert (await page.request("mention", note="Note.md"))["assistants"] == 0
    async with bridge.client() as claude:
        assert await claude.next("at_mentioned")
    await until(lambda: not bridge.hub.assistants)
    assert bridge.hub.mention(Mention(NOTE)) == 0


async def test_an_outdated_companion_is_asked_to_update(bridge: Bridge) -> None:
    """It claims `diffs` alone, as companions did; the words are for the person who sees them there."""
    client = await dial_raw(bridge)
    with pytest.raises(Failed, match="vaultbridge companion install"):
        await client.request("hello", app="obsidian", token=TOKEN, abilities={"diffs": True, "open": True})
    assert bridge.hub.state.sources() == ()
    with pytest.raises(Failed, match="hello"):
        await client.request("status")
