"""Claude Code's IDE socket from outside: a real server, a real folder, the `websockets` library as client.

Anchors name seed 000 or 001, or the page of facts about the real client.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from support.editor import TOKEN, Bridge, Client, Failed, running
from support.vault_view import VaultView
from support.waiting import BOUND, until
from vaultbridge.editor.hub import EditorHub, Timing
from vaultbridge.editor.model import Mention, OpenTab, Point, Selection
from vaultbridge.errors import PermissionDenied
from vaultbridge.protocols.claude_ide.dialect import ClaudeIde, IdeOptions
from vaultbridge.protocols.mcp.provider import Context, EmptyProvider, Offer
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.values import TextContent, ToolInfo, ToolResult
from vaultbridge.vault.paths import vault_path
from vaultbridge.vault.scope import Scope

NOTE = vault_path("Note.md")
SPACED = vault_path("My Folder/A Note.md")
SECRET = vault_path("Private/Secret.md")
SECRET_TEXT = "the combination is 1234"


VAULT_NAME = "vault"
VAULT = {
    NOTE: "# Title\n\nFirst line\nSecond line\n",
    SPACED: "spaced\nlines\nhere\n",
    SECRET: SECRET_TEXT,
    "Data/list.js": "1",
}


@pytest.fixture
async def bridge(vault: Path) -> AsyncIterator[Bridge]:
    view = VaultView(vault, Scope(deny=("Private/",)))
    async with running(vault, view=view) as bridge:
        bridge.hub.state.join("here", "test")
        yield bridge


@pytest.fixture
async def client(bridge: Bridge) -> AsyncIterator[Client]:
    async with bridge.client() as client:
        yield client


# the handshake


async def test_initialize_answers_version_and_capabilities(bridge: Bridge) -> None:
    """Seed 000: "Returns server capabilities and protocol version"."""
    async with bridge.client(greet=False) as client:
        result = await client.handshake("2025-11-25")
    assert result["protocolVersion"] == "2025-11-25"
    assert "tools" in result["capabilities"]
    assert result["serverInfo"]["name"]


async def test_initialize_needs_no_parameters(bridge: Bridge) -> None:
    """Seed 000 shows none; the version of its time is assumed."""
    async with bridge.client(greet=False) as client:
        assert (await client.request("initialize"))["protocolVersion"] == "2024-11-05"


@pytest.mark.parametrize("method", ["initialized", "notifications/initialized"])
async def test_initialized_is_accepted_and_not_answered(bridge: Bridge, method: str) -> None:
    async with bridge.client(greet=False) as client:
        await client.request("initialize")
        await client.notify(method)
        assert await client.request("ping") == {}
        assert client.came.empty()


async def test_initialized_with_an_id_is_answered(bridge: Bridge) -> None:
    """Seed 000 lists it among the request-response methods."""
    async with bridge.client(greet=False) as client:
        assert await client.request("initialized") == {}


async def test_the_id_zero_is_an_id(bridge: Bridge) -> None:
    """Claude Code's first request has it."""
    async with bridge.client(greet=False) as client:
        await client.send(id=0, method="ping")
        assert await asyncio.wait_for(client.came.get(), BOUND) == {"jsonrpc": "2.0", "id": 0, "result": {}}


async def test_string_ids_are_echoed(client: Client) -> None:
    """Seed 000, Message Format."""
    await client.send(id="request_id", method="ping")
    assert (await asyncio.wait_for(client.came.get(), BOUND))["id"] == "request_id"


async def test_ping_is_answered_with_nothing(client: Client) -> None:
    assert await client.request("ping") == {}


# the seeds' methods


@pytest.mark.parametrize("method", ["files/read", "readFile"])
@pytest.mark.parametrize("path", ["Note.md", "/Note.md", "./Note.md"])
async def test_a_file_is_read_as_a_bare_string(client: Client, method: str, path: str) -> None:
    assert await client.request(method, path=path) == "# Title\n\nFirst line\nSecond line\n"


async def test_a_file_is_read_by_its_absolute_path(client: Client, vault: Path) -> None:
    assert await client.request("files/read", path=str(vault / SPACED)) == "spaced\nlines\nhere\n"


async def test_the_seeds_methods_work_without_a_handshake(bridge: Bridge) -> None:
    async with bridge.client(greet=False) as client:
        assert await client.request("readFile", path="Note.md")


async def test_an_unknown_method_before_the_handshake_is_not_found(bridge: Bridge) -> None:
    """Seed 001's clients may never send `initialize`, and learn from -32601 what a server cannot do."""
    async with bridge.client(greet=False) as client:
        for method in ("noSuchMethod", "files/write", "workspace/executeCommand"):
            with pytest.raises(Failed) as failed:
                await client.request(method)
            assert (failed.value.code, failed.value.message) == (-32601, f"Method not found: {method}")
        # A method of MCP exists, and needs the handshake.
        with pytest.raises(Failed) as failed:
            await client.request("tools/list")
        assert failed.value.code == -32600


