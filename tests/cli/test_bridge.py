"""`vaultbridge bridge` as a client meets it: a process, its streams, and a server that comes and goes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from support.ports import held_port
from support.process import Process, make_process_environ
from support.serve import PROGRAM, serve_beside
from support.tool_lists import list_tool_names, wait_for_tool_change, wait_for_tools
from support.waiting import BOUND
from vaultbridge.cli.bridge import Options, read_options
from vaultbridge.errors import InvalidArgument
from vaultbridge.tokens import TokenStore

VAULT = {"Hello.md": "some text\n"}


async def call(process: Process, name: str, **arguments: Any) -> Any:
    return (await process.ask("tools/call", {"name": name, "arguments": arguments}))["result"]


async def test_the_server_is_killed_and_comes_back_in_the_middle(vault: Path) -> None:
    """Seed 003's bridge, with the other side away at first, there, killed, and there again."""
    with held_port() as port:
        async with Process([*PROGRAM, "bridge", f"--url=http://127.0.0.1:{port}"]) as bridge:
            answer = await bridge.initialize("2025-11-25")
            assert answer["result"]["serverInfo"]["name"] == "obsidian-bridge"
            await bridge.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
            assert await list_tool_names(bridge) == ["bridge_status"]
            async with serve_beside(vault, port):
                await wait_for_tool_change(bridge)
                listed = await list_tool_names(bridge)
                assert "read_note" in listed
                assert "bridge_status" not in listed
                # A client that asked only once, when the other side was away, still has it.
                status = await call(bridge, "bridge_status")
                assert f"is running and has {len(listed)} tools" in status["content"][0]["text"]
                read = await call(bridge, "read_note", path="Hello.md")
                assert "some text" in read["content"][0]["text"]
                missing = await call(bridge, "read_note", path="Nothing.md")
                assert missing["isError"] is True
            away = await call(bridge, "read_note", path="Hello.md")
            assert away["isError"] is True
            assert "cannot be reached" in away["content"][0]["text"]
            assert await list_tool_names(bridge) == listed
            async with serve_beside(vault, port):
                again = await call(bridge, "read_note", path="Hello.md")
                assert "some text" in again["content"][0]["text"]
            code, out, _ = await bridge.end()
            assert (code, out) == (0, b"")


async def test_a_plugin_tool_on_the_server_appears_in_the_bridge(vault: Path) -> None:
    tools = vault.parent / "config" / "vaultbridge" / "tools"
    async with (
        serve_beside(vault) as (port, _),
        Process([*PROGRAM, "bridge", "--url", f"http://localhost:{port}"]) as bridge,
    ):
        await bridge.initialize("2025-11-25")
        await bridge.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert "greet" not in await wait_for_tools(bridge)
        tools.mkdir(parents=True)
        (tools / "mine.py").write_text(
            "from vaultbridge.plugins import tool\n"
            '@tool(effect="reads")\ndef greet() -> str:\n    """Greets."""\n    return "hello"\n'
        )
        await wait_for_tool_change(bridge)
        assert "greet" in await list_tool_names(bridge)
        assert (await call(bridge, "greet"))["content"] == [{"type": "text", "text": "hello"}]


async def test_a_wrong_option_ends_with_code_2() -> None:
    async with Process([*PROGRAM, "bridge", "--nothing"]) as bridge:
        code, out, err = await bridge.end()
        assert code == 2
        assert out == b""
        assert b"no option '--nothing'" in err


@pytest.mark.parametrize(
    ("argv", "environ", "url"),
    [
        ([], {}, "http://127.0.0.1:3000"),
        ([], {"OBSIDIAN_MCP_HOST": "localhost", "OBSIDIAN_MCP_PORT": "4000"}, "http://localhost:4000"),
        ([], {"OBSIDIAN_MCP_HOST": "::1"}, "http://[::1]:3000"),
        ([], {"OBSIDIAN_MCP_HOST": "[::1]"}, "http://[::1]:3000"),
        ([], {"OBSIDIAN_MCP_HOST": "https://vault.example"}, "https://vault.example"),
        (
            [],
            {"OBSIDIAN_MCP_HOST": "http://127.0.0.1/", "OBSIDIAN_MCP_PORT": "4000"},
            "http://127.0.0.1:4000",
        ),
        (
            [],
            {"OBSIDIAN_MCP_HOST": "http://127.0.0.1:5000", "OBSIDIAN_MCP_PORT": "4000"},
            "http://127.0.0.1:5000",
        ),
        ([], {"OBSIDIAN_MCP_HOST": "localhost:5000"}, "http://localhost:5000"),
        (["--url", "http://a:1"], {"OBSIDIAN_MCP_PORT": "no port"}, "http://a:1"),
        (["--url", "http://a:1"], {"OBSIDIAN_MCP_PORT": "4000"}, "http://a:1"),
        (["--url=http://a:1"], {}, "http://a:1"),
    ],
)
def test_the_server_is_where_option_and_environment_say(
    argv: list[str], environ: dict[str, str], url: str
) -> None:
    assert read_options(argv, environ).url == url


