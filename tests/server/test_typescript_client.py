"""The official TypeScript client does a whole session over `/mcp` of the real server, in both eras."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from server.conftest import Serving
from support.node import clients_with, node

pytestmark = [pytest.mark.node, pytest.mark.timeout(400)]
BOUND = 90.0
SCRIPT = Path(__file__).parent / "http_session.mjs"


@pytest.fixture(scope="module")
def clients() -> Path:
    return clients_with(SCRIPT)


@pytest.mark.parametrize(
    ("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]
)
async def test_a_whole_session_without_a_token(
    serving: Serving, clients: Path, mode: str, version: str
) -> None:
    """Node is a program on this machine, not a browser, though its fetch says `Sec-Fetch-Mode`."""
    async with serving() as served:
        tools = served.config_file.parent / "tools"
        tools.mkdir()
        process = await asyncio.create_subprocess_exec(
            node(clients), SCRIPT.name, f"{served.url}/mcp", mode, str(tools / "waving.py"),
            cwd=clients, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, env={"PATH": os.environ["PATH"], "HOME": str(served.home)},
        )  # fmt: skip
        try:
            out, err = await asyncio.wait_for(process.communicate(), BOUND)
        except TimeoutError:
            process.kill()
            await process.communicate()
            raise
        assert process.returncode == 0, err.decode()
        seen = json.loads(out)
        assert "Hello.md" in seen.pop("resources")
        assert seen == {
            "errors": [],
            "version": version,
            "hasTools": True,
            "made": True,
            "read": True,
            "missing": True,
            "text": "# Hello\n\nsome text\n",
            "prompts": True,
            "completed": ["Hello"],
            "came": True,
            "waved": "hi",
            "went": True,
        }
        assert (served.vault / "Made.md").read_text("utf-8") == "by a client\n"