async def test_a_missing_file_fails_in_the_seeds_words(client: Client) -> None:
    """Seed 001, Custom Error Responses."""
    with pytest.raises(Failed) as failed:
        await client.request("readFile", path="missing.md")
    assert failed.value.code == -32603
    assert failed.value.message == "failed to read file: File not found"
    assert failed.value.data["errorCode"] == "FILE_NOT_FOUND"


async def test_a_file_too_large_for_a_message_is_refused_and_a_large_one_is_not(
    client: Client, vault: Path
) -> None:
    (vault / "Large.md").write_text("x" * (9 * 2**20))
    assert len(await client.request("readFile", path="Large.md")) == 9 * 2**20
    (vault / "Larger.md").write_text("x" * (11 * 2**20))
    with pytest.raises(Failed, match=r"failed to read file: .* does not fit"):
        await client.request("readFile", path="Larger.md")


async def test_a_file_is_written_through_the_vault_with_the_writers_name(
    client: Client, bridge: Bridge, vault: Path
) -> None:
    result = await client.request("writeFile", path="New/Note.md", content="new file contents")
    assert result == {"success": True, "path": "New/Note.md"}
    assert (vault / "New/Note.md").read_text() == "new file contents"
    (change,) = bridge.view.engine.history.changes("New/Note.md")
    assert change.actor == "ide:claude-code"


async def test_a_write_that_breaks_the_properties_is_refused(client: Client, vault: Path) -> None:
    """The text of an editor client is an assistant's, unlike what a person types on the page."""
    (vault / "Kept.md").write_text("---\nkind: x\n---\ntext\n")
    with pytest.raises(Failed, match=r"The properties of Kept\.md could no longer be read") as failed:
        await client.request("writeFile", path="Kept.md", content="---\nkind: x: y\n---\ntext\n")
    assert "Line 2" in failed.value.message
    assert (vault / "Kept.md").read_text() == "---\nkind: x\n---\ntext\n"


async def test_a_write_that_the_scope_forbids_is_refused(vault: Path) -> None:
    async with (
        running(vault, view=VaultView(vault, Scope(read_only=True))) as bridge,
        bridge.client() as client,
    ):
        with pytest.raises(Failed) as failed:
            await client.request("writeFile", path="Note.md", content="x")
    assert failed.value.code == -32603
    assert failed.value.message.startswith("failed to write file: ")
    assert failed.value.data["errorCode"] == "PERMISSION_DENIED"
    assert (vault / NOTE).read_text().startswith("# Title")


@pytest.mark.parametrize("path", ["../outside.md", "a/../../b.md", "Folder/.hidden.md", "C:\\x.md", "\0"])
@pytest.mark.parametrize("method", ["readFile", "writeFile", "files/read"])
async def test_paths_that_lead_out_are_invalid_params(client: Client, method: str, path: str) -> None:
    """Seed 001, File System Security."""
    with pytest.raises(Failed) as failed:
        await client.request(method, path=path, content="x")
    assert failed.value.code == -32602


async def test_dots_and_tildes_in_names_are_fine(client: Client, vault: Path) -> None:
    """The seed's check by substring would refuse them; ours is by real path."""
    for name in ("a..b.md", "~draft.md"):
        (vault / name).write_text(name)
        assert await client.request("readFile", path=name) == name


