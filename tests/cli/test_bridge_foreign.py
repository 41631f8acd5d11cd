"""`vaultbridge bridge` with a server that is not ours: Node, and the protocol's document alone."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.ports import held_port
from support.process import Process, make_process_environ
from support.tool_lists import list_tool_names, wait_for_tool_change, wait_for_tools
from support.waiting import BOUND

SERVER = Path(__file__).with_name("foreign_bridge.mjs")
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="there is no Node to serve with")


class Foreign:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.port = 0

    async def line(self) -> str:
        assert self.process.stdout is not None
        return (await asyncio.wait_for(self.process.stdout.readline(), BOUND)).decode().strip()

    def release(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")


@asynccontextmanager
async def foreign(port: int = 0, host: str = "127.0.0.1", *more: str) -> AsyncIterator[Foreign]:
    process = await asyncio.create_subprocess_exec(
        str(NODE), str(SERVER), str(port), host, *more,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    server = Foreign(process)
    try:
        server.port = int(await server.line())
        yield server
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@asynccontextmanager
async def bridged(*argv: str, **environ: str) -> AsyncIterator[Process]:
    command = [sys.executable, "-m", "vaultbridge", "bridge", *argv]
    async with Process(command, env=make_process_environ(**environ)) as bridge:
        await bridge.initialize("2025-11-25")
        await bridge.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        yield bridge


def request(id_: str, name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


async def call(bridge: Process, name: str, **arguments: Any) -> Any:
    return (await bridge.ask("tools/call", {"name": name, "arguments": arguments}))["result"]


async def call_text(bridge: Process, name: str, **arguments: Any) -> str:
    text: str = (await call(bridge, name, **arguments))["content"][0]["text"]
    return text


async def test_its_tools_work_and_its_failures_are_reported() -> None:
    async with foreign() as server, bridged("--url", f"http://127.0.0.1:{server.port}") as bridge:
        assert "vault_rename" in await wait_for_tools(bridge)
        assert await call_text(bridge, "read_note", path="a.md") == "# a.md"
        assert await call_text(bridge, "vault_rename") == "vault: rename"
        assert await call_text(bridge, "cut") == "a moth \ufffd"
        for name, why in (
            ("half", "It is not known whether it was done"),
            ("broken", "answered 500: Internal server error. it broke. The server is running"),
            ("gone", "No tool named 'gone'"),
        ):
            result = await call(bridge, name)
            assert result["isError"] is True
            assert why in result["content"][0]["text"]
        assert (await bridge.end())[:2] == (0, b"")


async def test_neither_a_proxy_nor_the_log_gets_to_see_the_key() -> None:
    """A proxy that is set for everything does not stand between programs of one machine."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        proxies = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"), away)
        async with (
            foreign() as server,
            bridged(
                "--verbose",
                OBSIDIAN_MCP_PORT=str(server.port),
                OBSIDIAN_MCP_API_KEY="k-secret-1",
                **proxies,
            ) as bridge,
        ):
            assert "seen" in await wait_for_tools(bridge)
            await call(bridge, "broken")
            keys = json.loads(await call_text(bridge, "seen"))["keys"]
            assert set(keys) == {"Bearer k-secret-1"}
            code, out, err = await bridge.end()
            assert code == 0
            assert b"k-secret-1" not in out + err


async def test_it_dies_in_the_middle_of_a_call_and_comes_back() -> None:
    with held_port() as port:
        async with foreign(port) as server, bridged("--url", f"http://127.0.0.1:{port}") as bridge:
            before = await wait_for_tools(bridge)
            await bridge.send(request("hung", "hang"))
            assert await server.line() == "hanging"
            server.process.kill()
            while (answer := await bridge.read()).get("id") != "hung":
                pass
            assert answer["result"]["isError"] is True
            assert "broke off its answer" in answer["result"]["content"][0]["text"]
            await server.process.wait()
            assert "cannot be reached: connection refused" in await call_text(bridge, "read_note", path="a")
            assert await list_tool_names(bridge) == before
            async with foreign(port):
                assert await call_text(bridge, "read_note", path="b") == "# b"


