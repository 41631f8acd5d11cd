"""Every example runs, as a program of its own, and says what its reader is promised."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from client.servers import core_server, make_sdk_server, running, serve_sdk
from support.long_form import mark_long_after
from support.serve import served
from support.waiting import BOUND

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "client"


async def start_example(
    name: str, *args: str, env: Mapping[str, str] | None = None
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(EXAMPLES / name),
        *args,
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def wait_for_end(process: asyncio.subprocess.Process) -> list[str]:
    async with asyncio.timeout(BOUND):
        out, err = await process.communicate()
    assert process.returncode == 0 and err == b"", err.decode()
    return out.decode().splitlines()


async def run(name: str, *args: str) -> list[str]:
    return await wait_for_end(await start_example(name, *args))


async def test_the_callbacks_example_runs() -> None:
    async with core_server() as port:
        lines = await run("callbacks.py", f"ws://127.0.0.1:{port}")
    assert lines == [
        "State: connecting",
        "State: connected",
        "Received message: answer to 1",
        "Queued messages: 0",
        "State: disconnecting",
        "State: disconnected",
        "WebSocket connection closed",
    ]


async def test_the_sdk_example_runs() -> None:
    async with core_server() as port:
        lines = await run("with_sdk.py", f"ws://127.0.0.1:{port}", "test_simple_text")
    assert (
        lines[0] == "MCP 2026-07-28"
        and lines[1].startswith("Tools: ")
        and lines[2] == "test_simple_text succeeded"
    )


async def test_the_plugin_example_runs() -> None:
    async with running(serve_sdk(make_sdk_server())) as server:
        lines = await run("plugin.py", server.url, "fail")
    assert lines == [
        "Connected to WebSocket server",
        "Healthy: True",
        "Queue size: 0",
        "Tool failed",
        "tools: 2",
        "resources: 1",
        "prompts: 1",
        "WebSocket connection closed",
    ]


async def test_the_reconnection_example_runs() -> None:
    async with running() as server:
        process = await start_example("reconnection.py", server.url)
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), BOUND) == b"Connected\n"
        await server.stop()
        lines = await wait_for_end(process)
        await server.start(server.port)
    assert lines[-2:] == ["All reconnection attempts exhausted", "Reconnects: 0"]
    assert sum("Reconnection error" in line for line in lines) == 6, "the loss, and five attempts"


async def test_the_outbox_example_runs(tmp_path: Path, closed_port: int) -> None:
    url, queue = f"ws://127.0.0.1:{closed_port}", str(tmp_path / "queue.sqlite")
    first = await run("outbox.py", url, queue, "one")
    assert first[-1] == "Offline; kept for the next run: 1"
    seen: list[str] = []

    async def note(ws: object, request: object) -> None:
        async for frame in ws:  # type: ignore[attr-defined]
            seen.append(frame.json()["params"]["text"])

    async with running(note) as server:
        await server.stop()
        await server.start(closed_port)
        second = await run("outbox.py", url, queue, "two")
    assert second == ["From an earlier run: 1", "Delivered: True"] and seen == ["one", "two"]


async def test_the_session_example_runs() -> None:
    async with core_server() as port:
        lines = await run("session.py", f"ws://127.0.0.1:{port}")
    assert lines[0].endswith("at MCP 2026-07-28") and lines[2:4] == ["Messages sent: 2", "Answers timed: 2"]
    assert lines[4].startswith("# HELP vaultbridge_client_messages_total")


@pytest.mark.parametrize("name", mark_long_after(1, sorted(file.name for file in EXAMPLES.glob("*.py"))))
async def test_a_server_that_refuses_is_reported_in_one_line(name: str, tmp_path: Path) -> None:
    """Our own wants its token, which an address does not bring."""
    vault = tmp_path / "My Notes"
    vault.mkdir()
    (vault / "Plain.md").write_text("one\n", "utf-8")
    async with served(tmp_path / "home", vault) as server:
        process = await start_example(name, f"ws://127.0.0.1:{server.port}", str(tmp_path / "queue"), "x")
        async with asyncio.timeout(BOUND):
            out, err = await process.communicate()
    assert b"Traceback" not in err
    if name != "outbox.py":  # it waits for a better time
        assert process.returncode == 1 and err.count(b"\n") == 1 and b"refused access (HTTP 401)" in err
    else:
        assert process.returncode == 0 and b"Offline; kept for the next run: 1" in out


@pytest.mark.parametrize("name", ["callbacks.py", "session.py", "with_sdk.py"])
async def test_a_served_vault_is_found_by_its_folder(name: str, tmp_path: Path) -> None:
    vault = tmp_path / "My Notes"
    vault.mkdir()
    (vault / "Plain.md").write_text("one\n", "utf-8")
    async with served(tmp_path / "home", vault) as server:
        process = await start_example(name, str(vault), env=server.environ)
        lines = await wait_for_end(process)
    assert lines and not any("Traceback" in line or "failed" in line.lower() for line in lines)


def test_every_example_has_a_test() -> None:
    started = set(re.findall(r'(?:run|start_example)\("(\w+\.py)"', Path(__file__).read_text("utf-8")))
    assert {file.name for file in EXAMPLES.glob("*.py")} == started


def test_the_page_about_the_client_names_every_option_error_and_example() -> None:
    """docs/client.md is checked, so that it cannot fall behind."""
    from vaultbridge import client
    from vaultbridge.client.settings import WebSocketSettings

    page = (ROOT / "docs" / "client.md").read_text("utf-8")
    for name in (*WebSocketSettings.__struct_fields__, *client.__all__):
        assert f"`{name}" in page, f"docs/client.md does not mention {name}"
    for file in EXAMPLES.glob("*.py"):
        assert f"examples/client/{file.name}" in page


def test_the_python_of_the_page_is_valid() -> None:
    page = (ROOT / "docs" / "client.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert blocks
    for block in blocks:
        compile(block, "docs/client.md", "exec", flags=0x2000)  # top-level await, as in a notebook


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
async def test_without_its_arguments_an_example_says_how_it_is_run(example: Path) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, example, stderr=asyncio.subprocess.PIPE)
    _, found = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert f"\npython examples/client/{example.name} ws://" in found.decode()
    assert "Traceback" not in found.decode()
