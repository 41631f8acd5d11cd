"""What waits for a person is told wherever they look: by `status` and `doctor`, with a bridge and without."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.serve import Served, served

VAULT_NAME = "Notes"
VAULT = {"Plan.md": "# Plan\n"}

PAUSED_ALL = "All assistants are paused, including those that connect later."


def propose(home: Served, vault: Path, text: str = "more") -> None:
    """As an assistant does over stdio, whose changes have to be reviewed."""
    info = {"name": "probe", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    call = {"name": "obsidian_edit_note", "arguments": {"op": "append", "name": "Plan", "content": text}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
    ]
    done = subprocess.run(
        [sys.executable, "-m", "vaultbridge", "stdio", vault, "--review", "all", "--timeout", "2"],
        input="".join(json.dumps(message) + "\n" for message in messages),
        env=home.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "pending" in done.stdout


async def read_doctor(home: Served, vault: Path) -> dict[str, Any]:
    _, out, _ = await home.command("doctor", vault, "--json")
    return {row["name"]: row for row in map(json.loads, out.splitlines())}


async def test_changes_that_wait_are_counted_without_a_bridge(tmp_path: Path, vault: Path) -> None:
    home = Served(tmp_path / "home")
    assert "waiting" not in (await home.command("status"))[1]
    propose(home, vault)
    shown = (await home.command("status"))[1]
    assert f"1 change is waiting for your review: vaultbridge page {vault}\n" in shown
    propose(home, vault, "and more")
    status = json.loads((await home.command("status", "--json"))[1])
    assert (status["vault"], status["waiting"], status["sessions"]) == (str(vault), 2, [])
    found = (await read_doctor(home, vault))["review of Notes"]
    assert found["found"] == "2 changes are waiting for your review"
    assert found["advice"] == f"To review them: vaultbridge page {vault}"


async def test_changes_that_wait_are_counted_with_a_bridge(tmp_path: Path, vault: Path) -> None:
    async with served(tmp_path / "home", vault) as server:
        propose(server, vault)
        assert (await server.answer("status"))["waiting"] == 1
        assert "1 change is waiting for your review" in (await server.command("status"))[1]


@pytest.mark.parametrize("name", ["", "probe"])
async def test_a_pause_is_shown_by_status_and_doctor(tmp_path: Path, vault: Path, name: str) -> None:
    home = Served(tmp_path / "home")
    propose(home, vault)
    await home.command("pause", *([name] if name else []), "-v", vault)
    shown = (await home.command("status"))[1]
    assert (PAUSED_ALL if not name else "Paused: probe") in shown
    found = (await read_doctor(home, vault))["paused in Notes"]
    assert (found["status"], found["found"]) == ("warning", name or "all assistants are")
    assert "vaultbridge resume" in found["advice"]
    assert (await home.command("resume", "-v", vault))[1] == f"Resumed {name or 'all assistants'}.\n"
    assert "paused in Notes" not in await read_doctor(home, vault)


async def test_doctor_finds_no_fault_in_a_bridge_that_is_not_for_claude_code(
    tmp_path: Path, vault: Path
) -> None:
    async with served(tmp_path / "home", vault, "--no-ide") as server:
        found = (await read_doctor(server, vault))["bridge"]
        assert (found["status"], found["advice"]) == ("good", f"For /ide: `vaultbridge serve -v {vault}`.")
