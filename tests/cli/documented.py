"""Runs command lines that documents and help show, in a home that has what they name."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from aiohttp import ClientSession

from support.serve import Served, served
from support.systemctl import write_program
from support.waiting import BOUND


def make_home(home: Path) -> Path:
    """A home with one vault, `~/Notes`, that Obsidian knows, and two assistants."""
    vault = home / "Notes"
    (vault / ".obsidian").mkdir(parents=True)
    for name, text in {
        "Meeting Notes": "# Meeting\n\n## Decisions\n\nAgreed.\n",
        "Project X": "[[Inbox]] [[Plan]] #project\n",
        "Old name": "text\n",
        "Inbox": "# Inbox\n\n## Today\n\n",
        "Plan": "---\nstatus: idle\n---\n",
        "Home": "[[Old name]]\n",
    }.items():
        (vault / f"{name}.md").write_text(text, "utf-8")
    beside = vault / "Work"
    beside.mkdir()
    (vault / "Notes").mkdir()
    (vault / "Notes" / "Example.md").write_text("an example\n", "utf-8")
    known = {"vaults": {"a": {"path": str(vault), "ts": 1, "open": True}}}
    for folder in (".config/obsidian", ".config/Claude", ".cursor"):
        (home / folder).mkdir(parents=True)
    (home / ".config" / "obsidian" / "obsidian.json").write_text(json.dumps(known), "utf-8")
    operation = {"op": "append", "note": "Inbox", "content": "- [ ] one more"}
    (beside / "operations.json").write_text(json.dumps([operation]), "utf-8")
    (beside / "arguments.json").write_text('{"query": "Agreed"}', "utf-8")
    server = {"command": "vaultbridge", "args": ["stdio", str(vault)]}
    (beside / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": server}}), "utf-8")
    program = home / "bin" / "vaultbridge"
    program.parent.mkdir()
    write_program(program.parent, program.parent)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vaultbridge "$@"\n', "utf-8")
    program.chmod(0o755)
    return vault


async def connect_assistant(server: Served, name: str) -> None:
    """Opens a session over MCP and leaves it open: a client of this name is connected from now on."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": name, "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    headers = {"Accept": "application/json, text/event-stream"}
    url = f"http://127.0.0.1:{server.port}/mcp"
    async with ClientSession() as http, http.post(url, json=message, headers=headers) as answer:
        assert answer.status == 200, await answer.text()


async def run_lines(
    home: Path, vault: Path, lines: Iterable[str], *, assistant: str = ""
) -> list[tuple[str, int, str]]:
    """Each line that failed, with its exit code and what it said. `assistant` is the name of a client that is
    connected meanwhile."""
    async with served(home, vault) as server:
        if assistant:
            await connect_assistant(server, assistant)
        environ = {**server.environ, "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}
        failed = []
        for line in lines:
            shown = line.replace("VAULT", "Notes").replace("MyVault", "Notes")
            shown = shown.replace("localhost:3000", f"127.0.0.1:{server.port}")
            shown = shown.replace("127.0.0.1:3000", f"127.0.0.1:{server.port}")
            # At a terminal a person would be asked.
            shown = shown.replace("vaultbridge call notes", "vaultbridge call --trust notes")
            done = await asyncio.to_thread(
                subprocess.run,
                ["bash", "-c", shown],
                cwd=vault / "Work",
                env=environ,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=BOUND,
                check=False,
            )
            refused = shown.startswith("curl") and re.search(r'"success":false|"error":', done.stdout)
            if done.returncode != 0 or "Traceback" in done.stderr or refused:
                failed.append((shown, done.returncode, done.stderr.strip() or done.stdout))
    return failed