async def test_a_symlink_out_of_the_vault_is_not_followed(
    client: Client, vault: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside.md").write_text("outside")
    (vault / "link.md").symlink_to(tmp_path / "outside.md")
    with pytest.raises(Failed):
        await client.request("readFile", path="link.md")


async def test_files_are_listed_by_an_optional_pattern(client: Client) -> None:
    """Seed 001, listFiles."""
    assert await client.request("listFiles") == ["Data/list.js", "My Folder/A Note.md", "Note.md"]
    assert await client.request("listFiles", pattern="*.js") == ["Data/list.js"]
    assert await client.request("listFiles", pattern="My Folder/*") == ["My Folder/A Note.md"]


async def test_workspace_info_has_the_seeds_shape(client: Client, vault: Path) -> None:
    assert await client.request("getWorkspaceInfo") == {
        "name": "vault",
        "path": str(vault),
        "fileCount": 3,
        "type": "obsidian-vault",
    }


async def test_open_files_and_the_current_one_are_returned(client: Client, bridge: Bridge) -> None:
    assert await client.request("getOpenFiles") == []
    assert await client.request("getCurrentFile") is None
    bridge.hub.state.files_open("here", [OpenTab(NOTE), OpenTab(SPACED)])
    bridge.hub.state.focus_on("here", SPACED)
    assert await client.request("getOpenFiles") == ["Note.md", "My Folder/A Note.md"]
    assert await client.request("getCurrentFile") == "My Folder/A Note.md"


async def test_the_selection_and_the_cursor_are_returned(client: Client, bridge: Bridge, vault: Path) -> None:
    """Seed 000, workspace/selection."""
    bridge.hub.state.focus_on("here", NOTE, Selection(Point(3, 0), Point(3, 5), "First"))
    assert await client.request("workspace/selection") == {
        "text": "First",
        "filePath": str(vault / NOTE),
        "fileUrl": (vault / NOTE).as_uri(),
        "selection": {
            "start": {"line": 2, "character": 0},
            "end": {"line": 2, "character": 5},
            "isEmpty": False,
        },
        "cursor": {"line": 2, "character": 5},
    }


async def test_without_an_active_note_the_selection_is_empty(client: Client) -> None:
    result = await client.request("workspace/selection")
    assert (result["text"], result["filePath"], result["selection"]["isEmpty"]) == ("", "", True)


async def test_resources_are_listed_and_empty(client: Client) -> None:
    """Seed 000: "Returns available resources (currently empty)"."""
    assert (await client.request("resources/list"))["resources"] == []


# errors


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ("{not json", -32700),
        ('{"jsonrpc":"1.0","method":"ping","id":1}', -32600),
        ('{"jsonrpc":"2.0","id":1}', -32600),
        ('"text"', -32600),
        ("[]", -32600),
        ('{"jsonrpc":"2.0","method":"noSuchMethod","id":1}', -32601),
        ('{"jsonrpc":"2.0","method":"readFile","id":1}', -32602),
        ('{"jsonrpc":"2.0","method":"readFile","params":{"path":7},"id":1}', -32602),
        ('{"jsonrpc":"2.0","method":"readFile","params":[1],"id":1}', -32602),
        ('{"jsonrpc":"2.0","method":"listFiles","params":{"pattern":7},"id":1}', -32602),
    ],
)
async def test_errors_have_the_seeds_code(client: Client, sent: str, code: int) -> None:
    """Seeds 000 and 001, error codes; the connection survives each of them."""
    await client.socket.send(sent)
    answer = await asyncio.wait_for(
        client.came.get() if '"id":1' not in sent else _wait_for_any(client), BOUND
    )
    assert answer["error"]["code"] == code
    assert await client.request("ping") == {}


async def _wait_for_any(client: Client) -> dict[str, Any]:
    return await client.came.get()


class BrokenView(VaultView):
    async def file_count(self) -> int:
        raise RuntimeError("/secret/path of the machine")


