"""Several vaults in one process: distinguished by name, whatever their folders are called."""

from __future__ import annotations

import asyncio
import json
import unicodedata
from pathlib import Path

import websockets

from server.conftest import Served, Serving
from support.dial import dial
from support.waiting import BOUND
from vaultbridge.server.config.model import VaultConfig
from vaultbridge.server.servers import find_served_vaults

COMPOSED = "Caf\u00e9"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


async def connect_editor(served: Served, vault: str, path: str) -> websockets.ClientConnection:
    """An editor for one vault that has a file open there."""
    lock = json.loads(next(served.home.glob(".claude/ide/*.lock")).read_text())
    editor = await dial(f"ws://127.0.0.1:{served.listening.port}/editor")
    focus = {
        "hello": {"app": "test", "token": lock["authToken"], "vault": vault, "abilities": {}},
        "focus": {"path": path},
    }
    for method, params in focus.items():
        await editor.send(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
        answer = json.loads(await asyncio.wait_for(editor.recv(), BOUND))
        assert "result" in answer, answer
    return editor


async def test_what_is_open_in_one_vault_is_not_attributed_to_another_of_the_same_name(
    serving: Serving, tmp_path: Path
) -> None:
    async with serving("", "Work", "deep/Work") as served:
        (tmp_path / "Work" / "Here.md").write_text("x", "utf-8")
        (tmp_path / "deep" / "Work" / "There.md").write_text("x", "utf-8")
        here = await connect_editor(served, str(tmp_path / "Work"), "Here.md")
        there = await connect_editor(served, str(tmp_path / "deep" / "Work"), "There.md")
        first = (await served.call("active", vault="Work"))["content"][0]["text"]
        second = (await served.call("active", vault="Work 2"))["content"][0]["text"]
        assert "Active: Here.md" in first
        assert "There.md" not in first
        assert "Active: There.md" in second
        assert "Here.md" not in second
        _, secret = served.tokens.make("one", vaults=("Work",))
        header = {"Authorization": f"Bearer {secret}"}
        seen = (await served.call("active", header))["content"][0]["text"]
        assert "There.md" not in seen
        await here.close()
        await there.close()


async def test_a_vault_is_called_alike_however_its_folder_writes_its_accents(serving: Serving) -> None:
    async with serving("", "Notes", DECOMPOSED) as served:
        assert [vault.name for vault in served.listening.vaults] == ["Notes", COMPOSED]
        assert (await served.call("read_note", path="Hello.md", vault=COMPOSED))["success"] is True
        for number, written in enumerate((COMPOSED, DECOMPOSED)):
            _, secret = served.tokens.make(f"token {number}", vaults=(written,))
            header = {"Authorization": f"Bearer {secret}"}
            assert "some text" in await served.read("Hello.md", header)


def test_each_folder_is_served_once_and_each_name_is_of_one(tmp_path: Path) -> None:
    for name in ("Notes", "a/Notes", "b/Notes"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "Notes")
    paths = ["Notes", "a/Notes", "link", "b/Notes", "a/../Notes"]
    found = find_served_vaults([VaultConfig(path=str(tmp_path / path)) for path in paths], {})
    assert [vault.name for vault in found] == ["Notes", "Notes 2", "Notes 3"]
    assert [vault.folder for vault in found] == [
        tmp_path / "Notes",
        tmp_path / "a/Notes",
        tmp_path / "b/Notes",
    ]
    assert found[1].config.path == str(tmp_path / "a/Notes")
