"""Servers as child processes."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from client.user import TransportUser, make_command
from support.waiting import until
from vaultbridge.client import stdio
from vaultbridge.client.errors import (
    ConnectFailed,
    ConnectionLost,
    InvalidMessage,
    RpcError,
    TransportClosed,
    UnknownAnswer,
)
from vaultbridge.client.session import Session
from vaultbridge.client.stdio import StdioTransport


class User(TransportUser[StdioTransport]):
    def __init__(self, mode: str, *report: Path, **options: Any) -> None:
        super().__init__(StdioTransport(make_command(mode, *report), **options))

    async def call(self, request_id: int) -> dict[str, Any]:
        params = {"name": "echo", "arguments": {"text": "hello"}}
        await self.transport.send(
            {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}
        )
        await until(lambda: any(m.get("id") == request_id for m in self.messages))
        (found,) = [m for m in self.messages if m.get("id") == request_id]
        return found


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_messages_pass_both_ways_and_the_process_ends_with_the_transport(tmp_path: Path) -> None:
    report = tmp_path / "report"
    user = User("good", report)
    await user.transport.start()
    assert (await user.call(1))["result"]["content"][0]["text"] == "hello"
    assert user.messages[0]["method"] == "notifications/message"
    assert user.transport.is_connected and await user.transport.is_alive() and user.transport.queue_size == 0
    process = int(report.read_text())
    await user.transport.close()
    await user.transport.close()
    assert not is_running(process) and report.read_text() == "ended\n"
    assert user.closed == 1 and user.errors == []
    assert user.states == ["connecting", "connected", "disconnecting", "disconnected"]


async def test_a_program_that_does_not_exist_is_reported() -> None:
    transport = StdioTransport(["no-such-program-here"])
    with pytest.raises(ConnectFailed, match="Cannot start 'no-such-program-here': no such program"):
        await transport.start()
    with pytest.raises(ConnectFailed, match="empty"):
        StdioTransport([])


async def test_a_folder_that_does_not_exist_is_not_taken_for_the_program(tmp_path: Path) -> None:
    transport = StdioTransport(make_command("good"), cwd=str(tmp_path / "missing"))
    with pytest.raises(ConnectFailed, match="the folder to start it in does not exist") as failed:
        await transport.start()
    assert str(tmp_path) not in str(failed.value)
    await transport.close()


@pytest.mark.parametrize("env", [{"A=B": "x"}, {"": "x"}, {"A": "x\0"}, {"A\0": "x"}])
def test_an_environment_that_no_process_can_have_is_refused(env: dict[str, str]) -> None:
    with pytest.raises(ConnectFailed, match="cannot be set in the environment"):
        StdioTransport(make_command("good"), env=env)


def test_a_command_without_a_program_is_refused() -> None:
    with pytest.raises(ConnectFailed, match="names no program"):
        StdioTransport(["", "x"])


async def test_a_server_that_dies_fails_the_call_and_says_its_last_words() -> None:
    user = User("dies")
    await user.transport.start()
    answer = await user.call(1)
    assert "ended before the answer came" in answer["error"]["message"]
    await until(lambda: user.closed == 1)
    (lost,) = [e for e in user.errors if isinstance(e, ConnectionLost)]
    assert str(lost) == "The server ended with exit code 3: out of luck"
    with pytest.raises(TransportClosed):
        await user.transport.send({"jsonrpc": "2.0", "method": "m"})


async def test_noise_on_stdout_is_reported_and_does_no_harm() -> None:
    user = User("noise")
    await user.transport.start()
    assert "result" in await user.call(1)
    assert [type(e) for e in user.errors] == [InvalidMessage, UnknownAnswer]
    await user.transport.close()


async def test_an_answer_above_the_limit_fails_its_request_and_no_other() -> None:
    user = User("good", max_message_bytes=400)
    await user.transport.start()
    assert (await user.call(1))["result"]["content"][0]["text"] == "hello"
    big = {"name": "echo", "arguments": {"text": "y" * 303}}
    # The question fits; the answer, with its frame around the same text, does not.
    await user.transport.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": big})
    await until(lambda: any(m.get("id") == 2 for m in user.messages))
    (refused,) = [m for m in user.messages if m.get("id") == 2]
    assert "answer was refused: A message of" in refused["error"]["message"]
    assert refused["error"]["data"] == {"reason": "invalid-message", "sent": True}
    assert [type(e) for e in user.errors] == [InvalidMessage] and "limit is 400" in str(user.errors[0])
    assert (await user.call(3))["result"]["content"][0]["text"] == "hello"
    with pytest.raises(InvalidMessage, match="limit is 400"):
        await user.transport.send({"jsonrpc": "2.0", "method": "m", "params": {"x": "z" * 500}})
    await user.transport.close()


async def test_a_line_without_an_end_ends_the_transport_and_fails_what_is_open() -> None:
    user = User("endless", max_message_bytes=400)
    await user.transport.start()
    answer = await user.call(1)
    assert "ended before the answer came" in answer["error"]["message"]
    await until(lambda: user.closed == 1)
    (lost,) = user.errors
    assert isinstance(lost, ConnectionLost) and "a line of more than 1600 bytes" in str(lost)


async def test_a_stubborn_server_is_ended_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "EXIT_SECONDS", 0.2)
    report = tmp_path / "report"
    user = User("stubborn", report)
    heard = asyncio.Event()
    user.transport.on_stderr = lambda line: heard.set()
    await user.transport.start()
    async with asyncio.timeout(60):
        await heard.wait()
        process = int(report.read_text())
        await user.transport.close()
    assert not is_running(process) and user.closed == 1


async def test_a_close_that_is_cancelled_leaves_no_server_behind(tmp_path: Path) -> None:
    """Somebody presses Ctrl-C because the server does not end."""
    report = tmp_path / "report"
    user = User("stubborn", report)
    await user.transport.start()
    await user.call(1)
    process = int(report.read_text())
    closing = asyncio.create_task(user.transport.close())
    await until(lambda: "disconnecting" in user.states)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert not is_running(process), "it was waited for"
    assert user.closed == 1


async def test_open_requests_fail_when_the_transport_is_closed() -> None:
    user = User("mute")
    await user.transport.start()
    await user.transport.send({"jsonrpc": "2.0", "id": 1, "method": "m"})
    await user.transport.close()
    assert "closed before the answer came" in user.messages[0]["error"]["message"]


async def test_what_the_server_logs_is_passed_on() -> None:
    user = User("good")
    lines: list[str] = []
    user.transport.on_stderr = lines.append
    await user.transport.start()
    await until(lambda: lines == ["ready"])
    await user.transport.close()


async def test_the_environment_and_the_folder_are_passed_on(tmp_path: Path) -> None:
    script = """