def test_all_options() -> None:
    assert read_options(["--timeout", "5", "--plain-http", "--verbose"], {}) == Options(
        "http://127.0.0.1:3000", 5.0, True, True
    )


@pytest.mark.parametrize(
    ("argv", "environ"),
    [
        (["--timeout"], {}),
        (["--url"], {}),
        (["--url="], {}),
        (["--url", ""], {}),
        (["--timeout", "x"], {}),
        (["--timeout", "0"], {}),
        (["--verbose=1"], {}),
        (["url"], {}),
        ([], {"OBSIDIAN_MCP_PORT": "x"}),
        ([], {"OBSIDIAN_MCP_PORT": "0"}),
        ([], {"OBSIDIAN_MCP_PORT": "9" * 5000}),
    ],
)
def test_wrong_options_are_refused(argv: list[str], environ: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument):
        read_options(argv, environ)


async def test_before_the_first_answer_no_http_library_is_loaded() -> None:
    """The figures are in benchmarks/; this holds what they rest on."""
    script = (
        "import sys\n"
        "from vaultbridge.cli import bridge\n"
        "import vaultbridge.protocols.bridge_v1.stdio_bridge, vaultbridge.protocols.bridge_v1.client\n"
        "import vaultbridge.protocols.mcp.stdio\n"
        "import vaultbridge.protocols.mcp.dialect\n"
        "heavy = {'aiohttp', 'http.client', 'argparse', 'yaml', 'watchfiles', 'sqlite3', 'urllib.parse'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await asyncio.wait_for(done.communicate(), BOUND)
    assert out.strip() == b"[]", (out, err)


@pytest.mark.parametrize("name", ["obsidian_read_note", "read_note", "no_such_tool"])
async def test_while_the_server_is_away_every_call_says_where_it_should_be(name: str) -> None:
    """Not "Unknown tool": nothing is known of the tools, and a model would look for another name."""
    with held_port() as port:
        async with Process([*PROGRAM, "bridge", f"--url=http://127.0.0.1:{port}"]) as bridge:
            await bridge.initialize("2025-11-25")
            result = await call(bridge, name)
            text = result["content"][0]["text"]
            assert result["isError"] is True
            assert f"127.0.0.1:{port}" in text
            assert "vaultbridge serve" in text
            assert "Unknown tool" not in text


async def test_a_tool_that_the_server_keeps_from_a_reader_is_refused_with_its_reason(vault: Path) -> None:
    store = TokenStore(vault.parent / "config" / "vaultbridge")
    _, secret = store.make("reader", read_only=True)
    async with (
        serve_beside(vault) as (port, _),
        Process(
            [*PROGRAM, "bridge", f"--url=http://127.0.0.1:{port}"],
            env=make_process_environ(OBSIDIAN_MCP_API_KEY=secret),
        ) as bridge,
    ):
        await bridge.initialize("2025-11-25")
        assert "edit_note" not in await wait_for_tools(bridge)
        result = await call(bridge, "edit_note", op="append", path="Hello", content="x")
        assert result["isError"] is True
        assert "open read-only" in result["content"][0]["text"]
    assert (vault / "Hello.md").read_text() == VAULT["Hello.md"]


async def test_a_tool_that_the_server_does_not_have_is_unknown(vault: Path) -> None:
    async with (
        serve_beside(vault) as (port, _),
        Process([*PROGRAM, "bridge", f"--url=http://127.0.0.1:{port}"]) as bridge,
    ):
        await bridge.initialize("2025-11-25")
        await wait_for_tools(bridge)
        answer = await bridge.ask("tools/call", {"name": "no_such_tool", "arguments": {}})
        assert answer["error"]["message"].startswith("Unknown tool")


async def test_what_the_server_says_about_its_tools_reaches_the_client(vault: Path) -> None:
    """A client asks its user before a tool that may destroy something, which is what it assumes otherwise."""
    async with (
        serve_beside(vault) as (port, _),
        Process([*PROGRAM, "bridge", f"--url=http://127.0.0.1:{port}"]) as bridge,
    ):
        await bridge.initialize("2025-11-25")
        await wait_for_tools(bridge)
        listed = (await bridge.ask("tools/list"))["result"]["tools"]
        hints = {tool["name"]: tool.get("annotations") for tool in listed}
        assert hints["read_note"]["readOnlyHint"] is True
        assert hints["write_daily_note"] == {"destructiveHint": False}
        assert hints["delete_note"] == {"destructiveHint": True}