async def test_an_internal_failure_is_an_error_without_details(
    vault: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(vault, view=BrokenView(vault, Scope())) as bridge, bridge.client() as client:
        with pytest.raises(Failed) as failed:
            await client.request("getWorkspaceInfo")
    assert failed.value.code == -32603
    assert "secret" not in json.dumps([failed.value.message, failed.value.data])
    assert "/secret/path" in caplog.text


# notifications to the client


async def test_a_selection_is_sent_in_the_seeds_shape_with_an_absolute_path(
    client: Client, bridge: Bridge, vault: Path
) -> None:
    bridge.hub.state.focus_on("here", NOTE, Selection(Point(1, 2), Point(3, 5), "Title\n\nFirst"))
    assert await client.next("selection_changed") == {
        "text": "Title\n\nFirst",
        "filePath": str(vault / NOTE),
        "fileUrl": (vault / NOTE).as_uri(),
        "selection": {
            "start": {"line": 0, "character": 2},
            "end": {"line": 2, "character": 5},
            "isEmpty": False,
        },
    }


async def test_a_setting_gives_the_seeds_relative_path(vault: Path) -> None:
    async with running(vault, options=IdeOptions(relative_paths=True)) as bridge, bridge.client() as client:
        bridge.hub.state.join("here", "test")
        bridge.hub.state.focus_on("here", SPACED)
        assert (await client.next("selection_changed"))["filePath"] == "My Folder/A Note.md"


async def test_an_empty_selection_has_empty_text_and_says_so(client: Client, bridge: Bridge) -> None:
    bridge.hub.state.focus_on("here", NOTE, Selection(Point(2, 0), Point(2, 0)))
    params = await client.next("selection_changed")
    assert params["text"] == ""
    assert params["selection"]["isEmpty"] is True


async def test_several_changes_are_sent_as_one(bridge: Bridge, vault: Path) -> None:
    async with bridge.client() as client:
        for line in range(1, 30):
            bridge.hub.state.focus_on("here", NOTE, Selection(Point(line, 0), Point(line, 1), "x"))
        params = await client.next("selection_changed")
        assert params["selection"]["start"]["line"] == 28
        assert await client.request("ping") == {}
        assert client.came.empty()


async def test_an_earlier_selection_is_sent_to_a_client_that_connects_later(bridge: Bridge) -> None:
    bridge.hub.state.focus_on("here", NOTE)
    async with bridge.client() as client:
        assert (await client.next("selection_changed"))["filePath"].endswith("Note.md")


async def test_nothing_is_sent_before_the_client_has_announced_itself(bridge: Bridge) -> None:
    bridge.hub.state.focus_on("here", NOTE)
    async with bridge.client(greet=False) as client, bridge.client() as other:
        await client.request("initialize")
        assert await other.next("selection_changed")
        assert await client.request("ping") == {}
        assert client.came.empty()
        await client.notify("ide_connected", pid=1)
        assert await client.next("selection_changed")


async def test_the_selection_is_sent_again_after_every_prompt(client: Client, bridge: Bridge) -> None:
    """The client forgets it; `closeAllDiffTabs` is its sign."""
    bridge.hub.state.focus_on("here", NOTE)
    first = await client.next("selection_changed")
    assert await client.tool("closeAllDiffTabs") == ["CLOSED_0_DIFF_TABS"]
    assert await client.next("selection_changed") == first


async def test_closing_the_file_clears_it(client: Client, bridge: Bridge) -> None:
    bridge.hub.state.focus_on("here", NOTE)
    await client.next("selection_changed")
    bridge.hub.state.focus_on("here", None)
    params = await client.next("selection_changed")
    assert (params["text"], params["filePath"], params["fileUrl"]) == ("", "", "")
    assert params["selection"] == {
        "start": {"line": 0, "character": 0},
        "end": {"line": 0, "character": 0},
        "isEmpty": True,
    }


async def test_a_mention_has_the_seeds_shape(client: Client, bridge: Bridge, vault: Path) -> None:
    bridge.hub.mention(Mention(NOTE, 11, 16))
    assert await client.next("at_mentioned") == {
        "filePath": str(vault / NOTE),
        "lineStart": 10,
        "lineEnd": 15,
    }


async def test_a_mention_of_a_whole_note_has_no_lines(client: Client, bridge: Bridge, vault: Path) -> None:
    """A null line would make the client drop the message."""
    bridge.hub.mention(Mention(NOTE))
    assert await client.next("at_mentioned") == {"filePath": str(vault / NOTE)}


async def test_every_client_is_notified(bridge: Bridge) -> None:
    async with bridge.client() as first, bridge.client() as second:
        await first.request("ping")
        await second.request("ping")
        assert bridge.hub.mention(Mention(NOTE)) == 2
        assert await first.next("at_mentioned") == await second.next("at_mentioned")


async def test_a_mention_waits_for_a_client_that_connects_soon(bridge: Bridge) -> None:
    assert bridge.hub.mention(Mention(NOTE, 1, 2)) == 0
    async with bridge.client() as client, bridge.client() as second:
        assert (await client.next("at_mentioned"))["lineEnd"] == 1
        assert await second.request("ping") == {}
        assert all(message.get("method") != "at_mentioned" for message in _drain(second))


async def test_a_mention_does_not_wait_longer_than_its_time(vault: Path) -> None:
    async with running(vault, timing=Timing(0.001, 0.002, 0.001, mention_wait=0.0)) as bridge:
        bridge.hub.mention(Mention(NOTE))
        async with bridge.client() as client:
            await client.request("ping")
            bridge.hub.mention(Mention(SPACED))
            assert (await client.next("at_mentioned"))["filePath"] == str(vault / SPACED)


def _drain(client: Client) -> list[dict[str, Any]]:
    messages = []
    while not client.came.empty():
        messages.append(client.came.get_nowait())
    return messages


async def test_a_path_with_spaces_is_quoted_below_the_clients_folder(bridge: Bridge, vault: Path) -> None:
    """Otherwise the real client cuts the mention at the space and attaches nothing."""
    async with bridge.client(greet=False) as client:
        await client.handshake(capabilities={"roots": {}})
        id_, _ = await client.next_request("roots/list")
        await client.send(id=id_, result={"roots": [{"uri": vault.as_uri(), "name": "vault"}]})
        await until(lambda: bridge.ide.clients()[0].folder != "")
        bridge.hub.mention(Mention(SPACED, 2, 3))
        assert await client.next("at_mentioned") == {"filePath": f'{vault}/"My Folder/A Note.md#L2-3"'}
        bridge.hub.mention(Mention(NOTE, 2, 3))
        assert (await client.next("at_mentioned"))["lineStart"] == 1


async def test_the_quoting_can_be_switched_off(vault: Path) -> None:
    options = IdeOptions(quote_mentions=False)
    async with running(vault, options=options) as bridge, bridge.client(greet=False) as client:
        await client.handshake(capabilities={"roots": {}})
        id_, _ = await client.next_request("roots/list")
        await client.send(id=id_, result={"roots": [{"uri": vault.as_uri()}]})
        await until(lambda: bridge.ide.clients()[0].folder != "")
        bridge.hub.mention(Mention(SPACED))
        assert await client.next("at_mentioned") == {"filePath": str(vault / SPACED)}


# privacy


async def test_nothing_about_a_private_note_is_ever_sent(bridge: Bridge, vault: Path) -> None:
    async with bridge.client() as client:
        state = bridge.hub.state
        state.files_open("here", [OpenTab(SECRET), OpenTab(NOTE)])
        state.focus_on("here", SECRET, Selection(Point(1, 0), Point(1, 5), SECRET_TEXT))
        with pytest.raises(PermissionDenied, match="private"):
            bridge.hub.mention(Mention(SECRET))
        answers = [await client.request("listFiles"), await client.request("getOpenFiles")]
        answers.append(await client.request("workspace/selection"))
        for tool in ("getCurrentSelection", "getLatestSelection", "getOpenEditors", "getDiagnostics"):
            answers.append(await client.tool(tool))
        for method, params in (
            ("readFile", {"path": SECRET}),
            ("tools/call", {"name": "openDiff", "arguments": _make_diff(vault / SECRET)}),
            ("tools/call", {"name": "openFile", "arguments": {"filePath": str(vault / SECRET)}}),
        ):
            try:
                answers.append(await client.request(method, **params))
            except Failed as failed:
                answers.append([failed.message])
        await client.tool("closeAllDiffTabs")
        # The next visible position is the first thing that is sent.
        state.focus_on("here", NOTE)
        first = await asyncio.wait_for(client.came.get(), BOUND)
    assert first["params"]["filePath"] == str(vault / NOTE)
    everything = json.dumps(answers)
    assert SECRET_TEXT not in everything


async def test_going_to_a_private_note_clears_the_selection(client: Client, bridge: Bridge) -> None:
    bridge.hub.state.focus_on("here", NOTE)
    await client.next("selection_changed")
    bridge.hub.state.focus_on("here", SECRET)
    assert (await client.next("selection_changed"))["filePath"] == ""


async def test_with_sharing_off_only_mentions_are_sent(vault: Path) -> None:
    async with running(vault, share_selection=False) as bridge, bridge.client() as client:
        bridge.hub.state.join("here", "test")
        bridge.hub.state.focus_on("here", NOTE, Selection(Point(1, 0), Point(1, 3), "abc"))
        assert json.loads((await client.tool("getCurrentSelection"))[0])["success"] is False
        bridge.hub.mention(Mention(NOTE))
        assert await client.next("at_mentioned")
        assert all(message.get("method") != "selection_changed" for message in _drain(client))


# MCP beside the IDE's own


class Greeter(EmptyProvider):
    async def list_tools(self) -> list[ToolInfo]:
        return [ToolInfo(name="greet", input_schema={"type": "object"})]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        return ToolResult((TextContent(text="hello"),))


async def test_the_vaults_own_tools_are_listed_and_called_beside_the_ides(vault: Path) -> None:
    async def make() -> Greeter:
        return Greeter()

    async with running(vault, server=McpServer(Offer(), make)) as bridge, bridge.client() as client:
        names = [tool["name"] for tool in (await client.request("tools/list"))["tools"]]
        assert names[-1] == "greet"
        assert {"openDiff", "getDiagnostics", "closeAllDiffTabs", "close_tab", "openFile"} < set(names)
        result = await client.request("tools/call", name="greet", arguments={})
        assert result["content"][0]["text"] == "hello"
        assert await client.request("resources/list") == {"resources": []}


@pytest.mark.parametrize("name", ["noSuchTool", "", None, 1, ["openDiff"], {"openDiff": 1}])
async def test_an_unknown_tool_is_refused(client: Client, name: Any) -> None:
    with pytest.raises(Failed) as failed:
        await client.request("tools/call", name=name, arguments={})
    assert failed.value.code == -32602


async def test_a_tool_may_be_called_before_it_was_listed(bridge: Bridge) -> None:
    async with bridge.client() as client:
        assert await client.tool("closeAllDiffTabs") == ["CLOSED_0_DIFF_TABS"]


# diffs


def _make_diff(file: Path, new: str = "new text", tab: str = "✻ [Claude Code] Note.md") -> dict[str, str]:
    return {
        "old_file_path": str(file),
        "new_file_path": str(file),
        "new_file_contents": new,
        "tab_name": tab,
    }


async def test_an_accepted_diff_answers_with_the_final_text_and_writes_nothing(
    bridge: Bridge, vault: Path
) -> None:
    async with bridge.client() as client, bridge.editor(proposals=True) as page:
        waiting = await client.begin("tools/call", name="openDiff", arguments=_make_diff(vault / NOTE))
        shown = await page.next("proposalOpened")
        (file,) = shown["files"]
        assert file["path"] == "Note.md"
        assert file["oldText"].startswith("# Title")
        assert file["newText"] == "new text"
        files = [{"path": "Note.md", "text": "edited by hand"}]
        await page.request("decide", id=shown["id"], hash=shown["hash"], action="accept", files=files)
        result = await client.end(waiting)
        assert [block["text"] for block in result["content"]] == ["FILE_SAVED", "edited by hand"]
        closed = await page.next("proposalClosed")
        assert (closed["id"], closed["status"], closed["by"]) == (shown["id"], "edited", "page")
        assert closed["text"] == "accepted"
    assert (vault / NOTE).read_text().startswith("# Title")


async def test_a_rejected_diff_answers_with_its_tab(bridge: Bridge, vault: Path) -> None:
    async with bridge.client() as client, bridge.editor(proposals=True) as page:
        waiting = await client.begin("tools/call", name="openDiff", arguments=_make_diff(vault / NOTE))
        shown = await page.next("proposalOpened")
        await page.request("decide", id=shown["id"], action="reject")
        result = await client.end(waiting)
        assert [block["text"] for block in result["content"]] == ["DIFF_REJECTED", "✻ [Claude Code] Note.md"]


async def test_a_new_note_is_a_diff_from_nothing_and_crlf_is_shown_as_lf(bridge: Bridge, vault: Path) -> None:
    (vault / "crlf.md").write_bytes(b"a\r\nb\r\n")
    async with bridge.client() as client, bridge.editor(proposals=True) as page:
        first = await client.begin(
            "tools/call", name="openDiff", arguments=_make_diff(vault / "Brand New.md", tab="a")
        )
        assert (await page.next("proposalOpened"))["files"][0]["oldText"] == ""
        second = await client.begin(
            "tools/call", name="openDiff", arguments=_make_diff(vault / "crlf.md", tab="b")
        )
        assert (await page.next("proposalOpened"))["files"][0]["oldText"] == "a\nb\n"
        assert await client.tool("closeAllDiffTabs") == ["CLOSED_2_DIFF_TABS"]
        for waiting in (first, second):
            assert (await client.end(waiting))["content"][0]["text"] == "DIFF_REJECTED"


async def test_with_no_front_end_the_diff_is_left_to_the_terminal(bridge: Bridge, vault: Path) -> None:
    async with bridge.client() as client:
        result = await client.request("tools/call", name="openDiff", arguments=_make_diff(vault / NOTE))
    assert result["isError"] is True
    assert "DIFF_REJECTED" not in json.dumps(result)
    assert "No editor" in result["content"][0]["text"]


async def test_a_diff_of_a_file_outside_the_vault_is_left_to_the_terminal(
    bridge: Bridge, tmp_path: Path
) -> None:
    async with bridge.client() as client, bridge.editor(proposals=True):
        result = await client.request("tools/call", name="openDiff", arguments=_make_diff(tmp_path / "x.md"))
    assert result["isError"] is True


async def test_close_tab_rejects_a_waiting_diff_and_always_answers(bridge: Bridge, vault: Path) -> None:
    async with bridge.client() as client, bridge.editor(proposals=True) as page:
        waiting = await client.begin(
            "tools/call", name="openDiff", arguments=_make_diff(vault / NOTE, tab="t")
        )
        await page.next("proposalOpened")
        assert await client.tool("close_tab", tab_name="t") == ["TAB_CLOSED"]
        assert (await client.end(waiting))["content"][0]["text"] == "DIFF_REJECTED"
        assert await client.tool("close_tab", tab_name="t") == ["TAB_CLOSED"]


@pytest.mark.parametrize(("name", "arguments"), [("close_tab", {"tab_name": "t"}), ("closeAllDiffTabs", {})])
async def test_a_diff_that_is_closed_at_once_does_not_stay_open(
    bridge: Bridge, vault: Path, name: str, arguments: dict[str, Any]
) -> None:
    async with bridge.client() as client, bridge.editor(proposals=True):
        waiting = await client.begin(
            "tools/call", name="openDiff", arguments=_make_diff(vault / NOTE, tab="t")
        )
        await client.tool(name, **arguments)
        assert (await client.end(waiting))["content"][0]["text"] == "DIFF_REJECTED"
    assert bridge.hub.diffs.waiting() == ()


async def test_a_client_that_disconnects_withdraws_only_its_own_diffs(bridge: Bridge, vault: Path) -> None:
    async with bridge.editor(proposals=True) as page, bridge.client() as stays:
        kept = await stays.begin(
            "tools/call", name="openDiff", arguments=_make_diff(vault / NOTE, tab="kept")
        )
        kept_id = (await page.next("proposalOpened"))["id"]
        async with bridge.client() as leaves:
            await leaves.begin("tools/call", name="openDiff", arguments=_make_diff(vault / NOTE, tab="gone"))
            gone_id = (await page.next("proposalOpened"))["id"]
        closed = await page.next("proposalClosed")
        assert closed["id"] == gone_id
        assert closed["status"] == "withdrawn"
        assert [diff.id for diff in bridge.hub.diffs.waiting()] == [kept_id]
        await page.request("decide", id=kept_id, action="accept")
        assert (await stays.end(kept))["content"][1]["text"] == "new text"


@pytest.mark.parametrize(
    ("written", "reason"),
    [("new text\n", "accepted-in-terminal"), ("new text", "accepted-in-terminal"), (None, "withdrawn")],
)
async def test_a_tab_closed_by_the_client_was_accepted_there_or_withdrawn(
    bridge: Bridge, vault: Path, written: str | None, reason: str
) -> None:
    """The real client closes the tab and then writes the note when a person says yes in the terminal."""
    proposed = {**_make_diff(vault / NOTE, tab="t"), "new_file_contents": "new text\n"}
    async with bridge.client() as client, bridge.editor(proposals=True) as page:
        waiting = await client.begin("tools/call", name="openDiff", arguments=proposed)
        await page.next("proposalOpened")
        assert await client.tool("close_tab", tab_name="t") == ["TAB_CLOSED"]
        assert (await client.end(waiting))["content"][0]["text"] == "DIFF_REJECTED"
        if written is not None:
            (vault / NOTE).write_text(written)
        closed = await page.next("proposalClosed")
        assert closed["status"] == reason
        assert ("terminal" in closed["text"]) is (written is not None)


@pytest.mark.parametrize("writes", ["new text", "new text\nwritten by somebody else\n", ""])
async def test_an_acceptance_of_a_changed_note_is_reported_by_what_the_client_writes(
    bridge: Bridge, vault: Path, writes: str
) -> None:
    """The real client refuses to write ("File content has changed since it was last read"), or carries an
    edit over to the changed note."""
    async with bridge.client() as client, bridge.editor(proposals=True) as page:
        waiting = await client.begin("tools/call", name="openDiff", arguments=_make_diff(vault / NOTE))
        shown = await page.next("proposalOpened")
        (vault / NOTE).write_text("written by somebody else\n")
        # The proposal does not fit the note any more; the person insists on it.
        files = [{"path": "Note.md", "text": "new text"}]
        accepting = await page.begin("decide", id=shown["id"], action="accept", files=files)
        assert (await client.end(waiting))["content"][0]["text"] == "FILE_SAVED"
        if writes:
            (vault / NOTE).write_text(writes)
        outcome = "accepted" if writes else "note-changed"
        assert (await page.end(accepting))["outcome"] == outcome
        assert (await page.next("proposalClosed"))["status"] == outcome


async def test_a_cancelled_request_withdraws_its_diff(bridge: Bridge, vault: Path) -> None:
    async with bridge.client() as client, bridge.editor(proposals=True) as page:
        await client.send(
            id=77, method="tools/call", params={"name": "openDiff", "arguments": _make_diff(vault / NOTE)}
        )
        await page.next("proposalOpened")
        await client.notify("notifications/cancelled", requestId=77)
        assert (await page.next("proposalClosed"))["status"] == "withdrawn"
        assert await client.request("ping") == {}


# several at once, and the log


async def test_ten_clients_work_at_once_under_load(bridge: Bridge) -> None:
    async def work(client: Client, number: int) -> int:
        for turn in range(30):
            assert await client.request("readFile", path="Note.md")
            path = f"out/{number}-{turn % 3}.md"
            assert (await client.request("writeFile", path=path, content=str(turn)))["success"]
        return number

    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(bridge.client()) for _ in range(10)]
        changes = asyncio.ensure_future(_keep_moving(bridge))
        assert await asyncio.gather(*(work(client, n) for n, client in enumerate(clients))) == list(range(10))
        await changes
        for client in clients:
            params = await client.next("selection_changed")
            while params["selection"]["start"]["line"] != 49:
                params = await client.next("selection_changed")


