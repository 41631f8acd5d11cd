"""The real Claude Code in print mode: one prompt, one answer."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from claude.mock_api import MockModel
from claude.terminal import FAKE_KEY, install_client
from support.process import ROOT, run_to_end
from support.vault import make_command, make_isolated_environ

BOUND = 120.0


async def ask(base: Path, model: MockModel, prompt: str, *args: str, search: bool = False) -> dict[str, Any]:
    """One prompt to the real client; gives its JSON answer. With `search` its model is shown the names of
    tools only."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "vaultbridge-tests"
    around = make_isolated_environ(base)
    config = {
        "mcpServers": {
            "vault": {
                "command": make_command()[0],
                "args": [*make_command()[1:], str(base / "Sample Vault")],
                "env": {"PYTHONPATH": str(ROOT / "src"), **around},
            }
        }
    }
    (base / "mcp.json").write_text(json.dumps(config))
    code, out, err = await run_to_end(
        str(install_client(cache)),
        "-p",
        prompt,
        "--mcp-config",
        str(base / "mcp.json"),
        "--strict-mcp-config",
        "--output-format",
        "json",
        "--allowedTools",
        "mcp__vault",
        *(["ToolSearch"] if search else []),
        *args,
        cwd=base,
        env={
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.port}",
            "ANTHROPIC_API_KEY": FAKE_KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            # With it, the model has to look for a tool before it may call it.
            "ENABLE_TOOL_SEARCH": "true" if search else "false",
            **around,
        },
        seconds=BOUND,
    )
    assert code == 0, err + out
    answer: dict[str, Any] = json.loads(out)
    return answer
