"""The official TypeScript client over the IDE socket."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from support.editor import TOKEN, running
from support.node import find_node, install_clients
from support.process import make_process_environ
from support.waiting import BOUND
from vaultbridge.editor.model import Mention, Point, Selection
from vaultbridge.vault.paths import vault_path

pytestmark = [pytest.mark.node, pytest.mark.timeout(400)]
SCRIPT = Path(__file__).with_name("ide_session.mjs")


@pytest.fixture(scope="module")
def clients() -> Path:
    return install_clients(SCRIPT)


async def test_the_typescript_websocket_transport_does_a_whole_session(clients: Path, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Note.md").write_text("text\n")
    async with running(vault) as bridge:
        process = await asyncio.create_subprocess_exec(
            find_node(clients),
            SCRIPT.name,
            bridge.url(),
            TOKEN,
            cwd=clients,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=make_process_environ(HOME=str(clients), PATH=os.environ["PATH"]),
        )
        assert process.stderr is not None
        assert await asyncio.wait_for(process.stderr.readline(), BOUND) == b"ready\n"
        bridge.hub.state.join("here", "test")
        selected = Selection(Point(1, 0), Point(9, 0), "y" * 200_000)
        bridge.hub.state.focus_on("here", vault_path("Note.md"), selected)
        bridge.hub.mention(Mention(vault_path("Note.md"), 1, 1))
        out, err = await asyncio.wait_for(process.communicate(), BOUND)
    assert process.returncode == 0, err.decode()
    seen = json.loads(out)
    assert seen["errors"] == []
    assert seen["server"] == "obsidian-mcp"
    assert {"openDiff", "getDiagnostics"} <= set(seen["tools"])
    assert (seen["folders"], seen["closed"], seen["resources"]) == (True, "CLOSED_0_DIFF_TABS", [])
    assert seen["mention"] == {"filePath": str(vault / "Note.md"), "lineStart": 0, "lineEnd": 0}
    assert seen["selected"] == 200_000
    assert (vault / "Large.md").read_text() == "x" * 300_000
    assert seen["missing"] == -32603