async def _keep_moving(bridge: Bridge) -> None:
    for line in range(1, 51):
        bridge.hub.state.focus_on("here", NOTE, Selection(Point(line, 0), Point(line, 0)))
        await asyncio.sleep(0)


async def test_the_same_port_and_token_serve_a_client_after_a_restart(vault: Path) -> None:
    async with running(vault) as bridge:
        port = bridge.port
        async with bridge.client() as client:
            assert await client.request("ping") == {}
    async with running(vault, port=port) as again, again.client() as client:
        assert again.port == port
        assert await client.request("readFile", path="Note.md")


async def test_clear_in_the_client_opens_a_fresh_connection_with_its_own_state(bridge: Bridge) -> None:
    bridge.hub.state.focus_on("here", NOTE)
    for _ in range(3):
        async with bridge.client() as client:
            assert await client.next("selection_changed")
    await until(lambda: bridge.hub.assistants == () and bridge.ide.clients() == ())


async def test_messages_and_mentions_are_logged_in_the_seeds_words_without_content(
    bridge: Bridge, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "vaultbridge")
    async with bridge.client() as client:
        await client.request("readFile", path="Note.md")
        bridge.hub.mention(Mention(NOTE))
        await client.next("at_mentioned")
    for words in ("Parsed message", "Raw data received", "Sent at-mention"):
        assert words in caplog.text
    assert TOKEN not in caplog.text
    assert "First line" not in caplog.text


