"""`vaultbridge call`, as a person runs it: in a process of its own, against real servers."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from client.http_fixture import fixture_over_http, make_session_server, serving
from client.servers import core_server, make_sdk_server, running, serve_sdk
from support.commands import run_command
from support.waiting import BOUND
from vaultbridge.cli.call import main

ROOT = Path(__file__).parents[2]
CHILD = f"{sys.executable} {ROOT / 'tests' / 'client' / 'child.py'}"


async def call(*args: str, stdin: str = "", cwd: Path = ROOT, **env: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of one run."""
    environ = {**os.environ, "COLUMNS": "80", **env}
    done = await asyncio.to_thread(run_command, "call", *args, env=environ, cwd=cwd, stdin=stdin.encode())
    return done.returncode, done.stdout, done.stderr


async def test_without_a_tool_everything_on_offer_is_a_readable_table() -> None:
    code, out, err = await call(f"{CHILD} good")
    assert (code, err) == (0, "")
    assert out == "child 1 · MCP 2025-11-25\n\nTools (1)\n  echo  text*  Say it again.\n"


async def test_over_a_websocket_all_kinds_are_listed_and_cut_to_the_terminal() -> None:
    async with running(serve_sdk(make_sdk_server())) as server:
        code, out, _ = await call(server.url)
        assert code == 0 and out.startswith("reference 9.9 · MCP 2026-07-28\n")
        assert re.search(r"Tools \(2\)\n  add +a\* b\* +Add two numbers\.\n  fail +Always fail\.\n", out)
        assert "Resources (1)\n  test://note" in out and re.search(r"Prompts \(1\)\n  greet +name\*", out)
        assert all(len(line) <= 80 for line in out.splitlines())


async def test_tools_with_many_arguments_fit_too(tmp_path: Path) -> None:
    """As ours, whose arguments alone are wider than a terminal."""
    (tmp_path / ".obsidian").mkdir()
    code, out, _ = await call(f"{sys.executable} -m vaultbridge stdio {tmp_path}", "--color", "never")
    assert code == 0
    lines = out.partition("Tools (27)\n")[2].partition("\n\n")[0].splitlines()
    assert max(map(len, lines)) <= 80
    at = next(number for number, line in enumerate(lines) if line.startswith("  obsidian_edit_note "))
    assert "Change a note, or all that a query finds" in lines[at]
    assert lines[at + 1].startswith("      op* content heading create ")
    assert lines[at + 2].startswith("      ")


async def test_json_holds_the_server_and_every_primitive() -> None:
    async with core_server() as port:
        code, out, _ = await call(f"ws://127.0.0.1:{port}", "--json")
        listing = json.loads(out)
        assert code == 0 and listing["protocolVersion"] == "2026-07-28"
        assert {p["type"] for p in listing["primitives"]} == {"tool", "resource", "template", "prompt"}


@pytest.mark.parametrize("over", ["ws", "http", "stdio"])
async def test_a_tool_is_called_over_each_transport(over: str) -> None:
    fixture = f"{sys.executable} tests/conformance/fixture.py stdio"
    async with core_server() as port, fixture_over_http() as url:
        target = {"ws": f"ws://127.0.0.1:{port}", "http": url, "stdio": fixture}[over]
        code, out, err = await call(target, "test_simple_text")
        assert (code, err) == (0, "") and out.strip()
        code, out, _ = await call(target, "test_simple_text", "{}", "--json", "--mcp", "2025-11-25")
        assert code == 0 and json.loads(out)["content"][0]["type"] == "text"
        code, out, _ = await call(target, "--read", "test://static-text")
        assert code == 0 and out.strip()


async def test_arguments_come_from_the_command_line_a_file_or_stdin(tmp_path: Path) -> None:
    given = '{"text": "hällo"}'
    (tmp_path / "args.json").write_text(given, "utf-8")
    for argument, stdin in ((given, ""), (f"@{tmp_path / 'args.json'}", ""), ("-", given)):
        code, out, _ = await call(f"{CHILD} good", "echo", argument, stdin=stdin)
        assert (code, out) == (0, "hällo\n")


