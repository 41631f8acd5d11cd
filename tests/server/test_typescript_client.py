"""The official TypeScript client does a whole session over `/mcp` of the real server, in both eras."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from server.conftest import Serving
from support.node import find_node, install_clients
from support.process import run_to_end

pytestmark = [pytest.mark.node, pytest.mark.timeout(400)]
BOUND = 90.0
SCRIPT = Path(__file__).parent / "http_session.mjs"


@pytest.fixture(scope="module")
def clients() -> Path:
    return install_clients(SCRIPT)


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
        env = {"PATH": os.environ["PATH"], "HOME": str(served.home)}
        command = (find_node(clients), SCRIPT.name, f"{served.url}/mcp", mode, str(tools / "waving.py"))
        code, out, err = await run_to_end(*command, cwd=clients, env=env, seconds=BOUND)
        assert code == 0, err
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