async def test_status_knows_the_clients_and_their_last_messages(bridge: Bridge) -> None:
    async with bridge.client() as client:
        await client.request("ping")
        (record,) = bridge.ide.clients()
        assert (record.software, record.pid) == ("claude-code", 4242)
        assert [name for _, _, name in record.messages][:3] == [
            "initialize",
            "notifications/initialized",
            "ide_connected",
        ]


# several vaults


async def test_a_client_gets_the_innermost_vault_it_runs_in(tmp_path: Path) -> None:
    outer, inner, far = tmp_path / "outer", tmp_path / "outer" / "inner", tmp_path / "outer-not"
    for folder in (inner / "sub", far):
        folder.mkdir(parents=True)
    views = [VaultView(folder, cache=tmp_path / f"cache{n}") for n, folder in enumerate((outer, inner))]
    try:
        first, second = (ClaudeIde(view, EditorHub(view.visible)) for view in views)
        first.others, second.others = (second,), (first,)
        for ide in (first, second):
            assert ide.for_folder(str(outer)) is first
            assert ide.for_folder(str(inner)) is second
            assert ide.for_folder(str(inner / "sub")) is second
            assert ide.for_folder(str(far)) is ide
        (tmp_path / "link").symlink_to(inner)
        assert first.for_folder(str(tmp_path / "link" / "sub")) is second
    finally:
        for view in views:
            view.close()