async def test_a_failed_tool_is_one_line_on_stderr_and_exit_code_1() -> None:
    code, out, err = await call(f"{CHILD} good", "unknown")
    assert (code, out, err) == (1, "", "vaultbridge call: unknown failed: no such tool\n")
    code, out, err = await call(f"{CHILD} good", "unknown", "--json")
    assert code == 1 and json.loads(out)["isError"] is True and err.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "code", "reason"),
    [
        (["ws://127.0.0.1:1"], 1, "cannot connect to 127.0.0.1:1: connection refused"),
        (["http://127.0.0.1:1/mcp"], 1, "connection refused"),
        (["no-such-program"], 1, "Cannot start 'no-such-program': no such program"),
        ([f"{CHILD} crash"], 1, "cannot find the vault"),
        ([f"{CHILD} dies", "echo", "{}"], 1, "out of luck"),
        ([f"{CHILD} mute", "--timeout", "0.2"], 1, "within 0.2 s"),
        ([f"{CHILD} good", "echo", "{"], 2, "arguments are not JSON"),
        ([f"{CHILD} good", "echo", "[]"], 2, "must be a JSON object"),
        ([f"{CHILD} good", "echo", "@missing.json"], 2, "cannot be read: no such file"),
        ([f"{CHILD} good", "--header", "nonsense"], 2, "'NAME: VALUE'"),
        ([f"{CHILD} good", "--mcp", "1999"], 2, "not a version of MCP"),
        ([f"{CHILD} good", "--timeout", "0"], 2, "above 0"),
        ([f"{CHILD} good", "--watch", "--count", "-1"], 2, "--count must be"),
        ([f"{CHILD} good", "--count", "1"], 2, "--count works only with --watch"),
        ([f"{CHILD} good", "--resource", "a:b"], 2, "--resource works only with --watch"),
        ([f"{CHILD} good", "echo", "{}", "--read", "a:b"], 2, "--read calls no tool. Leave out 'echo'"),
        ([f"{CHILD} good", "echo", "--watch"], 2, "--watch calls no tool"),
        ([f"{CHILD} good", "--read", "a:b", "--watch"], 2, "cannot be combined"),
        ([f"{CHILD} good", "--read", ""], 2, "--read is empty"),
        ([f"{CHILD} good", "", "{}"], 2, "The tool is empty"),
        ([f"{CHILD} good", "--prompt", "p", "{}", "x"], 2, "one JSON object"),
        (["http://[::1/mcp"], 2, "Invalid HTTP URL"),
        (["http://127.0.0.1:99999/mcp"], 2, "Invalid HTTP URL"),
        (["http://127.0.0.1:1/mcp", "--header", "A: b\nC: d"], 2, "line break"),
        (["ws://127.0.0.1:1", "--header", "A B: c"], 2, "cannot name a header"),
        (["x", "--config", "missing.json"], 2, "cannot be read"),
    ],
)
async def test_a_failure_is_one_clear_line_and_its_exit_code(args: list[str], code: int, reason: str) -> None:
    got, out, err = await call(*args)
    assert got == code and out == ""
    # Wrong usage has a second line: how the command is written.
    assert reason in err and err.count("\n") == code and err.startswith("vaultbridge call: ")


async def test_wrong_usage_is_exit_code_2() -> None:
    code, _, err = await call()
    assert code == 2 and "`vaultbridge call --help`" in err and err.count("\n") == 2
    code, out, _ = await call("--help")
    assert code == 0 and "examples:" in out


async def test_the_trace_is_a_transcript_on_stderr() -> None:
    code, out, err = await call(f"{CHILD} good", "echo", '{"text": "x"}', "--trace")
    assert (code, out) == (0, "x\n")
    assert '→ {"jsonrpc":"2.0","id":1,"method":"server/discover"' in err
    assert '← {"jsonrpc":"2.0"' in err and "· connected" in err and "| ready" in err


