"""The IDE's tools with the exact shapes Claude Code's client expects."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.editor import Bridge, Client, running
from vaultbridge.editor.model import OpenTab, Point, Selection
from vaultbridge.protocols.claude_ide.tools import TOOLS
from vaultbridge.vault.paths import vault_path

NOTE = vault_path("Note.md")

BROKEN = """---
title: one
title: two
---
# Heading
😀 [[Missing]] and [[Other#Nowhere]]
text ^same

more ^same
"""


VAULT_NAME = "vault"
VAULT = {
    NOTE: "# Title\n\nFirst line\nSecond line\n",
    "Other.md": "# Here\n",
    "Broken 50%.md": BROKEN,
}


@pytest.fixture
async def bridge(vault: Path) -> AsyncIterator[Bridge]:
    async with running(vault) as bridge:
        bridge.hub.state.join("here", "test")
        yield bridge


@pytest.fixture
async def client(bridge: Bridge) -> AsyncIterator[Client]:
    async with bridge.client() as client:
        yield client


async def answer(client: Client, name: str, **arguments: Any) -> Any:
    (text,) = await client.tool(name, **arguments)
    return json.loads(text)


async def read_refusal(client: Client, name: str, **arguments: Any) -> str:
    result = await client.request("tools/call", name=name, arguments=arguments)
    assert result["isError"] is True
    text: str = result["content"][0]["text"]
    return text


async def test_the_list_names_every_tool_with_its_required_inputs(client: Client) -> None:
    tools = {tool["name"]: tool for tool in (await client.request("tools/list"))["tools"]}
    assert set(tools) == set(TOOLS)
    required = {name: tool["inputSchema"].get("required", []) for name, tool in tools.items()}
    assert required["openFile"] == required["checkDocumentDirty"] == required["saveDocument"] == ["filePath"]
    assert required["openDiff"] == ["old_file_path", "new_file_path", "new_file_contents", "tab_name"]
    assert required["close_tab"] == ["tab_name"]
    assert required["getDiagnostics"] == required["closeAllDiffTabs"] == []


async def test_the_current_selection(client: Client, bridge: Bridge, vault: Path) -> None:
    assert await answer(client, "getCurrentSelection") == {
        "success": False,
        "message": "No active editor found",
    }
    bridge.hub.state.focus_on("here", NOTE, Selection(Point(3, 0), Point(3, 5), "First"))
    expected = {
        "success": True,
        "text": "First",
        "filePath": str(vault / NOTE),
        "fileUrl": (vault / NOTE).as_uri(),
        "selection": {
            "start": {"line": 2, "character": 0},
            "end": {"line": 2, "character": 5},
            "isEmpty": False,
        },
    }
    assert await answer(client, "getCurrentSelection") == expected
    bridge.hub.state.focus_on("here", None)
    assert (await answer(client, "getCurrentSelection"))["success"] is False
    assert await answer(client, "getLatestSelection") == expected


async def test_the_latest_selection_before_there_was_one(client: Client) -> None:
    assert await answer(client, "getLatestSelection") == {
        "success": False,
        "message": "No selection available",
    }


async def test_open_editors(client: Client, bridge: Bridge, vault: Path) -> None:
    assert await answer(client, "getOpenEditors") == {"tabs": []}
    bridge.hub.state.files_open(
        "here", [OpenTab(NOTE, pinned=True), OpenTab(vault_path("Board.canvas"), dirty=True, lines=7)]
    )
    bridge.hub.state.focus_on("here", NOTE)
    tabs = (await answer(client, "getOpenEditors"))["tabs"]
    assert tabs[0] == {
        "uri": (vault / NOTE).as_uri(),
        "isActive": True,
        "isPinned": True,
        "isPreview": False,
        "isDirty": False,
        "label": "Note.md",
        "groupIndex": 0,
        "viewColumn": 1,
        "isGroupActive": True,
        "fileName": str(vault / NOTE),
        "languageId": "markdown",
        "lineCount": 5,
        "isUntitled": False,
    }
    assert (tabs[1]["isActive"], tabs[1]["isDirty"], tabs[1]["languageId"], tabs[1]["lineCount"]) == (
        False,
        True,
        "json",
        7,
    )


async def test_workspace_folders(client: Client, vault: Path) -> None:
    assert await answer(client, "getWorkspaceFolders") == {
        "success": True,
        "folders": [{"name": "vault", "uri": vault.as_uri(), "path": str(vault)}],
        "rootPath": str(vault),
    }


async def test_whether_a_document_is_dirty(client: Client, bridge: Bridge, vault: Path) -> None:
    path = str(vault / NOTE)
    closed = await answer(client, "checkDocumentDirty", filePath=path)
    assert closed == {"success": False, "message": f"Document not open: {path}"}
    bridge.hub.state.files_open("here", [OpenTab(NOTE, dirty=True)])
    assert await answer(client, "checkDocumentDirty", filePath=path) == {
        "success": True,
        "filePath": path,
        "isDirty": True,
        "isUntitled": False,
    }


async def test_saving_a_document(client: Client, bridge: Bridge, vault: Path) -> None:
    path = str(vault / NOTE)
    assert (await answer(client, "saveDocument", filePath=path))["success"] is False
    bridge.hub.state.files_open("here", [OpenTab(NOTE)])
    saved = await answer(client, "saveDocument", filePath=path)
    assert (saved["success"], saved["filePath"], saved["saved"]) == (True, path, True)
    bridge.hub.state.files_open("here", [OpenTab(NOTE, dirty=True)])
    unsaved = await answer(client, "saveDocument", filePath=path)
    assert (unsaved["success"], unsaved["saved"]) == (False, False)
    assert unsaved["message"]


async def test_opening_a_file_with_no_editor_is_refused(client: Client, vault: Path) -> None:
    assert "editor" in await read_refusal(client, "openFile", filePath=str(vault / NOTE))


async def test_opening_in_the_background_answers_with_facts(
    bridge: Bridge, client: Client, vault: Path
) -> None:
    async with bridge.editor(open=True) as page:
        waiting = await client.begin(
            "tools/call",
            name="openFile",
            arguments={
                "filePath": str(vault / NOTE),
                "makeFrontmost": False,
                "preview": True,
                "startText": "",
                "selectToEndOfLine": True,
            },
        )
        id_, params = await page.next_request("openFile")
        assert params == {"path": "Note.md", "preview": True, "front": False}
        await page.send(id=id_, result={"done": True})
        text = (await client.end(waiting))["content"][0]["text"]
        assert json.loads(text) == {
            "success": True,
            "filePath": str(vault / NOTE),
            "languageId": "markdown",
            "lineCount": 5,
        }


@pytest.mark.parametrize(
    ("arguments", "end", "text"),
    [
        ({"startText": "First"}, {"line": 2, "character": 5}, "First"),
        ({"startText": "First", "selectToEndOfLine": True}, {"line": 2, "character": 10}, "First line"),
        ({"startText": "First", "endText": "Second"}, {"line": 3, "character": 6}, "First line\nSecond"),
        ({"startText": "First", "endText": "absent"}, {"line": 2, "character": 5}, "First"),
    ],
)
async def test_the_selection_is_found_by_its_text(
    bridge: Bridge, client: Client, vault: Path, arguments: dict[str, Any], end: dict[str, int], text: str
) -> None:
    async with bridge.editor(open=True) as page:
        waiting = await client.begin(
            "tools/call", name="openFile", arguments={"filePath": str(vault / NOTE), **arguments}
        )
        id_, params = await page.next_request("openFile")
        assert params["selection"] == {"start": {"line": 2, "character": 0}, "end": end, "text": text}
        await page.send(id=id_, result={"done": True})
        await client.end(waiting)


async def test_lines_to_select_are_found_in_a_note_with_other_line_ends(
    bridge: Bridge, client: Client, vault: Path
) -> None:
    """The client knows every file with LF."""
    (vault / "Crlf.md").write_bytes("😀one\r\ntwo\r\nthree\r\n".encode())
    async with bridge.editor(open=True) as page:
        arguments = {"filePath": str(vault / "Crlf.md"), "startText": "one\ntwo", "endText": "\nthree"}
        waiting = await client.begin("tools/call", name="openFile", arguments=arguments)
        id_, params = await page.next_request("openFile")
        assert params["selection"] == {
            "start": {"line": 0, "character": 2},
            "end": {"line": 2, "character": 5},
            "text": "one\r\ntwo\r\nthree",
        }
        await page.send(id=id_, result={"done": True})
        await client.end(waiting)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("openFile", {}),
        ("openFile", {"filePath": 7}),
        ("openFile", {"filePath": "missing.md"}),
        ("openFile", {"filePath": "Note.md", "preview": "yes"}),
        ("openDiff", {"tab_name": "x"}),
        ("close_tab", {}),
        ("checkDocumentDirty", {"filePath": "/etc/passwd"}),
    ],
)
async def test_wrong_arguments_are_reported(client: Client, tool: str, arguments: dict[str, Any]) -> None:
    assert await read_refusal(client, tool, **arguments)


# diagnostics


async def test_diagnostics_have_exact_ranges_in_the_clients_units(client: Client, vault: Path) -> None:
    """An emoji before the link counts two columns; lines are 0-based."""
    uri = f"file://{vault / 'Broken 50%.md'}"
    (entry,) = await answer(client, "getDiagnostics", uri=uri)
    assert entry["uri"] == uri
    found = {item["code"]: item for item in entry["diagnostics"]}
    assert found["broken-link"]["range"] == {
        "start": {"line": 5, "character": 3},
        "end": {"line": 5, "character": 14},
    }
    assert found["broken-heading"]["range"]["start"] == {"line": 5, "character": 19}
    assert {"duplicate-key", "duplicate-block-id"} <= set(found)
    assert found["duplicate-key"]["severity"] == "Error"
    assert found["broken-link"]["severity"] == "Warning"
    assert all(item["source"] == "vaultbridge" and item["message"] for item in entry["diagnostics"])


async def test_a_percent_encoded_uri_is_understood_too(client: Client, vault: Path) -> None:
    (entry,) = await answer(client, "getDiagnostics", uri=(vault / "Broken 50%.md").as_uri())
    assert entry["diagnostics"]


async def test_a_sound_note_has_an_empty_list(client: Client, vault: Path) -> None:
    uri = f"file://{vault / NOTE}"
    assert await answer(client, "getDiagnostics", uri=uri) == [{"uri": uri, "diagnostics": []}]


async def test_without_a_uri_the_whole_vault_is_diagnosed(client: Client, vault: Path) -> None:
    (entry,) = await answer(client, "getDiagnostics")
    assert entry["uri"] == f"file://{vault / 'Broken 50%.md'}"


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("file:///etc/passwd", []),
        ("file:///nowhere/x.md", []),
        ("untitled:1", [{"uri": "untitled:1", "diagnostics": []}]),
        ("file://", []),
        ("../x", []),
    ],
)
async def test_diagnostics_are_always_answered(client: Client, uri: str, expected: list[Any]) -> None:
    """The client waits for this answer after every edit of any file."""
    assert await answer(client, "getDiagnostics", uri=uri) == expected
