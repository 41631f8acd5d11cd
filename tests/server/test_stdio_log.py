"""What `stdio` writes to standard error: what happened and how long it took, and nothing that was said."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.process import START_BOUND, Process, environment

SECRET = "hunter2"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return environment(
        VAULTBRIDGE_CACHE=str(tmp_path / "cache"), HOME=str(tmp_path / "home"), PYTHONWARNINGS="ignore"
    )


def made(folder: Path) -> Path:
    folder.mkdir()
    (folder / "Note.md").write_text(f"# Note\n\n{SECRET}\n", "utf-8")
    return folder


async def logged(environ: dict[str, str], *args: str) -> str:
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

    said = await logged(environ, str(made(tmp_path / "My Notes")), "--log-level", "debug")
    assert f"vaultbridge {__version__} on stdio, vaults: My Notes" in said
    assert "client test 1 speaks MCP 2025-11-25" in said
    assert "tools/call obsidian_read_note answered in " in said
    assert "tools/call obsidian_read_note failed (isError) in " in said
    assert "tools/call obsidian_edit_note answered in " in said
    assert "tools/call ? failed" in said
    assert "no/such/method failed (-32601) in " in said
    assert SECRET not in said
    assert str(tmp_path) not in said


async def test_at_info_nothing_is_written_while_all_is_well(tmp_path: Path, environ: dict[str, str]) -> None:
    assert await logged(environ, str(made(tmp_path / "Notes"))) == ""


async def test_a_missing_vault_is_one_line_with_its_path(tmp_path: Path, environ: dict[str, str]) -> None:
    missing = tmp_path / "My\nNotes"
    said = await logged(environ, str(missing))
    assert said.splitlines() == [
        f"vaultbridge stdio: there is no vault at {tmp_path}/My�Notes; "
        "tools answer VAULT_NOT_FOUND until there is."
    ]


async def test_a_name_that_obsidian_does_not_know_is_reported_when_it_is_opened(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    said = await logged(environ, "Nowhere")
    assert said.count("there is no vault at ") == 1
    assert "/Nowhere;" in said


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
            line = process.stderr.readline()
            assert f"there is no vault at {tmp_path}/Nowhere;" in line
            assert time.monotonic() - started < START_BOUND
        finally:
            process.terminate()
            process.wait(START_BOUND)
            os.close(ours)
