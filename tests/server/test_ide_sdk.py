"""The official SDK's client over our own transport, at the IDE socket of a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client

from support.serve import hosted
from vaultbridge.client.websocket.transport import WebSocketTransport
from vaultbridge.protocols.claude_ide.tools import TOOLS

pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

MODES = [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]


@pytest.mark.parametrize(("mode", "version"), MODES)
async def test_every_editor_tool_answers_the_official_client_at_every_version(
    tmp_path: Path, mode: str, version: str
) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    note = vault / "Note.md"
    note.write_text("# Title\n")
    file: dict[str, Any] = {"filePath": str(note)}
    arguments = {
        "openFile": file,
        "checkDocumentDirty": file,
        "saveDocument": file,
        "close_tab": {"tab_name": "t"},
        "openDiff": {
            "old_file_path": str(note),
            "new_file_path": str(note),
            "new_file_contents": "x",
            "tab_name": "t",
        },
    }
    # Nobody is there to open or show anything.
    failing = {"openFile", "openDiff"}
    async with hosted(tmp_path / "home", vault) as server:
        transport = WebSocketTransport(
            f"ws://127.0.0.1:{server.port}/", headers={"X-Claude-Code-Ide-Authorization": server.token}
        )
        async with Client(transport, mode=mode) as client:  # type: ignore[arg-type]
            assert client.protocol_version == version
            listed = {tool.name for tool in (await client.list_tools()).tools}
            assert set(TOOLS) <= listed
            for name in TOOLS:
                result = await client.call_tool(name, arguments.get(name, {}))
                assert bool(result.is_error) is (name in failing), name
                assert isinstance(result.content[0], types.TextContent)
            info = await client.call_tool("obsidian_vault_info", {})
            assert not info.is_error
            assert (await client.list_resources()).resources