async def test_a_file_written_in_another_vault_is_found_again_by_its_answer(
    vault: Path, tmp_path: Path
) -> None:
    """Both vaults have a note of this name: the path in the answer must lead to the one that was written."""
    second = tmp_path / "b" / "Second"
    second.mkdir(parents=True)
    async with running(vault) as bridge, running(second) as other:
        bridge.ide.others, other.ide.others = (other.ide,), (bridge.ide,)
        async with bridge.client() as client:
            for name, sent in (("Note.md", "second"), ("New/Name.md", "new there")):
                written = await client.request("writeFile", path=str(second / name), content=sent)
                assert written == {"success": True, "path": str(second / name)}
                assert await client.request("readFile", path=written["path"]) == sent
                assert (second / name).read_text() == sent
            written = await client.request("writeFile", path=str(vault / "Note.md"), content="first")
            assert written["path"] == "Note.md"
            assert await client.request("readFile", path=written["path"]) == "first"
    assert (second / "Note.md").read_text() == "second"


async def test_a_client_moves_to_its_vault_before_anything_is_sent(vault: Path, tmp_path: Path) -> None:
    """A mention that waits at one vault must not go to a client of another."""
    second = tmp_path / "b" / "Second"
    second.mkdir(parents=True)
    (second / "N.md").write_text("n")
    async with running(vault) as bridge, running(second) as other:
        bridge.ide.others, other.ide.others = (other.ide,), (bridge.ide,)
        bridge.hub.mention(Mention(vault_path("Note.md")))
        other.hub.mention(Mention(vault_path("N.md")))
        async with bridge.client(greet=False) as client:
            await client.handshake(capabilities={"roots": {}})
            id_, _ = await client.next_request("roots/list")
            await client.send(id=id_, result={"roots": [{"uri": second.as_uri()}]})
            assert (await client.next("at_mentioned"))["filePath"] == str(second / "N.md")
            assert [record.folder for record in other.ide.clients()] == [str(second)]
            assert bridge.ide.clients() == () and bridge.hub.assistants == ()
            assert (await client.request("getWorkspaceInfo"))["name"] == "Second"
            # What waits at the first vault still waits there.
            assert bridge.hub.take_mentions(0.0)
        await until(lambda: other.ide.clients() == () and other.hub.assistants == ())
