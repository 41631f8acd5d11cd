"""`pause`, `resume` and `status` as a person types them, with a bridge and without one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.editor import Failed
from support.serve import Served, hosted

VAULT_NAME = "Notes"
VAULT = {"Plan.md": "# Plan\n"}

PAUSED_ALL = "All assistants are paused, including those that connect later."
PAUSED = "A person has paused this assistant."


async def test_a_person_pauses_and_resumes_by_name(tmp_path: Path, vault: Path) -> None:
    async with hosted(tmp_path / "home", vault) as server, server.client() as claude:
        await claude.request("readFile", path="Plan.md")
        code, out, _ = await server.command("pause", "claude code")
        assert (code, out) == (0, "Paused Claude Code.\n")
        with pytest.raises(Failed, match=PAUSED):
            await claude.request("readFile", path="Plan.md")
        shown = await server.answer("status")
        (assistant,) = shown["assistants"]
        assert (assistant["paused"], assistant["summary"], shown["pausedAll"]) == (
            True,
            "read Plan.md",
            False,
        )
        _, out, _ = await server.command("status")
        assert "PAUSED" in out and "read Plan.md; 1 call failed" in out
        code, out, err = await server.command("resume", "Cursor")
        assert code == 1 and "No assistant is called 'Cursor'. Choose one of: Claude Code." in err
        assert (await server.command("resume", assistant["id"]))[1] == "Resumed Claude Code.\n"
        assert await claude.request("readFile", path="Plan.md")
        answer = await server.answer("pause")
        assert (answer["pausedAll"], [entry["name"] for entry in answer["assistants"]]) == (
            True,
            ["Claude Code"],
        )
        assert PAUSED_ALL in (await server.command("status"))[1]
        with pytest.raises(Failed, match=PAUSED):
            await claude.request("readFile", path="Plan.md")
        assert (await server.command("resume"))[1] == "Resumed all assistants.\n"
        assert (await server.command("resume"))[1] == "No assistant was paused.\n"
        assert await claude.request("readFile", path="Plan.md")


async def test_without_a_bridge_the_vaults_own_list_is_changed(tmp_path: Path, vault: Path) -> None:
    nobody = Served(tmp_path / "home")

    async def read_over_stdio(name: str) -> Any:
        return await call_over_stdio(name, "read_note", path="Plan.md")

    async def call_over_stdio(name: str, tool: str, **arguments: str) -> Any:
        """One call of a client that calls itself `name`."""
        info = {"name": name, "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
        call = {"name": f"obsidian_{tool}", "arguments": arguments}
        messages = [
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        ]
        typed = "".join(json.dumps(message) + "\n" for message in messages).encode()
        code, out, _ = await nobody.command("stdio", vault, stdin=typed)
        assert code == 0
        answers = {answer["id"]: answer for answer in map(json.loads, out.splitlines()) if "id" in answer}
        return answers[2]["result"]

    assert not (await read_over_stdio("one")).get("isError")
    # Nobody can tell whether it exists: a name that was mistyped must not seem to be paused.
    code, out, err = await nobody.command("pause", "one", "-v", str(vault))
    assert (code, out) == (1, "")
    assert "No assistant called 'one' is known here. Known: Claude Code, Claude Desktop, Cursor." in err
    assert not (await read_over_stdio("one")).get("isError")
    # What it calls itself, and what people call it.
    assert (await nobody.command("pause", "claude desktop", "-v", str(vault)))[
        1
    ] == "Paused Claude Desktop.\n"
    assert PAUSED in (await read_over_stdio("claude-ai"))["content"][0]["text"]
    assert (await nobody.command("resume", "Claude Desktop", "-v", str(vault)))[
        1
    ] == "Resumed Claude Desktop.\n"
    assert not (await read_over_stdio("claude-ai")).get("isError")
    # It has changed something, so the journal knows it.
    assert not (await call_over_stdio("one", "create_note", path="New.md", content="x")).get("isError")
    assert (await nobody.command("pause", "one", "-v", str(vault)))[1] == "Paused one.\n"
    assert PAUSED in (await read_over_stdio("one"))["content"][0]["text"]
    assert not (await read_over_stdio("two")).get("isError")
    assert (await nobody.command("pause", "-v", str(vault)))[1] == f"{PAUSED_ALL}\n"
    assert PAUSED in (await read_over_stdio("two"))["content"][0]["text"]
    code, _, err = await nobody.command("resume", "nobody", "-v", str(vault))
    assert code == 1 and "No assistant called 'nobody' is paused. Paused: one." in err
    assert (await nobody.command("resume", "-v", str(vault)))[1] == "Resumed all assistants.\n"
    for name in ("one", "two"):
        assert not (await read_over_stdio(name)).get("isError")