import json, os, sys
sys.stdin.readline()
print(json.dumps({"jsonrpc": "2.0", "method": os.environ["WORD"], "params": {"cwd": os.getcwd()}}))
"""
    folder = str(tmp_path.resolve())  # noqa: ASYNC240 - a test may wait for its own folder
    transport = StdioTransport([sys.executable, "-c", script], env={"WORD": "hello"}, cwd=str(tmp_path))
    got: list[Any] = []
    transport.on_message = got.append
    await transport.start()
    await transport.send({"jsonrpc": "2.0", "method": "go"})
    await until(lambda: bool(got))
    assert got[0]["method"] == "hello" and got[0]["params"]["cwd"] == folder
    await transport.close()


async def test_a_callback_may_close_the_transport() -> None:
    user = User("good")
    user.transport.on_message = lambda message: user.transport.close()
    await user.transport.start()
    await user.transport.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    await until(lambda: user.closed == 1)


async def test_a_server_that_crashes_at_once_explains_itself_to_a_session() -> None:
    transport = StdioTransport(make_command("crash"))
    errors: list[Exception] = []
    transport.on_error = errors.append
    with pytest.raises(RpcError, match="The server ended before the answer came"):
        async with Session(transport):
            pass
    assert any("cannot find the vault" in str(e) for e in errors)
