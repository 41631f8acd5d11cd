"""A large vault whose index is still being built: what a client gets meanwhile, and what a kill leaves."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mcp_support.process import ROOT
from mcp_support.vault import VaultProcess, small_vault

pytestmark = pytest.mark.timeout(120)

NOTES = 3000


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "benchmarks" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large") / "Large"
    generator().generate(folder, NOTES)
    return folder


async def complete(process: VaultProcess) -> str:
    """Ask until the answer is a whole one; gives it."""
    while "index is still being built" in (text := await process.text("search", query="zyzzyvaphone")):
        await process.text("read_note", name="Hub")
    return text


async def test_everything_is_served_while_the_index_is_being_built(tmp_path: Path, large: Path) -> None:
    async with VaultProcess(tmp_path, str(large)) as process:
        assert (await process.begin())["result"]["serverInfo"]["name"] == "obsidian-mcp"
        assert len((await process.result("tools/list"))["tools"]) >= 21
        partial = await process.text("search", query="zyzzyvaphone")
        assert "index is still being built" in partial
        assert "Hub.md" in await process.text("read_note", name="Hub")
        listed = await process.result("resources/list")
        assert len(listed["resources"]) == 500
        assert listed["nextCursor"]
        ref = {"type": "ref/prompt", "name": "summarize_note"}
        params = {"ref": ref, "argument": {"name": "note", "value": "hub"}}
        assert "Hub" in (await process.result("completion/complete", params))["completion"]["values"]
        made = await process.text("create_note", name="Made meanwhile", content="zyzzyvaphone")
        assert '"created":true' in made
        found = await complete(process)
        assert "Made meanwhile.md" in found
        code, _, err = await process.end()
        assert code == 0, err
    (large / "Made meanwhile.md").unlink()


async def test_a_process_killed_while_it_builds_leaves_nothing_broken(tmp_path: Path, large: Path) -> None:
    async with VaultProcess(tmp_path, str(large)) as process:
        await process.begin()
        assert "index is still being built" in await process.text("search", query="zyzzyvaphone")
        os.kill(process.inner.pid, signal.SIGKILL)
        await process.wait()
    async with VaultProcess(tmp_path, str(large)) as process:
        await process.begin()
        assert "7" in await complete(process)


async def test_the_end_of_input_ends_a_build_at_once(tmp_path: Path, large: Path) -> None:
    async with VaultProcess(tmp_path, str(large)) as process:
        await process.begin()
        await process.text("search", query="zyzzyvaphone")
        code, _, err = await process.end()
        assert code == 0, err
        assert b"Traceback" not in err


async def test_one_process_keeps_the_index_and_the_next_takes_over_when_it_is_killed(tmp_path: Path) -> None:
    vault = small_vault(tmp_path, {"A.md": "alpha"})
    uri = {"uri": "obsidian://vault/Notes/A.md"}
    async with VaultProcess(tmp_path, str(vault)) as keeper, VaultProcess(tmp_path, str(vault)) as second:
        await keeper.begin()
        await complete(keeper)
        await second.begin()
        await second.result("resources/subscribe", uri)
        (vault / "A.md").write_text("beta")
        assert await second.notification("notifications/resources/updated") == uri
        assert "A.md" in await second.text("search", query="beta")
        os.kill(keeper.inner.pid, signal.SIGKILL)
        await keeper.wait()
        (vault / "A.md").write_text("gamma")
        assert await second.notification("notifications/resources/updated") == uri
        while "A.md" not in await second.text("search", query="gamma"):
            await second.notification("notifications/resources/updated")
