"""What `stdio` writes to standard error: what happened and how long it took, and nothing that was said."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.process import Process, make_process_environ
from support.waiting import BOUND

SECRET = "hunter2"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return make_process_environ(
        VAULTBRIDGE_CACHE=str(tmp_path / "cache"), HOME=str(tmp_path / "home"), PYTHONWARNINGS="ignore"
    )


def make_vault(folder: Path) -> Path:
    folder.mkdir()
    (folder / "Note.md").write_text(f"# Note\n\n{SECRET}\n", "utf-8")
    return folder


async def run_and_log(environ: dict[str, str], *args: str) -> str:
    command = [sys.executable, "-m", "vaultbridge", "stdio", *args]
    async with Process(command, env=environ) as process:
        await process.initialize("2025-11-25")
        for name, arguments in (
            ("obsidian_read_note", {"name": "Note"}),
            ("obsidian_read_note", {"name": SECRET}),
            ("obsidian_edit_note", {"name": "Note", "op": "append", "content": f"more {SECRET}"}),
            (f"{SECRET} \n no tool", {}),
        ):
            await process.ask("tools/call", {"name": name, "arguments": arguments})
        await process.ask("no/such/method")
        code, _, err = await process.end()
    assert code == 0
    return err.decode()


async def test_at_debug_start_handshake_calls_and_failures_are_logged(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    from vaultbridge import __version__

    log = await run_and_log(environ, str(make_vault(tmp_path / "My Notes")), "--log-level", "debug")
    assert f"vaultbridge {__version__} on stdio, vaults: My Notes" in log
    assert "client test 1 speaks MCP 2025-11-25" in log
    assert "tools/call obsidian_read_note answered in " in log
    assert "tools/call obsidian_read_note failed (isError) in " in log
    assert "tools/call obsidian_edit_note answered in " in log
    assert "tools/call ? failed" in log
    assert "no/such/method failed (-32601) in " in log
    assert SECRET not in log
    assert str(tmp_path) not in log


async def test_at_info_nothing_is_written_while_all_is_well(tmp_path: Path, environ: dict[str, str]) -> None:
    assert await run_and_log(environ, str(make_vault(tmp_path / "Notes"))) == ""


async def test_a_missing_vault_is_one_line_with_its_path(tmp_path: Path, environ: dict[str, str]) -> None:
    missing = tmp_path / "My\nNotes"
    log = await run_and_log(environ, str(missing))
    assert log.splitlines() == [
        f"vaultbridge stdio: there is no vault at {tmp_path}/My�Notes; "
        "tools answer VAULT_NOT_FOUND until there is."
    ]


async def test_a_name_that_obsidian_does_not_know_is_reported_when_it_is_opened(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    log = await run_and_log(environ, "Nowhere")
    assert log.count("there is no vault at ") == 1
    assert "/Nowhere;" in log


@pytest.mark.parametrize("name", ["Nowhere", "./Nowhere"])
def test_in_a_terminal_a_missing_vault_is_reported_at_once(
    tmp_path: Path, environ: dict[str, str], name: str
) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "vaultbridge", "stdio", name],
        stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, cwd=tmp_path, text=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        try:
            assert process.stderr is not None
            started = time.monotonic()
            # Before it come the lines that explain the command to a person.
            assert any(f"there is no vault at {tmp_path}/Nowhere;" in line for line in process.stderr)
            assert time.monotonic() - started < BOUND
        finally:
            process.terminate()
            process.wait(BOUND)
            os.close(ours)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
async def test_a_folder_whose_name_is_not_utf_8_is_one_warning_and_hides_no_change(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    vault = make_vault(tmp_path / "Notes")
    (vault / os.fsdecode(b"caf\xe9")).mkdir()

    async def ask(process: Process, tool: str, **arguments: str) -> str:
        answer = await process.ask("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments})
        return str(answer["result"]["content"][0]["text"])

    async with Process([sys.executable, "-m", "vaultbridge", "stdio", str(vault)], env=environ) as process:
        await process.initialize("2025-11-25")
        deadline = time.monotonic() + BOUND
        while "whose name is not UTF-8. Searches compare" not in await ask(process, "vault_info"):
            assert time.monotonic() < deadline
        for number in range(5):
            (vault / f"New {number}.md").write_text(f"word{number}", "utf-8")
            while f"New {number}.md" not in await ask(process, "search", query=f"word{number}"):
                assert time.monotonic() < deadline
        _, _, err = await process.end()
    log = err.decode()
    assert log.count("cannot be watched") == 1
    assert str(tmp_path) not in log
