"""Standard output carries messages and nothing else, whatever runs inside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_support.vault import VaultProcess, small_vault

pytestmark = pytest.mark.timeout(90)

NOISY = """\
import os, subprocess, sys
from vaultbridge.app.plugin_tool import tool
print("on import")
os.write(1, b"raw on import\\n")
@tool(effect="reads")
def noisy() -> str:
    "Prints wherever it can."
    print("print")
    sys.stdout.write("stdout.write")
    sys.__stdout__.write("__stdout__") if sys.__stdout__ else None
    os.write(1, b"raw\\n")
    subprocess.run(["echo", "a child"])
    try:
        input()
    except EOFError:
        pass
    return "quiet"
"""


async def test_nothing_that_a_tool_or_its_child_prints_reaches_the_client(tmp_path: Path) -> None:
    tools = tmp_path / "home" / ".config" / "vaultbridge" / "tools"
    tools.mkdir(parents=True)
    (tools / "noisy.py").write_text(NOISY)
    vault = small_vault(tmp_path, {"A.md": "a"})
    async with VaultProcess(tmp_path, str(vault)) as process:
        await process.begin()
        await process.text("read_note", name="A")
        while "noisy" not in {tool["name"] for tool in (await process.result("tools/list"))["tools"]}:
            await process.notification("notifications/tools/list_changed")
        called = await process.result("tools/call", {"name": "noisy", "arguments": {}})
        assert called["content"][0]["text"] == "quiet"
        assert "a" in await process.text("read_note", name="A")
        code, out, err = await process.end()
    assert code == 0
    assert all("jsonrpc" in json.loads(line) for line in out.splitlines())
    for word in (b"on import", b"print", b"raw", b"a child"):
        assert word in err


async def test_logs_go_to_standard_error_and_name_no_secret_of_the_client(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    async with VaultProcess(tmp_path, str(missing), "--log-level", "debug") as process:
        await process.begin()
        result = await process.result("tools/call", {"name": "obsidian_tags", "arguments": {}})
        assert result["isError"]
        code, out, err = await process.end()
    assert code == 0
    assert all("jsonrpc" in json.loads(line) for line in out.splitlines())
    assert b"Traceback" not in err
