"""Finding a Claude Code IDE server by its lock file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from client.servers import running
from support.waiting import until
from vaultbridge.client.errors import ConnectFailed
from vaultbridge.client.locks import find_lock
from vaultbridge.client.websocket.transport import WebSocketTransport
from vaultbridge.protocols.claude_ide.lock_files import TOKEN_HEADER


def write(folder: Path, port: int, **fields: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    content = {
        "pid": os.getpid(),
        "workspaceFolders": ["/somewhere"],
        "ideName": "Obsidian",
        "transport": "ws",
        "runningInWindows": False,
        "authToken": f"token-{port}",
        "port": port,
        **fields,
    }
    file = folder / f"{port}.lock"
    file.write_text(json.dumps(content))
    return file


def test_the_lock_whose_folder_holds_the_workspace_is_found(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "sub").mkdir(parents=True)
    write(tmp_path / "ide", 1001, workspaceFolders=[str(tmp_path / "other")])
    write(tmp_path / "ide", 1002, workspaceFolders=[str(vault)])
    found = find_lock(tmp_path / "ide", str(vault / "sub"))
    assert (found.port, found.token, found.name) == (1002, "token-1002", "Obsidian")


def test_the_closest_folder_wins_and_a_similar_name_is_no_parent(tmp_path: Path) -> None:
    (tmp_path / "vault" / "inner").mkdir(parents=True)
    write(tmp_path / "ide", 1001, workspaceFolders=[str(tmp_path)])
    write(tmp_path / "ide", 1002, workspaceFolders=[str(tmp_path / "vault" / "inner")])
    write(tmp_path / "ide", 1003, workspaceFolders=[str(tmp_path / "vault" / "in")])
    assert find_lock(tmp_path / "ide", str(tmp_path / "vault" / "inner")).port == 1002
    assert find_lock(tmp_path / "ide", str(tmp_path / "vault")).port == 1001


def test_a_symlinked_workspace_is_followed(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "vault")
    write(tmp_path / "ide", 1001, workspaceFolders=[str(tmp_path / "vault")])
    assert find_lock(tmp_path / "ide", str(tmp_path / "link")).port == 1001


def test_without_a_workspace_a_single_lock_is_taken(tmp_path: Path) -> None:
    write(tmp_path / "ide", 1001)
    assert find_lock(tmp_path / "ide").port == 1001
    write(tmp_path / "ide", 1002)
    with pytest.raises(ConnectFailed, match="Obsidian on port 1001, Obsidian on port 1002"):
        find_lock(tmp_path / "ide")


def test_dead_foreign_and_broken_locks_are_passed_over_and_left_alone(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    folder = tmp_path / "ide"
    files = [
        write(folder, 1001, pid=ended.pid),
        write(folder, 1002, transport="sse"),
        write(folder, 1003, pid=-1),
        write(folder, 1004, authToken=None),
        write(folder, 70000),
    ]
    (folder / "1005.lock").write_text("{")
    (folder / "notes.lock").write_text("{}")
    with pytest.raises(ConnectFailed, match="No Claude Code IDE server is running"):
        find_lock(folder)
    assert all(file.exists() for file in files)


def test_a_missing_folder_is_no_server(tmp_path: Path) -> None:
    with pytest.raises(ConnectFailed, match="No Claude Code IDE server is running"):
        find_lock(tmp_path / "missing")


def test_the_folders_are_those_of_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "c"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for folder in (tmp_path / ".claude", tmp_path / ".config" / "claude", tmp_path / "c"):
        file = write(folder / "ide", 1001, authToken=folder.name)
        assert find_lock().token == folder.name
        file.unlink()


async def test_from_lock_connects_with_port_and_token(tmp_path: Path) -> None:
    async with running(token="the-token") as server:
        write(tmp_path / "ide", server.port, authToken="the-token", workspaceFolders=[str(tmp_path)])
        transport = WebSocketTransport.from_lock(str(tmp_path / "ide"), str(tmp_path), reconnect_attempts=1)
        got: list[Any] = []
        transport.on_message = got.append
        await transport.start()
        await transport.send({"jsonrpc": "2.0", "id": 1, "method": "initialize"})
        await until(lambda: bool(got))
        assert server.headers[0][TOKEN_HEADER] == "the-token" and "Origin" not in server.headers[0]
        await transport.close()
