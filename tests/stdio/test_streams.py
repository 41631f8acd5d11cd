"""Standard output carries messages and nothing else, whatever runs inside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.vault import VaultProcess, make_small_vault

NOISY = """\
import os, subprocess, sys
from vaultbridge.plugins import tool
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
    vault = make_small_vault(tmp_path, {"A.md": "a"})
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


def _read_resident(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def _count_threads(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def _list_children(pid: int) -> list[str]:
    return [
        child
        for listing in Path(f"/proc/{pid}/task").glob("*/children")
        for child in listing.read_text().split()
    ]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.long
async def test_patterns_that_time_out_leave_nothing_behind(tmp_path: Path) -> None:
    text = "alpha beta gamma " * 3000 + "\n" + "a" * 60 + "b"
    vault = make_small_vault(tmp_path, {f"N{number}.md": text for number in range(600)})
    async with VaultProcess(tmp_path, str(vault)) as process:
        await process.begin()
        while "index is still being built" in await process.text("search", query="alpha"):
            """The server waits a second for it each time."""
        seen = []
        for _ in range(3):
            assert "took longer than" in await process.text("search", query="/(a|aa)+c/")
            seen.append((_read_resident(process.inner.pid), _count_threads(process.inner.pid)))
            assert _list_children(process.inner.pid) == []
        (first, threads), (last, threads_in_the_end) = seen[0], seen[-1]
        assert last < 1.5 * first, seen
        assert threads_in_the_end <= threads + 1, seen


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.long
async def test_refused_calls_on_a_large_note_leave_nothing_behind(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"Large.md": "a line of words\n" * 200_000})
    refused = {"op": "replace_text", "name": "Large", "old": "not there", "new": "x"}
    async with VaultProcess(tmp_path, str(vault)) as process:
        await process.begin()
        seen = []
        for _ in range(24):
            assert "does not occur" in await process.text("edit_note", **refused)
            seen.append(_read_resident(process.inner.pid))
        assert seen[-1] < 1.5 * seen[3], seen


async def test_a_read_is_answered_before_patterns_that_never_end(tmp_path: Path) -> None:
    """Also the first patterns that the process sees, when it knows nothing about how long they take."""
    vault = make_small_vault(tmp_path, {"A.md": "a" * 60 + "b", "B.md": "b"})
    async with VaultProcess(tmp_path, str(vault)) as process:
        await process.begin()
        # Once, so that the engine and the index are there. Not the note that is read later: the server keeps
        # what it has read and would answer without a thread.
        while "index is still being built" in await process.text("search", query="b"):
            """The server waits a second for it each time."""
        calls = [("search", {"query": "/(a|aa)+c/"})] * 12 + [("read_note", {"name": "B"})]
        for number, (tool, arguments) in enumerate(calls):
            params = {"name": f"obsidian_{tool}", "arguments": arguments}
            await process.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        while "id" not in (first := await process.read()):
            """A notification."""
        assert first["id"] == 12, "the read waited for patterns"
