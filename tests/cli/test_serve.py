"""`vaultbridge serve` as a person and a program meet it: its first lines, its signals, its exit codes."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from support.commands import run_command
from support.ports import kept_port
from support.serve import PROGRAM, serve_beside
from support.waiting import BOUND
from vaultbridge.cli import serve
from vaultbridge.cli.setup.completion import find_parser
from vaultbridge.server.config.model import Config, ServerConfig, VaultConfig


def make_environ(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": str(folder / "home"),
        "VAULTBRIDGE_CACHE": str(folder / "cache"),
        "XDG_CONFIG_HOME": str(folder / "config"),
    }


VAULT = {"Hello.md": "some text\n"}


async def start_serve(vault: Path, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *PROGRAM, "serve", str(vault), *arguments,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=make_environ(vault.parent),
    )  # fmt: skip


async def wait_for_end(process: asyncio.subprocess.Process) -> tuple[int, str, str]:
    out, err = await asyncio.wait_for(process.communicate(), BOUND)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_it_cleanly(vault: Path, number: signal.Signals) -> None:
    process = await start_serve(vault, "--port", "0", "--json")
    assert process.stdout is not None
    line = json.loads(await asyncio.wait_for(process.stdout.readline(), BOUND))
    lock = vault.parent / "home" / ".claude" / "ide" / f"{line['port']}.lock"
    assert lock.exists()
    assert line["vaults"] == [{"name": "Notes", "path": str(vault)}]
    assert line["pid"] == process.pid
    assert line["bridge"] == f"http://127.0.0.1:{line['port']}/bridge/v1"
    process.send_signal(number)
    code, _, err = await wait_for_end(process)
    assert code == 0, err
    assert not lock.exists()
    assert "Traceback" not in err


async def test_what_is_not_http_leaves_nothing_of_it_in_the_log(vault: Path) -> None:
    """A secret may stand in a header that cannot be read."""
    process = await start_serve(vault, "--port", "0", "--json")
    assert process.stdout is not None
    port = json.loads(await asyncio.wait_for(process.stdout.readline(), BOUND))["port"]
    for data in (
        b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer s3cret\x00\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03s3cret",
        b"GET /?s3cret" + b"a" * 9000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        assert b" 400 " in await asyncio.wait_for(reader.readline(), BOUND)
        writer.close()
        with contextlib.suppress(ConnectionError):  # It need not have read it all.
            await writer.wait_closed()
    for path in ("/mcp", "/bridge/v1/tools/read_note/call"):
        # Hung up in the middle of its body.
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        accept = "Accept: application/json, text/event-stream\r\n"
        writer.write(f"{head}{accept}Content-Length: 100\r\n\r\ns3cret".encode())
        await writer.drain()
        writer.close()
        await writer.wait_closed()
    process.send_signal(signal.SIGTERM)
    code, _, err = await wait_for_end(process)
    assert code == 0
    assert "s3cret" not in err
    assert "Traceback" not in err
    assert "ERROR" not in err


async def read_greeting(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    output = b""
    while b"Ctrl+C" not in output:
        output += await asyncio.wait_for(process.stdout.readline(), BOUND)
    return output.decode()


async def test_the_output_shows_the_token_where_one_is_needed(vault: Path) -> None:
    process = await start_serve(vault, "--port", "0", "--require-token")
    text = await read_greeting(process)
    assert '/mcp --header "Authorization: Bearer TOKEN"' in text
    assert '-H "Authorization: Bearer TOKEN" http' in text
    assert "token make NAME" in text
    process.send_signal(signal.SIGTERM)
    assert (await wait_for_end(process))[0] == 0


async def test_the_output_says_how_to_connect_each_assistant(vault: Path) -> None:
    process = await start_serve(vault, "--port", "0")
    text = await read_greeting(process)
    assert "TOKEN" not in text
    for word in (
        "/mcp",
        "/sse",
        "/bridge/v1/tools",
        "claude mcp add --transport http",
        "vaultbridge stdio",
        "/ide",
    ):
        assert word in text
    process.send_signal(signal.SIGTERM)
    assert (await wait_for_end(process))[0] == 0


async def test_a_killed_server_leaves_nothing_that_hinders_the_next(vault: Path) -> None:
    async with AsyncExitStack() as connection:
        async with serve_beside(vault) as (port, process):
            await connection.enter_async_context(kept_port(port))
            process.kill()
            await process.wait()
        async with serve_beside(vault) as (again, _):
            assert again == port


async def test_a_port_in_use_is_reported(vault: Path, tmp_path: Path) -> None:
    other = tmp_path / "Other"
    other.mkdir()
    async with serve_beside(vault) as (port, _):
        process = await start_serve(other, "--port", str(port))
        code, _, err = await wait_for_end(process)
        assert code == 1
        assert "No port could be opened" in err
        assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--host", "0.0.0.0"], 2, "no TLS"),
        (["--host", "0.0.0.0", "--behind-proxy"], 2, "need a token"),
        (["--port", "99999"], 2, "0 to 65535"),
        (["--deny", "../x"], 1, "contains '..'"),
        (["--tls-key", "x"], 2, "belong together"),
        (["--allow-host", "nas:3000"], 2, "without a port"),
        (["--allow-origin", "notes.example"], 2, "Write it like https://notes.example"),
        (["--host", "localhost:3000"], 2, "without a port"),
        (["--config", "nowhere.toml"], 2, "--config names the file 'nowhere.toml', which does not exist."),
    ],
)
def test_what_cannot_be_served_is_reported_before_anything_is_opened(
    vault: Path, arguments: list[str], code: int, says: str
) -> None:
    done = run_command("serve", vault, *arguments, env=make_environ(vault.parent))
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_in_the_configuration_is_reported_with_its_line(vault: Path) -> None:
    file = vault.parent / "config" / "vaultbridge" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[server]\nprot = 1\n")
    done = run_command("serve", vault, env=make_environ(vault.parent))
    assert done.returncode == 1
    assert "config.toml, line 2: server.prot is not a known key. Did you mean port?" in done.stderr


LOUD = '''
from vaultbridge.plugins import tool

@tool(effect="reads")
def noise() -> str:
    """Make noise."""
    print("printed by a plugin")
    return "quiet"
'''


async def test_what_a_plugin_prints_is_not_among_the_lines_for_a_program(vault: Path) -> None:
    tools = vault.parent / "config" / "vaultbridge" / "tools"
    tools.mkdir(parents=True)
    (tools / "loud.py").write_text(LOUD)
    process = await start_serve(vault, "--port", "0", "--json")
    assert process.stdout is not None
    bridge = json.loads(await asyncio.wait_for(process.stdout.readline(), BOUND))["bridge"]
    url = f"{bridge}/tools/noise/call"
    async with aiohttp.ClientSession() as http, http.post(url, json={"arguments": {}}) as response:
        assert (await response.json())["content"][0]["text"] == "quiet"
    process.send_signal(signal.SIGTERM)
    _, out, err = await wait_for_end(process)
    assert out == ""
    assert "printed by a plugin" in err


def parse_arguments(*argv: str) -> argparse.Namespace:
    return find_parser("serve").parse_args(argv)


def test_the_command_line_overrides_the_file() -> None:
    written = Config(
        vaults=(VaultConfig(path="a", read_only=True),), server=ServerConfig(port=1, hosts=("one",))
    )
    args = parse_arguments(
        "a", "b", "--port", "2", "--allow-host", "two", "--read-only", "--deny", "x", "--no-ide"
    )
    config = serve.apply_arguments(written, args)
    assert config.vaults == (VaultConfig(path="a", read_only=True), VaultConfig(path="b"))
    assert config.server.port == 2
    assert config.server.hosts == ("one", "two")
    assert config.scope.read_only
    assert config.scope.deny == ("x",)
    assert not config.ide.enabled
    assert serve.apply_arguments(written, parse_arguments()) == written


@pytest.mark.parametrize("by_command_line", [True, False])
async def test_the_settings_of_a_vault_apply_however_it_is_named(
    vault: Path, *, by_command_line: bool
) -> None:
    """However the folder is written there, and whatever the environment names beside."""
    file = vault.parent / "config" / "vaultbridge" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f"[[vaults]]\npath = '{vault.parent}/./{vault.name}'\nread_only = true\n")
    named = "/nowhere" if by_command_line else str(vault)
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, "serve", *([str(vault)] if by_command_line else []), "--port", "0", "--json",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**make_environ(vault.parent), "VAULTBRIDGE_VAULT": named},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = json.loads(await asyncio.wait_for(process.stdout.readline(), BOUND))
        async with aiohttp.ClientSession() as http, http.get(f"{line['bridge']}/tools") as response:
            names = {tool["name"] for tool in (await response.json())["tools"]}
    finally:
        process.terminate()
        await wait_for_end(process)
    assert "read_note" in names
    assert "create_note" not in names
