"""Port, token and lock over the life and death of real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.dial import dial
from support.waiting import BOUND
from vaultbridge.errors import EngineFailure
from vaultbridge.protocols.editor.endpoint_file import (
    Endpoint,
    find_running,
    load_endpoint,
    make_token,
    save_endpoint,
)
from vaultbridge.server.presence import Presence

CHILD = Path(__file__).with_name("presence_child.py")


class Stage:
    def __init__(self, base: Path) -> None:
        self.vault, self.cache, self.home = base / "vault", base / "cache", base / "home"
        self.vault.mkdir()
        self.home.mkdir()
        self.children: list[asyncio.subprocess.Process] = []

    async def start(self, *others: int) -> tuple[asyncio.subprocess.Process, int]:
        arguments = [*map(str, (CHILD, self.vault, self.cache, self.home, *others))]
        child = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, stdout=asyncio.subprocess.PIPE
        )
        self.children.append(child)
        assert child.stdout is not None
        return child, int(await asyncio.wait_for(child.stdout.readline(), BOUND))

    @property
    def locks(self) -> dict[str, dict[str, object]]:
        folder = self.home / ".claude" / "ide"
        return {file.name: json.loads(file.read_text()) for file in folder.iterdir()}

    def claim(self, port: int | None = 0) -> Presence:
        return Presence.claim(self.cache, [self.vault], environ={}, home=self.home, port=port)


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    for child in stage.children:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def is_answering(port: int, token: str) -> bool:
    headers = {"X-Claude-Code-Ide-Authorization": token}
    async with dial(f"ws://127.0.0.1:{port}/", additional_headers=headers) as client:
        await client.send('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        return '"result"' in str(await asyncio.wait_for(client.recv(), BOUND))


async def test_kill_9_and_a_restart_keep_port_and_token_and_replace_the_lock(stage: Stage) -> None:
    """A client that reconnects with its first url and token finds the new process."""
    first, port = await stage.start()
    lock = stage.locks[f"{port}.lock"]
    assert lock["pid"] == first.pid
    token = str(lock["authToken"])
    assert await is_answering(port, token)
    first.send_signal(signal.SIGKILL)
    await first.wait()
    assert list(stage.locks) == [f"{port}.lock"]
    second, port_again = await stage.start()
    assert port_again == port
    assert list(stage.locks) == [f"{port}.lock"]
    assert stage.locks[f"{port}.lock"] == {**lock, "pid": second.pid}
    assert await is_answering(port, token)


async def test_a_clean_end_removes_the_lock_and_keeps_the_endpoint(stage: Stage) -> None:
    child, port = await stage.start()
    before = load_endpoint(stage.cache)
    assert before is not None
    assert before.pid == child.pid
    child.terminate()
    assert await asyncio.wait_for(child.wait(), BOUND) == 0
    assert stage.locks == {}
    after = load_endpoint(stage.cache)
    assert after is not None
    assert (after.port, after.token, after.pid) == (port, before.token, 0)


async def test_a_second_bridge_of_the_same_vault_keeps_the_first_ones_endpoint(stage: Stage) -> None:
    first, port = await stage.start()
    _, other_port = await stage.start(first.pid)
    assert other_port != port
    known = load_endpoint(stage.cache)
    assert known is not None
    assert (known.port, known.pid) == (port, first.pid)
    assert set(stage.locks) == {f"{port}.lock", f"{other_port}.lock"}


def test_a_process_that_is_no_bridge_keeps_no_endpoint(tmp_path: Path) -> None:
    """It has the number of a bridge that was killed: commands then looked for the new bridge in vain."""
    stage = Stage(tmp_path)
    save_endpoint(stage.cache, Endpoint(port=9, token=make_token(), pid=os.getppid()))
    presence = stage.claim()
    known = find_running(stage.cache)
    assert known is not None
    assert (known.port, known.pid) == (presence.port, os.getpid())
    presence.socket.close()


def test_when_the_saved_port_is_taken_another_is_used_and_the_token_stays(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        token, busy = make_token(), taken.getsockname()[1]
        save_endpoint(stage.cache, Endpoint(port=busy, token=token))
        presence = stage.claim(port=0)
    try:
        assert presence.port != busy
        assert presence.token == token
        known = load_endpoint(stage.cache)
        assert known is not None
        assert known.port == presence.port
    finally:
        presence.socket.close()


def test_a_requested_port_is_used_or_the_start_fails(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EngineFailure, match=str(port)):
            stage.claim(port=port)
        # An open connection keeps the port from everybody else when nobody listens any more.
        caller = socket.create_connection(("127.0.0.1", port))
        called, _ = taken.accept()
    with caller, called:
        presence = stage.claim(port=port)
        assert presence.port == port
        presence.socket.close()


def test_it_listens_on_loopback_only(tmp_path: Path) -> None:
    """Seeds 000 and 001: 127.0.0.1, no external access."""
    presence = Stage(tmp_path).claim()
    assert presence.socket.getsockname()[0] == "127.0.0.1"
    presence.socket.close()


def test_locks_of_dead_processes_are_swept_on_announce(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    folder = stage.home / ".claude" / "ide"
    folder.mkdir(parents=True)
    (folder / "4999.lock").write_text(json.dumps({"pid": 2**22 + 12345, "transport": "ws"}))
    (folder / "5000.lock").write_text(json.dumps({"pid": os.getpid(), "transport": "ws"}))
    presence = stage.claim()
    presence.announce([stage.vault])
    assert set(stage.locks) == {"5000.lock", f"{presence.port}.lock"}
    presence.withdraw()
    assert set(stage.locks) == {"5000.lock"}
    presence.socket.close()


def test_guest_vaults_are_found_as_long_as_the_bridge_runs(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    guest, cache = tmp_path / "guest", tmp_path / "cache of the guest"
    guest.mkdir()
    presence = stage.claim()
    presence.add_vault(cache, guest)
    presence.announce([stage.vault, guest])
    found = find_running(cache)
    assert found is not None
    assert (found.port, found.token, found.vault) == (presence.port, presence.token, str(guest))
    assert stage.locks[f"{presence.port}.lock"]["workspaceFolders"] == [str(stage.vault), str(guest)]
    presence.withdraw()
    assert find_running(cache) is None and load_endpoint(cache) is None
    presence.socket.close()