async def test_a_call_can_be_cancelled_and_the_end_of_input_then_ends_the_process() -> None:
    async with (
        foreign() as server,
        bridged("--url", f"http://127.0.0.1:{server.port}", "--timeout", "600") as bridge,
    ):
        await wait_for_tools(bridge)
        await bridge.send(request("hung", "hang"))
        assert await server.line() == "hanging"
        await bridge.send(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "hung"}}
        )
        # `end` waits less than a call that was not cancelled would take.
        assert (await bridge.end())[:2] == (0, b"")


async def test_a_new_tool_is_announced_but_a_new_hash_of_the_same_tools_is_not() -> None:
    heard: list[str] = []

    async def call_for_text(name: str, **arguments: Any) -> str:
        """What a call says; other messages that arrive meanwhile go to `heard`."""
        await bridge.send(request(name, name, **arguments))
        while (message := await bridge.read()).get("id") != name:
            heard.append(message["method"])
        text: str = message["result"]["content"][0]["text"]
        return text

    async with foreign() as server, bridged("--url", f"http://127.0.0.1:{server.port}") as bridge:
        before = await wait_for_tools(bridge)
        await call_for_text("set", salt="other")
        lists = json.loads(await call_for_text("seen"))["lists"]
        async with asyncio.timeout(BOUND):
            # When the second list is asked for, the first with the other hash has been looked at.
            while json.loads(await call_for_text("seen"))["lists"] < lists + 2:
                # A tool that is gone makes the bridge look at the list again at once.
                await call_for_text("gone")
        assert heard == []
        await call_for_text("set", add="fresh")
        if not heard:
            await wait_for_tool_change(bridge)
        assert set(await list_tool_names(bridge)) == {*before, "fresh"}


async def test_a_list_that_is_long_in_coming_holds_nobody_up() -> None:
    async with (
        foreign(0, "127.0.0.1", "hold") as server,
        bridged("--url", f"http://127.0.0.1:{server.port}") as bridge,
    ):
        assert await list_tool_names(bridge) == ["bridge_status"]
        server.release()
        await wait_for_tool_change(bridge)
        assert "read_note" in await list_tool_names(bridge)


async def test_a_call_reaches_a_server_that_was_started_since_the_last_poll() -> None:
    with held_port() as port:
        async with bridged("--url", f"http://127.0.0.1:{port}") as bridge:
            assert await list_tool_names(bridge) == ["bridge_status"]
            assert "cannot be reached" in await call_text(bridge, "read_note", path="a")
            async with foreign(port):
                assert await call_text(bridge, "read_note", path="a") == "# a"


async def test_a_call_of_a_server_that_never_answers_says_so_within_its_time() -> None:
    """Whether the tools were known before or not."""
    async with (
        foreign(0, "127.0.0.1", "hold") as server,
        bridged("--url", f"http://127.0.0.1:{server.port}", "--timeout", "1") as bridge,
    ):
        for name in ("bridge_status", "read_note"):
            assert "did not answer within 1 s" in await call_text(bridge, name)


async def test_it_may_listen_on_an_address_of_the_newer_kind() -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("there is no IPv6 here")
    async with foreign(0, "::1") as server, bridged(f"--url=http://[::1]:{server.port}/") as bridge:
        await wait_for_tools(bridge)
        assert await call_text(bridge, "read_note", path="a") == "# a"


async def test_another_program_on_its_port_is_distinguished_from_an_absent_one() -> None:
    async def send_banner(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        await reader.read(1)
        writer.close()

    with held_port() as port:
        async with foreign(port) as server, bridged("--url", f"http://127.0.0.1:{port}") as bridge:
            assert "read_note" in await wait_for_tools(bridge)
            server.process.kill()
            await server.process.wait()
            other = await asyncio.start_server(send_banner, "127.0.0.1", port)
            async with other:
                assert "it is not HTTP" in await call_text(bridge, "read_note", path="a")
            assert (await bridge.end())[0] == 0
