"""`vaultbridge doctor`: what it finds on machines in good and bad order, and what it mends."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.process import drop_privileges
from support.waiting import BOUND
from vaultbridge.server.tokens import TokenStore


class Machine:
    """A home with one vault."""

    def __init__(self, home: Path) -> None:
        self.prefix: list[str] = []
        self.home = home
        self.vault = home / "Notes"
        (self.vault / ".obsidian").mkdir(parents=True)
        (self.vault / "A.md").write_text("text\n", "utf-8")
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "VAULTBRIDGE_CACHE": str(home / "cache"),
        }

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.prefix, sys.executable, "-m", "vaultbridge", *args],
            cwd=self.vault,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BOUND,
            check=False,
        )

    def run_doctor(self, *args: str, code: int = 0) -> dict[str, dict[str, Any]]:
        done = self.run("doctor", "--json", *args)
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stderr == ""
        return {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_new_machine_is_healthy_and_gets_advice(machine: Machine) -> None:
    found = machine.run_doctor()
    assert {finding["status"] for finding in found.values()} == {"good", "unknown"}
    assert "vaultbridge serve" in found["bridge"]["advice"]
    assert "companion install" in found["companion"]["advice"]
    assert found["notes"]["found"] == "1 in 1 files"
    assert found["index"]["status"] == "unknown"
    assert machine.run_doctor("--fix")["index"]["fixed"] == "built it"
    assert machine.run_doctor()["index"]["status"] == "good"


def test_each_configured_assistant_is_really_started(machine: Machine) -> None:
    (machine.home / ".cursor").mkdir()
    assert machine.run_doctor()["cursor"]["advice"] == "vaultbridge connect cursor"
    assert machine.run("connect", "cursor").returncode == 0
    found = machine.run_doctor()["cursor notes"]
    assert found["status"] == "good" and "answers with" in found["found"]


def test_a_command_that_is_gone_is_written_again(machine: Machine) -> None:
    (machine.home / ".cursor").mkdir()
    file = machine.home / ".cursor" / "mcp.json"
    machine.run("connect", "cursor", ".", "--", "--read-only")
    listed = json.loads(file.read_text("utf-8"))
    right = listed["mcpServers"]["notes"]
    old = {
        "command": str(machine.home / "gone" / "vaultbridge"),
        "args": ["stdio", str(machine.vault), "--read-only"],
    }
    file.write_text(json.dumps({"mcpServers": {"notes": old}}), "utf-8")
    found = machine.run_doctor(code=1)["cursor notes"]
    assert found["status"] == "bad" and "cannot be started" in found["found"]
    assert machine.run_doctor("--fix")["cursor notes"]["fixed"] == "wrote the current command"
    assert json.loads(file.read_text("utf-8"))["mcpServers"]["notes"] == right
    assert machine.run_doctor()["cursor notes"]["status"] == "good"


def test_a_vault_that_is_gone_is_named(machine: Machine) -> None:
    (machine.home / ".cursor").mkdir()
    gone = machine.home / "Gone"
    entry = {"command": sys.executable, "args": ["-m", "vaultbridge", "stdio", str(gone)]}
    (machine.home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"g": entry}}), "utf-8")
    found = machine.run_doctor(code=1)["cursor g"]
    assert found["found"] == f"its vault {gone} is not there"
    assert "--remove --name g" in found["advice"]


def test_without_a_vault_the_rest_is_checked(machine: Machine) -> None:
    gone = str(machine.home / "Gone")
    found = machine.run_doctor("-v", gone, code=1)
    assert found["folder"]["status"] == "bad" and "'Gone'" in found["folder"]["found"]
    assert found["Python"]["status"] == "good" and "index" not in found
    known = machine.home / ".config" / "obsidian" / "obsidian.json"
    known.parent.mkdir(parents=True)
    vaults = {"a": {"path": str(machine.vault)}, "b": {"path": str(machine.home / "cache")}}
    known.write_text(json.dumps({"vaults": vaults}), "utf-8")
    (machine.home / "cache").mkdir()
    (machine.vault / ".obsidian").rename(machine.home / "elsewhere")
    assert machine.run_doctor(code=1)["folder"]["advice"] == "Say which one with -v NAME."


def test_what_stands_in_the_way_of_a_bridge_is_named(machine: Machine) -> None:
    """A vault that the configuration names and that is gone, its port taken, a lock without a process, and a
    second program of our name."""
    lock = machine.home / ".claude" / "ide" / "4444.lock"
    lock.parent.mkdir(parents=True)
    dead = {"pid": 2**30, "workspaceFolders": ["/x"], "ideName": "X", "transport": "ws", "authToken": "t"}
    lock.write_text(json.dumps(dead), "utf-8")
    program = machine.home / "bin" / "vaultbridge"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o755)
    machine.environ["PATH"] = f"{program.parent}{os.pathsep}{machine.environ['PATH']}"
    config = machine.home / ".config" / "vaultbridge" / "config.toml"
    config.parent.mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config.write_text(f'[server]\nport = {port}\n[[vaults]]\npath = "{machine.home}/Gone"\n', "utf-8")
        found = machine.run_doctor("--fix", code=1)
    assert found[f"configured vault {machine.home}/Gone"]["status"] == "bad"
    assert "already in use" in found["port"]["found"] and "server.port" in found["port"]["advice"]
    assert found["locks of dead processes"]["fixed"] == "removed 1" and not lock.exists()
    assert str(program) in found["another vaultbridge"]["found"]


def test_a_broken_file_of_an_assistant_is_a_warning(machine: Machine) -> None:
    (machine.home / ".codex").mkdir()
    (machine.home / ".codex" / "config.toml").write_text("broken =", "utf-8")
    assert machine.run_doctor()["codex"]["status"] == "warning"


def test_configuration_tokens_and_names_are_looked_at(machine: Machine) -> None:
    folder = machine.home / ".config" / "vaultbridge"
    folder.mkdir(parents=True)
    TokenStore(folder, clock=lambda: 1.0).make("old laptop", seconds=5)
    (folder / "config.toml").write_text("[server]\nprot = 1\n", "utf-8")
    (machine.vault / os.fsdecode(b"bad\xff.md")).write_text("x", "utf-8")
    found = machine.run_doctor(code=1)
    assert found["configuration"]["status"] == "bad" and "prot" in found["configuration"]["found"]
    assert found["tokens"]["found"] == "expired: old laptop"
    assert "not UTF-8" in found["left out"]["found"]


def test_tokens_that_others_can_read_are_reported_and_mended(machine: Machine) -> None:
    folder = machine.home / ".config" / "vaultbridge"
    folder.mkdir(parents=True)
    TokenStore(folder).make("laptop")
    assert "token file" not in machine.run_doctor()
    file = folder / "tokens.json"
    file.chmod(0o644)
    found = machine.run_doctor()["token file"]
    assert found["status"] == "warning" and "(mode 644)" in found["found"]
    assert found["advice"] == f"chmod 600 {file}"
    assert machine.run_doctor("--fix")["token file"]["fixed"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert "token file" not in machine.run_doctor()


def test_the_companion_is_looked_at(machine: Machine) -> None:
    machine.run("companion", "install")
    assert "switched off" in machine.run_doctor()["companion"]["found"]
    machine.run("companion", "install", "--enable")
    assert machine.run_doctor()["companion"]["status"] == "good"
    (machine.vault / ".obsidian" / "plugins" / "vaultbridge" / "main.js").write_text("old", "utf-8")
    found = machine.run_doctor()["companion"]
    assert found["status"] == "warning" and found["advice"] == "vaultbridge companion install"


def test_a_vault_that_may_only_be_read(machine: Machine) -> None:
    machine.prefix = drop_privileges()
    machine.vault.chmod(0o500)
    try:
        assert machine.run_doctor()["permissions"]["status"] == "warning"
        (machine.vault / "A.md").chmod(0)
        assert machine.run_doctor(code=1)["unreadable"]["found"] == "A.md"
    finally:
        machine.vault.chmod(0o700)


def test_people_get_areas_marks_and_advice(machine: Machine) -> None:
    shown = machine.run("doctor").stdout.splitlines()
    assert [line for line in shown if not line.startswith(("ok ", "- ", " "))] == [
        "System", "Vault", "Index", "Bridge", "Assistants", "Companion",
    ]  # fmt: skip
    assert "       -> To review changes in Obsidian: vaultbridge companion install" in shown