async def test_servers_are_called_by_their_name(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tests" / "client" / "child.py"), "good"]
    servers = {"mcpServers": {"kid": {"command": command[0], "args": command[1:]}}}
    (tmp_path / ".mcp.json").write_text(json.dumps(servers))
    code, out, _ = await call("kid", "echo", '{"text": "by name"}', "--trust", cwd=tmp_path)
    assert (code, out) == (0, "by name\n")
    code, out, _ = await call("kid", "--config", str(tmp_path / ".mcp.json"))
    assert code == 0 and "echo" in out
    code, _, err = await call("other", "--config", str(tmp_path / ".mcp.json"))
    assert code == 2 and "It has: kid." in err


async def test_headers_reach_the_server_and_a_missing_token_is_reported() -> None:
    async with core_server(token="s3cret") as port:
        url = f"ws://127.0.0.1:{port}"
        code, out, _ = await call(url, "--header", "X-Claude-Code-Ide-Authorization: s3cret")
        assert code == 0 and out
        code, _, err = await call(url)
        assert code == 1 and "refused access (HTTP 401)" in err


async def test_an_ide_server_is_found_by_its_lock_file(tmp_path: Path) -> None:
    async with core_server(token="s3cret") as port:
        folder = tmp_path / ".claude" / "ide"
        folder.mkdir(parents=True)
        lock = {
            "pid": os.getpid(),
            "workspaceFolders": [str(tmp_path)],
            "authToken": "s3cret",
            "transport": "ws",
        }
        (folder / f"{port}.lock").write_text(json.dumps(lock))
        code, out, err = await call("ide", cwd=tmp_path, HOME=str(tmp_path), CLAUDE_CONFIG_DIR="")
        assert (code, err) == (0, "") and "Tools" in out


async def test_a_prompt_is_got_with_its_arguments() -> None:
    async with running(serve_sdk(make_sdk_server())) as server:
        code, out, _ = await call(server.url, '{"name": "Ada"}', "--prompt", "greet")
        assert (code, out) == (0, "[user] Say hello to Ada.\n")


async def test_content_other_than_text_is_described_and_blobs_are_written_unchanged() -> None:
    async with core_server() as port:
        url = f"ws://127.0.0.1:{port}"
        code, out, _ = await call(url, "test_multiple_content_types")
        assert code == 0 and "[image image/png, about" in out
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "vaultbridge", "call", url, "--read", "test://static-binary",
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out_bytes, _ = await process.communicate()
        assert out_bytes.startswith(b"\x89PNG")


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_notifications_are_watched_until_enough_came(version: str) -> None:
    seen: list[Any] = []

    async def make_noise(ws: Any, request: Any) -> None:
        """Acknowledges whatever starts a session, and then says something every moment."""
        async for frame in ws:
            message = frame.json()
            seen.append(message["method"])
            if message["method"] == "server/discover":
                result: Any = {"supportedVersions": ["2026-07-28"], "capabilities": {}}
            elif message["method"] == "initialize":
                result = {"protocolVersion": "2025-11-25", "capabilities": {}}
            else:
                if message["method"] in ("subscriptions/listen", "notifications/initialized"):
                    for n in range(5):
                        await ws.send_json(
                            {"jsonrpc": "2.0", "method": "notifications/x", "params": {"n": n}}
                        )
                continue
            await ws.send_json({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async with running(make_noise) as server:
        code, out, err = await call(server.url, "--watch", "--count", "3", "--mcp", version)
        assert (code, err) == (0, "")
        assert out.splitlines() == [f'notifications/x {{"n":{n}}}' for n in range(3)]


async def test_watching_ends_with_an_interrupt_and_exit_code_0() -> None:
    async with core_server() as port:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "vaultbridge", "call", f"ws://127.0.0.1:{port}", "--watch", "--json",
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        async with asyncio.timeout(BOUND):
            first = json.loads(await process.stdout.readline())
            process.send_signal(signal.SIGINT)
            await process.wait()
        assert first["method"] == "notifications/subscriptions/acknowledged" and process.returncode == 0


async def test_watching_ends_with_exit_code_1_when_the_connection_does() -> None:
    async def leave(ws: Any, request: Any) -> None:
        async for frame in ws:
            message = frame.json()
            if message["method"] == "initialize":
                result = {"protocolVersion": "2025-11-25", "capabilities": {}}
                await ws.send_json({"jsonrpc": "2.0", "id": message["id"], "result": result})
            else:
                await ws.close()

    async with running(leave) as server:
        code, _, err = await call(server.url, "--watch", "--mcp", "2025-11-25")
        assert code == 1 and "connection has ended" in err


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_watching_ends_also_when_the_connection_does_after_a_quiet_while(version: str) -> None:
    """The last word that was shown proves that everything else has been done, and only the end can come."""
    shown = asyncio.Event()

    async def leave(ws: Any, request: Any) -> None:
        async for frame in ws:
            message = frame.json()
            match message["method"]:
                case "initialize":
                    result: dict[str, Any] = {"protocolVersion": version, "capabilities": {}}
                case "server/discover":
                    result = {"supportedVersions": [version], "capabilities": {}}
                case _ if shown.is_set():
                    continue  # It came back, and hears nothing more.
                case _:
                    await ws.send_json({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
                    await shown.wait()
                    await ws.close()
                    return
            await ws.send_json({"jsonrpc": "2.0", "id": message["id"], "result": result})

    async with running(leave) as server, asyncio.timeout(BOUND):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "vaultbridge", "call", server.url, "--watch", "--mcp", version,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert b"list_changed" in await process.stdout.readline()
        shown.set()
        _, err = await process.communicate()
    assert process.returncode == 1 and b"connection" in err


def make_modern_server(*answers: dict[str, Any]) -> Any:
    """A server of 2026-07-28 that says `answers` to the first request, and leaves after notifications."""

    async def handle(ws: Any, request: Any) -> None:
        async for frame in ws:
            message = frame.json()
            if message["method"] == "server/discover":
                result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
                await ws.send_json({"jsonrpc": "2.0", "id": message["id"], "result": result})
                continue
            for answer in answers:
                own = {} if "method" in answer else {"id": message["id"]}
                await ws.send_json({"jsonrpc": "2.0", **answer, **own})
            if any("method" in answer for answer in answers):
                await ws.close()
                return

    return handle


async def test_messages_from_before_the_connection_ended_are_shown() -> None:
    notes = [{"method": "notifications/x", "params": {"n": n}} for n in range(50)]
    async with running(make_modern_server(*notes)) as server:
        code, out, err = await call(server.url, "--watch", "--json")
        assert code == 1 and "closed the connection" in err
        assert [json.loads(line)["params"]["n"] for line in out.splitlines()] == list(range(50))
        code, out, err = await call(server.url, "--watch", "--count", "50")
        assert (code, err, len(out.splitlines())) == (0, "", 50)


async def test_watching_over_http_ends_when_the_stream_cannot_be_had_again() -> None:
    async def stream(request: web.Request, number: int) -> web.StreamResponse:
        if number > 1:
            return web.Response(status=404)  # the server was started anew, and knows no such session
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'retry: 1\ndata: {"jsonrpc":"2.0","method":"notifications/x"}\n\n')
        return response

    async with serving(make_session_server(stream)) as url:
        code, out, err = await call(url, "--watch", "--mcp", "2025-11-25")
        assert code == 1 and out == "notifications/x {}\n" and "connection has ended" in err


@pytest.mark.parametrize(
    ("args", "result", "shown"),
    [
        ([], {"tools": [{"description": "x"}]}, "an entry without a name"),
        ([], {"tools": ["x"]}, "an entry without a name"),
        ([], {"tools": "x"}, "It offers nothing"),
        ([], {"tools": [{"name": "t", "inputSchema": {"properties": [1], "required": 3}}]}, "t"),
        (["t"], {"content": "plain"}, "plain"),
        (["t"], {"content": [7, {"type": "resource", "resource": "x"}]}, "7\n[resource]"),
        (["t"], {"content": [{"type": "image", "data": 5}]}, "[image"),
        (["--read", "a:b"], {"contents": [{"uri": "a:b", "blob": "not base64!"}]}, "not base64"),
        (["--read", "a:b"], {"contents": {"text": "alone"}}, "alone"),
        (["--prompt", "p"], {"messages": [{"role": "user", "content": "bare"}, 5]}, "[user] bare"),
    ],
)
async def test_a_server_with_results_of_another_shape_gets_no_traceback(
    args: list[str], result: Any, shown: str
) -> None:
    async with running(make_modern_server({"result": result})) as server:
        _, out, err = await call(server.url, *args)
        assert shown in out + err and "Traceback" not in err


async def run_shell(line: str) -> tuple[int, str, str]:
    """Run a line of the shell in which `$CALL` is the command."""
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", line, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "CALL": f"{sys.executable} -m vaultbridge call", "CHILD": f"{CHILD} good"},
    )  # fmt: skip
    async with asyncio.timeout(BOUND):
        out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize(
    ("line", "code", "printed"),
    [
        ('$CALL "$CHILD" | true; exit ${PIPESTATUS[0]}', 1, ""),
        ('$CALL "$CHILD" >&-', 1, "standard output is closed"),
        ('$CALL "$CHILD" echo - <&-', 2, "not JSON"),
        ('PYTHONIOENCODING=ascii $CALL "$CHILD"', 0, ""),
        ('$CALL "no-such-program" --trace 2>&-', 1, ""),
        pytest.param(
            '$CALL "$CHILD" >/dev/full', 1, "no space left",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here"),
        ),
    ],
)  # fmt: skip
async def test_a_closed_or_full_or_old_stream_is_no_traceback(line: str, code: int, printed: str) -> None:
    got, _, err = await run_shell(line)
    assert got == code and printed in err and err.count("\n") == (code if printed else 0), err


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_one_interrupt_ends_the_reading_of_arguments() -> None:
    """Nothing was connected yet; a person who forgot the arguments presses Ctrl-C once."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vaultbridge", "call", f"{CHILD} good", "echo", "-", cwd=ROOT,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None and process.stderr is not None
    async with asyncio.timeout(BOUND):
        # More than a pipe holds: when all of it is gone, the command is reading.
        process.stdin.transport.set_write_buffer_limits(0)
        process.stdin.write(b" " * 300_000)
        await process.stdin.drain()
        process.send_signal(signal.SIGINT)
        # A signal between two reads is noticed after the next: that one ends, too late to count.
        process.stdin.close()
        assert await process.stderr.read() == b"vaultbridge call: interrupted\n"
        await process.wait()
    assert process.returncode == 130


def test_main_gives_back_its_code_in_process_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ws://127.0.0.1:1"]) == 1
    assert "connection refused" in capsys.readouterr().err
    assert main([]) == 2


@pytest.mark.parametrize(("answer", "runs"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_a_hostile_folder_runs_nothing_before_the_person_has_said_yes(
    tmp_path: Path, answer: str, runs: bool
) -> None:
    """In a real terminal: what would run is shown, and enter means no."""
    proof = tmp_path / "it ran"
    entry = {"command": "touch", "args": [str(proof)]}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"notes": entry}}))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "vaultbridge", "call", "notes", "--timeout", "5"]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path)
    os.close(theirs)
    try:
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(ours, 4096)
        assert b"touch" in shown and not proof.exists()
        os.write(ours, answer.encode())
        # A command that ran and is no MCP server is a failure, a refusal is wrong usage.
        assert process.wait(60) == (1 if runs else 2)
        assert proof.exists() == runs
    finally:
        process.kill()
        process.wait()
        os.close(ours)
