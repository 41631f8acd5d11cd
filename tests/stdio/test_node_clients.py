"""The official TypeScript client and the Inspector's command line against `vaultbridge stdio`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.node import find_node, install_clients
from support.process import ROOT, make_process_environ, run_to_end
from support.vault import copy_sample_vault, make_command, make_isolated_environ
from vaultbridge.tools.standard import STANDARD_TOOLS

pytestmark = [pytest.mark.node, pytest.mark.timeout(400)]
BOUND = 90.0
SCRIPT = Path(__file__).parent / "vault_session.mjs"
INSPECTOR = Path("node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")


@pytest.fixture(scope="module")
def clients() -> Path:
    return install_clients(SCRIPT)


async def run(base: Path, folder: Path, *args: str) -> Any:
    env = {**make_process_environ(PATH=os.environ["PATH"]), **make_isolated_environ(base)}
    code, out, err = await run_to_end(find_node(folder), *args, cwd=folder, env=env, seconds=BOUND)
    assert code == 0, err
    return json.loads(out)


async def test_the_typescript_client_does_a_whole_session(tmp_path: Path, clients: Path) -> None:
    vault = copy_sample_vault(tmp_path)
    seen = await run(tmp_path, clients, SCRIPT.name, str(vault / "Home.md"), *make_command(str(vault)))
    assert seen.pop("tools") == len(STANDARD_TOOLS)
    uri = "obsidian://vault/Sample%20Vault/Home.md"
    assert seen == {
        "server": "obsidian-mcp",
        "instructions": True,
        "read": True,
        "made": {"success": True, "data": {"path": "Garden/From TypeScript.md", "created": True}},
        "failed": True,
        "uri": uri,
        "resource": "text/markdown",
        "template": "obsidian://vault/Sample%20Vault/{+path}",
        "prompts": True,
        "prompt": True,
        "completed": ["Targets"],
        "updated": uri,
        "errors": [],
    }


@pytest.mark.long
async def test_the_inspector_lists_calls_reads_and_prompts(tmp_path: Path, clients: Path) -> None:
    target = ["-e", f"PYTHONPATH={ROOT / 'src'}", *make_command(str(copy_sample_vault(tmp_path)))]

    async def inspect(*args: str) -> Any:
        return await run(tmp_path, clients, str(clients / INSPECTOR), "--cli", *target, *args)

    tools = await inspect("--method", "tools/list")
    assert "obsidian_read_note" in {tool["name"] for tool in tools["tools"]}
    call = ["--method", "tools/call", "--tool-name", "obsidian_read_note", "--tool-arg", "name=Home"]
    assert "Nightjar Hill" in (await inspect(*call))["content"][0]["text"]
    uri = "obsidian://vault/Sample%20Vault/Home.md"
    assert (await inspect("--method", "resources/read", "--uri", uri))["contents"][0]["uri"] == uri
    prompts = await inspect("--method", "prompts/list")
    assert "plan_a_night" in {prompt["name"] for prompt in prompts["prompts"]}
