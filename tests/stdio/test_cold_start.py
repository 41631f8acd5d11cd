"""A large vault whose index is still being built: what a client gets meanwhile, and what a kill leaves."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from types import ModuleType

import pytest

from support.process import ROOT, make_process_environ
from support.vault import VaultProcess, make_small_vault
from vaultbridge.index.store.database import Index
from vaultbridge.index.store.schema import INDEX_FILE
from vaultbridge.tools.standard import STANDARD_TOOLS
from vaultbridge.vault.folders import make_bases, vault_cache

NOTES = 3000

BOUND = 90.0
"""Seconds until an index must be whole: far beyond what a loaded machine needs."""

BUILDER = """
import sys
from pathlib import Path
from vaultbridge.index import sync
from vaultbridge.engine.index_leader import IndexLeader
from vaultbridge.index.store.database import Index
from vaultbridge.vault.paths import VaultFolder

vault, cache = map(Path, sys.argv[1:])
sync.BATCH_FILES = 100
leader = IndexLeader(cache)
assert leader.claim()

def report(done, total):
    print(done, flush=True)
    sys.stdin.read()

sync.Synchronizer(VaultFolder(vault), Index.open(cache)).sync_all(report)
"""
"""Another process that builds the index: stops after the first notes, and goes on when its input ends."""


def find_cache(base: Path, vault: Path) -> Path:
    """Where a process that `VaultProcess` starts keeps what it knows of this vault."""
    return vault_cache(vault, make_bases(base / "cache"))


@asynccontextmanager
async def builder(base: Path, vault: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """A first build that stands still in its middle; closing the builder's input lets it go on."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", BUILDER, str(vault), str(find_cache(base, vault))),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=make_process_environ(),
    )
    try:
        assert process.stdout is not None
        assert 0 < int(await asyncio.wait_for(process.stdout.readline(), BOUND)) < NOTES
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def load_generator() -> ModuleType:
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
    load_generator().generate(folder, NOTES)
    return folder


async def complete(process: VaultProcess) -> str:
    """Ask until the answer is a whole one; gives it."""
    async with asyncio.timeout(BOUND):
        while "index is still being built" in (text := await process.text("search", query="zyzzyvaphone")):
            await process.text("read_note", name="Hub")
    return text


async def wait_until_found(process: VaultProcess, query: str, path: str) -> None:
    """Ask until the search finds the note: a change is announced when it is on the disk, and the process that
    keeps the index may be a moment behind."""
    async with asyncio.timeout(BOUND):
        while path not in await process.text("search", query=query):
            pass


async def test_everything_is_served_while_the_index_is_being_built(tmp_path: Path, large: Path) -> None:
    async with builder(tmp_path, large) as building, VaultProcess(tmp_path, str(large)) as process:
        assert (await process.begin())["result"]["serverInfo"]["name"] == "obsidian-mcp"
        assert len((await process.result("tools/list"))["tools"]) == len(STANDARD_TOOLS)
        partial = await process.text("search", query="zyzzyvaphone")
        assert partial.startswith("The index is still being built")
        assert "Hub.md" in await process.text("read_note", name="Hub")
        listed = await process.result("resources/list")
        assert len(listed["resources"]) == 500
        assert listed["nextCursor"]
        ref = {"type": "ref/prompt", "name": "summarize_note"}
        params = {"ref": ref, "argument": {"name": "note", "value": "hub"}}
        assert "Hub" in (await process.result("completion/complete", params))["completion"]["values"]
        before = (large / "Hub.md").read_bytes()
        edited = await process.text("edit_note", name="Hub", op="append", content="quokkaphone")
        assert '"success":true' in edited
        assert "index is still being built" in await process.text("search", query="zyzzyvaphone")
        assert building.stdin is not None
        building.stdin.close()
        await complete(process)
        await wait_until_found(process, "quokkaphone", "Hub.md")
        code, _, err = await process.end()
        assert code == 0, err
    (large / "Hub.md").write_bytes(before)


async def test_a_process_killed_while_it_builds_leaves_nothing_broken(tmp_path: Path, large: Path) -> None:
    cache = find_cache(tmp_path, large)
    Index.open(cache).close()
    with closing(sqlite3.connect(cache / INDEX_FILE, isolation_level=None)) as writer:
        # As long as somebody else writes, no build can come to its end.
        writer.execute("BEGIN IMMEDIATE")
        async with VaultProcess(tmp_path, str(large)) as process:
            await process.begin()
            assert "index is still being built" in await process.text("search", query="zyzzyvaphone")
            os.kill(process.inner.pid, signal.SIGKILL)
            await process.wait()
        writer.execute("ROLLBACK")
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
    vault = make_small_vault(tmp_path, {"A.md": "alpha"})
    uri = {"uri": "obsidian://vault/Notes/A.md"}
    async with VaultProcess(tmp_path, str(vault)) as leader, VaultProcess(tmp_path, str(vault)) as second:
        await leader.begin()
        await complete(leader)
        await second.begin()
        await second.result("resources/subscribe", uri)
        (vault / "A.md").write_text("beta")
        assert await second.notification("notifications/resources/updated") == uri
        await wait_until_found(second, "beta", "A.md")
        os.kill(leader.inner.pid, signal.SIGKILL)
        await leader.wait()
        (vault / "A.md").write_text("gamma")
        assert await second.notification("notifications/resources/updated") == uri
        await wait_until_found(second, "gamma", "A.md")
